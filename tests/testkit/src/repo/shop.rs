//! The tree that the lists of `tests/gate` are written for, on disk: the gate's own tests keep it in memory, and the same
//! lines must get the same verdicts here. Its repository and its worktree are those of `normal`.

use super::{CANARY, history, write};
use nix::{sys::stat::Mode, unistd::mkfifo};
use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// The directory `shop`, and `other`, which is no Project, beside it.
#[derive(Debug)]
pub struct Shop {
    _parent: TempDir,
    parent: PathBuf,
    // Listens for as long as the shop lives.
    _socket: UnixListener,
}

impl Shop {
    /// Builds it.
    pub fn build() -> Self {
        let made = TempDir::new().unwrap();
        let parent = made.path().canonicalize().unwrap();
        let root = parent.join("shop");
        for directory in [&root, &parent.join("marks")] {
            fs::create_dir(directory).unwrap();
        }
        history::build(&root, &parent.join("worktree"), &parent.join("marks"));
        secrets(&parent);
        files(&root);
        git_data(&root);
        links(&root, &parent.join("other/secret.txt"));
        mkfifo(&root.join("pipe"), Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        mkfifo(&root.join("tests/pipe2"), Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        let socket = UnixListener::bind(root.join("sock")).unwrap();
        Self { _parent: made, parent, _socket: socket }
    }

    /// Returns its resolved root.
    pub fn root(&self) -> PathBuf {
        self.parent.join("shop")
    }

    /// Returns the directory it lies in.
    pub fn parent(&self) -> &Path {
        &self.parent
    }

    /// Returns the names of the planted scripts that anything ran.
    pub fn marks(&self) -> Vec<String> {
        super::marks(&self.parent)
    }
}

fn secrets(parent: &Path) {
    for path in ["other/secret.txt", "other/dir/secret.txt", "README.out.md"] {
        write(&parent.join(path), format!("secret {CANARY}\n"));
    }
}

fn files(root: &Path) {
    for (path, content) in [
        ("src/login.rs", "pub fn login() {}\n"),
        ("docs/guide.md", "# Guide\n"),
        (".gitmodules", "[submodule \"none\"]\n\tpath = none\n\turl = https://example.invalid/none.git\n"),
        (".github/CODEOWNERS", "* @jane\n"),
        (".gitlab/ci.yml", "stages: [test]\n"),
        ("app/[slug]/page.tsx", "export default () => null\n"),
        ("weird (1).txt", "an odd name\n"),
        ("a.b", "an odd name\n"),
        ("docs.git/readme.txt", "an ordinary directory\n"),
        ("..notparent", "an odd name\n"),
        ("...", "an odd name\n"),
        ("..dir/file", "an odd name\n"),
        ("~", "an odd name\n"),
        ("$HOME", "an odd name\n"),
        ("star*name.txt", "an odd name\n"),
        ("a;b.txt", "an odd name\n"),
        ("-n", "a file named like an option\n"),
        ("-rf", "a file named like an option\n"),
        ("--help", "a file named like an option\n"),
        ("empty.txt", ""),
        ("line\nfeed.txt", "a newline in its name\n"),
    ] {
        write(&root.join(path), content);
    }
    let lines: String = (0..20_000).map(|line| format!("line {line:06} of the big file\n")).collect();
    write(&root.join("big.txt"), lines);
}

/// Where the secret beside the shop is in the gate's own tests, whose tree is no disk.
const SECRET: &str = "/home/u/other/secret.txt";

/// The links of the shop, each with where it says that it leads: the same on disk and in the gate's own tests.
pub const SHOP_LINKS: [(&str, &str); 20] = [
    ("link-out", "../other/secret.txt"),
    ("link-dir-out", "../other"),
    ("link-abs-out", SECRET),
    ("chain1", "chain2"),
    ("chain2", "chain3"),
    ("chain3", "../other/secret.txt"),
    ("up", ".."),
    ("sub/out", "../../other/dir"),
    ("dangling", "../other/not-there"),
    ("dangling-in", "src/gone.rs"),
    ("loop-a", "loop-b"),
    ("loop-b", "loop-a"),
    ("dotgit", ".git"),
    ("settings.ini", ".git/config"),
    ("environ", "/proc/self/environ"),
    ("zero", "/dev/zero"),
    ("link-in", "src"),
    ("link-readme", "README.md"),
    ("src/readme-up", "../README.md"),
    ("roundabout", "../shop/README.md"),
];

/// Repositories in the tree, whole or not: what is below any name of `.git`, and what looks like a bare one.
fn git_data(root: &Path) {
    let credential = format!("[remote \"origin\"]\n\turl = https://jane:{CANARY}@example.invalid\n");
    for path in ["vendor/inner/README.md", "scratch/README.md"] {
        write(&root.join(path), "a repository inside another\n");
    }
    for path in ["vendor/inner/.git/config", "casing/git~1/config", "casing/.git./config"] {
        write(&root.join(path), &credential);
    }
    write(&root.join("scratch/.git"), format!("gitdir: ../nowhere/{CANARY}\n"));
    for bare in ["mirror.git", "gitdata"] {
        write(&root.join(bare).join("HEAD"), "ref: refs/heads/main\n");
        write(&root.join(bare).join("config"), &credential);
        write(&root.join(bare).join("objects/x"), CANARY);
        write(&root.join(bare).join("refs/x"), CANARY);
    }
}

fn links(root: &Path, secret: &Path) {
    fs::create_dir(root.join("sub")).unwrap();
    let absolute = secret.to_str().unwrap();
    for (name, target) in SHOP_LINKS {
        let target = if target == SECRET { absolute } else { target };
        symlink(target, root.join(name)).unwrap();
    }
}
