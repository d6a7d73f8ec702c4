//! Projects and their directories as they are told.

use super::names;
use owl_domain::project as domain;
use schemars::JsonSchema;
use serde::Serialize;

/// A registered git repository.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Project {
    /// Its unique name.
    pub name: String,
    /// Its resolved root.
    pub path: String,
    /// The branch from which its own file is read and its Jobs start.
    pub base_branch: String,
    /// Its own file as found on the base branch.
    pub config_file: Option<String>,
    /// The commit that file was read from.
    pub config_commit: Option<String>,
    /// Why that file is refused.
    pub config_error: Option<ConfigError>,
    /// Files on the base branch whose name is nearly right and which are not read.
    pub config_near_misses: Vec<String>,
    /// Whether the directory is there and is still this repository.
    pub available: bool,
    /// When it was registered.
    pub added_at: String,
}

/// Where a Project's own file is wrong.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConfigError {
    /// The file.
    pub file: String,
    /// The key, when it is about one.
    pub key: Option<String>,
    /// The line, from 1.
    pub line: Option<u64>,
    /// What is wrong and what would be right.
    pub message: String,
}

impl From<domain::ProjectView> for Project {
    fn from(view: domain::ProjectView) -> Self {
        let file = view.file;
        Self {
            name: view.project.name.to_string(),
            path: view.project.root().to_string(),
            base_branch: view.project.base_branch.to_string(),
            config_file: file.file,
            config_commit: file.commit.map(super::ids),
            config_error: file.error.map(|error| ConfigError {
                file: error.file,
                key: error.key,
                line: error.line,
                message: error.message,
            }),
            config_near_misses: file.near_misses,
            available: view.available,
            added_at: view.project.added_at.to_string(),
        }
    }
}

/// One directory of a Project in which commands may run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Worktree {
    /// Its resolved path.
    pub path: String,
    /// The Project it belongs to.
    pub project: String,
    /// `root`, `worktree`, or `job` when Owl made it.
    #[schemars(schema_with = "names::worktree_kind")]
    pub kind: &'static str,
    /// The branch that is checked out; null when its head is detached.
    pub branch: Option<String>,
    /// The commit that is checked out.
    pub head: Option<String>,
    /// The Job it was made for.
    pub job_id: Option<String>,
    /// Whether git was told to keep it.
    pub locked: bool,
}

impl From<domain::Worktree> for Worktree {
    fn from(worktree: domain::Worktree) -> Self {
        let job_id = match worktree.kind {
            domain::WorktreeKind::Job(job) => Some(job.to_string()),
            domain::WorktreeKind::Root | domain::WorktreeKind::Linked => None,
        };
        Self {
            path: worktree.workdir.path().to_string(),
            project: worktree.workdir.project.to_string(),
            kind: worktree.kind.name(),
            branch: worktree.branch.map(super::ids),
            head: worktree.head.map(super::ids),
            job_id,
            locked: worktree.locked,
        }
    }
}

/// A Project that was removed. Its repository was not touched.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RemovedProject {
    /// Its name.
    pub project: String,
    /// Always true.
    pub removed: bool,
}

/// A Conversation that was deleted for good.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeletedConversation {
    /// Its id.
    pub conversation_id: String,
    /// Always true.
    pub deleted: bool,
}
