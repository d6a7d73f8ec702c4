//! git, as the fixtures run it: nothing of the host's configuration, and the same commits on every host.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
};

/// The moment of the first commit that a [`Git`] makes; each further call comes an hour later.
const FIRST: u32 = 1_750_000_000;
const HOUR: u32 = 3_600;

/// git in one directory.
#[derive(Debug)]
pub struct Git {
    directory: PathBuf,
    author: (&'static str, &'static str),
    calls: AtomicU32,
}

impl Git {
    /// Returns git in a directory, with Jane Doe as author and committer.
    pub fn at(directory: &Path) -> Self {
        Self { directory: directory.into(), author: ("Jane Doe", "jane@example.com"), calls: AtomicU32::new(0) }
    }

    /// Makes a repository on the branch `main` there, with nothing but what git itself needs.
    pub fn init(&self) {
        self.run(["init", "--quiet", "--initial-branch=main", "--template="]);
        std::fs::create_dir_all(self.directory.join(".git/info")).unwrap();
        std::fs::write(self.directory.join(".git/info/exclude"), "# local patterns\n").unwrap();
    }

    /// Runs one command as Bob Lee.
    pub fn as_bob<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> String {
        self.call(("Bob Lee", "bob@example.com"), words)
    }

    /// Runs one command and returns what it printed, without the last newline.
    pub fn run<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> String {
        self.call(self.author, words)
    }

    fn call<S: AsRef<OsStr>>(&self, author: (&str, &str), words: impl IntoIterator<Item = S>) -> String {
        let date = format!("{} +0000", FIRST + HOUR * self.calls.fetch_add(1, Ordering::Relaxed));
        let mut command = Command::new("git");
        command.args(["-c", "commit.gpgSign=false", "-c", "advice.addEmbeddedRepo=false", "-c", "core.fsync=none"]);
        command.args(words).current_dir(&self.directory).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into()));
        command.envs([
            ("HOME", "/nonexistent"),
            ("XDG_CONFIG_HOME", "/nonexistent"),
            ("LC_ALL", "C.UTF-8"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_SYSTEM", "/dev/null"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_EDITOR", ":"),
            ("GIT_AUTHOR_NAME", author.0),
            ("GIT_AUTHOR_EMAIL", author.1),
            ("GIT_AUTHOR_DATE", date.as_str()),
            ("GIT_COMMITTER_NAME", author.0),
            ("GIT_COMMITTER_EMAIL", author.1),
            ("GIT_COMMITTER_DATE", date.as_str()),
        ]);
        let output = command.output().unwrap_or_else(|error| panic!("git could not be started: {error}"));
        if !output.status.success() {
            panic!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        let mut printed = String::from_utf8_lossy(&output.stdout).into_owned();
        if printed.ends_with('\n') {
            printed.pop();
        }
        printed
    }
}
