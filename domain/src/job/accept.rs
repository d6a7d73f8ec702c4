//! Takes a Job's work (D22). Its worktree goes only when its branch holds all of it: an Agent may have left that branch,
//! renamed it, or never have committed.

use super::{Job, JobMove, JobService, MoveError};
use crate::{
    ids::JobId,
    ports::{Beyond, JobPlace},
    text::BranchName,
};
use alloc::string::{String, ToString};

/// A Job that was accepted, and where its work is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The Job.
    pub job: Job,
    /// Whether its branch is there.
    pub branch_is_there: bool,
    /// Why its worktree stays; none when there is none any more.
    pub kept: Option<WhyKept>,
}

/// Why the worktree of an accepted Job stays.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WhyKept {
    /// The Job's branch is gone, renamed perhaps.
    #[error("the branch {branch} is gone, and {} is checked out there", named(checked_out.as_ref()))]
    BranchGone {
        /// The Job's branch.
        branch: BranchName,
        /// What is checked out in the worktree.
        checked_out: Option<BranchName>,
    },
    /// It holds commits that the Job's branch does not lead to.
    #[error("{commits} commits there are not on {branch}; {} is checked out there", named(checked_out.as_ref()))]
    Commits {
        /// How many.
        commits: u64,
        /// The Job's branch.
        branch: BranchName,
        /// What is checked out in the worktree.
        checked_out: Option<BranchName>,
    },
    /// It holds files that no commit has.
    #[error("{files} files there are in no commit")]
    Files {
        /// How many.
        files: u64,
    },
    /// It could not be looked at, or not be removed.
    #[error("{reason}")]
    Failed {
        /// Why, for people.
        reason: String,
    },
}

fn named(checked_out: Option<&BranchName>) -> &str {
    checked_out.map_or("no branch", BranchName::as_str)
}

impl WhyKept {
    /// Says why a worktree may not go; none when it may.
    fn of(beyond: Beyond, branch: &BranchName) -> Option<Self> {
        let Beyond { branch_is_there, worktree_is_there, files, commits, checked_out } = beyond;
        let branch = branch.clone();
        match (worktree_is_there, branch_is_there) {
            (false, _) => None,
            (true, false) => Some(Self::BranchGone { branch, checked_out }),
            (true, true) if commits > 0 => Some(Self::Commits { commits, branch, checked_out }),
            (true, true) if files > 0 => Some(Self::Files { files }),
            (true, true) => None,
        }
    }
}

impl JobService {
    /// Takes a Job's work: its branch stays for the person to merge. Its worktree goes unless it holds work that the
    /// branch does not.
    ///
    /// # Errors
    /// [`MoveError`].
    pub async fn accept(&self, id: JobId) -> Result<Accepted, MoveError> {
        let job = self.make(id, JobMove::Accept).await?;
        let Some(place) = self.place(&job).await? else {
            return Ok(Accepted { job, branch_is_there: true, kept: None });
        };
        let (branch_is_there, kept) = self.left_of(&place).await;
        if kept.is_some() {
            return Ok(Accepted { job, branch_is_there, kept });
        }
        self.ports.jobs.worktree_removed(id, self.now()).await?;
        let job = self.ports.jobs.get(id).await?.unwrap_or(job);
        Ok(Accepted { job, branch_is_there, kept })
    }

    /// Removes the worktree if it may go. Says whether the branch is there, and why the worktree stays.
    async fn left_of(&self, place: &JobPlace) -> (bool, Option<WhyKept>) {
        let failed = |reason: String| Some(WhyKept::Failed { reason });
        let beyond = match self.ports.repositories.beyond(place).await {
            Ok(beyond) => beyond,
            Err(error) => return (true, failed(error.to_string())),
        };
        let branch_is_there = beyond.branch_is_there;
        if let Some(why) = WhyKept::of(beyond, &place.branch) {
            return (branch_is_there, Some(why));
        }
        let removed = self.ports.repositories.remove_worktree(place).await;
        (branch_is_there, removed.err().and_then(|error| failed(error.to_string())))
    }
}
