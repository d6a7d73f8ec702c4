//! Carries a Run on, one stored step after the other: setup, the Agent, the checks, the Verifier, the end (D20-D22).
//! [`JobService::advance`] keeps nothing of its own, and a Run whose leg is gone is closed, never taken up again.

use super::{
    AgentEnded, AgentEndedBy, AgentResult, Check, JobService, Outcome, RunEnding, RunState, RunStep, StoredRun,
    Verification, VerificationKind, VerificationState, Work, interrupted, span, verdict,
};
use crate::{
    ids::RunId,
    limits,
    permissions::{Denials, Lists},
    ports::{
        AgentAtWork, AgentEvent, AgentExit, AgentExitWhy, AgentNotStarted, AgentWork, CheckRan, CredentialName,
        EndedBy, JobPlace, LogLine, LogNote, Moved, NewAgent, ShellCommand, Stop, StoreError, Tool,
    },
    provider::Redaction,
    text::{AbsPath, cut_bytes},
};
use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};
use core::time::Duration;

/// What an Agent's stream came to.
pub(super) struct Watched {
    pub(super) exit: AgentExit,
    /// Why Owl ended it, when it did.
    pub(super) ended: Option<AgentEndedBy>,
    pub(super) result: Option<AgentResult>,
    denials: Denials,
}

/// Which Agent of a Run it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Worker,
    Verifier,
}

impl Who {
    const fn name(self) -> &'static str {
        match self {
            Self::Worker => "agent",
            Self::Verifier => "verifier",
        }
    }
}

