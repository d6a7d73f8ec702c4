//! A command as it is without Owl: to compare with, and in a directory that may be trusted.

use std::{
    ffi::OsStr,
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Command, Output, Stdio},
};

/// Runs a program under the name that it is to call itself, with nothing of the host's configuration and without
/// letting git write; returns what it printed.
pub fn plain<S: AsRef<OsStr>>(program: &Path, argv: &[S], directory: &Path) -> Output {
    let (name, words) = argv.split_first().unwrap();
    let mut plain = Command::new(program);
    if name.as_ref() == "git" {
        plain.args(["--no-optional-locks", "--no-pager", "-c", "diff.autoRefreshIndex=false"]);
    }
    plain.arg0(name).args(words).current_dir(directory).stdin(Stdio::null()).env_clear();
    plain.env("PATH", "/usr/bin:/bin").env("HOME", "/nonexistent").env("LC_ALL", "C.UTF-8");
    plain.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    plain.output().unwrap_or_else(|error| panic!("{}: {error}", program.display()))
}
