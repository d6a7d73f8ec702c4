//! Jobs as rows (D22): each move a compare-and-set on the state that it was computed from, in one transaction with its
//! event. Which move is allowed from where is the domain's table.

mod list;
mod once;
mod rows;

pub(crate) use rows::{job, job_columns, read_job, sure_job, tell_job};

#[cfg(test)]
pub(crate) use list::PLANS;

use crate::{
    change::Change,
    database::Database,
    failure::Failure,
    sql::{self, must, run},
};
use async_trait::async_trait;
use once::Known;
use owl_domain::{
    conversation::{Page, PageError, Paged},
    ids::{JobId, RunId},
    job::{Job, JobMove, JobState},
    limits,
    ports::{AddJobError, AddedJob, Claim, ClaimError, JobFilter, Jobs, Made, NewJob, Once, StoreError},
    time::Timestamp,
};
use rusqlite::{Connection, params};

/// The branch gets its name once the number is known, in the same transaction.
const INSERT: &str =
    "INSERT INTO jobs (project, account, title, state, branch, base_branch, created_at, updated_at, prompt)
    VALUES (?1, ?2, ?3, 'pending', ?4, ?5, ?6, ?6, ?7) RETURNING id";
const NAME_BRANCH: &str = "UPDATE jobs SET branch = branch || id WHERE id = ?1";
const AT_WORK: &str = "SELECT (SELECT count(*) FROM jobs WHERE state = 'active') + (SELECT count(*) FROM holds)";
const IS_HELD: &str = "SELECT 1 FROM holds WHERE job = ?1";
const HOLD: &str = "INSERT INTO holds (job) VALUES (?1) RETURNING number";
const RELEASE: &str = "DELETE FROM holds WHERE number = ?1 AND job = ?2";
const LET_GO: &str = "DELETE FROM holds WHERE job = ?1";
const MOVE: &str =
    "UPDATE jobs SET state = ?3, reason = NULL, updated_at = ?4 WHERE id = ?1 AND state = ?2 AND active_run IS NULL";
const CANCEL_RUN: &str = "UPDATE runs SET cancelling = 1 WHERE job = ?1 AND finished_at IS NULL RETURNING id";
const WORKTREE_REMOVED: &str =
    "UPDATE jobs SET worktree = NULL, set_up = 0, updated_at = ?2 WHERE id = ?1 AND worktree IS NOT NULL";
const HELD_WITHOUT_WORKTREE: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs j WHERE j.worktree IS NULL AND j.id IN (SELECT h.job FROM holds h) ORDER BY j.id"
);
const LET_ALL_GO: &str = "DELETE FROM holds";

/// The Jobs port over the database.
pub(crate) struct SqliteJobs(pub(crate) Database);

#[async_trait]
impl Jobs for SqliteJobs {
    async fn repeated(&self, once: Once) -> Result<Option<Job>, AddJobError> {
        self.0.read(move |db| repeated(db, &once)).await?
    }

    async fn add(&self, new: NewJob, now: Timestamp) -> Result<AddedJob, AddJobError> {
        self.0.write(now, move |change| add(change, &new)).await?
    }

    async fn get(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        self.0.read(move |db| job(db, id)).await
    }

    async fn list(&self, filter: JobFilter, page: Page) -> Result<Paged<Job>, PageError> {
        list::list(&self.0, filter, page).await
    }

    async fn claim(&self, id: JobId) -> Result<Claim, ClaimError> {
        self.0.write(Timestamp::default(), move |change| claim(change, id)).await?
    }

    async fn release(&self, claim: Claim) -> Result<(), StoreError> {
        let hold = [claim.number, claim.job.id.number()];
        self.0.write(Timestamp::default(), move |change| run(change.db(), RELEASE, hold).map(drop)).await
    }

    async fn make(&self, id: JobId, what: JobMove, now: Timestamp) -> Result<Made, StoreError> {
        self.0.write(now, move |change| make(change, id, what)).await
    }

