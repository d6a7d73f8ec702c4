//! What a person is shown, and what the runner takes. Only [`super::clear`] makes a [`Cleared`] (ADR-0022, D9, D11).

use super::{Program, Verb};
use crate::{
    ports::{GitHome, Handle, Hidden},
    project::Workdir,
    text::AbsPath,
};
use alloc::{string::String, vec::Vec};

/// Which of the kernel's guards a command runs under, beside the gate (D13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confinement {
    /// Neither, or the configuration says `off`.
    Gate,
    /// No seccomp.
    Landlock,
    /// No Landlock, or one too old.
    Seccomp,
    /// Both.
    Both,
}

impl Confinement {
    /// Every value.
    pub const ALL: [Self; 4] = [Self::Gate, Self::Landlock, Self::Seccomp, Self::Both];

    /// Returns its name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::Landlock => "gate+landlock",
            Self::Seccomp => "gate+seccomp",
            Self::Both => "gate+landlock+seccomp",
        }
    }
}

/// What the configuration asks of the kernel (`sandbox`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sandbox {
    /// Use what there is, and say what is missing.
    Auto,
    /// Refuse every command unless both guards hold.
    Required,
    /// Use neither, and say so.
    Off,
}

/// Everything that a person is shown of a command before it runs, and the digest over it (D9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The line as the model wrote it.
    pub requested: String,
    /// Which program it is.
    pub program: Program,
    /// Which verb, for git.
    pub verb: Option<Verb>,
    /// The absolute path that `execve` gets.
    pub path: AbsPath,
    /// Exactly what `execve` gets, the program's name first.
    pub argv: Vec<String>,
    /// Indexes into `argv` of Owl's own words, ascending.
    pub added: Vec<usize>,
    /// The complete environment, sorted by name.
    pub env: Vec<(String, String)>,
    /// The directory it runs in.
    pub workdir: AbsPath,
    /// What it will run under.
    pub confinement: Confinement,
    /// The digest over program, workdir, argv, added and env, as rpc.md 4.3 writes it.
    pub digest: Digest,
}

/// A SHA-256 as it is written on the wire: `sha256:` and 64 hex digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(String);

impl Digest {
    /// Takes a digest as it was stored or sent; whether it is the right one is for a comparison to say.
    pub fn as_written(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns it as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A command that passed the whole gate just now and is exactly what was shown. Not `Clone`: one clearance, one run.
#[derive(Debug)]
pub struct Cleared {
    pub(super) shown: Shown,
    pub(super) workdir: Workdir,
    pub(super) root: Handle,
    pub(super) reach: Reach,
}

impl Cleared {
    /// Returns what was shown, and therefore runs.
    pub fn shown(&self) -> &Shown {
        &self.shown
    }

    /// Returns the directory it runs in, with its pins.
    pub fn workdir(&self) -> &Workdir {
        &self.workdir
    }

    /// Returns the open directory it runs in: the one that the path check looked from.
    pub fn root(&self) -> &Handle {
        &self.root
    }

    /// Returns what the program may reach, for the kernel's rules.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }
}

/// What a command needs to reach; the kernel refuses the rest (D13, gate.md 9).
#[derive(Debug)]
pub enum Reach {
    /// What the operands of a program other than git lead to.
    Operands(Vec<Reached>),
    /// What git needs: the work tree, the pinned directories, the one that Owl owns, lenders' objects.
    Git(GitHome),
}

/// One operand, by the descriptor that the path check opened.
#[derive(Debug)]
pub struct Reached {
    /// The open descriptor.
    pub handle: Handle,
    /// How far it may be used.
    pub access: Access,
}

/// How far an operand may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// Read this one file.
    ReadFile,
    /// List this directory and those below.
    List,
    /// List all below but these.
    ListTree(Vec<Hidden>),
    /// Read and list all below but these.
    ReadTree(Vec<Hidden>),
}
