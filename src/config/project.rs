//! A Project's own file, `.coding-owl.yaml`, read from its base branch and from nowhere else, so that an Agent cannot
//! change the terms it runs under (D2, D3).

use super::{
    API_VERSION, span,
    strict::{self, Text, Wrong},
};
use async_trait::async_trait;
use owl_domain::{
    job, limits,
    ports::{BaseFile, Repositories, Terms},
    project::{FileError, Project, ProjectFile},
    text::{AccountName, CommitId},
};
use serde::Deserialize;
use std::{path::Path, sync::Arc};

/// The two names of the file; the first that is there is read.
const NAMES: [&str; 2] = [".coding-owl.yaml", ".config/coding-owl.yaml"];

/// A Project's own file as it is written.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(title = "A Project's own file: .coding-owl.yaml")]
pub(crate) struct RawProject {
    /// Always `codingowl.dev/v1`.
    api_version: Text,
    /// The Account whose Agents work on this Project.
    account: Option<Text>,
    /// What the names of Jobs' branches begin with; `owl/job-` when left out.
    branch_prefix: Option<Text>,
    /// Shell commands that run in order in a fresh worktree before its first Run; 15 minutes in all.
    setup: Option<Vec<Text>>,
    /// Shell commands that judge a Run's work.
    checks: Option<Vec<RawCheck>>,
    /// Whether a fresh Agent reviews the work.
    verification: Option<RawVerification>,
    /// What this Project's Agents may do on top of their Account's list, one rule each.
    allowed_tools: Option<Vec<Text>>,
    /// Sentences that are added to Owl's standing contract for unattended work.
    unattended_clauses: Option<Vec<Text>>,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawCheck {
    /// What the check is called.
    name: Text,
    /// The shell command.
    run: Text,
    /// How long it may take, such as 10m, which is the default.
    timeout: Option<Text>,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawVerification {
    /// Whether a fresh Agent reviews the work.
    agent: Option<bool>,
}

/// Reads the text of a Project's own file; `commit` is where it comes from.
///
/// # Errors
/// [`Wrong`] says where and what would be right.
fn read(file: &Path, text: &str, commit: CommitId) -> Result<job::Terms, Wrong> {
    let raw: RawProject = strict::read(file, text)?;
    let wrong = |key: String, line_key: &str, message: String| Wrong {
        file: file.into(),
        line: strict::line_of(text, line_key, 0),
        column: None,
        key: Some(key),
        message,
    };
    if raw.api_version.0 != API_VERSION {
        let message = format!("`{}` is not read by this Owl; write {API_VERSION}", raw.api_version.0);
        return Err(wrong("apiVersion".into(), "apiVersion", message));
    }
    let account = match raw.account.map(|account| AccountName::new(account.0)) {
        None => None,
        Some(Ok(name)) => Some(name),
        Some(Err(error)) => return Err(wrong("account".into(), "account", format!("an account's name is {error}"))),
    };
    if let Some(prefix) = &raw.branch_prefix
        && !begins_a_branch(&prefix.0)
    {
        let message = "it must begin a branch's name that git accepts, such as owl/job-".into();
        return Err(wrong("branchPrefix".into(), "branchPrefix", message));
    }
    let mut checks = Vec::new();
    for (index, check) in raw.checks.into_iter().flatten().enumerate() {
        if check.name.0.trim().is_empty() || check.run.0.trim().is_empty() {
            return Err(wrong(format!("checks[{index}]"), "checks", "it needs a name and a command".into()));
        }
        let timeout = match &check.timeout {
            None => limits::CHECK,
            Some(timeout) => span::parse(&timeout.0).filter(|span| !span.is_zero()).ok_or_else(|| {
                let message = format!("`{}` is not a duration such as 10m", timeout.0);
                wrong(format!("checks[{index}].timeout"), "timeout", message)
            })?,
        };
        checks.push(job::Check { name: check.name.0, run: check.run.0, timeout });
    }
    for (key, texts) in [("setup", &raw.setup), ("unattendedClauses", &raw.unattended_clauses)] {
        if let Some(index) = texts.iter().flatten().position(|text| text.0.trim().is_empty()) {
            return Err(wrong(format!("{key}[{index}]"), key, "it is empty".into()));
        }
    }
    let clauses: usize = raw.unattended_clauses.iter().flatten().map(|clause| clause.0.len()).sum();
    if clauses > limits::CLAUSES_BYTES {
        let message = format!("they have {clauses} bytes together, and may have {}", limits::CLAUSES_BYTES);
        return Err(wrong("unattendedClauses".into(), "unattendedClauses", message));
    }
    for (index, rule) in raw.allowed_tools.iter().flatten().enumerate() {
        if let Err(message) = check_rule(&rule.0) {
            return Err(wrong(format!("allowedTools[{index}]"), "allowedTools", message));
        }
    }
    if raw.allowed_tools.as_ref().is_some_and(|rules| rules.len() > limits::RULES) {
        let message = format!("there may be {} rules", limits::RULES);
        return Err(wrong("allowedTools".into(), "allowedTools", message));
    }
    let texts = |texts: Option<Vec<Text>>| texts.into_iter().flatten().map(|text| text.0).collect();
    Ok(job::Terms {
        account,
        branch_prefix: raw.branch_prefix.map(|prefix| prefix.0),
        setup: texts(raw.setup),
        checks,
        verification_agent: raw.verification.and_then(|verification| verification.agent).unwrap_or(false),
        allowed_tools: texts(raw.allowed_tools),
        unattended_clauses: texts(raw.unattended_clauses),
        file: Some(file.display().to_string()),
        commit: Some(commit),
    })
}

/// Says whether a number behind it makes the name of a branch that git takes.
fn begins_a_branch(prefix: &str) -> bool {
    let odd = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c);
    let segments = || prefix.split('/').rev().skip(1);
    let bad_segment = |segment: &str| segment.is_empty() || segment.starts_with('.') || segment.ends_with(".lock");
    !prefix.is_empty()
        && !prefix.starts_with(['-', '/', '.'])
        && !prefix.contains(odd)
        && !prefix.contains("..")
        && !prefix.contains("@{")
        && !prefix.contains("/.")
        && !segments().any(bad_segment)
        && prefix.len() <= 100
}

/// A rule becomes one word of a command line, and one line wherever it is shown.
fn check_rule(rule: &str) -> Result<(), String> {
    if rule.len() > limits::RULE_BYTES {
        return Err(format!("a rule has at most {} bytes", limits::RULE_BYTES));
    }
    let prints = owl_domain::show::visible(rule) == *rule && !rule.contains(['\n', '\t']);
    if rule.trim() != rule || rule.is_empty() || rule.starts_with('-') || !prints {
        let message = "a rule is one line that prints as itself and does not begin with a dash, such as Bash(just:*)";
        return Err(message.into());
    }
    Ok(())
}

/// Reads Projects' own files from their base branches.
pub(crate) struct BaseTerms {
    repositories: Arc<dyn Repositories>,
}

impl BaseTerms {
    pub(crate) fn new(repositories: Arc<dyn Repositories>) -> Self {
        Self { repositories }
    }

