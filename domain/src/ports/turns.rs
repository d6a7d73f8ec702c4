//! Turns as rows. Every change writes its events in its own transaction, and nobody is told before that (D16).

use super::{Once, StoreError};
use crate::{
    consent::Peer,
    conversation::{CommandOutcome, Lookup, Part},
    gate::Denial,
    ids::{ConversationId, ItemId, Seq, TurnId},
    ports::Moved,
    provider::{ModelRef, Retrying, Usage, WholeReply},
    text::{AbsPath, Question},
    time::Timestamp,
    turn::{CallRef, Ending, OnConsent, StoredTurn, Told, Turn},
};
use alloc::{boxed::Box, string::String, vec::Vec};
use async_trait::async_trait;

/// Keeps Turns. Each change is one transaction with its events.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Turns: Send + Sync {
    /// Returns what an earlier call with the same key began.
    ///
    /// # Errors
    /// [`BeginError::Mismatch`] when that call had other parameters, else [`BeginError::Store`].
    async fn repeated(&self, conversation: ConversationId, once: Once) -> Result<Option<Begun>, BeginError>;

    /// Stores the question and begins a Turn: `conversation.updated` when the title came of it, `turn.started`, the
    /// user's `item.completed`.
    ///
    /// # Errors
    /// [`BeginError`]: nothing was stored.
    async fn begin(&self, new: NewTurn, now: Timestamp) -> Result<Begun, BeginError>;

    /// Returns a Turn as it is told; none when there is none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn get(&self, id: TurnId) -> Result<Option<Turn>, StoreError>;

    /// Returns the newest Turn of a Conversation.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn newest(&self, conversation: ConversationId) -> Result<Option<Turn>, StoreError>;

    /// Returns the text of a Turn's assistant Items so far, joined by a blank line.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn text(&self, id: TurnId) -> Result<String, StoreError>;

    /// Loads a Turn with all that happened in it; none when it is gone.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn load(&self, id: TurnId) -> Result<Option<StoredTurn>, StoreError>;

    /// Loads the Turns before one, newest first, until about `most_bytes` of text are loaded; then returns them oldest
    /// first.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn earlier(&self, turn: TurnId, most_bytes: usize) -> Result<Earlier, StoreError>;

    /// Begins the Item of a reply's text: `item.started`.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn open_text(&self, turn: TurnId, now: Timestamp) -> Result<ItemId, StoreError>;

    /// Appends to an open Item, in memory; it is written within [`TEXT_WRITTEN_EVERY`] or
    /// [`TEXT_WRITTEN_BYTES`](crate::limits::TEXT_WRITTEN_BYTES), whichever comes first, so that a killed daemon loses
    /// at most that much. Has no event. Never waits.
    ///
    /// [`TEXT_WRITTEN_EVERY`]: crate::limits::TEXT_WRITTEN_EVERY
    fn append(&self, item: ItemId, part: Part, text: &str);

    /// Stores a whole reply with what was appended to its Item: the Item's `item.completed`, one more round, the usage,
    /// and its calls, unjudged, when it stopped because it was done.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn record(
        &self,
        turn: TurnId,
        item: Option<ItemId>,
        reply: WholeReply,
        left_out: u32,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// Tells that a Provider will be asked again: `provider.retrying`.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn retrying(&self, turn: TurnId, retrying: Retrying, now: Timestamp) -> Result<(), StoreError>;

    /// Answers a call that became no Proposal, with an Item that is whole at once: `item.completed`. Loses when the call
    /// was judged already.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn settle(&self, call: CallRef, judged: Judged, told: Told, now: Timestamp) -> Result<Moved, StoreError>;

    /// Closes a Turn: its open Proposals become `cancelled`, its open Items are completed
    /// ([`outcome_at_close`](crate::turn::outcome_at_close) for commands, `complete: false` for text), `turn.finished`.
    /// Loses when it is closed already.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn close(&self, turn: TurnId, ending: Ending, usage: Usage, now: Timestamp) -> Result<Moved, StoreError>;

    /// Asks a Conversation's Turn to stop: it is cancelling, its open Proposals `cancelled`, in one transaction. Returns
    /// the Turn; none when none runs, or another than the one that was named.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn cancel(
        &self,
        conversation: ConversationId,
        turn: Option<TurnId>,
        now: Timestamp,
    ) -> Result<Option<TurnId>, StoreError>;

    /// At start: closes as interrupted every Turn that was streaming or executing, and returns those that are not
    /// finished. A Turn that waited, or whose next step had not begun, is left as it is.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn recover(&self, now: Timestamp) -> Result<Vec<TurnId>, StoreError>;
}

/// A Turn that is to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTurn {
    /// In which Conversation.
    pub conversation: ConversationId,
    /// The question.
    pub question: Question,
    /// Where its commands run.
    pub workdir: Option<AbsPath>,
    /// Which model is asked.
    pub model: ModelRef,
    /// What becomes of commands that would have to be asked about.
    pub on_consent: OnConsent,
    /// Who sent it.
    pub sent_by: Peer,
    /// Whether tools are offered.
    pub tools: bool,
    /// The client's key.
    pub once: Option<Once>,
}

/// A Turn that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// The Turn.
    pub turn: TurnId,
    /// The user's Item.
    pub item: ItemId,
    /// The number of that Item's event.
    pub seq: Seq,
    /// Whether an earlier call with the same key began it.
    pub duplicate: bool,
}

/// Why a Turn did not begin. Nothing was stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BeginError {
    /// There is no such Conversation.
    #[error("there is no such conversation")]
    NotFound,
    /// A Turn is at work in it.
    #[error("{turn} is at work in this conversation")]
    Busy {
        /// Which.
        turn: TurnId,
    },
    /// The client's key was used with other parameters.
    #[error("this client_key was used with other parameters")]
    Mismatch,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The Turns before one.
#[derive(Debug, Clone, PartialEq)]
pub struct Earlier {
    /// The Turns, oldest first.
    pub turns: Vec<StoredTurn>,
    /// How many Items of still older ones were not loaded.
    pub left_out: u32,
}

/// What a call became that is no Proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judged {
    /// A command that the gate denied.
    Denied {
        /// The line as the model wrote it.
        requested: String,
        /// Where it was to run.
        workdir: Option<AbsPath>,
        /// Why not.
        denial: Denial,
    },
    /// Something that Owl knows.
    Lookup(Lookup),
}

/// A command's Item as it is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// What came of it.
    pub outcome: CommandOutcome,
    /// What the model is told.
    pub told: Told,
}
