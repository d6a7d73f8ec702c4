//! Links among a repository's own data (D14): git follows them wherever they lead and prints what it finds there, a file
//! of somebody's home as a rebase's next step, another repository's commit as one of this. Where the kernel's wall stands
//! it refuses that too; these looks do not rely on it.

use crate::read::Stamp;
use std::{collections::BTreeMap, fs, io, path::Path};

/// What git reads of a git directory as it stands, and what lies directly in these.
const STATE: [&str; 7] = ["", "logs", "refs", "rebase-merge", "rebase-apply", "sequencer", "worktrees"];
/// What it does not read there: Owl's own stand in their place, or nothing does.
const UNREAD: [&str; 9] =
    ["config", "config.worktree", "description", "hooks", "info", "modules", "branches", "lfs", "annex"];

/// Refuses a repository that holds a link which git would follow, in its own state or in that of one of its worktrees:
/// git tells of the others too.
pub(crate) fn refuse_in_state(common_dir: &Path) -> io::Result<()> {
    refuse_in_git_dir(common_dir)?;
    match fs::read_dir(common_dir.join("worktrees")) {
        Ok(mut entries) => entries.try_for_each(|entry| refuse_in_git_dir(&entry?.path())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn refuse_in_git_dir(git_dir: &Path) -> io::Result<()> {
    for state in STATE {
        let directory = git_dir.join(state);
        each_link(&directory, |name, link| {
            let is_unread = state.is_empty() && UNREAD.iter().any(|unread| *unread == name);
            // How git itself once wrote which branch is checked out.
            let is_branch = state.is_empty() && name == "HEAD" && names_a_branch(link);
            if is_unread || is_branch { Ok(()) } else { Err(is_a_link(link)) }
        })?;
    }
    Ok(())
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
        let places = ["", "pack", "info", "info/commit-graphs"].into_iter().map(str::to_owned);
        for place in places.chain((0..=0xff).map(|byte| format!("{byte:02x}"))) {
            let directory = objects.join(&place);
            let Some(stamp) = Stamp::of(&directory)? else {
                self.0.remove(&place);
                continue;
            };
            if self.0.get(&place) != Some(&stamp) {
                each_link(&directory, |_, link| Err(is_a_link(link)))?;
                self.0.insert(place, stamp);
            }
        }
        Ok(())
    }
}

/// Says that a part of a repository is a link.
pub(crate) fn is_a_link(path: &Path) -> io::Error {
    io::Error::other(format!("`{}` is a link, and Owl lets git follow none there", path.display()))
}

/// Calls `then` with the name and path of each link directly in a directory, if it is one.
fn each_link(directory: &Path, then: impl Fn(&std::ffi::OsStr, &Path) -> io::Result<()>) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_symlink() {
            then(&entry.file_name(), &entry.path())?;
        }
    }
    Ok(())
}

fn names_a_branch(link: &Path) -> bool {
    let named = fs::read_link(link).unwrap_or_default();
    named.starts_with("refs/heads") && named.components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

#[cfg(test)]
mod tests;
