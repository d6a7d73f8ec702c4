//! Jobs and Runs as they are told.

use super::{Output, millis, names};
use owl_domain::{
    ids::{JobId, RunId},
    job as domain,
    permissions::{self, Permissions},
    ports,
};
use schemars::JsonSchema;
use serde::Serialize;

/// A standing intent, carried out by an unattended Agent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Job {
    /// Its id.
    pub id: String,
    /// In which Project.
    pub project: String,
    /// Whose Agents work on it.
    pub account: String,
    /// What it is called.
    pub title: String,
    /// What is to be done.
    pub prompt: String,
    /// How far it is.
    #[schemars(schema_with = "names::job_state")]
    pub state: &'static str,
    /// Why it is in this state, in a sentence.
    pub reason: Option<String>,
    /// Its branch.
    pub branch: String,
    /// Its worktree; null before its first Run and once it was removed.
    pub worktree: Option<String>,
    /// The branch that it starts from.
    pub base_branch: String,
    /// The commit that its branch was made at.
    pub base_commit: Option<String>,
    /// How many Runs it had.
    pub attempts: u32,
    /// The Run that is at work.
    pub active_run_id: Option<String>,
    /// What it changed by the end of its last Run, uncommitted work included.
    pub changes: Option<Changes>,
    /// When it was made.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

/// What differs from the commit that a Job began at.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Changes {
    /// Files.
    pub files: u64,
    /// Lines that are new.
    pub insertions: u64,
    /// Lines that are gone.
    pub deletions: u64,
    /// Commits on its branch.
    pub commits: u64,
}

impl From<&domain::Job> for Job {
    fn from(job: &domain::Job) -> Self {
        Self {
            id: job.id.to_string(),
            project: job.project.to_string(),
            account: job.account.to_string(),
            title: job.title.to_string(),
            prompt: job.prompt.to_string(),
            state: job.state.name(),
            reason: job.reason.clone(),
            branch: job.branch.to_string(),
            worktree: job.worktree.as_ref().map(super::ids),
            base_branch: job.base_branch.to_string(),
            base_commit: job.base_commit.as_ref().map(super::ids),
            attempts: job.attempts,
            active_run_id: job.active_run.map(super::ids),
            changes: job.changes.map(|changes| Changes {
                files: changes.files,
                insertions: changes.insertions,
                deletions: changes.deletions,
                commits: changes.commits,
            }),
            created_at: job.created_at.to_string(),
            updated_at: job.updated_at.to_string(),
        }
    }
}

/// A Job that was made, or found by its key.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreatedJob {
    /// The Job.
    #[serde(flatten)]
    pub job: Job,
    /// Whether an earlier call with the same key made it.
    pub duplicate: bool,
}

/// A Job with its newest Runs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JobView {
    /// The Job.
    #[serde(flatten)]
    pub job: Job,
    /// Its Runs, newest first, at most 20.
    pub runs: Vec<Run>,
    /// How many it had.
    pub runs_total: u32,
    /// What it changed, when that was asked for.
    pub diff: Option<Diff>,
}

/// What a Job changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Diff {
    /// The files, at most 500.
    pub files: Vec<DiffFile>,
    /// How many there are.
    pub files_total: u64,
    /// The text, at most 256 KiB.
    pub text: String,
    /// Its true size in bytes.
    pub bytes: u64,
    /// Whether it was cut.
    pub truncated: bool,
}

/// One file of a diff.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DiffFile {
    /// Its path in the worktree.
    pub path: String,
    /// What happened to it: one letter as git prints it.
    pub status: String,
    /// Lines that are new.
    pub insertions: u64,
    /// Lines that are gone.
    pub deletions: u64,
}

impl From<ports::JobDiff> for Diff {
    fn from(diff: ports::JobDiff) -> Self {
        let file = |file: ports::DiffFile| DiffFile {
            path: file.path,
            status: file.status.to_string(),
            insertions: file.insertions,
            deletions: file.deletions,
        };
        Self {
            files: diff.files.into_iter().map(file).collect(),
            files_total: diff.files_total,
            text: diff.text,
            bytes: diff.bytes,
            truncated: diff.truncated,
        }
    }
}

/// A Job that was started.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StartedJob {
    /// The Job.
    pub job: Job,
    /// Its new Run.
    pub run: Run,
}

/// A Job whose work was accepted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AcceptedJob {
    /// The Job.
    #[serde(flatten)]
    pub job: Job,
    /// Whether its worktree stays, because it holds uncommitted work.
    pub worktree_kept: bool,
}

/// A Job whose worktree and branch were removed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DroppedJob {
    /// The Job.
    #[serde(flatten)]
    pub job: Job,
    /// What was lost with them.
    pub discarded: Discarded,
}

