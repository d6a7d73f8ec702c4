//! git on Owl's own behalf: what a repository is, and what the chat's git is given in place of its configuration
//! (D2, D14, gate.md 8). Grows with Jobs: worktrees, branches, diffs.

use crate::{
    project::{Pin, Pins, Project, Workdir, Worktree},
    text::{AbsPath, BranchName, CommitId},
};
use alloc::{boxed::Box, string::String, vec::Vec};
use async_trait::async_trait;

/// git on Owl's own behalf: disarmed, so that nothing which a repository names is started.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Repositories: Send + Sync {
    /// Tells what lies at a path that a person wants to register. `base` is the branch they named.
    ///
    /// # Errors
    /// [`InspectError`] says why it cannot be registered.
    async fn inspect(&self, path: &AbsPath, base: Option<BranchName>) -> Result<Inspected, InspectError>;

    /// Says whether a Project's directory is there and is still the repository that was registered.
    async fn is_as_registered(&self, project: &Project) -> bool;

    /// Lists the directories of a Project in which commands may run: the root and the linked worktrees that exist and
    /// point back, the root first, then by path. A Project that is gone has none. No git is asked, so that a command
    /// costs none to find where it runs.
    async fn workdirs(&self, project: &Project) -> Vec<Workdir>;

    /// Lists the same directories with what git says of each. [`WorktreeKind::Job`](crate::project::WorktreeKind) is the
    /// caller's to know.
    ///
    /// # Errors
    /// [`RepositoryError`] when git could not tell.
    async fn worktrees(&self, project: &Project) -> Result<Vec<Worktree>, RepositoryError>;

    /// Checks the pins of a workdir and brings the directory up to date that its git is given in place of the
    /// repository's configuration. `registered` are all Projects: only they may lend objects.
    ///
    /// # Errors
    /// [`RepositoryError`] says what is not as it was registered, or what it borrows.
    async fn home(&self, workdir: &Workdir, registered: &[Project]) -> Result<GitHome, RepositoryError>;

    /// Reads a file as it is on a Project's base branch, never from a working tree. None when there is no such file.
    ///
    /// # Errors
    /// [`RepositoryError`] when git could not tell, or the file is over 1 MiB.
    async fn read_base(&self, project: &Project, file: &str) -> Result<Option<BaseFile>, RepositoryError>;

    /// Lists the names at the root, or in one directory, of a Project's base branch.
    ///
    /// # Errors
    /// [`RepositoryError`] when git could not tell.
    async fn list_base(&self, project: &Project, directory: &str) -> Result<Vec<String>, RepositoryError>;
}

/// What a repository is that can be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspected {
    /// What it is now.
    pub pins: Pins,
    /// The branch that was named, or is checked out.
    pub base_branch: BranchName,
}

/// A file of the base branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseFile {
    /// The commit it was read from.
    pub commit: CommitId,
    /// Its content.
    pub text: String,
}

/// What the chat's git is given (gate.md 8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitHome {
    /// The pinned git directory.
    pub git_dir: AbsPath,
    /// The root of the work tree.
    pub work_tree: AbsPath,
    /// The repository's real common directory, for the kernel's rules.
    pub real_common_dir: AbsPath,
    /// The directory that Owl owns and gives in its place, at a path that is stable for the Project.
    pub owned_common_dir: AbsPath,
    /// The copy of the index that was looked at, beside which a lock stands.
    pub index: AbsPath,
    /// The objects directories of registered Projects that this one borrows from, as they were when that was seen.
    pub lenders: Vec<Pin>,
    /// What git may read though it looks like git data: tracked directories at the root that look like a repository, and
    /// the configurations of submodules, by which git knows their format.
    pub readable: Vec<Pin>,
    /// What this worktree's own configuration sets beside the common one, keys and values: whether it is sparse, say.
    pub settings: Vec<(String, String)>,
}

impl GitHome {
    /// Says whether the work tree is a linked one of its repository, as `git worktree add` makes them.
    pub fn is_linked(&self) -> bool {
        self.git_dir != self.real_common_dir
    }
}

/// Why a path cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InspectError {
    /// Nothing is there.
    #[error("there is no directory")]
    Missing,
    /// It is no git repository, or its git directory does not lead back to it.
    #[error("it is not a git repository: {reason}")]
    NotGit {
        /// Why, for people.
        reason: String,
    },
    /// It lies inside one.
    #[error("it is not the root of its repository, which is {}", root.as_str())]
    NotRoot {
        /// Where the root is.
        root: AbsPath,
    },
    /// It has no work tree.
    #[error("it is a bare repository")]
    Bare,
    /// No branch is checked out and none was named.
    #[error("no branch is checked out")]
    Detached,
    /// It has no commit yet.
    #[error("it has no commit yet")]
    NoCommit,
    /// The branch that was named does not exist.
    #[error("there is no branch `{branch}`")]
    NoSuchBranch {
        /// The name.
        branch: String,
    },
    /// Its path is not UTF-8.
    #[error("its path is not UTF-8")]
    NotUtf8,
    /// git could not tell.
    #[error("git could not tell: {reason}")]
    Git {
        /// Why, for people.
        reason: String,
    },
}

/// Why git cannot be used on a registered repository.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RepositoryError {
    /// A directory is gone, or another one stands in its place.
    #[error("the repository is not as it was registered: {reason}")]
    NotAsRegistered {
        /// What differs.
        reason: String,
    },
    /// It borrows objects from a repository that is not a Project.
    #[error("this repository borrows objects from {lender}, which is not a registered Project")]
    Borrows {
        /// Where from.
        lender: String,
    },
    /// git, or the file system, could not tell.
    #[error("{reason}")]
    Failed {
        /// Why, for people.
        reason: String,
    },
}
