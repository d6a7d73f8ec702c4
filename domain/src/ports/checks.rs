//! A Project's own shell commands: its setup and its checks (D3, D22). The rule that there is no shell is the chat's.

use super::{EndedBy, Stop};
use crate::{
    ids::RunId,
    text::{AbsPath, Clipped},
};
use alloc::{boxed::Box, string::String, sync::Arc};
use async_trait::async_trait;
use core::time::Duration;

/// Runs shell commands of a Project's file in a worktree.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Checks: Send + Sync {
    /// Runs one to its end, and the end of all that it started. A failure is an answer.
    ///
    /// # Errors
    /// [`CheckNotRun`]: nothing is known of how it ended.
    async fn run(&self, command: ShellCommand, stop: Arc<dyn Stop>) -> Result<CheckRan, CheckNotRun>;
}

/// A shell command of a Project's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommand {
    /// For which Run.
    pub run: RunId,
    /// The command.
    pub command: String,
    /// Where.
    pub worktree: AbsPath,
    /// How long it may take.
    pub timeout: Duration,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRan {
    /// Why it ended.
    pub ended_by: EndedBy,
    /// Its exit status, when it exited.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<String>,
    /// How long it took.
    pub duration: Duration,
    /// What it printed on both streams, in its order.
    pub output: Clipped,
}

/// Why nothing is known of a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct CheckNotRun {
    /// Why, for people.
    pub reason: String,
}
