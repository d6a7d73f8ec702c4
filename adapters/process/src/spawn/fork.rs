//! The calls that make a child and wait for its end.

use super::{child::Child, children::Number};
use nix::{errno::Errno, libc, unistd::Pid};
use std::{io, os::unix::process::ExitStatusExt, process::ExitStatus};

#[cfg(target_os = "linux")]
pub(super) use linux::fork;
#[cfg(not(target_os = "linux"))]
pub(super) use other::fork;

#[cfg(target_os = "linux")]
mod linux {
    use super::{Child, Errno, Number, Pid, libc};
    use std::{mem::MaybeUninit, ptr};

    /// What a child's few calls need, in a debug build too.
    const STACK_BYTES: usize = 16 * 1024;

    /// Sixteen bytes each, which is how a stack is aligned.
    type Stack = [u128; STACK_BYTES / size_of::<u128>()];

    /// Makes a child that does what `child` says, and returns its number once it has become its program or is dead. It
    /// runs in the daemon's memory until then, as every `posix_spawn` does: a fork would copy the daemon's page tables, and the
    /// daemon would copy a page for each that it writes next (ADR 0004).
    pub(in crate::spawn) fn fork(child: &Child, number: &Number) -> nix::Result<Pid> {
        let mut stack = MaybeUninit::<Stack>::uninit();
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PARENT_SETTID | libc::SIGCHLD;
        let child = ptr::from_ref(child).cast_mut().cast();
        // SAFETY: `clone` returns here when the child has left this memory, so that `child`, `number` and the stack
        // outlive it, and nothing of this thread is used by both at once. The child writes nothing but its own stack
        // and what libc keeps of this thread for its calls, such as `errno`; it neither returns nor unwinds. The kernel writes `number` before the child's first step.
        let pid = unsafe { libc::clone(run, stack.as_mut_ptr().add(1).cast(), flags, child, number.as_ptr()) };
        Errno::result(pid).map(Pid::from_raw)
    }

    extern "C" fn run(child: *mut libc::c_void) -> libc::c_int {
        // SAFETY: it is the reference that `fork` was given, and `fork` waits.
        let child = unsafe { &*child.cast::<Child>() };
        child.run()
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use super::{Child, Number, Pid};
    use nix::unistd::{ForkResult, fork as fork_whole};
    use std::sync::atomic::Ordering;

    /// Makes a child that does what `child` says, and returns its number at once.
    pub(in crate::spawn) fn fork(child: &Child, number: &Number) -> nix::Result<Pid> {
        // SAFETY: `Child::run` makes system calls on memory that exists before, takes no lock, neither allocates nor
        // frees, and does not return.
        match unsafe { fork_whole() }? {
            ForkResult::Child => child.run(),
            ForkResult::Parent { child } => {
                number.0.store(child.as_raw(), Ordering::Release);
                Ok(child)
            }
        }
    }
}

/// Reaps a child. Returns how it ended, or none when it has not and `options` say not to wait.
pub(super) fn wait(pid: Pid, options: libc::c_int) -> io::Result<Option<ExitStatus>> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is a number that may be written.
        let reaped = unsafe { libc::waitpid(pid.as_raw(), &raw mut status, options) };
        match Errno::result(reaped) {
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(Some(ExitStatus::from_raw(status))),
            Err(Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}
