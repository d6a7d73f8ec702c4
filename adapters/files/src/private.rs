//! Directories and files that nobody else may look into: 0700 and 0600 under any umask (D2). What exists and belongs to
//! this user is tightened; what belongs to somebody else is refused. The only place that sets a mode.

use nix::unistd::geteuid;
use std::{
    fs::{DirBuilder, File, OpenOptions, Permissions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

const DIRECTORY: u32 = 0o700;
const FILE: u32 = 0o600;
const MODE_BITS: u32 = 0o7777;

/// Why something private could not be made or used.
#[derive(Debug, thiserror::Error)]
pub enum PrivateError {
    /// It belongs to another user.
    #[error("{} belongs to user {uid}, not to the one who runs Owl; remove it or name another place", path.display())]
    NotOurs {
        /// What.
        path: PathBuf,
        /// Whose it is.
        uid: u32,
    },
    /// Something else stands there.
    #[error("{} is not {expected}", path.display())]
    NotThat {
        /// What.
        path: PathBuf,
        /// What was needed.
        expected: &'static str,
    },
    /// The file system said no.
    #[error("{} cannot be {doing}", path.display())]
    Failed {
        /// What.
        path: PathBuf,
        /// What was attempted.
        doing: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl PrivateError {
    fn failed(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Failed { path: path.into(), doing, source }
    }
}

/// Makes a private directory and whatever leads to it, or tightens the one that exists. A link that this user made and
/// that leads to a directory of this user is followed: people move their data to another disk.
///
/// # Errors
/// [`PrivateError`] when it belongs to somebody else, is no directory, or cannot be made.
pub fn create_dir(path: &Path) -> Result<(), PrivateError> {
    make(path).map_err(PrivateError::failed(path, "created"))?;
    let name = std::fs::symlink_metadata(path).map_err(PrivateError::failed(path, "looked at"))?;
    if name.is_symlink() {
        ours(path, name.uid())?;
    }
    let directory = std::fs::metadata(path).map_err(PrivateError::failed(path, "looked at"))?;
    if !directory.is_dir() {
        return Err(PrivateError::NotThat { path: path.into(), expected: "a directory" });
    }
    ours(path, directory.uid())?;
    if directory.mode() & MODE_BITS != DIRECTORY {
        let tightened = std::fs::set_permissions(path, Permissions::from_mode(DIRECTORY));
        tightened.map_err(PrivateError::failed(path, "made private"))?;
    }
    Ok(())
}

/// Makes what is missing on the way, one private directory after the other: a umask that takes more away than 0077 would
/// else close the first one to its own maker.
fn make(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(DIRECTORY).create(path) {
        Ok(()) => std::fs::set_permissions(path, Permissions::from_mode(DIRECTORY)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make(path.parent().filter(|parent| !parent.as_os_str().is_empty()).ok_or(error)?)?;
            make(path)
        }
        Err(error) => Err(error),
    }
}

/// Makes a private file, or opens and tightens the one that exists, for reading and writing. Follows no link.
///
/// # Errors
/// [`PrivateError`] when it belongs to somebody else, is no regular file, or cannot be made.
pub fn create_file(path: &Path) -> Result<File, PrivateError> {
    let flags = (nix::fcntl::OFlag::O_NOFOLLOW | nix::fcntl::OFlag::O_NONBLOCK).bits();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(FILE).custom_flags(flags);
    let file = options.open(path).map_err(|source| match std::fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() => PrivateError::NotThat { path: path.into(), expected: "a file" },
        Ok(_) | Err(_) => PrivateError::failed(path, "opened")(source),
    })?;
    let there = file.metadata().map_err(PrivateError::failed(path, "looked at"))?;
    if !there.is_file() {
        return Err(PrivateError::NotThat { path: path.into(), expected: "a file" });
    }
    ours(path, there.uid())?;
    tighten(&file, there.mode(), path)?;
    Ok(file)
}

/// Puts a private file of this content at the path, whole or not at all: a reader at any moment, and after a power cut,
/// finds the old one or the new one. What stood there is replaced, a link itself and not what it leads to.
///
/// # Errors
/// [`PrivateError`] when a step fails; then what stood there still does.
pub fn replace_file(path: &Path, content: &[u8]) -> Result<(), PrivateError> {
    let directory = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Err(PrivateError::NotThat { path: path.into(), expected: "a file" }),
    };
    let temporary = written_beside(path, directory, content)?;
    temporary.persist(path).map_err(|error| PrivateError::failed(path, "put in place")(error.error))?;
    sync_dir(directory)
}

/// Writes a whole private file under a name of its own, beside where it will stand, down to the disk.
pub(crate) fn written_beside(
    path: &Path,
    directory: &Path,
    content: &[u8],
) -> Result<tempfile::NamedTempFile, PrivateError> {
    let temporary = tempfile::Builder::new().prefix(".owl-").suffix(".tmp").tempfile_in(directory);
    let mut temporary = temporary.map_err(PrivateError::failed(path, "written beside its place"))?;
    let written = PrivateError::failed(path, "written beside its place");
    let wrote = temporary.as_file().metadata().and_then(|there| {
        if there.mode() & MODE_BITS != FILE {
            temporary.as_file().set_permissions(Permissions::from_mode(FILE))?;
        }
        temporary.write_all(content)?;
        temporary.as_file().sync_all()
    });
    wrote.map_err(written)?;
    Ok(temporary)
}

/// Makes what happened to a directory's names last.
pub(crate) fn sync_dir(directory: &Path) -> Result<(), PrivateError> {
    let synced = File::open(directory).and_then(|opened| opened.sync_all());
    synced.map_err(PrivateError::failed(directory, "made to last"))
}

fn tighten(file: &File, mode: u32, path: &Path) -> Result<(), PrivateError> {
    if mode & MODE_BITS == FILE {
        return Ok(());
    }
    let tightened = file.set_permissions(Permissions::from_mode(FILE));
    tightened.map_err(PrivateError::failed(path, "made private"))
}

fn ours(path: &Path, uid: u32) -> Result<(), PrivateError> {
    if uid == geteuid().as_raw() { Ok(()) } else { Err(PrivateError::NotOurs { path: path.into(), uid }) }
}

#[cfg(test)]
mod tests;