    async fn cancel_run(&self, id: JobId) -> Result<Option<RunId>, StoreError> {
        let cancel =
            move |change: &mut Change<'_>| sql::one(change.db(), CANCEL_RUN, [id.number()], |row| row.id(RunId::new));
        self.0.write(Timestamp::default(), cancel).await
    }

    async fn worktree_removed(&self, id: JobId, now: Timestamp) -> Result<(), StoreError> {
        self.0
            .write(now, move |change| {
                if run(change.db(), WORKTREE_REMOVED, [id.number(), change.now_ms()])? > 0 {
                    tell_job(change, id)?;
                }
                Ok(())
            })
            .await
    }

    async fn recover(&self) -> Result<Vec<Job>, StoreError> {
        self.0
            .write(Timestamp::default(), |change| {
                let without = sql::all(change.db(), HELD_WITHOUT_WORKTREE, [], read_job)?;
                let _how_many = run(change.db(), LET_ALL_GO, [])?;
                Ok(without)
            })
            .await
    }
}

fn repeated(db: &Connection, once: &Once) -> Result<Result<Option<Job>, AddJobError>, Failure> {
    Ok(match once::find(db, once)? {
        Known::New => Ok(None),
        Known::Mismatch => Err(AddJobError::Mismatch),
        Known::Made(id) => Ok(job(db, id)?),
    })
}

fn add(change: &mut Change<'_>, new: &NewJob) -> Result<Result<AddedJob, AddJobError>, Failure> {
    if let Some(once) = &new.once {
        once::forget_old(change)?;
        match repeated(change.db(), once)? {
            Ok(None) => {}
            Ok(Some(job)) => return Ok(Ok(AddedJob { job, duplicate: true })),
            Err(error) => return Ok(Err(error)),
        }
    }
    let row = params![
        new.project.as_str(),
        new.account.as_str(),
        new.title.as_str(),
        new.branch_prefix,
        new.base_branch.as_str(),
        change.now_ms(),
        new.prompt.as_str(),
    ];
    let id = sql::sure(change.db(), INSERT, row, |row| row.id(JobId::new))?;
    must(change.db(), NAME_BRANCH, [id.number()], "this job")?;
    if let Some(once) = &new.once {
        once::store(change, once, id)?;
    }
    Ok(Ok(AddedJob { job: tell_job(change, id)?, duplicate: false }))
}

fn claim(change: &Change<'_>, id: JobId) -> Result<Result<Claim, ClaimError>, Failure> {
    let Some(job) = job(change.db(), id)? else {
        return Ok(Err(ClaimError::NotFound));
    };
    if !JobMove::Start.allowed_from().contains(&job.state) {
        return Ok(Err(ClaimError::WrongState { job: job.into() }));
    }
    if sql::one(change.db(), IS_HELD, [id.number()], |row| row.next::<i64>())?.is_some() {
        return Ok(Err(ClaimError::Held { job: job.into() }));
    }
    let most = u64::try_from(limits::RUNS_ACTIVE).unwrap_or(u64::MAX);
    if sql::sure(change.db(), AT_WORK, [], |row| row.count())? >= most {
        return Ok(Err(ClaimError::Limit));
    }
    let number = sql::sure(change.db(), HOLD, [id.number()], |row| row.next())?;
    Ok(Ok(Claim { job, number }))
}

fn make(change: &mut Change<'_>, id: JobId, what: JobMove) -> Result<Made, Failure> {
    let Some(job) = job(change.db(), id)? else {
        return Ok(Made::NotFound);
    };
    // A Run at work is stopped first, by whoever carries it on.
    if job.state == JobState::Active || !what.allowed_from().contains(&job.state) {
        return Ok(Made::Lost(job.into()));
    }
    let _held = run(change.db(), LET_GO, [id.number()])?;
    let to = what.leads_to(job.state);
    if to == job.state {
        return Ok(Made::Won(job.into()));
    }
    let moved = params![id.number(), job.state.name(), to.name(), change.now_ms()];
    if run(change.db(), MOVE, moved)? == 0 {
        return Ok(Made::Lost(job.into()));
    }
    Ok(Made::Won(tell_job(change, id)?.into()))
}
