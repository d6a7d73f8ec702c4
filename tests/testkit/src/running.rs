//! A program that runs beside a test, which reads its lines as they come.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

use crate::daemon::PATIENCE;
use std::{ffi::OsStr, path::PathBuf, process::Stdio};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

/// The program. Killed when it is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    /// Starts one with exactly this environment and nothing to read.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(program: &OsStr, args: &[&str], environment: &[(&'static str, PathBuf)]) -> Self {
        let mut child = Command::new(program)
            .args(args)
            .env_clear()
            .envs(environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Returns the next line that it prints; none when it prints no more.
    ///
    /// # Panics
    /// When nothing comes.
    pub async fn line(&mut self) -> Option<String> {
        timeout(PATIENCE, self.lines.next_line()).await.unwrap().unwrap()
    }

    /// Asks it to stop.
    ///
    /// # Panics
    /// When it has ended.
    pub fn terminate(&self) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id().unwrap()).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    }

    /// Waits for its end and returns its exit code; none when a signal ended it.
    ///
    /// # Panics
    /// When it does not end.
    pub async fn ended(mut self) -> Option<i32> {
        timeout(PATIENCE, self.child.wait()).await.unwrap().unwrap().code()
    }
}
