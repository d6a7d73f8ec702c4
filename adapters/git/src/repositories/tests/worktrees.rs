use crate::testing::Host;
use owl_domain::{
    ports::Repositories as _,
    project::{Project, WorktreeKind},
};
use owl_testkit::repo::{Git, TempRepo};
use std::{fs, os::unix::fs::symlink, path::Path};

fn add(repo: &TempRepo, name: &str, more: &[&str]) -> std::path::PathBuf {
    let path = repo.beside(name);
    repo.git(["worktree", "add", "--quiet"].iter().chain(more).chain([&path.to_str().unwrap()]));
    path
}

/// The worktrees as lines: kind, path below the parent, branch, lock.
async fn lines(host: &Host, project: &Project, parent: &Path) -> Vec<String> {
    let worktrees = host.repositories.worktrees(project).await.unwrap();
    let workdirs = host.repositories.workdirs(project).await;
    let listed: Vec<_> = worktrees.iter().map(|worktree| worktree.workdir.clone()).collect();
    assert_eq!(workdirs, listed, "the files alone tell the same directories");
    let line = |worktree: &owl_domain::project::Worktree| {
        let path = Path::new(worktree.workdir.path().as_str()).strip_prefix(parent).unwrap().display().to_string();
        let branch = worktree.branch.as_ref().map_or("-", |branch| branch.as_str());
        format!("{:?} {path} {branch}{}", worktree.kind, if worktree.locked { " locked" } else { "" })
    };
    worktrees.iter().map(line).collect()
}

#[tokio::test]
async fn the_root_comes_first_and_then_the_linked_ones_by_path() {
    let repo = TempRepo::with_commit();
    let parent = repo.beside("x").parent().unwrap().to_path_buf();
    add(&repo, "b", &["-b", "feature/b"]);
    add(&repo, "a", &["--detach"]);
    let locked = add(&repo, "c", &["-b", "c", "--lock"]);
    let host = Host::new();
    let project = host.register("p", repo.root()).await;
    let expected = ["Root repo main", "Linked a -", "Linked b feature/b", "Linked c c locked"];
    assert_eq!(lines(&host, &project, &parent).await, expected);
    let worktrees = host.repositories.worktrees(&project).await.unwrap();
    let head = Some(repo.git(["rev-parse", "HEAD"]));
    assert!(worktrees.iter().all(|worktree| worktree.head.as_ref().map(|id| id.as_str().to_owned()) == head));
    assert_eq!(worktrees[0].workdir.pins, project.pins);
    assert_eq!(worktrees[0].kind, WorktreeKind::Root);
    assert_eq!(worktrees[3].workdir.pins.common_dir, project.pins.common_dir);
    assert!(worktrees[3].workdir.pins.git_dir.path.as_str().ends_with("/.git/worktrees/c"));

    // From a linked one that is a Project itself, the root is that one; the main work tree is another Project's.
    let linked = host.register("linked", &locked).await;
    let expected = ["Root c c locked", "Linked a -", "Linked b feature/b"];
    assert_eq!(lines(&host, &linked, &parent).await, expected);
}

#[tokio::test]
async fn a_branch_before_its_first_commit_and_a_moved_head_are_told() {
    let repo = TempRepo::with_commit();
    let host = Host::new();
    let project = host.register("p", repo.root()).await;
    repo.git(["checkout", "--quiet", "--orphan", "empty"]);
    let root = host.repositories.worktrees(&project).await.unwrap().remove(0);
    assert_eq!((root.branch.unwrap().as_str(), root.head), ("empty", None));
}

#[tokio::test]
async fn worktrees_of_every_format_are_told() {
    let repo = TempRepo::new();
    for (name, format) in [("sha256", "--object-format=sha256"), ("reftable", "--ref-format=reftable")] {
        let root = repo.beside(name);
        fs::create_dir(&root).unwrap();
        let git = Git::at(&root);
        git.run(["init", "--quiet", "--initial-branch=main", format]);
        git.run(["commit", "--quiet", "--allow-empty", "--message", "start"]);
        let linked = repo.beside(&format!("{name}-linked"));
        git.run(["worktree", "add", "--quiet", "-b", "x", linked.to_str().unwrap()]);
        let host = Host::new();
        let project = host.register("p", &root).await;
        let expected = [format!("Root {name} main"), format!("Linked {name}-linked x")];
        assert_eq!(lines(&host, &project, root.parent().unwrap()).await, expected);
    }
}

