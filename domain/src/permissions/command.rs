//! A command line of the coding tool, split as the tool judges it: part by part (ADR-0035, D21). Only enough of a shell to
//! tell which rule would cover a part; whatever is not understood is not split. The chat's own gate is another thing.

use alloc::{string::String, vec::Vec};

/// A line of parts, each of which must be covered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandLine {
    /// The parts in order.
    pub parts: Vec<Part>,
}

/// One part of a line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Part {
    /// What rules are compared with: its assignments and words, quotes taken off, without what was dropped.
    pub text: String,
    /// Assignments before the program, but for those that the tool knows to be harmless.
    pub assignments: Vec<String>,
    /// The program as it is written, then its words.
    pub words: Vec<String>,
    /// Files that its output is redirected into.
    pub writes: Vec<String>,
}

/// Says that no single rule covers a form, and which form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no single rule covers this form: {0}")]
pub struct Unsplit(pub &'static str);

/// Words of shell syntax.
const SYNTAX: [&str; 17] = [
    "for", "while", "until", "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "select", "function",
    "{", "}", "[[",
];
/// Variables that the tool skips before a program; tried.
const SKIPPED: [&str; 15] = [
    "NODE_ENV",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "GOOS",
    "GOARCH",
    "CGO_ENABLED",
    "GO111MODULE",
    "TZ",
    "CI",
    "FORCE_COLOR",
    "NO_COLOR",
    "TERM",
    "PYTHONUNBUFFERED",
    "LANGUAGE",
    "COLUMNS",
];
/// Programs that the tool runs without any rule, in every mode; tried.
const READING: [&str; 45] = [
    "ls",
    "cat",
    "head",
    "tail",
    "grep",
    "rg",
    "find",
    "wc",
    "pwd",
    "echo",
    "printf",
    "which",
    "type",
    "diff",
    "cmp",
    "comm",
    "stat",
    "du",
    "df",
    "sort",
    "uniq",
    "cut",
    "tr",
    "test",
    "[",
    "true",
    "false",
    "sleep",
    "date",
    "whoami",
    "hostname",
    "uname",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "file",
    "nl",
    "od",
    "md5sum",
    "sha256sum",
    "jq",
    "ps",
    "id",
    "seq",
];
/// The same, of git.
const READING_GIT: [&str; 7] = ["status", "log", "diff", "show", "blame", "rev-parse", "ls-files"];
/// With one of these a reading program does more than read.
const ACTING: [(&str, &[&str]); 2] = [
    ("find", &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"]),
    ("sort", &["-o", "--output", "--compress-program"]),
];

enum Token {
    Word(String),
    /// A redirect and the word it leads to, if that counts.
    Into(String),
    Cut,
}

impl CommandLine {
    /// Splits a line.
    ///
    /// # Errors
    /// [`Unsplit`] names what stands in the way.
    pub fn read(line: &str) -> Result<Self, Unsplit> {
        let mut parts = Vec::new();
        let mut words = Vec::new();
        let mut writes = Vec::new();
        for token in tokens(line)? {
            match token {
                Token::Word(word) => words.push(word),
                Token::Into(file) => writes.push(file),
                Token::Cut => parts.extend(part(core::mem::take(&mut words), core::mem::take(&mut writes))?),
            }
        }
        parts.extend(part(words, writes)?);
        Ok(Self { parts })
    }
}

impl Part {
    /// Returns its program as it is written.
    #[must_use]
    pub fn program(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }
}

/// Says whether the tool runs a part without any rule: it only reads, or goes to a directory of the worktree.
#[must_use]
pub fn harmless(part: &Part, worktree: &str) -> bool {
    if !part.assignments.is_empty() && !part.words.is_empty() {
        return false;
    }
    let arguments = part.words.get(1..).unwrap_or_default();
    let first = arguments.first().map_or("", String::as_str);
    match part.program() {
        "" => true,
        "cd" => arguments.len() == 1 && inside(first, worktree),
        "git" => READING_GIT.contains(&first),
        "docker" => first == "ps",
        "uniq" => arguments.iter().filter(|word| !word.starts_with('-')).count() < 2,
        program => {
            let acting =
                ACTING.iter().find(|(name, _)| *name == program).map_or(&[] as &[&str], |(_, options)| options);
            let acts = |word: &String| {
                acting.iter().any(|option| word == option || word.starts_with(&alloc::format!("{option}=")))
            };
            READING.contains(&program) && !arguments.iter().any(acts)
        }
    }
}

fn inside(directory: &str, worktree: &str) -> bool {
    let relative = match directory.strip_prefix(worktree) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => return !climbs(rest),
        Some(_) | None => directory,
    };
    !relative.starts_with(['/', '~', '-', '$']) && !climbs(relative)
}

fn climbs(path: &str) -> bool {
    path.split('/').any(|segment| segment == "..")
}

/// Makes a part of its words; none of no words.
fn part(words: Vec<String>, writes: Vec<String>) -> Result<Option<Part>, Unsplit> {
    if words.is_empty() {
        return if writes.is_empty() { Ok(None) } else { Ok(Some(Part { writes, ..Part::default() })) };
    }
    let mut words = words.into_iter().peekable();
    let mut assignments = Vec::new();
    let mut skipped_only = true;
    while let Some(word) = words.next_if(|word| is_assignment(word)) {
        skipped_only &= SKIPPED.contains(&word.split('=').next().unwrap_or_default());
        assignments.push(word);
    }
    if skipped_only {
        assignments.clear();
    }
    let words = unwrapped(words.collect());
    if words.first().is_some_and(|word| SYNTAX.contains(&word.as_str())) {
        return Err(Unsplit("it is shell syntax"));
    }
    let words = match words.split_first() {
        // A `!` only turns the outcome around.
        Some((first, rest)) if first == "!" => rest.to_vec(),
        Some(_) | None => words,
    };
    let text = assignments.iter().chain(&words).map(String::as_str).collect::<Vec<_>>().join(" ");
    Ok(Some(Part { text, assignments, words, writes }))
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Drops the programs in front that the tool looks through.
fn unwrapped(words: Vec<String>) -> Vec<String> {
    let mut rest = words.as_slice();
    while let Some((first, behind)) = rest.split_first() {
        let program = match first.as_str() {
            "time" | "nohup" => behind,
            "nice" => options(behind, &["-n"]),
            "timeout" => match options(behind, &["-s", "-k"]).split_first() {
                Some((_duration, program)) => program,
                None => break,
            },
            _ => break,
        };
        if program.is_empty() {
            break;
        }
        rest = program;
    }
    rest.to_vec()
}

/// Skips options, and the word behind each of those that take one.
fn options<'a>(mut words: &'a [String], with_value: &[&str]) -> &'a [String] {
    while let Some((first, behind)) = words.split_first() {
        if !first.starts_with('-') {
            break;
        }
        let skip = usize::from(with_value.contains(&first.as_str()));
        words = behind.get(skip..).unwrap_or_default();
    }
    words
}

