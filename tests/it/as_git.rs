//! What git itself would print, where Owl's own ways could stand between: submodules that lie behind the wall, the order of
//! words, paths that git reads by their text.

use crate::{
    lines::{Daemons, daemon, differs_from_plain, fault, has_the_wall, run, verdicts},
    support::worktree,
};
use owl_testkit::repo::{CANARY, Git, Snapshot, TempRepo};
use serde_json::Value;
use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

/// Runs lines, and makes sure that each printed what it prints without Owl.
async fn as_plain(owl: &Daemons, root: &Path, lines: &[&str]) -> Vec<(String, Value)> {
    let items = run(&owl.daemon, root, lines).await;
    for (line, item) in &items {
        assert_eq!((fault(item), differs_from_plain(item)), (None, None), "{line}");
    }
    items
}

#[tokio::test]
async fn a_submodule_at_another_commit_is_told() {
    let (lib, repo) = (TempRepo::with_commit(), TempRepo::with_commit());
    lib.commit_file("more.txt", "more\n");
    let source = lib.root().to_str().unwrap();
    for name in ["lib", "deep/er"] {
        repo.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "--name", name, source, name]);
    }
    repo.git(["commit", "--quiet", "-m", "two submodules"]);
    for name in ["lib", "deep/er"] {
        Git::at(&repo.root().join(name)).run(["checkout", "--quiet", "HEAD~1"]);
    }
    // git must know a submodule's format, and its configuration holds more than that.
    let address = format!("https://jane:{CANARY}@example.invalid/lib.git");
    Git::at(&repo.root().join("lib")).run(["config", "remote.origin.url", &address]);
    Git::at(&repo.root().join("lib")).run(["config", "core.fsmonitor", "/bin/false"]);
    for yaml in ["", "sandbox: \"off\"\n"] {
        let owl = daemon(yaml, &[], &[repo.root()]).await;
        let lines = ["git status -s", "git status", "git diff", "git diff --stat HEAD"];
        for (line, item) in as_plain(&owl, repo.root(), &lines).await {
            let printed = item["result"]["stdout"]["head"].as_str().unwrap();
            assert!(printed.contains("lib") && printed.contains("deep/er"), "{line}: {printed}");
        }
    }
}

