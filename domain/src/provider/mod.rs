//! Where a chat's model comes from, and a model's reply as data. Knows no service's JSON (D17, D18).

mod service;

pub use service::*;

use crate::{limits, text::ModelId, time::Timestamp};
use alloc::{boxed::Box, string::String, vec::Vec};
use core::{fmt, time::Duration};
use secrecy::{ExposeSecret, SecretString};

/// The three Providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provider {
    /// Anthropic Messages.
    Anthropic,
    /// Chat completions of `OpenRouter`.
    OpenRouter,
    /// The scripted one, always there, offline (D6).
    Demo,
}

impl Provider {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 3] = [Self::Anthropic, Self::OpenRouter, Self::Demo];

    /// Returns its name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenRouter => "openrouter",
            Self::Demo => "demo",
        }
    }

    /// Returns the Provider of exactly that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.name() == name)
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One model of one Provider.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelRef {
    /// Whose.
    pub provider: Provider,
    /// Which.
    pub id: ModelId,
}

/// What is known of a model; none where the Provider does not tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Which it is.
    pub model: ModelRef,
    /// Its name for people.
    pub name: String,
    /// How much it reads at once, in tokens.
    pub context_tokens: Option<u64>,
    /// The longest reply it gives, in tokens.
    pub max_output_tokens: Option<u64>,
    /// Whether it can call tools.
    pub tools: Option<bool>,
    /// Whether it tells its reasoning.
    pub reasoning: Option<bool>,
    /// What it costs.
    pub price: Option<Price>,
    /// Whether the configuration names it among the Provider's models.
    pub listed_first: bool,
}

/// What a model costs, as decimal texts in USD per million tokens: no floating numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    /// For what it reads.
    pub input_usd_per_mtok: String,
    /// For what it writes.
    pub output_usd_per_mtok: String,
}

/// A key or a token. Has no `Display`, and its `Debug` tells nothing (D18).
#[derive(Clone)]
pub struct Secret(SecretString);

/// Why a text is no key or token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("1 to {} printable ASCII characters without blanks", limits::API_KEY_BYTES)]
pub struct SecretError;

impl Secret {
    /// Takes a key or token; blanks around it are taken off.
    ///
    /// # Errors
    /// [`SecretError`] when it is empty, too long, or could not stand in a header. The text is in no error.
    pub fn new(text: impl Into<String>) -> Result<Self, SecretError> {
        let whole: SecretString = text.into().into();
        let trimmed = whole.expose_secret().trim();
        let fits = !trimmed.is_empty() && trimmed.len() <= limits::API_KEY_BYTES;
        if !fits || !trimmed.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(SecretError);
        }
        Ok(Self(String::from(trimmed).into()))
    }

    /// Returns the secret itself, for the one header or the one store it is meant for.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// Returns what may be shown of it.
    pub fn hint(&self) -> SecretHint {
        use sha2::{Digest, Sha256};
        let text = self.expose();
        let last4 = if text.len() < 12 { None } else { text.get(text.len() - 4..).map(String::from) };
        let mut fingerprint = String::from("sha256:");
        let digest = Sha256::digest(text.as_bytes());
        fingerprint.extend(digest.iter().take(6).map(|byte| alloc::format!("{byte:02x}")));
        SecretHint { last4, fingerprint }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// All that is shown of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretHint {
    /// Its last four characters; none when it has fewer than twelve.
    pub last4: Option<String>,
    /// `sha256:` and the first twelve hex digits.
    pub fingerprint: String,
}

/// Tokens that were used, and what they cost where the Provider tells it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
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

impl Usage {
    /// Returns the sum; a cost that is known for one part only is kept.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let cost_usd = match (self.cost_usd, other.cost_usd) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
        };
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cache_read_tokens: self.cache_read_tokens.saturating_add(other.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
            cost_usd,
        }
    }
}

/// What a model is asked. Made by [`crate::conversation::history`] alone, so that it is always valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Which model.
    pub model: ModelRef,
    /// The fixed text that says what Owl is; holds nothing from a repository.
    pub system: String,
    /// The tools that are offered; empty when commands are off.
    pub tools: Vec<ToolSpec>,
    /// The conversation, roles alternating, the user's first.
    pub messages: Vec<Message>,
    /// The longest reply, in tokens, where the model's own maximum is known.
    pub max_output_tokens: Option<u64>,
}

/// A tool as it is offered to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub description: String,
    /// What it takes: named text parameters.
    pub parameters: &'static [ToolParameter],
}

/// One parameter of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolParameter {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub description: &'static str,
    /// Whether it must be given.
    pub required: bool,
}

/// One message of a request. Neighbours never have the same role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// From the user's side: results of the calls of the message before, in their order, then texts.
    User {
        /// One per call of the assistant's message before.
        results: Vec<ToolResult>,
        /// Questions; not empty texts.
        texts: Vec<String>,
    },
    /// From the model: its blocks in the order of arrival.
    Assistant(Vec<Block>),
}

/// What a call came to, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// The call's id in this request.
    pub call_id: String,
    /// The text.
    pub text: String,
    /// Whether it did not do what was asked.
    pub is_error: bool,
}

/// A part of a model's reply, in the order of arrival.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Words.
    Text(String),
    /// Reasoning as the service sent it, to go back unmodified: the raw JSON of one block or entry.
    Raw(String),
    /// A tool that it calls.
    Call(Call),
}

/// A tool call of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The model's id for it, or Owl's when it gave none.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments as they came, joined; empty means `{}`.
    pub arguments: String,
}

