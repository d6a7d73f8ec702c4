//! A Conversation as it is told.

use super::{awaiting, read_model, read_usage};
use crate::{
    failure::Failure,
    sql::{self, Columns},
};
use owl_domain::{
    conversation::{Conversation, ConversationState},
    ids::{ConversationId, Seq},
};
use rusqlite::Connection;

/// The columns of a Conversation `c`. The Project is found by its root: it is told only while it is registered.
macro_rules! conversation_columns {
    () => {
        concat!(
            "c.id, c.title, c.workdir, (SELECT r.name FROM projects r WHERE r.root = c.project_root),
             c.provider, c.model, (SELECT iif(",
            $crate::rows::awaiting!(),
            ", 'awaiting_consent', 'running') FROM turns t WHERE t.conversation = c.id AND t.finished_at IS NULL),
             c.archived, c.version, c.created_at, c.updated_at,
             (SELECT max(e.seq) FROM events e WHERE e.conversation = c.id), c.item_count,
             (SELECT count(*) FROM proposals p WHERE p.conversation = c.id AND p.state = 'pending'),
             c.input_tokens, c.output_tokens, c.cache_read_tokens, c.cache_write_tokens, c.cost_usd"
        )
    };
}
pub(crate) use conversation_columns;

const GET: &str = concat!("SELECT ", conversation_columns!(), " FROM conversations c WHERE c.id = ?1");
const STATE: &str = concat!(
    "SELECT iif(",
    awaiting!(),
    ", 'awaiting_consent', 'running') FROM turns t WHERE t.conversation = ?1 AND t.finished_at IS NULL"
);

/// Returns a Conversation; none when there is none of that id.
pub(crate) fn conversation(db: &Connection, id: ConversationId) -> Result<Option<Conversation>, Failure> {
    sql::one(db, GET, [id.number()], read_conversation)
}

/// Returns whether a Turn is at work in a Conversation.
pub(crate) fn conversation_state(db: &Connection, id: ConversationId) -> Result<ConversationState, Failure> {
    let state = sql::one(db, STATE, [id.number()], read_state)?;
    Ok(state.unwrap_or(ConversationState::Idle))
}

fn read_state(row: &mut Columns<'_>) -> Result<ConversationState, Failure> {
    let state = row.maybe_named(ConversationState::from_name, "a conversation's state")?;
    Ok(state.unwrap_or(ConversationState::Idle))
}

/// Reads [`conversation_columns`].
pub(crate) fn read_conversation(row: &mut Columns<'_>) -> Result<Conversation, Failure> {
    Ok(Conversation {
        id: row.id(ConversationId::new)?,
        title: row.next()?,
        workdir: row.maybe_path()?,
        project: row.maybe_project()?,
        model: read_model(row)?,
        state: read_state(row)?,
        archived: row.next()?,
        version: row.next()?,
        created_at: row.time()?,
        updated_at: row.time()?,
        last_seq: row.maybe_id(Seq)?,
        item_count: row.count()?,
        pending_count: row.count()?,
        usage: read_usage(row)?,
    })
}
