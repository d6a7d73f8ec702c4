use crate::testing::{Host, abs};
use owl_domain::{
    ports::{InspectError, Inspected, Repositories as _},
    text::BranchName,
};
use owl_testkit::repo::{Fixtures, Git, TempRepo};
use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _, fs::symlink},
    path::Path,
};

async fn inspect(path: &Path) -> Result<Inspected, InspectError> {
    Host::new().repositories.inspect(&abs(path), None).await
}

async fn inspect_on(path: &Path, base: &str) -> Result<Inspected, InspectError> {
    Host::new().repositories.inspect(&abs(path), Some(BranchName::new(base).unwrap())).await
}

async fn not_git(path: &Path) -> String {
    match inspect(path).await {
        Err(InspectError::NotGit { reason }) => reason,
        other => panic!("{}: {other:?}", path.display()),
    }
}

#[tokio::test]
async fn an_ordinary_repository_is_pinned_with_its_branch() {
    let repo = TempRepo::with_commit();
    let inspected = inspect(repo.root()).await.unwrap();
    assert_eq!(inspected.base_branch.as_str(), "main");
    let pins = inspected.pins;
    assert_eq!(pins.work_tree.path, abs(repo.root()));
    assert_eq!(pins.git_dir.path, abs(&repo.root().join(".git")));
    assert_eq!(pins.git_dir, pins.common_dir);
    let there = fs::metadata(repo.root().join(".git")).unwrap();
    assert_eq!((pins.git_dir.device, pins.git_dir.inode), (there.dev(), there.ino()));
}

#[tokio::test]
async fn a_path_through_a_link_is_registered_where_it_leads() {
    let repo = TempRepo::with_commit();
    let link = repo.beside("link");
    symlink(repo.root(), &link).unwrap();
    assert_eq!(inspect(&link).await.unwrap().pins.work_tree.path, abs(repo.root()));
}

#[tokio::test]
async fn a_branch_that_is_named_is_taken_when_it_exists_under_exactly_that_name() {
    let repo = TempRepo::with_commit();
    repo.git(["branch", "release/1.0"]);
    repo.git(["tag", "v1"]);
    assert_eq!(inspect_on(repo.root(), "release/1.0").await.unwrap().base_branch.as_str(), "release/1.0");
    for name in ["dev", "release", "v1", "HEAD", "main~0", "main:README.md", "refs/heads/main", "ma*", "*"] {
        let expected = InspectError::NoSuchBranch { branch: name.into() };
        assert_eq!(inspect_on(repo.root(), name).await, Err(expected), "{name}");
    }
}

#[tokio::test]
async fn no_branch_or_no_commit_is_told() {
    let repo = TempRepo::new();
    assert_eq!(inspect(repo.root()).await, Err(InspectError::NoCommit));
    assert_eq!(inspect_on(repo.root(), "main").await, Err(InspectError::NoCommit));
    repo.commit_file("README.md", "");
    repo.git(["checkout", "--quiet", "--detach"]);
    assert_eq!(inspect(repo.root()).await, Err(InspectError::Detached));
    assert_eq!(inspect_on(repo.root(), "main").await.unwrap().base_branch.as_str(), "main");
}

#[tokio::test]
async fn what_is_no_directory_is_missing() {
    let repo = TempRepo::with_commit();
    symlink("nowhere", repo.beside("dangling")).unwrap();
    for path in ["nothing", "dangling", "repo/README.md", "repo/README.md/x"] {
        assert_eq!(inspect(&repo.beside(path)).await, Err(InspectError::Missing), "{path}");
    }
}

#[tokio::test]
async fn a_directory_without_a_repository_is_none() {
    let repo = TempRepo::new();
    fs::create_dir_all(repo.beside("plain/.git")).unwrap();
    fs::create_dir_all(repo.beside("empty")).unwrap();
    assert!(not_git(&repo.beside("plain")).await.contains("holds no repository"));
    assert!(not_git(&repo.beside("empty")).await.contains("there is no `.git`"));
    // What only looks like one higher up makes no root.
    fs::create_dir_all(repo.beside("plain/src")).unwrap();
    assert!(not_git(&repo.beside("plain/src")).await.contains("there is no `.git`"));
}

