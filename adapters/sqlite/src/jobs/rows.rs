//! A Job's row read as the domain's object, and told. Changes nothing.

use crate::{
    change::Change,
    failure::Failure,
    sql::{self, Columns, text},
};
use owl_domain::{
    ids::{JobId, RunId},
    job::{Changes, Job, JobState},
    text::{AccountName, BranchName, CommitId, Prompt, Title},
    turn::{About, EventBody},
};
use rusqlite::Connection;

/// The columns of a Job `j`.
macro_rules! job_columns {
    () => {
        "j.id, j.project, j.account, j.title, j.state, j.reason, j.branch, j.worktree, j.base_branch, j.base_commit,
         j.attempts, j.active_run, j.files, j.insertions, j.deletions, j.commits, j.set_up, j.created_at, j.updated_at,
         j.prompt"
    };
}
pub(crate) use job_columns;

const GET: &str = concat!("SELECT ", job_columns!(), " FROM jobs j WHERE j.id = ?1");

/// Returns a Job; none when there is none of that id.
pub(crate) fn job(db: &Connection, id: JobId) -> Result<Option<Job>, Failure> {
    sql::one(db, GET, [id.number()], read_job)
}

/// Returns a Job that must be there.
pub(crate) fn sure_job(db: &Connection, id: JobId) -> Result<Job, Failure> {
    job(db, id)?.ok_or(Failure::Gone { what: "this job" })
}

/// Tells of a Job as it is now, and returns it.
pub(crate) fn tell_job(change: &mut Change<'_>, id: JobId) -> Result<Job, Failure> {
    let job = sure_job(change.db(), id)?;
    change.tell(About::Job(id), EventBody::JobChanged(Box::new(job.clone())))?;
    Ok(job)
}

/// Reads [`job_columns`].
pub(crate) fn read_job(row: &mut Columns<'_>) -> Result<Job, Failure> {
    Ok(Job {
        id: row.id(JobId::new)?,
        project: row.project()?,
        account: text(row.next()?, AccountName::new, "an account's name")?,
        title: text(row.next()?, Title::new, "a job's title")?,
        state: row.named(JobState::from_name, "a job's state")?,
        reason: row.next()?,
        branch: text(row.next()?, BranchName::new, "a branch's name")?,
        worktree: row.maybe_path()?,
        base_branch: text(row.next()?, BranchName::new, "a branch's name")?,
        base_commit: row.maybe_text(CommitId::new, "a commit")?,
        attempts: row.small()?,
        active_run: row.maybe_id(RunId::new)?,
        changes: read_changes(row)?,
        set_up: row.next()?,
        created_at: row.time()?,
        updated_at: row.time()?,
        prompt: text(row.next()?, Prompt::new, "a job's prompt")?,
    })
}

fn read_changes(row: &mut Columns<'_>) -> Result<Option<Changes>, Failure> {
    let mut number = || Ok::<_, Failure>(row.next::<Option<i64>>()?.map(i64::cast_unsigned));
    let (files, insertions, deletions, commits) = (number()?, number()?, number()?, number()?);
    Ok(match (files, insertions, deletions, commits) {
        (Some(files), Some(insertions), Some(deletions), Some(commits)) => {
            Some(Changes { files, insertions, deletions, commits })
        }
        _ => None,
    })
}
