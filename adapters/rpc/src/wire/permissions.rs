//! What an Agent was told that it may do, and what it was refused (ADR-0035).

use owl_domain::permissions::{self, Permissions};
use schemars::JsonSchema;
use serde::Serialize;

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

pub(super) fn denied(call: &permissions::DeniedCall, permissions: &Permissions) -> Denied {
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
