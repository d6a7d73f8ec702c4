use crate::git::Git as OwlGit;
use crate::testing::{Host, abs, at, git, workdir};
use owl_domain::{
    ports::{GitHome, Repositories as _, RepositoryError},
    project::{Pin, Project, Workdir},
};
use owl_process::Spawner;
use owl_testkit::repo::{Fixtures, Git, TempRepo};
use std::{
    fs,
    os::unix::fs::{MetadataExt as _, symlink},
    path::{Path, PathBuf},
};

/// What a person may ask of git in a chat, and what must come out the same as without Owl.
pub(super) const ASKED: [&str; 14] = [
    "status --porcelain=v2 --branch",
    "status --short --branch",
    "status",
    "log --oneline --decorate --graph --all -n 50",
    "log -p -n 3",
    "log --stat --format=fuller -n 3 HEAD",
    "show HEAD",
    "diff",
    "diff --cached --stat",
    "diff HEAD --name-status",
    "branch --list --no-column -avv",
    "branch --list --no-column --contains=HEAD",
    "branch --show-current",
    "log -g --oneline -n 5",
];

pub(super) async fn in_home(home: &GitHome, words: &str) -> String {
    let git = OwlGit::new(Spawner::new(), &git());
    let words: Vec<_> = words.split(' ').collect();
    match git.run(&at(home), &words).await.unwrap().succeeded() {
        Ok(printed) => String::from_utf8_lossy(&printed).trim_end_matches('\n').to_owned(),
        Err(error) => error.to_string(),
    }
}

async fn same_as_plain_git(root: &Path, asked: &[&str]) {
    let host = Host::new();
    let base = host.repositories.inspect(&abs(root), None).await;
    let name = if base.is_ok() { None } else { Some("main") };
    let project = match name {
        None => host.register("p", root).await,
        Some(base) => host.register_on("p", root, base).await,
    };
    let home = host.home(&project).await;
    for words in asked {
        let plain = Git::at(root).run(words.split(' ')).trim_end_matches('\n').to_owned();
        assert_eq!(in_home(&home, words).await, plain, "git {words} in {}", root.display());
    }
}

/// What stands at a path, as it is pinned.
fn pin(path: &Path) -> Pin {
    let is = fs::symlink_metadata(path).unwrap();
    Pin { path: abs(path), device: is.dev(), inode: is.ino() }
}

#[tokio::test]
async fn git_prints_the_same_as_without_owl() {
    let fixtures = Fixtures::build();
    for name in ["normal", "links", "casing"] {
        same_as_plain_git(&fixtures.dir(name), &ASKED).await;
    }
    // Its files are more than Owl takes of its own calls.
    let asked: Vec<_> = ASKED.iter().copied().filter(|words| !matches!(*words, "log -p -n 3" | "show HEAD")).collect();
    same_as_plain_git(&fixtures.dir("special"), &asked).await;
    // What is known to differ: the main worktree's path, which the gate has nobody ask for, and a dirty submodule.
    let asked: Vec<_> = ASKED.iter().copied().filter(|words| !words.starts_with("branch --list")).collect();
    same_as_plain_git(&fixtures.dir("worktree"), &asked).await;
    same_as_plain_git(&fixtures.dir("nested"), &asked).await;
    same_as_plain_git(&fixtures.dir("nested").join("vendor/inner"), &ASKED).await;
    assert_eq!(fixtures.marks(), Vec::<String>::new());
}

#[tokio::test]
async fn git_prints_the_same_in_repositories_of_every_format() {
    let parent = TempRepo::new();
    for (name, format) in [("sha256", "--object-format=sha256"), ("reftable", "--ref-format=reftable")] {
        let root = parent.beside(name);
        fs::create_dir(&root).unwrap();
        let git = Git::at(&root);
        git.run(["init", "--quiet", "--initial-branch=main", format]);
        fs::write(root.join("README.md"), "one\n").unwrap();
        git.run(["add", "README.md"]);
        git.run(["commit", "--quiet", "--message", "start"]);
        git.run(["branch", "other"]);
        fs::write(root.join("README.md"), "two\n").unwrap();
        same_as_plain_git(&root, &ASKED).await;
        let linked = parent.beside(&format!("{name}-linked"));
        git.run(["worktree", "add", "--quiet", linked.to_str().unwrap(), "other"]);
        fs::write(linked.join("README.md"), "three\n").unwrap();
        let asked: Vec<_> = ASKED.iter().copied().filter(|words| !words.starts_with("branch --list")).collect();
        same_as_plain_git(&linked, &asked).await;
    }
}

