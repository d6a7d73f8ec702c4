//! Transient events: text on its way, and what a subscription says about itself. None has a number, none is replayed.

use super::{DurableEvent, Proposal, names};
use owl_domain::{
    conversation::Part,
    ids::{ConversationId, ItemId, Seq, TurnId},
    ports::Standing,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use std::borrow::Cow;

/// Text of an open Item: appended (`item.delta`) or in place of what a client has (`item.snapshot`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TextEvent<'a> {
    /// Which event.
    #[serde(rename = "type")]
    pub(crate) name: &'static str,
    /// Its Conversation.
    pub(crate) conversation_id: String,
    /// Its Turn.
    pub(crate) turn_id: String,
    /// Always null.
    pub(crate) job_id: Option<String>,
    /// Its Item.
    pub(crate) item_id: String,
    /// Which part of it.
    #[schemars(schema_with = "names::part")]
    pub(crate) part: &'static str,
    /// Where the text begins in that part, in bytes of UTF-8.
    pub(crate) offset: usize,
    /// The text.
    pub(crate) text: &'a str,
}

impl<'a> TextEvent<'a> {
    pub(crate) fn delta(at: (ConversationId, TurnId, ItemId), part: Part, offset: usize, text: &'a str) -> Self {
        Self {
            name: "item.delta",
            conversation_id: at.0.to_string(),
            turn_id: at.1.to_string(),
            job_id: None,
            item_id: at.2.to_string(),
            part: part.name(),
            offset,
            text,
        }
    }

    pub(crate) fn snapshot(at: (ConversationId, TurnId, ItemId), part: Part, text: &'a str) -> Self {
        Self { name: "item.snapshot", ..Self::delta(at, part, 0, text) }
    }
}

/// From here on the subscriber is up to date.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StreamLive {
    /// Which event.
    #[serde(rename = "type")]
    pub(crate) name: &'static str,
    /// The Conversation; null for all of them.
    pub(crate) conversation_id: Option<String>,
    /// Its Turn that is not finished.
    pub(crate) turn_id: Option<String>,
    /// Always null.
    pub(crate) job_id: Option<String>,
    /// The number of the newest durable event.
    pub(crate) last_seq: Option<i64>,
    /// The Conversation's state; null for all of them.
    #[schemars(schema_with = "names::conversation_state_or_null")]
    pub(crate) state: Option<&'static str>,
    /// The Proposals that wait at this moment, at most 100.
    pub(crate) pending: Vec<Proposal>,
    /// How many there are.
    pub(crate) pending_total: u64,
}

impl StreamLive {
    pub(crate) fn new(conversation: Option<ConversationId>, last_seq: Option<Seq>, standing: &Standing) -> Self {
        Self {
            name: "stream.live",
            conversation_id: conversation.map(super::ids),
            turn_id: standing.turn.filter(|_| conversation.is_some()).map(super::ids),
            job_id: None,
            last_seq: last_seq.map(|seq| seq.0),
            state: standing.state.filter(|_| conversation.is_some()).map(|state| state.name()),
            pending: standing.pending.iter().map(Proposal::from).collect(),
            pending_total: standing.pending_total,
        }
    }
}

/// The subscriber did not read; its subscription has ended, its connection has not.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StreamLagged {
    /// Which event.
    #[serde(rename = "type")]
    pub(crate) name: &'static str,
    /// The Conversation; null for all of them.
    pub(crate) conversation_id: Option<String>,
    /// Always null.
    pub(crate) turn_id: Option<String>,
    /// Always null.
    pub(crate) job_id: Option<String>,
    /// Goes into `after_seq` of the next subscription.
    pub(crate) next_after: i64,
}

/// The subscription has ended.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StreamClosed {
    /// Which event.
    #[serde(rename = "type")]
    pub(crate) name: &'static str,
    /// The Conversation; null for all of them.
    pub(crate) conversation_id: Option<String>,
    /// Always null.
    pub(crate) turn_id: Option<String>,
    /// Always null.
    pub(crate) job_id: Option<String>,
    /// Why.
    #[schemars(schema_with = "names::closed_reason")]
    pub(crate) reason: &'static str,
    /// Goes into `after_seq` of the next subscription.
    pub(crate) next_after: i64,
}

/// What `chat.event` carries.
pub(crate) struct ChatEvent;

impl JsonSchema for ChatEvent {
    fn schema_name() -> Cow<'static, str> {
        "ChatEvent".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut choice = vec![
            generator.subschema_for::<DurableEvent>(),
            super::fixed(TextEvent::json_schema(generator), "type", "item.delta"),
            super::fixed(TextEvent::json_schema(generator), "type", "item.snapshot"),
        ];
        choice.extend(streams(generator));
        json_schema!({ "description": "What a subscriber of one Conversation is told.", "oneOf": choice })
    }
}

/// What `events.event` carries.
pub(crate) struct InboxEvent;

impl JsonSchema for InboxEvent {
    fn schema_name() -> Cow<'static, str> {
        "InboxEvent".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut choice = vec![generator.subschema_for::<DurableEvent>()];
        choice.extend(streams(generator));
        json_schema!({ "description": "What a subscriber of all Conversations and Jobs is told.", "oneOf": choice })
    }
}

fn streams(generator: &mut SchemaGenerator) -> [Schema; 3] {
    [
        super::fixed(StreamLive::json_schema(generator), "type", "stream.live"),
        super::fixed(StreamLagged::json_schema(generator), "type", "stream.lagged"),
        super::fixed(StreamClosed::json_schema(generator), "type", "stream.closed"),
    ]
}
