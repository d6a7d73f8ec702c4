//! Links among a repository's own data (D14): git follows them wherever they lead and prints what it finds there, a file
//! of somebody's home as a rebase's next step, another repository's commit as one of this. Where the kernel's wall stands
//! it refuses that too; these looks do not rely on it.

use crate::read::{PATHS_BYTES, Stamp, read_small};
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, FileType},
    io,
    os::unix::fs::FileTypeExt as _,
    path::{Path, PathBuf},
};

/// What git reads of a git directory as it stands, and what lies directly in these.
const STATE: [&str; 5] = ["", "rebase-merge", "rebase-apply", "sequencer", "worktrees"];
/// What it reads to any depth: a directory here may be a link as well as a file.
const TREES: [&str; 3] = ["refs", "logs", "reftable"];
/// What it does not read there: Owl's own stand in their place, or nothing does. Of `info` it reads one file.
const UNREAD: [&str; 9] =
    ["config", "config.worktree", "description", "hooks", "info", "modules", "branches", "lfs", "annex"];
/// More refs than that, loose and each with its log, are no repository that a person looks at.
const MOST_ENTRIES: usize = 1_000_000;

/// Refuses a repository that holds a link which git would follow, or a pipe at which it would wait, in its own state or
/// in that of one of its worktrees: git tells of the others too.
pub(crate) fn refuse_in_state(common_dir: &Path) -> io::Result<()> {
    refuse_in_git_dir(common_dir)?;
    match fs::read_dir(common_dir.join("worktrees")) {
        Ok(mut entries) => entries.try_for_each(|entry| refuse_in_git_dir(&entry?.path())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Refuses it in one git directory, but for its worktrees.
pub(crate) fn refuse_in_git_dir(git_dir: &Path) -> io::Result<()> {
    for state in STATE {
        each(&git_dir.join(state), |name, kind, path| {
            let is_unread = state.is_empty() && UNREAD.iter().any(|unread| *unread == name);
            let is_branch = || state.is_empty() && name == "HEAD" && branch_of(path).is_some();
            match kind {
                _ if is_unread => Ok(()),
                kind if kind.is_symlink() && !is_branch() => Err(is_a_link(path)),
                kind if kind.is_fifo() => Err(is_no_file(path)),
                _ => Ok(()),
            }
        })?;
    }
    for tree in TREES {
        let top = git_dir.join(tree);
        if fs::symlink_metadata(&top).is_ok_and(|there| there.is_symlink()) {
            return Err(is_a_link(&top));
        }
        refuse_below(top)?;
    }
    refuse_other_tables(&git_dir.join("reftable/tables.list"))?;
    let (info, patterns) = (git_dir.join("info"), git_dir.join("info/sparse-checkout"));
    if patterns.exists() && fs::symlink_metadata(&info).is_ok_and(|there| there.is_symlink()) {
        return Err(is_a_link(&info));
    }
    refuse_no_file(&patterns)
}

/// Refuses what git reads as a file and is none, where there is something.
pub(crate) fn refuse_no_file(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_symlink() => Err(is_a_link(path)),
        Ok(there) if !there.is_file() => Err(is_no_file(path)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Refuses anything below a directory that is neither a file nor a directory.
fn refuse_below(top: PathBuf) -> io::Result<()> {
    let (mut waiting, mut seen) = (vec![top], 0_usize);
    while let Some(directory) = waiting.pop() {
        each(&directory, |_, kind, path| {
            seen += 1;
            match kind {
                _ if seen > MOST_ENTRIES => {
                    Err(io::Error::other(format!("more than {MOST_ENTRIES} files lie below `{}`", directory.display())))
                }
                kind if kind.is_symlink() => Err(is_a_link(path)),
                kind if kind.is_dir() => {
                    waiting.push(path.into());
                    Ok(())
                }
                kind if kind.is_file() => Ok(()),
                _ => Err(is_no_file(path)),
            }
        })?;
    }
    Ok(())
}

/// Refuses a list of tables, which needs no link to name a file elsewhere.
fn refuse_other_tables(list: &Path) -> io::Result<()> {
    let named = |error: io::Error| io::Error::other(format!("`{}`: {error}", list.display()));
    let lines = match read_small(list, PATHS_BYTES) {
        // What is no directory, such as a file that a file manager leaves among the worktrees, is no worktree to git.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => None,
        lines => lines.map_err(named)?,
    };
    let Some(lines) = lines else { return Ok(()) };
    match lines.split(|byte| *byte == b'\n').find(|line| line.contains(&b'/') || *line == b"..") {
        Some(_) => Err(io::Error::other(format!("`{}` names a file that does not lie beside it", list.display()))),
        None => Ok(()),
    }
}

/// The directories of objects that hold no link, each as it was when it was looked at.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Objects(BTreeMap<String, Stamp>);

impl Objects {
    /// Refuses objects that are links, or lie behind one. What did not change is not looked at again.
    pub(crate) fn refuse_links(&mut self, objects: &Path) -> io::Result<()> {
        if fs::symlink_metadata(objects)?.is_symlink() {
            return Err(is_a_link(objects));
        }
        let mut seen = BTreeMap::new();
        each(objects, |name, kind, path| match name.to_str() {
            _ if kind.is_symlink() => Err(is_a_link(path)),
            Some(name) if kind.is_dir() && may_hold_objects(name) => self.look(name, path, &mut seen),
            _ => Ok(()),
        })?;
        self.look("info/commit-graphs", &objects.join("info/commit-graphs"), &mut seen)?;
        self.0 = seen;
        Ok(())
    }

    /// Looks into one directory, unless it is as it was. Most repositories have few of the 256 that there can be.
    fn look(&self, place: &str, directory: &Path, seen: &mut BTreeMap<String, Stamp>) -> io::Result<()> {
        let Some(stamp) = Stamp::of(directory)? else { return Ok(()) };
        if self.0.get(place) != Some(&stamp) {
            each(directory, |_, kind, path| if kind.is_symlink() { Err(is_a_link(path)) } else { Ok(()) })?;
        }
        seen.insert(place.to_owned(), stamp);
        Ok(())
    }
}

/// Says whether git looks for objects in a directory of that name, on a disk that tells no case apart too.
fn may_hold_objects(name: &str) -> bool {
    ["pack", "info"].iter().any(|place| name.eq_ignore_ascii_case(place))
        || name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Says that a part of a repository is a link.
pub(crate) fn is_a_link(path: &Path) -> io::Error {
    io::Error::other(format!("`{}` is a link, and Owl lets git follow none there", path.display()))
}

fn is_no_file(path: &Path) -> io::Error {
    io::Error::other(format!("`{}` is no file, and git would wait at it", path.display()))
}

/// Calls `then` with the name, the kind and the path of each entry of a directory, if it is one.
fn each(directory: &Path, mut then: impl FnMut(&OsStr, FileType, &Path) -> io::Result<()>) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        then(&entry.file_name(), entry.file_type()?, &entry.path())?;
    }
    Ok(())
}

/// Returns the branch that a link names as git itself once wrote which one is checked out; none when it is no such link.
pub(crate) fn branch_of(link: &Path) -> Option<PathBuf> {
    let named = fs::read_link(link).ok()?;
    let is_plain = named.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    (is_plain && named.starts_with("refs/heads")).then_some(named)
}

#[cfg(test)]
mod tests;
