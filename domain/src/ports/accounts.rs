//! Accounts as rows (ADR-0035). What an Account may do stands in its own file, and its token in the credential store.

use super::StoreError;
use crate::{account::Account, ids::JobId, text::AccountName, time::Timestamp};
use alloc::{boxed::Box, vec::Vec};
use async_trait::async_trait;

/// Keeps Accounts.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Accounts: Send + Sync {
    /// Adds one. False when one of that name is there; it is then as it was.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn add(&self, account: Account) -> Result<bool, StoreError>;

    /// Returns all of them, by name.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn list(&self) -> Result<Vec<Account>, StoreError>;

    /// Returns one; none when there is none of that name.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn get(&self, name: AccountName) -> Result<Option<Account>, StoreError>;

    /// Stores when Owl created its settings file, in place of an earlier time.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn seeded(&self, name: AccountName, at: Timestamp) -> Result<(), StoreError>;

    /// Removes one that no Job needs which is neither done nor cancelled. False when there is none of that name.
    ///
    /// # Errors
    /// [`RemoveAccountError`].
    async fn remove(&self, name: AccountName) -> Result<bool, RemoveAccountError>;
}

/// Why an Account was not removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoveAccountError {
    /// Jobs need it.
    #[error("jobs that are not finished need this account")]
    InUse {
        /// Which, oldest first.
        by: Vec<JobId>,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
