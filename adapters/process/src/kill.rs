//! Attends a program at work until it and its group are gone: reads its output as it comes, sends TERM at its deadline
//! or when told to stop, KILL after a grace, and reaps last, so that no signal reaches a stranger (D14).

use crate::spawn::{Owned, Started};
use nix::{
    errno::Errno,
    sys::signal::{Signal, kill, killpg},
    unistd::{self, Pid},
};
use owl_domain::ports::{EndedBy, Stop, Stream};
use std::{
    io,
    os::{fd::AsFd, unix::process::ExitStatusExt},
    process::ExitStatus,
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::unix::pipe,
    signal::unix::{SignalKind, signal},
    sync::Notify,
    time::{Instant, sleep_until},
};

/// How much is read at once: what a pipe holds by default.
const READ_BYTES: usize = 64 * 1024;
/// How much is still read after the end: what a pipe can hold at most. More is from a process that is not its own.
const LAST_BYTES: usize = 1024 * 1024;

/// When a program is ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) deadline: Duration,
    pub(crate) grace: Duration,
}

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) ended_by: EndedBy,
    pub(crate) status: ExitStatus,
    pub(crate) duration: Duration,
}

impl Ended {
    pub(crate) fn signal(&self) -> Option<String> {
        let number = self.status.signal()?;
        Some(Signal::try_from(number).map_or_else(|_| format!("signal {number}"), |signal| signal.as_str().to_owned()))
    }
}

/// What takes output as it comes. It MUST bound what it keeps.
pub(crate) trait Sink {
    /// Takes what was read.
    fn take(&mut self, stream: Stream, bytes: &[u8]);

    /// Returns what tells of room when there is none for more standard output. It is not read until then.
    fn full(&self) -> Option<Arc<Notify>> {
        None
    }

    /// Called before a signal is sent, while the program still has its children.
    fn ending(&mut self, _: Pid) {}
}

enum Phase {
    Running,
    /// TERM was sent; KILL follows then.
    Asked(Instant),
    Killed,
}

/// Attends a program until it has ended and its output has been read.
///
/// # Errors
/// When the system does not tell how it ended.
pub(crate) async fn attend(
    started: Started,
    bounds: Bounds,
    stop: Arc<dyn Stop>,
    sink: &mut (impl Sink + Send),
) -> io::Result<Ended> {
    let Started { mut owned, stdout, stderr } = started;
    let pid = owned.pid;
    // Before the first look, so that no end is missed between the two.
    let mut children = signal(SignalKind::child())?;
    let began = Instant::now();
    let mut phase = Phase::Running;
    let mut because = None;
    let mut buffer = vec![0; READ_BYTES];
    let (mut out_open, mut err_open) = (true, true);
    let stopped = stop.stopped();
    tokio::pin!(stopped);
    while !has_ended(&mut owned)? {
        let next = match phase {
            Phase::Running => Some(began + bounds.deadline),
            Phase::Asked(until) => Some(until),
            Phase::Killed => None,
        };
        let full = sink.full();
        tokio::select! {
            () = room(full.clone()), if out_open && full.is_some() => {}
            ready = stdout.readable(), if out_open && full.is_none() => {
                ready?;
                out_open = read(&stdout, Stream::Stdout, &mut buffer, sink)?;
            }
            ready = stderr.readable(), if err_open => {
                ready?;
                err_open = read(&stderr, Stream::Stderr, &mut buffer, sink)?;
            }
            _ = children.recv() => {}
            () = &mut stopped, if matches!(phase, Phase::Running) => {
                because = Some(EndedBy::Stopped);
                sink.ending(pid);
                phase = ask(pid, bounds.grace);
            }
            () = sleep_until(next.unwrap_or(began)), if next.is_some() => {
                sink.ending(pid);
                if matches!(phase, Phase::Running) {
                    because = Some(EndedBy::Timeout);
                    phase = ask(pid, bounds.grace);
                } else {
                    end_group(pid, Signal::SIGKILL);
                    phase = Phase::Killed;
                }
            }
        }
    }
    let duration = began.elapsed();
    // It has ended and is not reaped: its number, and its group's, cannot be anybody else's yet.
    end_group(pid, Signal::SIGKILL);
    read_rest(&stdout, Stream::Stdout, &mut buffer, sink);
    read_rest(&stderr, Stream::Stderr, &mut buffer, sink);
    let status = owned.reap()?;
    let by_itself = match status.signal() {
        None => EndedBy::Exit,
        // It was told to stop in the moment in which it began.
        Some(_) if stop.is_stopped() => EndedBy::Stopped,
        Some(_) => EndedBy::Signal,
    };
    Ok(Ended { ended_by: because.unwrap_or(by_itself), status, duration })
}

async fn room(full: Option<Arc<Notify>>) {
    if let Some(full) = full {
        full.notified().await;
    }
}

fn ask(group: Pid, grace: Duration) -> Phase {
    end_group(group, Signal::SIGTERM);
    Phase::Asked(Instant::now() + grace)
}

/// Signals every process of a group. That none is left is what was wanted.
pub(crate) fn end_group(group: Pid, with: Signal) {
    killpg(group, with).ok();
    // Its leader may have gone to another group. Where it is not reaped yet, the number is still its own.
    if cfg!(target_os = "linux") && with == Signal::SIGKILL {
        kill(group, with).ok();
    }
}

/// Says whether a child has ended, without reaping it.
#[cfg(target_os = "linux")]
pub(crate) fn has_ended(owned: &mut Owned) -> io::Result<bool> {
    use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
    loop {
        return match waitid(Id::Pid(owned.pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT) {
            Ok(WaitStatus::StillAlive) => Ok(false),
            // The last: by a signal that nix has no name for.
            Ok(_) | Err(Errno::EINVAL) => Ok(true),
            Err(Errno::EINTR) => continue,
            Err(e) => Err(e.into()),
        };
    }
}

/// Says whether a child has ended. It is reaped here; its group's number stays taken while the group has a process.
#[cfg(not(target_os = "linux"))]
pub(crate) fn has_ended(owned: &mut Owned) -> io::Result<bool> {
    owned.is_reaped()
}

/// Reads what is there. Returns whether more can come.
fn read(from: &pipe::Receiver, stream: Stream, buffer: &mut [u8], sink: &mut impl Sink) -> io::Result<bool> {
    match from.try_read(buffer) {
        Ok(0) => Ok(false),
        Ok(n) => {
            sink.take(stream, buffer.get(..n).unwrap_or_default());
            Ok(true)
        }
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(true),
        Err(e) => Err(e),
    }
}

/// Reads what a program had written when it ended. Not to the end of the file: a process outside of its group may hold
/// the pipe open for ever. Not through the runtime, which may not have heard yet that there is something.
fn read_rest(from: &pipe::Receiver, stream: Stream, buffer: &mut [u8], sink: &mut impl Sink) {
    let mut left = LAST_BYTES;
    while left > 0 {
        match unistd::read(from.as_fd(), buffer) {
            Ok(0) => return,
            Ok(n) => {
                sink.take(stream, buffer.get(..n).unwrap_or_default());
                left = left.saturating_sub(n);
            }
            Err(Errno::EINTR) => {}
            // Empty, or broken: either way nothing more comes.
            Err(_) => return,
        }
    }
}