    async fn find(&self, project: &Project) -> Result<Option<(&'static str, BaseFile)>, FileError> {
        for name in NAMES {
            let read = self.repositories.read_base(project, name).await;
            let found = read.map_err(|error| FileError {
                file: name.into(),
                key: None,
                line: None,
                column: None,
                message: error.to_string(),
            })?;
            if let Some(found) = found {
                return Ok(Some((name, found)));
            }
        }
        Ok(None)
    }

    async fn near_misses(&self, project: &Project) -> Vec<String> {
        let mut misses = Vec::new();
        for (directory, prefix) in [("", ""), (".config", ".config/")] {
            let Ok(names) = self.repositories.list_base(project, directory).await else {
                continue;
            };
            misses.extend(names.iter().map(|name| format!("{prefix}{name}")).filter(|path| is_near_miss(path)));
        }
        misses
    }
}

#[async_trait]
impl Terms for BaseTerms {
    async fn file(&self, project: &Project) -> ProjectFile {
        let near_misses = self.near_misses(project).await;
        match self.find(project).await {
            Ok(None) => ProjectFile { near_misses, ..ProjectFile::default() },
            Ok(Some((name, file))) => ProjectFile {
                file: Some(name.into()),
                error: read(Path::new(name), &file.text, file.commit.clone()).err().map(told),
                commit: Some(file.commit),
                near_misses,
            },
            Err(error) => ProjectFile { file: Some(error.file.clone()), commit: None, error: Some(error), near_misses },
        }
    }

