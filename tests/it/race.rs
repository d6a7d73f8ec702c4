//! An operand is swapped for a link to a secret, thousands of times a second, while commands that were allowed to read
//! it run: what the path check opened is all that the kernel lets them open. Under
//! the gate alone such a swap is followed, between the last look and the program's open: `SECURITY.md` says so.
#![cfg(target_os = "linux")]

use crate::{
    lines::{daemon, has_the_wall, run},
    support::{allow, ask, command, conversation, proposal},
};
use owl_testkit::repo::{CANARY, TempRepo};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
};

/// Swaps a name between a file and a link that leads out, as fast as it can.
struct Swapper {
    ends: Arc<AtomicBool>,
    swaps: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Swapper {
    /// Begins to swap `name`, a file or directory, for a link to `target`, which it makes at `link`, and back.
    fn start(name: PathBuf, link: PathBuf, target: PathBuf) -> Self {
        let (ends, swaps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (its_end, its_swaps) = (Arc::clone(&ends), Arc::clone(&swaps));
        symlink(target, &link).unwrap();
        let thread = std::thread::spawn(move || {
            use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
            // An exchange leaves no moment in which neither is there.
            while !its_end.load(Ordering::Relaxed) {
                renameat2(AT_FDCWD, &link, AT_FDCWD, &name, RenameFlags::RENAME_EXCHANGE).unwrap();
                its_swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self { ends, swaps, thread: Some(thread) }
    }

    fn swaps(&self) -> u64 {
        self.swaps.load(Ordering::Relaxed)
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Lines that read what is swapped: a file by each program, a directory as a tree, a tracked file by git.
fn lines() -> Vec<String> {
    let each = |n: usize| {
        [
            format!("head -n {n} swapped.txt"),
            format!("tail -n {n} swapped.txt"),
            format!("grep -n -m {n} '' swapped.txt"),
            format!("cat -{}n swapped.txt", "s".repeat(n)),
            format!("wc -{} swapped.txt", "l".repeat(n)),
            format!("grep -rn -m {n} '' swapped"),
            format!("head -n {n} swapped/inner.txt"),
            format!("ls -{} swapped", "1".repeat(n)),
            format!("git diff -U{n} -- swapped.txt"),
            format!("git status -s -M{n}% -uall"),
        ]
    };
    (1..=16).flat_map(each).collect()
}

#[tokio::test]
async fn an_operand_that_is_swapped_while_commands_run_is_never_followed_out() {
    let repo = TempRepo::new();
    let outside = repo.beside("outside");
    for (path, content) in [("swapped.txt", "mine\n"), ("swapped/inner.txt", "mine\n")] {
        repo.commit_file(path, content);
    }
    repo.write("swapped.txt", "mine, and changed\n");
    fs::create_dir(&outside).unwrap();
    for name in ["secret.txt", "inner.txt", CANARY] {
        fs::write(outside.join(name), format!("{CANARY}\n").repeat(3)).unwrap();
    }
    let daemons = daemon("", &[], &[repo.root()]).await;
    let mut client = daemons.daemon.connect().await;
    if !has_the_wall(&mut client).await {
        return;
    }
    let file = Swapper::start(repo.root().join("swapped.txt"), repo.beside("file"), outside.join("secret.txt"));
    let directory = Swapper::start(repo.root().join("swapped"), repo.beside("directory"), outside.clone());
    let lines = lines();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    // That nothing of the secret was told, `run` sees to.
    let items = run(&daemons.daemon, repo.root(), &lines).await;
    assert!(file.swaps() > 10_000 && directory.swaps() > 10_000, "{} {}", file.swaps(), directory.swaps());
    assert_eq!(items.len(), lines.len());
    let ran = items.iter().filter(|(_, item)| item["outcome"] == "ran").count();
    assert!(ran > 0, "no command came so far that it could have been deceived");
    for (line, item) in items.iter().filter(|(line, item)| line.starts_with("wc") && item["outcome"] == "ran") {
        let counted = item["result"]["stdout"]["head"].as_str().unwrap();
        assert!(counted.is_empty() || counted.starts_with("1 "), "{line} counted the secret: {counted}");
    }
}

/// Something that is done to a workdir between a Proposal and its answer.
type Change = fn(&TempRepo);

/// What is shown, what changes then, and the kind of the second pass's Denial.
const CHANGES: [(&str, Change, &str); 8] = [
    (
        "cat mine.txt",
        |repo| instead(repo, "mine.txt", |path| symlink("../outside/secret.txt", path).unwrap()),
        "path_outside",
    ),
    ("cat mine.txt", |repo| instead(repo, "mine.txt", |path| symlink(".git/config", path).unwrap()), "path_git"),
    ("cat mine.txt", |repo| instead(repo, "mine.txt", make_fifo), "path_special"),
    ("git log side", |repo| repo.write("side", "now it is a path"), "changed"),
    ("grep -rn mine .", |repo| repo.write("bare/HEAD", "x"), "changed"),
    ("git status", |repo| instead(repo, ".git", |path| symlink("../outside/.git", path).unwrap()), "workdir"),
    ("ls", |repo| instead(repo, "", |path| symlink("outside", path).unwrap()), "workdir"),
    ("ls", |repo| instead(repo, "", |_| ()), "workdir"),
];

fn make_fifo(path: &Path) {
    nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
}

/// Puts something else where a name stands.
fn instead(repo: &TempRepo, name: &str, make: fn(&Path)) {
    let path = if name.is_empty() { repo.root().to_path_buf() } else { repo.root().join(name) };
    fs::rename(&path, repo.beside("as-it-was")).unwrap();
    make(&path);
}

#[tokio::test]
async fn what_became_something_else_since_it_was_shown_is_not_run() {
    for (line, change, kind) in CHANGES {
        let repo = TempRepo::new();
        repo.commit_file("mine.txt", "mine\n");
        repo.git(["branch", "side"]);
        // With a head it is a bare repository, which a search leaves out.
        repo.write("bare/objects/x", "mine\n");
        repo.write("bare/refs/x", "mine\n");
        fs::create_dir(repo.beside("outside")).unwrap();
        fs::write(repo.beside("outside").join("secret.txt"), CANARY).unwrap();
        let daemons = daemon("sandbox: off\n", &[], &[repo.root()]).await;
        let mut client = daemons.daemon.connect().await;
        let id = conversation(&mut client, repo.root().to_str().unwrap()).await;
        ask(&mut client, &id, &[line]).await;
        let shown = proposal(&mut client).await;
        change(&repo);
        allow(&mut client, &shown).await;
        let item = command(&mut client).await;
        assert_eq!((&item["outcome"], &item["result"]), (&json!("gate_denied"), &Value::Null), "{line}: {item}");
        assert_eq!(item["denial"]["kind"], kind, "{line}: {item}");
    }
}
