//! From what a command needs to the kernel's rules: each made from a descriptor, never through a link (D13).
//!
//! Rights only add up. So what must stay out is not taken from a tree: the directories on the way to it may be listed,
//! and every other entry of them gets a rule of its own. Names below a hidden entry stay listable, content does not.

use super::{Rules, Ruleset, ruleset::Right};
use crate::programs::Executable;
use nix::{
    dir::Dir,
    errno::Errno,
    fcntl::{AtFlags, OFlag, open, openat},
    sys::stat::{FileStat, Mode, SFlag, fstat, fstatat},
};
use owl_domain::{
    gate::{Access, Program, Reach, Reached},
    ports::{GitHome, Handle},
    project::{Pin, Pins},
    text::AbsPath,
};
use std::{
    collections::BTreeSet,
    ffi::{CStr, OsStr},
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

/// Where libraries, locales and time zones lie.
const DIRECTORIES: [&str; 8] = [
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/share/locale",
    "/usr/share/zoneinfo",
];
/// Files that any program may read beside its libraries.
const FILES: [&str; 2] = ["/etc/ld.so.cache", "/etc/localtime"];
/// Without these `ls -l` prints numbers in place of names.
const NAMES: [&str; 3] = ["/etc/passwd", "/etc/group", "/etc/nsswitch.conf"];
/// What git is not given of a git directory: the configuration with its credential, what it would run or follow.
const WITHHELD: [&[u8]; 5] = [b"config", b"config.worktree", b"hooks", b"info", b"commondir"];

/// What it is given of `info`: which files a sparse checkout holds.
const PATTERNS: &str = "sparse-checkout";

/// Directories below each other that are gone through one by one. Each takes some of a thread's stack.
const DEEPEST: usize = 192;

/// Git directories in git directories, and components of their names, that are gone through.
const NESTED: usize = 16;

const LOOK: OFlag = OFlag::O_PATH.union(OFlag::O_CLOEXEC);

/// Opens the directories that every command may read, each once.
pub(super) fn standing_directories() -> Vec<OwnedFd> {
    let mut seen = BTreeSet::new();
    let open = |path: &&str| open(*path, LOOK | OFlag::O_DIRECTORY, Mode::empty()).ok();
    DIRECTORIES.iter().filter_map(open).filter(|fd| fstat(fd).is_ok_and(|is| seen.insert(identity(&is)))).collect()
}

/// Allows what the program itself is made of. Opened anew each time: an upgrade of the system replaces these files.
pub(super) fn allow_program(set: &mut Ruleset, executable: &Executable, program: Program) -> io::Result<()> {
    for path in [Some(executable.path()), executable.loader()].into_iter().flatten() {
        set.allow(open(path, LOOK, Mode::empty())?, Right::Execute)?;
    }
    set.allow(open("/dev/null", LOOK, Mode::empty())?, Right::ReadWrite)?;
    let names: &[&str] = match program {
        Program::Ls => &NAMES,
        Program::Cat | Program::Git | Program::Grep | Program::Head | Program::Tail | Program::Wc => &[],
    };
    for path in FILES.iter().chain(names) {
        // A system that lacks one of them does without.
        if let Ok(file) = open(*path, LOOK, Mode::empty()) {
            allow_kind(set, &file, &fstat(&file)?)?;
        }
    }
    Ok(())
}

/// Allows what the operands lead to.
pub(super) fn allow(set: &mut Ruleset, rules: &Rules) -> io::Result<()> {
    match &rules.reach {
        Reach::Operands(operands) => operands.iter().try_for_each(|operand| allow_operand(set, operand)),
        Reach::Git(home) => allow_git(set, descriptor(&rules.root)?, home, rules.pins.as_ref()),
    }
}

fn descriptor(handle: &Handle) -> io::Result<&OwnedFd> {
    handle.get::<OwnedFd>().ok_or_else(|| io::Error::other("a path was judged without its descriptor"))
}

fn allow_operand(set: &mut Ruleset, operand: &Reached) -> io::Result<()> {
    let fd = descriptor(&operand.handle)?;
    let kind = kind(&fstat(fd)?);
    match (&operand.access, kind) {
        (Access::ReadFile | Access::ReadTree(_), SFlag::S_IFREG) => set.allow(fd, Right::ReadFile),
        // To read a directory as a file is its program's to refuse; listing it is all that this needs.
        (Access::ReadFile | Access::List | Access::ListTree(_), SFlag::S_IFDIR) => set.allow(fd, Right::List),
        (Access::ReadTree(hidden), SFlag::S_IFDIR) => {
            let hidden: Vec<&[u8]> = hidden.iter().map(|path| path.0.as_slice()).collect();
            if hidden.is_empty() { set.allow(fd, Right::Read) } else { allow_around(set, fd, &hidden, DEEPEST) }
        }
        // `ls` looks at anything and opens only directories; nothing else is ever opened.
        _ => Ok(()),
    }
}

/// Allows a tree but what is hidden in it. `hidden` are paths below `directory`, which the gate lets lie this deep.
fn allow_around(set: &mut Ruleset, directory: &OwnedFd, hidden: &[&[u8]], deeper: usize) -> io::Result<()> {
    let Some(deeper) = deeper.checked_sub(1) else {
        return Err(io::Error::other(format!("git data lies more than {DEEPEST} directories deep")));
    };
    set.allow(directory, Right::List)?;
    each_entry(directory, |name, entry, is| {
        if is_dot_git(name) {
            return Ok(());
        }
        let below: Vec<&[u8]> = hidden.iter().filter_map(|path| below(path, name)).collect();
        if below.is_empty() {
            allow_kind(set, entry, is)
        } else if below.iter().any(|path| path.is_empty()) || kind(is) != SFlag::S_IFDIR {
            Ok(())
        } else {
            allow_around(set, entry, &below, deeper)
        }
    })
}

/// Returns what is left of a path behind its first component, when that is `name`.
fn below<'a>(path: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    match path.strip_prefix(name)? {
        [] => Some(&[]),
        [b'/', rest @ ..] => Some(rest),
        _ => None,
    }
}

