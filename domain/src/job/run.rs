//! A Run: one attempt at a Job, with what its Agent was told, what it was refused, and how it ended (ADR-0035, D20, D21).

use crate::{
    ids::{JobId, RunId},
    permissions::{DeniedCall, Permissions},
    text::Clipped,
    time::Timestamp,
};
use alloc::{string::String, vec::Vec};
use core::time::Duration;

/// A Run as it is shown. The size of its log is the log's to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// Of which Job.
    pub job: JobId,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// How far it is.
    pub state: RunState,
    /// When it began.
    pub started_at: Timestamp,
    /// What the tool was started with, prompts included.
    pub argv: Vec<String>,
    /// The tool's version, as it said when it was asked.
    pub tool_version: String,
    /// How the Agent's process ended.
    pub exit: Option<Exit>,
    /// What the Agent was told that it may do.
    pub permissions: Permissions,
    /// Whether the Account's file was another one after the Run; none until then.
    pub settings_changed: Option<bool>,
    /// What the Agent was refused.
    pub denials: Vec<DeniedCall>,
    /// What judged its work.
    pub verification: Vec<Verification>,
    /// The Agent's last words, at most 8 KiB.
    pub result_text: Option<String>,
    /// The end of its standard error, at most 4 KiB.
    pub stderr_tail: String,
}

/// How far a Run is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunState {
    /// The Agent is at work, or about to be.
    Running,
    /// Its work is judged.
    Verifying,
    /// It is over.
    Finished(RunEnded),
}

impl RunState {
    /// Returns its name on the wire and in the store.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Verifying => "verifying",
            Self::Finished(_) => "finished",
        }
    }
}

/// How and when a Run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnded {
    /// How.
    pub ending: RunEnding,
    /// When.
    pub at: Timestamp,
}

/// How a Run ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnding {
    /// What it led to.
    pub outcome: Outcome,
    /// Why, in a sentence; none when there is simply work to look at.
    pub reason: Option<String>,
}

/// What a Run led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// There is work to look at.
    Review,
    /// There is none, or it does not hold.
    Blocked,
    /// A client cancelled its Job.
    Cancelled,
    /// The daemon stopped or died.
    Interrupted,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Review, Self::Blocked, Self::Cancelled, Self::Interrupted];

    /// Returns its name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::Blocked => "blocked",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }

    /// Returns the outcome of exactly that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }

    /// Returns the state of its Job from then on.
    #[must_use]
    pub const fn job_state(self) -> super::JobState {
        match self {
            Self::Review => super::JobState::Review,
            Self::Blocked => super::JobState::Blocked,
            Self::Cancelled => super::JobState::Cancelled,
            Self::Interrupted => super::JobState::Pending,
        }
    }
}

/// How a process ended: by itself with a status, or by a signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// Its status.
    Code(i32),
    /// The signal, such as `SIGKILL`.
    Signal(String),
}

/// What judged a Run's work, and what it said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub kind: VerificationKind,
    /// What it said.
    pub state: VerificationState,
    /// Its exit status, when it exited.
    pub exit_code: Option<i32>,
    /// How long it took.
    pub duration: Duration,
    /// What a check printed that did not pass.
    pub output: Option<Clipped>,
    /// A verdict's words, or why there is none.
    pub message: Option<String>,
}

/// What judges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerificationKind {
    /// A shell command of the Project's file on its base branch.
    Check {
        /// The command.
        command: String,
    },
    /// A fresh Agent.
    Agent,
}

/// What it said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerificationState {
    /// The work holds.
    Passed,
    /// It does not.
    Failed,
    /// It took too long and was ended.
    TimedOut,
    /// It could not judge.
    Error,
}

impl VerificationState {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Passed, Self::Failed, Self::TimedOut, Self::Error];

    /// Returns its name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Error => "error",
        }
    }

    /// Returns the state of exactly that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}
