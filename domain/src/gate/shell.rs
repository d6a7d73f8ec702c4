//! A line that was written for a shell: which sign gave it away, and what to write instead. Nothing here is lenient;
//! the line is refused in any case (ADR-0022, D10).

use super::{
    DenialKind, Program,
    hint::{Refusal, Suggestion, join, relative_to},
    pipes,
    place::{self, AsWritten},
    words::{self, Fault, Word},
};
use crate::{
    limits::{COMMAND_BYTES, COMMAND_WORDS},
    show,
    text::AbsPath,
};
use alloc::{
    format,
    string::{String, ToString as _},
    vec,
    vec::Vec,
};

/// Refuses a line that is not a list of words. `workdir` is only for hints.
pub(super) fn refuse(fault: &Fault, line: &str, workdir: Option<&AbsPath>) -> Refusal {
    match fault {
        Fault::Empty => Refusal::whole(DenialKind::Empty, "there is no command")
            .suggest(vec![Suggestion::line("such as", "git status")]),
        Fault::TooManyBytes => {
            let message = format!("a command has at most {COMMAND_BYTES} bytes, and this one has {}", line.len());
            Refusal::whole(DenialKind::TooLong, message).say("name a directory instead of many files")
        }
        Fault::TooManyWords => {
            let message = format!("a command has at most {COMMAND_WORDS} words");
            Refusal::whole(DenialKind::TooLong, message).say("name a directory instead of many files")
        }
        Fault::Nul => Refusal::about(DenialKind::Nul, "\0", "a NUL character cannot be part of a command".into())
            .say("leave it out"),
        Fault::LoneBackslash { .. } => {
            let message = "the line ends in a backslash that quotes nothing";
            Refusal::about(DenialKind::UnclosedQuote, "\\", message.into()).say("leave it out")
        }
        Fault::OpenQuote { at } => open_quote(line, *at),
        Fault::Sign { at } => sign(line, *at, workdir),
    }
}

fn open_quote(line: &str, at: usize) -> Refusal {
    let (before, rest) = line.split_at(at);
    let quote: String = rest.chars().take(1).collect();
    if let Some(suggestion) = with_an_apostrophe(line) {
        let message = "an apostrophe inside single quotes ends them";
        return Refusal::about(DenialKind::UnclosedQuote, &quote, message.into()).suggest(vec![suggestion]);
    }
    // Behind a letter it was meant as an apostrophe.
    let suggestion = if quote == "'" && before.ends_with(char::is_alphanumeric) {
        Suggestion::line("put a backslash before it", [before, "\\", rest].concat())
    } else {
        Suggestion::line("close it", [line, &quote].concat())
    };
    Refusal::about(DenialKind::UnclosedQuote, &quote, "a quote is opened and never closed".into())
        .suggest_or_say(vec![suggestion], "close it")
}

/// Writes a text in single quotes that holds an apostrophe in double ones.
fn with_an_apostrophe(line: &str) -> Option<Suggestion> {
    let (first, last) = (line.find('\'')?, line.rfind('\'')?);
    let inside = line.get(first + 1..last)?.replace("\\'", "'");
    let (before, behind) = inside.split_once('\'')?;
    let is_apostrophe = before.ends_with(char::is_alphanumeric) && behind.starts_with(char::is_alphanumeric);
    if !is_apostrophe || behind.contains('\'') || line.contains('"') || inside.contains(['$', '`', '\\']) {
        return None;
    }
    let (before, behind) = (line.get(..first)?, line.get(last + 1..)?);
    Some(Suggestion::line("", [before, "\"", &inside, "\"", behind].concat()))
}