/// Work that was lost.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Discarded {
    /// Files that no commit had.
    pub files: u64,
    /// Commits that were on no other branch.
    pub commits: u64,
}

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

/// What a Run's Agent was told that it may do.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunPermissions {
    /// The Account's list as it stood.
    pub account: AccountPermissions,
    /// What the Project added.
    pub project: ProjectPermissions,
    /// What the tool itself said at its start; null until then.
    pub reported: Option<Reported>,
}

/// An Account's list as it stood when a Run began.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AccountPermissions {
    /// The Account.
    pub name: String,
    /// The file.
    pub file: String,
    /// Whether this Run created the file.
    pub seeded: bool,
    /// What passes, in the file's order.
    pub allow: Vec<String>,
    /// What never passes.
    pub deny: Vec<String>,
    /// What would be asked about, and so does not pass.
    pub ask: Vec<String>,
    /// The mode that the file asks for; it is honoured.
    pub default_mode: Option<String>,
    /// The SHA-256 of the file's bytes.
    pub sha256: String,
    /// Entries that the tool does not honour.
    pub ignored: Vec<Ignored>,
}

/// What a Project's own file added.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProjectPermissions {
    /// The rules, in the file's order.
    pub allowed_tools: Vec<String>,
    /// The file; null when there is none.
    pub file: Option<String>,
    /// The commit it was read from.
    pub commit: Option<String>,
    /// Entries that the tool does not honour.
    pub ignored: Vec<Ignored>,
}

/// An entry that the tool does not honour.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Ignored {
    /// The entry as it stands.
    pub rule: String,
    /// Why not.
    pub why: String,
}

pub(super) fn ignored(list: &[permissions::Ignored]) -> Vec<Ignored> {
    list.iter().map(|one| Ignored { rule: one.rule.clone(), why: one.why.clone() }).collect()
}

/// What the tool itself said at its start.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Reported {
    /// The mode that held.
    pub permission_mode: Option<String>,
    /// The tools that it offered.
    pub tools: Vec<String>,
    /// The tool servers that it started.
    pub mcp_servers: Vec<McpServer>,
    /// Its version.
    pub tool_version: Option<String>,
}

/// A tool server.
#[derive(Debug, Serialize, JsonSchema)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// How it was.
    pub status: String,
}

impl From<&Permissions> for RunPermissions {
    fn from(permissions: &Permissions) -> Self {
        let Permissions { account, project, reported } = permissions;
        Self {
            account: AccountPermissions {
                name: account.name.to_string(),
                file: account.file.to_string(),
                seeded: account.seeded,
                allow: account.allow.clone(),
                deny: account.deny.clone(),
                ask: account.ask.clone(),
                default_mode: account.default_mode.clone(),
                sha256: account.sha256.clone(),
                ignored: ignored(&account.ignored),
            },
            project: ProjectPermissions {
                allowed_tools: project.allowed_tools.clone(),
                file: project.file.clone(),
                commit: project.commit.as_ref().map(super::ids),
                ignored: ignored(&project.ignored),
            },
            reported: reported.as_ref().map(Reported::from),
        }
    }
}

impl From<&permissions::Reported> for Reported {
    fn from(reported: &permissions::Reported) -> Self {
        let server =
            |server: &permissions::McpServer| McpServer { name: server.name.clone(), status: server.status.clone() };
        Self {
            permission_mode: reported.permission_mode.clone(),
            tools: reported.tools.clone(),
            mcp_servers: reported.mcp_servers.iter().map(server).collect(),
            tool_version: reported.tool_version.clone(),
        }
    }
}

/// Calls of one kind that an Agent was refused.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Denied {
    /// The tool.
    pub tool: String,
    /// What the call was about, on one line.
    pub input_summary: String,
    /// How often.
    pub count: u32,
    /// The one line that lets it pass; null when none does.
    pub rule_to_add: Option<String>,
    /// Why no line helps; or, beside a line, what it also lets pass.
    pub why: Option<String>,
    /// The files that could hold the line; empty when no line helps.
    #[serde(rename = "where")]
    pub places: Vec<Place>,
}

/// A place where a line may be added.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The key in it.
    pub key: &'static str,
}

fn denied(call: &permissions::DeniedCall, permissions: &Permissions) -> Denied {
    let place = |place: permissions::Place| Place { file: place.file, key: place.key };
    let places = if call.rule_to_add.is_some() { permissions.places().map(place).into() } else { Vec::new() };
    Denied {
        tool: call.tool.clone(),
        input_summary: call.input_summary.clone(),
        count: call.count,
        rule_to_add: call.rule_to_add.clone(),
        why: call.why.clone(),
        places,
    }
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
