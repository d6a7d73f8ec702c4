//! The worktrees of a repository: those that git tells of, that exist, and whose own `.git` file points back, so that a
//! forged entry in a repository's git data makes no directory a workdir (D12, D14).

use crate::{
    git::{Answer, At, Git, GitFailed},
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

/// Asks git for what is checked out in the work tree that it works in.
pub(crate) async fn told_of(git: &Git, at: &At) -> Result<Told, GitFailed> {
    let (branch, head) = tokio::try_join!(
        git.run(at, &["symbolic-ref", "--quiet", "HEAD"]),
        git.run(at, &["rev-parse", "--verify", "--quiet", "HEAD"]),
    )?;
    let line = |answer: Answer| String::from_utf8(answer.stdout).unwrap_or_default().trim_end().to_owned();
    let branch = line(branch).strip_prefix(HEADS).and_then(|name| BranchName::new(name).ok());
    Ok(Told { path: at.work_tree.clone(), branch, head: CommitId::new(line(head)).ok(), locked: false })
}

/// Asks git in the worktree itself, where the list told nothing that could be matched: an older git writes down a
/// relative path as it stands.
pub(crate) async fn ask_again(git: &Git, common_dir: &Path, worktree: &mut Worktree) {
    if worktree.branch.is_some() || worktree.head.is_some() {
        return;
    }
    let pins = &worktree.workdir.pins;
    let at = At {
        git_dir: pins.git_dir.path.as_str().into(),
        work_tree: pins.work_tree.path.as_str().into(),
        common_dir: common_dir.into(),
    };
    // One that went away meanwhile is listed without them.
    if let Ok(told) = told_of(git, &at).await {
        (worktree.branch, worktree.head) = (told.branch, told.head);
    }
}

/// Asks git for the linked worktrees; not at all when there are none.
pub(crate) async fn told_of_linked(git: &Git, at: &At) -> Result<Vec<Told>, GitFailed> {
    let none = fs::read_dir(at.common_dir.join("worktrees")).map_or(true, |mut entries| entries.next().is_none());
    if none {
        return Ok(Vec::new());
    }
    Ok(read(&git.run(at, &["worktree", "list", "--porcelain", "-z"]).await?.succeeded()?))
}

/// Reads what `git worktree list --porcelain -z` printed. The first is the main one, of which git tells nothing true
/// here: it looks for it beside the directory that Owl owns.
fn read(printed: &[u8]) -> Vec<Told> {
    let mut all = all(printed);
    if !all.is_empty() {
        all.remove(0);
    }
    all
}

fn all(printed: &[u8]) -> Vec<Told> {
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

/// Lists the workdirs of a Project by what the files say alone: its root, then the linked ones by path.
pub(crate) fn workdirs(project: &Project) -> Vec<Workdir> {
    let workdir = |pins| Workdir { project: project.name.clone(), pins };
    let linked = pinned(&project.pins).into_iter().filter(|pins| pins.work_tree != project.pins.work_tree);
    let mut all: Vec<_> = linked.map(workdir).collect();
    all.sort_unstable_by(|a, b| a.path().cmp(b.path()));
    all.insert(0, workdir(project.pins.clone()));
    all
}

/// Puts together what git told and what the files say.
pub(crate) fn worktrees(project: &Project, root: &Told, linked: &[Told]) -> Vec<Worktree> {
    let resolved: Vec<_> = linked.iter().filter_map(|told| Some((fs::canonicalize(&told.path).ok()?, told))).collect();
    let of = |pins: &Pins| {
        let path = Path::new(pins.work_tree.path.as_str());
        resolved.iter().find(|(there, _)| there == path).map(|(_, told)| *told)
    };
    let tell = |workdir: Workdir| {
        let listed = of(&workdir.pins);
        let locked = listed.is_some_and(|told| told.locked);
        let is_root = workdir.pins.work_tree == project.pins.work_tree;
        let (kind, told) = if is_root { (WorktreeKind::Root, Some(root)) } else { (WorktreeKind::Linked, listed) };
        let (branch, head) = (told.and_then(|told| told.branch.clone()), told.and_then(|told| told.head.clone()));
        Worktree { workdir, kind, branch, head, locked }
    };
    workdirs(project).into_iter().map(tell).collect()
}

/// Finds and pins the linked worktrees from the side of the repository.
fn pinned(project: &Pins) -> Vec<Pins> {
    let Ok(entries) = fs::read_dir(Path::new(project.common_dir.path.as_str()).join("worktrees")) else {
        return Vec::new();
    };
    entries.filter_map(|entry| one_pinned(&entry.ok()?.path(), project)).collect()
}

fn one_pinned(git_dir: &Path, project: &Pins) -> Option<Pins> {
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
