//! Whether a scripted call passes: by the lists of the sources that count, the rules of the command line and the mode.
//! What is not known is denied.

use crate::{
    flags::{Flags, Version},
    settings::{self, Settings},
};
use owl_domain::permissions::{BASH, FILE_TOOLS, Rule, Subject, ToolCall, allows};
use serde_json::Value;
use std::{env, path::Path};

/// What the tool offers, as far as the stub plays it.
const TOOLS: [&str; 9] = ["Task", "Bash", "Edit", "NotebookEdit", "Read", "Skill", "WebFetch", "WebSearch", "Write"];
/// Paths that no rule from a file opens.
const PROTECTED: [&str; 7] = [
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/skills/",
    ".claude/commands/",
    ".mcp.json",
    ".npmrc",
    ".cargo/config.toml",
];
/// The same, since the version with the flag.
const PROTECTED_SINCE: &str = ".git/config";

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Runs,
    /// With what the event calls the reason.
    Denied(&'static str),
    /// The tool is taken away: an error, and no denial.
    NoSuchTool,
}

pub(crate) struct Judge {
    allow: Vec<Rule>,
    deny: Vec<Rule>,
    ask: Vec<Rule>,
    mode: String,
    worktree: String,
    protects_git: bool,
}

impl Judge {
    pub(crate) fn new(flags: &Flags, account: Settings, version: &Version) -> Self {
        let worktree = env::current_dir().unwrap();
        let mut all = account;
        all.allow.extend(flags.allowed_tools.iter().cloned());
        let mode = flags.mode.clone().or(all.default_mode.clone()).unwrap_or_else(|| "default".into());
        // The repository's own file allows nothing, but what it denies counts; the local one counts whole.
        for (source, name, allows) in [("project", "settings.json", false), ("local", "settings.local.json", true)] {
            let file = Path::new(".claude").join(name);
            if flags.has_source(source)
                && let Ok(settings) = settings::read(&file)
            {
                all.deny.extend(settings.deny);
                all.ask.extend(settings.ask);
                all.allow.extend(if allows { settings.allow } else { Vec::new() });
            }
        }
        let read = |list: &[String]| list.iter().filter_map(|rule| Rule::read(rule).ok()).collect();
        Self {
            allow: read(&all.allow),
            deny: read(&all.deny),
            ask: read(&all.ask),
            mode,
            worktree: worktree.to_string_lossy().into_owned(),
            protects_git: version.tells_denials(),
        }
    }

    pub(crate) fn mode(&self) -> &str {
        &self.mode
    }

    pub(crate) fn bypasses(&self) -> bool {
        self.mode == "bypassPermissions"
    }

    /// Returns the tools that are left.
    pub(crate) fn tools(&self) -> Vec<&'static str> {
        TOOLS.into_iter().filter(|tool| !self.takes_away(tool)).collect()
    }

    fn takes_away(&self, tool: &str) -> bool {
        self.deny.iter().any(|rule| rule.tool() == tool && rule.content().is_none())
    }

    pub(crate) fn decide(&self, tool: &str, input: &Value) -> Decision {
        if self.takes_away(tool) {
            return Decision::NoSuchTool;
        }
        let call = self.call(tool, input);
        if self.deny.iter().any(|rule| rule.matches(&call)) {
            return Decision::Denied("subcommandResults");
        }
        if self.bypasses() {
            return Decision::Runs;
        }
        let refused = if self.mode == "dontAsk" { "mode" } else { "asyncAgent" };
        if self.ask.iter().any(|rule| rule.matches(&call)) {
            return Decision::Denied(refused);
        }
        let is_file = FILE_TOOLS.contains(&tool);
        if is_file && call.file().is_none_or(|file| self.protects(file)) {
            return Decision::Denied("other");
        }
        match self.mode.as_str() {
            "plan" if is_file => return Decision::Denied(refused),
            "acceptEdits" | "auto" if is_file => return Decision::Runs,
            _ => {}
        }
        let reads_here =
            tool == "Read" && call.file().is_some_and(|file| !file.starts_with('/') && !file.contains(".."));
        if reads_here || allows(&self.allow, &call, &self.worktree) {
            Decision::Runs
        } else {
            Decision::Denied(refused)
        }
    }

    fn protects(&self, file: &str) -> bool {
        let file = file.strip_prefix("./").unwrap_or(file);
        let listed =
            PROTECTED.iter().any(|path| if path.ends_with('/') { file.starts_with(path) } else { file == *path });
        listed || (self.protects_git && file == PROTECTED_SINCE)
    }

    fn call(&self, tool: &str, input: &Value) -> ToolCall {
        let text = |key: &str| input.get(key).and_then(Value::as_str).map(ToOwned::to_owned);
        let file = |key: &str| {
            let path = text(key)?;
            let inside = path.strip_prefix(&self.worktree).and_then(|rest| rest.strip_prefix('/'));
            Some(Subject::File(inside.map(ToOwned::to_owned).unwrap_or(path)))
        };
        let subject = match tool {
            BASH => text("command").map(Subject::Command),
            "NotebookEdit" => file("notebook_path"),
            "Read" => file("file_path"),
            _ if FILE_TOOLS.contains(&tool) => file("file_path"),
            "WebFetch" => text("url").map(Subject::Address),
            "Skill" => text("skill").map(Subject::Skill),
            _ => None,
        };
        ToolCall { id: None, tool: tool.into(), subject: subject.unwrap_or(Subject::Other), input: input.to_string() }
    }
}
