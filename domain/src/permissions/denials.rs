//! What an Agent was refused, and the line to add so that it passes next time (D21). A call that was refused is counted
//! once, however often it is told; equal calls are one entry. Owl shows where the line may stand and writes it nowhere.

use super::{BASH, CommandLine, FILE_TOOLS, Part, Rule, allows, harmless, rule};
use crate::{limits, show::visible, text::cut_chars};
use alloc::{
    collections::BTreeSet,
    format,
    string::{String, ToString},
    vec::Vec,
};

/// A call of one of the coding tool's own tools, as its stream tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The call's own id; none where the stream gives none.
    pub id: Option<String>,
    /// The tool's name.
    pub tool: String,
    /// What it is about.
    pub subject: Subject,
    /// The whole input as JSON, in one spelling: with the name it tells whether two calls are equal.
    pub input: String,
}

/// What a call is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A command line.
    Command(String),
    /// A file, relative to the worktree when it lies there.
    File(String),
    /// An address.
    Address(String),
    /// A skill.
    Skill(String),
    /// Something else; the input tells.
    Other,
}

impl ToolCall {
    /// Returns the command line of a call that runs one.
    pub fn command(&self) -> Option<&str> {
        match &self.subject {
            Subject::Command(line) => Some(line),
            Subject::File(_) | Subject::Address(_) | Subject::Skill(_) | Subject::Other => None,
        }
    }

    /// Returns the file of a call that is about one.
    pub fn file(&self) -> Option<&str> {
        match &self.subject {
            Subject::File(file) => Some(file),
            Subject::Command(_) | Subject::Address(_) | Subject::Skill(_) | Subject::Other => None,
        }
    }

    /// Returns the skill of a call that uses one.
    pub fn skill(&self) -> Option<&str> {
        match &self.subject {
            Subject::Skill(skill) => Some(skill),
            Subject::Command(_) | Subject::File(_) | Subject::Address(_) | Subject::Other => None,
        }
    }

    /// Returns the host of a call that fetches an address, in lower case and without its port.
    pub fn host(&self) -> Option<String> {
        let Subject::Address(address) = &self.subject else { return None };
        let (_, rest) = address.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next()?;
        let host = authority.rsplit('@').next()?.split(':').next()?;
        let fits = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        (!host.is_empty() && host.chars().all(fits)).then(|| host.to_ascii_lowercase())
    }

    /// Returns what it is about on one line that prints as itself, at most 200 characters.
    #[must_use]
    pub fn summary(&self) -> String {
        let whole = match &self.subject {
            Subject::Command(text) | Subject::File(text) | Subject::Address(text) | Subject::Skill(text) => text,
            Subject::Other => &self.input,
        };
        let shown = visible(&cut_chars(whole, limits::DENIAL_SUMMARY_CHARS));
        cut_chars(&shown.replace('\n', "\\n").replace('\t', "\\t"), limits::DENIAL_SUMMARY_CHARS)
    }

    fn is_like(&self, other: &Self) -> bool {
        self.tool == other.tool && self.input == other.input
    }
}

/// The lists that a Run's Agent was told, as far as the tool honours them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lists {
    /// What passes: the Account's, then the Project's.
    pub allow: Vec<Rule>,
    /// What never passes.
    pub deny: Vec<Rule>,
    /// What would be asked about, and so does not pass either.
    pub ask: Vec<Rule>,
    /// The root of the worktree.
    pub worktree: String,
}

impl Lists {
    /// Says whether the tool would let a call pass by these lists alone: it protects some paths besides.
    #[must_use]
    pub fn allow(&self, call: &ToolCall) -> bool {
        self.forbidding(call).is_none() && allows(&self.allow, call, &self.worktree)
    }

