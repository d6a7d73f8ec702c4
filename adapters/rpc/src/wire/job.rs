//! Jobs as they are told.

use super::{Run, names};
use owl_domain::{job as domain, ports};
use schemars::JsonSchema;
use serde::Serialize;

/// A standing intent, carried out by an unattended Agent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Job {
    /// Its id.
    pub id: String,
    /// In which Project.
    pub project: String,
    /// Whose Agents work on it.
    pub account: String,
    /// What it is called.
    pub title: String,
    /// What is to be done.
    pub prompt: String,
    /// How far it is.
    #[schemars(schema_with = "names::job_state")]
    pub state: &'static str,
    /// Why it is in this state, in a sentence.
    pub reason: Option<String>,
    /// Its branch.
    pub branch: String,
    /// Its worktree; null before its first Run and once it was removed.
    pub worktree: Option<String>,
    /// The branch that it starts from.
    pub base_branch: String,
    /// The commit that its branch was made at.
    pub base_commit: Option<String>,
    /// How many Runs it had.
    pub attempts: u32,
    /// The Run that is at work.
    pub active_run_id: Option<String>,
    /// What it changed by the end of its last Run, uncommitted work included.
    pub changes: Option<Changes>,
    /// When it was made.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

/// What differs from the commit that a Job began at.
#[derive(Debug, Serialize, JsonSchema)]
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

impl From<&domain::Job> for Job {
    fn from(job: &domain::Job) -> Self {
        Self {
            id: job.id.to_string(),
            project: job.project.to_string(),
            account: job.account.to_string(),
            title: job.title.to_string(),
            prompt: job.prompt.to_string(),
            state: job.state.name(),
            reason: job.reason.clone(),
            branch: job.branch.to_string(),
            worktree: job.worktree.as_ref().map(super::ids),
            base_branch: job.base_branch.to_string(),
            base_commit: job.base_commit.as_ref().map(super::ids),
            attempts: job.attempts,
            active_run_id: job.active_run.map(super::ids),
            changes: job.changes.map(|changes| Changes {
                files: changes.files,
                insertions: changes.insertions,
                deletions: changes.deletions,
                commits: changes.commits,
            }),
            created_at: job.created_at.to_string(),
            updated_at: job.updated_at.to_string(),
        }
    }
}

/// A Job that was made, or found by its key.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreatedJob {
    /// The Job.
    #[serde(flatten)]
    pub job: Job,
    /// Whether an earlier call with the same key made it.
    pub duplicate: bool,
}

/// A Job with its newest Runs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JobView {
    /// The Job.
    #[serde(flatten)]
    pub job: Job,
    /// Its Runs, newest first, at most 20.
    pub runs: Vec<Run>,
    /// How many it had.
    pub runs_total: u32,
    /// What it changed, when that was asked for.
    pub diff: Option<Diff>,
}

/// What a Job changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Diff {
    /// The files, at most 500.
    pub files: Vec<DiffFile>,
    /// How many there are.
    pub files_total: u64,
    /// The text, at most 256 KiB.
    pub text: String,
    /// Its true size in bytes.
    pub bytes: u64,
    /// Whether it was cut.
    pub truncated: bool,
}

/// One file of a diff.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DiffFile {
    /// Its path in the worktree.
    pub path: String,
    /// What happened to it: one letter as git prints it.
    pub status: String,
    /// Lines that are new.
    pub insertions: u64,
    /// Lines that are gone.
    pub deletions: u64,
}

impl From<ports::JobDiff> for Diff {
    fn from(diff: ports::JobDiff) -> Self {
        let file = |file: ports::DiffFile| DiffFile {
            path: file.path,
            status: file.status.to_string(),
            insertions: file.insertions,
            deletions: file.deletions,
        };
        Self {
            files: diff.files.into_iter().map(file).collect(),
            files_total: diff.files_total,
            text: diff.text,
            bytes: diff.bytes,
            truncated: diff.truncated,
        }
    }
}

/// A Job that was started.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StartedJob {
    /// The Job.
    pub job: Job,
    /// Its new Run.
    pub run: Run,
}

/// A Job whose work was accepted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AcceptedJob {
    /// The Job.
    #[serde(flatten)]
    pub job: Job,
    /// Whether its worktree stays, because it holds work that its branch does not.
    pub worktree_kept: bool,
    /// Why it stays, in words.
    pub kept_because: Option<String>,
    /// Whether its branch is there; an Agent may have renamed it.
    pub branch_is_there: bool,
}

/// A Job whose worktree and branch were removed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DroppedJob {
    /// The Job.
    #[serde(flatten)]
    pub job: Job,
    /// What was lost with them.
    pub discarded: Discarded,
}

/// Work that was lost.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Discarded {
    /// Files that no commit had.
    pub files: u64,
    /// Commits that were on no other branch.
    pub commits: u64,
}
