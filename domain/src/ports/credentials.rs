//! Where keys and tokens are kept (D18).

use crate::{
    provider::{Provider, Secret},
    text::AccountName,
};
use alloc::{boxed::Box, string::String};
use async_trait::async_trait;

/// Keeps keys and tokens. MUST leave the old one in force when a new one cannot be stored.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Credentials: Send + Sync {
    /// Returns the secret of that name and where it came from; none when there is none.
    ///
    /// # Errors
    /// [`CredentialError`] when the store cannot be read.
    async fn get(&self, name: CredentialName) -> Result<Option<Credential>, CredentialError>;

    /// Stores a secret in place of the one before.
    ///
    /// # Errors
    /// [`CredentialError`] when it could not be stored; the old one is still in force.
    async fn set(&self, name: CredentialName, secret: Secret) -> Result<(), CredentialError>;

    /// Removes a secret; one that is not there is no error.
    ///
    /// # Errors
    /// [`CredentialError`] when the store cannot be written.
    async fn remove(&self, name: CredentialName) -> Result<(), CredentialError>;

    /// Returns which store it is: `keychain` or `file`.
    fn store(&self) -> &'static str;
}

/// Whose secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CredentialName {
    /// A Provider's key.
    Provider(Provider),
    /// An Account's token.
    Account(AccountName),
}

/// A secret and where it came from.
#[derive(Debug, Clone)]
pub struct Credential {
    /// The secret.
    pub secret: Secret,
    /// Where from.
    pub source: CredentialSource,
}

/// Where a secret came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialSource {
    /// The Keychain, or the Secret Service.
    Keychain,
    /// `credentials.json`.
    File,
    /// The daemon's environment, because the configuration says so.
    Environment,
}

/// Why the credential store did not do what was asked. Holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the credential store ({store}) {reason}")]
pub struct CredentialError {
    /// Which store: a file's path, or `keychain`.
    pub store: String,
    /// What happened and what to do.
    pub reason: String,
}
