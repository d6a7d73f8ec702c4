//! What a Run's Agent was told, what the tool reported and what it refused, as JSON (ADR-0035).

use super::json::commit;
use crate::{
    failure::Failure,
    json::{known, read, write},
};
use owl_domain::{
    permissions::{AccountList, DeniedCall, Ignored, McpServer, Permissions, ProjectList, Reported},
    text::{AbsPath, AccountName},
};
use serde::{Deserialize, Serialize};

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
