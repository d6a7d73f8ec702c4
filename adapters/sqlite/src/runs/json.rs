//! What is stored of a Run as JSON: what its Agent was told, how it ended, what it was refused, what judged it.

use crate::{
    failure::Failure,
    json::{known, read, write},
};
use owl_domain::{
    job::{
        AgentEnded, AgentEndedBy, AgentResult, Check, Exit, Terms, Verification, VerificationKind, VerificationState,
        Work,
    },
    permissions::{AccountList, DeniedCall, Ignored, McpServer, Permissions, ProjectList, Reported},
    text::{AbsPath, AccountName, Clipped, CommitId},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Writes a list of texts.
pub(super) fn write_texts(texts: &[String]) -> String {
    crate::json::write_texts(texts.iter().map(String::as_str))
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[derive(Serialize, Deserialize)]
struct IgnoredRow {
    rule: String,
    why: String,
}

fn ignored(list: &[Ignored]) -> Vec<IgnoredRow> {
    list.iter().map(|one| IgnoredRow { rule: one.rule.clone(), why: one.why.clone() }).collect()
}

fn unignored(rows: Vec<IgnoredRow>) -> Vec<Ignored> {
    rows.into_iter().map(|IgnoredRow { rule, why }| Ignored { rule, why }).collect()
}

#[derive(Serialize, Deserialize)]
struct PermissionsRow {
    account: AccountRow,
    project: ProjectRow,
}

#[derive(Serialize, Deserialize)]
struct AccountRow {
    name: String,
    file: String,
    seeded: bool,
    allow: Vec<String>,
    deny: Vec<String>,
    ask: Vec<String>,
    default_mode: Option<String>,
    sha256: String,
    ignored: Vec<IgnoredRow>,
}

#[derive(Serialize, Deserialize)]
struct ProjectRow {
    allowed_tools: Vec<String>,
    file: Option<String>,
    commit: Option<String>,
    ignored: Vec<IgnoredRow>,
}

/// Writes what an Agent was told. What the tool reported has a column of its own.
pub(super) fn write_permissions(permissions: &Permissions) -> String {
    let Permissions { account, project, reported: _ } = permissions;
    write(&PermissionsRow {
        account: AccountRow {
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
        project: ProjectRow {
            allowed_tools: project.allowed_tools.clone(),
            file: project.file.clone(),
            commit: project.commit.as_ref().map(ToString::to_string),
            ignored: ignored(&project.ignored),
        },
    })
}

/// Reads what an Agent was told, with what the tool reported.
pub(super) fn read_permissions(text: &str, reported: Option<Reported>) -> Result<Permissions, Failure> {
    const WHAT: &str = "what an agent was allowed";
    let PermissionsRow { account, project } = read(text, WHAT)?;
    Ok(Permissions {
        account: AccountList {
            name: known(AccountName::new(account.name).ok(), WHAT)?,
            file: known(AbsPath::new(account.file).ok(), WHAT)?,
            seeded: account.seeded,
            allow: account.allow,
            deny: account.deny,
            ask: account.ask,
            default_mode: account.default_mode,
            sha256: account.sha256,
            ignored: unignored(account.ignored),
        },
        project: ProjectList {
            allowed_tools: project.allowed_tools,
            file: project.file,
            commit: commit(project.commit, WHAT)?,
            ignored: unignored(project.ignored),
        },
        reported,
    })
}

fn commit(text: Option<String>, what: &'static str) -> Result<Option<CommitId>, Failure> {
    text.map(|text| known(CommitId::new(text).ok(), what)).transpose()
}

#[derive(Serialize, Deserialize)]
struct ReportedRow {
    permission_mode: Option<String>,
    tools: Vec<String>,
    mcp_servers: Vec<(String, String)>,
    tool_version: Option<String>,
    api_key_source: Option<String>,
}

/// Writes what the tool reported.
pub(super) fn write_reported(reported: &Reported) -> String {
    write(&ReportedRow {
        permission_mode: reported.permission_mode.clone(),
        tools: reported.tools.clone(),
        mcp_servers: reported.mcp_servers.iter().map(|one| (one.name.clone(), one.status.clone())).collect(),
        tool_version: reported.tool_version.clone(),
        api_key_source: reported.api_key_source.clone(),
    })
}

/// Reads what the tool reported.
pub(super) fn read_reported(text: &str) -> Result<Reported, Failure> {
    let row: ReportedRow = read(text, "what a tool reported")?;
    Ok(Reported {
        permission_mode: row.permission_mode,
        tools: row.tools,
        mcp_servers: row.mcp_servers.into_iter().map(|(name, status)| McpServer { name, status }).collect(),
        tool_version: row.tool_version,
        api_key_source: row.api_key_source,
    })
}

#[derive(Serialize, Deserialize)]
struct DenialRow {
    tool: String,
    input_summary: String,
    count: u32,
    rule_to_add: Option<String>,
    why: Option<String>,
}

/// Writes what an Agent was refused.
pub(super) fn write_denials(denials: &[DeniedCall]) -> String {
    let row = |denied: &DeniedCall| DenialRow {
        tool: denied.tool.clone(),
        input_summary: denied.input_summary.clone(),
        count: denied.count,
        rule_to_add: denied.rule_to_add.clone(),
        why: denied.why.clone(),
    };
    write(&denials.iter().map(row).collect::<Vec<_>>())
}

/// Reads what an Agent was refused.
pub(super) fn read_denials(text: &str) -> Result<Vec<DeniedCall>, Failure> {
    let rows: Vec<DenialRow> = read(text, "what an agent was refused")?;
    let denied = |DenialRow { tool, input_summary, count, rule_to_add, why }| DeniedCall {
        tool,
        input_summary,
        count,
        rule_to_add,
        why,
    };
    Ok(rows.into_iter().map(denied).collect())
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
