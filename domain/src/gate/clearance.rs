//! What a person is shown, and what the runner takes. Only [`super::clear`] makes a [`Cleared`] (ADR-0022, D9, D11).

use super::{Program, Verb};
use crate::{
    ports::{GitHome, Handle, Hidden},
    project::Workdir,
    text::AbsPath,
};
use alloc::{
    string::{String, ToString as _},
    vec::Vec,
};
use core::fmt;
use sha2::{Digest as _, Sha256};

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

/// Returns the digest over what a person is shown: each part written as its length in bytes, `:`, its bytes and `,`, in
/// the order of the fields; lists begin with their length.
#[must_use]
pub fn digest(
    program: &AbsPath,
    workdir: &AbsPath,
    argv: &[String],
    added: &[usize],
    env: &[(String, String)],
) -> Digest {
    let mut parts = Parts(Sha256::new());
    parts.push("owl-proposal-1");
    parts.push(program.as_str());
    parts.push(workdir.as_str());
    parts.push(&argv.len().to_string());
    argv.iter().for_each(|word| parts.push(word));
    parts.push(&added.len().to_string());
    added.iter().for_each(|index| parts.push(&index.to_string()));
    parts.push(&env.len().to_string());
    let mut variables: Vec<String> = env.iter().map(|(name, value)| [name, "=", value].concat()).collect();
    variables.sort_unstable();
    variables.iter().for_each(|variable| parts.push(variable));
    let mut text = String::from("sha256:");
    for byte in parts.0.finalize() {
        for half in [byte >> 4, byte & 15] {
            text.extend(char::from_digit(u32::from(half), 16));
        }
    }
    Digest(text)
}

struct Parts(Sha256);

impl Parts {
    fn push(&mut self, part: &str) {
        self.0.update(part.len().to_string());
        self.0.update(":");
        self.0.update(part);
        self.0.update(",");
    }
}

/// What a Grant covers: every line of the same row, in one workdir and Conversation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Coverage {
    /// The program.
    pub program: Program,
    /// The verb, for git.
    pub verb: Option<Verb>,
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.program.name())?;
        match self.verb {
            Some(verb) => write!(f, " {}", verb.name()),
            None => Ok(()),
        }
    }
}

impl Shown {
    /// Returns what a Grant for this command would cover.
    pub fn coverage(&self) -> Coverage {
        Coverage { program: self.program, verb: self.verb }
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
