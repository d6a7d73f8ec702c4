//! One daemon per data directory (D4): an exclusive lock on a file, which the kernel lets go of however the daemon ends.
//! The file itself stays: removing it would let two daemons hold two files of one name.

use crate::private::{PrivateError, create_file};
use nix::errno::Errno;
use std::{
    fs::{File, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// Times that a lock file may be replaced under the daemon's hands before it gives up.
const TRIES: usize = 8;

/// The lock of a data directory; held until it is dropped.
#[derive(Debug)]
pub struct DataLock {
    // Never read: to hold it open is to hold the lock.
    _file: File,
}

/// Why the lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another daemon holds it.
    #[error("{} is held by {}", path.display(), holder(*pid))]
    Held {
        /// The lock file.
        path: PathBuf,
        /// The daemon that holds it, as it wrote itself down.
        pid: Option<u32>,
    },
    /// The file could not be made or opened.
    #[error("the lock file cannot be used")]
    File(#[from] PrivateError),
    /// The file could not be locked or written.
    #[error("{} cannot be locked", path.display())]
    Failed {
        /// The lock file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another daemon".into(), |pid| format!("another daemon, process {pid}"))
}

impl DataLock {
    /// Takes the lock at once or not at all, and writes this process's id into the file, for people.
    ///
    /// # Errors
    /// [`LockError::Held`] while another process has it, by this path; else why the file cannot be used.
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let failed = |source: io::Error| LockError::Failed { path: path.into(), source };
        for _ in 0..TRIES {
            let mut file = create_file(path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(LockError::Held { path: path.into(), pid: written(file) }),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
            // Somebody may have put another file there between the two calls; then this lock guards nothing.
            if !stands_at(&file, path).map_err(failed)? {
                continue;
            }
            write(&mut file).map_err(failed)?;
            return Ok(Self { _file: file });
        }
        Err(failed(Errno::EAGAIN.into()))
    }
}

fn stands_at(file: &File, path: &Path) -> io::Result<bool> {
    let held = file.metadata()?;
    match std::fs::symlink_metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (held.dev(), held.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn write(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn written(file: File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim_end().parse().ok()
}

#[cfg(test)]
mod tests;
