//! Runs what was cleared, and nothing else (ADR-0022, D13, D14).

use crate::{
    gate::{Cleared, Confinement, Program, Sandbox},
    ports::Stop,
    text::{AbsPath, Clipped},
};
use alloc::{boxed::Box, string::String, sync::Arc, vec::Vec};
use async_trait::async_trait;
use core::time::Duration;

/// Runs what was cleared. A command is first held, a process that has not begun, so that its start can be stored with
/// its pid before `execve`; a held one that is dropped never begins.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Commands: Send + Sync {
    /// Returns the absolute path that was found at start in a trusted directory.
    fn program(&self, program: Program) -> Option<AbsPath>;

    /// Returns what the kernel's guards are, as they were measured at start.
    fn wall(&self) -> Wall;

    /// Waits for a place among those that run, then forks a process that holds before `execve`.
    ///
    /// # Errors
    /// [`CommandError`]: nothing was run.
    async fn hold(&self, command: Cleared, stop: Arc<dyn Stop>) -> Result<Box<dyn Held>, CommandError>;
}

/// A process that has been forked, and waits before `execve` once it is confined.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Held: Send {
    /// Returns its process id.
    fn pid(&self) -> u32;

    /// Lets it go on to `execve`.
    ///
    /// # Errors
    /// [`CommandError`]: `execve` itself failed, or the wall could not be applied; nothing was run.
    async fn release(self: Box<Self>) -> Result<Box<dyn Running>, CommandError>;
}

/// A program at work. Ends early, its whole group, when the `Stop` it was held with fires.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Running: Send {
    /// Returns the next thing it did. The last one is [`Ran`](Progress::Ended); MUST NOT be called after that.
    async fn next(&mut self) -> Progress;
}

/// What a running command did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// It printed; only what the head of that stream keeps is told, decoded, whole characters.
    Printed(Stream, String),
    /// It ended.
    Ended(Ran),
}

/// Where it printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How a command that was started ended. A non-zero exit is an answer, not a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Why it ended.
    pub ended_by: EndedBy,
    /// Its exit status, when it exited.
    pub exit_code: Option<i32>,
    /// The signal that ended it, such as `SIGKILL`.
    pub signal: Option<String>,
    /// From `execve` to its end.
    pub duration: Duration,
    /// What it printed on standard output.
    pub stdout: Clipped,
    /// What it printed on standard error.
    pub stderr: Clipped,
    /// What it ran under.
    pub confinement: Confinement,
}

/// Why a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedBy {
    /// It exited.
    Exit,
    /// A signal that Owl did not send.
    Signal,
    /// Its deadline.
    Timeout,
    /// Its Turn was cancelled, or the daemon stops; the domain knows which.
    Stopped,
}

/// Which guards this kernel has, measured at start with the code that commands use (D13).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wall {
    /// What the configuration asks.
    pub sandbox: Sandbox,
    /// What commands run under.
    pub confinement: Confinement,
    /// The kernel's Landlock version.
    pub landlock_abi: Option<u32>,
    /// What the kernel does not offer: `landlock` `seccomp` `truncate` `tcp` `ioctl` `signals`.
    pub missing: Vec<&'static str>,
}

/// Why a command was not started. Nothing of it ran.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The process could not be made, or the program not be executed.
    #[error("{reason}")]
    NotStarted {
        /// Why, for people.
        reason: String,
    },
    /// It was told to stop before it began.
    #[error("it was stopped before it began")]
    Stopped,
}