fn with_history() -> TempRepo {
    let repo = TempRepo::with_commit();
    for number in 0..12 {
        repo.commit_file("src/main.rs", format!("line {number}\n"));
    }
    repo.git(["branch", "side", "HEAD~3"]);
    repo
}

#[tokio::test]
async fn git_prints_the_same_with_packed_refs_and_objects() {
    let repo = with_history();
    repo.git(["gc", "--quiet"]);
    repo.git(["commit-graph", "write", "--reachable", "--split"]);
    assert!(repo.root().join(".git/packed-refs").is_file());
    repo.write("src/main.rs", "changed\n");
    same_as_plain_git(repo.root(), &ASKED).await;
}

#[tokio::test]
async fn git_prints_the_same_in_a_shallow_or_sparse_repository() {
    let repo = with_history();
    repo.commit_file("docs/guide.md", "a guide\n");
    let shallow = repo.beside("shallow");
    repo.git([
        "clone",
        "--quiet",
        "--depth=2",
        &format!("file://{}", repo.root().display()),
        shallow.to_str().unwrap(),
    ]);
    assert!(shallow.join(".git/shallow").is_file());
    same_as_plain_git(&shallow, &ASKED).await;
    repo.git(["sparse-checkout", "set", "docs"]);
    assert!(!repo.root().join("src").exists());
    // The long form of status does not say that the checkout is sparse.
    let asked: Vec<_> = ASKED.iter().copied().filter(|words| *words != "status").collect();
    same_as_plain_git(repo.root(), &asked).await;
}

#[tokio::test]
async fn git_prints_the_same_with_a_detached_head_and_in_a_half_done_merge() {
    let repo = with_history();
    repo.git(["checkout", "--quiet", "--detach", "side"]);
    same_as_plain_git(repo.root(), &ASKED).await;
    repo.git(["checkout", "--quiet", "side"]);
    repo.commit_file("src/main.rs", "on the side\n");
    repo.git(["merge", "--quiet", "--strategy=ours", "--no-commit", "main"]);
    assert!(repo.root().join(".git/MERGE_HEAD").is_file());
    same_as_plain_git(repo.root(), &ASKED).await;
    repo.git(["read-tree", "-m", "side~1", "side", "main"]);
    repo.write("src/main.rs", "<<<<<<< side\n");
    assert!(repo.git(["status", "--short"]).contains("UU src/main.rs"));
    same_as_plain_git(repo.root(), &ASKED).await;
}

#[tokio::test]
async fn what_was_made_a_moment_ago_is_seen() {
    let repo = TempRepo::with_commit();
    let host = Host::new();
    let project = host.register("p", repo.root()).await;
    let home = host.home(&project).await;
    for number in 0..8 {
        // New loose objects, in directories that were not there, without a home made anew.
        let commit = repo.commit_file("README.md", format!("{number}\n"));
        assert_eq!(in_home(&home, "log -1 --format=%H").await, commit);
    }
    repo.git(["config", "branch.main.remote", "origin"]);
    repo.git(["config", "branch.main.merge", "refs/heads/main"]);
    repo.git(["config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"]);
    repo.git(["update-ref", "refs/remotes/origin/main", "HEAD~1"]);
    assert_eq!(host.home(&project).await, home);
    assert_eq!(in_home(&home, "status -sb").await, "## main...origin/main [ahead 1]");
    repo.git(["gc", "--quiet"]);
    assert_eq!(in_home(&home, "status -sb").await, "## main...origin/main [ahead 1]");
}

