//! One rule of a list, read as the coding tool reads it: `Tool` or `Tool(content)`. A rule that the tool drops without a
//! word is dead here, with the reason. What is said of the tool was tried with 2.1.197 and 2.1.332 (ADR-0035).

use super::{
    ToolCall,
    command::{CommandLine, Part},
    harmless,
};
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

/// The tool that runs shell commands.
pub const BASH: &str = "Bash";
/// Goes to another directory; the tool judges where by itself.
pub(super) const CD: &str = "cd";
/// The tools that write files; a rule with a path counts for all of them, and only as `Edit(path)`.
pub const FILE_TOOLS: [&str; 4] = ["Edit", "Write", "NotebookEdit", "MultiEdit"];
/// Names that are known, to notice one in another case. A name that is not here is no mistake: tools come and go.
const KNOWN: [&str; 17] = [
    "Agent",
    "Bash",
    "BashOutput",
    "Edit",
    "Glob",
    "Grep",
    "KillShell",
    "MultiEdit",
    "NotebookEdit",
    "Read",
    "Skill",
    "SlashCommand",
    "Task",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Write",
];
/// Tools for which a rule with a path is taken and never looked at.
const PATHS_UNREAD: [&str; 3] = ["Write", "NotebookEdit", "Glob"];

/// A rule that the tool honours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    tool: String,
    content: Option<String>,
}

/// Why the tool ignores a rule, without saying so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Dead {
    /// It is empty, or has blanks around it or before its parenthesis.
    #[error("a blank stands where none may; the tool ignores it")]
    Blank,
    /// It does not end with its parenthesis.
    #[error("its parenthesis is not closed; the tool ignores it")]
    Unclosed,
    /// Something stands behind the closing parenthesis.
    #[error("text stands behind the closing parenthesis; the tool ignores it")]
    Behind,
    /// Nothing stands between the parentheses.
    #[error("its parentheses are empty; the tool ignores it")]
    Empty,
    /// The name is no name.
    #[error("`{0}` names no tool; the tool ignores it")]
    NoTool(String),
    /// A colon stands where parentheses belong.
    #[error("write {0}; as it stands the tool ignores it")]
    Colon(String),
    /// The name is known in another case.
    #[error("the tool is called {0}, in exactly this case; the tool ignores it")]
    Case(&'static str),
    /// A path where none is looked at.
    #[error("the tool never looks at a path of {tool}; write Edit({path})")]
    PathUnread {
        /// Which tool.
        tool: String,
        /// The path.
        path: String,
    },
    /// A place to fetch from that is not a domain.
    #[error("write WebFetch(domain:HOST), without a port; the tool ignores it")]
    NoDomain,
}

impl Rule {
    /// Reads a rule.
    ///
    /// # Errors
    /// [`Dead`] when the tool would ignore it.
    pub fn read(text: &str) -> Result<Self, Dead> {
        if text.trim() != text || text.is_empty() {
            return Err(Dead::Blank);
        }
        let (tool, content) = match text.split_once('(') {
            None if text.ends_with(')') => return Err(Dead::NoTool(text.into())),
            None => (text, None),
            Some((tool, rest)) => match rest.rsplit_once(')') {
                None => return Err(Dead::Unclosed),
                Some((_, behind)) if !behind.is_empty() => return Err(Dead::Behind),
                Some(("", _)) => return Err(Dead::Empty),
                Some((content, _)) => (tool, Some(content)),
            },
        };
        name(tool)?;
        match (tool, content) {
            (_, None | Some("*")) => Ok(Self { tool: tool.into(), content: None }),
            (tool, Some(path)) if PATHS_UNREAD.contains(&tool) => {
                Err(Dead::PathUnread { tool: tool.into(), path: path.into() })
            }
            ("WebFetch", Some(content)) => match content.strip_prefix("domain:") {
                Some(host) if !host.is_empty() && !host.contains([':', '/']) => {
                    Ok(Self { tool: tool.into(), content: Some(content.into()) })
                }
                Some(_) | None => Err(Dead::NoDomain),
            },
            (tool, Some(content)) => Ok(Self { tool: tool.into(), content: Some(content.into()) }),
        }
    }

    /// Returns the name of the tool that it is about.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns what stands between its parentheses; none when it is about every call of its tool.
    pub fn content(&self) -> Option<&str> {
        self.content.as_deref()
    }

