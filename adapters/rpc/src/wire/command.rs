//! A command as it is shown and runs, what came of it, and the gate's no (ADR-0022, D9).

use super::{Decision, names};
use owl_domain::{conversation as domain, gate, ports::Recorded, show, text};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A command: what is shown is what runs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Command {
    /// The line as the model wrote it.
    pub requested: String,
    /// The absolute path that `execve` gets.
    pub program: String,
    /// Exactly what `execve` gets, the program's name first.
    pub argv: Vec<String>,
    /// Indexes into `argv` of Owl's own words, ascending.
    pub added: Vec<usize>,
    /// The complete environment.
    pub env: BTreeMap<String, String>,
    /// One line for people, in which two different argv never look alike.
    pub display: String,
}

impl From<&gate::Shown> for Command {
    fn from(shown: &gate::Shown) -> Self {
        Self {
            requested: shown.requested.clone(),
            program: shown.path.to_string(),
            argv: shown.argv.clone(),
            added: shown.added.clone(),
            env: shown.env.iter().cloned().collect(),
            display: show::quote_argv(&shown.argv),
        }
    }
}

/// The gate's no.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Denial {
    /// Which rule said no.
    #[schemars(schema_with = "names::denial")]
    pub kind: &'static str,
    /// The word, or the character, that it is about.
    pub argument: Option<String>,
    /// One sentence without a final period.
    pub message: String,
    /// What to write instead, likewise.
    pub hint: Option<String>,
}

impl From<&gate::Denial> for Denial {
    fn from(denial: &gate::Denial) -> Self {
        Self {
            kind: denial.kind.name(),
            argument: denial.argument.clone(),
            message: denial.message.clone(),
            hint: denial.hint.clone(),
        }
    }
}

/// How a command that was started ended.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CommandResult {
    /// Why it ended.
    #[schemars(schema_with = "names::ended_by")]
    pub ended_by: &'static str,
    /// Its exit status, when it exited.
    pub exit_code: Option<i32>,
    /// The signal that ended it, such as `SIGKILL`.
    pub signal: Option<String>,
    /// How long it ran.
    pub duration_ms: u64,
    /// What it printed on standard output.
    pub stdout: Output,
    /// What it printed on standard error.
    pub stderr: Output,
    /// What it did run under.
    #[schemars(schema_with = "names::confinement")]
    pub confinement: &'static str,
}

impl From<&domain::CommandResult> for CommandResult {
    fn from(result: &domain::CommandResult) -> Self {
        Self {
            ended_by: result.ended_by.name(),
            exit_code: result.exit_code,
            signal: result.signal.clone(),
            duration_ms: super::millis(result.duration),
            stdout: Output::from(&result.stdout),
            stderr: Output::from(&result.stderr),
            confinement: result.confinement.name(),
        }
    }
}

/// Output that was bounded while it was read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The first part; all of it when nothing was left out.
    pub head: String,
    /// The last part; empty when nothing was left out.
    pub tail: String,
    /// The true size in bytes.
    pub bytes: u64,
    /// How many bytes were left out between the two.
    pub omitted_bytes: u64,
    /// How many bytes were not UTF-8 and became U+FFFD.
    pub replaced_bytes: u64,
}

impl From<&text::Clipped> for Output {
    fn from(clipped: &text::Clipped) -> Self {
        Self {
            head: clipped.head.clone(),
            tail: clipped.tail.clone(),
            bytes: clipped.bytes,
            omitted_bytes: clipped.omitted_bytes,
            replaced_bytes: clipped.replaced_bytes,
        }
    }
}

/// One line that a model asked to run, run or not, as `commands.list` tells it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CommandRecord {
    /// Its Item.
    pub item_id: String,
    /// Its Conversation.
    pub conversation_id: String,
    /// Its Turn.
    pub turn_id: String,
    /// Its Proposal; null when the gate denied it first.
    pub proposal_id: Option<String>,
    /// The line as the model wrote it.
    pub requested: String,
    /// What it became; null when the gate denied the line.
    pub command: Option<Command>,
    /// Where; null when the call named no directory that is known.
    pub workdir: Option<String>,
    /// The Project of that directory.
    pub project: Option<String>,
    /// What came of it; null while it is open.
    #[schemars(schema_with = "names::command_outcome_or_null")]
    pub outcome: Option<&'static str>,
    /// The gate's no.
    pub denial: Option<Denial>,
    /// Why it could not be started, with `failed`.
    pub failure: Option<String>,
    /// How it was decided; null when the gate denied it first, or while it waits.
    pub decision: Option<Decision>,
    /// What it ran, or would run, under; null when the gate denied it first.
    pub confinement: Option<String>,
    /// When it was asked for.
    pub created_at: String,
    /// When it started.
    pub started_at: Option<String>,
    /// When it ended.
    pub finished_at: Option<String>,
    /// Why it ended.
    #[schemars(schema_with = "names::ended_by_or_null")]
    pub ended_by: Option<&'static str>,
    /// Its exit status, when it exited.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<String>,
    /// How long it ran.
    pub duration_ms: Option<u64>,
    /// How much it printed on standard output.
    pub stdout_bytes: Option<u64>,
    /// How much it printed on standard error.
    pub stderr_bytes: Option<u64>,
}

