//! Whether a repository is still what it was when it was registered (D14): each directory by device and inode, `.git`
//! by where it leads, and a linked worktree from the side of the repository, never from its own file alone.

use crate::{
    links::branch_of,
    read::{PATHS_BYTES, read_path, read_small},
};
use owl_domain::{
    project::{Pin, Pins},
    text::AbsPath,
};
use std::{
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// What a worktree's `.git` file begins with.
pub(crate) const GIT_FILE: &str = "gitdir: ";

/// Which thing it is, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity(u64, u64);

impl Identity {
    pub(crate) fn of(there: &Metadata) -> Self {
        Self(there.dev(), there.ino())
    }

    pub(crate) const fn pinned(pin: &Pin) -> Self {
        Self(pin.device, pin.inode)
    }

    /// Returns what stands at a path, a link itself.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        fs::symlink_metadata(path).map(|there| Self::of(&there))
    }
}

/// Why a directory cannot be pinned.
#[derive(Debug)]
pub(crate) enum NoPin {
    /// Its resolved path is not UTF-8.
    NotUtf8,
    /// It is no directory, or cannot be looked at.
    Failed(String),
}

/// Pins the directory that a path leads to.
pub(crate) fn pin(path: &Path) -> Result<Pin, NoPin> {
    let failed = |error: io::Error| NoPin::Failed(format!("`{}`: {error}", path.display()));
    let resolved = fs::canonicalize(path).map_err(failed)?;
    let there = fs::symlink_metadata(&resolved).map_err(failed)?;
    if !there.is_dir() {
        return Err(NoPin::Failed(format!("`{}` is no directory", resolved.display())));
    }
    pin_of(&resolved, &there).ok_or(NoPin::NotUtf8)
}

/// Pins what was seen at a resolved path; none when that is not UTF-8.
pub(crate) fn pin_of(path: &Path, there: &Metadata) -> Option<Pin> {
    let path = AbsPath::new(path.to_str()?).ok()?;
    Some(Pin { path, device: there.dev(), inode: there.ino() })
}

/// Makes sure that everything is as it was pinned; else says what differs.
pub(crate) fn check(pins: &Pins) -> Result<(), String> {
    stands(&pins.work_tree)?;
    let dot_git = Path::new(pins.work_tree.path.as_str()).join(".git");
    let leads_to = git_dir_of(&dot_git)?;
    let git_dir = fs::metadata(&leads_to).map_err(|_| format!("`{}` leads to nothing", dot_git.display()))?;
    if Identity::of(&git_dir) != Identity::pinned(&pins.git_dir) {
        return Err(format!("`{}` is, or leads to, another repository", dot_git.display()));
    }
    stands(&pins.git_dir)?;
    stands(&pins.common_dir)?;
    has_head(Path::new(pins.git_dir.path.as_str()))?;
    let (git_dir, common_dir) = (Path::new(pins.git_dir.path.as_str()), Path::new(pins.common_dir.path.as_str()));
    if pins.git_dir == pins.common_dir {
        return no_commondir(git_dir);
    }
    if leads_back(git_dir, common_dir, &dot_git) && shares(git_dir, common_dir) {
        return Ok(());
    }
    Err(format!("the repository does not know `{}` as its worktree", pins.work_tree.path.as_str()))
}

/// Makes sure that a main git directory names no other as the one it shares: git takes the refs from there, whatever
/// else it is told.
pub(crate) fn no_commondir(git_dir: &Path) -> Result<(), String> {
    match fs::symlink_metadata(git_dir.join("commondir")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(_) | Err(_) => Err(format!("`{}` names another directory as the one that it shares", git_dir.display())),
    }
}

/// Says whether the entry of a linked worktree names this common directory as the one that it shares.
pub(crate) fn shares(git_dir: &Path, common_dir: &Path) -> bool {
    let named = read_path(&git_dir.join("commondir"), "").and_then(|named| fs::metadata(git_dir.join(named)).ok());
    match (named, Identity::at(common_dir)) {
        (Some(named), Ok(common_dir)) => Identity::of(&named) == common_dir,
        (None, _) | (_, Err(_)) => false,
    }
}

/// Returns the directory that `.git` is or, as a file, names. A link is neither.
pub(crate) fn git_dir_of(dot_git: &Path) -> Result<PathBuf, String> {
    let there = fs::symlink_metadata(dot_git).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("`{}` is gone", dot_git.display()),
        _ => format!("`{}`: {error}", dot_git.display()),
    })?;
    if there.is_dir() {
        return Ok(dot_git.into());
    }
    if !there.is_file() {
        return Err(format!("`{}` is neither a directory nor a file", dot_git.display()));
    }
    let named = read_path(dot_git, GIT_FILE).ok_or_else(|| format!("`{}` names no directory", dot_git.display()))?;
    Ok(dot_git.parent().unwrap_or(dot_git).join(named))
}

/// Says whether a directory is the entry of a linked worktree whose `.git` file is this very one.
pub(crate) fn leads_back(git_dir: &Path, common_dir: &Path, dot_git: &Path) -> bool {
    let entry = git_dir.parent().is_some_and(|parent| parent == common_dir.join("worktrees"));
    let named = read_path(&git_dir.join("gitdir"), "").map(|named| git_dir.join(named));
    let same = |named: PathBuf| match (Identity::at(&named), Identity::at(dot_git)) {
        (Ok(named), Ok(this)) => named == this,
        (Err(_), _) | (_, Err(_)) => false,
    };
    entry && named.is_some_and(same)
}

/// Makes sure that a pinned directory stands where it did.
/// Makes sure of what git looks for first: without it it takes the directory for no repository.
fn has_head(git_dir: &Path) -> Result<(), String> {
    let head = git_dir.join("HEAD");
    let content = read_small(&head, PATHS_BYTES).unwrap_or_default().unwrap_or_default();
    let is_ref =
        |content: &[u8]| content.strip_prefix(b"ref:").is_some_and(|name| name.trim_ascii().starts_with(b"refs/"));
    let is_commit = |content: &[u8]| {
        [40, 64].iter().any(|length| content.get(..*length).is_some_and(|name| name.iter().all(u8::is_ascii_hexdigit)))
    };
    if is_ref(&content) || is_commit(&content) || branch_of(&head).is_some() {
        return Ok(());
    }
    Err(format!("`{}` names neither a branch nor a commit", head.display()))
}

fn stands(pin: &Pin) -> Result<(), String> {
    let path = pin.path.as_str();
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_dir() && Identity::of(&there) == Identity::pinned(pin) => Ok(()),
        Ok(_) => Err(format!("something else stands at `{path}` now")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(format!("`{path}` is gone")),
        Err(error) => Err(format!("`{path}`: {error}")),
    }
}
