//! The thread that forks. Every child leads its own process group, has null for standard input, pipes for its output,
//! a chosen environment and directory, and ends when the daemon ends (D14). MUST NOT judge what it is asked to start.
//!
//! The parent-death signal follows the *thread* that forked, so one thread forks them all and lives as long as anybody
//! can ask or has a child. It is never stuck behind a child that is held: a child gives up all foreign descriptors
//! once it is behind Landlock, that of std's own start report among them, so `spawn` returns then and not at `execve`.
//! What becomes of the child afterwards, its filters included, it tells over a pipe of Owl's. A held child thus holds
//! nothing of its siblings either.

// NOTE(unsafe): the code between fork and execve; nothing else in the workspace is unsafe.
#[expect(unsafe_code, reason = "system calls between fork and execve, where std offers no safe way")]
mod child;

use crate::{kin, wall::Confine};
pub(crate) use child::Limit;
use child::{Child, Exec, Then};
use nix::{
    errno::Errno,
    sys::{
        resource::{Resource, getrlimit},
        signal::{Signal, killpg},
        wait::{WaitPidFlag, waitpid},
    },
    unistd::{Pid, getpid},
};
use std::{
    collections::BTreeSet,
    ffi::OsString,
    fmt,
    io::{self, PipeWriter, Write},
    os::{fd::OwnedFd, unix::process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::{Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::Duration,
};
use tokio::{io::AsyncReadExt, net::unix::pipe, sync::oneshot};

/// How often the thread looks after children that were given up and are not gone yet.
const REAP_EVERY: Duration = Duration::from_millis(20);
/// Far more than forking needs; pages that are not touched cost nothing.
const STACK_BYTES: usize = 256 * 1024;

/// Starts programs. Cheap to clone; when the last clone and the last child's owner are gone, its thread ends.
#[derive(Debug, Clone)]
pub struct Spawner {
    requests: mpsc::Sender<Request>,
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

#[derive(Debug)]
enum Request {
    Fork(Box<Launch>, Start, Spawner, oneshot::Sender<Result<Forked, NotStarted>>),
    /// Reap this one, which was killed.
    Bury(std::process::Child),
}

impl Spawner {
    /// Starts the thread that forks.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start() -> io::Result<Self> {
        let (requests, asked) = mpsc::channel();
        thread::Builder::new().name("owl-fork".into()).stack_size(STACK_BYTES).spawn(move || serve(&asked))?;
        Ok(Self { requests })
    }

    /// Forks a child and returns it once it is on its own. It confines itself before it is held or begins anything.
    pub(crate) async fn fork(&self, launch: Launch, start: Start) -> Result<Forked, NotStarted> {
        let gone = gone(&launch.program);
        let (reply, answer) = oneshot::channel();
        self.ask(launch, start, reply);
        answer.await.unwrap_or(Err(gone))
    }

    /// Forks likewise what is made ready first, on a thread that may wait for a disk.
    pub(crate) async fn fork_made(
        &self,
        program: PathBuf,
        start: Start,
        make: impl FnOnce() -> io::Result<Launch> + Send + 'static,
    ) -> Result<Forked, NotStarted> {
        let (spawner, gone) = (self.clone(), gone(&program));
        let (reply, answer) = oneshot::channel();
        // Not waited for: it hands on to the thread that forks, and that one answers.
        let _made = tokio::task::spawn_blocking(move || match make() {
            Ok(launch) => spawner.ask(launch, start, reply),
            // When nobody waits for it any more, nothing was begun.
            Err(e) => drop(reply.send(Err(NotStarted { program, reason: e.to_string() }))),
        });
        answer.await.unwrap_or(Err(gone))
    }

    /// When the thread is gone the reply is dropped, which tells whoever waits for it.
    fn ask(&self, launch: Launch, start: Start, reply: oneshot::Sender<Result<Forked, NotStarted>>) {
        drop(self.requests.send(Request::Fork(Box::new(launch), start, self.clone(), reply)));
    }
}

fn gone(program: &Path) -> NotStarted {
    NotStarted { program: program.to_owned(), reason: "the thread that forks is gone".into() }
}

fn serve(asked: &mpsc::Receiver<Request>) {
    let parent = getpid();
    let mut given_up: Vec<std::process::Child> = Vec::new();
    loop {
        let request = if given_up.is_empty() {
            asked.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected)
        } else {
            asked.recv_timeout(REAP_EVERY)
        };
        match request {
            Ok(Request::Fork(launch, start, spawner, reply)) => {
                // When nobody waits for it any more, the child is dropped here, which ends it.
                drop(reply.send(fork(*launch, start, spawner, parent)));
            }
            Ok(Request::Bury(child)) => given_up.push(child),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                // All of them were killed, so none lets it wait.
                for mut child in given_up {
                    child.wait().ok();
                    children().remove(&child.id());
                }
                return;
            }
        }
        given_up.retain_mut(|child| {
            let is_there = matches!(child.try_wait(), Ok(None));
            if !is_there {
                children().remove(&child.id());
            }
            is_there
        });
    }
}

