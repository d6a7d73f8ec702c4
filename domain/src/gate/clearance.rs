//! What a person is shown, and what the runner takes. Only [`super::clear`] makes a [`Cleared`] (ADR-0022, D9, D11).

use super::{Program, Verb};
use crate::{
    ports::{GitHome, Handle, Hidden},
    project::Workdir,
    text::AbsPath,
};
use alloc::{string::String, vec::Vec};
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
    let mut parts = Parts(Vec::with_capacity(2_048));
    parts.push(&["owl-proposal-1"]);
    parts.push(&[program.as_str()]);
    parts.push(&[workdir.as_str()]);
    parts.push_number(argv.len());
    argv.iter().for_each(|word| parts.push(&[word]));
    parts.push_number(added.len());
    added.iter().for_each(|index| parts.push_number(*index));
    parts.push_number(env.len());
    if env.is_sorted_by(|a, b| whole(a).le(whole(b))) {
        env.iter().for_each(|(name, value)| parts.push(&[name, "=", value]));
    } else {
        let mut sorted: Vec<_> = env.iter().collect();
        sorted.sort_unstable_by(|a, b| whole(a).cmp(whole(b)));
        sorted.into_iter().for_each(|(name, value)| parts.push(&[name, "=", value]));
    }
    let mut text = String::with_capacity(71);
    text.push_str("sha256:");
    for byte in Sha256::digest(&parts.0) {
        for half in [byte >> 4, byte & 15] {
            text.extend(char::from_digit(u32::from(half), 16));
        }
    }
    Digest(text)
}

fn whole((name, value): &(String, String)) -> impl Iterator<Item = u8> {
    name.bytes().chain([b'=']).chain(value.bytes())
}

/// What is hashed: each part behind its length, so that no two lists give the same bytes.
struct Parts(Vec<u8>);

impl Parts {
    /// Writes one part, which is these pieces together.
    fn push(&mut self, pieces: &[&str]) {
        self.push_digits(pieces.iter().map(|piece| piece.len()).sum());
        self.0.push(b':');
        pieces.iter().for_each(|piece| self.0.extend_from_slice(piece.as_bytes()));
        self.0.push(b',');
    }

    /// Writes a number as a part.
    fn push_number(&mut self, number: usize) {
        let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
        self.push_digits(digits);
        self.0.push(b':');
        self.push_digits(number);
        self.0.push(b',');
    }

    fn push_digits(&mut self, number: usize) {
        let from = self.0.len();
        let mut rest = number;
        loop {
            self.0.push(b'0' + (rest % 10) as u8);
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if let Some(digits) = self.0.get_mut(from..) {
            digits.reverse();
        }
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