    fn forbidding(&self, call: &ToolCall) -> Option<(&'static str, &Rule)> {
        let first = |list: &'static str, rules: &'_ [Rule]| {
            rules.iter().position(|rule| rule.matches(call)).map(|index| (list, index))
        };
        let (list, index) = first("deny", &self.deny).or_else(|| first("ask", &self.ask))?;
        let rules = if list == "deny" { &self.deny } else { &self.ask };
        rules.get(index).map(|rule| (list, rule))
    }
}

/// The calls of one Run that were refused.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Denials {
    entries: Vec<(ToolCall, u32)>,
    seen: BTreeSet<String>,
    /// How many more there were than are told apart.
    more: u32,
}

impl Denials {
    /// Counts a refused call, unless its id was counted before. Returns how often its like was refused by now.
    pub fn add(&mut self, call: ToolCall) -> u32 {
        if let Some(id) = &call.id
            && !self.seen.insert(id.clone())
        {
            return 0;
        }
        if let Some((_, count)) = self.entries.iter_mut().find(|(entry, _)| entry.is_like(&call)) {
            *count = count.saturating_add(1);
            return *count;
        }
        if self.entries.len() >= limits::DENIALS_TOLD_APART {
            self.more = self.more.saturating_add(1);
            return 0;
        }
        self.entries.push((call, 1));
        1
    }

    /// Returns how many calls were refused.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.entries.iter().fold(self.more, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Returns each refused call with the line to add, in order of their first refusal.
    #[must_use]
    pub fn told(&self, lists: &Lists) -> Vec<DeniedCall> {
        let told = |(call, count): &(ToolCall, u32)| {
            let advice = advise(call, lists);
            let (tool, input_summary) = (visible(&call.tool), call.summary());
            DeniedCall { tool, input_summary, count: *count, rule_to_add: advice.rule, why: advice.why }
        };
        self.entries.iter().map(told).collect()
    }
}

/// A call that was refused, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeniedCall {
    /// The tool.
    pub tool: String,
    /// What the call was about, on one line.
    pub input_summary: String,
    /// How often.
    pub count: u32,
    /// The one line that lets it pass.
    pub rule_to_add: Option<String>,
    /// Why no line helps; or, beside a line, what it also lets pass.
    pub why: Option<String>,
}

/// What to do about a refused call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// The one line that lets it pass.
    pub rule: Option<String>,
    /// Why no line helps; or, beside a line, what it also lets pass.
    pub why: Option<String>,
}

/// Programs whose next word is a verb, which then stands in the rule: `docker build` does not allow `docker run`.
const WITH_VERB: [&str; 15] = [
    "docker",
    "podman",
    "kubectl",
    "helm",
    "terraform",
    "gh",
    "aws",
    "gcloud",
    "az",
    "pip",
    "uv",
    "poetry",
    "brew",
    "apt-get",
    "systemctl",
];
/// Programs that run whatever they are given.
const RUNS_ANYTHING: [&str; 12] =
    ["sh", "bash", "zsh", "dash", "env", "xargs", "sudo", "eval", "ssh", "node", "perl", "ruby"];
const ALLOWED_ALREADY: &str = "it is allowed already; the tool refuses this itself";

/// Says which line lets a refused call pass.
#[must_use]
pub fn advise(call: &ToolCall, lists: &Lists) -> Advice {
    if let Some((list, rule)) = lists.forbidding(call) {
        return no_line(format!("the Account's `{list}` names `{rule}`, and no allow rule lifts that"));
    }
    if call.tool == BASH
        && let Some(line) = call.command()
    {
        return for_command(line, lists);
    }
    if allows(&lists.allow, call, &lists.worktree) {
        return no_line(match call.file() {
            Some(file) if FILE_TOOLS.contains(&call.tool.as_str()) => {
                format!("{} is allowed already; the tool protects the path `{}` itself", call.tool, visible(file))
            }
            Some(_) | None => ALLOWED_ALREADY.into(),
        });
    }
    let rule = match (call.tool.as_str(), &call.subject) {
        ("WebFetch", _) => match call.host() {
            Some(host) => format!("WebFetch(domain:{host})"),
            None => return no_line("its address has no host that a rule could name".into()),
        },
        ("Skill", Subject::Skill(skill)) => format!("Skill({skill})"),
        (tool, _) => tool.into(),
    };
    match Rule::read(&rule) {
        Ok(rule) => Advice { rule: Some(rule.to_string()), why: None },
        Err(dead) => no_line(format!("no rule can name it: {dead}")),
    }
}

