//! A path as it is written: what can be refused before anything is looked up (ADR-0022, D12).

use crate::git_names::spells_dot_git;
use alloc::{string::String, vec::Vec};

/// What a path is as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AsWritten {
    /// Nothing is wrong with it as written.
    Fine,
    /// It is no path.
    Empty,
    /// It starts at the root of the file system.
    Absolute,
    /// It goes up more often than it goes down, whatever exists.
    Climbs,
    /// One component, this one, is a spelling of `.git`.
    Git(String),
}

/// Judges a path by its components, never by substrings: `..dir` and `.gitignore` are ordinary names.
pub(super) fn as_written(path: &str) -> AsWritten {
    if path.is_empty() {
        return AsWritten::Empty;
    }
    if path.starts_with('/') {
        return AsWritten::Absolute;
    }
    let mut depth = 0_usize;
    let mut git = None;
    for component in path.split('/') {
        match component {
            "" | "." => {}
            ".." => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return AsWritten::Climbs,
            },
            name => {
                depth += 1;
                if git.is_none() && spells_dot_git(name.as_bytes()) {
                    git = Some(name);
                }
            }
        }
    }
    git.map_or(AsWritten::Fine, |name| AsWritten::Git(name.into()))
}

/// Takes the ways up out of a path by its text, as git does before it looks at anything: the system would go up from where
/// a link leads. None when there is none in it. The path MUST NOT climb.
pub(super) fn without_ways_up(path: &str) -> Option<String> {
    if path.split('/').all(|component| component != "..") {
        return None;
    }
    let mut kept: Vec<&str> = Vec::new();
    for component in path.split('/').filter(|component| !matches!(*component, "" | ".")) {
        match component {
            ".." => drop(kept.pop()),
            name => kept.push(name),
        }
    }
    let is_directory = path.ends_with('/') || path.ends_with("/..") || path.ends_with("/.");
    match kept.as_slice() {
        [] => Some(".".into()),
        names if is_directory => Some([&names.join("/"), "/"].concat()),
        names => Some(names.join("/")),
    }
}

#[cfg(test)]
mod tests;
