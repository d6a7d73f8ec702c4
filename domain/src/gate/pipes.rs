//! A line with a pipe, as one command that does the same (D10). The line is refused in any case.

use super::{
    hint::{Suggestion, below},
    shell::{IN_A_TEXT, as_text, texts},
    words::{self, Fault},
};
use alloc::{format, vec::Vec};

const FIRST_TWO: &str = "the first two as one, and no more";

/// What a pipe was for, as one command.
pub(super) fn piped(line: &str, before: &str, behind: &str) -> Vec<Suggestion> {
    let mut suggestions = as_text(line, before, behind, IN_A_TEXT);
    let filter_line = match words::read(behind) {
        Err(Fault::Sign { at }) => behind.get(..at).unwrap_or_default(),
        Ok(_) | Err(_) => behind,
    };
    // `2>/dev/null`: the digit belongs to the sign.
    let filter_line = filter_line.strip_suffix(" 2").unwrap_or(filter_line);
    if let (Ok(left), Ok(right)) = (words::read(before), words::read(filter_line)) {
        let left: Vec<&str> = texts(&left);
        let right: Vec<&str> = texts(&right);
        let is_last = filter_line.trim_end().len() == behind.trim_end().len();
        suggestions.extend(one_command(&left, &right).map(|one| if is_last { one } else { one.led(FIRST_TWO) }));
    }
    suggestions.push(Suggestion::line("send the first command alone", before.trim_end()));
    suggestions
}

fn one_command(left: &[&str], right: &[&str]) -> Option<Suggestion> {
    match (left, right) {
        (["cat", glob], ["grep", options @ .., pattern]) if let Some((include, directory)) = below(glob) => {
            let words =
                ["grep", "-r", &include].into_iter().chain(options.iter().copied()).chain([*pattern, directory]);
            Some(Suggestion::words("", words))
        }
        // Of several files `head` would print the first lines of each.
        (["cat", files @ ..], [filter @ ("grep" | "head" | "tail" | "wc"), options @ ..])
            if files.len() == 1 || matches!(*filter, "grep" | "wc") =>
        {
            Some(Suggestion::words(
                "",
                core::iter::once(*filter).chain(options.iter().copied()).chain(files.iter().copied()),
            ))
        }
        // The count is one of commits: only where each is told in a few lines does it shorten as `head` would.
        (["git", "log", rest @ ..], ["head", options @ ..]) if !rest.iter().any(|word| counts_otherwise(word)) => {
            let count = match options {
                [] => "10",
                ["-n", count] => count,
                [count] => count.trim_start_matches("-n").trim_start_matches('-'),
                _ => return None,
            };
            let at = left.iter().position(|word| *word == "--").unwrap_or(left.len());
            let (options, paths) = left.split_at(at);
            let words = options.iter().copied().chain(["-n", count]).chain(paths.iter().copied());
            Some(Suggestion::words("commits in place of lines", words))
        }
        (["git", "log", rest @ ..], ["grep", options @ .., pattern]) => searched(rest, options, pattern),
        (_, _) => None,
    }
}

/// Says whether with this word a number of commits is not what the first lines are.
fn counts_otherwise(word: &str) -> bool {
    is_count(word) || matches!(word, "--reverse" | "--graph") || shows_more(word)
}

fn is_count(word: &str) -> bool {
    let is_letter =
        word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == 'n'));
    is_letter || word.starts_with("--max-count")
}

/// Says whether a log with this word tells more of a commit than its message.
fn shows_more(word: &str) -> bool {
    const MORE: [&str; 17] = [
        "-p",
        "-u",
        "-U",
        "-c",
        "-L",
        "--patch",
        "--unified",
        "--cc",
        "--stat",
        "--shortstat",
        "--numstat",
        "--dirstat",
        "--name-",
        "--raw",
        "--summary",
        "--compact-summary",
        "--word-diff",
    ];
    MORE.iter().any(|more| word.starts_with(more))
}

/// A log that is searched by git itself: its messages, or with a patch what changed.
fn searched(rest: &[&str], options: &[&str], pattern: &str) -> Option<Suggestion> {
    const OTHERWISE: [&str; 9] =
        ["--format", "--pretty", "--graph", "--decorate", "--grep", "--invert-grep", "--skip", "-G", "-S"];
    // A search beside another is none of what passed that one; a number counts what is found.
    let is_other = |word: &&str| OTHERWISE.iter().any(|other| word.starts_with(other));
    if rest.iter().any(is_other) || rest.iter().any(|word| is_count(word)) {
        return None;
    }
    let mut own = Vec::new();
    for option in options {
        match *option {
            "-i" | "--ignore-case" => own.push("-i"),
            "-E" => own.push("-E"),
            "-F" => own.push("-F"),
            "-v" => own.push("--invert-grep"),
            "-e" => {}
            _ => return None,
        }
    }
    let is_patch = rest.iter().any(|word| matches!(*word, "-p" | "-u" | "--patch"));
    let (lead, search) = if is_patch && own.is_empty() {
        ("to find what changed lines with it", format!("-G{pattern}"))
    } else if rest.iter().any(|word| shows_more(word)) {
        return None;
    } else {
        ("to search the messages", format!("--grep={pattern}"))
    };
    let words = ["git", "log", &search].into_iter().chain(own).chain(rest.iter().copied());
    Some(Suggestion::words(lead, words))
}
