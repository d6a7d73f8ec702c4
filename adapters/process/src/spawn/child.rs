//! What a child does until `execve`. It shares the daemon's memory, or is a copy of it in which any lock may be held. So
//! nothing here allocates, frees, locks, formats, logs, or writes anything but its own stack: system calls on data that
//! was made before (D13).

use super::{
    Launch, Start,
    told::{Failure, Stage, Told},
};
use crate::wall::{Answer, Confine};
use nix::{
    errno::Errno,
    fcntl::{OFlag, open},
    libc::{self, c_char},
    sys::{
        resource::{Resource, getrlimit, setrlimit},
        signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction},
        stat::Mode,
    },
    unistd::{self, Pid},
};
use std::{
    ffi::{CString, OsString},
    fs::File,
    io,
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
    ptr,
    sync::atomic::AtomicPtr,
};

/// The exit status of a child that could not become its program.
const NO_PROGRAM: i32 = 127;

/// All that a child needs, made before it.
pub(super) struct Child {
    parent: Pid,
    cwd: OwnedFd,
    stdin: OwnedFd,
    ends: Ends,
    limits: Vec<Limit>,
    confine: Option<Confine>,
    start: Start,
    exec: Exec,
    /// Where to stop when descriptors can only be closed one by one.
    highest: RawFd,
}

/// The child's ends of its pipes.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    /// Where it tells what becomes of it; closed by `execve`.
    pub(super) tell: OwnedFd,
    /// Where it waits for the byte that lets it go, if it is to be held.
    pub(super) wait: Option<OwnedFd>,
}

/// One resource's soft and hard limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) resource: Resource,
    pub(crate) soft: u64,
    pub(crate) hard: u64,
}

/// The arguments of `execve`, ready for it.
struct Exec {
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
    fn new(program: &Path, argv: &[OsString], env: &[(OsString, OsString)]) -> io::Result<Self> {
        let text = |bytes: Vec<u8>| CString::new(bytes).map_err(io::Error::from);
        let pair = |(name, value): &(OsString, OsString)| text([name.as_bytes(), b"=", value.as_bytes()].concat());
        let argv: io::Result<_> = argv.iter().map(|word| text(word.as_bytes().to_vec())).collect();
        let env: io::Result<_> = env.iter().map(pair).collect();
        let program = text(program.as_os_str().as_bytes().to_vec())?;
        Ok(Self { program, argv: Pointers::new(argv?), env: Pointers::new(env?) })
    }
}

impl Child {
    pub(super) fn new(launch: Launch, start: Start, ends: Ends) -> io::Result<Self> {
        let Launch { program, argv, env, cwd, limits, confine } = launch;
        let highest =
            getrlimit(Resource::RLIMIT_NOFILE).map_or(i32::MAX, |(soft, _)| i32::try_from(soft).unwrap_or(i32::MAX));
        Ok(Self {
            parent: unistd::getpid(),
            cwd,
            stdin: File::open("/dev/null")?.into(),
            ends,
            limits,
            confine,
            start,
            exec: Exec::new(&program, &argv, &env)?,
            highest,
        })
    }

    /// Becomes the program, or ends.
    pub(super) fn run(&self) -> ! {
        let code = match self.go() {
            Ok(code) => code,
            Err(failure) => {
                self.tell(Told::Failed(failure));
                NO_PROGRAM
            }
        };
        exit(code)
    }

    /// Returns the exit status of a child that was not to become a program.
    fn go(&self) -> Result<i32, Failure> {
        self.set_up()?;
        let readable = self.start == Start::Probe && reads();
        let abi = self.confine.as_ref().map_or(Ok(None), Confine::restrict)?;
        // Before anything that may wait for a disk: until here it holds the ends of every sibling's pipes, too.
        let kept = [&self.ends.tell, self.ends.wait.as_ref().unwrap_or(&self.ends.tell), &self.cwd];
        close_all_but(kept.map(AsRawFd::as_raw_fd), self.highest);
        unistd::fchdir(&self.cwd).map_err(|e| Stage::Directory.failed(e))?;
        close(self.cwd.as_raw_fd(), self.cwd.as_raw_fd(), self.highest);
        for limit in &self.limits {
            setrlimit(limit.resource, limit.soft, limit.hard).map_err(|e| Stage::Limits.failed(e))?;
        }
        self.confine.as_ref().map_or(Ok(()), Confine::filter)?;
        self.tell(Told::Placed(unistd::getpid()));
        if self.start == Start::Probe {
            let answer = Answer { read_before: readable, read_after: reads(), socket: connects(), fork: forks(), abi };
            return Err(Failure { stage: Stage::Probed, value: answer.encode() });
        }
        if !self.ends.wait.as_ref().is_none_or(released) {
            return Ok(0);
        }
        self.tell(Told::Begins);
        take_signals().map_err(|e| Stage::Signals.failed(e))?;
        // SAFETY: the pointers are to a null-terminated string and to null-terminated arrays of such, all owned by
        // `self.exec`, which outlives the call.
        unsafe {
            libc::execve(self.exec.program.as_ptr(), self.exec.argv.as_ptr(), self.exec.env.as_ptr());
        }
        Err(Stage::Program.failed(Errno::last()))
    }

    /// Makes it a child as any other: it ends with the daemon, leads a group, and has its streams.
    fn set_up(&self) -> Result<(), Failure> {
        #[cfg(target_os = "linux")]
        nix::sys::prctl::set_pdeathsig(Signal::SIGKILL).map_err(|e| Stage::Parent.failed(e))?;
        // The daemon may have died before the line above took effect; then nobody would ever end this child.
        if unistd::getppid() != self.parent {
            return Err(Stage::Parent.failed(Errno::ESRCH));
        }
        let itself = Pid::from_raw(0);
        unistd::setpgid(itself, itself).map_err(|e| Stage::Group.failed(e))?;
        let streams = unistd::dup2_stdin(&self.stdin)
            .and_then(|()| unistd::dup2_stdout(&self.ends.stdout))
            .and_then(|()| unistd::dup2_stderr(&self.ends.stderr));
        streams.map_err(|e| Stage::Streams.failed(e))
    }

    fn tell(&self, told: Told) {
        // If it could not be written, nobody is left to read it.
        unistd::write(&self.ends.tell, &told.encode()).ok();
    }
}

/// Lets signals in again, which the thread that made this child keeps out, with nothing of the daemon's to handle them. What
/// the daemon's own parent had it ignore stays ignored; a broken pipe, which every Rust program ignores, does not. Last of
/// all: before Linux 5.16 a signal that dumps a core ends everything that shares its memory.
fn take_signals() -> nix::Result<()> {
    // Nobody can handle two of them, and nobody does the third, for whose sake libc would take a lock.
    let is_left = |signal: &Signal| matches!(signal, Signal::SIGKILL | Signal::SIGSTOP | Signal::SIGABRT);
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    for signal in Signal::iterator().filter(|signal| !is_left(signal)) {
        // SAFETY: the default action, or what was there before, runs no code of this program.
        unsafe {
            let before = sigaction(signal, &default)?;
            if matches!(before.handler(), SigHandler::SigIgn) && signal != Signal::SIGPIPE {
                sigaction(signal, &before)?;
            }
        }
    }
    SigSet::empty().thread_set_mask()
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

/// Closes every descriptor from 3 on but these: what belongs to the daemon or to a sibling.
fn close_all_but(mut kept: [RawFd; 3], highest: RawFd) {
    kept.sort_unstable();
    let mut first = 3;
    for fd in kept {
        close(first, fd - 1, highest);
        first = fd + 1;
    }
    close(first, RawFd::MAX, highest);
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
