//! Where a repository's parts lie, as its files say it, and whether they may be believed (D14): a `.git` file only when
//! its target lies inside the work tree or leads back to it, a `commondir` never but for a linked worktree's own.

use crate::pins::{git_dir_of, leads_back, no_commondir, shares};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// What a directory is to git, told from its files alone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// The root of a work tree.
    Root(Parts),
    /// A `.git` file whose target may still lead back by its `core.worktree`, as a submodule's does.
    Submodule(Parts),
    /// A repository without a work tree.
    Bare,
    /// Inside a work tree, whose root this is.
    Inside(PathBuf),
    /// None of them, for this reason.
    No(String),
}

/// The directories of a repository, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) work_tree: PathBuf,
    pub(crate) git_dir: PathBuf,
    pub(crate) common_dir: PathBuf,
}

/// Tells what a resolved directory is.
pub(crate) fn layout(directory: &Path) -> Layout {
    let dot_git = directory.join(".git");
    let Ok(there) = fs::symlink_metadata(&dot_git) else {
        return without_dot_git(directory);
    };
    if there.is_symlink() {
        return Layout::No("its `.git` is a link".into());
    }
    let git_dir = match git_dir_of(&dot_git).map(fs::canonicalize) {
        Ok(Ok(git_dir)) => git_dir,
        Ok(Err(error)) => return Layout::No(format!("where its `.git` leads: {error}")),
        Err(reason) => return Layout::No(reason),
    };
    let parts = Parts { work_tree: directory.into(), common_dir: git_dir.clone(), git_dir };
    if there.is_dir() {
        return whole(parts, Layout::Root);
    }
    if let Some(common_dir) = common_dir_of(&parts.git_dir) {
        if leads_back(&parts.git_dir, &common_dir, &dot_git) {
            return whole(Parts { common_dir, ..parts }, Layout::Root);
        }
        let named = parts.git_dir.display();
        return Layout::No(format!("its `.git` file names `{named}`, which is another worktree's"));
    }
    if parts.git_dir.starts_with(directory) {
        return whole(parts, Layout::Root);
    }
    whole(parts, Layout::Submodule)
}

/// Makes sure that there is a repository at all.
fn whole(parts: Parts, kind: fn(Parts) -> Layout) -> Layout {
    let head = |directory: &Path| fs::symlink_metadata(directory.join("HEAD")).is_ok();
    if head(&parts.git_dir) && is_repository(&parts.common_dir) {
        return match no_commondir(&parts.common_dir) {
            Ok(()) => kind(parts),
            Err(reason) => Layout::No(reason),
        };
    }
    Layout::No(format!("`{}` holds no repository", parts.git_dir.display()))
}

/// Returns the common directory of a linked worktree's entry; none when it is no such entry.
fn common_dir_of(git_dir: &Path) -> Option<PathBuf> {
    let entries = git_dir.parent()?;
    let common_dir = entries.file_name().is_some_and(|name| name == "worktrees").then(|| entries.parent())??;
    shares(git_dir, common_dir).then(|| common_dir.into())
}

fn without_dot_git(directory: &Path) -> Layout {
    if is_repository(directory) {
        // The `.git` of a work tree, or a repository of its own.
        return match directory.parent() {
            Some(root) if directory.file_name().is_some_and(|name| name == ".git") => Layout::Inside(root.into()),
            Some(_) | None => Layout::Bare,
        };
    }
    let is_root = |above: &&Path| {
        let there = fs::symlink_metadata(above.join(".git")).is_ok();
        there && matches!(layout(above), Layout::Root(_) | Layout::Submodule(_))
    };
    match directory.ancestors().skip(1).find(is_root) {
        Some(root) => Layout::Inside(root.into()),
        None => Layout::No("there is no `.git`".into()),
    }
}

/// Says whether a directory would be taken for a repository, be it by way of links: it has a head, objects and refs.
pub(crate) fn looks_like_repository(directory: &Path) -> bool {
    directory.join("HEAD").exists() && directory.join("objects").is_dir() && directory.join("refs").is_dir()
}

fn is_repository(directory: &Path) -> bool {
    let is_dir = |name: &str| fs::symlink_metadata(directory.join(name)).is_ok_and(|there| there.is_dir());
    fs::symlink_metadata(directory.join("HEAD")).is_ok() && is_dir("objects") && is_dir("refs")
}
