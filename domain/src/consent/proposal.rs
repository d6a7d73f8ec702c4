//! A command that waits for a person, and the one outcome it can have.

use super::By;
use crate::{
    gate::Shown,
    ids::{ConversationId, GrantId, ItemId, ProposalId, TurnId},
    text::{ProjectName, Reason},
    time::Timestamp,
};

/// A command that was shown to people before anything ran. Its outcome is decided once, by one compare-and-set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Its id.
    pub id: ProposalId,
    /// In which Conversation.
    pub conversation: ConversationId,
    /// In which Turn.
    pub turn: TurnId,
    /// The Item that shows the command.
    pub item: ItemId,
    /// When it was made.
    pub created_at: Timestamp,
    /// Until when it may be answered.
    pub expires_at: Timestamp,
    /// Exactly what will run.
    pub shown: Shown,
    /// The Project its workdir belongs to.
    pub project: ProjectName,
    /// The outcome; none while it is pending.
    pub decision: Option<Decision>,
    /// When its start was stored. Once set, it never runs again.
    pub started_at: Option<Timestamp>,
}

impl Proposal {
    /// Returns its state's name on the wire and in the store.
    pub fn state(&self) -> &'static str {
        self.decision.as_ref().map_or("pending", |decision| decision.outcome.name())
    }
}

/// How a Proposal was decided. Never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The outcome.
    pub outcome: Outcome,
    /// Who decided.
    pub by: By,
    /// When.
    pub at: Timestamp,
    /// What the person said when refusing.
    pub reason: Option<Reason>,
    /// The Grant that it ran under, or that the answer made.
    pub grant: Option<GrantId>,
}

/// The four outcomes. Each is final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// A person, or a Grant of theirs, said yes.
    Allowed,
    /// A person said no, or said so beforehand for the whole Turn.
    Denied,
    /// Nobody answered.
    Expired,
    /// The Turn ended first.
    Cancelled,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Allowed, Self::Denied, Self::Expired, Self::Cancelled];

    /// Returns its name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns the outcome of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }
}
