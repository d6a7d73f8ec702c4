//! What a place is: inside the workdir or not, git data or not (D12). Segments are compared, never prefixes of text.

use super::{Opened, root::Root, walk::DEEPEST};
use nix::{
    errno::Errno,
    fcntl::{AtFlags, OFlag, openat},
    sys::stat::{FileStat, Mode, SFlag, fstat, fstatat},
};
use owl_domain::{
    git_names::spells_dot_git,
    ports::FileKind,
    project::{Pin, Pins},
};
use std::{
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Component, Path, PathBuf},
};

/// How each directory on the way is opened: for nothing but to look from there, and no link. Elsewhere than on Linux a
/// file could only be opened to be read, which it is not: what lies there is told by its own descriptor.
#[cfg(target_os = "linux")]
const STEP: OFlag = OFlag::O_PATH.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);
#[cfg(not(target_os = "linux"))]
const STEP: OFlag = OFlag::O_RDONLY.union(OFlag::O_NONBLOCK).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// Climbs that still read better than an absolute path.
const SHORT_CLIMB: usize = 2;

/// Which thing it is, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    #[cfg_attr(target_os = "linux", expect(clippy::unnecessary_cast, reason = "a device has 32 bits on macOS"))]
    pub(super) const fn of(stat: &FileStat) -> Self {
        Self { device: stat.st_dev as u64, inode: stat.st_ino as u64 }
    }

    pub(super) const fn pinned(pin: &Pin) -> Self {
        Self { device: pin.device, inode: pin.inode }
    }

    /// Says whether it is one of the repository's own git directories, under whatever name.
    pub(super) fn is_git_of(self, pins: &Pins) -> bool {
        self == Self::pinned(&pins.git_dir) || self == Self::pinned(&pins.common_dir)
    }
}

/// What a thing is, a link included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Is(FileKind),
    Link,
    Strange,
}

impl Kind {
    pub(super) fn of(stat: &FileStat) -> Self {
        match SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT {
            SFlag::S_IFREG => Self::Is(FileKind::File),
            SFlag::S_IFDIR => Self::Is(FileKind::Directory),
            SFlag::S_IFIFO => Self::Is(FileKind::Fifo),
            SFlag::S_IFSOCK => Self::Is(FileKind::Socket),
            SFlag::S_IFCHR | SFlag::S_IFBLK => Self::Is(FileKind::Device),
            SFlag::S_IFLNK => Self::Link,
            _ => Self::Strange,
        }
    }
}

/// How something that exists stands to the workdir.
pub(super) enum Standing {
    Inside,
    Outside,
    Git,
    Unknown(String),
}

/// Looks at each directory from the root down to the place, and makes sure that what was opened still stands there.
pub(super) fn judge(root: &Root, pins: &Pins, opened: &Opened) -> Standing {
    let Ok(below) = opened.place.strip_prefix(&root.place) else {
        return Standing::Outside;
    };
    if below.components().count() > DEEPEST {
        return Standing::Unknown(format!("it lies more than {DEEPEST} directories deep"));
    }
    let fd = match root.fd() {
        Ok(fd) => fd,
        Err(reason) => return Standing::Unknown(reason),
    };
    // One descriptor a step: the whole way from the root for each would take the square of the depth.
    let mut at: Option<OwnedFd> = None;
    let mut last = None;
    if is_bare(fd) {
        return Standing::Git;
    }
    for name in below {
        if spells_dot_git(name.as_bytes()) {
            return Standing::Git;
        }
        let from = at.as_ref().map_or(fd, AsFd::as_fd);
        let step = openat(from, name, STEP, Mode::empty()).and_then(|step| Ok((fstat(&step)?, step)));
        let (stat, step) = match step {
            Ok(step) => step,
            Err(Errno::ENOENT | Errno::ENOTDIR) => return moved(),
            Err(other) => return Standing::Unknown(other.desc().into()),
        };
        let identity = Identity::of(&stat);
        if Kind::of(&stat) == Kind::Is(FileKind::Directory) && (identity.is_git_of(pins) || is_bare(step.as_fd())) {
            return Standing::Git;
        }
        last = Some(identity);
        at = Some(step);
    }
    match last {
        Some(identity) if identity != Identity::of(&opened.stat) => moved(),
        Some(_) | None => Standing::Inside,
    }
}

fn moved() -> Standing {
    Standing::Unknown("it changed while it was looked at".into())
}

/// Says whether a directory is a bare repository by what it holds, which is how git itself would know it.
fn is_bare(directory: BorrowedFd<'_>) -> bool {
    let kind = |name: &str| fstatat(directory, name, AtFlags::AT_SYMLINK_NOFOLLOW).ok().map(|stat| Kind::of(&stat));
    kind("HEAD").is_some() && ["objects", "refs"].into_iter().all(|name| kind(name).is_some_and(may_be_directory))
}

/// A link counts: git would follow it.
const fn may_be_directory(kind: Kind) -> bool {
    matches!(kind, Kind::Is(FileKind::Directory) | Kind::Link)
}

/// Writes for people where something lies outside: from the workdir where that is short, else absolute.
pub(super) fn leads_to(root: &Root, place: &Path) -> String {
    let shared = root.place.components().zip(place.components()).take_while(|(a, b)| a == b).count();
    let climbs = root.place.components().count() - shared;
    // Only the file system's root is shared: climbing all the way up says nothing.
    if shared < 2 || climbs > SHORT_CLIMB {
        return place.to_string_lossy().into_owned();
    }
    let up = std::iter::repeat_n(Component::ParentDir, climbs);
    up.chain(place.components().skip(shared)).collect::<PathBuf>().to_string_lossy().into_owned()
}
