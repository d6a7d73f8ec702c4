//! Jobs as rows. Each change is one transaction with its event `job.changed`; each move a compare-and-set (D22).

use super::{Once, StoreError};
use crate::{
    conversation::{Page, PageError, Paged},
    ids::{JobId, RunId},
    job::{Job, JobMove, JobState},
    text::{AccountName, BranchName, ProjectName, Prompt, Title},
    time::Timestamp,
};
use alloc::{boxed::Box, string::String, vec::Vec};
use async_trait::async_trait;

/// Keeps Jobs. Which move is allowed from which state stands in [`JobMove::allowed_from`]; the store compares with that
/// in the `WHERE`.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Jobs: Send + Sync {
    /// Returns what an earlier call with the same key made.
    ///
    /// # Errors
    /// [`AddJobError::Mismatch`] when that call had other parameters, else [`AddJobError::Store`].
    async fn repeated(&self, once: Once) -> Result<Option<Job>, AddJobError>;

    /// Makes one, `pending`, and names its branch by its number.
    ///
    /// # Errors
    /// [`AddJobError`].
    async fn add(&self, new: NewJob, now: Timestamp) -> Result<AddedJob, AddJobError>;

    /// Returns one; none when there is none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn get(&self, id: JobId) -> Result<Option<Job>, StoreError>;

    /// Returns a page, newest first.
    ///
    /// # Errors
    /// [`PageError`].
    async fn list(&self, filter: JobFilter, page: Page) -> Result<Paged<Job>, PageError>;

    /// Takes hold of a Job that is to be started, so that no other start comes between; told to nobody. It is let go of
    /// by [`Runs::begin`](super::Runs::begin), by [`release`](Self::release), by a cancel and by [`recover`](Self::recover).
    ///
    /// # Errors
    /// [`ClaimError`].
    async fn claim(&self, id: JobId) -> Result<Claim, ClaimError>;

    /// Lets go of a Job that was not started after all; it is as it was. One that was let go of already stays so.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn release(&self, claim: Claim) -> Result<(), StoreError>;

    /// Makes a move that is done at once: [`JobMove::Cancel`] of a Job without a Run at work, [`JobMove::Accept`],
    /// [`JobMove::Drop`]. Lets go of a hold. A move that changes nothing writes no event and has won.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn make(&self, id: JobId, what: JobMove, now: Timestamp) -> Result<Made, StoreError>;

    /// Marks the Run at work of a Job as to be cancelled; it is closed by whoever carries it on. None when none is at
    /// work.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn cancel_run(&self, id: JobId) -> Result<Option<RunId>, StoreError>;

    /// Stores that a Job's worktree was removed.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn worktree_removed(&self, id: JobId, now: Timestamp) -> Result<(), StoreError>;

    /// At start: lets go of every hold, and returns the Jobs that were held and have no worktree: one may have been made
    /// for them and not been stored.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn recover(&self) -> Result<Vec<Job>, StoreError>;
}

/// A Job that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// In which Project.
    pub project: ProjectName,
    /// Whose Agents work on it.
    pub account: AccountName,
    /// What it is called.
    pub title: Title,
    /// What is to be done.
    pub prompt: Prompt,
    /// What its branch begins with; the Job's number follows.
    pub branch_prefix: String,
    /// The branch that it starts from.
    pub base_branch: BranchName,
    /// The client's key.
    pub once: Option<Once>,
}

/// A Job that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedJob {
    /// The Job.
    pub job: Job,
    /// Whether an earlier call with the same key made it.
    pub duplicate: bool,
}

/// Why none was made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddJobError {
    /// The client's key was used with other parameters.
    #[error("this client_key was used with other parameters")]
    Mismatch,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Which Jobs are listed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobFilter {
    /// Those of one Project.
    pub project: Option<ProjectName>,
    /// Those in one state.
    pub state: Option<JobState>,
}

/// A hold of a Job: the Job as it was, and the number of the hold, never used twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The Job.
    pub job: Job,
    /// The hold's number.
    pub number: i64,
}

/// Why a Job cannot be started now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    /// There is none of that id.
    #[error("there is no such job")]
    NotFound,
    /// Its state does not allow it.
    #[error("{} is {}", job.id, job.state.name())]
    WrongState {
        /// The Job as it is.
        job: Box<Job>,
    },
    /// It is being started already.
    #[error("{} is being started already", job.id)]
    Held {
        /// The Job as it is.
        job: Box<Job>,
    },
    /// As many Runs are at work, or being started, as may be.
    #[error("{} runs are at work, and no more may", crate::limits::RUNS_ACTIVE)]
    Limit,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What became of a move.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Made {
    /// It won; the Job as it is now.
    Won(Box<Job>),
    /// Its state does not allow it; the Job as it is.
    Lost(Box<Job>),
    /// There is none of that id.
    NotFound,
}
