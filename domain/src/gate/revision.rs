//! The grammar of a revision: what git takes for the name of a commit, a range of them, or a file in one. What it does
//! not take is a path, or nothing (D11). Pure text; whether the name exists is git's to say.

use super::{
    place::{self, AsWritten},
    words,
};

/// What a word is as a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Revision {
    /// It is one.
    Good,
    /// It is one, but its path part may not be read.
    BadPath(AsWritten),
    /// It is none.
    None,
}

/// Reads an optional `^`, then one name, `A..B` or `A...B`, of which one side may be missing.
pub(super) fn read(word: &str) -> Revision {
    let Some(name) = Some(word.strip_prefix('^').unwrap_or(word)).filter(|name| !name.is_empty()) else {
        return Revision::None;
    };
    let (first, rest) = match read_name(name) {
        Name::Whole(revision) => return revision,
        Name::Until(length) => name.split_at(length),
        Name::None if name.starts_with("..") => ("", name),
        Name::None => return Revision::None,
    };
    if rest.is_empty() {
        return Revision::Good;
    }
    let Some(second) = rest.strip_prefix("...").or_else(|| rest.strip_prefix("..")) else {
        return Revision::None;
    };
    if second.is_empty() {
        return if first.is_empty() { Revision::None } else { Revision::Good };
    }
    match read_name(second) {
        Name::Whole(revision) => revision,
        Name::Until(length) if length == second.len() => Revision::Good,
        Name::Until(_) | Name::None => Revision::None,
    }
}

/// Reads exactly one name, no range.
pub(super) fn is_single(word: &str) -> bool {
    match read_name(word) {
        Name::Whole(revision) => revision == Revision::Good,
        Name::Until(length) => length == word.len(),
        Name::None => false,
    }
}

enum Name {
    /// It reaches to the end of the word.
    Whole(Revision),
    /// It ends there; a range may follow.
    Until(usize),
    /// There is none.
    None,
}

fn read_name(text: &str) -> Name {
    if let Some(rest) = text.strip_prefix(':') {
        return read_index(rest);
    }
    let base = base_length(text);
    let (name, mut rest) = text.split_at(base);
    let is_name = match name {
        "" => rest.starts_with("@{"),
        "@" => true,
        _ => is_ref_name(name),
    };
    if !is_name {
        return Name::None;
    }
    loop {
        if let Some(path) = rest.strip_prefix(':') {
            return Name::Whole(path_part(path));
        }
        match suffix_length(rest) {
            Some(0) => return Name::Until(text.len() - rest.len()),
            Some(length) => rest = rest.get(length..).unwrap_or_default(),
            None => return Name::None,
        }
    }
}

/// Reads what follows a leading colon: a search in messages, or a file of the index.
fn read_index(rest: &str) -> Name {
    if rest.starts_with('/') {
        return Name::Whole(Revision::Good);
    }
    let path = ["0:", "1:", "2:", "3:"].iter().find_map(|stage| rest.strip_prefix(stage)).unwrap_or(rest);
    // Magic of a pathspec, or nothing at all.
    if path.is_empty() || path.starts_with(['(', '!', '^', ':']) {
        return Name::None;
    }
    Name::Whole(path_part(path))
}

/// Judges the path behind a colon. An empty one is the whole tree.
fn path_part(path: &str) -> Revision {
    match place::as_written(path) {
        AsWritten::Fine | AsWritten::Empty => Revision::Good,
        bad @ (AsWritten::Absolute | AsWritten::Climbs | AsWritten::Git(_)) => Revision::BadPath(bad),
    }
}

/// Returns where the plain name ends: before a suffix, a path, or a range.
fn base_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let ends = |at: &usize| match bytes.get(*at) {
        Some(b'~' | b'^' | b':') => true,
        Some(b'@') => bytes.get(at + 1) == Some(&b'{'),
        Some(b'.') => bytes.get(at + 1) == Some(&b'.'),
        Some(_) | None => false,
    };
    (0..bytes.len()).find(ends).unwrap_or(bytes.len())
}

/// Follows git's rules for names of refs, but for braces that are no pair or hold a list, which a shell would expand; a hash
/// is such a name too.
fn is_ref_name(name: &str) -> bool {
    let is_component = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let is_char = |c: char| !c.is_ascii_control() && !" ~^:?*[\\".contains(c);
    name.split('/').all(is_component)
        && name.chars().all(is_char)
        && !name.ends_with('.')
        && !name.starts_with('-')
        && name.matches('{').count() == name.matches('}').count()
        && !words::has_brace_list(name)
}

/// Returns the length of one suffix, 0 where a range or the end stands, none where nothing that git knows does.
fn suffix_length(rest: &str) -> Option<usize> {
    let digits = |from: usize| rest.bytes().skip(from).take_while(u8::is_ascii_digit).count();
    let mut chars = rest.chars();
    match (chars.next(), chars.next()) {
        (None, _) | (Some('.'), Some('.')) => Some(0),
        (Some('~'), _) => Some(1 + digits(1)),
        (Some('^'), Some('@' | '!')) => Some(2),
        (Some('^'), Some('-')) => Some(2 + digits(2)),
        (Some('^'), Some('{')) => {
            let end = rest.find('}')?;
            let inside = rest.get(2..end)?;
            let is_type = matches!(inside, "" | "commit" | "tree" | "blob" | "tag" | "object");
            (is_type || inside.starts_with('/')).then_some(end + 1)
        }
        (Some('^'), _) => Some(1 + digits(1)),
        (Some('@'), Some('{')) => {
            let end = rest.find('}')?;
            (end > 2).then_some(end + 1)
        }
        (Some(_), _) => None,
    }
}

#[cfg(test)]
mod tests;