    /// Says whether it is about this call, or of a command about at least one of its parts.
    pub fn matches(&self, call: &ToolCall) -> bool {
        if self.tool == BASH && call.tool == BASH {
            return match (&self.content, call.command()) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(pattern), Some(line)) => match CommandLine::read(line) {
                    Ok(line) => line.parts.iter().any(|part| matches_command(pattern, &part.text)),
                    Err(_) => matches_command(pattern, line),
                },
            };
        }
        self.covers_other(call)
    }

    /// Says whether it covers a call of any tool but the one for commands.
    fn covers_other(&self, call: &ToolCall) -> bool {
        if self.content.is_none() {
            let server = || self.tool.starts_with("mcp__") && call.tool.starts_with(&format!("{}__", self.tool));
            return self.tool == call.tool || server();
        }
        let content = self.content.as_deref().unwrap_or_default();
        match self.tool.as_str() {
            "WebFetch" => call.tool == "WebFetch" && call.host().is_some_and(|host| domain_matches(content, &host)),
            "Skill" => call.tool == "Skill" && call.skill() == Some(content),
            "Edit" => FILE_TOOLS.contains(&call.tool.as_str()) && call.file().is_some_and(|file| file == content),
            _ => false,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.content {
            None => f.write_str(&self.tool),
            Some(content) => write!(f, "{}({content})", self.tool),
        }
    }
}

/// Returns the rules that the tool honours, and the others with the reason.
#[must_use]
pub fn sort(list: &[String]) -> (Vec<Rule>, Vec<Ignored>) {
    let mut rules = Vec::new();
    let mut ignored = Vec::new();
    for text in list {
        match Rule::read(text) {
            Ok(rule) => rules.push(rule),
            Err(dead) => ignored.push(Ignored { rule: text.clone(), why: dead.to_string() }),
        }
    }
    (rules, ignored)
}

/// An entry of a list that the tool does not honour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// The entry as it stands.
    pub rule: String,
    /// Why not.
    pub why: String,
}

/// Says whether the tool lets a call pass by these allow rules and its own reading set.
#[must_use]
pub fn allows(rules: &[Rule], call: &ToolCall, worktree: &str) -> bool {
    if call.tool != BASH {
        return rules.iter().any(|rule| rule.covers_other(call));
    }
    if rules.iter().any(|rule| rule.tool == BASH && rule.content.is_none()) {
        return true;
    }
    let Some(line) = call.command() else { return false };
    let Ok(line) = CommandLine::read(line) else { return false };
    line.parts.iter().all(|part| {
        let written = part.writes.iter().all(|file| writes(rules, file));
        written && (harmless(part, worktree) || runs(rules, part))
    })
}

/// Says whether a rule covers one part of a command, without what it redirects. None covers leaving the worktree.
pub(super) fn runs(rules: &[Rule], part: &Part) -> bool {
    let covers = |rule: &Rule| {
        rule.tool == BASH && rule.content.as_deref().is_none_or(|pattern| matches_command(pattern, &part.text))
    };
    part.program() != CD && rules.iter().any(covers)
}

/// Says whether a rule lets a command's output go into a file: bare rules do not.
pub(super) fn writes(rules: &[Rule], file: &str) -> bool {
    rules.iter().any(|rule| rule.tool == "Edit" && rule.content.as_deref() == Some(file))
}

fn name(tool: &str) -> Result<(), Dead> {
    if tool.ends_with(char::is_whitespace) {
        return Err(Dead::Blank);
    }
    if let Some((before, behind)) = tool.split_once(':') {
        return Err(Dead::Colon(format!("{before}({behind})")));
    }
    let begins = tool.starts_with(|c: char| c.is_ascii_alphabetic());
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c) || (c == '*' && tool.starts_with("mcp__"));
    if !begins || !tool.chars().all(fits) {
        return Err(Dead::NoTool(tool.into()));
    }
    match KNOWN.iter().find(|known| known.eq_ignore_ascii_case(tool) && **known != tool) {
        Some(known) => Err(Dead::Case(known)),
        None => Ok(()),
    }
}

/// `x:*` and `x *` are `x` and whatever follows it after a blank; another `*` is anything; else the text is exact.
fn matches_command(pattern: &str, text: &str) -> bool {
    if let Some(prefix) = pattern.strip_suffix(":*") {
        return begins_with(prefix, text);
    }
    match pattern.strip_suffix(" *") {
        Some(prefix) if !prefix.contains('*') => begins_with(prefix, text),
        Some(_) | None => glob(pattern, text),
    }
}

fn begins_with(prefix: &str, text: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')) && !prefix.is_empty()
}

fn glob(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut last = None;
    for piece in pieces {
        if let Some(before) = last.replace(piece) {
            match rest.find(before) {
                Some(at) => rest = rest.get(at + before.len()..).unwrap_or_default(),
                None => return false,
            }
        }
    }
    last.map_or(rest.is_empty(), |last| rest.ends_with(last))
}

/// A `*.` before the domain stands for its subdomains and not for itself. Letters are compared without case.
fn domain_matches(content: &str, host: &str) -> bool {
    let domain = content.strip_prefix("domain:").unwrap_or_default().to_ascii_lowercase();
    match domain.strip_prefix("*.") {
        Some(above) => host.strip_suffix(above).is_some_and(|sub| sub.ends_with('.')),
        None => domain == host,
    }
}

#[cfg(test)]
mod tests;
