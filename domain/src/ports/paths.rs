//! Where an operand really leads (ADR-0022, D12, gate.md 7). The gate judges; this port only tells facts.

use crate::{project::Workdir, text::AbsPath};
use alloc::{boxed::Box, string::String, sync::Arc, vec::Vec};
use async_trait::async_trait;
use core::{any::Any, fmt};

/// Tells where words lead, from the workdir's root.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Paths: Send + Sync {
    /// Opens the workdir's root, checks that it is still the pinned directory, and looks each word up from there. MUST
    /// NOT open anything for reading (a FIFO would block), follow a magic link, or look at a word with a NUL.
    /// Returns one place per look, in their order.
    ///
    /// # Errors
    /// [`LocateError`] when the workdir itself is not what it was.
    async fn locate(&self, workdir: &Workdir, looks: &[Look]) -> Result<Located, LocateError>;

    /// Returns where a path leads, every link resolved; none when nothing is there or it is not UTF-8.
    async fn resolve(&self, path: &AbsPath) -> Option<AbsPath>;
}

/// One word to look up, relative to the workdir. The gate has already refused what is wrong as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The path as written, not empty, not absolute.
    pub word: String,
    /// Whether what lies below matters too.
    pub depth: Depth,
}

/// How far to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The thing itself.
    Entry,
    /// All below a directory, for git directories in it.
    Tree,
}

/// The answers, and the root they were looked up from.
#[derive(Debug, Clone)]
pub struct Located {
    /// The open root of the workdir.
    pub root: Handle,
    /// One place per look, in their order.
    pub places: Vec<Place>,
}

/// Where one word leads.
#[derive(Debug, Clone)]
pub enum Place {
    /// To something inside that is not git data.
    Inside(Found),
    /// Out of the workdir.
    Outside {
        /// Where to, for people: relative to the workdir where that is short, else absolute.
        leads_to: String,
    },
    /// To git data: by name, by device and inode, or because it is a bare repository.
    Git,
    /// To nothing, and no part of it is a link.
    Absent,
    /// To nothing, by way of a link: dangling, a loop, or a name behind a link.
    BrokenLink,
    /// Could not be looked at.
    Unknown {
        /// Why, for people.
        reason: String,
    },
}

/// Something that exists inside the workdir.
#[derive(Debug, Clone)]
pub struct Found {
    /// What it is, links resolved.
    pub kind: FileKind,
    /// Where it is, resolved.
    pub path: AbsPath,
    /// The open descriptor, from which the kernel's rule is made.
    pub handle: Handle,
    /// What is to be left out below it; only for [`Depth::Tree`].
    pub below: Below,
}

/// What a walk below a directory met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Below {
    /// Nobody asked, or it is no directory.
    NotAsked,
    /// The git directories (and a worktree's git files) that were met, as paths below the directory.
    Hidden(Vec<Hidden>),
    /// A git directory has this name, and something else below has it too: a program that leaves out names would leave
    /// out both.
    Shared(Hidden),
    /// More entries than are looked at.
    TooMany,
}

/// Something below a tree that must be left out: its path below the tree, in the file system's bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hidden(pub Vec<u8>);

impl Hidden {
    /// Returns its last component.
    pub fn name(&self) -> &[u8] {
        self.0.rsplit(|b| *b == b'/').next().unwrap_or_default()
    }
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character or block device.
    Device,
}

/// Why a workdir cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocateError {
    /// There is no directory any more.
    #[error("{} is gone", path.as_str())]
    Gone {
        /// Where it was.
        path: AbsPath,
    },
    /// Another directory stands there now.
    #[error("{} is not the directory that was registered", path.as_str())]
    Replaced {
        /// Where.
        path: AbsPath,
    },
    /// It could not be looked at.
    #[error("{} cannot be looked at: {reason}", path.as_str())]
    Unreadable {
        /// Where.
        path: AbsPath,
        /// Why.
        reason: String,
    },
}

/// An open descriptor that the domain carries and never looks into: on Unix an `Arc<std::os::fd::OwnedFd>`. What was
/// checked and what the kernel's rule is made of are thereby the same thing (D13).
#[derive(Clone)]
pub struct Handle(Arc<dyn Any + Send + Sync>);

impl Handle {
    /// Wraps an adapter's descriptor.
    pub fn new<T: Any + Send + Sync>(descriptor: T) -> Self {
        Self(Arc::new(descriptor))
    }

    /// Returns the descriptor, when it is of that type.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handle")
    }
}
