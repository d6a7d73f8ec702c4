//! Repositories that name a program, a file outside or another repository wherever git would take one: whatever the gate
//! allows runs nothing of it, reads nothing of it, writes nothing and ends. Under both walls, and under the gate alone.

use crate::{
    lines::{Daemons, daemon, fault, run, verdicts},
    support::{allow, ask, command, conversation, proposal},
    work::held,
};
use owl_testkit::repo::{CANARY, Git, Hostile, Snapshot, TempRepo};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

/// With both walls, and with the gate alone.
const WALLS: [&str; 2] = ["", "sandbox: off\n"];

/// Every line of git's that the lists allow.
fn lines_of_git() -> Vec<&'static str> {
    let lines = include_str!("../gate/allowed.txt").lines().filter_map(|line| line.split("  ## ").next());
    lines.filter(|line| line.starts_with("git ")).collect()
}

/// One line for each thing that is known to make some git run, write, fetch or read what it should not.
const TELLING: [&str; 32] = [
    "git status",
    "git status -sb --ignored",
    "git status --porcelain=v2 -uall",
    "git diff",
    "git diff --stat",
    "git diff --name-only",
    "git diff --cached",
    "git diff HEAD",
    "git diff HEAD~3 HEAD",
    "git diff -w --color-words",
    "git log",
    "git log -1",
    "git log --oneline",
    "git log --format=%H",
    "git log -p",
    "git log -p -m",
    "git log -p --cc",
    "git log -S two -p",
    "git log -G one",
    "git log --stat --all",
    "git log -g",
    "git log -L 1,1:README.md",
    "git log --mailmap --format='%an %aN'",
    "git log --format='%(trailers)'",
    "git log --notes -3",
    "git show",
    "git show --stat HEAD~1",
    "git show v1",
    "git show HEAD:README.md",
    "git branch",
    "git branch -avv",
    "git branch --format='%(refname) %(upstream:track)'",
];

/// A daemon whose own environment is hostile too.
async fn daemon_for(hostile: &Hostile, yaml: &str) -> Daemons {
    let variables = hostile.environment();
    let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    daemon(yaml, &variables, &[&hostile.root()]).await
}

/// Runs lines in a workdir; nothing may have sprung, and nothing changed. That no secret was told, `run` sees to.
async fn run_unharmed(daemons: &Daemons, hostile: &Hostile, workdir: &Path, lines: &[&str]) -> HashMap<String, Value> {
    let before = Snapshot::of(hostile.parent());
    let items: HashMap<_, _> = run(&daemons.daemon, workdir, lines).await.into_iter().collect();
    assert_eq!(hostile.marks(), Vec::<String>::new());
    assert_eq!(Snapshot::of(hostile.parent()).changed_since(&before), Vec::<PathBuf>::new());
    assert_eq!(items.len(), lines.len());
    items
}

fn stdout(item: &Value) -> &str {
    item["result"]["stdout"]["head"].as_str().unwrap()
}

#[tokio::test]
async fn no_line_springs_what_a_repository_names() {
    let hostile = Hostile::armed();
    for yaml in WALLS {
        let daemons = daemon_for(&hostile, yaml).await;
        let mut lines = TELLING.to_vec();
        lines.extend(lines_of_git().into_iter().filter(|line| !TELLING.contains(line)));
        // A few name paths that this repository does not have.
        let (known, mut client) = (lines.len(), daemons.daemon.connect().await);
        let denied = verdicts(&mut client, &hostile.root(), &lines).await;
        lines.retain(|line| !denied.iter().any(|(of, kind)| of == line && kind.as_deref() == Some("operand")));
        assert!(known - lines.len() < 5 && TELLING.iter().all(|line| lines.contains(line)), "{lines:?}");
        let items = run_unharmed(&daemons, &hostile, &hostile.root(), &lines).await;
        assert_eq!(items.values().filter_map(fault).collect::<Vec<_>>(), Vec::<String>::new());
        assert!(stdout(&items["git status"]).contains("modified:   src/b.bin"), "{}", items["git status"]);
        assert!(stdout(&items["git log -p"]).contains("\n+two\n"), "{}", items["git log -p"]);
    }
}

