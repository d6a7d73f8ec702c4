//! Makes children. Every child leads its own process group, has null for standard input, pipes for its output, a chosen
//! environment and directory, and ends when the daemon ends (D14). MUST NOT judge what it is asked to start.
//!
//! The way of a child: [`Spawner::fork`] makes its pipes and gives the rest to one of the [`threads`]; that makes the child, which
//! sets itself up and tells over its pipe ([`told`]) that it is there; [`Forked::release`] lets it go. The thread hands
//! the child over to its owner ([`children`]) when it has become its program, and buries it when nobody wants it.

// NOTE(unsafe): making a child, and what it does until execve; nothing else in the workspace is unsafe.
#[expect(unsafe_code, reason = "system calls in a child, where std offers no safe way")]
mod child;
mod children;
#[expect(unsafe_code, reason = "`clone` and `waitpid`, where neither std nor nix offers a safe way")]
mod fork;
mod threads;
mod told;

use crate::wall::Confine;
pub(crate) use child::Limit;
use child::{Child, Ends};
pub(crate) use children::{Owned, bury_orphans, is_forked};
use nix::unistd::Pid;
use std::{
    ffi::OsString,
    io::{self, PipeWriter, Write},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Arc,
};
use threads::Threads;
use tokio::{net::unix::pipe, sync::oneshot};
pub(crate) use told::{Failure, Stage};
use told::{Told, next};

/// Starts programs. Cheap to clone. Its threads end when the last clone and the last child's owner are gone.
#[derive(Debug, Clone, Default)]
pub struct Spawner {
    threads: Arc<Threads>,
}

/// What is to be started. `argv` begins with the program's name; `env` is the whole environment.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    pub(crate) argv: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) cwd: OwnedFd,
    pub(crate) limits: Vec<Limit>,
    pub(crate) confine: Option<Confine>,
}

/// Whether a child goes on by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// To `execve` at once.
    AtOnce,
    /// It waits before `execve` until it is released.
    Held,
    /// It never runs a program: it tries what the wall refuses, and tells.
    Probe,
}

/// A program that could not be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` could not be started: {reason}", program.display())]
pub(crate) struct NotStarted {
    pub(crate) program: PathBuf,
    pub(crate) reason: String,
}

impl Spawner {
    /// Returns one without a thread yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a child of what `make` returns, on a thread that may wait for a disk, and returns it once it is on its own
    /// and confined.
    pub(crate) async fn fork(
        &self,
        program: &Path,
        start: Start,
        make: impl FnOnce() -> io::Result<Launch> + Send + 'static,
    ) -> Result<Forked, NotStarted> {
        let forked = async {
            let Pipes { mut status, go, stdout, stderr, owned } = self.begin(start, make)?;
            match next(&mut status).await? {
                Some(Told::Placed(pid)) => Ok(Forked { pid, owned, go, status, stdout, stderr }),
                Some(Told::Failed(failure)) => Err(io::Error::other(failure.to_string())),
                Some(Told::Begins) | None => {
                    got(owned).await?;
                    Err(io::Error::other("it ended before it was there"))
                }
            }
        };
        forked.await.map_err(|e| NotStarted { program: program.to_owned(), reason: e.to_string() })
    }

    /// Makes a child that tries what the wall refuses, and returns what it tells.
    pub(crate) async fn probe(
        &self,
        make: impl FnOnce() -> io::Result<Launch> + Send + 'static,
    ) -> io::Result<Failure> {
        let Pipes { mut status, owned, .. } = self.begin(Start::Probe, make)?;
        while let Some(told) = next(&mut status).await? {
            if let Told::Failed(answer) = told {
                return Ok(answer);
            }
        }
        got(owned).await?;
        Err(io::Error::other("the probe said nothing"))
    }

    fn begin(&self, start: Start, make: impl FnOnce() -> io::Result<Launch> + Send + 'static) -> io::Result<Pipes> {
        let (status, tell) = io::pipe()?;
        let (stdout, to_stdout) = io::pipe()?;
        let (stderr, to_stderr) = io::pipe()?;
        let (wait, go) =
            if start == Start::Held { io::pipe().map(|(wait, go)| (Some(wait), Some(go)))? } else { (None, None) };
        let ends =
            Ends { stdout: to_stdout.into(), stderr: to_stderr.into(), tell: tell.into(), wait: wait.map(Into::into) };
        let (give, owned) = oneshot::channel();
        let threads = Arc::clone(&self.threads);
        let work = move || {
            if give.is_closed() {
                return;
            }
            let child = match make().and_then(|launch| Child::new(launch, start, ends)) {
                Ok(child) => child,
                // When nobody waits for it any more, nothing was begun.
                Err(e) => return drop(give.send(Err(e))),
            };
            let made = Owned::make(&child, threads);
            // Before the child's ends are closed here, whose end of file is waited for first.
            if let Err(Ok(unwanted)) = give.send(made) {
                unwanted.bury();
            }
            drop(child);
        };
        self.threads.give(Box::new(work))?;
        Ok(Pipes {
            status: pipe::Receiver::from_owned_fd(status.into())?,
            go,
            stdout: stdout.into(),
            stderr: stderr.into(),
            owned,
        })
    }
}

/// The daemon's ends of a child's pipes, and where the child itself comes when it has become its program or is dead.
struct Pipes {
    status: pipe::Receiver,
    go: Option<PipeWriter>,
    stdout: OwnedFd,
    stderr: OwnedFd,
    owned: oneshot::Receiver<io::Result<Owned>>,
}

async fn got(owned: oneshot::Receiver<io::Result<Owned>>) -> io::Result<Owned> {
    owned.await.unwrap_or_else(|_| Err(io::Error::other("the thread that was to start it gave up")))
}

/// A child that is there. It runs nothing before it is confined; dropped, it is ended before it runs anything.
#[derive(Debug)]
pub(crate) struct Forked {
    pid: Pid,
    go: Option<PipeWriter>,
    status: pipe::Receiver,
    stdout: OwnedFd,
    stderr: OwnedFd,
    /// A child that is held reads the end of `go` when this is dropped, and ends; then its thread buries it.
    owned: oneshot::Receiver<io::Result<Owned>>,
}

/// A program at work, with the ends of its output that are to be read.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) owned: Owned,
    pub(crate) stdout: pipe::Receiver,
    pub(crate) stderr: pipe::Receiver,
}

impl Forked {
    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Lets it go on to `execve` and waits until it is there.
    pub(crate) async fn release(self, program: &Path) -> Result<Started, NotStarted> {
        self.try_release().await.map_err(|e| NotStarted { program: program.to_owned(), reason: e.to_string() })
    }

    async fn try_release(self) -> io::Result<Started> {
        let Self { go, mut status, stdout, stderr, owned, .. } = self;
        if let Some(mut go) = go {
            // Whether anybody read it, is told.
            go.write_all(b"!").ok();
        }
        let mut begins = false;
        while let Some(told) = next(&mut status).await? {
            match told {
                Told::Placed(_) => {}
                Told::Begins => begins = true,
                Told::Failed(failure) => return Err(io::Error::other(failure.to_string())),
            }
        }
        if !begins {
            return Err(io::Error::other("it ended while it was held"));
        }
        let (stdout, stderr) = (pipe::Receiver::from_owned_fd(stdout)?, pipe::Receiver::from_owned_fd(stderr)?);
        Ok(Started { owned: got(owned).await?, stdout, stderr })
    }
}

#[cfg(test)]
mod tests;
