//! Conversations, their Items, and the record of every command (D16).

use super::{Once, StoreError};
use crate::{
    consent::Decision,
    conversation::{CommandItem, Conversation, ConversationState, Item, Page, PageError, Paged},
    ids::{ConversationId, ItemId, Seq, TurnId},
    provider::ModelRef,
    text::{AbsPath, ProjectName, Title},
    time::Timestamp,
};
use alloc::{boxed::Box, string::String, vec::Vec};
use async_trait::async_trait;

/// Keeps Conversations. Each change is one transaction with its events.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Conversations: Send + Sync {
    /// Makes one: `conversation.created`. The bool says whether an earlier call with the same key made it.
    ///
    /// # Errors
    /// [`CreateError`].
    async fn create(&self, new: NewConversation, now: Timestamp) -> Result<Created, CreateError>;

    /// Returns one; none when there is none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn get(&self, id: ConversationId) -> Result<Option<Conversation>, StoreError>;

    /// Returns a page, the one that was spoken to last first.
    ///
    /// # Errors
    /// [`PageError`].
    async fn list(&self, filter: ConversationFilter, page: Page) -> Result<Paged<Conversation>, PageError>;

    /// Changes one: `conversation.updated` when something differs.
    ///
    /// # Errors
    /// [`UpdateError`].
    async fn update(
        &self,
        id: ConversationId,
        change: ConversationChange,
        now: Timestamp,
    ) -> Result<Conversation, UpdateError>;

    /// Deletes one with its Items, events, Proposals, Grants and the record of its commands, for good; one
    /// `conversation.deleted` stays. False when there is none of that id. Its Turn has been closed before.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn delete(&self, id: ConversationId, now: Timestamp) -> Result<bool, StoreError>;

    /// Returns Items ascending by number, and whether there are more in the direction that was asked for. An open Item
    /// is given as it stands.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn items(&self, id: ConversationId, window: Window, limit: u32) -> Result<Items, StoreError>;

    /// Finds text in titles, messages and commands, best match first.
    ///
    /// # Errors
    /// [`PageError`].
    async fn search(&self, query: String, page: Page) -> Result<Paged<Match>, PageError>;

    /// Returns a page of the record of every command that a model asked for, run or not, newest first.
    ///
    /// # Errors
    /// [`PageError`].
    async fn commands(&self, filter: CommandFilter, page: Page) -> Result<Paged<Recorded>, PageError>;
}

/// A Conversation that is to be made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewConversation {
    /// Where its commands run.
    pub workdir: Option<AbsPath>,
    /// The Project of that directory.
    pub project: Option<ProjectName>,
    /// The model it asks.
    pub model: Option<ModelRef>,
    /// Its title.
    pub title: Option<Title>,
    /// The client's key.
    pub once: Option<Once>,
}

/// A Conversation that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Created {
    /// The Conversation.
    pub conversation: Conversation,
    /// Whether an earlier call with the same key made it.
    pub duplicate: bool,
}

/// Why none was made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CreateError {
    /// The client's key was used with other parameters.
    #[error("this client_key was used with other parameters")]
    Mismatch,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Which Conversations are listed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConversationFilter {
    /// Those of one Project.
    pub project: Option<ProjectName>,
    /// Exactly the archived ones, or exactly the others.
    pub archived: bool,
    /// Those in one state.
    pub state: Option<ConversationState>,
}

/// What is to be changed; none is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConversationChange {
    /// The title; `Some(None)` gives it back to the automatic one.
    pub title: Option<Option<Title>>,
    /// The workdir and its Project.
    pub workdir: Option<Option<(AbsPath, ProjectName)>>,
    /// The model.
    pub model: Option<Option<ModelRef>>,
    /// Whether it is put away.
    pub archived: Option<bool>,
    /// The version it must have.
    pub if_version: Option<i64>,
}

/// Why one was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpdateError {
    /// There is no such Conversation.
    #[error("there is no such conversation")]
    NotFound,
    /// It has another version.
    #[error("it is at version {version}")]
    Version {
        /// Which.
        version: i64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Which Items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// The newest.
    Newest,
    /// Those that end before.
    Before(Seq),
    /// Those that start after.
    After(Seq),
}

/// A page of Items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Items {
    /// The Items, ascending.
    pub items: Vec<Item>,
    /// Whether there are more in the direction that was asked for.
    pub has_more: bool,
}

/// Where text was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// In which Conversation.
    pub conversation: ConversationId,
    /// Its title.
    pub title: String,
    /// In which Item; none in the title.
    pub item: Option<ItemId>,
    /// What kind of Item: `user`, `assistant` or `command`.
    pub kind: Option<&'static str>,
    /// When that was.
    pub at: Timestamp,
    /// The text before the first word found.
    pub before: String,
    /// The word.
    pub found: String,
    /// The text behind it.
    pub after: String,
}

/// Which commands are listed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandFilter {
    /// Those of one Conversation.
    pub conversation: Option<ConversationId>,
    /// Those of one Project.
    pub project: Option<ProjectName>,
    /// Those of one directory, as it was written down.
    pub workdir: Option<String>,
    /// Those of which this came: one of [`CommandOutcome::NAMES`](crate::conversation::CommandOutcome::NAMES).
    pub outcome: Option<&'static str>,
}

/// One command that a model asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Its Item.
    pub item: ItemId,
    /// Its Conversation.
    pub conversation: ConversationId,
    /// Its Turn.
    pub turn: TurnId,
    /// The Project of its directory.
    pub project: Option<ProjectName>,
    /// The command; what it printed is in the Item and is left out here but for its size.
    pub command: CommandItem,
    /// How it was decided; none when the gate denied it first, or while it waits.
    pub decision: Option<Decision>,
    /// When it was asked for.
    pub created_at: Timestamp,
}
