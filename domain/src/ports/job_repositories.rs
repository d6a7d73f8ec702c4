//! git on behalf of Jobs: a worktree and a branch each, and what differs in them (D22). Disarmed like everything that Owl
//! does with git: nothing that a repository names is started, nothing is signed, merged or pushed.

use super::{RepositoryError, Stop};
use crate::{
    job::Changes,
    project::Project,
    text::{AbsPath, BranchName, CommitId},
};
use alloc::{boxed::Box, string::String, sync::Arc, vec::Vec};
use async_trait::async_trait;

/// git on behalf of Jobs.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait JobRepositories: Send + Sync {
    /// Makes a branch at the tip of the Project's base branch, and a worktree with it at a path of Owl's own. What is in
    /// the way is named and not touched; what was made before a failure or a stop is taken away again.
    ///
    /// # Errors
    /// [`WorktreeError`].
    async fn make(&self, project: &Project, place: &NewPlace, stop: Arc<dyn Stop>) -> Result<CommitId, WorktreeError>;

    /// Says whether a Job's worktree is there and is still the one that was made.
    async fn stands(&self, place: &JobPlace) -> bool;

    /// Returns the commit that a worktree was made at which stands at this path with this branch; none when there is no
    /// such worktree. For one that was made and not recorded.
    async fn made_at(&self, project: &Project, worktree: &AbsPath, branch: &BranchName) -> Option<CommitId>;

    /// Returns what the worktree holds now, or its branch when it is gone, what no commit has yet and files that git does not know included: a name for
    /// it that is equal only when all of it is, and what differs from the base commit.
    ///
    /// # Errors
    /// [`RepositoryError`].
    async fn survey(&self, place: &JobPlace) -> Result<Survey, RepositoryError>;

    /// Returns the diff against the base commit, of what [`survey`](Self::survey) sees.
    ///
    /// # Errors
    /// [`RepositoryError`].
    async fn diff(&self, place: &JobPlace) -> Result<JobDiff, RepositoryError>;

    /// Returns what would be lost with worktree and branch: files that no commit has, and commits that no other branch
    /// has. Files that git is told to hide count; those that the repository ignores do not.
    ///
    /// # Errors
    /// [`RepositoryError`].
    async fn at_risk(&self, place: &JobPlace) -> Result<AtRisk, RepositoryError>;

    /// Returns what would be lost with the worktree alone, while the branch stays: what the branch does not hold, and
    /// whether there is a branch at all. Files count as for [`at_risk`](Self::at_risk).
    ///
    /// # Errors
    /// [`RepositoryError`], also when what stands there is not the worktree that was made.
    async fn beyond(&self, place: &JobPlace) -> Result<Beyond, RepositoryError>;

    /// Removes the worktree. What is gone already is no error.
    ///
    /// # Errors
    /// [`RepositoryError`].
    async fn remove_worktree(&self, place: &JobPlace) -> Result<(), RepositoryError>;

    /// Removes the branch. What is gone already is no error.
    ///
    /// # Errors
    /// [`RepositoryError`].
    async fn remove_branch(&self, place: &JobPlace) -> Result<(), RepositoryError>;

    /// Returns where the worktree of a Job is to be.
    fn worktree(&self, job: crate::ids::JobId) -> AbsPath;
}

/// A worktree and a branch that are to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPlace {
    /// Where.
    pub worktree: AbsPath,
    /// The branch.
    pub branch: BranchName,
}

/// A Job's worktree and branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobPlace {
    /// Of which Project.
    pub project: Project,
    /// Where the worktree is, or was.
    pub worktree: AbsPath,
    /// The branch.
    pub branch: BranchName,
    /// The commit that the branch was made at.
    pub base_commit: CommitId,
}

/// What a worktree holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// A name for the content and the commit; equal only when both are.
    pub name: String,
    /// What differs from the base commit.
    pub changes: Changes,
}

/// A diff.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobDiff {
    /// The files, at most [`DIFF_FILES`](crate::limits::DIFF_FILES).
    pub files: Vec<DiffFile>,
    /// How many there are.
    pub files_total: u64,
    /// The text, at most [`DIFF_BYTES`](crate::limits::DIFF_BYTES), cut at a line's end.
    pub text: String,
    /// Its true size.
    pub bytes: u64,
    /// Whether it was cut.
    pub truncated: bool,
}

/// One file of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffFile {
    /// Its path in the worktree.
    pub path: String,
    /// What happened to it: one letter as git prints it.
    pub status: char,
    /// Lines that are new; 0 of a binary file.
    pub insertions: u64,
    /// Lines that are gone; 0 of a binary file.
    pub deletions: u64,
}

/// What would be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AtRisk {
    /// Files that no commit has.
    pub files: u64,
    /// Commits that are on no other branch.
    pub commits: u64,
}

impl AtRisk {
    /// Says whether nothing would be lost.
    #[must_use]
    pub const fn is_nothing(self) -> bool {
        self.files == 0 && self.commits == 0
    }
}

/// What a Job's worktree holds and its branch does not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Beyond {
    /// Whether the branch is there.
    pub branch_is_there: bool,
    /// Whether the worktree is there.
    pub worktree_is_there: bool,
    /// Files that no commit has.
    pub files: u64,
    /// Commits that the branch does not lead to; without a branch, those since the commit that it was made at.
    pub commits: u64,
    /// The branch that is checked out in the worktree; none when it is no branch.
    pub checked_out: Option<BranchName>,
}

/// Why there is no worktree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorktreeError {
    /// A branch or a directory of that name is there and is not this Job's.
    #[error("{what} is in the way; Owl does not touch it")]
    InTheWay {
        /// What.
        what: String,
    },
    /// It was told to stop.
    #[error("it was stopped")]
    Stopped,
    /// git could not.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
}
