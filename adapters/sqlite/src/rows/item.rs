//! An Item as it is told; an open one as it stands.

use super::{read_decision, read_shown, unasked};
use crate::{
    failure::Failure,
    json,
    sql::{self, Columns},
};
use owl_domain::{
    consent::Decision,
    conversation::{CommandEnd, CommandItem, CommandOutcome, CommandResult, Item, ItemBody},
    ids::{ConversationId, ItemId, ProposalId, Seq, TurnId},
    text::Clipped,
};
use rusqlite::Connection;
use std::time::Duration;

/// The columns of a command `k` and its Proposal `p`, but for the text that it printed.
macro_rules! command_columns {
    () => {
        concat!(
            "k.requested, k.workdir, k.proposal, p.started_at, k.finished_at, ",
            $crate::rows::shown_columns!(),
            ", ",
            $crate::rows::decision_columns!(),
            ", k.outcome, k.denial, k.failure, k.ended_by, k.exit_code, k.signal, k.duration_ms, k.confinement,
             k.stdout_bytes, k.stdout_omitted, k.stdout_replaced, k.stderr_bytes, k.stderr_omitted, k.stderr_replaced"
        )
    };
}
pub(crate) use command_columns;

/// The text of an Item `i`: what is stored, and while it is open what has come since.
macro_rules! grown {
    ($part:literal) => {
        concat!(
            "iif(i.completed_at IS NULL, i.",
            $part,
            " || ifnull((SELECT group_concat(h.text, '' ORDER BY h.id) FROM chunks h WHERE h.item = i.id AND h.part = '",
            $part,
            "'), ''), i.",
            $part,
            ")"
        )
    };
}

/// Starts a statement that finds Items `i`, with their commands and Proposals.
macro_rules! select_items {
    () => {
        concat!(
            "SELECT i.id, i.conversation, i.turn, i.seq, i.created_at, i.completed_at, i.kind, i.complete, i.lookup, ",
            $crate::rows::grown!("text"),
            ", ",
            $crate::rows::grown!("reasoning"),
            ", ",
            $crate::rows::command_columns!(),
            ", k.stdout_head, k.stdout_tail, k.stderr_head, k.stderr_tail
             FROM items i LEFT JOIN commands k ON k.item = i.id LEFT JOIN proposals p ON p.item = i.id "
        )
    };
}
pub(crate) use {grown, select_items};

const GET: &str = concat!(select_items!(), "WHERE i.id = ?1");

/// Returns an Item; none when there is none of that id.
pub(crate) fn item(db: &Connection, id: ItemId) -> Result<Option<Item>, Failure> {
    sql::one(db, GET, [id.number()], read_item)
}

/// Returns an Item that is known to be there.
pub(crate) fn sure_item(db: &Connection, id: ItemId) -> Result<Item, Failure> {
    item(db, id)?.ok_or(Failure::Gone { what: "this item" })
}

/// Reads what [`select_items`] finds.
pub(crate) fn read_item(row: &mut Columns<'_>) -> Result<Item, Failure> {
    Ok(Item {
        id: row.id(ItemId::new)?,
        conversation: row.id(ConversationId::new)?,
        turn: row.id(TurnId::new)?,
        seq: row.id(Seq)?,
        created_at: row.time()?,
        completed_at: row.maybe_time()?,
        body: read_body(row)?,
    })
}

fn read_body(row: &mut Columns<'_>) -> Result<ItemBody, Failure> {
    let kind: String = row.next()?;
    let complete: bool = row.next()?;
    let lookup: Option<String> = row.next()?;
    let text: String = row.next()?;
    let reasoning: String = row.next()?;
    match (kind.as_str(), lookup) {
        ("user", _) => Ok(ItemBody::User { text }),
        ("assistant", _) => Ok(ItemBody::Assistant { text, reasoning, complete }),
        ("lookup", Some(lookup)) => Ok(ItemBody::Lookup(json::read_lookup(&lookup)?)),
        ("command", _) => {
            let (mut command, _) = read_command(row)?;
            if let Some(CommandOutcome::Ran(result)) = &mut command.outcome {
                result.stdout.head = row.next()?;
                result.stdout.tail = row.next()?;
                result.stderr.head = row.next()?;
                result.stderr.tail = row.next()?;
            }
            Ok(ItemBody::Command(Box::new(command)))
        }
        _ => Err(Failure::Unreadable { what: "an item's kind" }),
    }
}

/// Reads [`command_columns`]: the command without what it printed, and how it was decided.
pub(crate) fn read_command(row: &mut Columns<'_>) -> Result<(CommandItem, Option<Decision>), Failure> {
    let requested = row.next()?;
    let workdir = row.maybe_path()?;
    let proposal = row.maybe_id(ProposalId::new)?;
    let started_at = row.maybe_time()?;
    let finished_at = row.maybe_time()?;
    let shown = read_shown(row)?;
    let decision = read_decision(row)?;
    let outcome = read_outcome(row)?;
    let grant = unasked(decision.as_ref());
    let command = CommandItem { requested, workdir, shown, proposal, grant, started_at, finished_at, outcome };
    Ok((command, decision))
}

fn read_outcome(row: &mut Columns<'_>) -> Result<Option<CommandOutcome>, Failure> {
    let outcome: Option<String> = row.next()?;
    let denial: Option<String> = row.next()?;
    let failure: Option<String> = row.next()?;
    Ok(Some(match (outcome.as_deref(), denial, failure) {
        (None, ..) => return Ok(None),
        (Some("ran"), ..) => CommandOutcome::Ran(read_result(row)?),
        (Some("gate_denied"), Some(denial), _) => CommandOutcome::GateDenied(json::read_denial(&denial)?),
        (Some("failed"), _, Some(reason)) => CommandOutcome::Failed { reason },
        (Some("denied"), ..) => CommandOutcome::Denied,
        (Some("expired"), ..) => CommandOutcome::Expired,
        (Some("cancelled"), ..) => CommandOutcome::Cancelled,
        (Some("interrupted"), ..) => CommandOutcome::Interrupted,
        _ => return Err(Failure::Unreadable { what: "what came of a command" }),
    }))
}

fn read_result(row: &mut Columns<'_>) -> Result<CommandResult, Failure> {
    let ended_by = |name: &str| CommandEnd::ALL.into_iter().find(|end| end.name() == name);
    Ok(CommandResult {
        ended_by: row.named(ended_by, "how a command ended")?,
        exit_code: row.next()?,
        signal: row.next()?,
        duration: Duration::from_millis(row.count()?),
        confinement: row.named(json::confinement, "what a command ran under")?,
        stdout: read_size(row)?,
        stderr: read_size(row)?,
    })
}

fn read_size(row: &mut Columns<'_>) -> Result<Clipped, Failure> {
    Ok(Clipped { bytes: row.count()?, omitted_bytes: row.count()?, replaced_bytes: row.count()?, ..Clipped::default() })
}
