#![expect(clippy::disallowed_types, reason = "a lock is between processes")]

use super::*;
use std::{
    io::{BufRead as _, BufReader, Read as _},
    os::unix::fs::{PermissionsExt as _, symlink},
    process::{Child, ChildStdout, Command, Stdio},
};
use tempfile::TempDir;

/// A process that takes the lock, this very test binary: it says what came of it and ends when its input does.
struct Other {
    process: Child,
    says: BufReader<ChildStdout>,
}

impl Other {
    fn start(path: &Path) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "lock::tests::another_process", "--nocapture"])
            .env("OWL_LOCK", path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let says = BufReader::new(process.stdout.take().unwrap());
        Self { process, says }
    }

    fn said(&mut self) -> String {
        let lines = self.says.by_ref().lines().map(Result::unwrap);
        lines.filter_map(|line| line.split_once("lock: ").map(|(_, said)| said.to_owned())).next().unwrap()
    }

    fn end(mut self) {
        drop(self.process.stdin.take());
        self.process.wait().unwrap();
    }
}

/// Not a test of its own unless it was started as the other process.
#[test]
fn another_process() {
    let Some(path) = std::env::var_os("OWL_LOCK") else { return };
    let taken = DataLock::take(Path::new(&path));
    match &taken {
        Ok(_) => println!("lock: taken"),
        Err(error) => println!("lock: {error}"),
    }
    io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn a_second_one_is_refused_and_told_who_holds_it() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("lock");
    let lock = DataLock::take(&path).unwrap();
    let mut second = Other::start(&path);
    let own = std::process::id();
    assert_eq!(second.said(), format!("{} is held by another daemon, process {own}", path.display()));
    second.end();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    drop(lock);
    let mut third = Other::start(&path);
    assert_eq!(third.said(), "taken");
    let Err(LockError::Held { path: named, pid }) = DataLock::take(&path) else { panic!("two hold it") };
    assert_eq!((named, pid), (path.clone(), Some(third.process.id())));
    third.end();
    DataLock::take(&path).unwrap();
}

#[test]
fn of_many_that_start_in_the_same_moment_exactly_one_wins() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("lock");
    let mut all: Vec<_> = (0..16).map(|_| Other::start(&path)).collect();
    let said: Vec<_> = all.iter_mut().map(Other::said).collect();
    assert_eq!(said.iter().filter(|said| *said == "taken").count(), 1, "{said:?}");
    assert!(said.iter().all(|said| said == "taken" || said.contains("is held by another daemon")), "{said:?}");
    all.into_iter().for_each(Other::end);
}

#[test]
fn a_killed_daemon_s_child_does_not_hold_it() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("lock");
    let lock = DataLock::take(&path).unwrap();
    // What a child is left with that was made and did not come to close anything yet: the descriptor of its parent.
    let inherited = lock._file.try_clone().unwrap();
    nix::fcntl::fcntl(&inherited, FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty())).unwrap();
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    drop((lock, inherited));
    let mut next = Other::start(&path);
    assert_eq!(next.said(), "taken");
    next.end();
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_file_left_by_a_dead_daemon_is_no_lock() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("lock");
    std::fs::write(&path, "4194303 and much more that was there before\n").unwrap();
    let _lock = DataLock::take(&path).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", std::process::id()));
}

#[test]
fn a_lock_file_that_was_replaced_is_not_taken_for_the_one_that_is_held() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("lock");
    let held = create_file(&path).unwrap();
    assert!(stands_at(&held, &path).unwrap());
    std::fs::rename(&path, directory.path().join("aside")).unwrap();
    assert!(!stands_at(&held, &path).unwrap());
    create_file(&path).unwrap();
    assert!(!stands_at(&held, &path).unwrap());
}

#[test]
fn a_link_or_a_directory_in_its_place_is_refused() {
    let directory = TempDir::new().unwrap();
    let target = directory.path().join("elsewhere");
    std::fs::write(&target, "kept").unwrap();
    let path = directory.path().join("lock");
    symlink(&target, &path).unwrap();
    assert!(matches!(DataLock::take(&path), Err(LockError::File(PrivateError::NotThat { .. }))));
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "kept");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert!(matches!(DataLock::take(&path), Err(LockError::File(PrivateError::NotThat { .. }))));
}
