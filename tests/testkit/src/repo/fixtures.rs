//! The directories that the gate's examples speak of, side by side under one parent, with secrets beside them.

use super::{Git, history, write};
#[cfg(target_os = "linux")]
use nix::sys::stat::{SFlag, makedev, mknod};
use nix::{sys::stat::Mode, unistd::mkfifo};
use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::symlink, net::UnixListener},
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// What every planted secret holds, and no output may.
pub const CANARY: &str = "CANARY";

/// Directories whose names another file system would take for `.git`.
const ALIKE: [&str; 10] = [
    ".GIT",
    ".Git",
    ".gIt",
    "git~1",
    ".git.",
    ".git ",
    ".git::$INDEX_ALLOCATION",
    ".g\u{200c}it",
    ".git\u{feff}",
    ".git\u{200b}",
];

/// The directories `normal`, `worktree`, `links`, `special`, `casing` and `nested`, and `outside`, which is no Project.
#[derive(Debug)]
pub struct Fixtures {
    _parent: TempDir,
    parent: PathBuf,
    // Listens for as long as the fixtures live.
    _socket: UnixListener,
}

impl Fixtures {
    /// The names of the Projects; `worktree` is a linked worktree of the first.
    pub const PROJECTS: [&str; 5] = ["normal", "links", "special", "casing", "nested"];

    /// Builds all of them.
    pub fn build() -> Self {
        let made = TempDir::new().unwrap();
        let parent = made.path().canonicalize().unwrap();
        for name in Self::PROJECTS.iter().chain(&["outside", "marks"]) {
            fs::create_dir(parent.join(name)).unwrap();
        }
        outside(&parent);
        history::build(&parent.join("normal"), &parent.join("worktree"), &parent.join("marks"));
        links(&parent.join("links"));
        let socket = special(&parent.join("special"));
        casing(&parent.join("casing"));
        nested(&parent.join("nested"));
        Self { _parent: made, parent, _socket: socket }
    }

    /// Returns the resolved directory of that name.
    pub fn dir(&self, name: &str) -> PathBuf {
        let directory = self.parent.join(name);
        assert!(directory.is_dir(), "there is no fixture `{name}`");
        directory
    }

    /// Returns the common parent.
    pub fn parent(&self) -> &Path {
        &self.parent
    }

    /// Returns the names of the planted scripts that anything ran.
    pub fn marks(&self) -> Vec<String> {
        super::marks(&self.parent)
    }
}

/// Gives a repository a remote whose address holds a credential.
pub(super) fn add_remote(git: &Git, name: &str) {
    let url = format!("https://jane:token-{CANARY}-{name}@example.invalid/{name}.git");
    git.run(["config", "remote.origin.url", &url]);
    git.run(["config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"]);
}

fn repository(root: &Path, name: &str) -> Git {
    fs::create_dir_all(root).unwrap();
    let git = Git::at(root);
    git.init();
    add_remote(&git, name);
    git
}

fn commit_all(git: &Git, message: &str) {
    git.run(["add", "--all", "--", "."]);
    git.run(["commit", "--quiet", "--message", message]);
}

fn outside(parent: &Path) {
    write(&parent.join("README.outside.md"), format!("outside all of them {CANARY}\n"));
    let outside = parent.join("outside");
    write(&outside.join("secret.txt"), format!("secret {CANARY} one\nsecret {CANARY} two\n"));
    write(&outside.join("README.md"), format!("outside {CANARY}\n"));
    write(&outside.join("dir/secret.txt"), format!("deeper {CANARY}\n"));
    write(&outside.join("patterns"), format!("{CANARY}\n"));
    let list = [outside.join("secret.txt").as_os_str().as_bytes(), b"\0"].concat();
    write(&outside.join("list0"), list);
    let private = outside.join("private");
    let git = repository(&private, "private");
    write(&private.join("private.txt"), format!("private {CANARY}\n"));
    commit_all(&git, &format!("private {CANARY}"));
}

