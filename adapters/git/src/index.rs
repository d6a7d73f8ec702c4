//! The paths in a repository's index (D12, D14). git writes no path there that leads out of the work tree or into `.git`,
//! and believes every one that it reads: an index that somebody made shows any file as a change. So Owl reads them first,
//! and looks before each run where they lead: git itself follows a directory that has become a link.
//! Only paths are looked at; what else is wrong with an index, git says.

mod copies;
mod format;

use crate::{
    layout::looks_like_repository,
    pins::{Identity, pin_of},
    read::read_small_as_of,
    submodules,
};
use copies::{Copies, Staged};
pub(crate) use format::Hash;
use format::{Fault, Index, Names};
use owl_domain::project::{Pin, Pins};
use std::{
    collections::HashMap,
    fs,
    hash::{BuildHasher as _, RandomState},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// A million paths; more is no work tree that a person looks at.
const MOST_BYTES: u64 = 128 * 1024 * 1024;
/// How many files are known at a time, and how much of one.
const KNOWN_FILES: usize = 64;
const KEPT_BYTES: usize = 1024 * 1024;

/// The index files that were read.
#[derive(Debug, Default)]
pub(crate) struct Indexes {
    read: Mutex<Read>,
    key: RandomState,
}

#[derive(Debug, Default)]
struct Read {
    known: HashMap<PathBuf, Known>,
    copies: Copies,
}

/// One of them: what was in it, by a hash whose key is this process's own, and what was found. Not by its stamp: what is
/// written through a mapping changes none.
#[derive(Debug)]
struct Known {
    content: u64,
    found: Result<Arc<Names>, Fault>,
}

impl Indexes {
    /// Refuses an index that names what lies outside of the work tree or in `.git`, by itself or through what stands in
    /// the work tree now. What is the same as before is not judged again. Copies it for git, and returns what it names
    /// that git may read though it looks like git data.
    pub(crate) fn look(&self, pins: &Pins, hash: Hash, copy: &Path) -> io::Result<Vec<Pin>> {
        let git_dir = Path::new(pins.git_dir.path.as_str());
        let mut readable = Vec::new();
        let file = git_dir.join("index");
        let Some((names, staged)) = self.read(&file, hash, Some(copy))? else { return Ok(readable) };
        names.look(pins, &mut readable)?;
        if let Some(base) = &names.base
            && let Some((names, _)) = self.read(&git_dir.join(format!("sharedindex.{base}")), hash, None)?
        {
            names.look(pins, &mut readable)?;
        }
        if let Some(staged) = staged {
            let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
            read.copies.put(staged).map_err(|error| not_copied(&file, &error))?;
        }
        Ok(readable)
    }

    /// Reads one file, and writes its copy beside where that belongs; none when there is none. One at a time: it is kept
    /// whole while it is read.
    fn read(&self, file: &Path, hash: Hash, copy: Option<&Path>) -> io::Result<Option<(Arc<Names>, Option<Staged>)>> {
        let named = |reason: String| io::Error::other(format!("`{}` {reason}", file.display()));
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let Read { known, copies } = &mut *read;
        let content = read_small_as_of(file, MOST_BYTES).map_err(|error| named(format!("cannot be read: {error}")))?;
        let Some((content, modified)) = content else {
            copy.map_or(Ok(()), |copy| copies.remove(copy)).map_err(|error| not_copied(file, &error))?;
            return Ok(None);
        };
        let hashed = self.key.hash_one(&content);
        let found = match known.get(file) {
            Some(known) if known.content == hashed => known.found.clone(),
            Some(_) | None => {
                let found = Index { content: &content, hash }.judge().map(Arc::new);
                known.remove(file);
                // Only what is small is kept: a work tree may have any number of index files.
                if found.as_ref().map_or(true, |names| names.bytes <= KEPT_BYTES) {
                    if known.len() == KNOWN_FILES {
                        known.clear();
                    }
                    known.insert(file.into(), Known { content: hashed, found: found.clone() });
                }
                found
            }
        };
        let names = found.map_err(|fault| named(fault.to_string()))?;
        let staged = copy.map_or(Ok(None), |copy| copies.stage(copy, &content, hashed, modified));
        drop(read);
        Ok(Some((names, staged.map_err(|error| not_copied(file, &error))?)))
    }
}

fn not_copied(file: &Path, error: &io::Error) -> io::Error {
    io::Error::other(format!("`{}` cannot be copied: {error}", file.display()))
}

impl Names {
    /// Refuses what leads astray; adds to `readable` what git may read though it looks like git data.
    fn look(&self, pins: &Pins, readable: &mut Vec<Pin>) -> io::Result<()> {
        let work_tree = Path::new(pins.work_tree.path.as_str());
        let git_data = [&pins.git_dir, &pins.common_dir].map(Identity::pinned);
        for directory in &self.directories {
            let path = work_tree.join(directory);
            match fs::symlink_metadata(&path) {
                Ok(there) if there.is_symlink() => {
                    let directory = directory.display();
                    let reason =
                        format!("the index names files below `{directory}`, which is a link now: git would follow it");
                    return Err(io::Error::other(reason));
                }
                Ok(there) if git_data.contains(&Identity::of(&there)) => {
                    let reason =
                        format!("the index names files below `{}`, which is git's own data", directory.display());
                    return Err(io::Error::other(reason));
                }
                Ok(there) => readable.extend(content_at_root(directory, &path, &there)),
                Err(_) => {}
            }
        }
        for gitlink in &self.gitlinks {
            let path = work_tree.join(gitlink);
            readable.extend(submodules::look(&path, pins)?);
            if let Ok(there) = fs::symlink_metadata(&path) {
                readable.extend(content_at_root(gitlink, &path, &there));
            }
        }
        Ok(())
    }
}

/// Returns a directory at the root that looks like a repository and is content of this one, as a fixture is. Deeper ones
/// are read with all around them.
fn content_at_root(name: &Path, path: &Path, there: &fs::Metadata) -> Option<Pin> {
    (name.components().count() == 1 && there.is_dir() && looks_like_repository(path)).then(|| pin_of(path, there))?
}

#[cfg(test)]
mod tests;
