//! A Project's own file, read from its base branch and from nowhere else (D2, D3).

use crate::project::{Project, ProjectFile};
use alloc::boxed::Box;
use async_trait::async_trait;

/// Reads a Project's own file.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Terms: Send + Sync {
    /// Tells what is known of the file, also when it is refused or missing.
    async fn file(&self, project: &Project) -> ProjectFile;
}