fn links(root: &Path) {
    let git = repository(root, "links");
    write(&root.join("README.md"), "inside\n");
    write(&root.join("src/main.rs"), "fn main() {} // inside\n");
    write(&root.join("sub/deep/file.txt"), "inside, deeper\n");
    let secret = root.with_file_name("outside").join("secret.txt");
    for (name, target) in [
        ("link-file-out", "../outside/secret.txt"),
        ("link-dir-out", "../outside"),
        ("link-abs-out", secret.to_str().unwrap()),
        ("chain1", "chain2"),
        ("chain2", "chain3"),
        ("chain3", "../outside/secret.txt"),
        ("up", ".."),
        ("sub/out", "../../outside/dir"),
        ("dangling", "../outside/not-there"),
        ("loop-a", "loop-b"),
        ("loop-b", "loop-a"),
        ("dotgit", ".git"),
        ("settings.ini", ".git/config"),
        ("gchain1", "gchain2"),
        ("gchain2", "dotgit/config"),
        ("environ", "/proc/self/environ"),
        ("zero", "/dev/zero"),
        ("link-in", "src"),
        ("link-readme", "README.md"),
        ("src/readme-up", "../README.md"),
        ("deeplink", "sub/deep"),
        ("roundabout", "../links/README.md"),
    ] {
        symlink(target, root.join(name)).unwrap();
    }
    commit_all(&git, "links of every kind");
}

fn special(root: &Path) -> UnixListener {
    let git = repository(root, "special");
    for name in ["-rf", "-n", "-x", "--help", "--output=pwned.txt"] {
        write(&root.join(name), "a file named like an option\n");
    }
    for name in ["..notparent", "...", "..dir/file", "~", "~root", "$HOME", "star*name.txt", "a;b.txt", "gitignore.txt"]
    {
        write(&root.join(name), "an odd name\n");
    }
    write(&root.join("two\nlines.txt"), "a newline in its name\n");
    write(&root.join("weird/red\u{1b}[31m.txt"), "an escape sequence in its name\n");
    // A file system that takes UTF-8 alone has no such names.
    let odd = fs::write(root.join(OsStr::from_bytes(b"latin-\xfc.txt")), "a name that is not UTF-8\n");
    assert!(odd.is_ok() || !cfg!(target_os = "linux"), "{odd:?}");
    for (path, content) in [
        (".gitignore", "*.tmp\n"),
        (".gitattributes", "*.bin binary\n"),
        (".gitmodules", "[submodule \"none\"]\n\tpath = none\n\turl = https://example.invalid/none.git\n"),
        (".github/CODEOWNERS", "* @jane\n"),
        (".gitlab/ci.yml", "stages: [test]\n"),
        ("docs.git/readme.txt", "an ordinary directory\n"),
        ("README.md", "plain\n"),
        ("src/main.rs", "fn main() {}\n"),
        ("empty.txt", ""),
    ] {
        write(&root.join(path), content);
    }
    write(&root.join("blob.bin"), b"\0\x01\x02\0binary\0\xff\xfe");
    let lines: String =
        (0..160_000).map(|line| format!("line {line:06} of the big file, which has many of them\n")).collect();
    write(&root.join("big.txt"), lines);
    write(&root.join("oneline.txt"), "x".repeat(3_000_000));
    commit_all(&git, "odd names, kinds and sizes");
    mkfifo(&root.join("pipe"), Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    mkfifo(&root.join("src/pipe2"), Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    // Only a privileged user may make a device.
    #[cfg(target_os = "linux")]
    mknod(&root.join("zero.dev"), SFlag::S_IFCHR, Mode::S_IRUSR, makedev(1, 5)).unwrap_or_default();
    UnixListener::bind(root.join("sock")).unwrap()
}

fn casing(root: &Path) {
    let git = repository(root, "casing");
    write(&root.join("README.md"), "cases\n");
    commit_all(&git, "a readme");
    for name in ALIKE {
        let alike = root.join(name);
        // On a file system that takes it for `.git` itself there is nothing to add.
        if fs::create_dir(&alike).is_ok() {
            write(
                &alike.join("config"),
                format!("[remote \"origin\"]\n\turl = https://jane:{CANARY}@example.invalid\n"),
            );
        }
    }
}

fn nested(root: &Path) {
    let git = repository(root, "nested");
    write(&root.join("README.md"), "the outer one\n");
    write(&root.join("src/lib.rs"), "//! The outer one.\n");
    commit_all(&git, "the outer one");
    for name in ["vendor/inner", "scratch"] {
        let inner = root.join(name);
        let git = repository(&inner, name);
        write(&inner.join("README.md"), format!("the repository {name}\n"));
        commit_all(&git, &format!("the repository {name}"));
    }
    git.run(["add", "--", "vendor/inner"]);
    git.run(["commit", "--quiet", "--message", "record the inner one"]);
    let mirror = root.join("mirror.git");
    git.run(["clone", "--quiet", "--bare", "--template=", "scratch", mirror.to_str().unwrap()]);
    let mirror = Git::at(&mirror);
    mirror.run(["remote", "remove", "origin"]);
    add_remote(&mirror, "mirror");
}

#[cfg(test)]
mod tests;
