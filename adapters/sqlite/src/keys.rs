//! Clients' own names for calls, so that one that is sent again does nothing. Kept for at least as long as they count.

use crate::{
    change::Change,
    failure::Failure,
    sql::{self, must, run},
};
use owl_domain::{
    ids::{ConversationId, TurnId},
    limits,
    ports::Once,
};
use rusqlite::{Connection, params};

const FIND: &str =
    "SELECT parameters, conversation, turn FROM client_keys WHERE method = ?1 AND scope = ?2 AND key = ?3";
const FORGET_OLD: &str = "DELETE FROM client_keys WHERE at <= ?1";
const STORE: &str = "INSERT INTO client_keys (method, scope, key, parameters, at, conversation, turn)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

/// Of which call a key is one. Keys are separate for each.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scope {
    /// A Conversation is made.
    Create,
    /// A question is sent to one.
    Send(ConversationId),
}

impl Scope {
    fn columns(self) -> (&'static str, i64) {
        match self {
            Self::Create => ("conversations.create", 0),
            Self::Send(conversation) => ("chat.send", conversation.number()),
        }
    }
}

/// What is known of a key.
pub(crate) enum Known {
    /// It is new.
    New,
    /// It was used with other parameters.
    Mismatch,
    /// That call made this.
    Made {
        /// The Conversation.
        conversation: ConversationId,
        /// The Turn, when a question was sent.
        turn: Option<TurnId>,
    },
}

/// Looks a key up.
pub(crate) fn find(db: &Connection, scope: Scope, once: &Once) -> Result<Known, Failure> {
    let (method, number) = scope.columns();
    let found = sql::one(db, FIND, params![method, number, once.key.as_str()], |row| {
        if row.next::<String>()? != once.parameters {
            return Ok(Known::Mismatch);
        }
        Ok(Known::Made { conversation: row.id(ConversationId::new)?, turn: row.maybe_id(TurnId::new)? })
    })?;
    Ok(found.unwrap_or(Known::New))
}

/// Forgets keys that are too old to count.
pub(crate) fn forget_old(change: &Change<'_>) -> Result<(), Failure> {
    let kept = i64::try_from(limits::CLIENT_KEY_KEPT.as_millis()).unwrap_or(i64::MAX);
    let _how_many = run(change.db(), FORGET_OLD, [change.now_ms().saturating_sub(kept)])?;
    Ok(())
}

/// Stores what a call with a key made.
pub(crate) fn store(
    change: &Change<'_>,
    scope: Scope,
    once: &Once,
    conversation: ConversationId,
    turn: Option<TurnId>,
) -> Result<(), Failure> {
    let (method, number) = scope.columns();
    let turn = turn.map(TurnId::number);
    let row = params![method, number, once.key.as_str(), once.parameters, change.now_ms(), conversation.number(), turn];
    must(change.db(), STORE, row, "this client_key")
}
