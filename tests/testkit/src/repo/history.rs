//! The history of `normal`, the repository that a person works in, and its linked worktree.

use super::{Git, write};
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

const README: &str = "# Example\n\nA small program that greets.\nTODO say how to install it\nSee docs/guide.md.\n";
const CARGO_TOML: &str =
    "[package]\nname = \"example\"\nversion = \"0.3.1\"\nedition = \"2024\"\n\n[dependencies]\nserde = \"1\"\n";
const CARGO_LOCK: &str = "version = 4\n\n[[package]]\nname = \"example\"\nversion = \"0.3.1\"\n";
const MAIN: &str = "use example::util::{add, greet};\n\nfn main() {\n    // TODO read the name from the arguments\n    \
    println!(\"{} {}\", greet(\"owl\"), add(1, 2));\n}\n";
const LIB: &str = "pub mod util;\n\n/// How the program behaves.\npub struct Config {\n    pub retries: u32,\n}\n\n\
    impl Default for Config {\n    fn default() -> Self {\n        Self { retries: 3 }\n    }\n}\n";
const UTIL: &str = "/// Adds.\npub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n// a.b(c) && d || e\n\
    pub fn greet(who: &str) -> String {\n    format!(\"hello, {who}\")\n}\n";
const GUIDE: &str =
    "# Guide\n\nStart it with `cargo run`.\nIt costs $5 & a minute; see <https://example.invalid> for more.\n";
const CI: &str =
    "name: ci\non: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: cargo test\n";

/// Builds the repository at an existing directory, scripts that leave a mark in `marks` among its untracked files.
pub(super) fn build(root: &Path, worktree: &Path, marks: &Path) {
    let git = Git::at(root);
    git.init();
    super::fixtures::add_remote(&git, "normal");
    first_commit(root, &git);

    write(
        &root.join("README.md"),
        README.replace("TODO say how to install it", "TODO install it with `cargo install`"),
    );
    commit(&git, "docs: say how to install (#12)");
    write(&root.join("src/lib.rs"), LIB.replace("retries: 3", "retries: 5"));
    git.run(["add", "--all"]);
    git.as_bob(["commit", "--quiet", "--message", "fix: retry five times, not three"]);
    git.run(["tag", "v0.9"]);

    git.run(["checkout", "--quiet", "-b", "feature/login"]);
    write(&root.join("src/login.rs"), "pub fn login(user: &str) -> bool {\n    !user.is_empty()\n}\n");
    commit(&git, "feat: a login that lets everybody in");
    git.run(["checkout", "--quiet", "-b", "feature/x"]);
    write(&root.join("src/x.rs"), "pub const X: u32 = 1;\n");
    commit(&git, "feat: x");

    git.run(["checkout", "--quiet", "main"]);
    write(&root.join("docs/guide.md"), format!("{GUIDE}\nStop it with Ctrl-C.\n"));
    commit(&git, "docs: extend the guide");
    git.run(["branch", "bugfix/issue-42"]);
    git.run(["merge", "--quiet", "--no-ff", "--message", "Merge branch 'feature/login'", "feature/login"]);
    git.run(["tag", "--annotate", "--message", "the first release", "v1.0"]);
    git.run(["branch", "release/1.0"]);
    git.run(["update-ref", "refs/remotes/origin/main", "main"]);
    git.run(["update-ref", "refs/remotes/origin/feature/x", "feature/x"]);
    git.run(["mv", "docs/guide.md", "docs/handbook.md"]);
    git.run(["commit", "--quiet", "--message", "docs: the guide is a handbook"]);
    git.run(["config", "branch.main.remote", "origin"]);
    git.run(["config", "branch.main.merge", "refs/heads/main"]);

    git.run(["worktree", "add", "--quiet", worktree.to_str().unwrap(), "release/1.0"]);
    write(&worktree.join("README.md"), format!("{README}Changed in the worktree.\n"));
    leave_work(root, &git, marks);
}

fn first_commit(root: &Path, git: &Git) {
    let changelog: String = (1..=300).map(|line| format!("line {line} of the changelog\n")).collect();
    for (path, content) in [
        ("README.md", README),
        ("Cargo.toml", CARGO_TOML),
        ("Cargo.lock", CARGO_LOCK),
        ("CHANGELOG.md", changelog.as_str()),
        ("src/main.rs", MAIN),
        ("src/lib.rs", LIB),
        ("src/util/mod.rs", UTIL),
        ("docs/guide.md", GUIDE),
        ("docs/design notes.md", "# Design notes\n\nKeep it small.\n"),
        ("docs/ünïcode-名前.md", "# Names\n\nöffentlich\n"),
        ("docs/it's.md", "# It's\n\nan apostrophe\n"),
        ("docs/[draft].md", "# Draft\n\nnot done\n"),
        (
            "tests/it.rs",
            "#[test]\nfn it_greets() {\n    assert_eq!(example::util::greet(\"owl\"), \"hello, owl\");\n}\n",
        ),
        ("examples/demo/main.rs", "fn main() {\n    println!(\"a demo\");\n}\n"),
        (".gitignore", "target/\n*.log\n"),
        (".gitattributes", "*.md text\n"),
        (".github/workflows/ci.yml", CI),
    ] {
        write(&root.join(path), content);
    }
    commit(git, "start");
}

fn commit(git: &Git, message: &str) {
    git.run(["add", "--all"]);
    git.run(["commit", "--quiet", "--message", message]);
}

/// What lies in the work tree and in no commit.
fn leave_work(root: &Path, git: &Git, marks: &Path) {
    let lib = fs::read_to_string(root.join("src/lib.rs")).unwrap();
    write(&root.join("src/lib.rs"), lib.replace("pub retries: u32,", "pub retries: u32,\n    pub verbose: bool,"));
    git.run(["add", "src/lib.rs"]);
    write(&root.join("src/main.rs"), MAIN.replace("add(1, 2)", "add(1, 3)"));
    write(&root.join("notes-untracked.txt"), "remember the milk\n");
    write(&root.join("target/out.log"), "built\n");
    for name in ["git", "cat", "ls"] {
        let script = root.join(name);
        write(&script, format!("#!/bin/sh\n: > '{}/{name}'\n", marks.display()));
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    }
}
