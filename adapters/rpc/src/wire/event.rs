//! Durable events, and [`RpcEventText`], which writes one as clients get it: the store keeps that text, and replay only
//! adds the envelope (D7).

use super::{By, Conversation, Grant, Item, Job, ModelRef, Proposal, RunSummary, Turn, names};
use owl_domain::{
    ports::EventText,
    turn::{About, Event, EventBody},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use std::borrow::Cow;

/// Writes events as the API tells them.
#[derive(Debug, Clone, Copy, Default)]
pub struct RpcEventText;

impl EventText for RpcEventText {
    fn encode(&self, event: &Event) -> String {
        let at = Place::of(event);
        let name = event.body.name();
        match &event.body {
            EventBody::ConversationCreated(conversation) | EventBody::ConversationUpdated(conversation) => {
                at.write(name, ConversationChanged { conversation: conversation.into() })
            }
            EventBody::ConversationDeleted => at.write(name, Nothing {}),
            EventBody::TurnStarted(turn) | EventBody::TurnFinished(turn) => {
                at.write(name, TurnChanged { turn: turn.into() })
            }
            EventBody::ItemStarted(item) | EventBody::ItemCompleted(item) => {
                at.write(name, ItemChanged { item: item.into() })
            }
            EventBody::ProposalCreated(proposal) => {
                at.write(name, ProposalCreated { proposal: proposal.as_ref().into() })
            }
            EventBody::ProposalResolved { proposal, item, decision } => at.write(
                name,
                ProposalResolved {
                    proposal_id: proposal.to_string(),
                    item_id: item.to_string(),
                    outcome: decision.outcome.name(),
                    decided_by: By::from(&decision.by),
                    decided_at: decision.at.to_string(),
                    reason: decision.reason.as_ref().map(super::ids),
                    grant_id: decision.grant.map(super::ids),
                },
            ),
            EventBody::CommandStarted { item, proposal, grant, pid, shown } => at.write(
                name,
                CommandStarted {
                    item_id: item.to_string(),
                    proposal_id: proposal.to_string(),
                    grant_id: grant.map(super::ids),
                    pid: *pid,
                    program: shown.path.to_string(),
                    argv: shown.argv.clone(),
                    workdir: shown.workdir.to_string(),
                    confinement: shown.confinement.name(),
                },
            ),
            EventBody::CommandFinished { item, result } => at.write(
                name,
                CommandFinished {
                    item_id: item.to_string(),
                    ended_by: result.ended_by.name(),
                    exit_code: result.exit_code,
                    signal: result.signal.clone(),
                    duration_ms: super::millis(result.duration),
                    stdout_bytes: result.stdout.bytes,
                    stderr_bytes: result.stderr.bytes,
                    omitted_bytes: result.stdout.omitted_bytes.saturating_add(result.stderr.omitted_bytes),
                    replaced_bytes: result.stdout.replaced_bytes.saturating_add(result.stderr.replaced_bytes),
                },
            ),
            EventBody::GrantCreated { grant, by } | EventBody::GrantRevoked { grant, by } => {
                at.write(name, GrantChanged { grant: grant.into(), by: by.into() })
            }
            EventBody::JobChanged(job) => at.write(name, JobChanged { job: job.as_ref().into() }),
            EventBody::RunChanged { run, job, attempt, state } => {
                at.write(name, RunChanged { run: RunSummary::new(*run, *job, *attempt, state) })
            }
            EventBody::ProviderRetrying { model, retrying } => at.write(
                name,
                ProviderRetrying {
                    provider: model.provider.name(),
                    model: ModelRef::from(model),
                    attempt: retrying.attempt,
                    max_attempts: retrying.max_attempts,
                    wait_ms: super::millis(retrying.wait),
                    status: retrying.status,
                    message: retrying.message.clone(),
                },
            ),
        }
    }
}

/// What every durable event has.
struct Place {
    seq: i64,
    prev: Option<i64>,
    at: String,
    conversation_id: Option<String>,
    turn_id: Option<String>,
    job_id: Option<String>,
}

impl Place {
    fn of(event: &Event) -> Self {
        let (conversation_id, turn_id, job_id) = match event.about {
            About::Conversation(conversation, turn) => (Some(conversation.to_string()), turn.map(super::ids), None),
            About::Job(job) => (None, None, Some(job.to_string())),
        };
        Self {
            seq: event.seq.0,
            prev: event.prev.map(|seq| seq.0),
            at: event.at.to_string(),
            conversation_id,
            turn_id,
            job_id,
        }
    }

    fn write<T: Serialize>(self, name: &'static str, body: T) -> String {
        let Self { seq, prev, at, conversation_id, turn_id, job_id } = self;
        let event = Durable { name, seq, prev, at, conversation_id, turn_id, job_id, body };
        serde_json::to_string(&event).unwrap_or_else(|error| {
            // Strings, numbers and maps with string keys have no way to fail; a row without text would end every replay.
            tracing::error!(%error, name, seq, "an event could not be written");
            format!(r#"{{"type":"{name}","seq":{seq}}}"#)
        })
    }
}

/// An event that is stored and replayed.
#[derive(Debug, Serialize, JsonSchema)]
struct Durable<T> {
    /// Which event.
    #[serde(rename = "type")]
    name: &'static str,
    /// Its number: one sequence for the whole database, never used twice.
    seq: i64,
    /// The number of the one before of the same Conversation or Job.
    prev: Option<i64>,
    /// When it was stored.
    at: String,
    /// Its Conversation.
    conversation_id: Option<String>,
    /// Its Turn.
    turn_id: Option<String>,
    /// Its Job.
    job_id: Option<String>,
    #[serde(flatten)]
    body: T,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Nothing {}

#[derive(Debug, Serialize, JsonSchema)]
struct ConversationChanged {
    /// The Conversation as it is now.
    conversation: Conversation,
}

#[derive(Debug, Serialize, JsonSchema)]
struct TurnChanged {
    /// The Turn as it is now.
    turn: Turn,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ItemChanged {
    /// The Item as it is now.
    item: Item,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ProposalCreated {
    /// The Proposal; decided already when a Grant covered it, or its Turn said so beforehand.
    proposal: Proposal,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ProposalResolved {
    /// Which.
    proposal_id: String,
    /// Its Item.
    item_id: String,
    /// How.
    #[schemars(schema_with = "names::outcome")]
    outcome: &'static str,
    /// By whom.
    decided_by: By,
    /// When.
    decided_at: String,
    /// What the person said when denying.
    reason: Option<String>,
    /// The Grant it runs under, or that the answer made.
    grant_id: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CommandStarted {
    /// Its Item.
    item_id: String,
    /// Its Proposal.
    proposal_id: String,
    /// The Grant it runs under, unasked.
    grant_id: Option<String>,
    /// Its process.
    pid: u32,
    /// The absolute path that `execve` gets.
    program: String,
    /// Exactly what `execve` gets.
    argv: Vec<String>,
    /// Where.
    workdir: String,
    /// What it runs under.
    #[schemars(schema_with = "names::confinement")]
    confinement: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CommandFinished {
    /// Its Item, which holds what it printed.
    item_id: String,
    /// Why it ended.
    #[schemars(schema_with = "names::ended_by")]
    ended_by: &'static str,
    /// Its exit status, when it exited.
    exit_code: Option<i32>,
    /// The signal that ended it.
    signal: Option<String>,
    /// How long it ran.
    duration_ms: u64,
    /// How much it printed on standard output.
    stdout_bytes: u64,
    /// How much it printed on standard error.
    stderr_bytes: u64,
    /// How much of both was left out.
    omitted_bytes: u64,
    /// How many bytes of both were not UTF-8.
    replaced_bytes: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct GrantChanged {
    /// The Grant as it is now.
    grant: Grant,
    /// Who gave it or took it back.
    by: By,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ProviderRetrying {
    /// Which Provider.
    #[schemars(schema_with = "names::provider")]
    provider: &'static str,
    /// Which model.
    model: ModelRef,
    /// The try that failed, from 1.
    attempt: u32,
    /// How many there are at most.
    max_attempts: u32,
    /// How long it waits.
    wait_ms: u64,
    /// The HTTP status, when there was one.
    status: Option<u16>,
    /// What the Provider said.
    message: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct JobChanged {
    /// The Job as it is now.
    job: Job,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RunChanged {
    /// How far the Run is now.
    run: RunSummary,
}

/// The schema of every durable event. Nothing is of this type: events are stored as text.
pub(crate) struct DurableEvent;

impl JsonSchema for DurableEvent {
    fn schema_name() -> Cow<'static, str> {
        "DurableEvent".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let events = [
            event::<ConversationChanged>(generator, "conversation.created"),
            event::<ConversationChanged>(generator, "conversation.updated"),
            event::<Nothing>(generator, "conversation.deleted"),
            event::<TurnChanged>(generator, "turn.started"),
            event::<ItemChanged>(generator, "item.started"),
            event::<ItemChanged>(generator, "item.completed"),
            event::<ProposalCreated>(generator, "proposal.created"),
            event::<ProposalResolved>(generator, "proposal.resolved"),
            event::<CommandStarted>(generator, "command.started"),
            event::<CommandFinished>(generator, "command.finished"),
            event::<GrantChanged>(generator, "grant.created"),
            event::<GrantChanged>(generator, "grant.revoked"),
            event::<ProviderRetrying>(generator, "provider.retrying"),
            event::<TurnChanged>(generator, "turn.finished"),
            event::<JobChanged>(generator, "job.changed"),
            event::<RunChanged>(generator, "run.changed"),
        ];
        json_schema!({ "description": "An event that is stored and replayed.", "oneOf": events })
    }
}

fn event<T: JsonSchema>(generator: &mut SchemaGenerator, name: &str) -> Schema {
    super::fixed(Durable::<T>::json_schema(generator), "type", name)
}