fn sign(line: &str, at: usize, workdir: Option<&AbsPath>) -> Refusal {
    let (before, rest) = line.split_at(at);
    let token = token(rest);
    let behind = rest.get(token.len()..).unwrap_or_default();
    let about = |message: String| Refusal::about(DenialKind::ShellSyntax, token, message);
    match token {
        "|" | "|&" => about(format!("`{token}` is a pipe, and there is no shell here to make one"))
            .suggest_or(pipes::piped(line, before, behind), hint_alone(before, workdir)),
        "&&" | "||" | ";" | "&" | ";;" => {
            let message = if token == "&" {
                String::from("`&` sends a command to the background, and there is no shell here to do it")
            } else {
                format!("`{token}` joins two commands; one call is one command")
            };
            match directory_of(before, workdir) {
                Some(directory) => about(message).suggest_or_say(moved(&directory, behind), NAME_THE_DIRECTORY),
                None => about(message).suggest_or(joined(line, before, behind), hint_alone(before, workdir)),
            }
        }
        "<<" | "<<<" => about(format!("`{token}` is text for standard input, and there is none"))
            .say("name the file to read, such as `cat README.md`"),
        ">" | ">>" | "<" | ">&" | ">|" | "&>" => {
            let alone = before.trim_end_matches(|c: char| c.is_ascii_digit());
            about(format!("`{token}` redirects, and there is no shell here to do it"))
                .suggest_or(redirected(line, token, before, behind), hint_alone(alone, workdir))
        }
        "(" | ")" => {
            let message = format!("`{token}` stands outside quotes, where a shell would act on it");
            let lead = if line.trim_start().starts_with("grep") { "quote the pattern" } else { "quote it" };
            about(message).suggest_or_say(quoted(line, lead), "quote the whole word that it belongs to")
        }
        "`" | "$(" => {
            let message = if token == "`" { "a backtick" } else { "`$(`" };
            about(format!("{message} starts a second command in a shell, and there is none here"))
                .say("send that command first, alone, and write its answer into the line")
        }
        "~" => about("`~` is a home directory to a shell, and nothing here expands it".into())
            .say("write a path inside the workdir"),
        "#" => about("`#` begins a comment in a shell, and there is none here".into())
            .suggest(vec![Suggestion::line("leave it out", before.trim_end()), quote_from(line)]),
        "\n" => {
            about("a line feed ends a command; one call is one command".into()).suggest(first_and_rest(before, behind))
        }
        _ if token.starts_with('$') => {
            about(format!("`{}` is a variable, and nothing here expands it", show::on_one_line(token)))
                .say("write what it stands for, or quote it to mean the text")
        }
        _ => about(format!("`{}` is a control character outside quotes", show::on_one_line(token)))
            .suggest(quoted(line, "quote it")),
    }
}

/// Cuts out the sign as a person would name it.
fn token(rest: &str) -> &str {
    const OPERATORS: [&str; 14] = ["<<<", "&&", "||", ";;", "|&", "&>", ">>", "<<", ">&", ">|", "$(", "|", ";", "&"];
    if let Some(operator) = OPERATORS.iter().find(|operator| rest.starts_with(**operator)) {
        return operator;
    }
    let length = match rest.strip_prefix('$') {
        Some(name) if name.starts_with('{') => name.find('}').map_or(rest.len(), |end| end + 2),
        Some(name) => match name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            Some(0) => 1 + name.chars().next().map_or(0, char::len_utf8),
            Some(end) => 1 + end,
            None => rest.len(),
        },
        None => rest.chars().next().map_or(0, char::len_utf8),
    };
    rest.get(..length).unwrap_or_default()
}

/// What would be said of the first command alone.
fn hint_alone(before: &str, workdir: Option<&AbsPath>) -> Option<String> {
    let alone = before.trim();
    super::judge(alone, workdir).err()?.into_denial(alone).hint
}

/// What two commands were for, as one.
fn joined(line: &str, before: &str, behind: &str) -> Vec<Suggestion> {
    if behind.trim().is_empty() {
        return vec![Suggestion::line("leave it out", before.trim())];
    }
    let mut suggestions = as_text(line, before, behind, IN_A_TEXT);
    suggestions.extend(first_and_rest(before, behind));
    suggestions
}

fn first_and_rest(before: &str, behind: &str) -> Vec<Suggestion> {
    if behind.trim().is_empty() {
        return vec![Suggestion::line("leave it out", before.trim())];
    }
    vec![
        Suggestion::line("send them one at a time, first", before.trim()),
        Suggestion::line("send it alone", behind.trim()),
    ]
}

pub(super) const NAME_THE_DIRECTORY: &str =
    "every command runs in the workdir; name the directory on the line: `ls src`";

/// Returns the directory of a `cd` that stands alone, from the workdir where it lies inside.
fn directory_of(line: &str, workdir: Option<&AbsPath>) -> Option<String> {
    let words = words::read(line).ok()?;
    match texts(&words).as_slice() {
        ["cd", directory] => Some(relative_to(workdir, directory).unwrap_or_else(|| (*directory).to_string())),
        _ => None,
    }
}

/// What was to run behind a `cd`, if it is one command that can name the directory.
fn moved(directory: &str, behind: &str) -> Vec<Suggestion> {
    let there = words::read(behind).ok().and_then(|words| re_rooted(directory, &texts(&words)));
    there.map(|line| Suggestion::line("send one command and name the directory", line)).into_iter().collect()
}

/// Writes a command that was to run in a directory as one that names it. None when it is not sure which words are paths.
pub(super) fn re_rooted(directory: &str, words: &[&str]) -> Option<String> {
    let directory = directory.trim_end_matches('/');
    if directory.starts_with(['/', '~', '-'])
        || matches!(place::as_written(directory), AsWritten::Git(_) | AsWritten::Climbs)
    {
        return None;
    }
    let checked = super::judge(&join(words.iter().copied()), None).ok()?;
    // `HEAD:./lib.rs` is relative, too.
    if !checked.is_plain() || words.iter().any(|word| word.contains(":./") || word.starts_with(':')) {
        return None;
    }
    let paths: Vec<&str> = checked.paths().collect();
    let mut line: Vec<String> = words.iter().map(|word| String::from(*word)).collect();
    for path in &paths {
        let word = line.iter_mut().rev().find(|word| word.as_str() == *path)?;
        *word = match (directory, *path) {
            ("." | "", path) => path.to_string(),
            (directory, ".") => directory.to_string(),
            (directory, path) => format!("{directory}/{path}"),
        };
    }
    if paths.is_empty() && !matches!(directory, "." | "") {
        match (checked.program(), checked.verb()) {
            // It tells of the whole repository wherever it runs.
            (Program::Git, _) => {}
            (Program::Ls | Program::Grep, _) => line.push(directory.to_string()),
            (Program::Cat | Program::Head | Program::Tail | Program::Wc, _) => return None,
        }
    }
    Some(join(line.iter().map(String::as_str)))
}