/// Reads the words and the signs between them.
fn tokens(line: &str) -> Result<Vec<Token>, Unsplit> {
    let mut tokens = Vec::new();
    let mut chars = line.trim().chars().peekable();
    let mut word: Option<String> = None;
    // What follows a redirect, and whether that is a file which is written.
    let mut redirect: Option<bool> = None;
    loop {
        let c = chars.next();
        let ends = c.is_none_or(|c| c.is_whitespace() || ";|&<>".contains(c));
        if ends && let Some(done) = word.take() {
            let descriptor = matches!(c, Some('<' | '>')) && done.chars().all(|c| c.is_ascii_digit());
            match redirect.take() {
                Some(true) if done != "/dev/null" => tokens.push(Token::Into(done)),
                Some(_) => {}
                None if descriptor => {}
                None => tokens.push(Token::Word(done)),
            }
        }
        let Some(c) = c else { break };
        match c {
            '\n' | '\r' => return Err(Unsplit("it has a line break")),
            '#' if word.is_none() => break,
            _ if c.is_whitespace() => {}
            '\'' => quoted(&mut chars, word.get_or_insert_default())?,
            '"' => double_quoted(&mut chars, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().extend(chars.next()),
            '`' => return Err(Unsplit("it runs a command inside (a backtick)")),
            '$' if chars.peek() == Some(&'(') => return Err(Unsplit("it runs a command inside ($( ))")),
            '(' | ')' => return Err(Unsplit("it is shell syntax (a parenthesis)")),
            '<' => {
                if matches!(chars.peek(), Some('<' | '(')) {
                    return Err(Unsplit("it has a here-document or runs a command inside"));
                }
                redirect = Some(false);
            }
            '>' => {
                let next = chars.next_if(|c| ">|&(".contains(*c));
                if next == Some('(') {
                    return Err(Unsplit("it runs a command inside (>( ))"));
                }
                redirect = Some(next != Some('&'));
            }
            '&' => match chars.peek() {
                Some('&') => {
                    chars.next();
                    tokens.push(Token::Cut);
                }
                Some('>') => {
                    chars.next();
                    chars.next_if_eq(&'>');
                    redirect = Some(true);
                }
                _ => return Err(Unsplit("a part of it goes on in the background (&)")),
            },
            '|' => {
                chars.next_if(|c| "|&".contains(*c));
                tokens.push(Token::Cut);
            }
            ';' => tokens.push(Token::Cut),
            _ => word.get_or_insert_default().push(c),
        }
    }
    if redirect.is_some() {
        return Err(Unsplit("a redirect leads nowhere"));
    }
    Ok(tokens)
}

type Chars<'a> = core::iter::Peekable<core::str::Chars<'a>>;

fn quoted(chars: &mut Chars<'_>, word: &mut String) -> Result<(), Unsplit> {
    for c in chars {
        if c == '\'' {
            return Ok(());
        }
        word.push(c);
    }
    Err(Unsplit("a quote is not closed"))
}

fn double_quoted(chars: &mut Chars<'_>, word: &mut String) -> Result<(), Unsplit> {
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok(()),
            '\\' => word.extend(chars.next()),
            '`' => return Err(Unsplit("it runs a command inside (a backtick)")),
            '$' if chars.peek() == Some(&'(') => return Err(Unsplit("it runs a command inside ($( ))")),
            _ => word.push(c),
        }
    }
    Err(Unsplit("a quote is not closed"))
}

#[cfg(test)]
mod tests;
