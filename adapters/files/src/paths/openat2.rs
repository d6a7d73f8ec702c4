//! The kernel's own look-up (Linux): one call follows the whole way and ends in a descriptor that cannot be read from,
//! and the kernel tells where that descriptor is. A FIFO or a device is not woken by it.

use super::{Miss, Opened, root::Root};
use nix::{
    errno::Errno,
    fcntl::{OFlag, OpenHow, ResolveFlag, openat2, readlink},
    sys::stat::fstat,
};
use owl_domain::ports::Handle;
use std::{
    os::fd::{AsRawFd, BorrowedFd, OwnedFd},
    path::PathBuf,
};

/// Says whether this kernel, and whatever filters its calls, lets the look-up work, `/proc` included.
pub(super) fn works() -> bool {
    let how = OpenHow::new().flags(OFlag::O_PATH | OFlag::O_CLOEXEC).resolve(ResolveFlag::RESOLVE_NO_MAGICLINKS);
    openat2(nix::fcntl::AT_FDCWD, "/", how)
        .is_ok_and(|root| place_of(&root).is_ok_and(|place| place.as_os_str() == "/"))
}

pub(super) fn open(root: &Root, word: &str) -> Result<Opened, Miss> {
    let from = root.fd().map_err(Miss::Unknown)?;
    match step(from, word, ResolveFlag::RESOLVE_NO_MAGICLINKS) {
        Ok(opened) => {
            let unknown = |error: Errno| Miss::Unknown(error.desc().into());
            let place = place_of(&opened).map_err(unknown)?;
            let stat = fstat(&opened).map_err(unknown)?;
            Ok(Opened { handle: Handle::new(opened), stat, place })
        }
        Err(Errno::ENOENT | Errno::ENOTDIR) => Err(missing(from, word)),
        // A loop; or a link that `/proc` makes up, which leads elsewhere for each process.
        Err(Errno::ELOOP) => Err(Miss::BrokenLink),
        Err(other) => Err(Miss::Unknown(other.desc().into())),
    }
}

/// Tells nothing at all from nothing behind a link: asked to follow none, the kernel stops at the first one.
fn missing(from: BorrowedFd<'_>, word: &str) -> Miss {
    match step(from, word, ResolveFlag::RESOLVE_NO_SYMLINKS) {
        Err(Errno::ENOENT | Errno::ENOTDIR) => Miss::Absent,
        Err(Errno::ELOOP) => Miss::BrokenLink,
        Err(other) => Miss::Unknown(other.desc().into()),
        Ok(_) => Miss::Unknown("it appeared while it was looked at".into()),
    }
}

fn step(from: BorrowedFd<'_>, word: &str, resolve: ResolveFlag) -> Result<OwnedFd, Errno> {
    openat2(from, word, OpenHow::new().flags(OFlag::O_PATH | OFlag::O_CLOEXEC).resolve(resolve))
}

fn place_of(opened: &OwnedFd) -> Result<PathBuf, Errno> {
    readlink(format!("/proc/self/fd/{}", opened.as_raw_fd()).as_str()).map(PathBuf::from)
}
