//! What a child does between `fork` and `execve`. Other threads of the daemon may have held any lock at the fork, so
//! nothing here allocates, frees, locks, formats or logs: system calls on data that was made before (D13).

use super::{Failure, Stage};
use crate::wall::{Answer, Confine};
use nix::{
    errno::Errno,
    fcntl::{OFlag, open},
    libc::{self, c_char},
    sys::{
        resource::{Resource, setrlimit},
        stat::Mode,
    },
    unistd::{self, Pid},
};
use std::{
    ffi::{CString, OsString},
    io,
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::{ffi::OsStrExt, process::CommandExt},
    },
    path::Path,
    process::Command,
    ptr,
    sync::atomic::AtomicPtr,
};

/// The exit status of a child that could not become its program.
const NO_PROGRAM: i32 = 127;

/// All that a child needs, made before the fork.
pub(super) struct Child {
    pub(super) parent: Pid,
    pub(super) cwd: OwnedFd,
    pub(super) limits: Vec<Limit>,
    pub(super) confine: Option<Confine>,
    pub(super) then: Then,
    /// Closed by `execve`; before it, a [`Failure`] may be written here.
    pub(super) tell: OwnedFd,
    pub(super) exec: Exec,
    /// Where to stop when descriptors can only be closed one by one.
    pub(super) highest: RawFd,
}

/// One resource's soft and hard limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) resource: Resource,
    pub(crate) soft: u64,
    pub(crate) hard: u64,
}

/// What follows once the child is confined.
pub(super) enum Then {
    /// `execve`.
    Exec,
    /// `execve`, after one byte was read here. At the end of the file it exits and runs nothing.
    Hold(OwnedFd),
    /// Trying what the wall refuses.
    Probe,
}

/// The arguments of `execve`, ready for it.
pub(super) struct Exec {
    program: CString,
    argv: Pointers,
    env: Pointers,
}

/// Strings and the null-terminated array of their addresses. The addresses are of the heap and stay when this moves;
/// `AtomicPtr` has the layout of a pointer and may be sent to the forking thread.
struct Pointers {
    _strings: Vec<CString>,
    array: Vec<AtomicPtr<c_char>>,
}

impl Pointers {
    fn new(strings: Vec<CString>) -> Self {
        let array =
            strings.iter().map(|s| s.as_ptr().cast_mut()).chain([ptr::null_mut()]).map(AtomicPtr::new).collect();
        Self { _strings: strings, array }
    }

    fn as_ptr(&self) -> *const *const c_char {
        self.array.as_ptr().cast()
    }
}

impl Exec {
    pub(super) fn new(program: &Path, argv: &[OsString], env: &[(OsString, OsString)]) -> io::Result<Self> {
        let text = |bytes: Vec<u8>| CString::new(bytes).map_err(io::Error::from);
        let pair = |(name, value): &(OsString, OsString)| text([name.as_bytes(), b"=", value.as_bytes()].concat());
        let argv: io::Result<_> = argv.iter().map(|word| text(word.as_bytes().to_vec())).collect();
        let env: io::Result<_> = env.iter().map(pair).collect();
        let program = text(program.as_os_str().as_bytes().to_vec())?;
        Ok(Self { program, argv: Pointers::new(argv?), env: Pointers::new(env?) })
    }
}

/// Makes the next child of `command` run `child` where std would call `execve`.
pub(super) fn arm(command: &mut Command, mut child: Child) {
    // SAFETY: `Child::run` makes system calls on memory that exists before the fork, takes no lock, neither allocates
    // nor frees, and never returns into std's set-up.
    unsafe {
        command.pre_exec(move || child.run());
    }
}

impl Child {
    fn run(&mut self) -> ! {
        let code = match self.prepare() {
            Ok(readable) => self.go_on(readable),
            Err(failure) => self.tell(failure),
        };
        exit(code)
    }

