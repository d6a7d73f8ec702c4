//! Whether a text is a value of its type, and what would be right where it is not (D11).

use super::{
    format,
    place::{self, AsWritten},
    revision,
    rule::Value,
};
use crate::git_names::spells_dot_git;
use core::ops::Range;

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wrong {
    /// It is not of its type; this would be.
    Expected(&'static str),
    /// It is not one of these.
    NotAmong(&'static [&'static str]),
    /// This part of a format is not known, or is more than printing.
    Placeholder(Range<usize>),
    /// It is the path of something that may not be read.
    Path(AsWritten),
}

/// Checks a value and returns the path in it that is to be looked up, if there is one.
pub(super) fn check(value: Value, text: &str) -> Result<Option<&str>, Wrong> {
    let is_right = match value {
        Value::Text => true,
        Value::Number => is_number(text),
        Value::Count => is_count(text, "-"),
        Value::CountFrom => is_count(text, "-+"),
        Value::Choice(words) => return words.contains(&text).then_some(None).ok_or(Wrong::NotAmong(words)),
        Value::Glob => !text.is_empty(),
        Value::Include => !text.is_empty() && !spells_dot_git(text.as_bytes()),
        Value::Path => return looked_up(text).map(Some),
        Value::Revision => revision::is_single(text),
        Value::Format => return format::check_commit_format(text).map(|()| None).map_err(Wrong::Placeholder),
        Value::RefFormat => return format::check_ref_format(text).map(|()| None).map_err(Wrong::Placeholder),
        Value::SortKey => format::check_sort_key(text),
        Value::Lines => {
            let file = lines_file(text).ok_or(Wrong::Expected(expected(value)))?;
            return looked_up(file).map(Some);
        }
        Value::Score => is_score(text),
        Value::Scores => match text.split_once('/') {
            Some((first, second)) => (first.is_empty() || is_score(first)) && is_score(second),
            None => is_score(text),
        },
        Value::Widths => text.split(',').count() <= 3 && text.split(',').all(is_number),
        Value::Dirstat => text.split(',').all(is_dirstat),
        Value::Filter => !text.is_empty() && text.bytes().all(|b| b"ACDMRTUXB*".contains(&b.to_ascii_uppercase())),
        Value::Encoding => !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:+".contains(&b)),
        // A suffix alone is one of it.
        Value::BlockSize => {
            matches!(text, "human-readable" | "si")
                || is_sized(text, SUFFIXES)
                || text.starts_with(|c: char| c.is_ascii_alphabetic()) && is_sized(&["1", text].concat(), SUFFIXES)
        }
        Value::TimeStyle => text.starts_with('+') || matches!(text, "full-iso" | "long-iso" | "iso" | "locale"),
    };
    if is_right { Ok(None) } else { Err(Wrong::Expected(expected(value))) }
}

/// Says what a value of that type looks like.
pub(super) const fn expected(value: Value) -> &'static str {
    match value {
        Value::Text => "a text",
        Value::Number => "a number",
        Value::Count => "a number, with a size suffix and `-` in front where wanted",
        Value::CountFrom => "a number, with a size suffix and `-` or `+` in front where wanted",
        Value::Choice(_) => "one of its words",
        Value::Glob => "a pattern that is not empty",
        Value::Include => "a pattern that is not empty and not `.git`",
        Value::Path => "a path inside the workdir",
        Value::Revision => "one revision",
        Value::Format | Value::RefFormat => "a format of known placeholders",
        Value::SortKey => "a field such as `-committerdate`",
        Value::Lines => "`START,END:FILE` or `:FUNCTION:FILE`",
        Value::Score => "a similarity such as `90%`",
        Value::Scores => "a similarity such as `50%`, or two with `/` between",
        Value::Widths => "up to three numbers with commas between",
        Value::Dirstat => {
            "`changes`, `lines`, `files`, `cumulative`, `noncumulative` or a percentage, with commas between"
        }
        Value::Filter => "letters of `ACDMRTUXB`",
        Value::Encoding => "the name of an encoding",
        Value::BlockSize => "a size such as `1K` or `M`, `human-readable` or `si`",
        Value::TimeStyle => "`full-iso`, `long-iso`, `iso`, `locale` or `+` and a format",
    }
}

/// Says whether a separate value of that type may begin with a hyphen.
pub(super) const fn may_begin_with_hyphen(value: Value) -> bool {
    matches!(value, Value::Text | Value::Count | Value::CountFrom | Value::SortKey)
}

/// Size suffixes that GNU programs read behind digits, without the `B` or `iB` that may follow most.
const SUFFIXES: &[u8] = b"kKMGTPEZYRQ";

fn looked_up(path: &str) -> Result<&str, Wrong> {
    match place::as_written(path) {
        AsWritten::Fine => Ok(path),
        bad @ (AsWritten::Empty | AsWritten::Absolute | AsWritten::Climbs | AsWritten::Git(_)) => Err(Wrong::Path(bad)),
    }
}

fn is_number(text: &str) -> bool {
    (1..=10).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

fn is_count(text: &str, signs: &str) -> bool {
    let bare = text.strip_prefix(|c| signs.contains(c)).unwrap_or(text);
    bare.strip_suffix('b').is_some_and(is_digits) || is_sized(bare, SUFFIXES)
}

/// Digits, and behind them nothing, or a letter, a letter and `B`, or a letter and `iB`.
fn is_sized(text: &str, letters: &[u8]) -> bool {
    let bare = text.strip_suffix("iB").or_else(|| text.strip_suffix('B')).unwrap_or(text);
    let digits = bare.strip_suffix(|c: char| c.is_ascii() && letters.contains(&(c as u8)));
    match digits {
        Some(digits) => is_digits(digits),
        None => bare.len() == text.len() && is_digits(text),
    }
}

fn is_digits(text: &str) -> bool {
    (1..=20).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

fn is_score(text: &str) -> bool {
    is_number(text.strip_suffix('%').unwrap_or(text))
}

fn is_dirstat(part: &str) -> bool {
    let is_percentage = || match part.split_once('.') {
        Some((whole, tenths)) => is_number(whole) && is_number(tenths),
        None => is_number(part),
    };
    matches!(part, "changes" | "lines" | "files" | "cumulative" | "noncumulative") || is_percentage()
}

/// Returns the file of `START,END:FILE` or `:FUNCTION:FILE`, which holds no colon of its own.
fn lines_file(text: &str) -> Option<&str> {
    let file = match text.strip_prefix(':') {
        Some(rest) => {
            let (function, file) = rest.split_once(':')?;
            (!function.is_empty()).then_some(file)?
        }
        None => {
            let rest = after_line(text)?.strip_prefix(',')?;
            after_line(rest)?.strip_prefix(':')?
        }
    };
    (!file.contains(':')).then_some(file)
}

/// Returns what follows one end of a range of lines: a number, `+n`, `-n` or `/re/`.
fn after_line(text: &str) -> Option<&str> {
    if let Some(expression) = text.strip_prefix('/') {
        let mut escaped = false;
        let end = expression.bytes().position(|b| {
            let ends = b == b'/' && !escaped;
            escaped = b == b'\\' && !escaped;
            ends
        })?;
        return expression.get(end + 1..);
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    is_number(digits.strip_suffix(rest)?).then_some(rest)
}

#[cfg(test)]
mod tests;
