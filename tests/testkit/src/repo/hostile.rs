//! Repositories that were made to be looked at by an unsuspecting git: their own configuration, hooks, attributes and
//! objects name a program or a file outside for every occasion. Each program leaves a mark, each such file a canary.

mod traps;

use super::{CANARY, Git, write};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// A repository `repo` full of traps, the traps, the marks they leave, and `outside`, which may not be read.
#[derive(Debug)]
pub struct Hostile {
    _parent: TempDir,
    parent: PathBuf,
}

impl Hostile {
    /// Makes one whose configuration, hooks and attributes name a trap for whatever git may do with it.
    pub fn armed() -> Self {
        let made = Self::with_history();
        traps::arm(&made.git(), &made.root().join(".git"), &made.parent);
        made.leave_work();
        made
    }

    /// Makes one with a submodule at `lib`, of which alone the configuration names traps, with work left in it.
    pub fn with_armed_submodule() -> Self {
        let made = Self::with_history();
        let source = made.parent.join("library");
        fs::create_dir(&source).unwrap();
        let library = Git::at(&source);
        library.init();
        for content in ["one\n", "two\n"] {
            write(&source.join("lib.md"), content);
            library.run(["add", "--all"]);
            library.run(["commit", "--quiet", "--message", "a library"]);
        }
        let git = made.git();
        let source = source.to_str().unwrap();
        git.run(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "--name", "lib", source, "lib"]);
        git.run(["commit", "--quiet", "--message", "add the library"]);
        let checked_out = made.root().join("lib");
        traps::arm(&Git::at(&checked_out), &made.root().join(".git/modules/lib"), &made.parent);
        write(&checked_out.join("lib.md"), "changed\n");
        write(&checked_out.join("new.md"), "untracked\n");
        made
    }

    /// Makes a partial clone that lacks what `old.md` once was; to fetch it would start a trap.
    pub fn partial() -> Self {
        let made = Self::with_history();
        let git = made.git();
        let blob = git.run(["rev-parse", "HEAD~1:old.md"]);
        let (directory, name) = blob.split_at(2);
        fs::remove_file(made.root().join(".git/objects").join(directory).join(name)).unwrap();
        for (key, value) in [
            ("core.repositoryFormatVersion", "1"),
            ("extensions.partialClone", "origin"),
            ("remote.origin.promisor", "true"),
            ("remote.origin.partialCloneFilter", "blob:none"),
            ("protocol.ext.allow", "always"),
        ] {
            git.run(["config", key, value]);
        }
        let trap = traps::trap(&made.parent, "fetch", "");
        git.run(["config", "remote.origin.url", &format!("ext::{trap} {CANARY}")]);
        made
    }

    /// Makes one that is harmless so far: two branches merged by hand, a file that changes, one that goes.
    pub fn with_history() -> Self {
        let made = TempDir::new().unwrap();
        let parent = made.path().canonicalize().unwrap();
        for name in ["repo", "marks", "traps", "outside"] {
            fs::create_dir(parent.join(name)).unwrap();
        }
        let made = Self { _parent: made, parent };
        made.outside();
        made.history();
        made
    }

    /// Returns the repository's root.
    pub fn root(&self) -> PathBuf {
        self.parent.join("repo")
    }

    /// Returns the directory that all of it lies in.
    pub fn parent(&self) -> &Path {
        &self.parent
    }

    /// Returns git as it builds fixtures. In an armed repository it may spring traps.
    pub fn git(&self) -> Git {
        Git::at(&self.root())
    }

    /// Returns the names of the traps that sprang.
    pub fn marks(&self) -> Vec<String> {
        super::marks(&self.parent)
    }

    /// Returns variables that name a trap for whatever reads one; for the environment of a daemon.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        traps::environment(&self.parent)
    }

    /// Runs git as a person would who suspects nothing, and returns which traps sprang.
    pub fn spring(&self, words: &[&str]) -> Vec<String> {
        let mut git = Command::new("git");
        git.args(words).current_dir(self.root()).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        git.env("HOME", "/nonexistent").env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_TERMINAL_PROMPT", "0");
        git.stdin(Stdio::null()).output().unwrap();
        let sprung = self.marks();
        for name in &sprung {
            fs::remove_file(self.parent.join("marks").join(name)).unwrap();
        }
        sprung
    }

    fn outside(&self) {
        let outside = self.parent.join("outside");
        for name in ["secret.txt", "secret.md", "patterns", "signers"] {
            write(&outside.join(name), format!("{CANARY}\n"));
        }
        write(&outside.join("mailmap"), format!("{CANARY} <{CANARY}@example.invalid> <jane@example.com>\n"));
        let private = outside.join("private");
        fs::create_dir(&private).unwrap();
        let git = Git::at(&private);
        git.init();
        write(&private.join(format!("{CANARY}.md")), format!("private {CANARY}\n"));
        git.run(["add", "--all"]);
        git.run(["commit", "--quiet", "--message", &format!("private {CANARY}")]);
    }

    fn history(&self) {
        let (root, git) = (self.root(), self.git());
        git.init();
        super::fixtures::add_remote(&git, "hostile");
        let commit = |path: &str, content: &str| {
            write(&root.join(path), content);
            git.run(["add", "--all"]);
            git.run(["commit", "--quiet", "--message", &format!("write {path}")]);
        };
        write(&root.join(".gitattributes"), traps::ATTRIBUTES);
        write(&root.join(".gitignore"), "*.log\n");
        write(&root.join("docs/design notes.md"), "a name with a blank\n");
        commit("README.md", "one\n");
        commit("src/a.txt", "one\n");
        commit("src/b.bin", "\0one\n");
        commit("Makefile", "all:\n");
        git.run(["checkout", "--quiet", "-b", "side"]);
        commit("both.md", "theirs\n");
        git.run(["checkout", "--quiet", "main"]);
        commit("both.md", "ours\n");
        write(&root.join("both.md"), "by hand\n");
        git.run(["add", "--all"]);
        let tree = git.run(["write-tree"]);
        let merge = git.run(["commit-tree", &tree, "-p", "main", "-p", "side", "-m", "merged by hand"]);
        git.run(["reset", "--quiet", "--hard", &merge]);
        git.run(["tag", "--annotate", "--message", "a tag", "v1"]);
        commit("old.md", "what once was\n");
        fs::remove_file(root.join("old.md")).unwrap();
        commit("README.md", "two\n");
    }

    /// Leaves files that git must look into to know whether they changed.
    fn leave_work(&self) {
        let root = self.root();
        write(&root.join("README.md"), "six\n");
        write(&root.join("src/a.txt"), "two\n");
        write(&root.join("src/b.bin"), "\0two\n");
        write(&root.join("untracked.md"), "new\n");
        // Its time changes and nothing else: git would write that into the index.
        write(&root.join("Makefile"), "all:\n");
    }
}

#[cfg(test)]
mod tests;
