//! The open root of a workdir, from which every look starts, checked against its pin (D12, D14).

use super::place::Identity;
use nix::{
    errno::Errno,
    fcntl::{OFlag, open},
    sys::stat::{Mode, fstat},
};
use owl_domain::{
    ports::{Handle, LocateError},
    project::Pin,
};
use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

/// How a directory is opened to start from: never for its content where the system has a way to say so.
#[cfg(target_os = "linux")]
const START: OFlag = OFlag::O_PATH;
#[cfg(not(target_os = "linux"))]
const START: OFlag = OFlag::O_RDONLY;

/// The open root of a workdir.
pub(super) struct Root {
    pub(super) handle: Handle,
    /// Where it is: the pinned path, which leads through no link.
    pub(super) place: PathBuf,
}

impl Root {
    /// Opens the directory and makes sure that it is the pinned one, under the pinned path.
    pub(super) fn open(pin: &Pin) -> Result<Self, LocateError> {
        let path = || pin.path.clone();
        let flags = START | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let unreadable = |error: Errno| LocateError::Unreadable { path: path(), reason: error.desc().into() };
        let root = open(pin.path.as_str(), flags, Mode::empty()).map_err(|error| match error {
            Errno::ENOENT => LocateError::Gone { path: path() },
            Errno::ENOTDIR | Errno::ELOOP => LocateError::Replaced { path: path() },
            other => unreadable(other),
        })?;
        let stat = fstat(&root).map_err(unreadable)?;
        if Identity::of(&stat) != Identity::pinned(pin) {
            return Err(LocateError::Replaced { path: path() });
        }
        // The same directory, but by way of a link: then the pinned path no longer says where things are.
        let place = std::fs::canonicalize(pin.path.as_str())
            .map_err(|error| LocateError::Unreadable { path: path(), reason: error.to_string() })?;
        if place != Path::new(pin.path.as_str()) {
            return Err(LocateError::Replaced { path: path() });
        }
        Ok(Self { handle: Handle::new(root), place })
    }

    /// Returns the descriptor.
    pub(super) fn fd(&self) -> Result<BorrowedFd<'_>, String> {
        descriptor(&self.handle)
    }
}

/// Returns what a handle of this crate holds.
pub(super) fn descriptor(handle: &Handle) -> Result<BorrowedFd<'_>, String> {
    handle.get::<OwnedFd>().map(AsFd::as_fd).ok_or_else(|| "it has no descriptor".into())
}
