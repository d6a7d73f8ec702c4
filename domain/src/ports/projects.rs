//! Registered Projects and a Provider's settings, as rows.

use super::StoreError;
use crate::{
    project::Project,
    provider::{LastError, Provider, ProviderSettings},
    text::ProjectName,
};
use alloc::{boxed::Box, vec::Vec};
use async_trait::async_trait;

/// Keeps registered Projects.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Projects: Send + Sync {
    /// Registers one.
    ///
    /// # Errors
    /// [`AddError`] when one of that name or root exists.
    async fn add(&self, project: Project) -> Result<(), AddError>;

    /// Returns all of them, by name.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn list(&self) -> Result<Vec<Project>, StoreError>;

    /// Returns one; none when there is none of that name.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn get(&self, name: ProjectName) -> Result<Option<Project>, StoreError>;

    /// Removes one. False when there is none of that name. The repository is not touched.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn remove(&self, name: ProjectName) -> Result<bool, StoreError>;
}

/// Why a Project was not registered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AddError {
    /// One of that name or root is.
    #[error("`{}` is registered already, at {}", existing.name, existing.root())]
    Exists {
        /// Which.
        existing: Box<Project>,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Keeps what a person configured for a Provider; never its key.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ProviderConfigs: Send + Sync {
    /// Returns a Provider's settings; none when it was never configured.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn get(&self, provider: Provider) -> Result<Option<ProviderSettings>, StoreError>;

    /// Stores a Provider's settings in place of those before.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn set(&self, provider: Provider, settings: ProviderSettings) -> Result<(), StoreError>;

    /// Removes them, its last error too. False when there were none.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn remove(&self, provider: Provider) -> Result<bool, StoreError>;

    /// Returns a Provider's last error.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn last_error(&self, provider: Provider) -> Result<Option<LastError>, StoreError>;

    /// Stores a Provider's last error, or that the last request went well.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn set_last_error(&self, provider: Provider, error: Option<LastError>) -> Result<(), StoreError>;
}
