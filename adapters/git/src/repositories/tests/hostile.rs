//! Repositories that name a program for every occasion that git knows: Owl's own calls start none of them.

use crate::{
    git::{Git as OwlGit, How},
    testing::{Host, abs, at, git},
};
use owl_domain::{ports::Repositories as _, text::BranchName};
use owl_process::Spawner;
use owl_testkit::repo::{Git, TempRepo};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

const FILE: &str = ".coding-owl.yaml";

/// A repository that would leave a mark beside it if any of its programs ever ran.
struct Trap {
    repo: TempRepo,
    marks: PathBuf,
}

impl Trap {
    fn new() -> Self {
        let repo = TempRepo::with_commit();
        let marks = repo.beside("marks");
        fs::create_dir(&marks).unwrap();
        repo.commit_file(FILE, "the terms\n");
        repo.commit_file(".gitattributes", "* filter=evil diff=evil merge=evil\n");
        let linked = repo.beside("linked");
        repo.git(["worktree", "add", "--quiet", "-b", "linked", linked.to_str().unwrap()]);
        Self { repo, marks }
    }

    /// Writes a program that leaves a mark of this name.
    fn program(&self, name: &str) -> String {
        let path = self.repo.beside("programs").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n: > '{}/{name}'\ncat\n", self.marks.display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().into()
    }

    fn arm(&self) {
        let hooks = self.repo.root().join(".git/hooks");
        fs::create_dir_all(&hooks).unwrap();
        for hook in ["post-checkout", "post-index-change", "reference-transaction", "pre-commit", "pre-auto-gc"] {
            fs::copy(self.program(hook), hooks.join(hook)).unwrap();
        }
        for key in [
            "core.fsmonitor",
            "core.pager",
            "core.editor",
            "core.sshCommand",
            "core.gitProxy",
            "core.askPass",
            "core.alternateRefsCommand",
            "credential.helper",
            "diff.external",
            "diff.evil.command",
            "diff.evil.textconv",
            "filter.evil.clean",
            "filter.evil.smudge",
            "merge.evil.driver",
            "gpg.program",
            "gpg.ssh.program",
            "hook.evil.command",
            "pager.worktree",
            "pager.ls-tree",
            "sequence.editor",
        ] {
            self.repo.git(["config", key, &self.program(key)]);
        }
        let evil = self.program("alias");
        for verb in ["worktree", "ls-tree", "cat-file", "for-each-ref", "symbolic-ref", "rev-parse", "config"] {
            self.repo.git(["config", &format!("alias.{verb}"), &format!("!{evil}")]);
        }
        for (key, value) in [
            ("hook.evil.event", "reference-transaction"),
            ("log.showSignature", "true"),
            ("commit.gpgSign", "true"),
            ("diff.evil.cachetextconv", "true"),
        ] {
            self.repo.git(["config", key, value]);
        }
        // Last: nothing that runs git in here may come behind it.
        let included = self.repo.beside("included");
        fs::write(&included, format!("[core]\n\tfsmonitor = {}\n", self.program("included"))).unwrap();
        self.repo.git(["config", "include.path", included.to_str().unwrap()]);
        for mark in fs::read_dir(&self.marks).unwrap() {
            fs::remove_file(mark.unwrap().path()).unwrap();
        }
    }

    fn marks(&self) -> Vec<String> {
        let marks = fs::read_dir(&self.marks).unwrap();
        marks.map(|mark| mark.unwrap().file_name().into_string().unwrap()).collect()
    }
}

/// Everything below a directory with what it was, to see what was written.
fn all(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut left = vec![directory.to_path_buf()];
    let mut found = Vec::new();
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                left.push(entry.path());
            } else if entry.file_type().unwrap().is_file() {
                found.push((entry.path(), fs::read(entry.path()).unwrap()));
            }
        }
    }
    found.sort_unstable();
    found
}

#[tokio::test]
async fn nothing_that_a_repository_names_is_started_and_nothing_is_written_there() {
    let trap = Trap::new();
    trap.arm();
    // The trap works: plain git falls into it.
    Git::at(trap.repo.root()).run(["status", "--short"]);
    assert!(!trap.marks().is_empty(), "the trap is none");
    for mark in trap.marks() {
        fs::remove_file(trap.marks.join(mark)).unwrap();
    }
    let before = all(trap.repo.root());
    let host = Host::new();
    let project = host.register("p", trap.repo.root()).await;
    host.repositories.inspect(&abs(&trap.repo.beside("linked")), None).await.unwrap();
    host.repositories.inspect(&abs(trap.repo.root()), Some(BranchName::new("nothing").unwrap())).await.unwrap_err();
    assert_eq!(host.repositories.worktrees(&project).await.unwrap().len(), 2);
    host.home(&project).await;
    assert_eq!(host.repositories.read_base(&project, FILE).await.unwrap().unwrap().text, "the terms\n");
    assert_eq!(host.repositories.list_base(&project, "").await.unwrap().len(), 3);
    assert_eq!(trap.marks(), Vec::<String>::new());
    assert!(all(trap.repo.root()) == before, "something was written");
}