impl From<&Recorded> for CommandRecord {
    fn from(recorded: &Recorded) -> Self {
        let command = &recorded.command;
        let outcome = command.outcome.as_ref();
        let result = outcome.and_then(domain::CommandOutcome::result);
        let shown = command.shown.as_ref();
        let confinement = result.map(|result| result.confinement).or(shown.map(|shown| shown.confinement));
        Self {
            item_id: recorded.item.to_string(),
            conversation_id: recorded.conversation.to_string(),
            turn_id: recorded.turn.to_string(),
            proposal_id: command.proposal.map(super::ids),
            requested: command.requested.clone(),
            command: shown.map(Command::from),
            workdir: command.workdir.as_ref().map(super::ids),
            project: recorded.project.as_ref().map(super::ids),
            outcome: outcome.map(domain::CommandOutcome::name),
            denial: outcome.and_then(domain::CommandOutcome::denial).map(Denial::from),
            failure: outcome.and_then(domain::CommandOutcome::failure).map(str::to_owned),
            decision: recorded.decision.as_ref().map(Decision::from),
            confinement: confinement.map(|confinement| confinement.name().to_owned()),
            created_at: recorded.created_at.to_string(),
            started_at: command.started_at.map(super::ids),
            finished_at: command.finished_at.map(super::ids),
            ended_by: result.map(|result| result.ended_by.name()),
            exit_code: result.and_then(|result| result.exit_code),
            signal: result.and_then(|result| result.signal.clone()),
            duration_ms: result.map(|result| super::millis(result.duration)),
            stdout_bytes: result.map(|result| result.stdout.bytes),
            stderr_bytes: result.map(|result| result.stderr.bytes),
        }
    }
}

/// What the gate says of a line, with nothing run and nothing stored.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Explained {
    /// `allowed` or `denied`.
    #[schemars(schema_with = "names::verdict")]
    pub verdict: &'static str,
    /// The directory, resolved.
    pub workdir: String,
    /// The absolute path that `execve` would get.
    pub program: Option<String>,
    /// Exactly what `execve` would get.
    pub argv: Option<Vec<String>>,
    /// Indexes into `argv` of Owl's own words.
    pub added: Option<Vec<usize>>,
    /// The complete environment.
    pub env: Option<BTreeMap<String, String>>,
    /// One line for people.
    pub display: Option<String>,
    /// The digest that a Proposal of it would have.
    pub digest: Option<String>,
    /// What a Grant for it would cover.
    pub grant_covers: Option<String>,
    /// The gate's no.
    pub denial: Option<Denial>,
}

impl Explained {
    /// Says what the gate decided about a line in that directory.
    pub(crate) fn new(workdir: &text::AbsPath, verdict: Result<&gate::Shown, &gate::Denial>) -> Self {
        let shown = verdict.ok();
        let command = shown.map(Command::from);
        let grant_covers = shown.map(|shown| owl_domain::consent::Scope::of(shown).what());
        let (program, argv, added, env, display) = match command {
            Some(c) => (Some(c.program), Some(c.argv), Some(c.added), Some(c.env), Some(c.display)),
            None => (None, None, None, None, None),
        };
        Self {
            verdict: if shown.is_some() { "allowed" } else { "denied" },
            workdir: workdir.to_string(),
            program,
            argv,
            added,
            env,
            display,
            digest: shown.map(|shown| shown.digest.as_str().to_owned()),
            grant_covers,
            denial: verdict.err().map(Denial::from),
        }
    }
}

/// The whole gate, as data and as the same table in text.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Policy {
    /// One row per program and verb.
    pub rows: Vec<PolicyRow>,
    /// The same, for people.
    pub text: String,
}

/// One row of the gate.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PolicyRow {
    /// The program.
    pub program: String,
    /// The verb, for git.
    pub verb: Option<String>,
    /// What a Grant for it covers, such as `git log`.
    pub covers: String,
    /// What Owl puts in.
    pub adds: Vec<String>,
    /// The options.
    pub options: Vec<PolicyOption>,
    /// What its operands are.
    pub operands: String,
    /// Why it is on the list.
    pub because: String,
    /// Lines that are allowed.
    pub allows: Vec<String>,
    /// Lines that are denied.
    pub denies: Vec<String>,
}

/// One option of a row.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PolicyOption {
    /// Its names; they mean the same.
    pub names: Vec<String>,
    /// The type of its value.
    pub value: Option<String>,
    /// The allowed values of a choice.
    pub values: Option<Vec<String>>,
}