    async fn terms(&self, project: &Project) -> Result<job::Terms, FileError> {
        match self.find(project).await? {
            None => Ok(job::Terms::default()),
            Some((name, file)) => read(Path::new(name), &file.text, file.commit).map_err(told),
        }
    }
}

fn told(wrong: Wrong) -> FileError {
    FileError {
        file: wrong.file.display().to_string(),
        key: wrong.key,
        line: wrong.line,
        column: wrong.column,
        message: wrong.message,
    }
}

/// Says whether a path is nearly one of the two names: another ending, a missing dot, another separator or case.
fn is_near_miss(path: &str) -> bool {
    if NAMES.contains(&path) {
        return false;
    }
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let near = ["codingowlyaml", "codingowlyml", "codingowl", "owlyaml", "owlyml"].contains(&plain.as_str());
    near && (directory.is_empty() || directory == ".config")
}

/// Reads an example of the documentation.
#[cfg(test)]
pub(super) fn read_example(text: &str) -> job::Terms {
    read(Path::new(".coding-owl.yaml"), text, CommitId::new("a".repeat(40)).unwrap()).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn terms(text: &str) -> Result<job::Terms, Wrong> {
        read(Path::new(".coding-owl.yaml"), text, CommitId::new("a".repeat(40)).unwrap())
    }

    fn refused(text: &str) -> String {
        terms(text).unwrap_err().to_string()
    }

    #[test]
    fn a_whole_file_is_read_into_terms() {
        let text = "apiVersion: codingowl.dev/v1\naccount: work\nbranchPrefix: owl/job-\nsetup:\n  - npm ci\nchecks:\n  \
                    - name: test\n    run: just test\n    timeout: 5m\n  - name: lint\n    run: just lint\nverification:\n  \
                    agent: true\nallowedTools:\n  - Bash(just:*)\n  - Bash(curl -a, b:*)\nunattendedClauses:\n  - Write \
                    tests first.\n";
        let check = |name: &str, run: &str, minutes: u64| job::Check {
            name: name.into(),
            run: run.into(),
            timeout: Duration::from_secs(minutes * 60),
        };
        let expected = job::Terms {
            account: Some(AccountName::new("work").unwrap()),
            branch_prefix: Some("owl/job-".into()),
            setup: vec!["npm ci".into()],
            checks: vec![check("test", "just test", 5), check("lint", "just lint", 10)],
            verification_agent: true,
            allowed_tools: vec!["Bash(just:*)".into(), "Bash(curl -a, b:*)".into()],
            unattended_clauses: vec!["Write tests first.".into()],
            file: Some(".coding-owl.yaml".into()),
            commit: Some(CommitId::new("a".repeat(40)).unwrap()),
        };
        assert_eq!(terms(text), Ok(expected));
        let only_version = terms("apiVersion: codingowl.dev/v1\n").unwrap();
        assert_eq!((only_version.branch_prefix(), only_version.verification_agent), ("owl/job-", false));
    }

    #[test]
    fn what_could_not_be_a_branch_or_a_word_of_argv_is_refused() {
        for prefix in ["-x", "/x", ".x", "a b", "a..b", "a/.b", "x~", "a//b", "a.lock/x", "a@{x"] {
            let text = format!("apiVersion: codingowl.dev/v1\nbranchPrefix: '{prefix}'\n");
            assert!(refused(&text).contains("branchPrefix"), "{prefix}");
        }
        for prefix in ["owl/job-", "x", "team/a/", "job_"] {
            assert!(terms(&format!("apiVersion: codingowl.dev/v1\nbranchPrefix: '{prefix}'\n")).is_ok(), "{prefix}");
        }
        let long = "x".repeat(limits::RULE_BYTES);
        assert!(refused(&format!("apiVersion: codingowl.dev/v1\nallowedTools:\n  - Bash({long})\n")).contains("bytes"));
        let long = "x".repeat(limits::CLAUSES_BYTES + 1);
        assert!(refused(&format!("apiVersion: codingowl.dev/v1\nunattendedClauses:\n  - {long}\n")).contains("bytes"));
    }

    #[test]
    fn what_is_wrong_is_refused_naming_file_and_entry() {
        let begin = "apiVersion: codingowl.dev/v1\n";
        let cases = [
            (
                "allowedTool: []\n",
                ".coding-owl.yaml:2:1: `allowedTool`: unknown field `allowedTool`, expected one of `apiVersion`, `account`, `branchPrefix`, `setup`, `checks`, `verification`, `allowedTools`, `unattendedClauses`",
            ),
            (
                "allowedTools:\n  - ''\n",
                ".coding-owl.yaml:2: `allowedTools[0]`: a rule is one line that prints as itself and does not begin with a dash, such as Bash(just:*)",
            ),
            (
                "allowedTools:\n  - --dangerously-skip-permissions\n",
                ".coding-owl.yaml:2: `allowedTools[0]`: a rule is one line that prints as itself and does not begin with a dash, such as Bash(just:*)",
            ),
            (
                "allowedTools: Bash\n",
                ".coding-owl.yaml:2:15: `allowedTools`: invalid type: string \"Bash\", expected a sequence",
            ),
            (
                "checks:\n  - name: t\n    run: x\n    timeout: soon\n",
                ".coding-owl.yaml:5: `checks[0].timeout`: `soon` is not a duration such as 10m",
            ),
            ("account: Work\n", ".coding-owl.yaml:2: `account`: an account's name is ^[a-z0-9][a-z0-9_-]{0,63}$"),
            (
                "consent:\n  window: 1h\n",
                ".coding-owl.yaml:2:1: `consent`: unknown field `consent`, expected one of `apiVersion`, `account`, `branchPrefix`, `setup`, `checks`, `verification`, `allowedTools`, `unattendedClauses`",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(refused(&format!("{begin}{text}")), expected, "{text}");
        }
    }

    #[test]
    fn a_name_that_is_nearly_right_is_noticed() {
        for path in
            [".coding-owl.yml", "coding-owl.yaml", ".codingowl.yaml", ".Coding-Owl.yaml", ".config/coding-owl.yml"]
        {
            assert!(is_near_miss(path), "{path}");
        }
        for path in [".coding-owl.yaml", ".config/coding-owl.yaml", "README.md", "docs/coding-owl.yml"] {
            assert!(!is_near_miss(path), "{path}");
        }
    }
}
