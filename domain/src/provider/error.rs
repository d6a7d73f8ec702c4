//! What can go wrong in a Turn (D17).

use super::{ModelRef, Provider};
use alloc::string::String;
use core::time::Duration;

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
