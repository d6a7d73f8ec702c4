//! Turns as they are told, what they used, and what went wrong in them.

use super::{ModelRef, Proposal, names};
use owl_domain::{provider, turn as domain};
use schemars::JsonSchema;
use serde::Serialize;

/// A Turn: one question and all that follows until the answer is done.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Turn {
    /// Its id.
    pub id: String,
    /// In which Conversation.
    pub conversation_id: String,
    /// How far it is.
    #[schemars(schema_with = "names::turn_state")]
    pub state: &'static str,
    /// How it ended; only `end_turn` and `stop_sequence` are ordinary.
    #[schemars(schema_with = "names::stop_reason_or_null")]
    pub stop_reason: Option<&'static str>,
    /// Where its commands run.
    pub workdir: Option<String>,
    /// Which model is asked.
    pub model: ModelRef,
    /// What becomes of a command that would have to be asked about.
    #[schemars(schema_with = "names::on_consent")]
    pub on_consent: &'static str,
    /// Whether tools were offered to the model.
    pub tools: bool,
    /// How many requests were answered.
    pub rounds: u32,
    /// When it began.
    pub started_at: String,
    /// When it ended.
    pub finished_at: Option<String>,
    /// What it used.
    pub usage: Usage,
    /// How many older Items no longer fitted into what was sent.
    pub left_out: u32,
    /// What went wrong; only with `stop_reason` `error`.
    pub error: Option<TurnError>,
}

impl From<&domain::Turn> for Turn {
    fn from(turn: &domain::Turn) -> Self {
        let (state, ended) = match &turn.state {
            domain::TurnState::Running => ("running", None),
            domain::TurnState::AwaitingConsent => ("awaiting_consent", None),
            domain::TurnState::Finished(ended) => ("finished", Some(ended)),
        };
        let error = match ended.map(|ended| &ended.ending) {
            Some(domain::Ending::Error(error)) => Some(TurnError::from(error)),
            _ => None,
        };
        Self {
            id: turn.id.to_string(),
            conversation_id: turn.conversation.to_string(),
            state,
            stop_reason: ended.map(|ended| ended.ending.name()),
            workdir: turn.workdir.as_ref().map(super::ids),
            model: ModelRef::from(&turn.model),
            on_consent: turn.on_consent.name(),
            tools: turn.tools,
            rounds: turn.rounds,
            started_at: turn.started_at.to_string(),
            finished_at: ended.map(|ended| ended.at.to_string()),
            usage: Usage::from(&turn.usage),
            left_out: turn.left_out,
            error,
        }
    }
}

/// What went wrong in a Turn.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TurnError {
    /// Which kind.
    #[schemars(schema_with = "names::turn_error")]
    pub kind: &'static str,
    /// Which Provider, when one was involved.
    #[schemars(schema_with = "names::provider_or_null")]
    pub provider: Option<&'static str>,
    /// Which model was asked.
    pub model: Option<ModelRef>,
    /// Names Provider, model and what the service said.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
    /// The HTTP status.
    pub status: Option<u16>,
    /// The service's id for the request.
    pub request_id: Option<String>,
    /// The address that was called.
    pub url: Option<String>,
    /// How long the service asked to wait.
    pub retry_after_ms: Option<u64>,
    /// How many times it was tried.
    pub attempts: u32,
}

impl From<&provider::TurnError> for TurnError {
    fn from(error: &provider::TurnError) -> Self {
        Self {
            kind: error.kind.name(),
            provider: error.provider.map(provider::Provider::name),
            model: error.model.as_ref().map(ModelRef::from),
            message: error.message.clone(),
            hint: error.hint.clone(),
            status: error.status,
            request_id: error.request_id.clone(),
            url: error.url.clone(),
            retry_after_ms: error.retry_after.map(super::millis),
            attempts: error.attempts,
        }
    }
}

/// Tokens that were used, and what they cost where the Provider tells it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Usage {
    /// Read anew.
    pub input_tokens: u64,
    /// Written.
    pub output_tokens: u64,
    /// Read from the Provider's cache.
    pub cache_read_tokens: u64,
    /// Written to the Provider's cache.
    pub cache_write_tokens: u64,
    /// In USD.
    pub cost_usd: Option<f64>,
}

impl From<&provider::Usage> for Usage {
    fn from(usage: &provider::Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            cost_usd: usage.cost_usd,
        }
    }
}

/// A question that was stored.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Sent {
    /// The Turn that began.
    pub turn_id: String,
    /// The user's Item.
    pub item_id: String,
    /// The number of that Item's event: `after_seq` with it shows all that follows.
    pub seq: i64,
    /// Whether an earlier call with the same key began it.
    pub duplicate: bool,
}

/// What `chat.cancel` did.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Cancelled {
    /// The Turn; null when none was at work.
    pub turn_id: Option<String>,
    /// Whether one was.
    pub cancelled: bool,
}

/// How a Turn stands, for a script that waits.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Waited {
    /// The Turn.
    pub turn: Turn,
    /// The text of its assistant Items so far, joined by a blank line.
    pub text: String,
    /// The Proposals of it that wait.
    pub pending: Vec<Proposal>,
    /// Whether the time was over first.
    pub timed_out: bool,
}
