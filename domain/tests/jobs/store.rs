//! Jobs and Runs in memory: every move compares the state it was computed from, as the real store does.

use async_trait::async_trait;
use owl_domain::{
    conversation::{Page, PageError, Paged},
    ids::{JobId, RunId},
    job::{Job, JobMove, JobState, Outcome, Run, RunEnded, RunEnding, RunState, Stage, StoredRun, Verification},
    permissions::Reported,
    ports::{
        AddJobError, AddedJob, AgentWork, Claim, ClaimError, JobFilter, Jobs, Made, Moved, NewJob, NewRun, Once, Runs,
        StoreError,
    },
    text::BranchName,
    time::Timestamp,
};
use std::sync::{Mutex, MutexGuard};

#[derive(Default)]
pub(crate) struct MemoryJobs {
    rows: Mutex<Rows>,
}

#[derive(Default)]
pub(crate) struct Rows {
    pub(crate) jobs: Vec<Job>,
    pub(crate) runs: Vec<StoredRun>,
    pub(crate) held: Vec<(JobId, i64)>,
    pub(crate) holds: i64,
    pub(crate) fails: bool,
    /// Every hold is lost before the Run is stored.
    pub(crate) loses_holds: bool,
    once: Vec<(Once, JobId)>,
}

impl Rows {
    fn job(&mut self, id: JobId) -> Option<&mut Job> {
        self.jobs.iter_mut().find(|job| job.id == id)
    }

    fn run(&mut self, id: RunId) -> Option<&mut StoredRun> {
        self.runs.iter_mut().find(|run| run.run.id == id)
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.fails {
            return Err(StoreError { file: "owl.db".into(), reason: "is full".into() });
        }
        Ok(())
    }

    fn close(&mut self, id: RunId, ending: RunEnding, now: Timestamp) -> Moved {
        let Some(run) = self.run(id) else { return Moved::Lost };
        if matches!(run.run.state, RunState::Finished(_)) {
            return Moved::Lost;
        }
        let (job, state, reason) = (run.run.job, ending.outcome.job_state(), ending.reason.clone());
        run.run.state = RunState::Finished(RunEnded { ending, at: now });
        let job = self.job(job).unwrap();
        (job.state, job.reason, job.active_run) = (state, reason, None);
        Moved::Won
    }
}

impl MemoryJobs {
    pub(crate) fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap()
    }
}

#[async_trait]
impl Jobs for MemoryJobs {
    async fn repeated(&self, once: Once) -> Result<Option<Job>, AddJobError> {
        let rows = self.rows();
        let Some((before, id)) = rows.once.iter().find(|(before, _)| before.key == once.key) else { return Ok(None) };
        if before.parameters != once.parameters {
            return Err(AddJobError::Mismatch);
        }
        Ok(rows.jobs.iter().find(|job| job.id == *id).cloned())
    }

    async fn add(&self, new: NewJob, now: Timestamp) -> Result<AddedJob, AddJobError> {
        let mut rows = self.rows();
        rows.check()?;
        let id = JobId::new(i64::try_from(rows.jobs.len()).unwrap() + 7);
        let job = Job {
            id,
            project: new.project,
            account: new.account,
            title: new.title,
            prompt: new.prompt,
            state: JobState::Pending,
            reason: None,
            branch: BranchName::new(format!("{}{}", new.branch_prefix, id.number())).unwrap(),
            worktree: None,
            base_branch: new.base_branch,
            base_commit: None,
            attempts: 0,
            active_run: None,
            changes: None,
            set_up: false,
            created_at: now,
            updated_at: now,
        };
        rows.jobs.push(job.clone());
        rows.once.extend(new.once.map(|once| (once, id)));
        Ok(AddedJob { job, duplicate: false })
    }

    async fn get(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        Ok(self.rows().job(id).cloned())
    }

