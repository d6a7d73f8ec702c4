//! The copy of an index that git is given (D14): what was looked at, and not what stands there a moment later. Beside it
//! stands a lock, so that git finds it taken where it would write down what it found out.

use super::KNOWN_FILES;
use crate::read::Stamp;
use std::{
    collections::HashMap,
    ffi::OsString,
    fs::{self, DirBuilder, File, FileTimes, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

/// What stands behind a file's name in that of its lock; git knows no other.
const LOCK: &str = ".lock";
const NEW: &str = ".new";

/// The copies by path, and what each was made of.
#[derive(Debug, Default)]
pub(super) struct Copies(HashMap<PathBuf, Made>);

/// A copy as it was made.
#[derive(Debug, PartialEq, Eq)]
struct Made {
    /// The hash of its content.
    content: u64,
    modified: SystemTime,
    stamp: Option<Stamp>,
}

/// A copy that is written and not yet in its place.
#[derive(Debug)]
pub(super) struct Staged {
    copy: PathBuf,
    new: PathBuf,
    made: Made,
}

impl Copies {
    /// Writes the copy beside its place, unless it stands there. It is as old as the original: git takes a file for changed
    /// that is not older than the index, whatever else is noted of it.
    pub(super) fn stage(
        &self,
        copy: &Path,
        content: &[u8],
        hashed: u64,
        modified: SystemTime,
    ) -> io::Result<Option<Staged>> {
        lock(copy)?;
        let there = Made { content: hashed, modified, stamp: Stamp::of(copy)? };
        if there.stamp.is_some() && self.0.get(copy) == Some(&there) {
            return Ok(None);
        }
        let new = beside(copy, NEW);
        remove(&new)?;
        let mut file = private(&new)?;
        file.write_all(content)?;
        file.set_times(FileTimes::new().set_modified(modified))?;
        Ok(Some(Staged { copy: copy.into(), new, made: there }))
    }

    /// Puts in its place what was looked at and found good.
    pub(super) fn put(&mut self, staged: Staged) -> io::Result<()> {
        let Staged { copy, new, made } = staged;
        fs::rename(&new, &copy)?;
        if self.0.len() == KNOWN_FILES {
            self.0.clear();
        }
        let made = Made { stamp: Stamp::of(&copy)?, ..made };
        self.0.insert(copy, made);
        Ok(())
    }

    /// Removes it: there is no original.
    pub(super) fn remove(&mut self, copy: &Path) -> io::Result<()> {
        self.0.remove(copy);
        lock(copy)?;
        remove(copy)
    }
}

fn lock(copy: &Path) -> io::Result<()> {
    let lock = beside(copy, LOCK);
    if fs::symlink_metadata(&lock).is_ok() {
        return Ok(());
    }
    if let Some(directory) = copy.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    private(&lock).map(drop)
}

fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn beside(copy: &Path, ending: &str) -> PathBuf {
    let mut path = OsString::from(copy);
    path.push(ending);
    path.into()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