#[tokio::test]
async fn the_owned_directory_is_stable_and_shared_by_all_worktrees() {
    let fixtures = Fixtures::build();
    let host = Host::new();
    let project = host.register("normal", &fixtures.dir("normal")).await;
    let root = host.home(&project).await;
    assert_eq!(root.owned_common_dir, abs(&host.state.join("git/normal")));
    assert_eq!(root.work_tree, abs(&fixtures.dir("normal")));
    assert_eq!((&root.git_dir, &root.real_common_dir), (&project.pins.git_dir.path, &project.pins.git_dir.path));
    let worktree = host.repositories.worktrees(&project).await.unwrap().remove(1);
    let linked = host.repositories.home(&worktree.workdir, std::slice::from_ref(&project)).await.unwrap();
    assert_eq!(linked.owned_common_dir, root.owned_common_dir);
    assert_eq!(linked.git_dir, abs(&fixtures.dir("normal").join(".git/worktrees/worktree")));
    assert_eq!(in_home(&linked, "branch --show-current").await, "release/1.0");
    assert_eq!(in_home(&root, "branch --show-current").await, "main");
}

#[tokio::test]
async fn nothing_of_the_credential_is_in_what_git_is_given() {
    let fixtures = Fixtures::build();
    let host = Host::new();
    let project = host.register("normal", &fixtures.dir("normal")).await;
    let home = host.home(&project).await;
    let config = fs::read_to_string(Path::new(home.owned_common_dir.as_str()).join("config")).unwrap();
    assert!(config.contains("[branch \"main\"]") && !config.contains("url"), "{config}");
    assert!(!config.contains(owl_testkit::repo::CANARY), "{config}");
}

#[tokio::test]
async fn many_at_once_get_the_same_and_no_file_is_replaced_for_nothing() {
    let repo = TempRepo::with_commit();
    let host = Host::new();
    let project = host.register("p", repo.root()).await;
    let first = host.home(&project).await;
    let config = Path::new(first.owned_common_dir.as_str()).join("config");
    let inode = fs::metadata(&config).unwrap().ino();
    let (a, b, c, d) = tokio::join!(host.home(&project), host.home(&project), host.home(&project), host.home(&project));
    assert!([a, b, c, d].iter().all(|home| *home == first));
    assert_eq!(fs::metadata(&config).unwrap().ino(), inode);
}

async fn refused(host: &Host, workdir: &Workdir, registered: &[Project]) -> RepositoryError {
    host.repositories.home(workdir, registered).await.unwrap_err()
}

async fn not_as_registered(host: &Host, project: &Project) {
    let error = refused(host, &workdir(project), std::slice::from_ref(project)).await;
    assert!(matches!(error, RepositoryError::NotAsRegistered { .. }), "{error:?}");
    assert!(!host.repositories.is_as_registered(project).await);
    let read = host.repositories.read_base(project, "README.md").await;
    assert!(matches!(read, Err(RepositoryError::NotAsRegistered { .. })), "{read:?}");
}

#[tokio::test]
async fn a_root_whose_git_directory_is_another_one_is_refused() {
    let repo = TempRepo::with_commit();
    let private = TempRepo::with_commit();
    let host = Host::new();
    let project = host.register("p", repo.root()).await;
    let dot_git = repo.root().join(".git");
    let aside = repo.root().join("aside");
    fs::rename(&dot_git, &aside).unwrap();
    not_as_registered(&host, &project).await;

    fs::write(&dot_git, format!("gitdir: {}\n", private.root().join(".git").display())).unwrap();
    not_as_registered(&host, &project).await;

    fs::remove_file(&dot_git).unwrap();
    symlink("aside", &dot_git).unwrap();
    not_as_registered(&host, &project).await;

    fs::remove_file(&dot_git).unwrap();
    Git::at(repo.root()).init();
    not_as_registered(&host, &project).await;

    fs::remove_dir_all(&dot_git).unwrap();
    fs::rename(&aside, &dot_git).unwrap();
    host.home(&project).await;

    fs::write(dot_git.join("commondir"), private.root().join(".git").to_str().unwrap()).unwrap();
    not_as_registered(&host, &project).await;
}

