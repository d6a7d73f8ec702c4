//! Events: rows to read after a number, and text on its way that is told and forgotten (D7).

use super::StoreError;
use crate::{
    consent::Proposal,
    conversation::Part,
    ids::{ConversationId, ItemId, Seq, TurnId},
    turn::{About, Event},
};
use alloc::{boxed::Box, string::String, vec::Vec};
use async_trait::async_trait;

/// Reads stored events. A subscription is a cursor over them; the store keeps nothing of it.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Events: Send + Sync {
    /// Returns the number of the newest event that is committed; 0 before the first.
    fn newest(&self) -> Seq;

    /// Returns once the newest committed event is beyond that number.
    async fn newer_than(&self, seq: Seq) -> Seq;

    /// Returns at most `most` events beyond a number, ascending, and fewer where they are large
    /// ([`EVENTS_AHEAD_BYTES`](crate::limits::EVENTS_AHEAD_BYTES)); none only when there is none.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn after(&self, seq: Seq, scope: EventScope, most: usize) -> Result<Vec<StoredEvent>, StoreError>;

    /// Returns how things stand, and the number of the newest event at that very moment: in one transaction, so that
    /// there is no seam between them.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn standing(&self, scope: EventScope) -> Result<Standing, StoreError>;
}

/// Which events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventScope {
    /// Those of one Conversation.
    Conversation(ConversationId),
    /// All.
    All,
}

/// A stored event: the text that clients get, made when it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// Its number.
    pub seq: Seq,
    /// What it belongs to.
    pub about: About,
    /// Its name, such as `item.started`.
    pub name: &'static str,
    /// Its Item, for `item.started` and `item.completed`.
    pub item: Option<ItemId>,
    /// The whole event as [`EventText::encode`] wrote it.
    pub text: String,
}

/// How things stand.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// The newest event of the whole database.
    pub newest: Seq,
    /// The state of the Conversation; none for all of them.
    pub state: Option<crate::conversation::ConversationState>,
    /// Its Turn that is not finished.
    pub turn: Option<TurnId>,
    /// The Proposals that wait, oldest first, at most 100.
    pub pending: Vec<Proposal>,
    /// How many there are.
    pub pending_total: u64,
}

/// Writes an event as clients get it, so that it is written once and replay only adds the envelope. Implemented by the
/// adapter that owns the wire; called by the store inside its transaction.
pub trait EventText: Send + Sync {
    /// Returns one JSON object without a line feed.
    fn encode(&self, event: &Event) -> String;
}

/// Carries text between two writes to whoever watches. Never waits, keeps nothing once an Item is closed.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait Live: Send + Sync {
    /// An Item begins to grow. Called after its `item.started` is stored.
    fn open(&self, conversation: ConversationId, turn: TurnId, item: ItemId);

    /// It grew.
    fn append(&self, item: ItemId, part: Part, text: &str);

    /// It grows no more. Called after its `item.completed` is stored.
    fn close(&self, item: ItemId);
}

/// The wakes of one Turn, for the leg that carries it on.
#[async_trait]
pub trait Wakes: Send + Sync {
    /// Waits until the Turn was woken since this was last waited for.
    async fn woken(&self);
}

/// Sees to it that a Turn with something due is carried on. Only names the Turn; at most one leg a Turn is at work.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Legs: Send + Sync {
    /// Has a Turn carried on. One that comes during a leg is remembered, and told through its [`Wakes`].
    fn wake(&self, turn: TurnId);

    /// Tells the leg of a Turn to stop, because it was cancelled; then has it carried on.
    fn stop(&self, turn: TurnId);

    /// Waits until no leg of a Turn is at work, or until one that was told to stop had time enough to end what it runs.
    async fn ended(&self, turn: TurnId);

    /// A Proposal has a deadline that may be the next one.
    fn deadline(&self);
}