/// One argument of a call, as far as a tool of Owl's can use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// A text.
    Text(String),
    /// A whole number.
    Whole(i64),
    /// Anything else; names its type for people, such as `a list`.
    Other(&'static str),
}

/// What comes of a model that was asked. The last one is [`Piece::Whole`] or [`Piece::Broken`].
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// Words as they come; never empty.
    Text(String),
    /// Reasoning as it comes; never empty.
    Reasoning(String),
    /// The Provider will be asked again; only before the first text, reasoning or call.
    Retrying(Retrying),
    /// The reply is whole: its end sign came.
    Whole(Box<WholeReply>),
    /// The reply is not whole. Its text so far has been handed on; no call of it counts.
    Broken(Box<Broken>),
}

/// One more try, told before the wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retrying {
    /// The try that failed, from 1.
    pub attempt: u32,
    /// How many there are at most.
    pub max_attempts: u32,
    /// How long it waits.
    pub wait: Duration,
    /// The HTTP status, when there was one.
    pub status: Option<u16>,
    /// What the Provider said.
    pub message: String,
}

/// A reply that came to its end sign.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeReply {
    /// Its parts in order of arrival.
    pub blocks: Vec<Block>,
    /// Why it ended.
    pub stop: ReplyStop,
    /// What it used.
    pub usage: Usage,
}

/// Why a whole reply ended. Calls are carried out only for [`ReplyStop::Done`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyStop {
    /// An ordinary end, or tools are called.
    Done,
    /// A stop sequence.
    StopSequence,
    /// The length limit.
    MaxTokens,
    /// The model declined.
    Refusal {
        /// What the service says about it.
        explanation: Option<String>,
    },
    /// A filter.
    ContentFilter,
    /// The context is full.
    ContextFull,
    /// The service paused: the reply goes back unmodified and the next round begins.
    Pause,
}

/// A reply that did not come to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Broken {
    /// Why.
    pub why: BrokenBy,
    /// What it used, as far as it was told.
    pub usage: Usage,
}

/// Why a reply did not come to its end.
#[derive(Debug, Clone, PartialEq)]
pub enum BrokenBy {
    /// An error, of the Provider or of the way to it.
    Error(TurnError),
    /// The Provider said that the prompt is too long: no error, but a full context.
    ContextFull,
    /// The `Stop` fired.
    Stopped,
}

/// What went wrong in a Turn, in words for people and kinds for programs (providers.md 6.1).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TurnError {
    /// Which kind.
    pub kind: TurnErrorKind,
    /// Whose fault, when a Provider was involved.
    pub provider: Option<Provider>,
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
    /// The address that was called, without query or user.
    pub url: Option<String>,
    /// How long the service asked to wait, when that was too long.
    pub retry_after: Option<Duration>,
    /// How many times it was tried.
    pub attempts: u32,
}

impl TurnError {
    /// Makes an error that no Provider had a part in.
    pub fn of(kind: TurnErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            provider: None,
            model: None,
            message: message.into(),
            hint: None,
            status: None,
            request_id: None,
            url: None,
            retry_after: None,
            attempts: 0,
        }
    }
}

macro_rules! error_kinds {
    ($($(#[$doc:meta])* $name:ident = $wire:literal,)*) => {
        /// The closed list of what can go wrong in a Turn.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum TurnErrorKind { $($(#[$doc])* $name,)* }

        impl TurnErrorKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns its name on the wire and in the store.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $wire,)* }
            }

            /// Returns the kind of that name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.name() == name)
            }
        }
    };
}

error_kinds! {
    /// It has no key, or was removed.
    ProviderNotConfigured = "provider_not_configured",
    /// Nobody could be reached.
    ProviderUnreachable = "provider_unreachable",
    /// The key was refused.
    ProviderAuth = "provider_auth",
    /// There is no credit.
    ProviderBilling = "provider_billing",
    /// Too many requests.
    ProviderRateLimited = "provider_rate_limited",
    /// The service is overloaded.
    ProviderOverloaded = "provider_overloaded",
    /// The request was refused.
    ProviderRejected = "provider_rejected",
    /// The service broke.
    ProviderFailed = "provider_failed",
    /// There is no such model.
    ModelNotFound = "model_not_found",
    /// The model cannot call tools.
    ModelWithoutTools = "model_without_tools",
    /// The stream ended without its end sign.
    StreamIncomplete = "stream_incomplete",
    /// The stream carried an error.
    StreamError = "stream_error",
    /// The stream fell silent.
    StreamStalled = "stream_stalled",
    /// The stream was not what it should be.
    StreamMalformed = "stream_malformed",
    /// The reply is over its bound.
    ReplyTooBig = "reply_too_big",
    /// The Turn could not be saved.
    Storage = "storage",
    /// A defect in Owl.
    Internal = "internal",
}

/// What a person configured for a Provider. The key is not here: it is in the credential store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProviderSettings {
    /// The base address, normalised; none is the Provider's own.
    pub base_url: Option<BaseUrl>,
    /// The model that is used unless another is named.
    pub default_model: Option<ModelId>,
    /// Models that are listed first.
    pub models: Vec<ModelId>,
}

/// A base address as it was normalised: https, or http to loopback; without user, query, fragment or trailing slash.
/// Made by the adapter that speaks HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl(String);

impl BaseUrl {
    /// Takes an address that [`crate::ports::Providers::base_url`] normalised, or that was stored after that.
    pub fn normalised(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The last error of a Provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastError {
    /// When.
    pub at: Timestamp,
    /// The HTTP status, when there was one.
    pub status: Option<u16>,
    /// What it said.
    pub message: String,
}
