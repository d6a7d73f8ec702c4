//! Conversations as they are told, and where text was found in them.

use super::{ModelRef, Proposal, Turn, Usage, names};
use owl_domain::{conversation as domain, ports::Match};
use schemars::JsonSchema;
use serde::Serialize;

/// A Conversation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Conversation {
    /// Its id.
    pub id: String,
    /// Given, or made of the first question; empty before that.
    pub title: String,
    /// Where its next Turn's commands run.
    pub workdir: Option<String>,
    /// The Project of that directory; null when it was removed.
    pub project: Option<String>,
    /// The model its next Turn asks.
    pub model: Option<ModelRef>,
    /// `idle`, or its Turn's state.
    #[schemars(schema_with = "names::conversation_state")]
    pub state: &'static str,
    /// Whether it was put away.
    pub archived: bool,
    /// Grows by one with each change to title, workdir, model or archived.
    pub version: i64,
    /// When it was made.
    pub created_at: String,
    /// When it was last spoken to or changed.
    pub updated_at: String,
    /// The number of its newest durable event.
    pub last_seq: Option<i64>,
    /// How many Items it has.
    pub item_count: u64,
    /// How many Proposals wait.
    pub pending_count: u64,
    /// What its Turns used.
    pub usage: Usage,
}

impl From<&domain::Conversation> for Conversation {
    fn from(conversation: &domain::Conversation) -> Self {
        Self {
            id: conversation.id.to_string(),
            title: conversation.title.clone(),
            workdir: conversation.workdir.as_ref().map(super::ids),
            project: conversation.project.as_ref().map(super::ids),
            model: conversation.model.as_ref().map(ModelRef::from),
            state: conversation.state.name(),
            archived: conversation.archived,
            version: conversation.version,
            created_at: conversation.created_at.to_string(),
            updated_at: conversation.updated_at.to_string(),
            last_seq: conversation.last_seq.map(|seq| seq.0),
            item_count: conversation.item_count,
            pending_count: conversation.pending_count,
            usage: Usage::from(&conversation.usage),
        }
    }
}

/// A Conversation that was made.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreatedConversation {
    /// The Conversation.
    #[serde(flatten)]
    pub conversation: Conversation,
    /// Whether an earlier call with the same key made it.
    pub duplicate: bool,
}

/// A Conversation with its newest Turn and the Proposals that wait.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConversationView {
    /// The Conversation.
    #[serde(flatten)]
    pub conversation: Conversation,
    /// Its newest Turn.
    pub turn: Option<Turn>,
    /// The Proposals that wait, oldest first.
    pub proposals: Vec<Proposal>,
}

/// A piece of a Conversation as a document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Exported {
    /// Its id.
    pub conversation_id: String,
    /// The piece; all of them joined are the document.
    pub text: String,
    /// Goes into `after_seq` of the next call; null at the end.
    pub next_after: Option<i64>,
}

/// A page of Items, ascending.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ItemsPage {
    /// The Items.
    pub items: Vec<super::Item>,
    /// Whether there are more in the direction that was asked for.
    pub has_more: bool,
}

/// Where text was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Found {
    /// In which Conversation.
    pub conversation_id: String,
    /// Its title.
    pub title: String,
    /// In which Item; null in the title.
    pub item_id: Option<String>,
    /// What kind of Item; null in the title.
    #[schemars(schema_with = "names::match_kind_or_null")]
    pub kind: Option<&'static str>,
    /// When that was.
    pub at: String,
    /// The text before the first word found.
    pub before: String,
    /// The word.
    #[serde(rename = "match")]
    pub found: String,
    /// The text behind it.
    pub after: String,
}

impl From<Match> for Found {
    fn from(found: Match) -> Self {
        Self {
            conversation_id: found.conversation.to_string(),
            title: found.title,
            item_id: found.item.map(super::ids),
            kind: found.kind,
            at: found.at.to_string(),
            before: found.before,
            found: found.found,
            after: found.after,
        }
    }
}
