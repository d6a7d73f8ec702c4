//! What is stored of a Run as JSON: its terms, how its Agent ended, what judged it.

use crate::{
    failure::Failure,
    json::{known, read, write},
};
use owl_domain::{
    job::{
        AgentEnded, AgentEndedBy, AgentResult, Check, Exit, Terms, Verification, VerificationKind, VerificationState,
        Work,
    },
    text::{AccountName, Clipped, CommitId},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Writes a list of texts.
pub(super) fn write_texts(texts: &[String]) -> String {
    crate::json::write_texts(texts.iter().map(String::as_str))
}

/// Reads the id of a commit, where there is one.
pub(super) fn commit(text: Option<String>, what: &'static str) -> Result<Option<CommitId>, Failure> {
    text.map(|text| known(CommitId::new(text).ok(), what)).transpose()
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ExitRow {
    Code(i32),
    Signal(String),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EndedByRow {
    Itself,
    Timeout(u64),
    Silence(u64),
    SameDenial,
    Credential,
    Log,
    Stopped,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WorkRow {
    Changed,
    Unchanged,
    Unknown(String),
}

#[derive(Serialize, Deserialize)]
struct ResultRow {
    is_error: bool,
    subtype: String,
    text: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct EndedRow {
    ended_by: EndedByRow,
    exit: ExitRow,
    result: Option<ResultRow>,
    stderr_tail: String,
    overlong_line: Option<u64>,
    work: WorkRow,
}

/// Writes how an Agent ended.
pub(super) fn write_ended(ended: &AgentEnded) -> String {
    let result = ended.result.as_ref().map(|result| ResultRow {
        is_error: result.is_error,
        subtype: result.subtype.clone(),
        text: result.text.clone(),
    });
    write(&EndedRow {
        ended_by: match ended.ended_by {
            AgentEndedBy::Itself => EndedByRow::Itself,
            AgentEndedBy::Timeout(after) => EndedByRow::Timeout(millis(after)),
            AgentEndedBy::Silence(after) => EndedByRow::Silence(millis(after)),
            AgentEndedBy::SameDenial => EndedByRow::SameDenial,
            AgentEndedBy::Credential => EndedByRow::Credential,
            AgentEndedBy::Log => EndedByRow::Log,
            AgentEndedBy::Stopped => EndedByRow::Stopped,
        },
        exit: match &ended.exit {
            Exit::Code(code) => ExitRow::Code(*code),
            Exit::Signal(signal) => ExitRow::Signal(signal.clone()),
        },
        result,
        stderr_tail: ended.stderr_tail.clone(),
        overlong_line: ended.overlong_line,
        work: match &ended.work {
            Work::Changed => WorkRow::Changed,
            Work::Unchanged => WorkRow::Unchanged,
            Work::Unknown(why) => WorkRow::Unknown(why.clone()),
        },
    })
}

/// Reads how an Agent ended.
pub(super) fn read_ended(text: &str) -> Result<AgentEnded, Failure> {
    let row: EndedRow = read(text, "how an agent ended")?;
    Ok(AgentEnded {
        ended_by: match row.ended_by {
            EndedByRow::Itself => AgentEndedBy::Itself,
            EndedByRow::Timeout(after) => AgentEndedBy::Timeout(Duration::from_millis(after)),
            EndedByRow::Silence(after) => AgentEndedBy::Silence(Duration::from_millis(after)),
            EndedByRow::SameDenial => AgentEndedBy::SameDenial,
            EndedByRow::Credential => AgentEndedBy::Credential,
            EndedByRow::Log => AgentEndedBy::Log,
            EndedByRow::Stopped => AgentEndedBy::Stopped,
        },
        exit: match row.exit {
            ExitRow::Code(code) => Exit::Code(code),
            ExitRow::Signal(signal) => Exit::Signal(signal),
        },
        result: row.result.map(|ResultRow { is_error, subtype, text }| AgentResult { is_error, subtype, text }),
        stderr_tail: row.stderr_tail,
        overlong_line: row.overlong_line,
        work: match row.work {
            WorkRow::Changed => Work::Changed,
            WorkRow::Unchanged => Work::Unchanged,
            WorkRow::Unknown(why) => Work::Unknown(why),
        },
    })
}

#[derive(Serialize, Deserialize)]
struct ClippedRow {
    head: String,
    tail: String,
    bytes: u64,
    omitted_bytes: u64,
    replaced_bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct VerificationRow {
    name: String,
    /// The command of a check; nothing for an Agent.
    command: Option<String>,
    state: String,
    exit_code: Option<i32>,
    duration_ms: u64,
    output: Option<ClippedRow>,
    message: Option<String>,
}

/// Writes what judged a Run's work.
pub(super) fn write_verification(verification: &Verification) -> String {
    let output = verification.output.as_ref().map(|output| ClippedRow {
        head: output.head.clone(),
        tail: output.tail.clone(),
        bytes: output.bytes,
        omitted_bytes: output.omitted_bytes,
        replaced_bytes: output.replaced_bytes,
    });
    write(&VerificationRow {
        name: verification.name.clone(),
        command: match &verification.kind {
            VerificationKind::Check { command } => Some(command.clone()),
            VerificationKind::Agent => None,
        },
        state: verification.state.name().into(),
        exit_code: verification.exit_code,
        duration_ms: millis(verification.duration),
        output,
        message: verification.message.clone(),
    })
}

/// Reads what judged a Run's work.
pub(super) fn read_verification(text: &str) -> Result<Verification, Failure> {
    const WHAT: &str = "what judged a run";
    let row: VerificationRow = read(text, WHAT)?;
    Ok(Verification {
        name: row.name,
        kind: row.command.map_or(VerificationKind::Agent, |command| VerificationKind::Check { command }),
        state: known(VerificationState::from_name(&row.state), WHAT)?,
        exit_code: row.exit_code,
        duration: Duration::from_millis(row.duration_ms),
        output: row.output.map(|output| Clipped {
            head: output.head,
            tail: output.tail,
            bytes: output.bytes,
            omitted_bytes: output.omitted_bytes,
            replaced_bytes: output.replaced_bytes,
        }),
        message: row.message,
    })
}

#[derive(Serialize, Deserialize)]
struct CheckRow {
    name: String,
    run: String,
    timeout_ms: u64,
}

#[derive(Serialize, Deserialize)]
struct TermsRow {
    account: Option<String>,
    branch_prefix: Option<String>,
    setup: Vec<String>,
    checks: Vec<CheckRow>,
    verification_agent: bool,
    allowed_tools: Vec<String>,
    unattended_clauses: Vec<String>,
    file: Option<String>,
    commit: Option<String>,
}

/// Writes the terms that held.
pub(super) fn write_terms(terms: &Terms) -> String {
    let check = |check: &Check| CheckRow {
        name: check.name.clone(),
        run: check.run.clone(),
        timeout_ms: millis(check.timeout),
    };
    write(&TermsRow {
        account: terms.account.as_ref().map(ToString::to_string),
        branch_prefix: terms.branch_prefix.clone(),
        setup: terms.setup.clone(),
        checks: terms.checks.iter().map(check).collect(),
        verification_agent: terms.verification_agent,
        allowed_tools: terms.allowed_tools.clone(),
        unattended_clauses: terms.unattended_clauses.clone(),
        file: terms.file.clone(),
        commit: terms.commit.as_ref().map(ToString::to_string),
    })
}

/// Reads the terms that held.
pub(super) fn read_terms(text: &str) -> Result<Terms, Failure> {
    const WHAT: &str = "the terms of a run";
    let row: TermsRow = read(text, WHAT)?;
    let check = |CheckRow { name, run, timeout_ms }| Check { name, run, timeout: Duration::from_millis(timeout_ms) };
    Ok(Terms {
        account: row.account.map(|name| known(AccountName::new(name).ok(), WHAT)).transpose()?,
        branch_prefix: row.branch_prefix,
        setup: row.setup,
        checks: row.checks.into_iter().map(check).collect(),
        verification_agent: row.verification_agent,
        allowed_tools: row.allowed_tools,
        unattended_clauses: row.unattended_clauses,
        file: row.file,
        commit: commit(row.commit, WHAT)?,
    })
}
