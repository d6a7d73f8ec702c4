//! Conversations as rows: made, listed, changed, deleted for good (D16).

mod change;
mod commands;
mod delete;
mod find;
mod list;

use crate::{database::Database, migrate, rows};
use async_trait::async_trait;
use owl_domain::{
    conversation::{Conversation, Page, PageError, Paged},
    ids::ConversationId,
    ports::{
        CommandFilter, ConversationChange, ConversationFilter, Conversations, CreateError, Created, Items, Match,
        NewConversation, Recorded, StoreError, UpdateError, Window,
    },
    time::Timestamp,
};

pub(crate) use change::tell;
#[cfg(test)]
pub(crate) use list::PLANS;

/// The Conversations port over the database.
pub(crate) struct SqliteConversations(pub(crate) Database);

#[async_trait]
impl Conversations for SqliteConversations {
    async fn create(&self, new: NewConversation, now: Timestamp) -> Result<Created, CreateError> {
        self.0.write(now, move |change| change::create(change, &new)).await?
    }

    async fn get(&self, id: ConversationId) -> Result<Option<Conversation>, StoreError> {
        self.0.read(move |db| rows::conversation(db, id)).await
    }

    async fn list(&self, filter: ConversationFilter, page: Page) -> Result<Paged<Conversation>, PageError> {
        list::list(&self.0, filter, page).await
    }

    async fn update(
        &self,
        id: ConversationId,
        change: ConversationChange,
        now: Timestamp,
    ) -> Result<Conversation, UpdateError> {
        self.0.write(now, move |under_way| change::update(under_way, id, &change)).await?
    }

    async fn delete(&self, id: ConversationId, now: Timestamp) -> Result<bool, StoreError> {
        let file = self.0.path().to_owned();
        self.0
            .work(move |writing| {
                let texts = writing.change(now, |change| delete::delete(change, id))?;
                let Some(texts) = texts else {
                    return Ok(false);
                };
                writing.forget(&texts);
                // What a copy holds that was made before a migration is deleted too.
                if let Err(error) = migrate::remove_copies(&file) {
                    tracing::warn!(%error, file = %file.display(), "an old copy of the database could not be removed");
                }
                writing.empty_log()?;
                Ok(true)
            })
            .await
    }

    async fn items(&self, id: ConversationId, window: Window, limit: u32) -> Result<Items, StoreError> {
        self.0.read(move |db| list::items(db, id, window, limit)).await
    }

    async fn search(&self, query: String, page: Page) -> Result<Paged<Match>, PageError> {
        find::find(&self.0, query, page).await
    }

    async fn commands(&self, filter: CommandFilter, page: Page) -> Result<Paged<Recorded>, PageError> {
        commands::list(&self.0, filter, page).await
    }
}