#[tokio::test]
async fn what_the_chats_git_is_given_starts_nothing_either() {
    let trap = Trap::new();
    trap.arm();
    trap.repo.write("README.md", "changed\n");
    trap.repo.write("sub/.gitattributes", "* filter=evil diff=evil\n");
    trap.repo.write("untracked.txt", "x\n");
    let before = all(trap.repo.root());
    let host = Host::new();
    let project = host.register("p", trap.repo.root()).await;
    let home = host.home(&project).await;
    let linked = host.repositories.worktrees(&project).await.unwrap().remove(1);
    let linked = host.repositories.home(&linked.workdir, &[]).await.unwrap();
    for home in [home, linked] {
        for words in super::home::ASKED.into_iter().chain(["log -1", "log -p -S terms", "show --stat", "branch -a"]) {
            super::home::in_home(&home, words).await;
            assert_eq!(trap.marks(), Vec::<String>::new(), "git {words}");
        }
    }
    assert!(all(trap.repo.root()) == before, "something was written");
}

#[tokio::test]
async fn a_missing_object_is_not_fetched() {
    let trap = Trap::new();
    let blob = trap.repo.git(["rev-parse", &format!("HEAD:{FILE}")]);
    let (fan, rest) = blob.split_at(2);
    fs::remove_file(trap.repo.root().join(".git/objects").join(fan).join(rest)).unwrap();
    trap.repo.git(["config", "extensions.partialClone", "origin"]);
    trap.repo.git(["config", "core.repositoryFormatVersion", "1"]);
    trap.repo.git(["config", "remote.origin.promisor", "true"]);
    trap.repo.git(["config", "remote.origin.url", &format!("ext::{} %S", trap.program("lazy-fetch"))]);
    trap.repo.git(["config", "protocol.ext.allow", "always"]);
    let host = Host::new();
    let project = host.register("p", trap.repo.root()).await;
    let read = host.repositories.read_base(&project, FILE).await;
    assert!(read.is_err(), "{read:?}");
    assert_eq!(trap.marks(), Vec::<String>::new());
}

#[tokio::test]
async fn a_configuration_that_would_block_or_lead_elsewhere_is_refused() {
    let repo = TempRepo::with_commit();
    let private = TempRepo::with_commit();
    let host = Host::new();
    let project = host.register("p", repo.root()).await;
    let config = repo.root().join(".git/config");
    fs::remove_file(&config).unwrap();
    nix::unistd::mkfifo(&config, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(host.repositories.read_base(&project, "README.md").await.is_err());
    fs::remove_file(&config).unwrap();
    std::os::unix::fs::symlink(private.root().join(".git/config"), &config).unwrap();
    assert!(host.repositories.read_base(&project, "README.md").await.is_err());
    fs::remove_file(&config).unwrap();
    assert!(host.repositories.read_base(&project, "README.md").await.unwrap().is_some());
}

#[tokio::test]
async fn fifos_in_the_place_of_small_files_do_not_hold_owl_up() {
    let repo = TempRepo::with_commit();
    let linked = repo.beside("linked");
    repo.git(["worktree", "add", "--quiet", "-b", "linked", linked.to_str().unwrap()]);
    let host = Host::new();
    let project = host.register("p", repo.root()).await;
    let fifo = |path: PathBuf| {
        fs::remove_file(&path).unwrap_or_default();
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    };
    fifo(repo.root().join(".git/info/exclude"));
    fifo(linked.join(".git"));
    assert_eq!(host.repositories.worktrees(&project).await.unwrap().len(), 1);
    host.home(&project).await;
    fifo(repo.root().join(".git/objects/info/alternates"));
    let home = host.repositories.home(&crate::testing::workdir(&project), &[]).await;
    assert!(home.is_err(), "{home:?}");
}

#[tokio::test]
async fn an_index_that_changes_after_it_was_looked_at_is_not_what_git_reads() {
    let repo = TempRepo::with_commit();
    let outside = repo.beside("x");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret.txt"), "secret\n").unwrap();
    repo.commit_file("aa/x/secret.txt", "no secret\n");
    let host = Host::new();
    let home = host.home(&host.register("shop", repo.root()).await).await;
    let index = repo.root().join(".git/index");
    let mut content = fs::read(&index).unwrap();
    let begins = content.windows(5).position(|name| name == b"aa/x/").unwrap();
    content[begins..begins + 5].copy_from_slice(b"./../");
    // Its hash stands at the end, which git does not compare where it is zero.
    let hash = content.len() - 20;
    content[hash..].fill(0);
    fs::write(&index, &content).unwrap();
    let named = async |index: &str| {
        let how = How { env: vec![("GIT_INDEX_FILE".into(), index.into())], ..How::default() };
        let at = at(&home);
        let answer = OwlGit::new(Spawner::new(), &git()).run_as(&at, &["diff", "--name-only"], &how).await.unwrap();
        answer.succeeded().map(|printed| String::from_utf8(printed).unwrap())
    };
    assert_eq!(named(home.index.as_str()).await, Ok(String::new()));
    let believed = named(index.to_str().unwrap()).await;
    assert_ne!(believed, Ok(String::new()), "the one that stands there would be believed, or refused");
    assert_eq!(fs::read(&index).unwrap(), content);
}