    async fn list(&self, _filter: JobFilter, _page: Page) -> Result<Paged<Job>, PageError> {
        Ok(Paged { items: self.rows().jobs.clone(), next: None })
    }

    async fn claim(&self, id: JobId) -> Result<Claim, ClaimError> {
        let mut rows = self.rows();
        rows.check()?;
        let job = rows.job(id).ok_or(ClaimError::NotFound)?.clone();
        if !JobMove::Start.allowed_from().contains(&job.state) {
            return Err(ClaimError::WrongState { job: job.into() });
        }
        if rows.held.iter().any(|(held, _)| *held == id) {
            return Err(ClaimError::Held { job: job.into() });
        }
        rows.holds += 1;
        let number = rows.holds;
        rows.held.push((id, number));
        Ok(Claim { job, number })
    }

    async fn release(&self, claim: Claim) -> Result<(), StoreError> {
        self.rows().held.retain(|held| *held != (claim.job.id, claim.number));
        Ok(())
    }

    async fn make(&self, id: JobId, what: JobMove, now: Timestamp) -> Result<Made, StoreError> {
        let mut rows = self.rows();
        rows.check()?;
        let Some(job) = rows.job(id) else { return Ok(Made::NotFound) };
        if !what.allowed_from().contains(&job.state) || job.state == JobState::Active {
            return Ok(Made::Lost(Box::new(job.clone())));
        }
        (job.state, job.updated_at) = (what.leads_to(job.state), now);
        let job = job.clone();
        rows.held.retain(|(held, _)| *held != id);
        Ok(Made::Won(Box::new(job)))
    }

    async fn cancel_run(&self, id: JobId) -> Result<Option<RunId>, StoreError> {
        let mut rows = self.rows();
        let Some(run) = rows.job(id).and_then(|job| job.active_run) else { return Ok(None) };
        rows.run(run).unwrap().cancelling = true;
        Ok(Some(run))
    }

    async fn worktree_removed(&self, id: JobId, _now: Timestamp) -> Result<(), StoreError> {
        self.rows().job(id).unwrap().worktree = None;
        Ok(())
    }

    async fn recover(&self) -> Result<Vec<Job>, StoreError> {
        let mut rows = self.rows();
        let held = std::mem::take(&mut rows.held);
        let is_held = |job: &&Job| held.iter().any(|(id, _)| *id == job.id) && job.worktree.is_none();
        Ok(rows.jobs.iter().filter(is_held).cloned().collect())
    }
}

#[async_trait]
impl Runs for MemoryJobs {
    async fn begin(&self, new: NewRun, now: Timestamp) -> Result<Option<(Job, Run)>, StoreError> {
        let mut rows = self.rows();
        rows.check()?;
        let held = (new.claim.job.id, new.claim.number);
        if rows.loses_holds || !rows.held.contains(&held) {
            return Ok(None);
        }
        rows.held.retain(|one| *one != held);
        let id = RunId::new(i64::try_from(rows.runs.len()).unwrap() + 9);
        let job = rows.job(held.0).unwrap();
        job.attempts += 1;
        (job.state, job.active_run, job.worktree) = (JobState::Active, Some(id), Some(new.worktree));
        job.base_commit = new.base_commit.or(job.base_commit.clone());
        let run = Run {
            id,
            job: job.id,
            attempt: job.attempts,
            state: RunState::Running,
            started_at: now,
            argv: new.argv,
            tool_version: new.tool_version,
            exit: None,
            permissions: new.permissions,
            settings_changed: None,
            denials: Vec::new(),
            verification: Vec::new(),
            result_text: None,
            stderr_tail: String::new(),
        };
        let job = job.clone();
        let (stage, cancelling) = (Stage::Prepared, false);
        rows.runs.push(StoredRun { run: run.clone(), job: job.clone(), terms: new.terms, stage, cancelling });
        Ok(Some((job, run)))
    }

    async fn get(&self, id: RunId) -> Result<Option<Run>, StoreError> {
        Ok(self.rows().run(id).map(|run| run.run.clone()))
    }

