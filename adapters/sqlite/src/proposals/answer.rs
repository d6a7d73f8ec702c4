//! A Proposal is decided: by a person's answer, or by its deadline. Whoever comes second is told what was decided.

use super::{Until, by_owl, decide, open::in_force};
use crate::{change::Change, failure::Failure, json, rows, sql};
use owl_domain::{
    consent::{Answer, Answered, By, Decision, Outcome, Proposal, Said, Scope},
    gate::Verb,
    ids::{GrantId, ProposalId, TurnId},
    ports::AnswerError,
    turn::{About, EventBody},
};
use rusqlite::params;

const DUE: &str = "SELECT id, turn FROM proposals INDEXED BY proposals_due
    WHERE state = 'pending' AND expires_at <= ?1 ORDER BY id";
const INSERT_GRANT: &str =
    "INSERT INTO grants (conversation, program, verb, workdir, created_at, created_from, granted_by)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING id";

/// Decides a Proposal by what a person says, if nothing has.
pub(super) fn answer(
    change: &mut Change<'_>,
    answer: &Answer,
    by: By,
) -> Result<Result<Answered, AnswerError>, Failure> {
    let Some(before) = rows::proposal(change.db(), answer.proposal)? else {
        return Ok(Err(AnswerError::NotFound));
    };
    if answer.conversation.is_some_and(|believed| believed != before.conversation) {
        return Ok(Err(AnswerError::ConversationMismatch { conversation: before.conversation }));
    }
    if answer.digest.as_ref().is_some_and(|shown| *shown != before.shown.digest) {
        return Ok(Err(AnswerError::Stale { digest: before.shown.digest }));
    }
    if before.decision.is_none() {
        if let Some(answered) = decide_by(change, &before, &answer.verdict, by)? {
            return Ok(Ok(answered));
        }
        // Pending, and not decided: past its deadline.
        let expired = by_owl(Outcome::Expired, change.now());
        let _told = decide(change, before.id, &expired, Until::Decided)?;
    }
    second(change, answer)
}

/// Tells an answer that decided nothing what was decided.
fn second(change: &Change<'_>, answer: &Answer) -> Result<Result<Answered, AnswerError>, Failure> {
    let proposal = rows::proposal(change.db(), answer.proposal)?.ok_or(Failure::Gone { what: "this proposal" })?;
    let decision = proposal.decision.clone().ok_or(Failure::Unreadable { what: "an undecided proposal" })?;
    let same = match answer.verdict {
        Said::AllowOnce | Said::AllowForConversation => decision.outcome == Outcome::Allowed,
        Said::Deny(_) => decision.outcome == Outcome::Denied,
    };
    Ok(if same {
        Ok(Answered { proposal, decision, won: false })
    } else {
        Err(AnswerError::AlreadyResolved { proposal: proposal.id, decision })
    })
}

/// Decides, and makes the Grant that the answer asks for. None when the deadline came first.
fn decide_by(change: &mut Change<'_>, before: &Proposal, said: &Said, by: By) -> Result<Option<Answered>, Failure> {
    let (outcome, reason) = match said {
        Said::AllowOnce | Said::AllowForConversation => (Outcome::Allowed, None),
        Said::Deny(reason) => (Outcome::Denied, reason.clone()),
    };
    // The Grant's row comes first, because the decision names it; both go, or neither does.
    let in_time = before.expires_at > change.now();
    let remembered = match said {
        Said::AllowForConversation if in_time => Some(remember(change, before, &by)?),
        Said::AllowForConversation | Said::AllowOnce | Said::Deny(_) => None,
    };
    let grant = remembered.map(|(grant, _)| grant);
    let decision = Decision { outcome, by: by.clone(), at: change.now(), reason, grant };
    let Some(proposal) = decide(change, before.id, &decision, Until::Deadline)? else {
        return Ok(None);
    };
    if let Some((grant, Made::Now)) = remembered {
        let grant = rows::grant(change.db(), grant)?.ok_or(Failure::Gone { what: "this grant" })?;
        let about = About::Conversation(proposal.conversation, Some(proposal.turn));
        change.tell(about, EventBody::GrantCreated { grant, by })?;
    }
    Ok(Some(Answered { proposal, decision, won: true }))
}

/// Whether a Grant was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    /// It was.
    Before,
    /// It was made.
    Now,
}

fn remember(change: &Change<'_>, proposal: &Proposal, by: &By) -> Result<(GrantId, Made), Failure> {
    let scope = Scope::of(&proposal.shown);
    if let Some(grant) = in_force(change, proposal.conversation, &scope)? {
        return Ok((grant, Made::Before));
    }
    let row = params![
        proposal.conversation.number(),
        scope.program.name(),
        scope.verb.map(Verb::name),
        scope.workdir.as_str(),
        change.now_ms(),
        proposal.id.number(),
        json::write_by(by),
    ];
    let grant = sql::sure(change.db(), INSERT_GRANT, row, |row| row.id(GrantId::new))?;
    Ok((grant, Made::Now))
}

/// Lets every pending Proposal expire whose deadline is past.
pub(super) fn expire_due(change: &mut Change<'_>) -> Result<Vec<TurnId>, Failure> {
    let due =
        sql::all(change.db(), DUE, [change.now_ms()], |row| Ok((row.id(ProposalId::new)?, row.id(TurnId::new)?)))?;
    let decision = by_owl(Outcome::Expired, change.now());
    let mut turns = Vec::new();
    for (id, turn) in due {
        if decide(change, id, &decision, Until::Decided)?.is_some() && !turns.contains(&turn) {
            turns.push(turn);
        }
    }
    Ok(turns)
}
