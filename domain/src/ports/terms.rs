//! A Project's own file, read from its base branch and from nowhere else (D2, D3).

use crate::{
    job,
    project::{FileError, Project, ProjectFile},
};
use alloc::boxed::Box;
use async_trait::async_trait;

/// Reads a Project's own file.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Terms: Send + Sync {
    /// Tells what is known of the file, also when it is refused or missing.
    async fn file(&self, project: &Project) -> ProjectFile;

    /// Returns the terms that it sets; those of no file when there is none.
    ///
    /// # Errors
    /// [`FileError`] when it is refused, or git could not tell.
    async fn terms(&self, project: &Project) -> Result<job::Terms, FileError>;
}
