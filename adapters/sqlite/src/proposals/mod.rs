//! Proposals and Grants as rows (ADR-0022, D8): one outcome, decided by one compare-and-set on the stored row.

mod answer;
mod grants;
mod open;
mod run;

use crate::{
    change::Change,
    database::Database,
    failure::Failure,
    items::{Place, shown_size},
    json,
    page::{Filling, List, Room},
    rows,
    sql::{self, Go, run as run_sql},
};
use async_trait::async_trait;
use owl_domain::{
    consent::{Answer, Answered, By, Decision, Outcome, Proposal},
    conversation::{Page, PageError, Paged},
    ids::{ConversationId, ProposalId, TurnId},
    ports::{
        AnswerError, Moved, NewProposal, OpenError, ProposalFilter, ProposalState, Proposals, Settled, StoreError,
    },
    time::Timestamp,
    turn::{CallRef, EventBody},
};
use rusqlite::{Connection, params};

pub(crate) use grants::SqliteGrants;

/// Decides a Proposal. What must hold stands in the `WHERE`: it is pending, and for a person's answer (`?7`) its
/// deadline is not past.
const DECIDE: &str = "UPDATE proposals SET state = ?2, decided_at = ?3, decided_by = ?4, reason = ?5, granted = ?6
    WHERE id = ?1 AND state = 'pending' AND (?7 IS NULL OR expires_at > ?7)";
const PENDING_OF_TURN: &str = "SELECT id FROM proposals WHERE turn = ?1 AND +state = 'pending'
    ORDER BY position";
const LIST: &str = concat!("SELECT ", rows::proposal_columns!(), " FROM proposals p WHERE p.id > ?1 ORDER BY p.id");
const LIST_IN_STATE: &str =
    concat!("SELECT ", rows::proposal_columns!(), " FROM proposals p WHERE p.id > ?1 AND p.state = ?2 ORDER BY p.id");
const LIST_OF: &str = concat!(
    "SELECT ",
    rows::proposal_columns!(),
    " FROM proposals p WHERE p.id > ?1 AND p.conversation = ?2 ORDER BY p.id"
);
const LIST_OF_IN_STATE: &str = concat!(
    "SELECT ",
    rows::proposal_columns!(),
    " FROM proposals p WHERE p.id > ?1 AND p.conversation = ?2 AND p.state = ?3 ORDER BY p.id"
);
const NEXT_DEADLINE: &str = "SELECT min(expires_at) FROM proposals INDEXED BY proposals_due WHERE state = 'pending'";

/// Each list, how many parameters it takes, and the index that it must be read from.
#[cfg(test)]
pub(crate) const PLANS: [(&str, usize, &str); 4] = [
    (LIST, 1, "SEARCH p USING INTEGER PRIMARY KEY (rowid>?)"),
    (LIST_IN_STATE, 2, "SEARCH p USING INDEX proposals_by_state (state=? AND id>?)"),
    (LIST_OF_IN_STATE, 3, "SEARCH p USING INDEX proposals_by_conversation (conversation=? AND state=? AND id>?)"),
    (NEXT_DEADLINE, 0, "USING COVERING INDEX proposals_due"),
];

/// The Proposals port over the database.
pub(crate) struct SqliteProposals(pub(crate) Database);

#[async_trait]
impl Proposals for SqliteProposals {
    async fn open(&self, new: NewProposal, now: Timestamp) -> Result<Proposal, OpenError> {
        self.0.write(now, move |change| open::open(change, &new)).await?
    }

    async fn get(&self, id: ProposalId) -> Result<Option<Proposal>, StoreError> {
        self.0.read(move |db| rows::proposal(db, id)).await
    }

    async fn list(&self, filter: ProposalFilter, page: Page) -> Result<Paged<Proposal>, PageError> {
        let state = state_name(filter.state);
        let list = List::of("proposals").by(filter.conversation).by(state);
        let after = list.keys(&page)?.map_or(0, |[id, _]| id);
        Ok(self.0.read(move |db| listed(db, filter.conversation, state, &list, after, page.limit)).await?)
    }

    async fn answer(&self, answer: Answer, by: By, now: Timestamp) -> Result<Answered, AnswerError> {
        self.0.write(now, move |change| answer::answer(change, &answer, by)).await?
    }