fn allow_git(set: &mut Ruleset, root: &OwnedFd, home: &GitHome, pins: Option<&Pins>) -> io::Result<()> {
    let git_dir = pinned(&home.git_dir, pins.map(|pins| &pins.git_dir))?;
    let common_dir = pinned(&home.real_common_dir, pins.map(|pins| &pins.common_dir))?;
    let owned = pinned(&home.owned_common_dir, None)?;
    let git: BTreeSet<_> = [&git_dir, &common_dir, &owned]
        .into_iter()
        .map(|fd| fstat(fd).map(|is| identity(&is)))
        .collect::<Result<_, _>>()?;
    let inside = |path: &AbsPath| {
        Path::new(path.as_str())
            .strip_prefix(home.work_tree.as_str())
            .ok()
            .map(|path| path.as_os_str().as_bytes().to_vec())
    };
    let hidden: Vec<Vec<u8>> =
        [&home.git_dir, &home.real_common_dir, &home.owned_common_dir].into_iter().filter_map(inside).collect();
    let readable: BTreeSet<_> = home.readable.iter().map(|pin| (pin.device, pin.inode)).collect();
    set.allow(root, Right::List)?;
    each_entry(root, |name, entry, is| {
        let is_other = || is_repository(entry, is) && !readable.contains(&identity(is));
        if is_dot_git(name) || git.contains(&identity(is)) || is_other() {
            return Ok(());
        }
        let below: Vec<&[u8]> = hidden.iter().filter_map(|path| below(path, name)).collect();
        if below.is_empty() { allow_kind(set, entry, is) } else { allow_around(set, entry, &below, DEEPEST) }
    })?;
    // In a repository's main work tree both are the same.
    let linked = (identity(&fstat(&git_dir)?) != identity(&fstat(&common_dir)?)).then_some(&common_dir);
    let directories = [Some(&git_dir), linked].into_iter().flatten();
    directories.into_iter().try_for_each(|directory| {
        let data = Data { withheld: &WITHHELD, readable: &readable };
        allow_git_data(set, directory, data, NESTED)
    })?;
    set.allow(&owned, Right::Read)?;
    home.lenders.iter().try_for_each(|lender| set.allow(pinned(&lender.path, Some(lender))?, Right::Read))
}

/// What git is not given of a git directory, and what it is nevertheless, by device and inode.
#[derive(Clone, Copy)]
struct Data<'d> {
    withheld: &'d [&'d [u8]],
    readable: &'d BTreeSet<(u64, u64)>,
}