#[tokio::test]
async fn no_line_springs_what_a_worktree_names() {
    let hostile = Hostile::with_history();
    let linked = hostile.parent().join("linked");
    hostile.git().run(["worktree", "add", "--quiet", linked.to_str().unwrap(), "side"]);
    let trap = &hostile.environment().into_iter().find(|(name, _)| *name == "GIT_EXTERNAL_DIFF").unwrap().1;
    hostile.git().run(["config", "extensions.worktreeConfig", "true"]);
    let config =
        format!("[core]\n\tfsmonitor = {trap}\n\tworktree = ../../../../outside\n[diff]\n\texternal = {trap}\n");
    fs::write(hostile.root().join(".git/worktrees/linked/config.worktree"), config).unwrap();
    fs::write(linked.join("both.md"), "changed\n").unwrap();
    for yaml in WALLS {
        let daemons = daemon_for(&hostile, yaml).await;
        let items = run_unharmed(&daemons, &hostile, &linked, &TELLING).await;
        assert!(stdout(&items["git diff"]).contains("+changed\n"), "{}", items["git diff"]);
    }
}

#[tokio::test]
async fn no_line_springs_what_a_submodule_names() {
    let hostile = Hostile::with_armed_submodule();
    for yaml in WALLS {
        let daemons = daemon_for(&hostile, yaml).await;
        let items = run_unharmed(&daemons, &hostile, &hostile.root(), &TELLING).await;
        assert_eq!(items.values().filter_map(fault).collect::<Vec<_>>(), Vec::<String>::new());
        // It is a workdir of its own when it is registered; then it is no less hostile.
        let library = hostile.root().join("lib");
        let mut client = daemons.daemon.connect().await;
        client.ok("projects.add", json!({ "path": library, "name": "lib" })).await;
        run_unharmed(&daemons, &hostile, &library, &TELLING).await;
    }
}

#[tokio::test]
async fn what_a_partial_clone_lacks_is_not_fetched() {
    let hostile = Hostile::partial();
    for yaml in WALLS {
        let daemons = daemon_for(&hostile, yaml).await;
        let mut lines = TELLING.to_vec();
        lines.extend(["git show HEAD~1:old.md", "git log -p -- old.md"]);
        let items = run_unharmed(&daemons, &hostile, &hostile.root(), &lines).await;
        assert_eq!(items["git show HEAD~1:old.md"]["result"]["exit_code"], 128);
    }
}

#[tokio::test]
async fn another_work_tree_that_the_configuration_names_is_not_shown() {
    let hostile = Hostile::with_history();
    hostile.git().run(["config", "core.worktree", hostile.parent().join("outside").to_str().unwrap()]);
    for yaml in WALLS {
        let daemons = daemon_for(&hostile, yaml).await;
        let items = run_unharmed(&daemons, &hostile, &hostile.root(), &TELLING).await;
        assert_eq!(stdout(&items["git diff --stat"]), "", "the work tree of the repository itself is clean");
    }
}

/// Something that is done to a repository after it was registered.
type Change = fn(&Hostile);

/// What makes a repository one that git is not let into at all.
const CHANGES: [(&str, Change); 15] = [
    ("an index that names a file outside", |it| {
        it.git().run(["mv", "README.md", "xx"]);
        let index = fs::read(dot_git(it, "index")).unwrap();
        let at = index.windows(4).position(|found| found == b"\x02xx\0").unwrap();
        fs::write(dot_git(it, "index"), [&index[..at], b"\x02..\0", &index[at + 4..]].concat()).unwrap();
    }),
    ("a commondir", |it| fs::write(dot_git(it, "commondir"), private(it, "")).unwrap()),
    ("a .git file that names another", |it| {
        fs::remove_dir_all(dot_git(it, "")).unwrap();
        fs::write(it.root().join(".git"), format!("gitdir: {}\n", private(it, ""))).unwrap();
    }),
    ("a .git that is a link to another", |it| {
        fs::remove_dir_all(dot_git(it, "")).unwrap();
        symlink(private(it, ""), it.root().join(".git")).unwrap();
    }),
    ("a .git in the place of the one before", |it| {
        fs::rename(dot_git(it, ""), it.parent().join("moved")).unwrap();
        fs::rename(private(it, ""), dot_git(it, "")).unwrap();
    }),
    ("alternates", |it| fs::write(dot_git(it, "objects/info/alternates"), private(it, "objects")).unwrap()),
    ("a link for the objects", |it| replace(it, "objects", "objects")),
    ("a link for a directory of objects", |it| symlink(private(it, "objects"), dot_git(it, "objects/00")).unwrap()),
    ("a link for a pack", |it| symlink(private(it, "HEAD"), dot_git(it, "objects/pack/pack-1.pack")).unwrap()),
    ("a link for the refs", |it| replace(it, "refs", "refs")),
    ("a link for the index", |it| replace(it, "index", "index")),
    ("a link for the head", |it| replace(it, "HEAD", "HEAD")),
    ("a link for a log", |it| replace(it, "logs/HEAD", "logs/HEAD")),
    ("a link for what a rebase did", |it| {
        fs::create_dir(dot_git(it, "rebase-merge")).unwrap();
        for name in ["head-name", "onto", "interactive", "orig-head"] {
            fs::write(dot_git(it, &format!("rebase-merge/{name}")), "refs/heads/main\n").unwrap();
        }
        symlink(it.parent().join("outside/secret.txt"), dot_git(it, "rebase-merge/done")).unwrap();
    }),
    ("a link for where a worktree is", |it| {
        fs::create_dir_all(dot_git(it, "worktrees/x")).unwrap();
        fs::write(dot_git(it, "worktrees/x/HEAD"), "ref: refs/heads/side\n").unwrap();
        fs::write(dot_git(it, "worktrees/x/commondir"), "../..\n").unwrap();
        symlink(it.parent().join("outside/secret.txt"), dot_git(it, "worktrees/x/gitdir")).unwrap();
    }),
];

