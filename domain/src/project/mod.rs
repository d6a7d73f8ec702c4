//! A registered git repository, and the directories in which commands may run (ADR-0022, D12, gate.md 8).

mod service;

pub use service::*;

use crate::{
    ids::JobId,
    text::{AbsPath, BranchName, CommitId, ProjectName},
    time::Timestamp,
};
use alloc::{string::String, vec::Vec};

/// One directory as it was when it was registered: what stands under a name can be replaced, a pin tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// Where it is, resolved.
    pub path: AbsPath,
    /// The device it lies on.
    pub device: u64,
    /// Its inode there.
    pub inode: u64,
}

/// What a repository was when it was registered, or what a linked worktree is as seen from there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pins {
    /// The root of the work tree.
    pub work_tree: Pin,
    /// Its git directory.
    pub git_dir: Pin,
    /// The directory that all worktrees share; the git directory itself in the main one.
    pub common_dir: Pin,
}

/// A registered git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its unique name.
    pub name: ProjectName,
    /// The branch from which its own file is read and its Jobs start.
    pub base_branch: BranchName,
    /// What it was when it was registered.
    pub pins: Pins,
    /// When it was registered.
    pub added_at: Timestamp,
}

impl Project {
    /// Returns the root of its work tree.
    pub fn root(&self) -> &AbsPath {
        &self.pins.work_tree.path
    }
}

/// A directory in which commands may run: a Project's root or one of its worktrees. Having one is the authority to
/// ask for a command there; only the project service makes one, from what is registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workdir {
    /// The Project it belongs to.
    pub project: ProjectName,
    /// What it must still be when a command runs.
    pub pins: Pins,
}

impl Workdir {
    /// Returns its resolved path.
    pub fn path(&self) -> &AbsPath {
        &self.pins.work_tree.path
    }
}

/// One directory of a Project, as `worktrees.list` tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// Its workdir.
    pub workdir: Workdir,
    /// Which kind it is.
    pub kind: WorktreeKind,
    /// The branch that is checked out; none when its head is detached.
    pub branch: Option<BranchName>,
    /// The commit that is checked out; none before the first commit.
    pub head: Option<CommitId>,
    /// Whether git was told to keep it.
    pub locked: bool,
}

/// Which kind a directory of a Project is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorktreeKind {
    /// The Project's root.
    Root,
    /// A linked worktree that a person made.
    Linked,
    /// The worktree that Owl made for a Job.
    Job(JobId),
}

/// What is known of a Project's own file on its base branch (D2, D3).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProjectFile {
    /// Its name as found; none when there is none.
    pub file: Option<String>,
    /// The commit it was read from.
    pub commit: Option<CommitId>,
    /// Why it is refused.
    pub error: Option<FileError>,
    /// Files whose name is nearly right and which are not read.
    pub near_misses: Vec<String>,
}

/// Where a file is wrong, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// The file.
    pub file: String,
    /// The key, when it is about one.
    pub key: Option<String>,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The column, from 1.
    pub column: Option<u64>,
    /// What is wrong and what would be right.
    pub message: String,
}

#[cfg(test)]
mod tests;
