//! A Turn with all that happened in it, for whoever carries it on or tells it to a model.

use crate::{
    failure::Failure,
    json, rows,
    sql::{self, Columns},
};
use owl_domain::{
    consent::Proposal,
    conversation::{CommandOutcome, ItemBody},
    ids::{ItemId, TurnId},
    ports::Earlier,
    provider::{Block, Call, ModelRef},
    turn::{CallProgress, CallRef, StoredCall, StoredReply, StoredTurn, Told},
};
use rusqlite::{Connection, params};
use std::collections::BTreeMap;

const CANCELLING: &str = "SELECT cancelling FROM turns WHERE id = ?1";
const QUESTION: &str = "SELECT text FROM items WHERE turn = ?1 AND kind = 'user' ORDER BY seq LIMIT 1";
const REPLIES: &str = concat!(
    "SELECT r.position, r.stop, r.blocks, ifnull(",
    rows::grown!("text"),
    ", '') FROM replies r LEFT JOIN items i ON i.id = r.item WHERE r.turn = ?1 ORDER BY r.position"
);
const CALLS: &str = "SELECT k.reply, k.position, k.told, k.is_error, k.item, i.completed_at IS NOT NULL
    FROM calls k LEFT JOIN items i ON i.id = k.item WHERE k.turn = ?1";
/// Those whose calls have no result yet; the others are no part of what is loaded.
const PROPOSALS: &str = concat!(
    "SELECT p.reply, p.position, ",
    rows::proposal_columns!(),
    " FROM calls k JOIN proposals p ON p.turn = k.turn AND p.reply = k.reply AND p.position = k.position
      WHERE k.turn = ?1 AND k.told IS NULL"
);
const BEFORE: &str = "SELECT t.id FROM turns t
    WHERE t.conversation = (SELECT conversation FROM turns WHERE id = ?1) AND t.id < ?1 ORDER BY t.id DESC";
const OLDER: &str = "SELECT c.item_count -
    (SELECT count(*) FROM turns t JOIN items i ON i.turn = t.id WHERE t.conversation = c.id AND t.id >= ?2)
    FROM turns u JOIN conversations c ON c.id = u.conversation WHERE u.id = ?1";

/// A call's place in its Turn.
type At = (u32, u32);

struct CallRow {
    told: Option<Told>,
    item: Option<ItemId>,
    closed: bool,
}

/// Loads a Turn; none when it is gone.
pub(super) fn load(db: &Connection, id: TurnId) -> Result<Option<StoredTurn>, Failure> {
    let Some(turn) = rows::turn(db, id)? else {
        return Ok(None);
    };
    let cancelling = sql::sure(db, CANCELLING, [id.number()], |row| row.next())?;
    let question = sql::one(db, QUESTION, [id.number()], |row| row.next())?.unwrap_or_default();
    let mut calls = sql::all(db, CALLS, [id.number()], read_call)?.into_iter().collect::<BTreeMap<_, _>>();
    let mut proposals = BTreeMap::new();
    if calls.values().any(|call| call.told.is_none() && call.item.is_some()) {
        let read = |row: &mut Columns<'_>| Ok(((row.small()?, row.small()?), rows::read_proposal(row)?));
        proposals = sql::all(db, PROPOSALS, [id.number()], read)?.into_iter().collect();
    }
    let rows = sql::all(db, REPLIES, [id.number()], |row| read_reply(row, &turn.model))?;
    let mut replies = Vec::with_capacity(rows.len());
    for (position, reply) in rows {
        let mut called = Vec::new();
        for (place, call) in (0u32..).zip(calls_of(&reply.blocks)) {
            // A reply that did not end as it should has calls among its blocks, and no row for them.
            let Some(row) = calls.remove(&(position, place)) else {
                continue;
            };
            let at = CallRef { turn: id, reply: position, position: place };
            let progress = progress(db, row, proposals.remove(&(position, place)))?;
            called.push(StoredCall { at, call: call.clone(), progress });
        }
        replies.push(StoredReply { calls: called, ..reply });
    }
    Ok(Some(StoredTurn { turn, question, cancelling, replies }))
}