fn dot_git(it: &Hostile, name: &str) -> PathBuf {
    it.root().join(".git").join(name)
}

fn private(it: &Hostile, name: &str) -> String {
    it.parent().join("outside/private/.git").join(name).to_str().unwrap().to_owned()
}

fn replace(it: &Hostile, name: &str, by: &str) {
    let path = dot_git(it, name);
    if path.is_dir() {
        fs::remove_dir_all(&path).unwrap();
    } else {
        fs::remove_file(&path).unwrap();
    }
    symlink(private(it, by), path).unwrap();
}

#[tokio::test]
async fn a_repository_that_became_another_is_not_shown() {
    for (what, change) in CHANGES {
        let hostile = Hostile::with_history();
        // The gate alone has to hold these: what the kernel refuses here, it refuses elsewhere, too.
        let daemons = daemon_for(&hostile, "sandbox: off\n").await;
        let mut client = daemons.daemon.connect().await;
        let before = verdicts(&mut client, &hostile.root(), &["git log -1"]).await;
        assert_eq!(before[0].1, None);
        change(&hostile);
        for (line, kind) in verdicts(&mut client, &hostile.root(), &TELLING).await {
            assert_eq!(kind.as_deref(), Some("workdir"), "{what}: {line}");
        }
        let items = run_unharmed(&daemons, &hostile, &hostile.root(), &["git branch -avv", "git status"]).await;
        for item in items.values() {
            assert_eq!((&item["outcome"], &item["result"]), (&json!("gate_denied"), &Value::Null), "{what}: {item}");
        }
    }
}

#[tokio::test]
async fn objects_are_borrowed_only_from_a_registered_project() {
    let hostile = Hostile::with_history();
    let lender = hostile.parent().join("lender");
    let borrower = hostile.parent().join("borrower");
    fs::rename(hostile.root(), &lender).unwrap();
    let clone = ["clone", "--quiet", "--shared", lender.to_str().unwrap(), borrower.to_str().unwrap()];
    Git::at(&lender).run(clone);
    for yaml in WALLS {
        let daemons = daemon(yaml, &[], &[&borrower]).await;
        let mut client = daemons.daemon.connect().await;
        let refused = verdicts(&mut client, &borrower, &["git log --oneline"]).await;
        assert_eq!(refused[0].1.as_deref(), Some("workdir"));
        client.ok("projects.add", json!({ "path": lender, "name": "lender" })).await;
        let items = run_unharmed(&daemons, &hostile, &borrower, &["git log --oneline", "git show"]).await;
        assert_eq!(items.values().filter_map(fault).collect::<Vec<_>>(), Vec::<String>::new());
        assert!(stdout(&items["git show"]).contains("+two\n"), "{}", items["git show"]);
    }
}