#[tokio::test]
async fn a_worktree_is_found_from_the_repository_and_not_from_its_own_file() {
    let repo = TempRepo::with_commit();
    let private = TempRepo::with_commit();
    let linked = repo.beside("linked");
    repo.git(["worktree", "add", "--quiet", "-b", "linked", linked.to_str().unwrap()]);
    let host = Host::new();
    let project = host.register("p", repo.root()).await;
    let worktree = host.repositories.worktrees(&project).await.unwrap().remove(1).workdir;
    let registered = [project];
    host.repositories.home(&worktree, &registered).await.unwrap();

    let entry = repo.root().join(".git/worktrees/linked");
    let (dot_git, gitdir, commondir) = (linked.join(".git"), entry.join("gitdir"), entry.join("commondir"));
    let foreign = private.root().join(".git");
    let other = repo.beside("other");
    repo.git(["worktree", "add", "--quiet", "-b", "other", other.to_str().unwrap()]);
    let other_entry = repo.root().join(".git/worktrees/other");
    let cases: [(&PathBuf, String); 5] = [
        (&dot_git, format!("gitdir: {}\n", foreign.display())),
        (&dot_git, format!("gitdir: {}\n", repo.root().join(".git").display())),
        (&dot_git, format!("gitdir: {}\n", other_entry.display())),
        (&gitdir, format!("{}\n", other.join(".git").display())),
        (&commondir, format!("{}\n", foreign.display())),
    ];
    for (file, content) in cases {
        let before = fs::read(file).unwrap();
        fs::write(file, &content).unwrap();
        let error = refused(&host, &worktree, &registered).await;
        assert!(matches!(error, RepositoryError::NotAsRegistered { .. }), "{content}: {error:?}");
        fs::write(file, before).unwrap();
    }
    host.repositories.home(&worktree, &registered).await.unwrap();
}

#[tokio::test]
async fn a_link_in_the_git_directory_is_refused_with_its_name() {
    let repo = TempRepo::with_commit();
    let host = Host::new();
    let project = host.register("p", repo.root()).await;
    fs::rename(repo.root().join(".git/refs"), repo.beside("refs")).unwrap();
    symlink(repo.beside("refs"), repo.root().join(".git/refs")).unwrap();
    let error = refused(&host, &workdir(&project), &[]).await;
    assert!(matches!(&error, RepositoryError::Failed { reason } if reason.contains("refs")), "{error:?}");
}

/// A repository that borrows its objects from another.
fn borrower(lender: &Path, root: &Path) {
    Git::at(lender).run(["clone", "--quiet", "--shared", ".", root.to_str().unwrap()]);
    assert!(root.join(".git/objects/info/alternates").is_file());
}

#[tokio::test]
async fn objects_are_borrowed_only_from_registered_projects() {
    let lender = TempRepo::with_commit();
    let root = lender.beside("borrower");
    borrower(lender.root(), &root);
    let host = Host::new();
    let project = host.register("borrower", &root).await;
    let expected = RepositoryError::Borrows { lender: lender.root().to_str().unwrap().into() };
    assert_eq!(refused(&host, &workdir(&project), std::slice::from_ref(&project)).await, expected);
    assert_eq!(host.repositories.read_base(&project, "README.md").await, Err(expected.clone()));

    let registered = [project.clone(), host.register("lender", lender.root()).await];
    let home = host.repositories.home(&workdir(&project), &registered).await.unwrap();
    assert_eq!(home.lenders, [pin(&lender.root().join(".git/objects"))]);
    assert_eq!(in_home(&home, "show HEAD").await, Git::at(&root).run(["show", "HEAD"]));
    assert!(host.repositories.read_base(&project, "README.md").await.unwrap().is_some());

    // The lender is no longer what was registered, and then no Project at all.
    fs::rename(lender.root(), lender.beside("moved")).unwrap();
    fs::create_dir(lender.root()).unwrap();
    Git::at(lender.root()).init();
    assert_eq!(refused(&host, &workdir(&project), &registered).await, expected);
}

#[tokio::test]
async fn a_lender_that_borrows_itself_needs_its_own_lender() {
    let first = TempRepo::with_commit();
    let (second, third) = (first.beside("second"), first.beside("third"));
    borrower(first.root(), &second);
    borrower(&second, &third);
    let host = Host::new();
    let mut registered = vec![host.register("third", &third).await, host.register("second", &second).await];
    let workdir = workdir(&registered[0]);
    let expected = RepositoryError::Borrows { lender: first.root().to_str().unwrap().into() };
    assert_eq!(refused(&host, &workdir, &registered).await, expected);
    registered.push(host.register("first", first.root()).await);
    let home = host.repositories.home(&workdir, &registered).await.unwrap();
    assert_eq!(home.lenders.len(), 2);
    assert_eq!(in_home(&home, "show HEAD").await, Git::at(&third).run(["show", "HEAD"]));
    // Two that borrow from each other end, too.
    fs::write(first.root().join(".git/objects/info/alternates"), format!("{}/.git/objects\n", third.display()))
        .unwrap();
    assert_eq!(host.repositories.home(&workdir, &registered).await.unwrap().lenders.len(), 3);
}

