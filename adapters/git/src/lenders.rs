//! The repositories that one borrows objects from (D14): each must be a registered Project, and so must those that it
//! borrows from in turn.

use crate::{
    links,
    pins::Identity,
    read::{PATHS_BYTES, read_small},
};
use owl_domain::{project::Project, text::AbsPath};
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
pub(crate) fn lenders(common_dir: &Path, registered: &[Project]) -> Result<Vec<AbsPath>, Refused> {
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

/// One that may lend.
struct MayLend {
    identity: Identity,
    objects: AbsPath,
}

fn registered_objects(registered: &[Project]) -> Vec<MayLend> {
    let objects = |project: &Project| {
        let path = format!("{}/objects", project.pins.common_dir.path.as_str());
        // The Project as it was registered, not what may stand in its place by now.
        let common = Identity::at(Path::new(project.pins.common_dir.path.as_str())).ok()?;
        if common != Identity::pinned(&project.pins.common_dir) {
            return None;
        }
        let there = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_dir)?;
        Some(MayLend { identity: Identity::of(&there), objects: AbsPath::new(path).ok()? })
    };
    registered.iter().filter_map(objects).collect()
}

fn follow(objects: &Path, may_lend: &[MayLend], found: &mut Vec<AbsPath>, depth: usize) -> Result<(), Refused> {
    for path in named(objects)? {
        let there = fs::metadata(&path).map(|there| Identity::of(&there));
        let lender = there.ok().and_then(|identity| may_lend.iter().find(|lender| lender.identity == identity));
        let Some(lender) = lender else {
            return Err(Refused::NotRegistered(for_people(&path)));
        };
        let lender = lender.objects.clone();
        if found.contains(&lender) {
            continue;
        }
        if depth == DEEPEST {
            return Err(Refused::Unreadable("it borrows objects by way of too many repositories".into()));
        }
        links::Objects::default()
            .refuse_links(Path::new(lender.as_str()))
            .map_err(|error| Refused::Unreadable(error.to_string()))?;
        found.push(lender.clone());
        follow(Path::new(lender.as_str()), may_lend, found, depth + 1)?;
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
