//! The walk below a directory, for git directories in it (D12): names only, no link followed, nothing opened but
//! directories. What it returns is left out by the program's own exclusions and by the kernel's rule.

use super::{
    place::{Identity, Kind},
    root::descriptor,
};
use nix::{
    dir::{Dir, Type},
    errno::Errno,
    fcntl::{AtFlags, OFlag},
    sys::stat::{Mode, fstat, fstatat},
};
use owl_domain::{
    git_names::spells_dot_git,
    ports::{Below, FileKind, Handle, Hidden},
    project::Pins,
};
use std::os::{
    fd::{BorrowedFd, OwnedFd},
    unix::ffi::OsStrExt,
};
use std::{collections::HashMap, ffi::OsStr};

/// Directories below each other; a tree that goes on deeper is none that people made.
pub(super) const DEEPEST: usize = 128;
/// What the paths may take that are still to be walked, and those that were found.
const MOST_BYTES: usize = 64 * 1024 * 1024;

const LIST: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_CLOEXEC).union(OFlag::O_NOFOLLOW);

/// Walks the whole tree once and looks at no more than `most` entries.
pub(super) fn walk(tree: &Handle, pins: &Pins, most: u32) -> Result<Below, String> {
    let tree = descriptor(tree)?;
    let mut hidden = Vec::new();
    let (mut seen, mut bytes) = (0, 0);
    // One open directory at a time, found by its path below the tree: a deep tree takes no descriptors.
    let mut left = vec![Vec::new()];
    while let Some(directory) = left.pop() {
        bytes -= directory.len();
        let Some(opened) = open(tree, &directory)? else {
            continue;
        };
        let identity = Identity::of(&fstat(&opened).map_err(|error| said(&directory, error))?);
        if identity.is_git_of(pins) {
            hidden.push(directory);
            continue;
        }
        match list(opened, &directory, most - seen)? {
            Listed::TooMany => return Ok(Below::TooMany),
            Listed::Bare => hidden.push(directory),
            Listed::Entries { count, directories, git } => {
                seen += count;
                bytes += directories.iter().chain(&git).map(Vec::len).sum::<usize>();
                let is_too_deep = !directories.is_empty() && depth_of(&directory) == DEEPEST;
                if is_too_deep || bytes > MOST_BYTES {
                    return Ok(Below::TooMany);
                }
                left.extend(directories);
                hidden.extend(git);
            }
        }
    }
    if hidden.iter().any(Vec::is_empty) {
        return Err("it became git data while it was looked at".into());
    }
    hidden.sort_unstable();
    let hidden: Vec<Hidden> = hidden.into_iter().map(Hidden).collect();
    Ok(match shared(tree, &hidden)? {
        Some(shared) => Below::Shared(shared),
        None => Below::Hidden(hidden),
    })
}

/// Finds a git directory whose name something else has, too. Walks again, and only where a name is no spelling of `.git`,
/// which nothing else has.
fn shared(tree: BorrowedFd<'_>, hidden: &[Hidden]) -> Result<Option<Hidden>, String> {
    let named: HashMap<&[u8], &Hidden> =
        hidden.iter().filter(|hidden| !spells_dot_git(hidden.name())).map(|hidden| (hidden.name(), hidden)).collect();
    // What is no text is left out by a pattern that other names fit.
    if let Some(no_text) = named.values().find(|hidden| str::from_utf8(hidden.name()).is_err()) {
        return Ok(Some((*no_text).clone()));
    }
    let mut left = if named.is_empty() { Vec::new() } else { vec![Vec::new()] };
    while let Some(directory) = left.pop() {
        let Some(opened) = open(tree, &directory)? else { continue };
        let mut opened = Dir::from_fd(opened).map_err(|error| said(&directory, error))?;
        for entry in opened.iter() {
            let entry = entry.map_err(|error| said(&directory, error))?;
            let name = entry.file_name().to_bytes();
            let path = below(&directory, name);
            if matches!(name, b"." | b"..") || hidden.binary_search_by(|known| known.0.cmp(&path)).is_ok() {
                continue;
            }
            if let Some(same) = named.get(name) {
                return Ok(Some((*same).clone()));
            }
            if matches!(entry.file_type(), Some(Type::Directory) | None) {
                left.push(path);
            }
        }
    }
    Ok(None)
}