    async fn of_job(&self, job: JobId, most: u32) -> Result<(Vec<Run>, u32), StoreError> {
        let rows = self.rows();
        let all: Vec<Run> =
            rows.runs.iter().rev().filter(|run| run.run.job == job).map(|run| run.run.clone()).collect();
        let total = u32::try_from(all.len()).unwrap();
        Ok((all.into_iter().take(usize::try_from(most).unwrap()).collect(), total))
    }

    async fn load(&self, id: RunId) -> Result<Option<StoredRun>, StoreError> {
        let mut rows = self.rows();
        rows.check()?;
        let Some(mut run) = rows.run(id).cloned() else { return Ok(None) };
        run.job = rows.job(run.run.job).unwrap().clone();
        Ok(Some(run))
    }

    async fn set_up(&self, id: RunId) -> Result<(), StoreError> {
        let mut rows = self.rows();
        let job = rows.run(id).unwrap().run.job;
        rows.job(job).unwrap().set_up = true;
        Ok(())
    }

    async fn start(&self, id: RunId, _now: Timestamp) -> Result<Moved, StoreError> {
        let mut rows = self.rows();
        let run = rows.run(id).unwrap();
        if run.cancelling || run.stage != Stage::Prepared {
            return Ok(Moved::Lost);
        }
        run.stage = Stage::AtWork;
        Ok(Moved::Won)
    }

    async fn reported(&self, id: RunId, reported: Reported) -> Result<(), StoreError> {
        self.rows().run(id).unwrap().run.permissions.reported = Some(reported);
        Ok(())
    }

    async fn ended(&self, id: RunId, work: AgentWork, _now: Timestamp) -> Result<Moved, StoreError> {
        let mut rows = self.rows();
        rows.check()?;
        let run = rows.run(id).unwrap();
        if run.stage != Stage::AtWork || matches!(run.run.state, RunState::Finished(_)) {
            return Ok(Moved::Lost);
        }
        run.run.state = RunState::Verifying;
        run.run.exit = Some(work.ended.exit.clone());
        run.run.result_text = work.ended.result.as_ref().and_then(|result| result.text.clone());
        run.run.stderr_tail.clone_from(&work.ended.stderr_tail);
        run.run.settings_changed = work.settings_changed;
        run.run.denials = work.denials;
        run.stage = Stage::Ended(work.ended);
        let job = run.run.job;
        if let Some(changes) = work.changes {
            rows.job(job).unwrap().changes = Some(changes);
        }
        Ok(Moved::Won)
    }

    async fn verified(&self, id: RunId, verification: Verification, _now: Timestamp) -> Result<Moved, StoreError> {
        let mut rows = self.rows();
        let run = rows.run(id).unwrap();
        if run.cancelling || matches!(run.run.state, RunState::Finished(_)) {
            return Ok(Moved::Lost);
        }
        run.run.verification.push(verification);
        Ok(Moved::Won)
    }

    async fn close(&self, id: RunId, ending: RunEnding, now: Timestamp) -> Result<Moved, StoreError> {
        let mut rows = self.rows();
        rows.check()?;
        Ok(rows.close(id, ending, now))
    }

    async fn recover(&self, now: Timestamp) -> Result<Vec<RunId>, StoreError> {
        let mut rows = self.rows();
        let open = rows.runs.iter().filter(|run| !matches!(run.run.state, RunState::Finished(_)));
        let open: Vec<(RunId, bool)> = open.map(|run| (run.run.id, run.cancelling)).collect();
        for (id, cancelling) in &open {
            let ending = match cancelling {
                true => RunEnding { outcome: Outcome::Cancelled, reason: None },
                false => owl_domain::job::interrupted(),
            };
            assert_eq!(rows.close(*id, ending, now), Moved::Won);
        }
        Ok(open.into_iter().map(|(id, _)| id).collect())
    }
}
