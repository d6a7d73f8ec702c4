//! Runs as rows. Each change is one transaction with its events `run.changed` and, where the Job moves, `job.changed`
//! (D22). Every move is a compare-and-set on the stage it was computed from.

use super::{Claim, Moved, StoreError};
use crate::{
    ids::{JobId, RunId},
    job::{AgentEnded, Changes, Job, Run, RunEnding, StoredRun, Terms, Verification},
    permissions::{DeniedCall, Permissions, Reported},
    text::{AbsPath, CommitId},
    time::Timestamp,
};
use alloc::{boxed::Box, string::String, vec::Vec};
use async_trait::async_trait;

/// Keeps Runs.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Runs: Send + Sync {
    /// Stores a Run, `running`, with everything that its Agent will be told; its Job becomes `active` with one attempt
    /// more. None when the hold is no longer in force: the Job was cancelled, and nothing was stored.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn begin(&self, new: NewRun, now: Timestamp) -> Result<Option<(Job, Run)>, StoreError>;

    /// Returns one; none when there is none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn get(&self, id: RunId) -> Result<Option<Run>, StoreError>;

    /// Returns the newest Runs of a Job, newest first, and how many there are.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn of_job(&self, job: JobId, most: u32) -> Result<(Vec<Run>, u32), StoreError>;

    /// Loads a Run with all that happened in it; none when there is none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn load(&self, id: RunId) -> Result<Option<StoredRun>, StoreError>;

    /// Stores on its Job that the Project's setup went through. No event.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn set_up(&self, id: RunId) -> Result<(), StoreError>;

    /// Stores that the Agent starts, before it does: [`Stage::Prepared`](crate::job::Stage) to `AtWork`. Loses when the
    /// Job is being cancelled, or it was started before.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn start(&self, id: RunId, now: Timestamp) -> Result<Moved, StoreError>;

    /// Stores what the tool said of itself at its start. No event.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn reported(&self, id: RunId, reported: Reported) -> Result<(), StoreError>;

    /// Stores how the Agent ended: `AtWork` to [`Stage::Ended`](crate::job::Stage), `verifying`; and on its Job the
    /// changes when they are given. Loses when the Run was closed.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn ended(&self, id: RunId, ended: AgentWork, now: Timestamp) -> Result<Moved, StoreError>;

    /// Adds what judged the work. Loses when the Run was closed, or is being cancelled.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn verified(&self, id: RunId, verification: Verification, now: Timestamp) -> Result<Moved, StoreError>;

    /// Closes a Run, and moves its Job to [`Outcome::job_state`](crate::job::Outcome::job_state) with the reason. Loses
    /// when it is closed already.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn close(&self, id: RunId, ending: RunEnding, now: Timestamp) -> Result<Moved, StoreError>;

    /// At start: closes every Run that is not finished, as interrupted, or as cancelled when that was asked; returns
    /// them.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn recover(&self, now: Timestamp) -> Result<Vec<RunId>, StoreError>;
}

/// A Run that is to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRun {
    /// The hold of its Job.
    pub claim: Claim,
    /// The worktree.
    pub worktree: AbsPath,
    /// The commit that the branch was made at, when the worktree is new; then the Job gets both.
    pub base_commit: Option<CommitId>,
    /// The terms that hold for it.
    pub terms: Terms,
    /// What the Agent is told that it may do.
    pub permissions: Permissions,
    /// What the tool is started with.
    pub argv: Vec<String>,
    /// The tool's version.
    pub tool_version: String,
}

/// What is stored when an Agent has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentWork {
    /// How it ended.
    pub ended: AgentEnded,
    /// What it was refused.
    pub denials: Vec<DeniedCall>,
    /// Whether the Account's file was another one by then; none when that could not be told.
    pub settings_changed: Option<bool>,
    /// What differs from the Job's base commit now.
    pub changes: Option<Changes>,
}

/// Sees to it that a Run is carried on. Only names the Run; at most one leg a Run is at work.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait RunLegs: Send + Sync {
    /// Has a Run carried on.
    fn wake(&self, run: RunId);

    /// Tells the leg of a Run to stop, because it was cancelled; then has it carried on.
    fn stop(&self, run: RunId);

    /// Returns once no leg of that Run is at work; at once when none is.
    async fn idle(&self, run: RunId);
}
