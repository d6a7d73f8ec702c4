//! Runs as they are told.

use super::{Denied, Output, RunPermissions, millis, names, permissions::denied};
use owl_domain::{
    ids::{JobId, RunId},
    job as domain,
};
use schemars::JsonSchema;
use serde::Serialize;

/// One attempt at a Job.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Run {
    /// Its id.
    pub id: String,
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
    /// When it began.
    pub started_at: String,
    /// When it ended.
    pub finished_at: Option<String>,
    /// What the tool was started with, prompts included.
    pub argv: Vec<String>,
    /// The tool's version, as it said when it was asked.
    pub tool_version: String,
    /// The Agent's exit status, when it exited.
    pub exit_code: Option<i32>,
    /// The signal that ended the Agent.
    pub signal: Option<String>,
    /// What the Agent was told that it may do, as it stood.
    pub permissions: RunPermissions,
    /// Whether the Account's file was another one after the Run; null until then.
    pub settings_changed: Option<bool>,
    /// What the Agent was refused.
    pub denials: Vec<Denied>,
    /// What judged its work.
    pub verification: Vec<Verification>,
    /// The Agent's last words.
    pub result_text: Option<String>,
    /// The end of its standard error.
    pub stderr_tail: String,
    /// The size of its log so far, in bytes.
    pub log_bytes: u64,
}

/// What judged a Run's work, and what it said.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Verification {
    /// What it is called.
    pub name: String,
    /// A shell command of the Project's own file, or a fresh Agent.
    #[schemars(schema_with = "names::verification_kind")]
    pub kind: &'static str,
    /// The command of a check.
    pub command: Option<String>,
    /// What it said.
    #[schemars(schema_with = "names::verification_state")]
    pub state: &'static str,
    /// Its exit status, when it exited.
    pub exit_code: Option<i32>,
    /// How long it took.
    pub duration_ms: u64,
    /// What a check printed that did not pass.
    pub output: Option<Output>,
    /// A verdict's words, or why there is none.
    pub message: Option<String>,
}

impl From<&domain::Verification> for Verification {
    fn from(verification: &domain::Verification) -> Self {
        let (kind, command) = match &verification.kind {
            domain::VerificationKind::Check { command } => ("check", Some(command.clone())),
            domain::VerificationKind::Agent => ("agent", None),
        };
        Self {
            name: verification.name.clone(),
            kind,
            command,
            state: verification.state.name(),
            exit_code: verification.exit_code,
            duration_ms: millis(verification.duration),
            output: verification.output.as_ref().map(Output::from),
            message: verification.message.clone(),
        }
    }
}

impl Run {
    /// Makes it of a Run and the size of its log.
    pub(crate) fn of(run: &domain::Run, log_bytes: u64) -> Self {
        let told = RunSummary::new(run.id, run.job, run.attempt, &run.state);
        let finished_at = match &run.state {
            domain::RunState::Finished(ended) => Some(ended.at.to_string()),
            domain::RunState::Running | domain::RunState::Verifying => None,
        };
        let (exit_code, signal) = match &run.exit {
            Some(domain::Exit::Code(code)) => (Some(*code), None),
            Some(domain::Exit::Signal(signal)) => (None, Some(signal.clone())),
            None => (None, None),
        };
        Self {
            id: told.run_id,
            job_id: told.job_id,
            attempt: told.attempt,
            state: told.state,
            outcome: told.outcome,
            reason: told.reason,
            started_at: run.started_at.to_string(),
            finished_at,
            argv: run.argv.clone(),
            tool_version: run.tool_version.clone(),
            exit_code,
            signal,
            permissions: RunPermissions::from(&run.permissions),
            settings_changed: run.settings_changed,
            denials: run.denials.iter().map(|call| denied(call, &run.permissions)).collect(),
            verification: run.verification.iter().map(Verification::from).collect(),
            result_text: run.result_text.clone(),
            stderr_tail: run.stderr_tail.clone(),
            log_bytes,
        }
    }
}

/// How far one attempt is; the whole of it is read by its id.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunSummary {
    /// Which Run.
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
        let ending = state.ending();
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

/// Lines of a Run's log.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunLog {
    /// Which Run.
    pub run_id: String,
    /// Complete lines only.
    pub lines: Vec<RunLogLine>,
    /// Goes into `after_offset` of the next call.
    pub next_offset: u64,
    /// The size of all complete lines.
    pub size: u64,
    /// Whether the Run is over, so that nothing comes any more.
    pub finished: bool,
}

/// One line of a Run's log.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunLogLine {
    /// Where it begins.
    pub offset: u64,
    /// Its text without the line feed.
    pub text: String,
}