/// What this process forked and has not reaped. Of the whole process, as its children are.
static CHILDREN: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn children() -> MutexGuard<'static, BTreeSet<u32>> {
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says whether this process forked it and has not reaped it.
pub(crate) fn is_forked(pid: u32) -> bool {
    children().contains(&pid)
}

/// Reaps dead children that were not forked here: they lost their own parent. Looks through all processes.
pub(crate) fn bury_orphans() {
    // Kept, so that no child is taken for an orphan between its fork and its entry.
    let forked = children();
    for orphan in kin::dead_children() {
        if !forked.contains(&orphan.as_raw().cast_unsigned()) {
            waitpid(orphan, Some(WaitPidFlag::WNOHANG)).ok();
        }
    }
}

fn fork(launch: Launch, start: Start, spawner: Spawner, parent: Pid) -> Result<Forked, NotStarted> {
    let program = launch.program.clone();
    try_fork(launch, start, spawner, parent).map_err(|e| NotStarted { program, reason: e.to_string() })
}

fn try_fork(launch: Launch, start: Start, spawner: Spawner, parent: Pid) -> io::Result<Forked> {
    let (status, tell) = io::pipe()?;
    let (then, go) = match start {
        Start::AtOnce => (Then::Exec, None),
        Start::Probe => (Then::Probe, None),
        Start::Held => {
            let (wait, go) = io::pipe()?;
            (Then::Hold(wait.into()), Some(go))
        }
    };
    let highest =
        getrlimit(Resource::RLIMIT_NOFILE).map_or(i32::MAX, |(soft, _)| i32::try_from(soft).unwrap_or(i32::MAX));
    let exec = Exec::new(&launch.program, &launch.argv, &launch.env)?;
    let Launch { program, cwd, limits, confine, .. } = launch;
    // The child calls execve itself, with exactly the words and variables of `exec`; std only forks and sets up 0 to 2.
    let mut command = Command::new(program);
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    child::arm(&mut command, Child { parent, cwd, limits, confine, then, tell: tell.into(), exec, highest });
    let mut child = {
        let mut children = children();
        let child = command.spawn()?;
        children.insert(child.id());
        child
    };
    let pid = Pid::from_raw(child.id().cast_signed());
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let owned = Owned { pid, child: Some(child), spawner };
    match (stdout, stderr) {
        (Some(stdout), Some(stderr)) => {
            Ok(Forked { owned, go, status: status.into(), stdout: stdout.into(), stderr: stderr.into() })
        }
        _ => Err(io::Error::other("its output could not be connected")),
    }
}

/// What a child tells when it did not become its program: where it ended, and the system's number for why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) stage: Stage,
    pub(crate) value: i32,
}

/// How far a child came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Stage {
    Parent,
    Directory,
    Limits,
    Landlock,
    Seccomp,
    Program,
    /// No failure: the answer of a probe.
    Probed,
}