/// Allows a git directory but what is withheld of it, and likewise those of its linked worktrees and its submodules, whose
/// checked out commits git tells.
fn allow_git_data(set: &mut Ruleset, directory: &OwnedFd, data: Data<'_>, deeper: usize) -> io::Result<()> {
    set.allow(directory, Right::List)?;
    each_entry(directory, |name, entry, is| {
        let is_one_of = |names: &[&[u8]]| names.iter().any(|one| name.eq_ignore_ascii_case(one));
        if is_one_of(&[b"modules"]) && kind(is) == SFlag::S_IFDIR {
            allow_others(set, entry, Data { withheld: &WITHHELD, ..data }, deeper)
        } else if is_one_of(&[b"worktrees"]) && kind(is) == SFlag::S_IFDIR {
            // A worktree's own file says that it is one, and git will have read it.
            let withheld: Vec<&[u8]> = WITHHELD.into_iter().filter(|name| *name != b"commondir").collect();
            allow_others(set, entry, Data { withheld: &withheld, ..data }, deeper)
        } else if is_one_of(&[b"info"]) && kind(is) == SFlag::S_IFDIR {
            match openat(entry.as_fd(), PATTERNS, LOOK | OFlag::O_NOFOLLOW, Mode::empty()) {
                Ok(patterns) => allow_kind(set, &patterns, &fstat(&patterns)?),
                Err(_) => Ok(()),
            }
        } else if is_one_of(data.withheld) && !data.readable.contains(&identity(is)) {
            Ok(())
        } else {
            allow_kind(set, entry, is)
        }
    })
}

/// Allows the git directories below one that holds them. A submodule's name may have components.
fn allow_others(set: &mut Ruleset, directory: &OwnedFd, data: Data<'_>, deeper: usize) -> io::Result<()> {
    let Some(deeper) = deeper.checked_sub(1) else { return Ok(()) };
    set.allow(directory, Right::List)?;
    each_entry(directory, |_, entry, is| {
        let has_head = || fstatat(entry.as_fd(), "HEAD", AtFlags::AT_SYMLINK_NOFOLLOW).is_ok();
        match kind(is) {
            SFlag::S_IFDIR if has_head() => allow_git_data(set, entry, data, deeper),
            SFlag::S_IFDIR => allow_others(set, entry, data, deeper),
            _ => Ok(()),
        }
    })
}

/// Opens a directory that must be the one that was registered, and no link.
fn pinned(path: &AbsPath, pin: Option<&Pin>) -> io::Result<OwnedFd> {
    let flags = LOOK | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW;
    let named = |e: Errno| io::Error::other(format!("`{path}` cannot be opened: {}", e.desc()));
    let fd = open(path.as_str(), flags, Mode::empty()).map_err(named)?;
    if let Some(pin) = pin
        && identity(&fstat(&fd)?) != (pin.device, pin.inode)
    {
        return Err(io::Error::other(format!("`{path}` is not the directory that was registered")));
    }
    Ok(fd)
}

/// Calls `then` with each entry of a directory: its name, the open entry and what it is. An entry that is a link, or
/// is gone meanwhile, is left out.
fn each_entry(
    directory: &OwnedFd,
    mut then: impl FnMut(&[u8], &OwnedFd, &FileStat) -> io::Result<()>,
) -> io::Result<()> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let mut listing = Dir::openat(directory.as_fd(), c".", flags, Mode::empty())?;
    for entry in listing.iter() {
        let entry = entry?;
        let name: &CStr = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let opened = match openat(directory.as_fd(), name, LOOK | OFlag::O_NOFOLLOW, Mode::empty()) {
            Ok(opened) => opened,
            Err(Errno::ENOENT) => continue,
            Err(e) => return Err(e.into()),
        };
        let is = fstat(&opened)?;
        if kind(&is) != SFlag::S_IFLNK {
            then(name.to_bytes(), &opened, &is)?;
        }
    }
    Ok(())
}

/// Allows to read a file, or a directory and all below; nothing of a FIFO, a socket or a device.
fn allow_kind(set: &mut Ruleset, entry: &OwnedFd, is: &FileStat) -> io::Result<()> {
    match kind(is) {
        SFlag::S_IFREG => set.allow(entry, Right::ReadFile),
        SFlag::S_IFDIR => set.allow(entry, Right::Read),
        _ => Ok(()),
    }
}

fn is_dot_git(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b".git")
}

/// Says whether a directory is a bare repository: it has a head, objects and refs.
fn is_repository(entry: &OwnedFd, is: &FileStat) -> bool {
    let has = |name: &str, wanted: SFlag| {
        fstatat(entry.as_fd(), OsStr::new(name), AtFlags::empty())
            .is_ok_and(|is| wanted.is_empty() || kind(&is) == wanted)
    };
    kind(is) == SFlag::S_IFDIR
        && has("HEAD", SFlag::empty())
        && has("objects", SFlag::S_IFDIR)
        && has("refs", SFlag::S_IFDIR)
}

fn kind(is: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(is.st_mode) & SFlag::S_IFMT
}

fn identity(is: &FileStat) -> (u64, u64) {
    (is.st_dev, is.st_ino)
}
