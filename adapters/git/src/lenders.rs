//! The repositories that one borrows objects from (D14): each must be a registered Project, and so must those that it
//! borrows from in turn.

use crate::{
    links,
    pins::Identity,
    read::{PATHS_BYTES, read_small},
};
use nix::{
    fcntl::{AtFlags, OFlag, open},
    sys::stat::{Mode, SFlag, fstat, fstatat},
};
use owl_domain::{
    project::{Pin, Project},
    text::AbsPath,
};
use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// As deep as git itself follows.
const DEEPEST: usize = 5;

/// Why objects may not be borrowed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The lender is no registered Project.
    NotRegistered(String),
    /// What it says cannot be read or understood.
    Unreadable(String),
}

/// Returns the objects directories that are borrowed from, directly or by way of another, each once.
pub(crate) fn lenders(common_dir: &Path, registered: &[Project]) -> Result<Vec<Pin>, Refused> {
    let mut found = Vec::new();
    follow(&common_dir.join("objects"), &registered_objects(registered), &mut found, 0)?;
    Ok(found)
}

/// Says whether a repository borrows at all, and from where first.
pub(crate) fn first_lender(common_dir: &Path) -> Option<String> {
    let objects = common_dir.join("objects");
    let first = named(&objects).ok()?.into_iter().next()?;
    Some(for_people(&first))
}

/// The objects directories that may be lent.
fn registered_objects(registered: &[Project]) -> Vec<Pin> {
    let objects = |project: &Project| {
        let common = &project.pins.common_dir;
        let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        // The Project as it was registered, not what may stand in its place by now, nor in a moment.
        let opened = open(common.path.as_str(), flags, Mode::empty()).ok()?;
        let is = fstat(&opened).ok()?;
        if (is.st_dev, is.st_ino) != (common.device, common.inode) {
            return None;
        }
        let there = fstatat(&opened, "objects", AtFlags::AT_SYMLINK_NOFOLLOW).ok()?;
        let is_directory = SFlag::from_bits_truncate(there.st_mode) & SFlag::S_IFMT == SFlag::S_IFDIR;
        let path = AbsPath::new(format!("{}/objects", common.path.as_str())).ok()?;
        is_directory.then_some(Pin { path, device: there.st_dev, inode: there.st_ino })
    };
    registered.iter().filter_map(objects).collect()
}

fn follow(objects: &Path, may_lend: &[Pin], found: &mut Vec<Pin>, depth: usize) -> Result<(), Refused> {
    for path in named(objects)? {
        let there = fs::metadata(&path).map(|there| Identity::of(&there));
        let lender =
            there.ok().and_then(|identity| may_lend.iter().find(|lender| Identity::pinned(lender) == identity));
        let Some(lender) = lender else {
            return Err(Refused::NotRegistered(for_people(&path)));
        };
        let lender = lender.clone();
        if found.contains(&lender) {
            continue;
        }
        if depth == DEEPEST {
            return Err(Refused::Unreadable("it borrows objects by way of too many repositories".into()));
        }
        links::Objects::default()
            .refuse_links(Path::new(lender.path.as_str()))
            .map_err(|error| Refused::Unreadable(error.to_string()))?;
        found.push(lender.clone());
        follow(Path::new(lender.path.as_str()), may_lend, found, depth + 1)?;
    }
    Ok(())
}

/// Returns what `info/alternates` names, each once, in its order.
fn named(objects: &Path) -> Result<Vec<PathBuf>, Refused> {
    let file = objects.join("info/alternates");
    let content = read_small(&file, PATHS_BYTES)
        .map_err(|error| Refused::Unreadable(format!("`{}`: {error}", file.display())))?
        .unwrap_or_default();
    let mut seen = BTreeSet::new();
    let mut named = Vec::new();
    for line in content.split(|byte| *byte == b'\n') {
        match line.first() {
            None | Some(b'#') => continue,
            // git unquotes such a line; nothing that Owl knows writes one.
            Some(b'"') => return Err(Refused::Unreadable(format!("`{}` names a quoted path", file.display()))),
            Some(_) => {}
        }
        let path = objects.join(OsStr::from_bytes(line));
        if seen.insert(path.clone()) {
            named.push(path);
        }
    }
    Ok(named)
}

/// Names the repository rather than its objects directory.
fn for_people(objects: &Path) -> String {
    let mut shown = fs::canonicalize(objects).unwrap_or_else(|_| objects.into());
    for name in ["objects", ".git"] {
        if shown.ends_with(name) {
            shown.pop();
        }
    }
    shown.display().to_string()
}