/// What a redirection was for.
fn redirected(line: &str, token: &str, before: &str, behind: &str) -> Vec<Suggestion> {
    let is_number = before.ends_with(|c: char| c.is_ascii_digit());
    let mut suggestions = if is_number { Vec::new() } else { as_text(line, before, behind, IN_A_FORMAT) };
    if token == "<" {
        suggestions.push(Suggestion::line("name the file", [before.trim_end(), " ", behind.trim_start()].concat()));
        return suggestions;
    }
    // `2>`, `1>`, `&>`: the digit belongs to the sign, and the word behind it is where the output was to go.
    let bare = before.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_errors = before.ends_with('2') && bare.ends_with([' ', '\t']);
    let kept = if bare.ends_with([' ', '\t']) { bare } else { before };
    let target = behind.trim_start();
    let rest = target.split_once([' ', '\t']).map_or("", |(_, rest)| rest);
    let lead = if is_errors {
        "leave it out, error output comes back separately"
    } else {
        "leave it out, the output comes back"
    };
    let whole = [kept.trim_end(), " ", rest].concat();
    suggestions.push(Suggestion::line(lead, whole.trim_end()));
    suggestions.push(Suggestion::line(lead, kept.trim_end()));
    suggestions
}

/// The options in whose values any sign may be meant as text, and those in whose values an angle bracket may.
pub(super) const IN_A_TEXT: &[&str] =
    &["--grep=", "--author=", "--committer=", "-G", "-S", "-e", "--regexp=", "--format=", "--pretty="];
const IN_A_FORMAT: &[&str] = &["--format=", "--pretty="];

/// What comes behind a pipe or between two commands, beside the programs that Owl runs.
const FILTERS: [&str; 14] =
    ["awk", "cut", "fold", "less", "more", "sed", "sort", "tac", "tee", "tr", "uniq", "xargs", "python3", "jq"];

/// The same line with its words in quotes, where a sign inside one may be meant as text: in what grep looks for, or in the
/// value of one of these options. In a revision or a path it never is.
pub(super) fn as_text(line: &str, before: &str, behind: &str, options: &[&str]) -> Vec<Suggestion> {
    let is_blank = |c: char| c == ' ' || c == '\t';
    let next = behind.split([' ', '\t', '|', ';', '&', '>']).next().unwrap_or_default();
    let begins_a_command = Program::from_name(next).is_some() || FILTERS.contains(&next);
    let stands_alone = before.ends_with(is_blank) || behind.starts_with(is_blank) || before.is_empty();
    if stands_alone || behind.is_empty() || begins_a_command {
        return Vec::new();
    }
    let word = before.rsplit(is_blank).next().unwrap_or_default();
    if line.trim_start().starts_with("grep") {
        return alternatives(line).into_iter().chain(quoted(line, "quote it")).collect();
    }
    if options.iter().any(|option| word.starts_with(option)) { quoted(line, "quote it") } else { Vec::new() }
}

/// A search for one of several words, as grep reads it where nothing says which kind of pattern it is.
fn alternatives(line: &str) -> Option<Suggestion> {
    let says_which = |word: &str| {
        let is_letters = word.starts_with('-') && !word.starts_with("--");
        is_letters && word.contains(['E', 'F', 'G', 'P']) || word.ends_with("-regexp") || word == "--fixed-strings"
    };
    let words: Vec<&str> = line.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
    let (name, rest) = words.split_first()?;
    if !line.contains('|') || line.contains(['\'', '"', '\\']) || rest.iter().any(|word| says_which(word)) {
        return None;
    }
    Some(Suggestion::words("quote it", [*name, "-E"].into_iter().chain(rest.iter().copied())))
}

/// The same line with the words in quotes that hold a sign.
fn quoted(line: &str, lead: &'static str) -> Vec<Suggestion> {
    if line.contains(['\'', '"', '\\']) {
        return Vec::new();
    }
    let words = line.split([' ', '\t']).filter(|word| !word.is_empty());
    vec![Suggestion::words(lead, words)]
}

fn quote_from(line: &str) -> Suggestion {
    Suggestion::words("quote it to mean the text", line.split([' ', '\t']).filter(|word| !word.is_empty()))
}

pub(super) fn texts(words: &[Word]) -> Vec<&str> {
    words.iter().map(|word| word.text.as_str()).collect()
}
