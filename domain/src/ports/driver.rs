//! How a coding tool is operated (D20), and where a Verifier leaves its verdict (D22).

use super::Stop;
use crate::{
    ids::RunId,
    job::{Exit, brief::Brief},
    permissions::{Reported, ToolCall},
    provider::Secret,
    text::AbsPath,
};
use alloc::{boxed::Box, string::String, sync::Arc, vec::Vec};
use async_trait::async_trait;
use core::time::Duration;

/// Operates a coding tool. MUST NOT ever pass a flag that skips permissions, nor put the Account's rules on the command
/// line; MUST give an Agent no credential but its own Account's.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Driver: Send + Sync {
    /// Finds the tool and asks it what it is; asked once per file as it stands.
    ///
    /// # Errors
    /// [`ToolError`].
    async fn tool(&self) -> Result<Tool, ToolError>;

    /// Returns what the tool is started with. Pure.
    ///
    /// # Errors
    /// [`ArgvError`] when a word of it cannot be passed as it is.
    fn argv(&self, tool: &Tool, brief: &Brief) -> Result<Vec<String>, ArgvError>;

    /// Starts an Agent. It ends when `stop` fires, at its bounds, or when what this returns is dropped; and with it, all
    /// that it started.
    ///
    /// # Errors
    /// [`AgentNotStarted`]: nothing of it ran.
    async fn start(
        &self,
        tool: &Tool,
        agent: NewAgent,
        stop: Arc<dyn Stop>,
    ) -> Result<Box<dyn AgentAtWork>, AgentNotStarted>;

    /// At start: ends what Runs, none of which is active, left running when the daemon died. Returns whose it was.
    async fn end_leftovers(&self) -> Vec<RunId>;
}

/// A coding tool as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Where it is.
    pub program: AbsPath,
    /// Its version.
    pub version: String,
    /// How it is told that nobody answers prompts.
    pub prompts_off: PromptsOff,
}

/// How a tool is told that nobody answers prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptsOff {
    /// By a flag of its own; then it also tells each denial as it happens.
    Flag,
    /// By its mode, on a version without that flag. It overrides the mode of the Account's file.
    Mode,
}

/// An Agent that is to be started.
#[derive(Debug, Clone)]
pub struct NewAgent {
    /// Of which Run.
    pub run: RunId,
    /// What it is started with.
    pub argv: Vec<String>,
    /// Its Account's directory.
    pub config_dir: AbsPath,
    /// Its Account's token, if that has one.
    pub token: Option<Secret>,
    /// Where it works.
    pub worktree: AbsPath,
}

/// An Agent at work.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait AgentAtWork: Send {
    /// Returns the names of the variables that were set for it, and of those of the daemon that were kept from it.
    fn environment(&self) -> (Vec<String>, Vec<String>);

    /// Returns the next thing it did. The last one is [`AgentEvent::Ended`]; MUST NOT be called after that.
    async fn next(&mut self) -> AgentEvent;

    /// Has it ended. Its end is told by [`next`](Self::next).
    fn end(&mut self);
}

/// What an Agent did. What a line means comes after the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEvent {
    /// It printed a line; for the log.
    Line {
        /// The line, at most [`LOG_LINE_BYTES`](crate::limits::LOG_LINE_BYTES) of it.
        text: String,
        /// Its true length.
        bytes: u64,
    },
    /// The tool said what it is and what holds.
    Reported(Reported),
    /// A call was refused.
    Denied(ToolCall),
    /// A call failed, on a version that does not tell a refusal from another failure.
    Failed(ToolCall),
    /// The model could not be reached and will be asked again.
    Retrying {
        /// Which attempt follows.
        attempt: u32,
        /// What went wrong, as the tool names it.
        error: String,
        /// Whether the credential was refused.
        credential: bool,
    },
    /// A result line.
    Result(crate::job::AgentResult),
    /// Its process has ended, and all that it started.
    Ended(AgentExit),
}

/// How an Agent's process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentExit {
    /// Why.
    pub why: AgentExitWhy,
    /// How.
    pub exit: Exit,
    /// The end of its standard error.
    pub stderr_tail: String,
    /// How long the longest line was that was too long to be read.
    pub overlong_line: Option<u64>,
}

/// Why an Agent's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentExitWhy {
    /// By itself, or by a signal that Owl did not send.
    Itself,
    /// It took longer than this.
    Timeout(Duration),
    /// It printed nothing for this long.
    Silence(Duration),
    /// Its `Stop` fired, or it was to be ended.
    Stopped,
}

/// Why there is no tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// None was found.
    #[error("no coding tool was found: {looked}")]
    Missing {
        /// Where it was looked for, and what to do.
        looked: String,
    },
    /// What was found is none that Owl can operate.
    #[error("`{program}` cannot be used: {reason}")]
    Version {
        /// Where it is.
        program: String,
        /// What it is and what it lacks.
        reason: String,
    },
}

/// Why something cannot be a word of the command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {why}")]
pub struct ArgvError {
    /// Which part.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// Why an Agent was not started. Nothing of it ran.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct AgentNotStarted {
    /// Why, for people.
    pub reason: String,
}

/// Where a Verifier leaves its verdict: a file in a fresh private directory outside of every worktree, so that nothing
/// which lies in one is ever taken for a verdict.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Verdicts: Send + Sync {
    /// Makes the directory anew and returns where the file is to be.
    ///
    /// # Errors
    /// [`VerdictError::Unreadable`] when it cannot be made.
    async fn place(&self, run: RunId) -> Result<AbsPath, VerdictError>;

    /// Reads the file, without following a link, and removes the directory.
    ///
    /// # Errors
    /// [`VerdictError`] says why there is no verdict.
    async fn take(&self, run: RunId) -> Result<Verdict, VerdictError>;
}

/// A Verifier's verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the work holds.
    pub passed: bool,
    /// Its words, at most 8 KiB.
    pub message: String,
}

/// Why there is no verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerdictError {
    /// No file was left.
    #[error("it left no verdict")]
    Missing,
    /// A link was left, which is not followed.
    #[error("it left a link in place of a verdict")]
    Link,
    /// What was left is no verdict, or cannot be read.
    #[error("what it left is no verdict: {0}")]
    Unreadable(String),
}
