//! Where a chat's model comes from, and a model's reply as data. Knows no service's JSON (D17, D18).

mod error;
mod redaction;
mod reply;
mod secret;
mod service;

pub use error::*;
pub use redaction::*;
pub use reply::*;
pub use secret::*;
pub use service::*;

use crate::{text::ModelId, time::Timestamp};
use alloc::{string::String, vec::Vec};
use core::fmt;

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
