//! A Proposal is stored: pending, or decided at once by a Grant or by its Turn.

use super::tell_resolved;
use crate::{
    change::Change,
    failure::Failure,
    items::{self, Asked, Place},
    json, rows,
    sql::{self, must},
    turns,
};
use owl_domain::{
    consent::{By, Decision, Outcome, Proposal, Scope},
    gate::Verb,
    ids::{ConversationId, GrantId, ItemId, ProposalId},
    limits,
    ports::{NewProposal, OpenError},
    turn::EventBody,
};
use rusqlite::params;

const TURN: &str = "SELECT conversation, on_consent, sent_by FROM turns
    WHERE id = ?1 AND finished_at IS NULL AND NOT cancelling";
const IN_FORCE: &str = "SELECT id FROM grants WHERE conversation = ?1 AND program = ?2 AND ifnull(verb, '') = ?3
    AND workdir = ?4 AND revoked_at IS NULL";
const USE: &str = "UPDATE grants SET uses = uses + 1, last_used_at = ?2 WHERE id = ?1";
const PENDING: &str = "SELECT count(*) FROM proposals WHERE conversation = ?1 AND state = 'pending'";
const INSERT: &str = "INSERT INTO proposals (conversation, turn, reply, position, item, state, created_at, expires_at,
        decided_at, decided_by, granted, program, verb, workdir, project, digest, shown)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17) RETURNING id";
const SET_ITEM: &str = "UPDATE calls SET item = ?4 WHERE turn = ?1 AND reply = ?2 AND position = ?3";

/// Stores a Proposal and its Item.
pub(super) fn open(change: &mut Change<'_>, new: &NewProposal) -> Result<Result<Proposal, OpenError>, Failure> {
    let turn = sql::one(change.db(), TURN, [new.call.turn.number()], |row| {
        let conversation = row.id(ConversationId::new)?;
        let denies = row.next::<String>()? == "deny";
        Ok((conversation, denies, json::read_peer(&row.next::<String>()?)?))
    })?;
    let Some((conversation, denies, sent_by)) = turn else {
        return Ok(Err(OpenError::Lost));
    };
    if !turns::is_unjudged(change, new.call)? {
        return Ok(Err(OpenError::Lost));
    }
    let decided = |outcome, by, grant| Decision { outcome, by, at: change.now(), reason: None, grant };
    let decision = match in_force(change, conversation, &Scope::of(&new.shown))? {
        Some(grant) => Some(decided(Outcome::Allowed, By::Grant, Some(grant))),
        None if denies => Some(decided(Outcome::Denied, By::Turn(sent_by), None)),
        None => None,
    };
    let pending = sql::sure(change.db(), PENDING, [conversation.number()], |row| row.count())?;
    let most = u64::try_from(limits::PROPOSALS_PENDING).unwrap_or(u64::MAX);
    if decision.is_none() && pending >= most {
        return Ok(Err(OpenError::TooMany));
    }
    if let Some(grant) = decision.as_ref().and_then(|decision| decision.grant) {
        must(change.db(), USE, params![grant.number(), change.now_ms()], "this grant")?;
    }
    store(change, Place { conversation, turn: new.call.turn }, new, decision.as_ref()).map(Ok)
}

fn store(
    change: &mut Change<'_>,
    place: Place,
    new: &NewProposal,
    decision: Option<&Decision>,
) -> Result<Proposal, Failure> {
    let shown = &new.shown;
    let asked =
        Asked { requested: &shown.requested, workdir: Some(&shown.workdir), project: Some(&new.workdir.project) };
    let item = items::insert_command(change, place, asked)?;
    let id = insert(change, place, item, new, decision)?;
    let call = new.call;
    must(change.db(), SET_ITEM, params![call.turn.number(), call.reply, call.position, item.number()], "this call")?;
    items::begin_command(change, place, item, id)?;
    let proposal = rows::proposal(change.db(), id)?.ok_or(Failure::Gone { what: "this proposal" })?;
    change.tell(place.about(), EventBody::ProposalCreated(Box::new(proposal.clone())))?;
    if let Some(decision) = decision {
        tell_resolved(change, &proposal, decision)?;
    }
    Ok(proposal)
}

fn insert(
    change: &Change<'_>,
    place: Place,
    item: ItemId,
    new: &NewProposal,
    decision: Option<&Decision>,
) -> Result<ProposalId, Failure> {
    let shown = &new.shown;
    let row = params![
        place.conversation.number(),
        place.turn.number(),
        new.call.reply,
        new.call.position,
        item.number(),
        decision.map_or("pending", |decision| decision.outcome.name()),
        change.now_ms(),
        new.expires_at.millis(),
        decision.map(|decision| decision.at.millis()),
        decision.map(|decision| json::write_by(&decision.by)),
        decision.and_then(|decision| decision.grant).map(GrantId::number),
        shown.program.name(),
        shown.verb.map(Verb::name),
        shown.workdir.as_str(),
        new.workdir.project.as_str(),
        shown.digest.as_str(),
        json::write_shown(shown),
    ];
    sql::sure(change.db(), INSERT, row, |row| row.id(ProposalId::new))
}

/// Returns the Grant that covers a scope now.
pub(super) fn in_force(
    change: &Change<'_>,
    conversation: ConversationId,
    scope: &Scope,
) -> Result<Option<GrantId>, Failure> {
    let verb = scope.verb.map_or("", Verb::name);
    let asked = params![conversation.number(), scope.program.name(), verb, scope.workdir.as_str()];
    sql::one(change.db(), IN_FORCE, asked, |row| row.id(GrantId::new))
}