impl Stage {
    const ALL: [Self; 7] =
        [Self::Parent, Self::Directory, Self::Limits, Self::Landlock, Self::Seccomp, Self::Program, Self::Probed];

    /// Returns the failure of this stage. Called in the child: MUST NOT allocate.
    pub(crate) fn failed(self, errno: Errno) -> Failure {
        Failure { stage: self, value: errno as i32 }
    }
}

impl Failure {
    const BYTES: usize = 5;

    fn encode(self) -> [u8; Self::BYTES] {
        let [a, b, c, d] = self.value.to_le_bytes();
        [self.stage as u8, a, b, c, d]
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let [stage, a, b, c, d] = *bytes else { return None };
        let stage = Stage::ALL.into_iter().find(|s| *s as u8 == stage)?;
        Some(Self { stage, value: i32::from_le_bytes([a, b, c, d]) })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.stage {
            Stage::Parent => "it lost its parent",
            Stage::Directory => "its directory cannot be entered",
            Stage::Limits => "its limits cannot be set",
            Stage::Landlock => "Landlock could not be applied",
            Stage::Seccomp => "the seccomp filter could not be applied",
            Stage::Program => "the program cannot be executed",
            Stage::Probed => "it was only a probe",
        };
        write!(f, "{what}: {}", io::Error::from_raw_os_error(self.value))
    }
}

/// A child that has been forked. It runs nothing before it is confined; dropped, it is ended before it runs anything.
#[derive(Debug)]
pub(crate) struct Forked {
    owned: Owned,
    go: Option<PipeWriter>,
    status: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
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
        self.owned.pid
    }

    /// Lets it go on to `execve` and waits until it is there.
    pub(crate) async fn release(self, program: &Path) -> Result<Started, NotStarted> {
        self.try_release().await.map_err(|e| NotStarted { program: program.to_owned(), reason: e.to_string() })
    }

    async fn try_release(self) -> io::Result<Started> {
        let Self { owned, go, status, stdout, stderr } = self;
        // A child that could not be confined is dead and reads nothing: what it told comes first.
        let released = go.map_or(Ok(()), |mut go| go.write_all(b"!"));
        if let Some(failure) = listen(status).await? {
            return Err(io::Error::other(failure.to_string()));
        }
        released.map_err(|_| io::Error::other("it ended while it was held"))?;
        let (stdout, stderr) = (pipe::Receiver::from_owned_fd(stdout)?, pipe::Receiver::from_owned_fd(stderr)?);
        Ok(Started { owned, stdout, stderr })
    }

    /// Waits for what a probe tells.
    pub(crate) async fn answer(self) -> io::Result<Option<Failure>> {
        listen(self.status).await
    }
}

/// Waits for what a child tells: nothing once a program runs in it, or what went wrong.
async fn listen(status: OwnedFd) -> io::Result<Option<Failure>> {
    let mut status = pipe::Receiver::from_owned_fd(status)?;
    let mut told = Vec::with_capacity(Failure::BYTES);
    status.read_to_end(&mut told).await?;
    Ok(Failure::decode(&told))
}

/// A child that is not reaped yet, and with it its process group. Dropped, the group is killed and the child reaped.
#[derive(Debug)]
pub(crate) struct Owned {
    pub(crate) pid: Pid,
    pub(crate) child: Option<std::process::Child>,
    spawner: Spawner,
}

impl Owned {
    /// Reaps a child that has ended.
    pub(crate) fn reap(&mut self) -> io::Result<ExitStatus> {
        let mut child = self.child.take().ok_or(io::ErrorKind::NotFound)?;
        let status = child.wait();
        children().remove(&child.id());
        status
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let Some(child) = self.child.take() else { return };
        // Not reaped, so the number is still this child's and its group's; a group that is gone already is as good.
        killpg(self.pid, Signal::SIGKILL).ok();
        // It lives as long as this can ask it.
        self.spawner.requests.send(Request::Bury(child)).ok();
    }
}

#[cfg(test)]
mod tests;
