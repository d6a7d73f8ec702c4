//! A Turn: one question and all that follows until the answer is done. Rows, not a stack frame (D16).

mod at_work;
mod command;
mod event;
mod look;
mod look_jobs;
mod reply;
mod service;
mod stored;
pub mod told;
pub mod tools;

pub use event::*;
pub use service::*;
pub use stored::*;

use crate::{
    ids::{ConversationId, TurnId},
    provider::{ModelRef, TurnError, Usage},
    text::AbsPath,
    time::Timestamp,
};

/// A Turn as it is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// Its id.
    pub id: TurnId,
    /// In which Conversation.
    pub conversation: ConversationId,
    /// How far it is.
    pub state: TurnState,
    /// Where its commands run unless a call names another directory.
    pub workdir: Option<AbsPath>,
    /// Which model is asked.
    pub model: ModelRef,
    /// What becomes of a command that would have to be asked about.
    pub on_consent: OnConsent,
    /// Whether tools are offered to the model.
    pub tools: bool,
    /// How many requests were answered.
    pub rounds: u32,
    /// When it began.
    pub started_at: Timestamp,
    /// What it used.
    pub usage: Usage,
    /// How many older Items no longer fitted into what was sent.
    pub left_out: u32,
}

/// How far a Turn is.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnState {
    /// Something is going on.
    Running,
    /// At least one Proposal waits, and nothing else is going on.
    AwaitingConsent,
    /// It is over.
    Finished(Ended),
}

/// How and when a Turn ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// How.
    pub ending: Ending,
    /// When.
    pub at: Timestamp,
}

/// How a Turn ends. Only the first two are ordinary.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// The model had said all.
    EndTurn,
    /// A stop sequence.
    StopSequence,
    /// The reply's length limit.
    MaxTokens,
    /// The model declined.
    Refusal,
    /// A filter.
    ContentFilter,
    /// The context is full.
    ContextFull,
    /// The bound on rounds.
    RoundLimit,
    /// A client cancelled it.
    Cancelled,
    /// The daemon stopped or died.
    Interrupted,
    /// Something went wrong.
    Error(TurnError),
}

impl Ending {
    /// Returns its name on the wire and in the store.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::StopSequence => "stop_sequence",
            Self::MaxTokens => "max_tokens",
            Self::Refusal => "refusal",
            Self::ContentFilter => "content_filter",
            Self::ContextFull => "context_full",
            Self::RoundLimit => "round_limit",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
            Self::Error(_) => "error",
        }
    }
}

/// What becomes of a command that would have to be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConsent {
    /// A person is asked.
    Ask,
    /// It is denied at once; Grants still apply. For scripts.
    Deny,
}

impl OnConsent {
    /// Returns its name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}