fn calls_of(blocks: &[Block]) -> impl Iterator<Item = &Call> {
    blocks.iter().filter_map(|block| match block {
        Block::Call(call) => Some(call),
        Block::Text(_) | Block::Raw(_) => None,
    })
}

fn read_reply(row: &mut Columns<'_>, model: &ModelRef) -> Result<(u32, StoredReply), Failure> {
    let position = row.small()?;
    let stop: Option<String> = row.next()?;
    let blocks: Option<String> = row.next()?;
    let reply = StoredReply {
        model: model.clone(),
        text: row.next()?,
        blocks: blocks.as_deref().map(json::read_blocks).transpose()?.unwrap_or_default(),
        stop: stop.as_deref().map(json::read_stop).transpose()?,
        calls: Vec::new(),
    };
    Ok((position, reply))
}

fn read_call(row: &mut Columns<'_>) -> Result<(At, CallRow), Failure> {
    let at = (row.small()?, row.small()?);
    let text: Option<String> = row.next()?;
    let is_error: Option<bool> = row.next()?;
    let told = text.zip(is_error).map(|(text, is_error)| Told { text, is_error });
    Ok((at, CallRow { told, item: row.maybe_id(ItemId::new)?, closed: row.next()? }))
}

fn progress(db: &Connection, call: CallRow, proposal: Option<Proposal>) -> Result<CallProgress, Failure> {
    if let Some(told) = call.told {
        return Ok(CallProgress::Told(told));
    }
    match (call.item, proposal) {
        (None, _) => Ok(CallProgress::Unjudged),
        (Some(item), _) if call.closed => Ok(CallProgress::Closed(outcome(db, item)?)),
        (Some(_), Some(proposal)) => Ok(CallProgress::Proposed(proposal)),
        (Some(_), None) => Err(Failure::Unreadable { what: "an open command without a proposal" }),
    }
}

fn outcome(db: &Connection, item: ItemId) -> Result<CommandOutcome, Failure> {
    match rows::sure_item(db, item)?.body {
        ItemBody::Command(command) => command.outcome,
        ItemBody::User { .. } | ItemBody::Assistant { .. } | ItemBody::Lookup(_) => None,
    }
    .ok_or(Failure::Unreadable { what: "a closed command without an outcome" })
}

/// Loads the Turns before one, newest first, until about that many bytes of text are loaded.
pub(super) fn earlier(db: &Connection, turn: TurnId, most_bytes: usize) -> Result<Earlier, Failure> {
    let mut turns = Vec::new();
    let mut bytes = 0;
    let mut oldest = turn;
    sql::each(db, BEFORE, [turn.number()], |row| {
        if bytes >= most_bytes {
            return Ok(sql::Go::Stop);
        }
        let id = row.id(TurnId::new)?;
        if let Some(loaded) = load(db, id)? {
            bytes += size(&loaded);
            turns.push(loaded);
            oldest = id;
        }
        Ok(sql::Go::On)
    })?;
    turns.reverse();
    let older = sql::one(db, OLDER, params![turn.number(), oldest.number()], |row| row.next::<i64>())?;
    let left_out = u32::try_from(older.unwrap_or(0).max(0)).unwrap_or(u32::MAX);
    Ok(Earlier { turns, left_out })
}

/// Returns how much text of a Turn a model could be sent.
fn size(turn: &StoredTurn) -> usize {
    let told = |call: &StoredCall| match &call.progress {
        CallProgress::Told(told) => told.text.len(),
        CallProgress::Unjudged | CallProgress::Proposed(_) | CallProgress::Closed(_) => 0,
    };
    let block = |block: &Block| match block {
        Block::Text(text) | Block::Raw(text) => text.len(),
        Block::Call(call) => call.name.len() + call.arguments.len(),
    };
    let reply = |reply: &StoredReply| {
        let blocks: usize = reply.blocks.iter().map(block).sum();
        blocks.max(reply.text.len()) + reply.calls.iter().map(told).sum::<usize>()
    };
    turn.question.len() + turn.replies.iter().map(reply).sum::<usize>()
}
