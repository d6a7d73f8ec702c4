//! Runs Owl's own programs, git first of all: with a deadline, a bound on what they print, and the whole group ended.
//! Nothing here is judged or confined; what a model asked for goes through [`crate::HostCommands`].

use crate::{
    kill::{Bounds, Sink, attend},
    spawn::{Launch, NotStarted, Spawner, Start, Started},
};
use owl_domain::{
    limits,
    ports::{EndedBy, Stop, Stream},
};
use std::{
    ffi::OsString,
    fs::File,
    future::pending,
    io,
    os::{fd::OwnedFd, unix::fs::OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::time::sleep;

/// What is kept of standard error: enough for what a program has to say about a failure.
const STDERR_BYTES: usize = 64 * 1024;

/// A program of Owl's own.
#[derive(Debug, Clone)]
pub struct OwnCommand {
    /// Its absolute path.
    pub program: PathBuf,
    /// Its words, its name first.
    pub argv: Vec<OsString>,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The directory it runs in.
    pub cwd: PathBuf,
    /// When it is ended.
    pub deadline: Duration,
    /// The most that is kept of its standard output.
    pub max_bytes: usize,
}

/// How it ended, and what it printed. That it failed, timed out or was stopped is for the caller to judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnOutput {
    /// Why it ended.
    pub ended_by: EndedBy,
    /// Its exit status, when it exited.
    pub exit_code: Option<i32>,
    /// The signal that ended it, such as `SIGKILL`.
    pub signal: Option<String>,
    /// The start of its standard output, at most `max_bytes`.
    pub stdout: Vec<u8>,
    /// How many bytes it printed there, kept or not.
    pub stdout_bytes: u64,
    /// The start of its standard error, at most 64 KiB.
    pub stderr: Vec<u8>,
}

impl OwnOutput {
    /// Says whether it exited with 0 by itself.
    pub fn succeeded(&self) -> bool {
        self.ended_by == EndedBy::Exit && self.exit_code == Some(0)
    }

    /// Says whether it printed more than was kept.
    pub fn is_cut(&self) -> bool {
        u64::try_from(self.stdout.len()).is_ok_and(|kept| kept < self.stdout_bytes)
    }
}

/// Why a program of Owl's own gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OwnError {
    /// Nothing of it ran.
    #[error("`{}` could not be started: {reason}", program.display())]
    NotStarted {
        /// Which.
        program: PathBuf,
        /// Why, for people.
        reason: String,
    },
    /// It ran, and how it ended is not known.
    #[error("it is not known how `{}` ended: {reason}", program.display())]
    Lost {
        /// Which.
        program: PathBuf,
        /// Why, for people.
        reason: String,
    },
}

impl From<NotStarted> for OwnError {
    fn from(NotStarted { program, reason }: NotStarted) -> Self {
        Self::NotStarted { program, reason }
    }
}

impl Spawner {
    /// Runs a program of Owl's own to its end. Dropping the future ends its group.
    ///
    /// # Errors
    /// [`OwnError`]; a program that failed is no error.
    pub async fn run_own(&self, command: OwnCommand, stop: Arc<dyn Stop>) -> Result<OwnOutput, OwnError> {
        let OwnCommand { program, argv, env, cwd, deadline, max_bytes } = command;
        let started = self.fork_own(&program, argv, env, cwd, &*stop, deadline).await?;
        let mut kept = Kept { max_bytes, ..Kept::default() };
        let bounds = Bounds { deadline, grace: limits::COMMAND_GRACE };
        let ended = attend(started, bounds, stop, &mut kept)
            .await
            .map_err(|e| OwnError::Lost { program: program.clone(), reason: e.to_string() })?;
        Ok(OwnOutput {
            ended_by: ended.ended_by,
            exit_code: ended.status.code(),
            signal: ended.signal(),
            stdout: kept.stdout,
            stdout_bytes: kept.stdout_bytes,
            stderr: kept.stderr,
        })
    }

    /// Starts a program of Owl's own, unconfined. Where its directory does not answer, not for longer than its deadline.
    pub(crate) async fn fork_own(
        &self,
        program: &Path,
        argv: Vec<OsString>,
        env: Vec<(OsString, OsString)>,
        cwd: PathBuf,
        stop: &dyn Stop,
        deadline: Duration,
    ) -> Result<Started, NotStarted> {
        let path = program.to_owned();
        let make = move || {
            if !path.is_absolute() {
                return Err(io::Error::other("its path is not absolute"));
            }
            Ok(Launch { program: path, argv, env, cwd: open_directory(&cwd)?, limits: Vec::new(), confine: None })
        };
        let started = async { self.fork(program, Start::AtOnce, make).await?.release(program, pending()).await };
        let reason = tokio::select! {
            biased;
            started = started => return started,
            () = stop.stopped() => "it was told to stop before it began".into(),
            () = sleep(deadline) => format!("it did not begin within {} s", deadline.as_secs()),
        };
        Err(NotStarted { program: program.to_owned(), reason })
    }
}

/// Opens a directory for `fchdir`. It may lie on a disk that does not answer.
pub(crate) fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let mut options = File::options();
    options.read(true).custom_flags(nix::libc::O_DIRECTORY | nix::libc::O_CLOEXEC);
    match options.open(path) {
        Ok(directory) => Ok(directory.into()),
        Err(e) => Err(io::Error::other(format!("`{}` cannot be entered: {e}", path.display()))),
    }
}

#[derive(Debug, Default)]
struct Kept {
    max_bytes: usize,
    stdout: Vec<u8>,
    stdout_bytes: u64,
    stderr: Vec<u8>,
}

impl Sink for Kept {
    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        let (kept, most) = match stream {
            Stream::Stdout => {
                self.stdout_bytes += bytes.len() as u64;
                (&mut self.stdout, self.max_bytes)
            }
            Stream::Stderr => (&mut self.stderr, STDERR_BYTES),
        };
        let room = most.saturating_sub(kept.len()).min(bytes.len());
        kept.extend_from_slice(bytes.get(..room).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests;