    async fn expire_due(&self, now: Timestamp) -> Result<Vec<TurnId>, StoreError> {
        // Asked every second: a question that changes nothing needs no turn of the writer.
        let is_due = |at: &Timestamp| *at <= now;
        if self.next_deadline().await?.as_ref().is_none_or(|at| !is_due(at)) {
            return Ok(Vec::new());
        }
        self.0.write(now, answer::expire_due).await
    }

    async fn next_deadline(&self) -> Result<Option<Timestamp>, StoreError> {
        self.0.read(|db| sql::sure(db, NEXT_DEADLINE, [], |row| row.maybe_time())).await
    }

    async fn start(&self, id: ProposalId, pid: u32, now: Timestamp) -> Result<Moved, StoreError> {
        self.0.write(now, move |change| run::start(change, id, pid)).await
    }

    async fn settle(
        &self,
        id: ProposalId,
        call: CallRef,
        settled: Settled,
        now: Timestamp,
    ) -> Result<Moved, StoreError> {
        self.0.write(now, move |change| run::settle(change, id, call, &settled)).await
    }
}

/// Returns a state's name; none for any.
fn state_name(state: ProposalState) -> Option<&'static str> {
    match state {
        ProposalState::Pending => Some("pending"),
        ProposalState::Decided(outcome) => Some(outcome.name()),
        ProposalState::All => None,
    }
}

fn listed(
    db: &Connection,
    conversation: Option<ConversationId>,
    state: Option<&str>,
    list: &List,
    after: i64,
    limit: u32,
) -> Result<Paged<Proposal>, Failure> {
    let mut filling = Filling::new(limit);
    let add = |row: &mut sql::Columns<'_>| {
        let proposal = rows::read_proposal(row)?;
        let (keys, size) = ([proposal.id.number(), 0], 1_024 + shown_size(&proposal.shown));
        Ok(match filling.add(proposal, keys, size) {
            Room::Left => Go::On,
            Room::None => Go::Stop,
        })
    };
    match (conversation.map(ConversationId::number), state) {
        (None, None) => sql::each(db, LIST, [after], add)?,
        (None, Some(state)) => sql::each(db, LIST_IN_STATE, params![after, state], add)?,
        (Some(of), None) => sql::each(db, LIST_OF, [after, of], add)?,
        (Some(of), Some(state)) => sql::each(db, LIST_OF_IN_STATE, params![after, of, state], add)?,
    }
    Ok(filling.end(list))
}

/// When an answer may still decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    /// While it is pending.
    Decided,
    /// Likewise, and not past its deadline.
    Deadline,
}

/// Decides a Proposal if nothing has, and tells it: `proposal.resolved`. Returns how it stands when this decided it.
fn decide(
    change: &mut Change<'_>,
    id: ProposalId,
    decision: &Decision,
    until: Until,
) -> Result<Option<Proposal>, Failure> {
    let deadline = (until == Until::Deadline).then_some(change.now_ms());
    let row = params![
        id.number(),
        decision.outcome.name(),
        decision.at.millis(),
        json::write_by(&decision.by),
        decision.reason.as_ref().map(owl_domain::text::Reason::as_str),
        decision.grant.map(owl_domain::ids::GrantId::number),
        deadline,
    ];
    if run_sql(change.db(), DECIDE, row)? == 0 {
        return Ok(None);
    }
    let decided = rows::proposal(change.db(), id)?.ok_or(Failure::Gone { what: "this proposal" })?;
    tell_resolved(change, &decided, decision)?;
    Ok(Some(decided))
}

fn tell_resolved(change: &mut Change<'_>, proposal: &Proposal, decision: &Decision) -> Result<(), Failure> {
    let place = Place { conversation: proposal.conversation, turn: proposal.turn };
    let resolved =
        EventBody::ProposalResolved { proposal: proposal.id, item: proposal.item, decision: decision.clone() };
    change.tell(place.about(), resolved)?;
    Ok(())
}

/// Cancels the Proposals of a Turn that wait.
pub(crate) fn cancel_pending(change: &mut Change<'_>, place: Place) -> Result<(), Failure> {
    let pending = sql::all(change.db(), PENDING_OF_TURN, [place.turn.number()], |row| row.id(ProposalId::new))?;
    let decision = by_owl(Outcome::Cancelled, change.now());
    for id in pending {
        let _decided_by_either = decide(change, id, &decision, Until::Decided)?;
    }
    Ok(())
}

fn by_owl(outcome: Outcome, at: Timestamp) -> Decision {
    Decision { outcome, by: By::Owl, at, reason: None, grant: None }
}
