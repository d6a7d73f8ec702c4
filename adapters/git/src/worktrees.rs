//! The worktrees of a repository: those that git tells of, that exist, and whose own `.git` file points back, so that a
//! forged entry in a repository's git data makes no directory a workdir (D12, D14).

use crate::{
    inspect::HEADS,
    pins::{GIT_FILE, Identity, check, leads_back, pin},
    read::read_path,
};
use owl_domain::{
    project::{Pins, Project, Workdir, Worktree, WorktreeKind},
    text::{BranchName, CommitId},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// What git says of one worktree.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    path: PathBuf,
    branch: Option<BranchName>,
    head: Option<CommitId>,
    locked: bool,
}

/// Reads what `git worktree list --porcelain -z` printed, the main one first.
pub(crate) fn told(printed: &[u8]) -> Vec<Told> {
    let mut all = Vec::new();
    let mut one = Told::default();
    for line in printed.split(|byte| *byte == 0) {
        let line = String::from_utf8_lossy(line);
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match word {
            "" if one.path.as_os_str().is_empty() => {}
            "" => all.push(std::mem::take(&mut one)),
            "worktree" => one.path = rest.into(),
            // Zeroes stand for a branch before its first commit.
            "HEAD" => one.head = CommitId::new(rest).ok().filter(|id| id.as_str().bytes().any(|digit| digit != b'0')),
            "branch" => one.branch = rest.strip_prefix(HEADS).and_then(|name| BranchName::new(name).ok()),
            "locked" => one.locked = true,
            _ => {}
        }
    }
    all
}

/// Puts together what git told and what the files say.
pub(crate) fn worktrees(project: &Project, told: &[Told]) -> Vec<Worktree> {
    let common_dir = Path::new(project.pins.common_dir.path.as_str());
    let of = |root: &Path| told.iter().find(|one| fs::canonicalize(&one.path).is_ok_and(|path| path == root));
    let root = if project.pins.git_dir == project.pins.common_dir {
        // The first is the main one, under whatever path git thinks that it has.
        told.first()
    } else {
        of(Path::new(project.root().as_str()))
    };
    let mut linked: Vec<_> = linked(common_dir, &project.pins)
        .into_iter()
        .filter(|pins| pins.work_tree != project.pins.work_tree)
        .map(|pins| {
            let told = of(Path::new(pins.work_tree.path.as_str()));
            worktree(project, pins, WorktreeKind::Linked, told)
        })
        .collect();
    linked.sort_unstable_by(|a, b| a.workdir.path().cmp(b.workdir.path()));
    let root = worktree(project, project.pins.clone(), WorktreeKind::Root, root);
    std::iter::once(root).chain(linked).collect()
}

fn worktree(project: &Project, pins: Pins, kind: WorktreeKind, told: Option<&Told>) -> Worktree {
    Worktree {
        workdir: Workdir { project: project.name.clone(), pins },
        kind,
        branch: told.and_then(|told| told.branch.clone()),
        head: told.and_then(|told| told.head.clone()),
        locked: told.is_some_and(|told| told.locked),
    }
}

/// Finds the linked worktrees from the side of the repository.
fn linked(common_dir: &Path, project: &Pins) -> Vec<Pins> {
    let Ok(entries) = fs::read_dir(common_dir.join("worktrees")) else {
        return Vec::new();
    };
    entries.filter_map(|entry| one_linked(&entry.ok()?.path(), project)).collect()
}

fn one_linked(git_dir: &Path, project: &Pins) -> Option<Pins> {
    let common_dir = Path::new(project.common_dir.path.as_str());
    let dot_git = git_dir.join(read_path(&git_dir.join("gitdir"), "")?);
    let work_tree = pin(dot_git.parent()?).ok()?;
    let dot_git = Path::new(work_tree.path.as_str()).join(".git");
    // The worktree's own file must name this very entry.
    let named = dot_git.parent()?.join(read_path(&dot_git, GIT_FILE)?);
    let same = Identity::of(&fs::metadata(named).ok()?) == Identity::at(git_dir).ok()?;
    if !same || !leads_back(git_dir, common_dir, &dot_git) {
        return None;
    }
    let pins = Pins { work_tree, git_dir: pin(git_dir).ok()?, common_dir: project.common_dir.clone() };
    check(&pins).is_ok().then_some(pins)
}

#[cfg(test)]
mod tests;
