//! Asks models (D17, D18). What comes in pieces is pulled.

use crate::{
    ports::Stop,
    provider::{Argument, BaseUrl, Call, Model, ModelRef, Piece, Provider, ProviderSettings, Request, Secret},
    time::Timestamp,
};
use alloc::{boxed::Box, string::String, sync::Arc, vec::Vec};
use async_trait::async_trait;
use core::time::Duration;

/// How to reach a Provider, read anew for each request so that no secret outlives it.
#[derive(Debug, Clone)]
pub struct Access {
    /// What a person configured.
    pub settings: ProviderSettings,
    /// The key; none for the demo.
    pub key: Option<Secret>,
}

/// Asks models, lists them, tests keys. MUST follow no redirect and MUST put no key into an error.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Providers: Send + Sync {
    /// Starts to ask; all that can go wrong comes as the last piece. Ends early when the `Stop` fires.
    async fn ask(&self, request: Request, access: Access, stop: Arc<dyn Stop>) -> Box<dyn Reply>;

    /// Reads a call's arguments: an object's members in their order; empty means none.
    ///
    /// # Errors
    /// A sentence that says what is wrong: not JSON, not an object, or which member stands there twice.
    fn arguments(&self, call: &Call) -> Result<Vec<(String, Argument)>, String>;

    /// Returns what is known of one model without asking anybody; none when the catalogue does not know it.
    fn known(&self, model: &ModelRef) -> Option<Model>;

    /// Returns a Provider's models, asking it again when what is known is older than an hour or `fresh` says so. An
    /// older list is returned, marked stale, when a new one cannot be had.
    async fn models(&self, provider: Provider, access: Access, fresh: Freshness) -> Catalogue;

    /// Makes one request that costs nothing.
    async fn test(&self, provider: Provider, access: Access) -> Tested;

    /// Normalises a base address that a person gave.
    ///
    /// # Errors
    /// [`BaseUrlError`] says what would be right.
    fn base_url(&self, provider: Provider, text: &str) -> Result<BaseUrl, BaseUrlError>;

    /// Returns the exact address that a chat is posted to; none for the demo.
    fn endpoint(&self, provider: Provider, base_url: Option<BaseUrl>) -> Option<String>;

    /// Returns the base address that is in force; none for the demo.
    fn base(&self, provider: Provider, base_url: Option<BaseUrl>) -> Option<String>;

    /// Says whether two base addresses have the same origin: scheme, host and port.
    fn same_origin(&self, provider: Provider, one: Option<BaseUrl>, other: Option<BaseUrl>) -> bool;
}

/// A reply on its way.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Reply: Send {
    /// Returns the next piece. MUST NOT be called after [`Piece::Whole`] or [`Piece::Broken`].
    async fn next(&mut self) -> Piece;
}

/// Whether an older list will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// One of the last hour will do.
    LastHour,
    /// Ask again.
    Now,
}

/// A Provider's models, and how they came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    /// The models; those that the settings name come first, also when the Provider does not know them.
    pub models: Vec<Model>,
    /// When the Provider was last asked with success.
    pub fetched_at: Option<Timestamp>,
    /// Whether a newer list could not be had.
    pub stale: bool,
    /// Why.
    pub error: Option<String>,
}

/// What a test of a key came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tested {
    /// Whether the key works.
    pub ok: bool,
    /// The HTTP status, when there was one.
    pub status: Option<u16>,
    /// How long it took.
    pub duration: Duration,
    /// On failure: Provider, address and what to do.
    pub message: String,
    /// How many models it offers, when that was told.
    pub models: Option<u64>,
}

/// Why a base address is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{expected}")]
pub struct BaseUrlError {
    /// What would be right.
    pub expected: String,
}
