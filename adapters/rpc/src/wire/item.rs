//! Items as they are told: a user message, an assistant message, a command, a lookup.

use super::{Command, CommandResult, Denial, names};
use owl_domain::conversation as domain;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::value::RawValue;
use std::{borrow::Cow, collections::BTreeMap};

/// One Item of a Conversation; `kind` says which.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Item {
    /// A question.
    User(ItemOf<UserItem>),
    /// The text of one reply.
    Assistant(ItemOf<AssistantItem>),
    /// A command that the model asked for.
    Command(Box<ItemOf<CommandItem>>),
    /// Something that Owl knows and the model read.
    Lookup(ItemOf<LookupItem>),
}

/// What all Items have, and what one kind has beside it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ItemOf<T> {
    /// Its id.
    pub id: String,
    /// What it is.
    pub kind: &'static str,
    /// In which Conversation.
    pub conversation_id: String,
    /// In which Turn.
    pub turn_id: String,
    /// The number of its first event; unique and ascending.
    pub seq: i64,
    /// Whether it still grows.
    #[schemars(schema_with = "names::item_state")]
    pub state: &'static str,
    /// When it began.
    pub created_at: String,
    /// When it was whole.
    pub completed_at: Option<String>,
    /// What its kind has.
    #[serde(flatten)]
    pub body: T,
}

/// A question.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UserItem {
    /// The question.
    pub text: String,
}

/// The text of one reply.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AssistantItem {
    /// The words.
    pub text: String,
    /// The reasoning; may be empty.
    pub reasoning: String,
    /// False when the reply was cut off.
    pub complete: bool,
}

/// Something that Owl knows and the model read; needs no consent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LookupItem {
    /// The tool.
    pub tool: String,
    /// What it was given.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub input: Box<RawValue>,
    /// What the model got.
    pub result: String,
    /// Whether it could not be told.
    pub failed: bool,
}

/// A command that the model asked for, run or not.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CommandItem {
    /// The line as the model wrote it.
    pub requested: String,
    /// Where; null when the call named no directory that is known.
    pub workdir: Option<String>,
    /// What it became; null when the gate denied the line.
    pub command: Option<Command>,
    /// The Proposal.
    pub proposal_id: Option<String>,
    /// The Grant it ran under, unasked.
    pub grant_id: Option<String>,
    /// What came of it; null while it is open.
    #[schemars(schema_with = "names::command_outcome_or_null")]
    pub outcome: Option<&'static str>,
    /// The gate's no, with `gate_denied`.
    pub denial: Option<Denial>,
    /// Why it could not be started, with `failed`.
    pub failure: Option<String>,
    /// When it started.
    pub started_at: Option<String>,
    /// When it ended.
    pub finished_at: Option<String>,
    /// How it ended, with `ran`.
    pub result: Option<CommandResult>,
}

impl From<&domain::Item> for Item {
    fn from(item: &domain::Item) -> Self {
        match &item.body {
            domain::ItemBody::User { text } => Self::User(of(item, "user", UserItem { text: text.clone() })),
            domain::ItemBody::Assistant { text, reasoning, complete } => Self::Assistant(of(
                item,
                "assistant",
                AssistantItem { text: text.clone(), reasoning: reasoning.clone(), complete: *complete },
            )),
            domain::ItemBody::Lookup(lookup) => Self::Lookup(of(
                item,
                "lookup",
                LookupItem {
                    tool: lookup.tool.clone(),
                    input: one_line_object(&lookup.input),
                    result: lookup.result.clone(),
                    failed: lookup.failed,
                },
            )),
            domain::ItemBody::Command(command) => Self::Command(Box::new(of(item, "command", command.as_ref().into()))),
        }
    }
}

fn of<T>(item: &domain::Item, kind: &'static str, body: T) -> ItemOf<T> {
    ItemOf {
        id: item.id.to_string(),
        kind,
        conversation_id: item.conversation.to_string(),
        turn_id: item.turn.to_string(),
        seq: item.seq.0,
        state: if item.completed_at.is_some() { "done" } else { "open" },
        created_at: item.created_at.to_string(),
        completed_at: item.completed_at.map(super::ids),
        body,
    }
}

impl From<&domain::CommandItem> for CommandItem {
    fn from(command: &domain::CommandItem) -> Self {
        let outcome = command.outcome.as_ref();
        Self {
            requested: command.requested.clone(),
            workdir: command.workdir.as_ref().map(super::ids),
            command: command.shown.as_ref().map(Command::from),
            proposal_id: command.proposal.map(super::ids),
            grant_id: command.grant.map(super::ids),
            outcome: outcome.map(domain::CommandOutcome::name),
            denial: outcome.and_then(domain::CommandOutcome::denial).map(Denial::from),
            failure: outcome.and_then(domain::CommandOutcome::failure).map(str::to_owned),
            started_at: command.started_at.map(super::ids),
            finished_at: command.finished_at.map(super::ids),
            result: outcome.and_then(domain::CommandOutcome::result).map(CommandResult::from),
        }
    }
}

/// Takes the object that a model sent as it came. A line feed outside of its strings is white space, and the line
/// dialect must not write one.
fn one_line_object(input: &str) -> Box<RawValue> {
    let line = input.replace(['\n', '\r'], " ");
    let is_object = line.trim_start().starts_with('{');
    match RawValue::from_string(line) {
        Ok(raw) if is_object => raw,
        _ => serde_json::value::to_raw_value(&BTreeMap::<String, String>::new())
            .unwrap_or_else(|_| RawValue::NULL.to_owned()),
    }
}

impl JsonSchema for Item {
    fn schema_name() -> Cow<'static, str> {
        "Item".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let kinds = [
            kind::<UserItem>(generator, "user"),
            kind::<AssistantItem>(generator, "assistant"),
            kind::<CommandItem>(generator, "command"),
            kind::<LookupItem>(generator, "lookup"),
        ];
        json_schema!({ "description": "One Item of a Conversation.", "oneOf": kinds })
    }
}

fn kind<T: JsonSchema>(generator: &mut SchemaGenerator, name: &str) -> Schema {
    super::fixed(ItemOf::<T>::json_schema(generator), "kind", name)
}