/// Returns how many directories lie on the way to one, itself among them.
fn depth_of(directory: &[u8]) -> usize {
    if directory.is_empty() { 0 } else { 1 + directory.iter().filter(|byte| **byte == b'/').count() }
}

fn below(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() { name.to_vec() } else { [directory, b"/", name].concat() }
}

/// What one directory holds, as paths below the tree.
enum Listed {
    Entries { count: u32, directories: Vec<Vec<u8>>, git: Vec<Vec<u8>> },
    Bare,
    TooMany,
}

fn list(opened: OwnedFd, directory: &[u8], most: u32) -> Result<Listed, String> {
    let mut opened = Dir::from_fd(opened).map_err(|error| said(directory, error))?;
    let (mut count, mut directories, mut git) = (0, Vec::new(), Vec::new());
    let (mut head, mut objects, mut refs) = (false, false, false);
    let mut unknown = Vec::new();
    for entry in opened.iter() {
        let entry = entry.map_err(|error| said(directory, error))?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        if count == most {
            return Ok(Listed::TooMany);
        }
        count += 1;
        let kind = entry.file_type();
        match name {
            b"HEAD" => head = true,
            b"objects" => objects = may_be_directory(kind),
            b"refs" => refs = may_be_directory(kind),
            _ => {}
        }
        let path = || below(directory, name);
        if spells_dot_git(name) {
            git.push(path());
        } else if kind == Some(Type::Directory) {
            directories.push(path());
        } else if kind.is_none() {
            unknown.push((name.to_vec(), path()));
        }
    }
    // Some file systems do not say what an entry is.
    for (name, path) in unknown {
        let stat = fstatat(&opened, OsStr::from_bytes(&name), AtFlags::AT_SYMLINK_NOFOLLOW);
        if stat.is_ok_and(|stat| Kind::of(&stat) == Kind::Is(FileKind::Directory)) {
            directories.push(path);
        }
    }
    if head && objects && refs {
        return Ok(Listed::Bare);
    }
    Ok(Listed::Entries { count, directories, git })
}

/// A link counts, as git would follow it, and so does what the file system does not tell.
const fn may_be_directory(kind: Option<Type>) -> bool {
    matches!(kind, Some(Type::Directory | Type::Symlink) | None)
}

/// Opens a directory below the tree; none when it is gone, or closed to Owl and thereby to the program too.
fn open(tree: BorrowedFd<'_>, directory: &[u8]) -> Result<Option<OwnedFd>, String> {
    let name = if directory.is_empty() { OsStr::new(".") } else { OsStr::from_bytes(directory) };
    match open_below(tree, name) {
        Ok(opened) => Ok(Some(opened)),
        Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP | Errno::EACCES) => Ok(None),
        Err(other) => Err(said(directory, other)),
    }
}

#[cfg(target_os = "linux")]
fn open_below(tree: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    use nix::fcntl::{OpenHow, ResolveFlag, openat2};
    let how = OpenHow::new().flags(LIST).resolve(ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_BENEATH);
    match openat2(tree, name, how) {
        // No such call here, or a filter that refuses it.
        Err(Errno::ENOSYS | Errno::EPERM) => nix::fcntl::openat(tree, name, LIST, Mode::empty()),
        opened => opened,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_below(tree: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    nix::fcntl::openat(tree, name, LIST, Mode::empty())
}

fn said(directory: &[u8], error: Errno) -> String {
    let name = if directory.is_empty() { ".".into() } else { String::from_utf8_lossy(directory) };
    format!("`{name}` in it cannot be listed: {}", error.desc())
}
