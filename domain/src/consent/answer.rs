//! What a person may say to a Proposal, and what they are told.

use super::{Decision, Proposal};
use crate::{
    gate::Digest,
    ids::{ConversationId, ProposalId},
    text::Reason,
};
use alloc::string::String;

/// Who did something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    /// A client of the socket.
    Client(Peer),
    /// Decided beforehand by the client that sent the Turn, with `on_consent: deny`.
    Turn(Peer),
    /// A Grant covered it.
    Grant,
    /// A deadline, or a Turn that ended.
    Owl,
}

impl By {
    /// Returns the kind's name on the wire and in the store.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Client(_) => "client",
            Self::Turn(_) => "turn",
            Self::Grant => "grant",
            Self::Owl => "owl",
        }
    }

    /// Returns the peer, when there is one.
    pub const fn peer(&self) -> Option<&Peer> {
        match self {
            Self::Client(peer) | Self::Turn(peer) => Some(peer),
            Self::Grant | Self::Owl => None,
        }
    }
}

/// A peer of the socket, as the kernel tells it when it connects.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Peer {
    /// Its process id.
    pub pid: Option<i32>,
    /// Its user.
    pub uid: Option<u32>,
    /// The name of its program.
    pub program: Option<String>,
}

/// An answer to a Proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// To which.
    pub proposal: ProposalId,
    /// What.
    pub verdict: Said,
    /// The digest that the client showed, when it says so.
    pub digest: Option<Digest>,
    /// Where the client believes the Proposal is, when it says so.
    pub conversation: Option<ConversationId>,
}

/// What a person says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Run it, this once.
    AllowOnce,
    /// Run it, and later ones like it in this Conversation.
    AllowForConversation,
    /// Do not run it.
    Deny(Option<Reason>),
}

/// What the answerer is told: the Proposal as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The Proposal, decided.
    pub proposal: Proposal,
    /// How it was decided.
    pub decision: Decision,
    /// Whether this answer decided it.
    pub won: bool,
}
