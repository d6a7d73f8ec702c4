//! A question is stored, and its Turn begins.

use crate::{
    change::Change,
    conversations,
    failure::Failure,
    items::{self, Place},
    json,
    keys::{self, Known, Scope},
    rows, search,
    sql::{self, must},
};
use owl_domain::{
    conversation::automatic_title,
    ids::{ConversationId, ItemId, Seq, TurnId},
    ports::{BeginError, Begun, NewTurn, Once},
    text::AbsPath,
    turn::EventBody,
};
use rusqlite::{Connection, params};

const IS_UNTITLED: &str = "SELECT title = '' AND NOT title_given FROM conversations WHERE id = ?1";
const AT_WORK: &str = "SELECT id FROM turns WHERE conversation = ?1 AND finished_at IS NULL";
const INSERT: &str =
    "INSERT INTO turns (conversation, workdir, provider, model, on_consent, tools, sent_by, started_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING id";
const SPOKEN_TO: &str = "UPDATE conversations SET updated_at = ?2 WHERE id = ?1";
const SET_TITLE: &str = "UPDATE conversations SET title = ?2, version = version + 1 WHERE id = ?1";
const QUESTION: &str = "SELECT id, seq FROM items WHERE turn = ?1 AND kind = 'user' ORDER BY seq LIMIT 1";

/// Returns what an earlier call with the same key began.
pub(super) fn repeated(
    db: &Connection,
    conversation: ConversationId,
    once: &Once,
) -> Result<Result<Option<Begun>, BeginError>, Failure> {
    let turn = match keys::find(db, Scope::Send(conversation), once)? {
        Known::New | Known::Made { turn: None, .. } => return Ok(Ok(None)),
        Known::Mismatch => return Ok(Err(BeginError::Mismatch)),
        Known::Made { turn: Some(turn), .. } => turn,
    };
    let begun = sql::one(db, QUESTION, [turn.number()], |row| {
        Ok(Begun { turn, item: row.id(ItemId::new)?, seq: row.id(Seq)?, duplicate: true })
    })?;
    Ok(Ok(begun))
}

/// Stores the question and begins the Turn, unless one is at work.
pub(super) fn begin(change: &mut Change<'_>, new: &NewTurn) -> Result<Result<Begun, BeginError>, Failure> {
    let conversation = new.conversation;
    let untitled = sql::one(change.db(), IS_UNTITLED, [conversation.number()], |row| row.next::<bool>())?;
    let Some(untitled) = untitled else {
        return Ok(Err(BeginError::NotFound));
    };
    if let Some(once) = &new.once {
        keys::forget_old(change)?;
        match repeated(change.db(), conversation, once)? {
            Ok(None) => {}
            Ok(Some(begun)) => return Ok(Ok(begun)),
            Err(error) => return Ok(Err(error)),
        }
    }
    let at_work = sql::one(change.db(), AT_WORK, [conversation.number()], |row| row.id(TurnId::new))?;
    if let Some(turn) = at_work {
        return Ok(Err(BeginError::Busy { turn }));
    }

    must(change.db(), SPOKEN_TO, [conversation.number(), change.now_ms()], "this conversation")?;
    if untitled {
        title(change, conversation, &automatic_title(new.question.as_str()))?;
    }
    let turn = insert(change, new)?;
    let place = Place { conversation, turn };
    let started = rows::turn(change.db(), turn)?.ok_or(Failure::Gone { what: "this turn" })?;
    change.tell(place.about(), EventBody::TurnStarted(started))?;
    let (item, seq) = items::question(change, place, new.question.as_str())?;
    if let Some(once) = &new.once {
        keys::store(change, Scope::Send(conversation), once, conversation, Some(turn))?;
    }
    Ok(Ok(Begun { turn, item, seq, duplicate: false }))
}

fn title(change: &mut Change<'_>, id: ConversationId, title: &str) -> Result<(), Failure> {
    if title.is_empty() {
        return Ok(());
    }
    must(change.db(), SET_TITLE, params![id.number(), title], "this conversation")?;
    search::add_title(change.db(), id, title)?;
    conversations::tell(change, id, EventBody::ConversationUpdated)?;
    Ok(())
}

fn insert(change: &Change<'_>, new: &NewTurn) -> Result<TurnId, Failure> {
    let row = params![
        new.conversation.number(),
        new.workdir.as_ref().map(AbsPath::as_str),
        new.model.provider.name(),
        new.model.id.as_str(),
        new.on_consent.name(),
        new.tools,
        json::write_peer(&new.sent_by),
        change.now_ms(),
    ];
    sql::sure(change.db(), INSERT, row, |row| row.id(TurnId::new))
}
