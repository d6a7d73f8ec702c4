//! Providers and models as they are told. A key never is (D18).

use super::names;
use owl_domain::{
    ports::{CredentialSource, Tested},
    provider as domain,
};
use schemars::JsonSchema;
use serde::Serialize;

/// One model of one Provider.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelRef {
    /// Whose.
    #[schemars(schema_with = "names::provider")]
    pub provider: &'static str,
    /// Which: 1 to 200 printable ASCII characters without blanks.
    pub id: String,
}

impl From<&domain::ModelRef> for ModelRef {
    fn from(model: &domain::ModelRef) -> Self {
        Self { provider: model.provider.name(), id: model.id.to_string() }
    }
}

/// Where a chat's model comes from.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Provider {
    /// Which.
    #[schemars(schema_with = "names::provider")]
    pub provider: &'static str,
    /// Whether it can be asked.
    pub configured: bool,
    /// The base address in force; null for the demo.
    pub base_url: Option<String>,
    /// The exact address that a chat is posted to; null for the demo.
    pub endpoint: Option<String>,
    /// What may be shown of its key.
    pub key: Key,
    /// The model that is used unless another is named.
    pub default_model: Option<String>,
    /// Models that are listed first.
    pub models: Vec<String>,
    /// Its last error.
    pub last_error: Option<LastError>,
}

/// All that is shown of a key.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Key {
    /// Whether there is one.
    pub set: bool,
    /// Where it came from.
    #[schemars(schema_with = "names::key_source_or_null")]
    pub source: Option<&'static str>,
    /// Its last four characters; null when it has fewer than twelve.
    pub last4: Option<String>,
    /// `sha256:` and the first twelve hex digits.
    pub fingerprint: Option<String>,
}

/// A Provider's last error.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LastError {
    /// When.
    pub at: String,
    /// The HTTP status, when there was one.
    pub status: Option<u16>,
    /// What it said.
    pub message: String,
}

impl From<domain::ProviderView> for Provider {
    fn from(view: domain::ProviderView) -> Self {
        let key = match view.key {
            None => Key { set: false, source: None, last4: None, fingerprint: None },
            Some((source, hint)) => Key {
                set: true,
                source: Some(match source {
                    CredentialSource::Keychain => "keychain",
                    CredentialSource::File => "file",
                    CredentialSource::Environment => "environment",
                }),
                last4: hint.last4,
                fingerprint: Some(hint.fingerprint),
            },
        };
        let last_error = view.last_error.map(|error| LastError {
            at: error.at.to_string(),
            status: error.status,
            message: error.message,
        });
        Self {
            provider: view.provider.name(),
            configured: view.configured,
            base_url: view.base_url,
            endpoint: view.endpoint,
            key,
            default_model: view.default_model.map(super::ids),
            models: view.models.into_iter().map(super::ids).collect(),
            last_error,
        }
    }
}

/// A Provider whose key and settings were removed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RemovedProvider {
    /// Which.
    #[schemars(schema_with = "names::provider")]
    pub provider: &'static str,
    /// Always true.
    pub removed: bool,
}

/// What a test of a key came to; a failure is an answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TestedProvider {
    /// Whether the key works.
    pub ok: bool,
    /// The HTTP status, when there was one.
    pub status: Option<u16>,
    /// How long it took.
    pub duration_ms: u64,
    /// On failure: Provider, address and what to do.
    pub message: String,
    /// How many models it offers, when that was told.
    pub models: Option<u64>,
}

impl From<Tested> for TestedProvider {
    fn from(tested: Tested) -> Self {
        Self {
            ok: tested.ok,
            status: tested.status,
            duration_ms: super::millis(tested.duration),
            message: tested.message,
            models: tested.models,
        }
    }
}

/// What is known of a model; null where the Provider does not tell.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Model {
    /// Whose.
    #[schemars(schema_with = "names::provider")]
    pub provider: &'static str,
    /// Which.
    pub id: String,
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
    /// Whether it is among the Provider's `models`.
    pub listed_first: bool,
}

/// What a model costs, as decimal texts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Price {
    /// For what it reads.
    pub input_usd_per_mtok: String,
    /// For what it writes.
    pub output_usd_per_mtok: String,
}

impl From<domain::Model> for Model {
    fn from(model: domain::Model) -> Self {
        Self {
            provider: model.model.provider.name(),
            id: model.model.id.to_string(),
            name: model.name,
            context_tokens: model.context_tokens,
            max_output_tokens: model.max_output_tokens,
            tools: model.tools,
            reasoning: model.reasoning,
            price: model.price.map(|price| Price {
                input_usd_per_mtok: price.input_usd_per_mtok,
                output_usd_per_mtok: price.output_usd_per_mtok,
            }),
            listed_first: model.listed_first,
        }
    }
}

/// A page of models, and how each Provider's list came.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelPage {
    /// The models of this page.
    pub items: Vec<Model>,
    /// Goes into `cursor` of the next call; null at the end.
    pub next_cursor: Option<String>,
    /// One per configured Provider asked about.
    pub sources: Vec<ModelSource>,
}

/// How one Provider's list came.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelSource {
    /// Whose.
    #[schemars(schema_with = "names::provider")]
    pub provider: &'static str,
    /// When it was last asked with success.
    pub fetched_at: Option<String>,
    /// Whether a newer list could not be had.
    pub stale: bool,
    /// Why.
    pub error: Option<String>,
}

impl From<domain::ModelSource> for ModelSource {
    fn from(source: domain::ModelSource) -> Self {
        Self {
            provider: source.provider.name(),
            fetched_at: source.fetched_at.map(super::ids),
            stale: source.stale,
            error: source.error,
        }
    }
}
