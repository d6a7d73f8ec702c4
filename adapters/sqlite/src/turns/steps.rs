//! The steps of a Turn at work: a reply's text, a whole reply, another try, a call that became no Proposal.

use super::{add_usage, open_place, sure_place};
use crate::{
    change::Change,
    failure::Failure,
    items::{self, Asked, Place, Whole},
    json, rows,
    sql::{self, must},
};
use owl_domain::{
    ids::{ItemId, TurnId},
    ports::{Judged, Moved},
    provider::{Block, Retrying, WholeReply},
    text::{AbsPath, ProjectName},
    turn::{CallRef, EventBody, Told},
};
use rusqlite::params;

const INSERT_REPLY: &str = "INSERT INTO replies (turn, position, item)
    VALUES (?1, (SELECT count(*) FROM replies WHERE turn = ?1), ?2) RETURNING position";
const REPLY_OF: &str = "SELECT position FROM replies WHERE turn = ?1 AND item = ?2 AND stop IS NULL";
const SET_REPLY: &str = "UPDATE replies SET stop = ?3, blocks = ?4 WHERE turn = ?1 AND position = ?2";
const INSERT_CALL: &str = "INSERT INTO calls (turn, reply, position) VALUES (?1, ?2, ?3)";
const COUNT_ROUND: &str = "UPDATE turns SET rounds = rounds + 1, left_out = ?2 WHERE id = ?1";
const IS_UNJUDGED: &str =
    "SELECT item IS NULL AND told IS NULL FROM calls WHERE turn = ?1 AND reply = ?2 AND position = ?3";
const TELL: &str = "UPDATE calls SET item = ?4, told = ?5, is_error = ?6
    WHERE turn = ?1 AND reply = ?2 AND position = ?3 AND told IS NULL";

/// The Project of a directory: of a root, of the Conversation's own workdir, or of one that a command was proposed for.
const PROJECT_OF: &str = "SELECT coalesce(
    (SELECT name FROM projects WHERE root = ?2),
    (SELECT r.name FROM conversations c JOIN projects r ON r.root = c.project_root WHERE c.id = ?1 AND c.workdir = ?2),
    (SELECT project FROM commands WHERE workdir = ?2 AND project IS NOT NULL ORDER BY item DESC LIMIT 1))";

/// Begins the Item of a reply's text.
pub(super) fn open_text(change: &mut Change<'_>, turn: TurnId) -> Result<ItemId, Failure> {
    let place = sure_place(change, turn)?;
    let item = items::begin_text(change, place)?;
    let _position = insert_reply(change, turn, Some(item))?;
    Ok(item)
}

fn insert_reply(change: &Change<'_>, turn: TurnId, item: Option<ItemId>) -> Result<i64, Failure> {
    sql::sure(change.db(), INSERT_REPLY, params![turn.number(), item.map(ItemId::number)], |row| row.next())
}

/// Stores a whole reply, with its text and its calls.
pub(super) fn record(
    change: &mut Change<'_>,
    turn: TurnId,
    item: Option<ItemId>,
    reply: &WholeReply,
    left_out: u32,
) -> Result<(), Failure> {
    let place = sure_place(change, turn)?;
    let position = match item {
        Some(item) => {
            let begun = sql::one(change.db(), REPLY_OF, [turn.number(), item.number()], |row| row.next::<i64>())?;
            begun.ok_or(Failure::Gone { what: "this reply, unfinished" })?
        }
        None => insert_reply(change, turn, None)?,
    };
    let (stop, blocks) = (json::write_stop(&reply.stop), json::write_blocks(&reply.blocks));
    must(change.db(), SET_REPLY, params![turn.number(), position, stop, blocks], "this reply")?;
    if reply.stop.carries_out_calls() {
        let calls = reply.blocks.iter().filter(|block| matches!(block, Block::Call(_)));
        for (call, _) in (0i64..).zip(calls) {
            must(change.db(), INSERT_CALL, [turn.number(), position, call], "this call")?;
        }
    }
    must(change.db(), COUNT_ROUND, params![turn.number(), left_out], "this turn")?;
    add_usage(change, place, reply.usage)?;
    match item {
        Some(item) => items::end_text(change, place, item, Whole::Yes),
        None => Ok(()),
    }
}

/// Tells that a Provider will be asked again.
pub(super) fn retrying(change: &mut Change<'_>, turn: TurnId, retrying: Retrying) -> Result<(), Failure> {
    let place = sure_place(change, turn)?;
    let asked = rows::turn(change.db(), turn)?.ok_or(Failure::Gone { what: "this turn" })?;
    change.tell(place.about(), EventBody::ProviderRetrying { model: asked.model, retrying })?;
    Ok(())
}

/// Answers a call that became no Proposal.
pub(super) fn settle(change: &mut Change<'_>, call: CallRef, judged: &Judged, told: &Told) -> Result<Moved, Failure> {
    let Some(place) = open_place(change, call.turn)? else {
        return Ok(Moved::Lost);
    };
    if !is_unjudged(change, call)? {
        return Ok(Moved::Lost);
    }
    let item = match judged {
        Judged::Denied { requested, workdir, denial } => {
            let project = project_of(change, place, workdir.as_ref())?;
            let asked = Asked { requested, workdir: workdir.as_ref(), project: project.as_ref() };
            items::denied_command(change, place, asked, denial)?
        }
        Judged::Lookup(lookup) => items::lookup(change, place, lookup)?,
    };
    tell(change, call, item, told)?;
    Ok(Moved::Won)
}

/// Says whether the gate has not seen a call yet.
pub(crate) fn is_unjudged(change: &Change<'_>, call: CallRef) -> Result<bool, Failure> {
    let place = params![call.turn.number(), call.reply, call.position];
    Ok(sql::one(change.db(), IS_UNJUDGED, place, |row| row.next())?.unwrap_or(false))
}

/// Stores what the model is told of a call.
pub(crate) fn tell(change: &Change<'_>, call: CallRef, item: ItemId, told: &Told) -> Result<(), Failure> {
    let row = params![call.turn.number(), call.reply, call.position, item.number(), told.text, told.is_error];
    must(change.db(), TELL, row, "this call, unanswered")
}

fn project_of(change: &Change<'_>, place: Place, workdir: Option<&AbsPath>) -> Result<Option<ProjectName>, Failure> {
    let Some(workdir) = workdir else {
        return Ok(None);
    };
    let asked = params![place.conversation.number(), workdir.as_str()];
    sql::sure(change.db(), PROJECT_OF, asked, |row| row.maybe_project())
}