impl JobService {
    /// Carries a Run on to its end. When the store fails, the Run is closed as far as the store still lets it, and the
    /// failure is returned for whoever retries.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn advance(&self, id: RunId, stop: Arc<dyn Stop>) -> Result<(), StoreError> {
        let carried = self.carry_on(id, &stop).await;
        if carried.is_err() {
            self.give_up(id).await?;
        }
        carried
    }

    /// Closes a Run that could not be saved. It is not carried on: the Agent would be started again.
    ///
    /// # Errors
    /// [`StoreError`], as long as the store fails.
    pub async fn give_up(&self, id: RunId) -> Result<(), StoreError> {
        self.blocked(id, "The Run could not be saved; the daemon's log says why".into()).await
    }

    async fn carry_on(&self, id: RunId, stop: &Arc<dyn Stop>) -> Result<(), StoreError> {
        while let Some(run) = self.ports.runs.load(id).await? {
            let step = run.next();
            let ends = matches!(step, RunStep::Nothing | RunStep::Close(_));
            if stop.is_stopped() && !ends {
                return self.close(id, interrupted()).await;
            }
            match step {
                RunStep::Nothing => return Ok(()),
                RunStep::SetUp => self.set_up(&run, stop).await?,
                RunStep::Work => self.work(&run, stop).await?,
                RunStep::Check(check) => self.check(&run, check, stop).await?,
                RunStep::Review => self.review(&run, stop).await?,
                RunStep::Close(ending) => self.close(id, ending).await?,
            }
        }
        Ok(())
    }

    async fn close(&self, id: RunId, ending: RunEnding) -> Result<(), StoreError> {
        // Losing means that it is closed already, which is what was wanted.
        let _closed_by_either = self.ports.runs.close(id, ending, self.now()).await?;
        Ok(())
    }

    async fn blocked(&self, id: RunId, reason: String) -> Result<(), StoreError> {
        self.close(id, RunEnding { outcome: Outcome::Blocked, reason: Some(reason) }).await
    }

    async fn set_up(&self, run: &StoredRun, stop: &Arc<dyn Stop>) -> Result<(), StoreError> {
        let id = run.run.id;
        let mut left = limits::SETUP;
        for command in &run.terms.setup {
            let ran = match self.shell(run, command.clone(), left, stop).await {
                Ok(ran) => ran,
                Err(reason) => return self.blocked(id, format!("The Project's setup failed: {reason}")).await,
            };
            if ran.ended_by == EndedBy::Stopped {
                return Ok(());
            }
            let how = how_it_ended(&ran, left);
            let (name, command_line, output) = (String::from("setup"), command.clone(), ran.output.clone());
            let note = LogNote::Ran { name, command: command_line, how: how.clone(), output };
            self.note(id, note).await;
            if !(ran.ended_by == EndedBy::Exit && ran.exit_code == Some(0)) {
                return self.blocked(id, verdict::of_setup(command, &how, &ran.output)).await;
            }
            left = left.saturating_sub(ran.duration);
        }
        self.ports.runs.set_up(id).await
    }

    async fn work(&self, run: &StoredRun, stop: &Arc<dyn Stop>) -> Result<(), StoreError> {
        let id = run.run.id;
        let (Some(place), Some(worktree)) = (self.place(&run.job).await?, run.job.worktree.clone()) else {
            return self.blocked(id, "The Agent was not started: its worktree or its Project is gone".into()).await;
        };
        let before = match self.ports.repositories.survey(&place).await {
            Ok(survey) => survey.name,
            Err(error) => return self.blocked(id, format!("The Agent was not started: {error}")).await,
        };
        match self.ports.runs.start(id, self.now()).await? {
            Moved::Won => {}
            // Cancelled in the meantime: nothing was started.
            Moved::Lost => return Ok(()),
        }
        let agent = match self.agent(run, worktree.clone(), run.run.argv.clone(), Who::Worker, stop).await {
            Ok(agent) => agent,
            Err(error) => return self.blocked(id, format!("The Agent could not be started: {error}")).await,
        };
        let lists = run.run.permissions.lists(&worktree);
        let watched = self.watch(run, agent, &lists, Who::Worker).await?;
        // A daemon that stops has no time to look; a Job that is cancelled is told what is there.
        let cancelling = self.ports.runs.load(id).await?.is_some_and(|run| run.cancelling);
        let (work, changes) = if stop.is_stopped() && !cancelling {
            (Work::Unknown("the daemon stopped".into()), None)
        } else {
            self.changed_since(&place, &before).await
        };
        let settings_changed = self.settings_changed(run).await;
        let Watched { exit, ended, result, denials } = watched;
        let ended = AgentEnded {
            ended_by: ended.unwrap_or(match exit.why {
                AgentExitWhy::Itself => AgentEndedBy::Itself,
                AgentExitWhy::Timeout(after) => AgentEndedBy::Timeout(after),
                AgentExitWhy::Silence(after) => AgentEndedBy::Silence(after),
                AgentExitWhy::Stopped => AgentEndedBy::Stopped,
            }),
            exit: exit.exit,
            result,
            stderr_tail: exit.stderr_tail,
            overlong_line: exit.overlong_line,
            work,
        };
        let work = AgentWork { ended, denials: denials.told(&lists), settings_changed, changes };
        // Losing means that the Run was closed by somebody else; it is read again.
        let _ended_by_either = self.ports.runs.ended(id, work, self.now()).await?;
        Ok(())
    }

    async fn changed_since(&self, place: &JobPlace, before: &str) -> (Work, Option<super::Changes>) {
        match self.ports.repositories.survey(place).await {
            // Of a worktree that is gone only its branch was seen.
            Ok(after) if after.name == before && !self.ports.repositories.stands(place).await => {
                let why = format!("its worktree {} is gone, or is not the one that Owl made", place.worktree);
                (Work::Unknown(why), Some(after.changes))
            }
            Ok(after) if after.name == before => (Work::Unchanged, Some(after.changes)),
            Ok(after) => (Work::Changed, Some(after.changes)),
            Err(error) => (Work::Unknown(error.to_string()), None),
        }
    }

    async fn settings_changed(&self, run: &StoredRun) -> Option<bool> {
        let account = &run.run.permissions.account;
        match self.ports.settings.read(&account.name).await {
            Ok(Some(now)) => Some(now.sha256 != account.sha256),
            Ok(None) | Err(_) => Some(true),
        }
    }

    /// Starts an Agent and notes what it was started with.
    pub(super) async fn agent(
        &self,
        run: &StoredRun,
        worktree: AbsPath,
        argv: Vec<String>,
        who: Who,
        stop: &Arc<dyn Stop>,
    ) -> Result<Box<dyn AgentAtWork>, AgentNotStarted> {
        let failed = |reason: String| AgentNotStarted { reason };
        let tool: Tool = self.ports.driver.tool().await.map_err(|error| failed(error.to_string()))?;
        let account = run.job.account.clone();
        let config_dir = self.ports.settings.directory(&account);
        let token = self.ports.credentials.get(CredentialName::Account(account)).await;
        let token = token.map_err(|error| failed(error.to_string()))?.map(|credential| credential.secret);
        let new = NewAgent { run: run.run.id, argv: argv.clone(), config_dir, token, worktree };
        let agent = self.ports.driver.start(&tool, new, Arc::clone(stop)).await?;
        let (set, removed) = agent.environment();
        self.note(run.run.id, LogNote::Started { who: who.name(), argv, set, removed }).await;
        Ok(agent)
    }

    pub(super) async fn watch(
        &self,
        run: &StoredRun,
        mut agent: Box<dyn AgentAtWork>,
        lists: &Lists,
        who: Who,
    ) -> Result<Watched, StoreError> {
        let id = run.run.id;
        let mut denials = Denials::default();
        let mut result = None;
        let mut ended = None;
        loop {
            let why = match agent.next().await {
                AgentEvent::Line { text, bytes } => {
                    let written = self.ports.logs.append(id, LogLine::Agent { text, bytes }).await;
                    written.is_err().then_some(AgentEndedBy::Log)
                }
                AgentEvent::Reported(reported) => {
                    if who == Who::Worker {
                        self.ports.runs.reported(id, reported).await?;
                    }
                    None
                }
                AgentEvent::Denied(call) => too_often(denials.add(call)),
                // Where the tool does not tell a refusal from a failure, the lists do.
                AgentEvent::Failed(call) if !lists.allow(&call) => too_often(denials.add(call)),
                AgentEvent::Failed(_) => None,
                AgentEvent::Retrying { credential, .. } => credential.then_some(AgentEndedBy::Credential),
                AgentEvent::Result(said) => {
                    result = Some(bounded(said));
                    None
                }
                AgentEvent::Ended(exit) => return Ok(Watched { exit, ended, result, denials }),
            };
            if let Some(why) = why
                && ended.is_none()
            {
                ended = Some(why);
                agent.end();
            }
        }
    }

    async fn check(&self, run: &StoredRun, check: Check, stop: &Arc<dyn Stop>) -> Result<(), StoreError> {
        let id = run.run.id;
        let Check { name, run: command, timeout } = check;
        let kind = VerificationKind::Check { command: command.clone() };
        let verification = match self.shell(run, command.clone(), timeout, stop).await {
            Ok(ran) if ran.ended_by == EndedBy::Stopped => return Ok(()),
            Ok(ran) => {
                let how = how_it_ended(&ran, timeout);
                let (state, message) = match (ran.ended_by, ran.exit_code) {
                    (EndedBy::Exit, Some(0)) => (VerificationState::Passed, None),
                    (EndedBy::Timeout, _) => (VerificationState::TimedOut, Some(how.clone())),
                    (EndedBy::Exit, Some(_)) => (VerificationState::Failed, None),
                    (EndedBy::Exit | EndedBy::Signal | EndedBy::Stopped, _) => {
                        (VerificationState::Failed, Some(how.clone()))
                    }
                };
                let note = LogNote::Ran { name: name.clone(), command, how, output: ran.output.clone() };
                self.note(id, note).await;
                let output = (state != VerificationState::Passed).then_some(ran.output);
                let (exit_code, duration) = (ran.exit_code, ran.duration);
                Verification { name, kind, state, exit_code, duration, output, message }
            }
            Err(reason) => Verification {
                name,
                kind,
                state: VerificationState::Error,
                exit_code: None,
                duration: Duration::ZERO,
                output: None,
                message: Some(reason),
            },
        };
        self.verified(id, verification).await
    }

    pub(super) async fn verified(&self, id: RunId, verification: Verification) -> Result<(), StoreError> {
        // Losing means that the Run was closed or cancelled; it is read again.
        let _added = self.ports.runs.verified(id, verification, self.now()).await?;
        Ok(())
    }

    async fn shell(
        &self,
        run: &StoredRun,
        command: String,
        timeout: Duration,
        stop: &Arc<dyn Stop>,
    ) -> Result<CheckRan, String> {
        let Some(worktree) = run.job.worktree.clone() else { return Err("the worktree is gone".into()) };
        // An Agent may have left the token where a check prints it.
        let redaction = self.redaction(run).await?;
        let command = ShellCommand { run: run.run.id, command, worktree, timeout };
        let ran = self.ports.checks.run(command, Arc::clone(stop)).await.map_err(|error| error.to_string())?;
        Ok(CheckRan { output: redaction.clipped(ran.output), ..ran })
    }

    /// Returns what takes the token of a Run's Account out of a text.
    pub(super) async fn redaction(&self, run: &StoredRun) -> Result<Redaction, String> {
        let token = self.ports.credentials.get(CredentialName::Account(run.job.account.clone())).await;
        let token = token.map_err(|error| error.to_string())?.map(|credential| credential.secret);
        Ok(Redaction::of(token))
    }

    /// Notes something in a Run's log. A log that cannot be written ends an Agent; beside one it is only told less.
    pub(super) async fn note(&self, id: RunId, note: LogNote) {
        self.ports.logs.append(id, LogLine::Owl(note)).await.unwrap_or_default();
    }
}