#[tokio::test]
async fn one_that_does_not_exist_or_does_not_point_back_is_left_out() {
    let repo = TempRepo::with_commit();
    let parent = repo.beside("x").parent().unwrap().to_path_buf();
    let names = ["gone", "file", "link", "other", "plain", "moved", "kept"];
    let paths = names.map(|name| add(&repo, name, &["-b", name]));
    let [gone, file, link, other, plain, moved, _kept] = &paths;
    let elsewhere = TempRepo::with_commit();
    fs::remove_dir_all(gone).unwrap();
    fs::remove_dir_all(file).unwrap();
    fs::write(file, "").unwrap();
    fs::rename(link.join(".git"), link.join("aside")).unwrap();
    symlink("aside", link.join(".git")).unwrap();
    fs::write(other.join(".git"), format!("gitdir: {}\n", elsewhere.root().join(".git").display())).unwrap();
    fs::remove_file(plain.join(".git")).unwrap();
    fs::rename(moved, repo.beside("moved-away")).unwrap();
    let host = Host::new();
    let project = host.register("p", repo.root()).await;
    assert_eq!(lines(&host, &project, &parent).await, ["Root repo main", "Linked kept kept"]);
}

#[tokio::test]
async fn a_forged_entry_makes_no_directory_a_workdir() {
    let repo = TempRepo::with_commit();
    let parent = repo.beside("x").parent().unwrap().to_path_buf();
    let real = add(&repo, "real", &["-b", "real"]);
    let host = Host::new();
    let project = host.register("p", repo.root()).await;
    // Another repository's root, a plain directory, and a second entry for a worktree that has its own.
    let other = repo.beside("other");
    fs::create_dir(&other).unwrap();
    Git::at(&other).init();
    fs::create_dir(repo.beside("plain")).unwrap();
    for (entry, target) in [("forged1", &other), ("forged2", &repo.beside("plain")), ("forged3", &real)] {
        let entry = format!(".git/worktrees/{entry}");
        repo.write(&format!("{entry}/gitdir"), format!("{}/.git\n", target.display()));
        repo.write(&format!("{entry}/commondir"), "../..\n");
        repo.write(&format!("{entry}/HEAD"), "ref: refs/heads/main\n");
    }
    assert_eq!(lines(&host, &project, &parent).await, ["Root repo main", "Linked real real"]);
    // And a link in the place of an entry makes none, and is nothing that git is let near.
    let before = host.repositories.workdirs(&project).await;
    symlink("real", repo.root().join(".git/worktrees/alias")).unwrap();
    assert_eq!(host.repositories.workdirs(&project).await, before);
    assert!(host.repositories.worktrees(&project).await.is_err());
}

#[tokio::test]
async fn a_project_that_is_gone_or_replaced_has_none() {
    let repo = TempRepo::with_commit();
    let host = Host::new();
    let project = host.register("p", repo.root()).await;
    assert!(host.repositories.is_as_registered(&project).await);
    fs::rename(repo.root(), repo.beside("moved")).unwrap();
    assert_eq!(host.repositories.worktrees(&project).await.unwrap(), []);
    assert_eq!(host.repositories.workdirs(&project).await, []);
    assert!(!host.repositories.is_as_registered(&project).await);
    fs::create_dir(repo.root()).unwrap();
    Git::at(repo.root()).init();
    assert_eq!(host.repositories.worktrees(&project).await.unwrap(), []);
    assert_eq!(host.repositories.workdirs(&project).await, []);
    assert!(!host.repositories.is_as_registered(&project).await);
}

#[tokio::test]
async fn one_whose_files_name_each_other_by_relative_paths_is_found() {
    let repo = TempRepo::with_commit();
    let linked = add(&repo, "linked", &["-b", "linked"]);
    fs::write(linked.join(".git"), "gitdir: ../repo/.git/worktrees/linked\n").unwrap();
    repo.write(".git/worktrees/linked/gitdir", "../../../../linked/.git\n");
    let host = Host::new();
    let project = host.register("p", repo.root()).await;
    let worktrees = host.repositories.worktrees(&project).await.unwrap();
    assert_eq!(worktrees[1].workdir.path(), &crate::testing::abs(&linked));
    assert_eq!(worktrees[1].branch.as_ref().map(|branch| branch.as_str()), Some("linked"));
    assert_eq!(worktrees[1].head, worktrees[0].head);
    host.repositories.home(&worktrees[1].workdir, &[]).await.unwrap();
}
