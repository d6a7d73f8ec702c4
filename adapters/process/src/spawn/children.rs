//! The children of this process: which are its own, who owns each, and that every one of them is reaped.

use super::{child::Child, fork, threads::Threads};
use crate::kin;
use nix::{
    libc,
    sys::{
        signal::{Signal, kill, killpg},
        wait::{WaitPidFlag, waitpid},
    },
    unistd::Pid,
};
use std::{
    io,
    process::ExitStatus,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI32, Ordering},
    },
};

/// The numbers of what this process made and has not reaped. Of the whole process, as its children are.
static CHILDREN: Mutex<Vec<Arc<AtomicI32>>> = Mutex::new(Vec::new());

fn children() -> MutexGuard<'static, Vec<Arc<AtomicI32>>> {
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_among(children: &[Arc<AtomicI32>], pid: Pid) -> bool {
    children.iter().any(|one| one.load(Ordering::Acquire) == pid.as_raw())
}

/// A child's number, listed from before it is made until it is reaped; 0 while there is no child.
#[derive(Debug)]
pub(super) struct Number(pub(super) Arc<AtomicI32>);

impl Number {
    fn new() -> Self {
        let number = Arc::default();
        children().push(Arc::clone(&number));
        Self(number)
    }

    /// Returns where the kernel is to write it.
    #[cfg(target_os = "linux")]
    pub(super) fn as_ptr(&self) -> *mut i32 {
        self.0.as_ptr()
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        children().retain(|one| !Arc::ptr_eq(one, &self.0));
    }
}

/// Says whether this process made it and has not reaped it.
pub(crate) fn is_forked(pid: u32) -> bool {
    is_among(&children(), Pid::from_raw(pid.cast_signed()))
}

/// Reaps dead children that were not made here: they lost their own parent. Looks through all processes.
pub(crate) fn bury_orphans() {
    // Kept, so that no child is taken for an orphan that is made or reaped meanwhile.
    let children = children();
    for orphan in kin::dead_children() {
        if !is_among(&children, orphan) {
            waitpid(orphan, Some(WaitPidFlag::WNOHANG)).ok();
        }
    }
}

/// A child that is not reaped yet, and with it its process group. Dropped, the group is killed and the child reaped.
#[derive(Debug)]
pub(crate) struct Owned {
    pub(crate) pid: Pid,
    /// None once it is reaped.
    number: Option<Number>,
    ended: Option<ExitStatus>,
    threads: Arc<Threads>,
}

impl Owned {
    /// Makes a child.
    pub(super) fn make(child: &Child, threads: Arc<Threads>) -> io::Result<Self> {
        let number = Number::new();
        let pid = fork::fork(child, &number)?;
        Ok(Self { pid, number: Some(number), ended: None, threads })
    }

    /// Reaps a child that has ended.
    pub(crate) fn reap(&mut self) -> io::Result<ExitStatus> {
        self.reap_with(0)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Reaps it if it has ended, and says whether it has.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn is_reaped(&mut self) -> io::Result<bool> {
        Ok(self.reap_with(libc::WNOHANG)?.is_some())
    }

    fn reap_with(&mut self, options: libc::c_int) -> io::Result<Option<ExitStatus>> {
        if self.number.is_some() {
            self.ended = fork::wait(self.pid, options)?;
            if self.ended.is_some() {
                self.number = None;
            }
        }
        Ok(self.ended)
    }

    /// Kills the group and reaps the child, here and now.
    pub(super) fn bury(mut self) {
        if let Some(killed) = self.kill() {
            killed();
        }
    }

    /// Kills the group, and returns what is left to do, if it was not reaped before.
    fn kill(&mut self) -> Option<impl FnOnce() + Send + 'static> {
        let number = self.number.take()?;
        let pid = self.pid;
        // Not reaped, so the number is still this child's and its group's; a group that is gone already is as good.
        killpg(pid, Signal::SIGKILL).ok();
        // It may have gone to another group.
        kill(pid, Signal::SIGKILL).ok();
        Some(move || {
            // It was killed, so it does not let anybody wait; what it ended with does not matter.
            fork::wait(pid, 0).ok();
            drop(number);
        })
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(killed) = self.kill() {
            // Without a thread it stays dead and unlisted, and is reaped with the next orphans.
            self.threads.give(Box::new(killed)).ok();
        }
    }
}