fn too_often(count: u32) -> Option<AgentEndedBy> {
    (count >= limits::DENIED_ALIKE).then_some(AgentEndedBy::SameDenial)
}

fn bounded(said: AgentResult) -> AgentResult {
    let text = said.text.map(|text| String::from(cut_bytes(&text, limits::LAST_WORDS_BYTES)));
    AgentResult { text, ..said }
}

fn how_it_ended(ran: &CheckRan, timeout: Duration) -> String {
    match (ran.ended_by, ran.exit_code, &ran.signal) {
        (EndedBy::Timeout, _, _) => format!("was ended after {}", span(timeout)),
        (EndedBy::Stopped, _, _) => "was stopped".into(),
        (EndedBy::Exit | EndedBy::Signal, Some(code), _) => format!("exited with {code}"),
        (EndedBy::Exit | EndedBy::Signal, None, Some(signal)) => format!("was ended by {signal}"),
        (EndedBy::Exit | EndedBy::Signal, None, None) => "ended, it is not known how".into(),
    }
}

impl RunState {
    /// Returns how a finished Run ended.
    pub const fn ending(&self) -> Option<&RunEnding> {
        match self {
            Self::Finished(ended) => Some(&ended.ending),
            Self::Running | Self::Verifying => None,
        }
    }
}
