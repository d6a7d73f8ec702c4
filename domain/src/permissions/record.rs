//! What a Run's Agent was told that it may do: the Account's list as it stood, then the Project's, then what the tool said
//! itself (ADR-0035, D20). A record of what was told and not of what was used; that is in the Run's log.

use super::{Ignored, Lists, Rule};
use crate::{
    show::visible,
    text::{AbsPath, AccountName, CommitId},
};
use alloc::{format, string::String, vec::Vec};

/// What a Run's Agent was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permissions {
    /// The Account's list as it stood.
    pub account: AccountList,
    /// What the Project adds.
    pub project: ProjectList,
    /// What the tool itself said at its start; none until then.
    pub reported: Option<Reported>,
}

/// An Account's `settings.json`, as far as it says what an Agent may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountList {
    /// The Account.
    pub name: AccountName,
    /// The file.
    pub file: AbsPath,
    /// Whether this Run created the file.
    pub seeded: bool,
    /// What passes, in the file's order; dead entries too.
    pub allow: Vec<String>,
    /// What never passes.
    pub deny: Vec<String>,
    /// What would be asked about, and so does not pass.
    pub ask: Vec<String>,
    /// The mode that the file asks for.
    pub default_mode: Option<String>,
    /// The SHA-256 of the file's bytes, in hex.
    pub sha256: String,
    /// Entries that the tool does not honour.
    pub ignored: Vec<Ignored>,
}

/// What a Project's own file adds. It takes nothing away.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProjectList {
    /// The rules, in the file's order.
    pub allowed_tools: Vec<String>,
    /// The file; none when there is none.
    pub file: Option<String>,
    /// The commit it was read from.
    pub commit: Option<CommitId>,
    /// Entries that the tool does not honour.
    pub ignored: Vec<Ignored>,
}

/// What the tool said at its start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reported {
    /// The mode that holds.
    pub permission_mode: Option<String>,
    /// The tools that it offers.
    pub tools: Vec<String>,
    /// The tool servers that it started.
    pub mcp_servers: Vec<McpServer>,
    /// Its version.
    pub tool_version: Option<String>,
    /// Where it says that its key comes from; `none` with an Account's token.
    pub api_key_source: Option<String>,
}

/// A tool server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// How it is.
    pub status: String,
}

/// A place where a line may be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The key in it.
    pub key: &'static str,
    /// For whom the line then holds.
    pub means: &'static str,
}

impl Permissions {
    /// Returns the lists as the tool honours them.
    #[must_use]
    pub fn lists(&self, worktree: &AbsPath) -> Lists {
        let read = |list: &[String]| -> Vec<Rule> { list.iter().filter_map(|rule| Rule::read(rule).ok()).collect() };
        let mut allow = read(&self.account.allow);
        allow.extend(read(&self.project.allowed_tools));
        Lists {
            allow,
            deny: read(&self.account.deny),
            ask: read(&self.account.ask),
            worktree: String::from(worktree.as_str()),
        }
    }

    /// Returns the two places where a line may be added.
    #[must_use]
    pub fn places(&self) -> [Place; 2] {
        let project = self.project.file.clone().unwrap_or_else(|| String::from(".coding-owl.yaml"));
        [
            Place {
                file: String::from(self.account.file.as_str()),
                key: "permissions.allow",
                means: "for every Agent of this Account",
            },
            Place {
                file: project,
                key: "allowedTools",
                means: "for this Project's Agents, once it is on the base branch",
            },
        ]
    }

    /// Returns what a person must not overlook: that nothing is allowed, or a mode that takes the list's meaning away.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.account.allow.is_empty() && self.project.allowed_tools.is_empty() {
            warnings.push(format!("nothing is allowed: {} allows nothing", visible(self.account.file.as_str())));
        }
        let reported = self.reported.as_ref().and_then(|reported| reported.permission_mode.as_deref());
        let meaning = |mode: &str| match mode {
            "default" | "dontAsk" => None,
            "bypassPermissions" => Some("everything passes, whatever the list says"),
            "acceptEdits" | "auto" => Some("edits pass without a rule"),
            "plan" => Some("edits are refused in spite of their rules"),
            _ => Some("it is not known what that does to the list"),
        };
        match (self.account.default_mode.as_deref(), reported) {
            (_, Some(mode)) if meaning(mode).is_some() => {
                let means = meaning(mode).unwrap_or_default();
                warnings.push(format!("the tool ran in mode `{}`: {means}", visible(mode)));
            }
            (Some(asked), Some(mode)) if asked != mode && meaning(asked).is_some() => warnings.push(format!(
                "the Account's file asks for mode `{}`, and this version of the tool ran in `{}`",
                visible(asked),
                visible(mode)
            )),
            (Some(asked), None) if meaning(asked).is_some() => {
                let means = meaning(asked).unwrap_or_default();
                warnings.push(format!("the Account's file asks for mode `{}`: {means}", visible(asked)));
            }
            (None | Some(_), None | Some(_)) => {}
        }
        warnings
    }

    /// Returns everything on lines for people: one rule a line with where it comes from, and nothing raw.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.warnings().iter().map(|text| format!("WARNING: {text}")).collect::<Vec<_>>();
        let mut list = |list: &[String], ignored: &[Ignored], from: &str| {
            for rule in list {
                let dead = ignored.iter().find(|entry| entry.rule == *rule);
                let mark = dead.map(|entry| format!("  [ignored: {}]", on_one_line(&entry.why))).unwrap_or_default();
                lines.push(format!("{}  {from}{mark}", on_one_line(rule)));
            }
        };
        let account = &self.account;
        list(&account.allow, &account.ignored, "allow, Account");
        list(&self.project.allowed_tools, &self.project.ignored, "allow, Project");
        list(&account.deny, &account.ignored, "deny, Account");
        list(&account.ask, &account.ignored, "ask, Account");
        lines
    }
}

/// Makes a rule visible on one line: a comma in it does not make it two, and no control character reaches a terminal.
fn on_one_line(rule: &str) -> String {
    visible(rule).replace('\n', "\\n").replace('\t', "\\t")
}

#[cfg(test)]
mod tests;