#[tokio::test]
async fn a_directory_inside_a_repository_is_told_its_root() {
    let repo = TempRepo::with_commit();
    repo.write("src/deep/x", "");
    for path in ["src", "src/deep", ".git", ".git/refs"] {
        let expected = InspectError::NotRoot { root: abs(repo.root()) };
        assert_eq!(inspect(&repo.root().join(path)).await, Err(expected), "{path}");
    }
}

#[tokio::test]
async fn a_bare_repository_has_no_work_tree() {
    let repo = TempRepo::with_commit();
    let bare = repo.beside("bare.git");
    repo.git(["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    assert_eq!(inspect(&bare).await, Err(InspectError::Bare));
    repo.git(["config", "core.bare", "true"]);
    assert_eq!(inspect(repo.root()).await, Err(InspectError::Bare));
    // A worktree of a bare repository has a work tree of its own.
    let worktree = repo.beside("worktree");
    Git::at(&bare).run(["worktree", "add", "--quiet", worktree.to_str().unwrap(), "main"]);
    Git::at(&bare).run(["config", "core.bare", "true"]);
    assert_eq!(inspect(&worktree).await.unwrap().pins.common_dir.path, abs(&bare));
}

#[tokio::test]
async fn a_path_that_is_not_utf8_is_told() {
    let repo = TempRepo::with_commit();
    let odd = repo.beside("x").with_file_name(OsStr::from_bytes(b"\xff"));
    if fs::rename(repo.root(), &odd).is_err() {
        return; // A file system that takes UTF-8 alone has no such names.
    }
    let link = repo.beside("link");
    symlink(&odd, &link).unwrap();
    assert_eq!(inspect(&link).await, Err(InspectError::NotUtf8));
}

#[tokio::test]
async fn a_linked_worktree_is_pinned_with_the_directory_it_shares() {
    let fixtures = Fixtures::build();
    let pins = inspect(&fixtures.dir("worktree")).await.unwrap().pins;
    let common_dir = fixtures.dir("normal").join(".git");
    assert_eq!(pins.common_dir.path, abs(&common_dir));
    assert_eq!(pins.git_dir.path, abs(&common_dir.join("worktrees/worktree")));
}

#[tokio::test]
async fn a_git_file_is_believed_only_when_its_target_leads_back() {
    let repo = TempRepo::with_commit();
    let worktree = repo.beside("worktree");
    repo.git(["worktree", "add", "--quiet", "-b", "other", worktree.to_str().unwrap()]);
    let foreign = repo.beside("foreign");
    fs::create_dir(&foreign).unwrap();
    let git_dir = repo.root().join(".git");
    for target in [git_dir.clone(), git_dir.join("worktrees/worktree"), git_dir.join("nothing"), "../repo/.git".into()]
    {
        fs::write(foreign.join(".git"), format!("gitdir: {}\n", target.display())).unwrap();
        not_git(&foreign).await;
    }
    fs::write(foreign.join(".git"), "no such line\n").unwrap();
    assert!(not_git(&foreign).await.contains("names no directory"));
}

#[tokio::test]
async fn a_git_link_is_never_a_git_directory() {
    let repo = TempRepo::with_commit();
    let foreign = repo.beside("foreign");
    fs::create_dir(&foreign).unwrap();
    symlink(repo.root().join(".git"), foreign.join(".git")).unwrap();
    assert_eq!(not_git(&foreign).await, "its `.git` is a link");
}

#[tokio::test]
async fn a_git_directory_inside_the_work_tree_may_have_any_name() {
    let repo = TempRepo::with_commit();
    fs::rename(repo.root().join(".git"), repo.root().join("store")).unwrap();
    repo.write(".git", "gitdir: store\n");
    let pins = inspect(repo.root()).await.unwrap().pins;
    assert_eq!((pins.git_dir.path, pins.git_dir.inode), (abs(&repo.root().join("store")), pins.common_dir.inode));
}

#[tokio::test]
async fn a_submodule_is_believed_by_its_core_worktree() {
    let repo = TempRepo::with_commit();
    let inner = TempRepo::with_commit();
    repo.git([
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        inner.root().to_str().unwrap(),
        "sub",
    ]);
    let sub = repo.root().join("sub");
    let pins = inspect(&sub).await.unwrap().pins;
    assert_eq!(pins.git_dir.path, abs(&repo.root().join(".git/modules/sub")));
    assert_eq!(pins.git_dir, pins.common_dir);
    Git::at(&sub).run(["config", "core.worktree", "/"]);
    assert!(not_git(&sub).await.contains("does not lead back"));
    Git::at(&sub).run(["config", "core.worktree", sub.to_str().unwrap()]);
    // git moves it into the worktree's own configuration.
    Git::at(&sub).run(["sparse-checkout", "set", "--no-cone", "/README.md"]);
    let own = repo.root().join(".git/modules/sub/config.worktree");
    assert!(fs::read_to_string(&own).unwrap().contains("worktree"));
    inspect(&sub).await.unwrap();
    fs::write(&own, "[core]\n\tworktree = /\n").unwrap();
    assert!(not_git(&sub).await.contains("does not lead back"));
}

#[tokio::test]
async fn a_commondir_in_a_main_git_directory_is_never_followed() {
    let repo = TempRepo::with_commit();
    let private = TempRepo::with_commit();
    private.git(["branch", "private"]);
    repo.write(".git/commondir", private.root().join(".git").to_str().unwrap());
    assert!(not_git(repo.root()).await.contains("names another directory"));
    let linked = repo.beside("linked");
    fs::remove_file(repo.root().join(".git/commondir")).unwrap();
    repo.git(["worktree", "add", "--quiet", "-b", "linked", linked.to_str().unwrap()]);
    inspect(&linked).await.unwrap();
    repo.write(".git/worktrees/linked/commondir", private.root().join(".git").to_str().unwrap());
    not_git(&linked).await;
}

#[tokio::test]
async fn a_repository_of_every_format_is_read() {
    for format in [vec!["--object-format=sha256"], vec!["--ref-format=reftable"]] {
        let repo = TempRepo::new();
        let root = repo.beside("odd");
        fs::create_dir(&root).unwrap();
        let git = Git::at(&root);
        git.run(["init", "--quiet", "--initial-branch=trunk"].iter().chain(&format));
        assert_eq!(inspect(&root).await, Err(InspectError::NoCommit), "{format:?}");
        git.run(["commit", "--quiet", "--allow-empty", "--message", "start"]);
        assert_eq!(inspect(&root).await.unwrap().base_branch.as_str(), "trunk", "{format:?}");
    }
}

#[tokio::test]
async fn a_repository_that_git_cannot_read_says_why() {
    let repo = TempRepo::with_commit();
    repo.write(".git/config", "[core\n");
    let Err(InspectError::Git { reason }) = inspect(repo.root()).await else { panic!("it was read") };
    assert!(reason.contains("bad config"), "{reason}");
    repo.write(".git/config", "[core]\n\trepositoryformatversion = 99\n");
    assert!(matches!(inspect(repo.root()).await, Err(InspectError::Git { .. })));
}

#[tokio::test]
async fn an_inspection_leaves_nothing_behind() {
    let repo = TempRepo::with_commit();
    let host = Host::new();
    host.repositories.inspect(&abs(repo.root()), None).await.unwrap();
    let before: Vec<_> =
        fs::read_dir(repo.root().join(".git")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    host.repositories.inspect(&abs(repo.root()), Some(BranchName::new("dev").unwrap())).await.unwrap_err();
    let after: Vec<_> =
        fs::read_dir(repo.root().join(".git")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(before, after);
    let left: Vec<_> = fs::read_dir(host.state.join("git")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, Vec::<std::ffi::OsString>::new());
}
