//! A Job: a standing intent, carried out by an unattended Agent in a worktree of its own (D22). Rows, like a Turn: each
//! move is a compare-and-set, and what was at work when the daemon died is never taken up again by itself.

mod accept;
pub mod brief;
mod look;
#[cfg(any(test, feature = "mocks"))]
mod mocks;
mod review;
mod run;
mod service;
mod start;
mod stored;
mod terms;
mod verdict;
mod work;

pub use accept::*;
pub use run::*;
pub use service::*;
pub use start::*;
pub use stored::*;
pub use terms::*;
pub use verdict::*;

use crate::{
    ids::{JobId, RunId},
    text::{AbsPath, AccountName, BranchName, CommitId, ProjectName, Prompt, Title},
    time::Timestamp,
};
use alloc::string::String;

/// A Job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// In which Project.
    pub project: ProjectName,
    /// Whose Agents work on it.
    pub account: AccountName,
    /// What it is called.
    pub title: Title,
    /// What is to be done.
    pub prompt: Prompt,
    /// How far it is.
    pub state: JobState,
    /// Why it is in this state, in a sentence.
    pub reason: Option<String>,
    /// Its branch.
    pub branch: BranchName,
    /// Its worktree; none before its first Run and once it was removed.
    pub worktree: Option<AbsPath>,
    /// The branch that it starts from.
    pub base_branch: BranchName,
    /// The commit that its branch was made at.
    pub base_commit: Option<CommitId>,
    /// How many Runs it had.
    pub attempts: u32,
    /// The Run that is at work.
    pub active_run: Option<RunId>,
    /// What it changed by the end of its last Run, uncommitted work included.
    pub changes: Option<Changes>,
    /// Whether the Project's setup went through in its worktree.
    pub set_up: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last moved.
    pub updated_at: Timestamp,
}

/// How far a Job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// It waits to be started.
    Pending,
    /// A Run is at work.
    Active,
    /// Its last Run led to nothing that could be looked at.
    Blocked,
    /// There is work to look at.
    Review,
    /// A person accepted it.
    Done,
    /// A person gave it up.
    Cancelled,
}

impl JobState {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Pending, Self::Active, Self::Blocked, Self::Review, Self::Done, Self::Cancelled];

    /// Returns its name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Active => "active",
            Self::Blocked => "blocked",
            Self::Review => "review",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns the state of exactly that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// What a client may do to a Job, and from where. The one table of moves; the store compares with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobMove {
    /// A new Run.
    Start,
    /// It is given up; a Run at work is stopped.
    Cancel,
    /// The work is taken.
    Accept,
    /// Worktree and branch go.
    Drop,
}

impl JobMove {
    /// Returns the states that it may be made from.
    pub const fn allowed_from(self) -> &'static [JobState] {
        match self {
            Self::Start => &[JobState::Pending, JobState::Blocked, JobState::Review],
            Self::Cancel => {
                &[JobState::Pending, JobState::Active, JobState::Blocked, JobState::Review, JobState::Cancelled]
            }
            Self::Accept => &[JobState::Review],
            Self::Drop => {
                &[JobState::Pending, JobState::Blocked, JobState::Review, JobState::Done, JobState::Cancelled]
            }
        }
    }

    /// Returns the state that it leads to from one that it may be made from.
    #[must_use]
    pub const fn leads_to(self, from: JobState) -> JobState {
        match self {
            Self::Start => JobState::Active,
            Self::Cancel => JobState::Cancelled,
            Self::Accept => JobState::Done,
            Self::Drop => match from {
                JobState::Done => JobState::Done,
                JobState::Pending | JobState::Active | JobState::Blocked | JobState::Review | JobState::Cancelled => {
                    JobState::Cancelled
                }
            },
        }
    }
}

/// What differs from the commit that a Job began at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Changes {
    /// Files.
    pub files: u64,
    /// Lines that are new.
    pub insertions: u64,
    /// Lines that are gone.
    pub deletions: u64,
    /// Commits on its branch.
    pub commits: u64,
}
