//! What git itself would print, where Owl's own ways could stand between: submodules that lie behind the wall, the order of
//! words, paths that git reads by their text.

use crate::lines::{daemon, differs_from_plain, fault, has_the_wall, run, verdicts};
use owl_testkit::repo::{CANARY, Git, TempRepo, plain};
use std::{fs, os::unix::fs::symlink};

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
        fs::write(
            repo.root().join(".git/modules").join(name).join("config.worktree"),
            format!("[x]\n\ty = {CANARY}\n"),
        )
        .unwrap();
    }
    for yaml in ["", "sandbox: \"off\"\n"] {
        let owl = daemon(yaml, &[], &[repo.root()]).await;
        for (line, item) in run(&owl.daemon, repo.root(), &["git status -s", "git diff", "git diff --stat HEAD"]).await
        {
            assert_eq!(fault(&item), None, "{line}");
            // Behind the wall git says beside it that it may not read the submodules' configurations.
            let words: Vec<&str> = line.split(' ').collect();
            let expected = plain("git".as_ref(), &words, repo.root()).stdout;
            assert_eq!(item["result"]["stdout"]["head"].as_str().unwrap().as_bytes(), expected, "{line}");
            assert!(expected.windows(4).any(|window| window == b"lib\n" || window == b"lib "), "{line}");
        }
    }
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
    for (line, item) in run(&owl.daemon, repo.root(), &lines).await {
        assert_eq!((fault(&item), differs_from_plain(&item)), (None, None), "{line}");
    }
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
        for (line, item) in run(&owl.daemon, repo.root(), &lines).await {
            assert_eq!((fault(&item), differs_from_plain(&item)), (None, None), "{line}");
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
