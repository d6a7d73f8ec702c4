//! Jobs and Runs as they are told in events (D22).

use super::names;
use owl_domain::{
    ids::{JobId, RunId},
    job as domain,
};
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
    /// Its worktree.
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
    /// When it last moved.
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

/// How far one attempt is; the whole of it is read by its id.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunSummary {
    /// Which.
    pub run_id: String,
    /// Of which Job.
    pub job_id: String,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// How far it is.
    #[schemars(schema_with = "names::run_state")]
    pub state: &'static str,
    /// What it led to; null until it is finished.
    #[schemars(schema_with = "names::run_outcome_or_null")]
    pub outcome: Option<&'static str>,
    /// Why, in a sentence.
    pub reason: Option<String>,
}

impl RunSummary {
    pub(crate) fn new(run: RunId, job: JobId, attempt: u32, state: &domain::RunState) -> Self {
        let ending = match state {
            domain::RunState::Finished(ended) => Some(&ended.ending),
            domain::RunState::Running | domain::RunState::Verifying => None,
        };
        Self {
            run_id: run.to_string(),
            job_id: job.to_string(),
            attempt,
            state: state.name(),
            outcome: ending.map(|ending| ending.outcome.name()),
            reason: ending.and_then(|ending| ending.reason.clone()),
        }
    }
}
