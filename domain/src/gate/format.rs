//! Formats are parsed, never searched for bad words: each placeholder is one that is known to print and to start
//! nothing. `%G…` starts a signature program, `%(describe)` a second git (ADR-0022, D11).

use core::ops::Range;

/// The keyword formats of `git log`.
const NAMED: [&str; 8] = ["oneline", "short", "medium", "full", "fuller", "reference", "email", "raw"];

/// The fields that `git branch` may sort by, and print.
const FIELDS: [&str; 14] = [
    "refname",
    "objectname",
    "objectsize",
    "committerdate",
    "authordate",
    "creatordate",
    "taggerdate",
    "upstream",
    "push",
    "subject",
    "authorname",
    "authoremail",
    "committername",
    "committeremail",
];

/// The fields that `git branch` may print only.
const PRINTED: [&str; 19] = [
    "objecttype",
    "tree",
    "parent",
    "numparent",
    "HEAD",
    "symref",
    "author",
    "committer",
    "creator",
    "body",
    "contents",
    "trailers",
    "color",
    "align",
    "if",
    "then",
    "else",
    "end",
    "ahead-behind",
];

/// Checks a format of `git log`. On failure returns which part of it is not known.
pub(super) fn check_commit_format(format: &str) -> Result<(), Range<usize>> {
    if NAMED.contains(&format) {
        return Ok(());
    }
    each_placeholder(format, commit_placeholder)
}

/// Checks a format of `git branch`.
pub(super) fn check_ref_format(format: &str) -> Result<(), Range<usize>> {
    each_placeholder(format, ref_placeholder)
}

/// Checks a sort key of `git branch`.
pub(super) fn check_sort_key(key: &str) -> bool {
    let key = key.strip_prefix('-').unwrap_or(key);
    // These two hold a colon of their own.
    let key = key
        .strip_prefix("version:")
        .or_else(|| key.strip_prefix("v:"))
        .map_or(key, |rest| if rest == "refname" || rest.starts_with("refname:") { rest } else { "" });
    let (field, words) = key.split_once(':').map_or((key, None), |(field, words)| (field, Some(words)));
    let is_field = FIELDS.contains(&field);
    is_field
        && words.is_none_or(|words| {
            !words.is_empty() && words.bytes().all(|b| b.is_ascii_alphanumeric() || b"_=,-".contains(&b))
        })
}

/// Walks over all `%` of a format. `known` gets what stands behind one and returns how long the placeholder is.
fn each_placeholder(format: &str, known: fn(&str) -> Option<usize>) -> Result<(), Range<usize>> {
    let mut at = 0;
    while let Some(found) = format.get(at..).and_then(|rest| rest.find('%')) {
        let start = at + found;
        let rest = format.get(start + 1..).unwrap_or_default();
        match known(rest) {
            Some(length) => at = start + 1 + length,
            None => return Err(start..start + 1 + faulty_length(rest)),
        }
    }
    Ok(())
}

/// Returns how much behind a `%` is not `git log`'s, or is more than printing.
fn commit_placeholder(rest: &str) -> Option<usize> {
    // A `%` is only ever a pair when nothing stands between: git itself reads `%-%G?` as `%` and then `%G?`.
    if rest.starts_with('%') {
        return Some(1);
    }
    let bare = rest.strip_prefix(['+', '-', ' ']).unwrap_or(rest);
    let sign = rest.len() - bare.len();
    let mut chars = bare.chars();
    let (first, second) = (chars.next()?, chars.next());
    let length = match (first, second) {
        ('x', _) => is_hex(bare.get(1..3)?).then_some(3)?,
        ('a' | 'c', Some('n' | 'N' | 'e' | 'E' | 'l' | 'L' | 'd' | 'D' | 'r' | 't' | 'i' | 'I' | 's' | 'h')) => 2,
        ('g', Some('D' | 'd' | 's' | 'n' | 'N' | 'e' | 'E')) => 2,
        ('n' | 'm' | 'H' | 'h' | 'T' | 't' | 'P' | 'p' | 'd' | 'D' | 'S' | 'e' | 's' | 'f' | 'b' | 'B' | 'N', _) => 1,
        ('C', Some('(')) => opened(bare, 2)?,
        ('C', _) => ["Cred", "Cgreen", "Cblue", "Creset"].iter().find(|name| bare.starts_with(**name))?.len(),
        ('w' | '<', Some('(')) => opened(bare, 2)?,
        ('<' | '>', _) => ["<|(", ">(", ">>(", "><("]
            .iter()
            .find(|name| bare.starts_with(**name))
            .and_then(|name| opened(bare, name.len()))?,
        ('(', _) => {
            let name = bare.get(1..)?.split([':', ')']).next()?;
            matches!(name, "trailers" | "decorate").then(|| opened(bare, 1))??
        }
        _ => return None,
    };
    Some(sign + length)
}

/// Returns the length of an opening bracket's placeholder up to the bracket, when it is closed. What stands inside is
/// walked over like the rest, so that nothing hides there.
fn opened(bare: &str, length: usize) -> Option<usize> {
    bare.get(length..)?.contains(')').then_some(length)
}

/// Returns how much behind a `%` is `git branch`'s.
fn ref_placeholder(rest: &str) -> Option<usize> {
    if rest.starts_with('%') {
        return Some(1);
    }
    let Some(inside) = rest.strip_prefix('(') else {
        return is_hex(rest.get(..2)?).then_some(2);
    };
    // git reads up to the first bracket that closes, whatever stands between.
    let inside = inside.get(..inside.find(')')?)?;
    let field = inside.strip_prefix('*').unwrap_or(inside);
    let field = field.split(':').next()?;
    let is_known = FIELDS.contains(&field) || PRINTED.contains(&field);
    is_known.then_some(inside.len() + 2)
}

fn is_hex(text: &str) -> bool {
    text.len() == 2 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Returns how much behind a `%` to name in a refusal.
fn faulty_length(rest: &str) -> usize {
    let bare = rest.strip_prefix(['+', '-', ' ']).unwrap_or(rest);
    let sign = rest.len() - bare.len();
    if bare.starts_with('(') {
        return sign + bare.find(')').map_or(bare.len(), |end| end + 1);
    }
    // `%>|(20)` and its like: as far as it is one.
    if bare.starts_with(['<', '>'])
        && let Some(end) = bare.find(')')
        && bare.get(..end).is_some_and(|inside| !inside.contains(['%', ' ']))
    {
        return sign + end + 1;
    }
    // `%Cyellow`, which git does not know either.
    if bare.starts_with('C') {
        return sign + bare.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(bare.len());
    }
    let letters = if bare.starts_with(['G', 'g', 'a', 'c']) { 2 } else { 1 };
    sign + bare.chars().take(letters).map(char::len_utf8).sum::<usize>()
}

#[cfg(test)]
mod tests;
