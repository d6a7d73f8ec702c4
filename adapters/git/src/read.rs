//! Small files of a repository, read so that none of them can hold Owl up or lead it astray: no link is followed, no
//! FIFO opened for long, nothing big taken.

use std::{
    fs::OpenOptions,
    io::{self, Read as _},
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, OpenOptionsExt as _},
    },
    path::{Path, PathBuf},
    time::SystemTime,
};

/// The most that is read of a file which holds a path or a few.
pub(crate) const PATHS_BYTES: u64 = 64 * 1024;

/// Reads a regular file of at most `most` bytes; none when there is none.
pub(crate) fn read_small(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    Ok(read_small_as_of(path, most)?.map(|(content, _)| content))
}

/// Reads it likewise, and returns too when it was last written.
pub(crate) fn read_small_as_of(path: &Path, most: u64) -> io::Result<Option<(Vec<u8>, SystemTime)>> {
    let flags = nix::fcntl::OFlag::O_NOFOLLOW | nix::fcntl::OFlag::O_NONBLOCK;
    let file = match OpenOptions::new().read(true).custom_flags(flags.bits()).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let there = file.metadata()?;
    if !there.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut content = Vec::new();
    if file.take(most.saturating_add(1)).read_to_end(&mut content)? as u64 > most {
        return Err(io::Error::other(format!("it has more than {most} bytes")));
    }
    Ok(Some((content, there.modified()?)))
}

/// Reads the one path that a file holds, behind what it has to begin with; none when it is not such a file.
pub(crate) fn read_path(file: &Path, prefix: &str) -> Option<PathBuf> {
    let content = read_small(file, PATHS_BYTES).ok()??;
    let path = content.strip_prefix(prefix.as_bytes())?.trim_ascii_end();
    if path.is_empty() || path.contains(&0) {
        return None;
    }
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(path)))
}

/// What a file was at one moment: when none of it changed, its content is taken to be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Returns what stands at a path, a link itself; none when nothing does.
    pub(crate) fn of(path: &Path) -> io::Result<Option<Self>> {
        match std::fs::symlink_metadata(path) {
            Ok(there) => Ok(Some(Self {
                device: there.dev(),
                inode: there.ino(),
                size: there.size(),
                modified: (there.mtime(), there.mtime_nsec()),
                changed: (there.ctime(), there.ctime_nsec()),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}
