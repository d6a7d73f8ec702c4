//! "Remember for this conversation": a row that says what it covers before it is given (D8).

use super::By;
use crate::{
    gate::{Program, Shown, Verb},
    ids::{ConversationId, GrantId, ProposalId},
    text::AbsPath,
    time::Timestamp,
};
use alloc::{format, string::String};

/// An answer that is remembered: same program and verb, same workdir, one Conversation. Never skips the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Its id.
    pub id: GrantId,
    /// In which Conversation it holds.
    pub conversation: ConversationId,
    /// What it covers.
    pub scope: Scope,
    /// When it was given.
    pub created_at: Timestamp,
    /// The Proposal whose answer made it.
    pub created_from: ProposalId,
    /// Who gave it.
    pub granted_by: By,
    /// How many commands ran under it.
    pub uses: u64,
    /// When the last one did.
    pub last_used_at: Option<Timestamp>,
    /// When it was taken back.
    pub revoked_at: Option<Timestamp>,
}

/// What a Grant covers, and all that it covers. Program and verb are those of the gate's table, so there are eleven
/// kinds for a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope {
    /// The program.
    pub program: Program,
    /// The verb, for git.
    pub verb: Option<Verb>,
    /// The directory.
    pub workdir: AbsPath,
}

impl Scope {
    /// Returns the scope that a Grant for this command would have.
    pub fn of(shown: &Shown) -> Self {
        Self { program: shown.program, verb: shown.verb, workdir: shown.workdir.clone() }
    }

    /// Says what it is for, such as `git log in /home/u/my-app`, on one line; the directory is quoted as a word of a
    /// command is, so that it cannot look like another.
    pub fn what(&self) -> String {
        let workdir = crate::show::quote_argv(&[String::from(self.workdir.as_str())]);
        match self.verb {
            Some(verb) => format!("{} {} in {workdir}", self.program.name(), verb.name()),
            None => format!("{} in {workdir}", self.program.name()),
        }
    }

    /// Says the whole sentence that a person reads before giving it.
    pub fn sentence(&self) -> String {
        format!("{}, in this conversation, until revoked", self.what())
    }
}