#[tokio::test]
async fn what_alternates_name_is_compared_by_what_it_is() {
    let lender = TempRepo::with_commit();
    let private = TempRepo::with_commit();
    let repo = TempRepo::with_commit();
    let host = Host::new();
    let registered = [host.register("p", repo.root()).await, host.register("lender", lender.root()).await];
    let workdir = workdir(&registered[0]);
    let objects = lender.root().join(".git/objects");
    let link = repo.beside("link");
    symlink(&objects, &link).unwrap();
    let (objects, link) = (objects.display().to_string(), link.display().to_string());
    let foreign = private.root().join(".git/objects").display().to_string();
    for (lines, allowed) in [
        (objects.clone(), true),
        (format!("# a comment\n\n{objects}\n"), true),
        (format!("{link}\n{objects}\n"), true),
        (format!("{objects}\n{foreign}\n"), false),
        (foreign.clone(), false),
        (format!("{objects}/../../../.."), false),
        (format!("{objects}/pack"), false),
        ("/nothing".into(), false),
        (format!("\"{objects}\"\n"), false),
    ] {
        repo.write(".git/objects/info/alternates", &lines);
        let home = host.repositories.home(&workdir, &registered).await;
        assert_eq!(home.is_ok(), allowed, "{lines}: {home:?}");
        if let Ok(home) = home {
            assert_eq!(home.lenders, [pin(Path::new(&objects))], "{lines}");
        }
    }
    fs::remove_file(repo.root().join(".git/objects/info/alternates")).unwrap();
    symlink("/dev/zero", repo.root().join(".git/objects/info/alternates")).unwrap();
    assert!(host.repositories.home(&workdir, &registered).await.is_err());
    fs::remove_file(repo.root().join(".git/objects/info/alternates")).unwrap();
    let home = host.repositories.home(&workdir, &registered).await.unwrap();
    assert!(!Path::new(home.owned_common_dir.as_str()).join("objects/info/alternates").exists());
}

#[tokio::test]
async fn a_link_among_its_own_data_or_a_lenders_is_refused() {
    let (repo, lender) = (TempRepo::with_commit(), TempRepo::with_commit());
    let host = Host::new();
    let registered = [host.register("p", repo.root()).await, host.register("lender", lender.root()).await];
    let workdir = workdir(&registered[0]);
    repo.write(".git/objects/info/alternates", format!("{}/.git/objects\n", lender.root().display()));
    repo.write(".git/rebase-merge/head-name", "refs/heads/main\n");
    repo.write(".git/worktrees/other/HEAD", "ref: refs/heads/main\n");
    for (of, name) in [
        (&repo, ".git/index-of-another"),
        (&repo, ".git/rebase-merge/done"),
        (&repo, ".git/worktrees/other/gitdir"),
        (&repo, ".git/objects/pack/pack-1.pack"),
        (&lender, ".git/objects/pack/pack-1.pack"),
    ] {
        assert!(host.repositories.home(&workdir, &registered).await.is_ok(), "{name}");
        let link = of.root().join(name);
        symlink("/etc/hostname", &link).unwrap();
        let refused = refused(&host, &workdir, &registered).await.to_string();
        assert!(refused.contains("is a link"), "{refused}");
        fs::remove_file(link).unwrap();
    }
}

#[tokio::test]
async fn an_index_that_names_what_lies_outside_is_refused() {
    let repo = TempRepo::with_commit();
    let host = Host::new();
    let project = host.register("p", repo.root()).await;
    repo.write("xx/secret.txt", "staged");
    repo.git(["add", "--all"]);
    host.home(&project).await;
    let index = repo.root().join(".git/index");
    let content = fs::read(&index).unwrap();
    let at = content.windows(3).position(|found| found == b"xx/").unwrap();
    let forged = [&content[..at], b"../", &content[at + 3..]].concat();
    fs::write(index, forged).unwrap();
    let refused = refused(&host, &workdir(&project), std::slice::from_ref(&project)).await.to_string();
    assert!(refused.contains("names `../secret.txt`"), "{refused}");
}
