//! `runs.subscribe`: the lines of one Run's log and how far the Run is, until it is over. The log is the cursor; the
//! daemon keeps nothing for a follower (D7).

use super::{End, Never, Rows, still_open, tell};
use crate::{
    caller::{Caller, Phase},
    outlet::Outlet,
    table::Feed,
    wire::{RunClosed, RunLine, RunMoved, RunStands, RunSummary},
};
use async_trait::async_trait;
use owl_domain::{
    ids::Seq,
    job::{JobService, Run, RunState},
    ports::{EventScope, Events, LogError, RunLogs},
    turn::About,
};
use std::sync::Arc;

/// What is read of a log at once.
const BYTES: usize = 256 * 1024;

impl From<LogError> for End {
    fn from(error: LogError) -> Self {
        tracing::error!(%error, "a subscription could not read its log");
        Self::Lagged
    }
}

pub(crate) struct RunFeed {
    caller: Arc<Caller>,
    jobs: Arc<JobService>,
    logs: Arc<dyn RunLogs>,
    /// Tells that something happened to a Job; how far the Run is then, is read.
    rows: Rows,
    run: Run,
    run_id: String,
    /// Where the next line begins.
    next: u64,
    finished: bool,
}

impl RunFeed {
    /// Makes the feed of one Run, which was read after the event of that number.
    pub(crate) fn new(
        caller: Arc<Caller>,
        (events, newest): (Arc<dyn Events>, Seq),
        jobs: Arc<JobService>,
        logs: Arc<dyn RunLogs>,
        run: Run,
        after: u64,
    ) -> Self {
        let rows = Rows::new(events, EventScope::All, newest);
        let (run_id, finished) = (run.id.to_string(), is_finished(&run));
        Self { caller, jobs, logs, rows, run, run_id, next: after, finished }
    }

    /// Sends the lines that are there, up to the size that the log has by then.
    async fn lines(&mut self, out: &mut Outlet) -> Result<(), End> {
        while self.some_lines(out).await? {}
        Ok(())
    }

    /// Sends some of them; says whether there may be more.
    async fn some_lines(&mut self, out: &mut Outlet) -> Result<bool, End> {
        let found = self.logs.read(self.run.id, self.next, BYTES).await?;
        let ends = found.lines.iter().skip(1).map(|(offset, _)| *offset).chain([found.next]);
        for ((offset, text), next_offset) in found.lines.iter().zip(ends) {
            let (name, run_id) = ("run.line", self.run_id.as_str());
            let line = RunLine { name, run_id, offset: *offset, next_offset, text };
            out.push(number(next_offset), &written(&line)?).await?;
            self.next = next_offset;
        }
        // Back, too: a number behind the end is none of this log's, and what comes next begins at its end.
        if found.next != self.next {
            self.next = found.next;
            out.passes(number(found.next));
        }
        Ok(!found.lines.is_empty())
    }

    /// Sends how far the Run is when that changed, behind the lines from before.
    async fn moves(&mut self, out: &mut Outlet) -> Result<(), End> {
        let mut touched = false;
        while let Some(row) = self.rows.next().await? {
            touched |= row.name == "run.changed" && row.about == About::Job(self.run.job);
        }
        if !touched {
            return Ok(());
        }
        let Some(now) = self.jobs.run(self.run.id).await? else { return Err(End::Finished) };
        self.finished = is_finished(&now);
        if now.state != self.run.state {
            self.lines(out).await?;
            let run = RunSummary::new(now.id, now.job, now.attempt, &now.state);
            tell(out, &RunMoved { name: "run.changed", run }).await?;
        }
        self.run = now;
        Ok(())
    }

    async fn follow(&mut self, out: &mut Outlet) -> Result<Never, End> {
        while self.some_lines(out).await? {
            still_open(&self.caller)?;
        }
        let (name, run_id) = ("stream.live", self.run_id.as_str());
        tell(out, &RunStands { name, run_id, next_offset: self.next }).await?;
        let caller = self.caller.clone();
        loop {
            let last = caller.server.phase() == Phase::Closing;
            self.moves(out).await?;
            self.lines(out).await?;
            out.flush().await?;
            if self.finished {
                return Err(End::Finished);
            }
            if last {
                return Err(End::Stopping);
            }
            tokio::select! {
                () = self.logs.longer_than(self.run.id, self.next) => {}
                _ = self.rows.newer() => {}
                () = caller.closing() => {}
            }
        }
    }
}

/// Offsets go where numbers of events go.
fn number(offset: u64) -> i64 {
    i64::try_from(offset).unwrap_or(i64::MAX)
}

fn written(event: &impl serde::Serialize) -> Result<String, End> {
    serde_json::to_string(event).map_err(|error| {
        tracing::error!(%error, "an event could not be written");
        End::Lagged
    })
}

fn is_finished(run: &Run) -> bool {
    matches!(run.state, RunState::Finished(_))
}

#[async_trait]
impl Feed for RunFeed {
    async fn run(mut self: Box<Self>, out: &mut Outlet) -> Option<String> {
        out.starts_after(number(self.next));
        let Err(end) = self.follow(out).await;
        let (run_id, next_offset) = (self.run_id.as_str(), u64::try_from(out.next_after()).unwrap_or_default());
        let reason = match end {
            End::Gone => return None,
            End::Lagged => {
                return serde_json::to_string(&RunStands { name: "stream.lagged", run_id, next_offset }).ok();
            }
            // There is no Run whose row goes; one that is not there any more is over.
            End::Finished | End::Deleted => "finished",
            End::Stopping => "stopping",
        };
        serde_json::to_string(&RunClosed { name: "stream.closed", run_id, reason, next_offset }).ok()
    }
}
