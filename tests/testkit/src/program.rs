//! A program that is run to its end.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

use crate::daemon::{Home, PATIENCE};
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Stdio,
};
use tokio::{io::AsyncWriteExt, process::Command, time::timeout};

/// What a program printed and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// Runs a program to its end with exactly this environment.
///
/// # Panics
/// When it cannot be started or does not end.
pub async fn run(program: &OsStr, args: &[&str], environment: &[(&'static str, PathBuf)], input: &str) -> Output {
    run_in(Path::new("."), program, args, environment, input).await
}

/// Runs a program likewise, in a directory.
///
/// # Panics
/// When it cannot be started or does not end.
pub async fn run_in(
    directory: &Path,
    program: &OsStr,
    args: &[&str],
    environment: &[(&'static str, PathBuf)],
    input: &str,
) -> Output {
    let mut child = Command::new(program)
        .args(args)
        .current_dir(directory)
        .env_clear()
        .envs(environment.iter().cloned())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let mut stdin = child.stdin.take().unwrap();
    // A program that does not read its input is no fault of the test.
    drop(stdin.write_all(input.as_bytes()).await);
    drop(stdin);
    let output = timeout(PATIENCE, child.wait_with_output()).await.unwrap().unwrap();
    Output {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Writes a program from another process: one that this process had open for writing could be in the hands of a child
/// that another test forks at this moment, and would be busy.
pub(crate) async fn write_program(home: &Home, program: &Path, text: &str) {
    let path = program.to_str().unwrap();
    let written =
        run(OsStr::new("sh"), &["-c", "cat > \"$0\" && chmod 700 \"$0\"", path], &home.environment(), text).await;
    assert_eq!(written.code, Some(0), "{}", written.stderr);
}
