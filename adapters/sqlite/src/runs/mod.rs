//! Runs as rows (D20-D22): each step one change with its events, each move a compare-and-set on the stage that it was
//! computed from. What an Agent was told is stored as it stood and never written again (ADR-0035).

mod json;
mod permissions;
mod read;
mod steps;

use crate::{
    change::Change,
    database::Database,
    failure::Failure,
    sql::{self, must},
};
use async_trait::async_trait;
use owl_domain::{
    ids::{JobId, RunId},
    job::{Job, Run, RunEnding, StoredRun, Verification},
    permissions::Reported,
    ports::{AgentWork, Moved, NewRun, Runs, StoreError},
    time::Timestamp,
};
use rusqlite::params;

const TOTAL: &str = "SELECT count(*) FROM runs WHERE job = ?1";
const SET_UP: &str = "UPDATE jobs SET set_up = 1 WHERE active_run = ?1";
const REPORTED: &str = "UPDATE runs SET reported = ?2 WHERE id = ?1";
const UNFINISHED: &str = "SELECT id FROM runs WHERE finished_at IS NULL ORDER BY id";

/// The Runs port over the database.
pub(crate) struct SqliteRuns(pub(crate) Database);

#[async_trait]
impl Runs for SqliteRuns {
    async fn begin(&self, new: NewRun, now: Timestamp) -> Result<Option<(Job, Run)>, StoreError> {
        self.0.write(now, move |change| steps::begin(change, &new)).await
    }

    async fn get(&self, id: RunId) -> Result<Option<Run>, StoreError> {
        self.0.read(move |db| read::run(db, id)).await
    }

    async fn of_job(&self, job: JobId, most: u32) -> Result<(Vec<Run>, u32), StoreError> {
        self.0
            .read(move |db| {
                let runs = read::of_job(db, job, most)?;
                Ok((runs, sql::sure(db, TOTAL, [job.number()], |row| row.small())?))
            })
            .await
    }

    async fn load(&self, id: RunId) -> Result<Option<StoredRun>, StoreError> {
        self.0.read(move |db| read::stored(db, id)).await
    }

    async fn set_up(&self, id: RunId) -> Result<(), StoreError> {
        let set_up = move |change: &mut Change<'_>| must(change.db(), SET_UP, [id.number()], "this run, at work");
        self.0.write(Timestamp::default(), set_up).await
    }

    async fn start(&self, id: RunId, now: Timestamp) -> Result<Moved, StoreError> {
        self.0.write(now, move |change| steps::start(change, id)).await
    }

    async fn reported(&self, id: RunId, reported: Reported) -> Result<(), StoreError> {
        let text = permissions::write_reported(&reported);
        let store = move |change: &mut Change<'_>| must(change.db(), REPORTED, params![id.number(), text], "this run");
        self.0.write(Timestamp::default(), store).await
    }

    async fn ended(&self, id: RunId, work: AgentWork, now: Timestamp) -> Result<Moved, StoreError> {
        self.0.write(now, move |change| steps::ended(change, id, &work)).await
    }

    async fn verified(&self, id: RunId, verification: Verification, now: Timestamp) -> Result<Moved, StoreError> {
        self.0.write(now, move |change| steps::verified(change, id, &verification)).await
    }

    async fn close(&self, id: RunId, ending: RunEnding, now: Timestamp) -> Result<Moved, StoreError> {
        self.0.write(now, move |change| steps::close(change, id, &ending)).await
    }

    async fn recover(&self, now: Timestamp) -> Result<Vec<RunId>, StoreError> {
        let unfinished = self.0.read(|db| sql::all(db, UNFINISHED, [], |row| row.id(RunId::new))).await?;
        // One change each, so that a failure leaves the rest as it is.
        for id in &unfinished {
            let id = *id;
            self.0.write(now, move |change| steps::recover(change, id)).await?;
        }
        Ok(unfinished)
    }
}

/// Returns the Job of a Run that must be there.
fn job_of(change: &Change<'_>, id: RunId) -> Result<JobId, Failure> {
    const JOB: &str = "SELECT job FROM runs WHERE id = ?1";
    let job = sql::one(change.db(), JOB, [id.number()], |row| row.id(JobId::new))?;
    job.ok_or(Failure::Gone { what: "this run" })
}
