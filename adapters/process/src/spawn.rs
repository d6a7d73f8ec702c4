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
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    ffi::OsString,
    io::{self, PipeReader, PipeWriter, Write},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Arc,
};
use threads::Threads;
use tokio::{
    net::unix::pipe,
    signal::unix::{SignalKind, signal},
    sync::oneshot,
};
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
    /// and confined. Dropped before that, it runs nothing if it is to be held, and else is ended as soon as it runs.
    pub(crate) async fn fork(
        &self,
        program: &Path,
        start: Start,
        make: impl FnOnce() -> io::Result<Launch> + Send + 'static,
    ) -> Result<Forked, NotStarted> {
        let forked = async {
            let Pipes { mut status, go, stdout, stderr, mut owned } = self.begin(start, make)?;
            match next(&mut status).await? {
                Some(Told::Placed(pid)) => {
                    Ok(Forked { leash: Leash { pid: Some(pid), go }, pid, status, stdout, stderr, owned })
                }
                Some(Told::Failed(failure)) => Err(io::Error::other(failure.to_string())),
                Some(Told::Begins) | None => {
                    got(&mut owned).await?;
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
        let Pipes { mut status, mut owned, .. } = self.begin(Start::Probe, make)?;
        while let Some(told) = next(&mut status).await? {
            if let Told::Failed(answer) = told {
                return Ok(answer);
            }
        }
        got(&mut owned).await?;
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
        let receiver = |from: PipeReader| pipe::Receiver::from_owned_fd(from.into());
        let (status, stdout, stderr) = (receiver(status)?, receiver(stdout)?, receiver(stderr)?);
        // Where it is inherited as ignored, the system would reap a child by itself.
        drop(signal(SignalKind::child())?);
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
        Ok(Pipes { status, go, stdout, stderr, owned })
    }
}

/// The daemon's ends of a child's pipes, and where the child itself comes when it has become its program or is dead.
struct Pipes {
    status: pipe::Receiver,
    go: Option<PipeWriter>,
    stdout: pipe::Receiver,
    stderr: pipe::Receiver,
    owned: Handover,
}

type Handover = oneshot::Receiver<io::Result<Owned>>;

async fn got(owned: &mut Handover) -> io::Result<Owned> {
    owned.await.unwrap_or_else(|_| Err(io::Error::other("the thread that was to start it gave up")))
}

/// Waits until a child has become its program or is dead, and returns it with what it told on the way.
#[cfg(target_os = "linux")]
async fn outcome(owned: &mut Handover, status: &mut pipe::Receiver) -> io::Result<(Owned, Vec<Told>)> {
    // The thread was let go when the child was, whoever still holds an end of its pipe.
    Ok((got(owned).await?, told::rest(status)))
}

#[cfg(not(target_os = "linux"))]
async fn outcome(owned: &mut Handover, status: &mut pipe::Receiver) -> io::Result<(Owned, Vec<Told>)> {
    let mut all = Vec::new();
    while let Some(told) = next(status).await? {
        all.push(told);
    }
    Ok((got(owned).await?, all))
}

/// A child that is there. It runs nothing before it is confined; dropped, it is ended before it runs anything.
#[derive(Debug)]
pub(crate) struct Forked {
    // Dropped before `owned`, and so while the child is not reaped.
    leash: Leash,
    pid: Pid,
    status: pipe::Receiver,
    stdout: pipe::Receiver,
    stderr: pipe::Receiver,
    owned: Handover,
}

/// Ends a child that nobody owns yet when it is dropped. Its thread buries it.
#[derive(Debug)]
struct Leash {
    /// None once it has an owner.
    pid: Option<Pid>,
    go: Option<PipeWriter>,
}

impl Leash {
    fn let_go(&mut self) {
        if let Some(mut go) = self.go.take() {
            // Whether anybody read it, is told.
            go.write_all(b"!").ok();
        }
    }

    fn pull(&self) {
        if let Some(pid) = self.pid {
            kill(pid, Signal::SIGKILL).ok();
        }
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        self.pull();
    }
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

    /// Lets it go on to `execve` and waits until it is there. It is ended when `stopped` comes first.
    pub(crate) async fn release(
        self,
        program: &Path,
        stopped: impl Future<Output = ()>,
    ) -> Result<Started, NotStarted> {
        let started = self.try_release(stopped).await;
        started.map_err(|e| NotStarted { program: program.to_owned(), reason: e.to_string() })
    }

    async fn try_release(self, stopped: impl Future<Output = ()>) -> io::Result<Started> {
        // The leash last, so that it is dropped first.
        let Self { mut owned, mut status, stdout, stderr, mut leash, .. } = self;
        leash.let_go();
        let outcome = tokio::select! {
            biased;
            outcome = outcome(&mut owned, &mut status) => outcome,
            () = stopped => {
                leash.pull();
                outcome(&mut owned, &mut status).await
            }
        };
        leash.pid = None;
        let (owned, told) = outcome?;
        let failure = told.iter().find_map(|told| if let Told::Failed(failure) = told { Some(failure) } else { None });
        match failure {
            Some(failure) => Err(io::Error::other(failure.to_string())),
            None if told.contains(&Told::Begins) => Ok(Started { owned, stdout, stderr }),
            None => Err(io::Error::other("it ended before it began")),
        }
    }
}

#[cfg(test)]
mod tests;
