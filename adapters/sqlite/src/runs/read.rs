//! A Run's row read as the domain's object. Changes nothing.

use super::{json, permissions};
use crate::{
    failure::Failure,
    jobs::sure_job,
    sql::{self, Columns},
};
use owl_domain::{
    ids::{JobId, RunId},
    job::{Outcome, Run, RunEnded, RunEnding, RunState, Stage, StoredRun, Verification},
};
use rusqlite::{Connection, params};

/// The columns of a Run `r`.
macro_rules! run_columns {
    () => {
        "r.id, r.job, r.attempt, r.stage, r.cancelling, r.started_at, r.finished_at, r.outcome, r.reason,
         r.tool_version, r.settings_changed, r.argv, r.permissions, r.reported, r.denials, r.ended"
    };
}

const GET: &str = concat!("SELECT ", run_columns!(), " FROM runs r WHERE r.id = ?1");
const OF_JOB: &str =
    concat!("SELECT ", run_columns!(), " FROM runs r WHERE r.job = ?1 ORDER BY r.attempt DESC LIMIT ?2");
const TERMS: &str = "SELECT terms FROM runs WHERE id = ?1";
const VERDICTS: &str = "SELECT verdict FROM verifications WHERE run = ?1 ORDER BY position";

struct Read {
    run: Run,
    stage: Stage,
    cancelling: bool,
}

/// Returns a Run; none when there is none of that id.
pub(super) fn run(db: &Connection, id: RunId) -> Result<Option<Run>, Failure> {
    Ok(one(db, id)?.map(|read| read.run))
}

/// Returns the newest Runs of a Job, newest first.
pub(super) fn of_job(db: &Connection, job: JobId, most: u32) -> Result<Vec<Run>, Failure> {
    let mut runs = sql::all(db, OF_JOB, params![job.number(), most], |row| Ok(read(row)?.run))?;
    for run in &mut runs {
        run.verification = verdicts(db, run.id)?;
    }
    Ok(runs)
}

/// Returns a Run with all that happened in it; none when there is none of that id.
pub(super) fn stored(db: &Connection, id: RunId) -> Result<Option<StoredRun>, Failure> {
    let Some(Read { run, stage, cancelling }) = one(db, id)? else {
        return Ok(None);
    };
    let terms = json::read_terms(&sql::sure(db, TERMS, [id.number()], |row| row.next::<String>())?)?;
    let job = sure_job(db, run.job)?;
    Ok(Some(StoredRun { run, job, terms, stage, cancelling }))
}

fn one(db: &Connection, id: RunId) -> Result<Option<Read>, Failure> {
    let Some(mut found) = sql::one(db, GET, [id.number()], read)? else {
        return Ok(None);
    };
    found.run.verification = verdicts(db, id)?;
    Ok(Some(found))
}

fn verdicts(db: &Connection, id: RunId) -> Result<Vec<Verification>, Failure> {
    sql::all(db, VERDICTS, [id.number()], |row| json::read_verification(&row.next::<String>()?))
}

/// Reads [`run_columns`]; what judged the work has rows of its own.
fn read(row: &mut Columns<'_>) -> Result<Read, Failure> {
    let (id, job, attempt) = (row.id(RunId::new)?, row.id(JobId::new)?, row.small()?);
    let (stage, cancelling) = (row.next::<String>()?, row.next()?);
    let (started_at, finished_at) = (row.time()?, row.maybe_time()?);
    let (outcome, reason) = (row.maybe_named(Outcome::from_name, "a run's outcome")?, row.next()?);
    let (tool_version, settings_changed) = (row.next()?, row.next()?);
    let argv = crate::json::read_texts(&row.next::<String>()?, "an agent's words")?;
    let permissions = row.next::<String>()?;
    let reported = row.next::<Option<String>>()?.map(|text| permissions::read_reported(&text)).transpose()?;
    let denials = permissions::read_denials(&row.next::<String>()?)?;
    let ended = row.next::<Option<String>>()?.map(|text| json::read_ended(&text)).transpose()?;
    let state = match (finished_at.zip(outcome), &ended) {
        (Some((at, outcome)), _) => RunState::Finished(RunEnded { ending: RunEnding { outcome, reason }, at }),
        (None, Some(_)) => RunState::Verifying,
        (None, None) => RunState::Running,
    };
    let run = Run {
        id,
        job,
        attempt,
        state,
        started_at,
        argv,
        tool_version,
        exit: ended.as_ref().map(|ended| ended.exit.clone()),
        permissions: permissions::read_permissions(&permissions, reported)?,
        settings_changed,
        denials,
        verification: Vec::new(),
        result_text: ended.as_ref().and_then(|ended| ended.result.as_ref()?.text.clone()),
        stderr_tail: ended.as_ref().map(|ended| ended.stderr_tail.clone()).unwrap_or_default(),
    };
    let stage = match (stage.as_str(), ended) {
        ("prepared", None) => Stage::Prepared,
        ("at_work", None) => Stage::AtWork,
        ("ended", Some(ended)) => Stage::Ended(ended),
        _ => return Err(Failure::Unreadable { what: "a run's stage" }),
    };
    Ok(Read { run, stage, cancelling })
}
