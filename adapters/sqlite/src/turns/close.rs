//! A Turn ends: closed, asked to stop, or found unfinished by a daemon that starts.

use super::{add_usage, load, open_place};
use crate::{
    change::Change,
    failure::Failure,
    items::{self, Place, Whole},
    json, proposals, rows,
    sql::{self, must},
};
use owl_domain::{
    ids::{ConversationId, ItemId, TurnId},
    ports::Moved,
    provider::Usage,
    turn::{Ending, EventBody, Step, outcome_at_close},
};
use rusqlite::{Connection, params};

const OPEN_ITEMS: &str = "SELECT id, kind FROM items WHERE turn = ?1 AND completed_at IS NULL ORDER BY seq";
const PROPOSAL_OF: &str = concat!("SELECT ", rows::proposal_columns!(), " FROM proposals p WHERE p.item = ?1");
const FINISH: &str = "UPDATE turns SET finished_at = ?2, ending = ?3, error = ?4 WHERE id = ?1 AND finished_at IS NULL";
const STOP: &str = "UPDATE turns SET cancelling = 1
    WHERE conversation = ?1 AND finished_at IS NULL AND NOT cancelling AND id = ifnull(?2, id) RETURNING id";
const UNFINISHED: &str = "SELECT id FROM turns WHERE finished_at IS NULL ORDER BY id";

/// Closes a Turn. Returns also the Items whose text is closed with it.
pub(super) fn close(
    change: &mut Change<'_>,
    turn: TurnId,
    ending: &Ending,
    usage: Usage,
) -> Result<(Moved, Vec<ItemId>), Failure> {
    let Some(place) = open_place(change, turn)? else {
        return Ok((Moved::Lost, Vec::new()));
    };
    proposals::cancel_pending(change, place)?;
    let open = sql::all(change.db(), OPEN_ITEMS, [turn.number()], |row| {
        Ok((row.id(ItemId::new)?, row.next::<String>()? == "command"))
    })?;
    let mut texts = Vec::new();
    for (item, is_command) in open {
        if is_command {
            let proposal = sql::one(change.db(), PROPOSAL_OF, [item.number()], rows::read_proposal)?;
            let proposal = proposal.ok_or(Failure::Unreadable { what: "an open command without a proposal" })?;
            items::end_command(change, place, item, &outcome_at_close(&proposal))?;
        } else {
            items::end_text(change, place, item, Whole::No)?;
            texts.push(item);
        }
    }
    add_usage(change, place, usage)?;
    finish(change, place, ending)?;
    Ok((Moved::Won, texts))
}

fn finish(change: &mut Change<'_>, place: Place, ending: &Ending) -> Result<(), Failure> {
    let error = match ending {
        Ending::Error(error) => Some(json::write_error(error)),
        _ => None,
    };
    let row = params![place.turn.number(), change.now_ms(), ending.name(), error];
    must(change.db(), FINISH, row, "this turn, unfinished")?;
    let finished = rows::turn(change.db(), place.turn)?.ok_or(Failure::Gone { what: "this turn" })?;
    change.tell(place.about(), EventBody::TurnFinished(finished))?;
    Ok(())
}

/// Asks a Conversation's Turn to stop. One that was asked already is nothing to cancel.
pub(super) fn cancel(
    change: &mut Change<'_>,
    conversation: ConversationId,
    turn: Option<TurnId>,
) -> Result<Option<TurnId>, Failure> {
    let asked = params![conversation.number(), turn.map(TurnId::number)];
    let stopping = sql::one(change.db(), STOP, asked, |row| row.id(TurnId::new))?;
    if let Some(turn) = stopping {
        proposals::cancel_pending(change, Place { conversation, turn })?;
    }
    Ok(stopping)
}

/// Returns the Turns that are not finished.
pub(super) fn unfinished(db: &Connection) -> Result<Vec<TurnId>, Failure> {
    sql::all(db, UNFINISHED, [], |row| row.id(TurnId::new))
}

/// What became of a Turn that was found unfinished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recovered {
    /// It was closed as interrupted.
    Closed,
    /// It waits, or its next step had not begun.
    Remains,
}

/// Closes a Turn as interrupted when the daemon died while it streamed, executed, or was about to ask the model: the
/// model is never asked again by itself. Leaves every other as it is.
pub(super) fn recover(change: &mut Change<'_>, turn: TurnId) -> Result<Recovered, Failure> {
    let Some(stored) = load::load(change.db(), turn)? else {
        return Ok(Recovered::Closed);
    };
    match stored.next() {
        Step::Ask | Step::Close(Ending::Interrupted) => {
            let _closed = close(change, turn, &Ending::Interrupted, Usage::default())?;
            Ok(Recovered::Closed)
        }
        Step::Judge(_) | Step::Run(..) | Step::Tell(..) | Step::Wait | Step::Close(_) => Ok(Recovered::Remains),
    }
}
