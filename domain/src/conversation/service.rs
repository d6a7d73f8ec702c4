//! Conversations as clients handle them: made, listed, changed, deleted. Turns are [`ChatService`]'s.
//!
//! [`ChatService`]: crate::turn::ChatService

use super::{Conversation, Page, PageError, Paged};
use crate::{
    consent::Proposal,
    ids::ConversationId,
    ports::{
        Clock, CommandFilter, ConversationChange, ConversationFilter, Conversations, CreateError, Created, Items, Legs,
        Match, NewConversation, Once, ProposalFilter, ProposalState, Proposals, Recorded, StoreError, Turns,
        UpdateError, Window,
    },
    project::{ProjectService, Workdir, WorkdirError},
    provider::{ModelRef, Usage},
    text::Title,
    turn::{Ending, Turn, TurnState},
};
use alloc::{string::String, sync::Arc, vec::Vec};

/// Handles Conversations.
pub struct ConversationService {
    conversations: Arc<dyn Conversations>,
    turns: Arc<dyn Turns>,
    proposals: Arc<dyn Proposals>,
    projects: Arc<ProjectService>,
    legs: Arc<dyn Legs>,
    clock: Arc<dyn Clock>,
}

/// A Conversation that a client asks for.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Where its commands run, as it was given.
    pub workdir: Option<String>,
    /// The model it asks.
    pub model: Option<ModelRef>,
    /// Its title.
    pub title: Option<Title>,
    /// The client's key.
    pub once: Option<Once>,
}

/// A change that a client asks for; an outer none is left as it is.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// The title.
    pub title: Option<Option<Title>>,
    /// The workdir, as it was given.
    pub workdir: Option<Option<String>>,
    /// The model.
    pub model: Option<Option<ModelRef>>,
    /// Whether it is put away.
    pub archived: Option<bool>,
    /// The version it must have.
    pub if_version: Option<i64>,
}

/// A Conversation with its newest Turn and the Proposals that wait.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationView {
    /// The Conversation.
    pub conversation: Conversation,
    /// Its newest Turn.
    pub turn: Option<Turn>,
    /// The Proposals that wait, oldest first.
    pub proposals: Vec<Proposal>,
}

/// Why none was made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MakeError {
    /// The workdir is none.
    #[error(transparent)]
    Workdir(#[from] WorkdirError),
    /// The client's key was used otherwise, or the store failed.
    #[error(transparent)]
    Create(#[from] CreateError),
}

/// Why one was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// The workdir is none.
    #[error(transparent)]
    Workdir(#[from] WorkdirError),
    /// There is none, it has another version, or the store failed.
    #[error(transparent)]
    Update(#[from] UpdateError),
}

impl ConversationService {
    /// Makes the service of its ports.
    pub fn new(
        conversations: Arc<dyn Conversations>,
        turns: Arc<dyn Turns>,
        proposals: Arc<dyn Proposals>,
        projects: Arc<ProjectService>,
        legs: Arc<dyn Legs>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { conversations, turns, proposals, projects, legs, clock }
    }

    /// Makes a Conversation.
    ///
    /// # Errors
    /// [`MakeError`]: nothing was stored.
    pub async fn create(&self, wanted: Wanted) -> Result<Created, MakeError> {
        let workdir = self.resolve(wanted.workdir.as_deref()).await?;
        let new = NewConversation {
            workdir: workdir.as_ref().map(|workdir| workdir.path().clone()),
            project: workdir.map(|workdir| workdir.project),
            model: wanted.model,
            title: wanted.title,
            once: wanted.once,
        };
        Ok(self.conversations.create(new, self.clock.now()).await?)
    }

    /// Returns a page of Conversations.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn list(&self, filter: ConversationFilter, page: Page) -> Result<Paged<Conversation>, PageError> {
        self.conversations.list(filter, page).await
    }

    /// Returns one Conversation; none when there is none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn get(&self, id: ConversationId) -> Result<Option<ConversationView>, StoreError> {
        let Some(conversation) = self.conversations.get(id).await? else {
            return Ok(None);
        };
        let turn = self.turns.newest(id).await?;
        let filter = ProposalFilter { conversation: Some(id), state: ProposalState::Pending };
        let most = Page { limit: crate::limits::PAGE_ITEMS, cursor: None };
        let proposals = match self.proposals.list(filter, most).await {
            Ok(page) => page.items,
            Err(PageError::Store(error)) => return Err(error),
            Err(PageError::Cursor) => Vec::new(),
        };
        Ok(Some(ConversationView { conversation, turn, proposals }))
    }

    /// Changes one. A Turn at work keeps what it began with.
    ///
    /// # Errors
    /// [`ChangeError`]: nothing was changed.
    pub async fn update(&self, id: ConversationId, change: Change) -> Result<Conversation, ChangeError> {
        let workdir = match change.workdir {
            None => None,
            Some(None) => Some(None),
            Some(Some(given)) => {
                let workdir = self.projects.workdir(&given).await?;
                Some(Some((workdir.path().clone(), workdir.project)))
            }
        };
        let change = ConversationChange {
            title: change.title,
            workdir,
            model: change.model,
            archived: change.archived,
            if_version: change.if_version,
        };
        Ok(self.conversations.update(id, change, self.clock.now()).await?)
    }

    /// Deletes one for good; a Turn that is not finished is cancelled first. False when there is none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn delete(&self, id: ConversationId) -> Result<bool, StoreError> {
        let now = self.clock.now();
        if let Some(turn) = self.turns.cancel(id, None, now).await? {
            self.legs.stop(turn);
            // What runs says how it ended, and whoever watches is told, before all of it goes.
            self.legs.ended(turn).await;
            let _closed_by_either = self.turns.close(turn, Ending::Cancelled, Usage::default(), now).await?;
        }
        self.conversations.delete(id, now).await
    }

    /// Returns Items; none when there is no such Conversation.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn items(&self, id: ConversationId, window: Window, limit: u32) -> Result<Option<Items>, StoreError> {
        if self.conversations.get(id).await?.is_none() {
            return Ok(None);
        }
        self.conversations.items(id, window, limit).await.map(Some)
    }

    /// Finds text.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn search(&self, query: String, page: Page) -> Result<Paged<Match>, PageError> {
        self.conversations.search(query, page).await
    }

    /// Returns the record of every command that a model asked for.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn commands(&self, filter: CommandFilter, page: Page) -> Result<Paged<Recorded>, PageError> {
        self.conversations.commands(filter, page).await
    }

    async fn resolve(&self, given: Option<&str>) -> Result<Option<Workdir>, WorkdirError> {
        match given {
            None => Ok(None),
            Some(given) => self.projects.workdir(given).await.map(Some),
        }
    }
}

impl Turn {
    /// Says whether the Turn is over.
    pub const fn is_finished(&self) -> bool {
        matches!(self.state, TurnState::Finished(_))
    }
}

#[cfg(test)]
mod tests;