    /// Sets up the child and puts it behind Landlock, whose rules are a descriptor. Says whether it could read before,
    /// which only a probe wants to know.
    fn prepare(&mut self) -> Result<bool, Failure> {
        #[cfg(target_os = "linux")]
        nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL).map_err(|e| Stage::Parent.failed(e))?;
        // The daemon may have died before the line above took effect; then nobody would ever end this child.
        if unistd::getppid() != self.parent {
            return Err(Stage::Parent.failed(Errno::ESRCH));
        }
        unistd::fchdir(&self.cwd).map_err(|e| Stage::Directory.failed(e))?;
        let readable = matches!(self.then, Then::Probe) && reads();
        if let Some(confine) = &mut self.confine {
            confine.restrict()?;
        }
        Ok(readable)
    }

    /// What needs no descriptor, and so goes on while the daemon stores that the child is there.
    fn bind(&self) -> Result<(), Failure> {
        for limit in &self.limits {
            setrlimit(limit.resource, limit.soft, limit.hard).map_err(|e| Stage::Limits.failed(e))?;
        }
        match &self.confine {
            Some(confine) => confine.filter(),
            None => Ok(()),
        }
    }

    /// Closes what is not the child's, confines it whole, and becomes the program. Returns the exit status of a child
    /// that did not.
    fn go_on(&self, readable: bool) -> i32 {
        let tell = self.tell.as_raw_fd();
        let go = if let Then::Hold(go) = &self.then { go.as_raw_fd() } else { tell };
        close_all_but(go, tell, self.highest);
        if let Err(failure) = self.bind() {
            return self.tell(failure);
        }
        match &self.then {
            Then::Exec => {}
            Then::Hold(go) => {
                if !released(go) {
                    return 0;
                }
            }
            Then::Probe => {
                let abi = self.confine.as_ref().and_then(Confine::landlock_abi);
                let answer =
                    Answer { read_before: readable, read_after: reads(), socket: connects(), fork: forks(), abi };
                return self.tell(Failure { stage: Stage::Probed, value: answer.encode() });
            }
        }
        // SAFETY: the pointers are to a null-terminated string and to null-terminated arrays of such, all owned by
        // `self.exec`, which outlives the call.
        unsafe {
            libc::execve(self.exec.program.as_ptr(), self.exec.argv.as_ptr(), self.exec.env.as_ptr());
        }
        self.tell(Stage::Program.failed(Errno::last()))
    }

    fn tell(&self, failure: Failure) -> i32 {
        match unistd::write(&self.tell, &failure.encode()) {
            // If it could not be written, nobody is left to read it.
            Ok(_) | Err(_) => NO_PROGRAM,
        }
    }
}

/// Waits for the byte that lets it go. At the end of the file whoever held it has let it fall.
fn released(go: &OwnedFd) -> bool {
    let mut byte = [0];
    loop {
        match unistd::read(go, &mut byte) {
            Err(Errno::EINTR) => {}
            read => return read == Ok(1),
        }
    }
}

fn reads() -> bool {
    open(c"/dev/null", OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty()).is_ok()
}

fn connects() -> bool {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
    socket(AddressFamily::Unix, SockType::Stream, SockFlag::empty(), None).is_ok()
}

#[cfg(target_os = "linux")]
fn forks() -> bool {
    // SAFETY: `clone` without flags is `fork` without libc's handlers; the new process only exits.
    let pid = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
    if pid == 0 {
        exit(0);
    }
    if pid > 0 {
        // It exits at once; what it exits with does not matter.
        nix::sys::wait::wait().ok();
    }
    pid > 0
}

#[cfg(not(target_os = "linux"))]
fn forks() -> bool {
    true
}

fn exit(code: i32) -> ! {
    // SAFETY: `_exit` runs no handler and frees nothing.
    unsafe { libc::_exit(code) }
}

/// Closes every descriptor from 3 on but these two: what belongs to the daemon or to a sibling, and std's report of the
/// start, whose end makes `spawn` return in the daemon.
fn close_all_but(one: RawFd, other: RawFd, highest: RawFd) {
    let (low, high) = (one.min(other), one.max(other));
    close(3, low - 1, highest);
    close(low + 1, high - 1, highest);
    close(high + 1, RawFd::MAX, highest);
}

fn close(first: RawFd, last: RawFd, highest: RawFd) {
    if first > last {
        return;
    }
    #[cfg(target_os = "linux")]
    {
        // SAFETY: closes descriptors that nothing in this process uses again.
        let closed = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        if closed == 0 {
            return;
        }
    }
    // Before Linux 5.9, and elsewhere: one by one.
    for fd in first..=last.min(highest) {
        // Most are not open.
        unistd::close(fd).ok();
    }
}
