//! Real git repositories in temporary directories, with fixed authors and dates and no configuration but their own:
//! [`TempRepo`] for one test's small one, [`Fixtures`] for the directories that the gate's examples speak of.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a fixture that cannot be built is a failed test")]

mod fixtures;
mod git;
mod history;
mod hostile;
mod plain;
mod shop;
mod snapshot;

pub use fixtures::{CANARY, Fixtures};
pub use git::Git;
pub use hostile::Hostile;
pub use plain::plain;
pub use shop::{SHOP_LINKS, Shop};
pub use snapshot::Snapshot;

use std::{
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// A small git repository on the branch `main`, in a directory of its own. What lies beside it is its own, too.
#[derive(Debug)]
pub struct TempRepo {
    parent: TempDir,
    root: PathBuf,
    git: Git,
}

impl TempRepo {
    /// Makes an empty one, without a commit.
    pub fn new() -> Self {
        let parent = TempDir::new().unwrap();
        let root = parent.path().canonicalize().unwrap().join("repo");
        fs::create_dir(&root).unwrap();
        let git = Git::at(&root);
        git.init();
        Self { parent, root, git }
    }

    /// Makes one with a first commit of a `README.md`.
    pub fn with_commit() -> Self {
        let repo = Self::new();
        repo.commit_file("README.md", "a small repository\n");
        repo
    }

    /// Returns its resolved root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a path beside its root, for worktrees and for what must not be read.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.parent.path().canonicalize().unwrap().join(name)
    }

    /// Runs git there and returns what it printed, without the last newline.
    pub fn git<S: AsRef<std::ffi::OsStr>>(&self, words: impl IntoIterator<Item = S>) -> String {
        self.git.run(words)
    }

    /// Writes a file, with the directories that lead to it.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        write(&self.root.join(path), content);
    }

    /// Writes a file and commits it alone; returns the commit.
    pub fn commit_file(&self, path: &str, content: impl AsRef<[u8]>) -> String {
        self.write(path, content);
        self.git(["add", "--", path]);
        self.git(["commit", "--quiet", "--message", &format!("write {path}"), "--", path]);
        self.git(["rev-parse", "HEAD"])
    }
}

impl Default for TempRepo {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the names of the marks below a directory: of the planted programs that anything ran.
fn marks(parent: &Path) -> Vec<String> {
    let entries = fs::read_dir(parent.join("marks")).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

/// Writes a file, with the directories that lead to it.
fn write(path: &Path, content: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
