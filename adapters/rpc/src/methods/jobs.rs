//! `jobs.*`.

use super::{Api, fields};
use crate::{
    error::{self, RpcError},
    params::{Name, checked},
    table::Table,
    wire::{AcceptedJob, CreatedJob, Diff, Discarded, DroppedJob, Job, JobView, PageOf, Run, StartedJob},
};
use owl_domain::{
    ids::JobId,
    job::{self, Discard, JobService, JobState, WantedJob},
    ports::JobFilter,
    text::{Prompt, Title},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateParams {
    /// The Project that it works on.
    project: String,
    /// What is to be done: not blank, at most 64 KiB, without a NUL.
    prompt: String,
    /// Whose Agents work on it; the one that the Project's file names, or the only one, when left out.
    account: Option<String>,
    /// One line of 1 to 200 characters; the prompt's first line when left out.
    title: Option<String>,
    /// The client's own name for this call.
    #[serde(skip_serializing)]
    client_key: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParams {
    /// Those of one Project.
    project: Option<String>,
    /// Those in one state.
    state: Option<Name<StateParam>>,
    /// 1 to 200, 50 when left out.
    limit: Option<i64>,
    /// Where the page before ended.
    cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum StateParam {
    Pending,
    Active,
    Blocked,
    Review,
    Done,
    Cancelled,
}

impl From<StateParam> for JobState {
    fn from(state: StateParam) -> Self {
        match state {
            StateParam::Pending => Self::Pending,
            StateParam::Active => Self::Active,
            StateParam::Blocked => Self::Blocked,
            StateParam::Review => Self::Review,
            StateParam::Done => Self::Done,
            StateParam::Cancelled => Self::Cancelled,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct JobParams {
    /// Its id.
    job_id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetParams {
    /// Its id.
    job_id: String,
    /// Whether what it changed is told too.
    diff: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DropParams {
    /// Its id.
    job_id: String,
    /// Whether work may be lost.
    discard: Option<bool>,
}

pub(super) fn add(table: &mut Table, api: &Arc<Api>) {
    let at = api.clone();
    let summary = "Makes a Job; starts nothing.";
    let errors = &[&error::NOT_FOUND, &error::IDEMPOTENCY_MISMATCH];
    table.change("jobs.create", summary, errors, move |_, given: CreateParams| create(at.clone(), given));

    let at = api.clone();
    let summary = "Lists Jobs, newest first.";
    let errors = &[&error::NOT_FOUND, &error::CURSOR_INVALID];
    table.read("jobs.list", summary, errors, move |_, given: ListParams| list(at.clone(), given));

    let at = api.clone();
    let summary = "Returns a Job with its newest Runs, and what it changed when that is asked for.";
    table.read("jobs.get", summary, &[&error::NOT_FOUND], move |_, given: GetParams| get(at.clone(), given));

    let at = api.clone();
    let summary = "Starts a new attempt of a Job, in its own worktree.";
    let errors = &[&error::NOT_FOUND, &error::WRONG_STATE, &error::CANNOT_START, &error::LIMIT_REACHED];
    table.change("jobs.start", summary, errors, move |_, given: JobParams| start(at.clone(), given));

    let at = api.clone();
    let summary = "Gives a Job up; a Run at work is stopped. Worktree and branch stay.";
    let errors = &[&error::NOT_FOUND, &error::WRONG_STATE];
    table.change("jobs.cancel", summary, errors, move |_, given: JobParams| {
        let api = at.clone();
        async move {
            let id = fields::id("job", &given.job_id)?;
            let job = api.jobs.cancel(id).await.map_err(|error| RpcError::move_job(error, &given.job_id))?;
            Ok(Job::from(&job))
        }
    });

    let at = api.clone();
    let summary = "Takes a Job's work. Its branch stays for the person to merge.";
    table.change("jobs.accept", summary, errors, move |_, given: JobParams| {
        let api = at.clone();
        async move {
            let id = fields::id("job", &given.job_id)?;
            let accepted = api.jobs.accept(id).await;
            let accepted = accepted.map_err(|error| RpcError::move_job(error, &given.job_id))?;
            Ok(AcceptedJob {
                job: Job::from(&accepted.job),
                worktree_kept: accepted.kept.is_some(),
                kept_because: accepted.kept.map(|why| why.to_string()),
                branch_is_there: accepted.branch_is_there,
            })
        }
    });

    let at = api.clone();
    let summary = "Removes a Job's worktree and branch; with work that would be lost only with `discard`.";
    let errors = &[&error::NOT_FOUND, &error::WRONG_STATE, &error::WORK_WOULD_BE_LOST];
    table.change("jobs.drop", summary, errors, move |_, given: DropParams| {
        let api = at.clone();
        async move {
            let id = fields::id("job", &given.job_id)?;
            let discard = if given.discard == Some(true) { Discard::Yes } else { Discard::No };
            let dropped = JobService::drop(&api.jobs, id, discard).await;
            let (job, lost) = dropped.map_err(|error| RpcError::move_job(error, &given.job_id))?;
            let discarded = Discarded { files: lost.files, commits: lost.commits };
            Ok(DroppedJob { job: Job::from(&job), discarded })
        }
    });
}

async fn create(api: Arc<Api>, given: CreateParams) -> Result<CreatedJob, RpcError> {
    let once = fields::once(given.client_key.as_deref(), &given)?;
    let wanted = WantedJob {
        project: fields::project(&given.project)?,
        prompt: checked("prompt", Prompt::new(given.prompt))?,
        account: given.account.as_deref().map(fields::account).transpose()?,
        title: given.title.map(|title| checked("title", Title::new(title))).transpose()?,
        once,
    };
    let added = api.jobs.add(wanted).await;
    let added = added.map_err(|error| RpcError::want(error, given.client_key.as_deref()))?;
    Ok(CreatedJob { job: Job::from(&added.job), duplicate: added.duplicate })
}

async fn list(api: Arc<Api>, given: ListParams) -> Result<PageOf<Job>, RpcError> {
    let project = api.registered(given.project.as_deref()).await?;
    let filter = JobFilter { project, state: given.state.map(|Name(state)| state.into()) };
    let page = fields::page(given.limit, given.cursor)?;
    Ok(PageOf::of(api.jobs.list(filter, page).await?, |job| Job::from(&job)))
}

async fn get(api: Arc<Api>, given: GetParams) -> Result<JobView, RpcError> {
    let id: JobId = fields::id("job", &given.job_id)?;
    let Some(view) = api.jobs.get(id).await? else {
        return Err(RpcError::not_found("job", given.job_id));
    };
    let mut runs = Vec::new();
    for run in &view.runs {
        runs.push(told(&api, run).await);
    }
    let diff = if given.diff == Some(true) {
        let diff = api.jobs.diff(&view.job).await;
        Some(Diff::from(diff.map_err(|error| RpcError::move_job(error, &given.job_id))?))
    } else {
        None
    };
    Ok(JobView { job: Job::from(&view.job), runs, runs_total: view.runs_total, diff })
}

async fn start(api: Arc<Api>, given: JobParams) -> Result<StartedJob, RpcError> {
    let id = fields::id("job", &given.job_id)?;
    let started = api.jobs.start(id, Arc::clone(&api.stop)).await;
    let (job, run) = started.map_err(|error| RpcError::start(error, &given.job_id))?;
    Ok(StartedJob { job: Job::from(&job), run: told(&api, &run).await })
}

/// Tells a Run with the size of its log.
pub(super) async fn told(api: &Arc<Api>, run: &job::Run) -> Run {
    Run::of(run, api.logs.size(run.id).await)
}