#[tokio::test]
async fn a_directory_in_conflict_that_became_a_link_out_is_not_shown() {
    let repo = TempRepo::new();
    repo.commit_file("conf/secret.txt", "ours at first\n");
    repo.git(["switch", "--quiet", "--create", "side"]);
    repo.commit_file("conf/secret.txt", "theirs\n");
    repo.git(["switch", "--quiet", "main"]);
    repo.commit_file("conf/secret.txt", "ours\n");
    // As a merge leaves it that could not be finished.
    repo.git(["read-tree", "-m", "HEAD~1", "HEAD", "side"]);
    for yaml in WALLS {
        let daemons = daemon(yaml, &[], &[repo.root()]).await;
        let both = ["git diff", "git status"];
        let shown = run(&daemons.daemon, repo.root(), &both).await;
        assert_eq!(shown.iter().filter_map(|(_, item)| fault(item)).collect::<Vec<_>>(), Vec::<String>::new());
        assert!(shown.iter().any(|(_, item)| stdout(item).contains("diff --cc conf/secret.txt")), "{shown:?}");
        let (conf, aside, outside) = (repo.root().join("conf"), repo.beside("aside"), repo.beside("outside"));
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("secret.txt"), CANARY).unwrap();
        fs::rename(&conf, &aside).unwrap();
        symlink("../outside", &conf).unwrap();
        for (line, item) in run(&daemons.daemon, repo.root(), &both).await {
            assert_eq!(item["outcome"], "gate_denied", "{line}: {item}");
            assert!(
                item["denial"]["message"].as_str().unwrap().contains("`conf`, which is a link now"),
                "{line}: {item}"
            );
        }
        fs::remove_file(&conf).unwrap();
        fs::rename(&aside, &conf).unwrap();
    }
}

#[tokio::test]
async fn a_directory_that_looks_like_git_data_hides_no_other_of_its_name() {
    let repo = TempRepo::new();
    repo.commit_file("src/evil.rs", "a backdoor\n");
    for part in ["HEAD", "objects/x", "refs/x"] {
        repo.write(&format!("fixtures/src/{part}"), "");
    }
    let daemons = daemon("", &[], &[repo.root()]).await;
    let mut client = daemons.daemon.connect().await;
    let said = verdicts(&mut client, repo.root(), &["grep -rn backdoor .", "ls -R", "grep -rn backdoor src"]).await;
    let kinds: Vec<Option<&str>> = said.iter().map(|(_, kind)| kind.as_deref()).collect();
    assert_eq!(kinds, [Some("operand"), Some("operand"), None]);
}

#[tokio::test]
async fn what_git_waits_for_in_a_tree_ends_when_somebody_stops_it() {
    let hostile = Hostile::with_history();
    fs::create_dir(hostile.root().join("sub")).unwrap();
    fs::write(hostile.root().join("sub/file"), "").unwrap();
    let fifo = hostile.root().join("sub/.gitignore");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    for yaml in WALLS {
        let daemons = daemon_for(&hostile, yaml).await;
        let mut client = daemons.daemon.connect().await;
        let id = conversation(&mut client, hostile.root().to_str().unwrap()).await;
        ask(&mut client, &id, &["git status"]).await;
        let shown = proposal(&mut client).await;
        allow(&mut client, &shown).await;
        let started = client.event_of("command.started").await;
        held(&started).await;
        client.ok("chat.cancel", json!({ "conversation_id": id })).await;
        let item = command(&mut client).await;
        assert_eq!(item["result"]["ended_by"], "cancel", "{item}");
        client.event_of("turn.finished").await;
        assert!(!Path::new(&format!("/proc/{}", started["pid"])).exists());
    }
}

#[tokio::test]
async fn two_paths_are_never_compared_by_themselves_when_git_takes_the_directory_for_no_repository() {
    let repo = TempRepo::with_commit();
    for path in ["vendor/in/.git/config", "vendor/x.txt"] {
        repo.write(path, CANARY);
    }
    repo.commit_file("src/main.rs", "code\n");
    let git = repo.root().join(".git");
    let lines = ["git diff vendor src", "git diff -- vendor/in src", "git diff vendor -- src", "git diff . src"];
    for yaml in WALLS {
        for broken in ["HEAD", "refs"] {
            let daemons = daemon(yaml, &[], &[repo.root()]).await;
            let aside = repo.beside(broken);
            fs::rename(git.join(broken), &aside).unwrap();
            let mut client = daemons.daemon.connect().await;
            let said = verdicts(&mut client, repo.root(), &lines).await;
            if broken == "HEAD" {
                assert!(said.iter().all(|(_, kind)| kind.as_deref() == Some("workdir")), "{said:?}");
            } else {
                // What runs looks for what it prints itself, and none of it may be planted.
                let lines: Vec<&str> =
                    said.iter().filter(|(_, kind)| kind.is_none()).map(|(line, _)| line.as_str()).collect();
                assert!(lines.len() > 2, "{said:?}");
                for (line, item) in run(&daemons.daemon, repo.root(), &lines).await {
                    assert_eq!(
                        (&item["outcome"], &item["result"]["exit_code"]),
                        (&json!("ran"), &json!(129)),
                        "{line}"
                    );
                    assert_eq!(item["result"]["stdout"]["head"], "", "{line}");
                }
            }
            fs::rename(&aside, git.join(broken)).unwrap();
        }
    }
}
