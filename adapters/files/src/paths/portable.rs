//! The look-up where the kernel has none of its own (macOS, an old Linux): every step is looked at, every link read by
//! hand. What is swapped between two steps is not seen here; the second pass right before execution and, on Linux, the
//! kernel's wall stand behind it (D13).

use super::{
    Miss, Opened,
    place::{Identity, Kind},
    root::Root,
};
use nix::{errno::Errno, fcntl::AtFlags, sys::stat::fstatat};
use owl_domain::ports::{FileKind, Handle};
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

/// As many links as Linux follows.
const LINKS: usize = 40;
/// Where links are made up anew for each process.
const MADE_UP: &str = "/proc";

pub(super) fn open(root: &Root, word: &str) -> Result<Opened, Miss> {
    let place = resolve(root, word)?;
    let stat = fstatat(nix::fcntl::AT_FDCWD, &place, AtFlags::AT_SYMLINK_NOFOLLOW)
        .map_err(|error| Miss::Unknown(error.desc().into()))?;
    let handle = match Kind::of(&stat) {
        Kind::Is(kind) => hold(&place, kind, Identity::of(&stat))?,
        Kind::Link | Kind::Strange => return Err(Miss::Unknown("it changed while it was looked at".into())),
    };
    Ok(Opened { handle, stat, place })
}

/// Follows the whole way, the last component included.
fn resolve(root: &Root, word: &str) -> Result<PathBuf, Miss> {
    let mut at = root.place.clone();
    let mut left = Vec::new();
    push(&mut left, OsStr::new(word));
    let mut links = 0;
    while let Some(step) = left.pop() {
        // An empty step is a doubled or a last slash; like `.` it asks for a directory.
        if step.is_empty() || step == "." || step == ".." {
            if kind_of(&at, links)? != Kind::Is(FileKind::Directory) {
                return Err(nothing(links));
            }
            if step == ".." {
                at.pop();
            }
            continue;
        }
        at.push(&step);
        match kind_of(&at, links)? {
            Kind::Link => {
                links += 1;
                if links > LINKS {
                    return Err(Miss::BrokenLink);
                }
                let target = std::fs::read_link(&at).map_err(|error| Miss::Unknown(error.to_string()))?;
                at.pop();
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                push(&mut left, target.as_os_str());
            }
            // With more of the way to come, the next look says that this is no directory.
            Kind::Is(_) | Kind::Strange => {}
        }
        if at.starts_with(MADE_UP) && !root.place.starts_with(MADE_UP) {
            return Err(Miss::Outside(left.iter().rev().fold(at, |at, step| at.join(step))));
        }
    }
    Ok(at)
}

/// Puts the steps of a path on top, the first one uppermost.
fn push(left: &mut Vec<OsString>, path: &OsStr) {
    let steps = path.as_bytes().split(|byte| *byte == b'/').rev();
    left.extend(steps.map(|step| OsString::from_vec(step.to_vec())));
    // The root itself, before an absolute path's first slash, is where the caller already stands.
    if path.as_bytes().first() == Some(&b'/') {
        left.pop();
    }
}

fn kind_of(at: &Path, links: usize) -> Result<Kind, Miss> {
    match fstatat(nix::fcntl::AT_FDCWD, at, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Kind::of(&stat)),
        Err(Errno::ENOENT | Errno::ENOTDIR) => Err(nothing(links)),
        Err(Errno::ELOOP) => Err(Miss::BrokenLink),
        Err(other) => Err(Miss::Unknown(other.desc().into())),
    }
}

const fn nothing(links: usize) -> Miss {
    if links == 0 { Miss::Absent } else { Miss::BrokenLink }
}

/// Opens what was found without waking it.
#[cfg(target_os = "linux")]
fn hold(place: &Path, _kind: FileKind, looked_at: Identity) -> Result<Handle, Miss> {
    use nix::{fcntl::OFlag, sys::stat::Mode};
    opened(place, OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, Mode::empty(), looked_at)
}

/// Opens a file or a directory; what would be woken by that gets a handle that holds nothing. There is no kernel's wall
/// here that would need one.
#[cfg(not(target_os = "linux"))]
fn hold(place: &Path, kind: FileKind, looked_at: Identity) -> Result<Handle, Miss> {
    use nix::{fcntl::OFlag, sys::stat::Mode};
    match kind {
        FileKind::File | FileKind::Directory => {
            let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
            opened(place, flags, Mode::empty(), looked_at)
        }
        FileKind::Fifo | FileKind::Socket | FileKind::Device => Ok(Handle::new(())),
    }
}

fn opened(
    place: &Path,
    flags: nix::fcntl::OFlag,
    mode: nix::sys::stat::Mode,
    looked_at: Identity,
) -> Result<Handle, Miss> {
    let unknown = |error: Errno| Miss::Unknown(error.desc().into());
    let descriptor = nix::fcntl::open(place, flags, mode).map_err(unknown)?;
    if Identity::of(&nix::sys::stat::fstat(&descriptor).map_err(unknown)?) != looked_at {
        return Err(Miss::Unknown("it changed while it was looked at".into()));
    }
    Ok(Handle::new(descriptor))
}