#[tokio::test]
async fn what_a_worktree_sets_for_itself_is_believed() {
    let repo = TempRepo::new();
    for path in ["a/file.txt", "b/file.txt", "tool.sh"] {
        repo.commit_file(path, "text\n");
    }
    let linked = worktree(&repo, "linked");
    // Sets it in this worktree's own configuration.
    repo.git(["sparse-checkout", "set", "--no-cone", "/a/", "/tool.sh"]);
    Git::at(&linked).run(["config", "--worktree", "core.fileMode", "false"]);
    for root in [repo.root(), &linked] {
        fs::create_dir_all(root.join("b")).unwrap();
        fs::write(root.join("b/file.txt"), "written again\n").unwrap();
        fs::set_permissions(root.join("tool.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    }
    for yaml in ["", "sandbox: \"off\"\n"] {
        let owl = daemon(yaml, &[], &[repo.root()]).await;
        let lines = ["git status", "git status -s", "git diff", "git diff --stat HEAD", "git log --stat --oneline"];
        for (root, status) in [(repo.root(), " M b/file.txt\n M tool.sh\n"), (&linked, " M b/file.txt\n")] {
            for (line, item) in as_plain(&owl, root, &lines).await {
                if line == "git status -s" {
                    assert_eq!(item["result"]["stdout"]["head"], status);
                }
            }
        }
    }
}

#[tokio::test]
async fn a_repository_that_is_content_of_another_is_told_as_content() {
    let (repo, bare) = (TempRepo::with_commit(), TempRepo::with_commit());
    for name in ["tracked.git", "untracked.git"] {
        let path = repo.root().join(name);
        repo.git(["clone", "--quiet", "--bare", bare.root().to_str().unwrap(), path.to_str().unwrap()]);
        fs::write(path.join("refs/keep"), "").unwrap();
    }
    repo.git(["add", "tracked.git"]);
    repo.git(["commit", "--quiet", "-m", "a fixture"]);
    repo.write("tracked.git/description", "another one\n");
    fs::write(repo.root().join("untracked.git/config"), CANARY).unwrap();
    let owl = daemon("", &[], &[repo.root()]).await;
    let lines = ["git status", "git status -uall", "git diff", "git diff --raw", "git show --stat"];
    as_plain(&owl, repo.root(), &lines).await;
    let mut client = owl.daemon.connect().await;
    for (line, kind) in verdicts(&mut client, repo.root(), &["cat tracked.git/config", "git diff -- tracked.git"]).await
    {
        assert_eq!(kind.as_deref(), Some("path_git"), "{line}");
    }
}

#[tokio::test]
async fn a_linked_worktree_knows_what_the_main_one_has_checked_out() {
    let repo = TempRepo::with_commit();
    let linked = worktree(&repo, "linked");
    let lines =
        ["git branch", "git branch -a", "git branch -v", "git log --all --oneline", "git show --all -s --oneline"];
    let owl = daemon("", &[], &[repo.root()]).await;
    for detached in [false, true] {
        if detached {
            // What only a HEAD without a branch leads to.
            repo.git(["checkout", "--quiet", "--detach"]);
            repo.commit_file("README.md", "on no branch\n");
        }
        for root in [repo.root(), &linked] {
            as_plain(&owl, root, &lines).await;
        }
    }
    let mut client = owl.daemon.connect().await;
    for (root, kind) in [(repo.root(), None), (linked.as_path(), Some("option"))] {
        assert_eq!(verdicts(&mut client, root, &["git branch -vv"]).await[0].1.as_deref(), kind);
        assert_eq!(verdicts(&mut client, root, &["git log --all -g"]).await[0].1.as_deref(), Some("option"));
    }
}

#[tokio::test]
async fn a_file_that_was_only_touched_is_not_told_and_the_index_stays() {
    let repo = TempRepo::with_commit();
    for path in ["a.txt", "b.txt", "image.bin"] {
        repo.commit_file(path, "one\0two\n");
    }
    let linked = worktree(&repo, "linked");
    for root in [repo.root(), &linked] {
        for path in ["a.txt", "README.md", "image.bin"] {
            fs::File::options().write(true).open(root.join(path)).unwrap().set_modified(UNIX_EPOCH).unwrap();
        }
        fs::write(root.join("b.txt"), "another\n").unwrap();
    }
    let lines = [
        "git diff --name-only",
        "git diff --name-status HEAD",
        "git diff --raw",
        "git diff --stat",
        "git diff --numstat -- a.txt",
        "git diff --exit-code -- a.txt README.md",
        "git diff",
        "git status -s",
    ];
    for yaml in ["", "sandbox: \"off\"\n"] {
        let owl = daemon(yaml, &[], &[repo.root()]).await;
        for root in [repo.root(), &linked] {
            let before = Snapshot::of(&repo.root().join(".git"));
            for (line, item) in as_plain(&owl, root, &lines).await {
                assert!(!item["result"]["stdout"]["head"].as_str().unwrap().contains("a.txt"), "{line}");
            }
            assert_eq!(Snapshot::of(&repo.root().join(".git")).changed_since(&before), Vec::<PathBuf>::new());
        }
    }
}

#[tokio::test]
async fn what_git_reads_of_its_info_is_read() {
    let repo = TempRepo::with_commit();
    for n in 0..3 {
        repo.commit_file("a.bin", format!("{n}\0\n"));
    }
    repo.write("ignored.log", "x");
    repo.write("a.bin", "x\n");
    repo.write(".git/info/attributes", "*.bin diff\n");
    repo.write(".git/info/exclude", "*.log\n");
    repo.write(".git/info/grafts", format!("{}\n", repo.git(["rev-parse", "HEAD~1"])));
    let owl = daemon("", &[], &[repo.root()]).await;
    let lines = ["git status -s", "git diff", "git log --oneline", "git show"];
    as_plain(&owl, repo.root(), &lines).await;
}

#[tokio::test]
async fn what_chooses_commits_keeps_its_place_among_the_revisions() {
    let repo = TempRepo::with_commit();
    for n in 0..4 {
        repo.commit_file("a.txt", format!("{n}\n"));
    }
    repo.git(["tag", "v1", "HEAD~2"]);
    let owl = daemon("", &[], &[repo.root()]).await;
    let lines = [
        "git log HEAD~3..HEAD --no-walk --oneline",
        "git log --no-walk HEAD~3..HEAD --oneline",
        "git log --no-walk=unsorted --oneline v1 main",
        "git log main -g --oneline",
        "git log -g --oneline main",
        "git log main --not v1 -g --oneline",
    ];
    as_plain(&owl, repo.root(), &lines).await;
}

#[tokio::test]
async fn a_path_is_looked_at_as_git_reads_it() {
    let repo = TempRepo::with_commit();
    repo.commit_file("README.md", "hello\n");
    let outside = repo.beside("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret.txt"), format!("{CANARY}\n")).unwrap();
    symlink("../outside", repo.root().join("out")).unwrap();
    symlink(".git", repo.root().join("data")).unwrap();
    for yaml in ["", "sandbox: \"off\"\n"] {
        let owl = daemon(yaml, &[], &[repo.root()]).await;
        let mut client = owl.daemon.connect().await;
        let denied = [
            ("git diff HEAD:README.md -- nothing/../out/secret.txt", "path_outside"),
            ("git diff HEAD:README.md nothing/../out/secret.txt", "path_outside"),
            ("git diff HEAD:README.md -- nothing/../data/COMMIT_EDITMSG", "path_git"),
            ("git status -- README.md/../out/secret.txt", "path_outside"),
            ("git log -- ':(icase)nothing/../out'", "operand"),
            ("git diff README.md nothing.md", "operand"),
            ("git diff README.md main", "operand"),
        ];
        let lines = denied.map(|(line, _)| line);
        for ((line, kind), (_, expected)) in verdicts(&mut client, repo.root(), &lines).await.iter().zip(denied) {
            assert_eq!(kind.as_deref(), Some(expected), "{line}");
        }
        let lines = ["git log --oneline -- out/../README.md", "git diff HEAD~1 nothing/../README.md"];
        for (line, item) in as_plain(&owl, repo.root(), &lines).await {
            assert!(!item["result"]["stdout"]["head"].as_str().unwrap().is_empty(), "{line}");
        }
    }
}

#[tokio::test]
async fn a_tree_that_is_deeper_than_any_is_refused_and_the_daemon_goes_on() {
    let repo = TempRepo::with_commit();
    let tower = repo.root().join("a/".repeat(900));
    for name in ["objects", "refs"] {
        fs::create_dir_all(tower.join("z").join(name)).unwrap();
    }
    fs::write(tower.join("z/HEAD"), "ref: refs/heads/main\n").unwrap();
    let owl = daemon("", &[], &[repo.root()]).await;
    let mut client = owl.daemon.connect().await;
    has_the_wall(&mut client).await;
    let said = verdicts(&mut client, repo.root(), &["grep -rn hello", "ls -R", "git status -s"]).await;
    let kinds: Vec<_> = said.iter().map(|(_, kind)| kind.as_deref()).collect();
    assert_eq!(kinds, [Some("operand"), Some("operand"), None]);
    let items = run(&owl.daemon, repo.root(), &["git status -s", "git log --oneline"]).await;
    assert_eq!(items.iter().find_map(|(_, item)| fault(item)), None);
}
