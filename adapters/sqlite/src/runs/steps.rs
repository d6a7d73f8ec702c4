//! The steps of a Run at work, each a compare-and-set in its `WHERE`.

use super::{job_of, json, permissions, read};
use crate::{
    change::Change,
    failure::Failure,
    jobs::{sure_job, tell_job},
    sql::{self, must, run},
};
use owl_domain::{
    ids::{JobId, RunId},
    job::{Job, JobMove, Outcome, Run, RunEnding, Verification, interrupted},
    ports::{AgentWork, Moved, NewRun},
    text::CommitId,
    turn::{About, EventBody},
};
use rusqlite::params;

const LET_GO: &str = "DELETE FROM holds WHERE number = ?1 AND job = ?2";
const INSERT: &str =
    "INSERT INTO runs (job, attempt, stage, started_at, tool_version, argv, permissions, denials, terms)
    VALUES (?1, ?2, 'prepared', ?3, ?4, ?5, ?6, '[]', ?7) RETURNING id";
const ACTIVATE: &str = "UPDATE jobs SET state = 'active', reason = NULL, active_run = ?3, attempts = attempts + 1,
    worktree = ?4, base_commit = ifnull(?5, base_commit), updated_at = ?6 WHERE id = ?1 AND state = ?2";
const START: &str = "UPDATE runs SET stage = 'at_work'
    WHERE id = ?1 AND stage = 'prepared' AND NOT cancelling AND finished_at IS NULL";
const END: &str = "UPDATE runs SET stage = 'ended', ended = ?2, denials = ?3, settings_changed = ?4
    WHERE id = ?1 AND stage = 'at_work' AND finished_at IS NULL";
const SET_CHANGES: &str = "UPDATE jobs SET files = ?2, insertions = ?3, deletions = ?4, commits = ?5, updated_at = ?6
    WHERE id = ?1";
const ADD_VERDICT: &str = "INSERT INTO verifications (run, position, verdict)
    SELECT id, (SELECT count(*) FROM verifications WHERE run = ?1), ?2 FROM runs
    WHERE id = ?1 AND finished_at IS NULL AND NOT cancelling";
const CLOSE: &str = "UPDATE runs SET finished_at = ?2, outcome = ?3, reason = ?4 WHERE id = ?1 AND finished_at IS NULL";
const SET_JOB: &str =
    "UPDATE jobs SET state = ?2, reason = ?3, active_run = NULL, updated_at = ?4 WHERE active_run = ?1";
const IS_CANCELLING: &str = "SELECT cancelling FROM runs WHERE id = ?1";

/// Stores a Run, unless its Job is no longer held.
pub(super) fn begin(change: &mut Change<'_>, new: &NewRun) -> Result<Option<(Job, Run)>, Failure> {
    let id = new.claim.job.id;
    if run(change.db(), LET_GO, [new.claim.number, id.number()])? == 0 {
        return Ok(None);
    }
    let job = sure_job(change.db(), id)?;
    if !JobMove::Start.allowed_from().contains(&job.state) {
        return Ok(None);
    }
    let row = params![
        id.number(),
        job.attempts.saturating_add(1),
        change.now_ms(),
        new.tool_version,
        json::write_texts(&new.argv),
        permissions::write_permissions(&new.permissions),
        json::write_terms(&new.terms),
    ];
    let of = sql::sure(change.db(), INSERT, row, |row| row.id(RunId::new))?;
    let moved = params![
        id.number(),
        job.state.name(),
        of.number(),
        new.worktree.as_str(),
        new.base_commit.as_ref().map(CommitId::as_str),
        change.now_ms(),
    ];
    must(change.db(), ACTIVATE, moved, "this job as it was")?;
    let job = tell_job(change, id)?;
    Ok(Some((job, tell(change, of)?)))
}

/// Stores that the Agent starts.
pub(super) fn start(change: &mut Change<'_>, id: RunId) -> Result<Moved, Failure> {
    moved(change, id, START, [id.number()])
}

/// Stores how the Agent ended.
pub(super) fn ended(change: &mut Change<'_>, id: RunId, work: &AgentWork) -> Result<Moved, Failure> {
    let (ended, denials) = (json::write_ended(&work.ended), permissions::write_denials(&work.denials));
    if run(change.db(), END, params![id.number(), ended, denials, work.settings_changed])? == 0 {
        return Ok(Moved::Lost);
    }
    if let Some(changes) = work.changes {
        let job = job_of(change, id)?;
        let row = params![
            job.number(),
            sql::whole(changes.files),
            sql::whole(changes.insertions),
            sql::whole(changes.deletions),
            sql::whole(changes.commits),
            change.now_ms(),
        ];
        must(change.db(), SET_CHANGES, row, "this job")?;
        tell_job(change, job)?;
    }
    tell(change, id)?;
    Ok(Moved::Won)
}

/// Adds what judged the work.
pub(super) fn verified(change: &mut Change<'_>, id: RunId, verification: &Verification) -> Result<Moved, Failure> {
    moved(change, id, ADD_VERDICT, params![id.number(), json::write_verification(verification)])
}

/// Closes a Run and moves its Job.
pub(super) fn close(change: &mut Change<'_>, id: RunId, ending: &RunEnding) -> Result<Moved, Failure> {
    let closed = params![id.number(), change.now_ms(), ending.outcome.name(), ending.reason];
    if run(change.db(), CLOSE, closed)? == 0 {
        return Ok(Moved::Lost);
    }
    let job: JobId = job_of(change, id)?;
    let moved = params![id.number(), ending.outcome.job_state().name(), ending.reason, change.now_ms()];
    must(change.db(), SET_JOB, moved, "the job of this run, active")?;
    tell_job(change, job)?;
    tell(change, id)?;
    Ok(Moved::Won)
}

/// Closes a Run whose daemon is gone.
pub(super) fn recover(change: &mut Change<'_>, id: RunId) -> Result<(), Failure> {
    let cancelling = sql::one(change.db(), IS_CANCELLING, [id.number()], |row| row.next::<bool>())?;
    let ending =
        if cancelling == Some(true) { RunEnding { outcome: Outcome::Cancelled, reason: None } } else { interrupted() };
    // Losing means that it is closed already.
    let _closed_by_either = close(change, id, &ending)?;
    Ok(())
}

fn moved(change: &mut Change<'_>, id: RunId, sql: &str, params: impl rusqlite::Params) -> Result<Moved, Failure> {
    if run(change.db(), sql, params)? == 0 {
        return Ok(Moved::Lost);
    }
    tell(change, id)?;
    Ok(Moved::Won)
}

/// Tells of a Run as it is now, and returns it.
fn tell(change: &mut Change<'_>, id: RunId) -> Result<Run, Failure> {
    let run = read::run(change.db(), id)?.ok_or(Failure::Gone { what: "this run" })?;
    let body = EventBody::RunChanged { run: id, job: run.job, attempt: run.attempt, state: run.state.clone() };
    change.tell(About::Job(run.job), body)?;
    Ok(run)
}
