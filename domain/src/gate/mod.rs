//! The gate: a line in, a verdict out. Pure and synchronous; facts come in, nothing is looked up (ADR-0022, D10-D12).

mod argv;
mod clearance;
mod confine;
mod denial;
mod doors;
mod environment;
mod format;
mod hint;
mod inject;
mod matcher;
mod misplaced;
mod operands;
mod pathspec;
mod pipes;
mod place;
mod policy;
mod refused;
mod render;
mod revision;
mod rule;
mod shell;
mod unfit;
mod unknown;
mod value;
mod words;

pub use clearance::*;
pub use denial::*;
pub use doors::*;
pub use environment::{disarmed_git_environment, environment, git_environment};
pub use render::render;
pub use rule::{Operands, Opt, Rule, Takes, Value};

use doors::judge;

/// The seven programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Program {
    /// cat
    Cat,
    /// git
    Git,
    /// grep
    Grep,
    /// head
    Head,
    /// ls
    Ls,
    /// tail
    Tail,
    /// wc
    Wc,
}

impl Program {
    /// All of them, by name.
    pub const ALL: [Self; 7] = [Self::Cat, Self::Git, Self::Grep, Self::Head, Self::Ls, Self::Tail, Self::Wc];

    /// Returns its bare name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cat => "cat",
            Self::Git => "git",
            Self::Grep => "grep",
            Self::Head => "head",
            Self::Ls => "ls",
            Self::Tail => "tail",
            Self::Wc => "wc",
        }
    }

    /// Returns the program of exactly that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|program| program.name() == name)
    }
}

/// The five verbs of git.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// git branch
    Branch,
    /// git diff
    Diff,
    /// git log
    Log,
    /// git show
    Show,
    /// git status
    Status,
}

impl Verb {
    /// All of them, by name.
    pub const ALL: [Self; 5] = [Self::Branch, Self::Diff, Self::Log, Self::Show, Self::Status];

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::Diff => "diff",
            Self::Log => "log",
            Self::Show => "show",
            Self::Status => "status",
        }
    }

    /// Returns the verb of exactly that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.name() == name)
    }
}

/// Returns the table, one row per program and verb.
#[must_use]
pub fn rows() -> &'static [Rule] {
    policy::POLICY
}

#[cfg(test)]
mod tests;