fn no_line(why: String) -> Advice {
    Advice { rule: None, why: Some(why) }
}

fn for_command(line: &str, lists: &Lists) -> Advice {
    let line = match CommandLine::read(line) {
        Ok(line) => line,
        Err(unsplit) => return no_line(unsplit.to_string()),
    };
    let mut needed: Vec<Needed> = Vec::new();
    for part in &line.parts {
        for file in part.writes.iter().filter(|file| !rule::writes(&lists.allow, file)) {
            match for_redirect(file) {
                Ok(rule) => needed.push(Needed { rule, runs_anything: false }),
                Err(why) => return no_line(why),
            }
        }
        if part.words.is_empty() || harmless(part, &lists.worktree) || rule::runs(&lists.allow, part) {
            continue;
        }
        match for_part(part) {
            Ok(rule) => needed.push(rule),
            Err(why) => return no_line(why),
        }
    }
    needed.dedup_by(|a, b| a.rule == b.rule);
    match needed.as_slice() {
        [] => no_line("every part of it is covered; the tool refuses the form".into()),
        [one] => Advice { rule: Some(one.rule.clone()), why: one.warning() },
        several => {
            let names: Vec<String> = several.iter().map(|one| format!("`{}`", one.rule)).collect();
            let warning = several.iter().find_map(Needed::warning).map(|text| format!("; {text}")).unwrap_or_default();
            no_line(format!("no single rule covers it: {} are all needed{warning}", names.join(" and ")))
        }
    }
}

struct Needed {
    rule: String,
    runs_anything: bool,
}

impl Needed {
    fn warning(&self) -> Option<String> {
        self.runs_anything.then(|| format!("`{}` lets the Agent run anything", self.rule))
    }
}

fn for_redirect(file: &str) -> Result<String, String> {
    let shown = visible(file);
    let plain = |c: char| c.is_alphanumeric() || "._/+@-".contains(c);
    if file.starts_with(['/', '~']) || file.split('/').any(|segment| segment == "..") || !file.chars().all(plain) {
        return Err(format!("its output goes into `{shown}`, which no rule of this worktree covers"));
    }
    Ok(format!("Edit({file})"))
}

fn for_part(part: &Part) -> Result<Needed, String> {
    let program = part.program();
    if program == rule::CD {
        return Err(format!("`{}` leaves the worktree, and no rule allows that", visible(&part.text)));
    }
    let plain = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || "._/+@-".contains(c));
    if !plain(program) {
        return Err(format!("no rule can name the program `{}`", visible(program)));
    }
    let assigned = |word: &str| plain(word.replacen('=', "", 1).as_str());
    if let Some(odd) = part.assignments.iter().find(|word| !assigned(word)) {
        return Err(format!("no rule can name the assignment `{}`", visible(odd)));
    }
    let verb = part.words.get(1).filter(|verb| WITH_VERB.contains(&program) && is_verb(verb));
    let mut named: Vec<&str> = part.assignments.iter().map(String::as_str).collect();
    named.push(program);
    named.extend(verb.map(String::as_str));
    let name = program.rsplit('/').next().unwrap_or_default();
    let runs_anything = RUNS_ANYTHING.contains(&name) || name.starts_with("python");
    Ok(Needed { rule: format!("Bash({}:*)", named.join(" ")), runs_anything })
}

fn is_verb(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

#[cfg(test)]
mod tests;
