//! One daemon per data directory (D4): an exclusive lock on a file, which the kernel lets go of however the daemon ends.
//! The file itself stays: removing it would let two daemons hold two files of one name.
//!
//! It is a record lock, because that is the process's own: a child that a killed daemon was just making would hold any other
//! kind a moment longer, and the next daemon would be refused for it. The price is that one process never refuses itself.

use crate::private::{PrivateError, create_file};
use nix::{
    errno::Errno,
    fcntl::{FcntlArg, fcntl},
    libc,
};
use std::{
    fs::File,
    io::{self, Seek as _, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// Times that a lock file may be replaced, or its lock let go of, under the daemon's hands before it gives up.
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
        /// The process that holds it, where the system knows.
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
    /// Takes the lock at once or not at all, and writes this process's id into the file, for people. Once in a process:
    /// a second one would be taken too, and dropped it would let go of both.
    ///
    /// # Errors
    /// [`LockError::Held`] while another process has it, by this path; else why the file cannot be used.
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let failed = |source: io::Error| LockError::Failed { path: path.into(), source };
        for _ in 0..TRIES {
            let mut file = create_file(path)?;
            match fcntl(&file, FcntlArg::F_SETLK(&whole())) {
                Ok(_) => {}
                Err(Errno::EAGAIN | Errno::EACCES) => match holder_of(&file).map_err(failed)? {
                    Some(pid) => return Err(LockError::Held { path: path.into(), pid: u32::try_from(pid).ok() }),
                    // It has let go in between.
                    None => continue,
                },
                Err(source) => return Err(failed(source.into())),
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

/// An exclusive lock on all of a file.
fn whole() -> libc::flock {
    libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

/// Returns the process that keeps this one from locking a file.
fn holder_of(file: &File) -> io::Result<Option<i32>> {
    let mut lock = whole();
    fcntl(file, FcntlArg::F_GETLK(&mut lock))?;
    Ok((lock.l_type != libc::F_UNLCK as libc::c_short).then_some(lock.l_pid))
}

#[cfg(test)]
mod tests;
