//! What a child tells over its pipe while it is not its program yet: that it is there, that it goes on, or where it ended
//! and why. The end of the file means that a program runs in it, or that it is dead.

#[cfg(target_os = "linux")]
use nix::unistd;
use nix::{errno::Errno, unistd::Pid};
use std::{fmt, io};
use tokio::{io::AsyncReadExt, net::unix::pipe};

/// One thing that a child tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// It is there under this number, confined, and holds no descriptor but its own.
    Placed(Pid),
    /// It was let go; what follows is `execve`.
    Begins,
    /// It did not become its program.
    Failed(Failure),
}

/// Where a child ended that did not become its program, and the system's number for why.
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
    Group,
    Streams,
    Directory,
    Limits,
    Landlock,
    Seccomp,
    Signals,
    Program,
    /// No failure: the answer of a probe.
    Probed,
}

impl Stage {
    pub(super) const ALL: [Self; 10] = [
        Self::Parent,
        Self::Group,
        Self::Streams,
        Self::Directory,
        Self::Limits,
        Self::Landlock,
        Self::Seccomp,
        Self::Signals,
        Self::Program,
        Self::Probed,
    ];

    /// Returns the failure of this stage. Called in the child: MUST NOT allocate.
    pub(crate) fn failed(self, errno: Errno) -> Failure {
        Failure { stage: self, value: errno as i32 }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.stage {
            Stage::Parent => "it lost its parent",
            Stage::Group => "it cannot lead a process group",
            Stage::Streams => "its input and output cannot be connected",
            Stage::Directory => "its directory cannot be entered",
            Stage::Limits => "its limits cannot be set",
            Stage::Landlock => "Landlock could not be applied",
            Stage::Seccomp => "the seccomp filter could not be applied",
            Stage::Signals => "its signals cannot be set",
            Stage::Program => "the program cannot be executed",
            Stage::Probed => "it was only a probe",
        };
        write!(f, "{what}: {}", io::Error::from_raw_os_error(self.value))
    }
}

impl Told {
    pub(super) const BYTES: usize = 5;
    /// The kinds that are no stage.
    const PLACED: u8 = 0x80;
    const BEGINS: u8 = 0x81;

    /// Called in the child: MUST NOT allocate.
    pub(super) fn encode(self) -> [u8; Self::BYTES] {
        let (kind, value) = match self {
            Self::Placed(pid) => (Self::PLACED, pid.as_raw()),
            Self::Begins => (Self::BEGINS, 0),
            Self::Failed(Failure { stage, value }) => (stage as u8, value),
        };
        let [a, b, c, d] = value.to_le_bytes();
        [kind, a, b, c, d]
    }

    pub(super) fn decode([kind, value @ ..]: [u8; Self::BYTES]) -> Option<Self> {
        let value = i32::from_le_bytes(value);
        match kind {
            Self::PLACED => Some(Self::Placed(Pid::from_raw(value))),
            Self::BEGINS => Some(Self::Begins),
            kind => {
                let stage = Stage::ALL.into_iter().find(|stage| *stage as u8 == kind)?;
                Some(Self::Failed(Failure { stage, value }))
            }
        }
    }
}

/// Returns what a child has told and nobody has read, without waiting for more.
#[cfg(target_os = "linux")]
pub(super) fn rest(from: &pipe::Receiver) -> Vec<Told> {
    let mut bytes = [0; 8 * Told::BYTES];
    // Not through the runtime, which may not have heard yet that there is something.
    let length = loop {
        match unistd::read(from, &mut bytes) {
            Err(Errno::EINTR) => {}
            read => break read.unwrap_or_default(),
        }
    };
    let (told, _) = bytes.get(..length).unwrap_or_default().as_chunks();
    told.iter().copied().filter_map(Told::decode).collect()
}

/// Waits for the next thing that a child tells; none when it tells nothing more.
pub(super) async fn next(from: &mut pipe::Receiver) -> io::Result<Option<Told>> {
    let mut bytes = [0; Told::BYTES];
    // A child writes each at once, and so it comes whole or not at all.
    match from.read_exact(&mut bytes).await {
        Ok(_) => Ok(Told::decode(bytes)),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(e) => Err(e),
    }
}
