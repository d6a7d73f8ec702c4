//! Proposals and Grants as they are told.

use crate::{
    failure::Failure,
    json,
    sql::{self, Columns, text},
};
use owl_domain::{
    consent::{By, Decision, Grant, Outcome, Proposal, Scope},
    gate::{Program, Shown, Verb},
    ids::{ConversationId, GrantId, ItemId, ProposalId, TurnId},
    text::Reason,
};
use rusqlite::Connection;

/// The columns of what a Proposal `p` showed.
macro_rules! shown_columns {
    () => {
        "p.program, p.verb, p.workdir, p.digest, p.shown"
    };
}
pub(crate) use shown_columns;

/// The columns of how a Proposal `p` was decided.
macro_rules! decision_columns {
    () => {
        "p.state, p.decided_by, p.decided_at, p.reason, p.granted"
    };
}
pub(crate) use decision_columns;

/// The columns of a Proposal `p`.
macro_rules! proposal_columns {
    () => {
        concat!(
            "p.id, p.conversation, p.turn, p.item, p.created_at, p.expires_at, p.project, p.started_at, ",
            $crate::rows::shown_columns!(),
            ", ",
            $crate::rows::decision_columns!()
        )
    };
}
pub(crate) use proposal_columns;

/// The columns of a Grant `g`.
macro_rules! grant_columns {
    () => {
        "g.id, g.conversation, g.program, g.verb, g.workdir, g.created_at, g.created_from, g.granted_by, g.uses,
         g.last_used_at, g.revoked_at"
    };
}
pub(crate) use grant_columns;

const GET: &str = concat!("SELECT ", proposal_columns!(), " FROM proposals p WHERE p.id = ?1");
const GET_GRANT: &str = concat!("SELECT ", grant_columns!(), " FROM grants g WHERE g.id = ?1");

/// Returns a Proposal; none when there is none of that id.
pub(crate) fn proposal(db: &Connection, id: ProposalId) -> Result<Option<Proposal>, Failure> {
    sql::one(db, GET, [id.number()], read_proposal)
}

/// Reads [`proposal_columns`].
pub(crate) fn read_proposal(row: &mut Columns<'_>) -> Result<Proposal, Failure> {
    Ok(Proposal {
        id: row.id(ProposalId::new)?,
        conversation: row.id(ConversationId::new)?,
        turn: row.id(TurnId::new)?,
        item: row.id(ItemId::new)?,
        created_at: row.time()?,
        expires_at: row.time()?,
        project: row.project()?,
        started_at: row.maybe_time()?,
        shown: read_shown(row)?.ok_or(Failure::Unreadable { what: "a proposal without a command" })?,
        decision: read_decision(row)?,
    })
}

/// Reads [`shown_columns`]; none when there is no Proposal.
pub(crate) fn read_shown(row: &mut Columns<'_>) -> Result<Option<Shown>, Failure> {
    let program = row.maybe_named(Program::from_name, "a program's name")?;
    let verb = row.maybe_named(Verb::from_name, "a verb")?;
    let workdir = row.maybe_path()?;
    let digest: Option<String> = row.next()?;
    let shown: Option<String> = row.next()?;
    let (Some(program), Some(workdir), Some(digest), Some(shown)) = (program, workdir, digest, shown) else {
        return Ok(None);
    };
    json::read_shown(&shown, program, verb, workdir, digest).map(Some)
}

/// Reads [`decision_columns`]; none while it is pending, or when there is no Proposal.
pub(crate) fn read_decision(row: &mut Columns<'_>) -> Result<Option<Decision>, Failure> {
    let state: Option<String> = row.next()?;
    let by: Option<String> = row.next()?;
    let at = row.maybe_time()?;
    let reason: Option<String> = row.next()?;
    let grant = row.maybe_id(GrantId::new)?;
    let (Some(state), Some(by), Some(at)) = (state, by, at) else {
        return Ok(None);
    };
    Ok(Some(Decision {
        outcome: Outcome::from_name(&state).ok_or(Failure::Unreadable { what: "a proposal's state" })?,
        by: json::read_by(&by)?,
        at,
        reason: reason.map(|reason| text(reason, Reason::new, "why somebody said no")).transpose()?,
        grant,
    }))
}

/// Returns the Grant that a command runs under unasked; none when somebody was asked.
pub(crate) fn unasked(decision: Option<&Decision>) -> Option<GrantId> {
    decision.filter(|decision| decision.by == By::Grant).and_then(|decision| decision.grant)
}

/// Returns a Grant; none when there is none of that id.
pub(crate) fn grant(db: &Connection, id: GrantId) -> Result<Option<Grant>, Failure> {
    sql::one(db, GET_GRANT, [id.number()], read_grant)
}

/// Reads [`grant_columns`].
pub(crate) fn read_grant(row: &mut Columns<'_>) -> Result<Grant, Failure> {
    Ok(Grant {
        id: row.id(GrantId::new)?,
        conversation: row.id(ConversationId::new)?,
        scope: Scope {
            program: row.named(Program::from_name, "a program's name")?,
            verb: row.maybe_named(Verb::from_name, "a verb")?,
            workdir: row.path()?,
        },
        created_at: row.time()?,
        created_from: row.id(ProposalId::new)?,
        granted_by: json::read_by(&row.next::<String>()?)?,
        uses: row.count()?,
        last_used_at: row.maybe_time()?,
        revoked_at: row.maybe_time()?,
    })
}
