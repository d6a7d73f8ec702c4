//! A command as it is without Owl: to compare with, and in a directory that may be trusted.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};
use tempfile::TempDir;

/// Runs a program under the name that it is to call itself, with nothing of the host's configuration and without
/// letting git write; returns what it printed.
pub fn plain<S: AsRef<OsStr>>(program: &Path, argv: &[S], directory: &Path) -> Output {
    let (name, words) = argv.split_first().unwrap();
    let mut plain = Command::new(program);
    if name.as_ref() == "git" {
        plain.args(["--no-optional-locks", "--no-pager"]);
    }
    plain.arg0(name).args(words).current_dir(directory).stdin(Stdio::null()).env_clear();
    plain.env("PATH", "/usr/bin:/bin").env("HOME", "/nonexistent").env("LC_ALL", "C.UTF-8");
    plain.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    // `git diff` would write down which files were only touched, so it has an index of its own to write to.
    let index = (name.as_ref() == "git").then(|| index_of(directory)).flatten();
    if let Some((_kept, copy)) = &index {
        plain.env("GIT_INDEX_FILE", copy);
    }
    plain.output().unwrap_or_else(|error| panic!("{}: {error}", program.display()))
}

/// Copies the index of a directory's repository, as old as it is.
fn index_of(directory: &Path) -> Option<(TempDir, PathBuf)> {
    let mut git = Command::new("git");
    git.args(["rev-parse", "--path-format=absolute", "--git-path", "index"]).current_dir(directory).env_clear();
    git.env("PATH", std::env::var_os("PATH")?).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = git.output().ok().filter(|output| output.status.success())?;
    let index = PathBuf::from(OsStr::from_bytes(output.stdout.trim_ascii_end()));
    let modified = fs::metadata(&index).ok()?.modified().ok()?;
    let kept = TempDir::new().ok()?;
    let copy = kept.path().join("index");
    fs::copy(&index, &copy).ok()?;
    fs::File::options().write(true).open(&copy).ok()?.set_modified(modified).ok()?;
    Some((kept, copy))
}
