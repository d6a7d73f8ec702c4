//! What a Conversation is made of: a user message, an assistant message, a command, a lookup.

use crate::{
    gate::{Confinement, Denial, Shown},
    ids::{ConversationId, GrantId, ItemId, ProposalId, Seq, TurnId},
    text::{AbsPath, Clipped},
    time::Timestamp,
};
use alloc::{boxed::Box, string::String};
use core::time::Duration;

/// One Item. Open until `completed_at` is set; never changes after that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its id.
    pub id: ItemId,
    /// In which Conversation.
    pub conversation: ConversationId,
    /// In which Turn.
    pub turn: TurnId,
    /// The number of its first event.
    pub seq: Seq,
    /// When it began.
    pub created_at: Timestamp,
    /// When it was whole; none while it is open.
    pub completed_at: Option<Timestamp>,
    /// What it is.
    pub body: ItemBody,
}

/// What an Item is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemBody {
    /// A question.
    User {
        /// The question.
        text: String,
    },
    /// The text of one reply.
    Assistant {
        /// The words.
        text: String,
        /// The reasoning, as far as it was told.
        reasoning: String,
        /// False when the reply was cut off.
        complete: bool,
    },
    /// Something that Owl knows and the model read; needs no consent (D15).
    Lookup(Lookup),
    /// A command that the model asked for.
    Command(Box<CommandItem>),
}

/// Something that Owl knows and the model read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lookup {
    /// The tool.
    pub tool: String,
    /// What it was given, as the JSON object that came; `{}` when that was none.
    pub input: String,
    /// What the model got.
    pub result: String,
    /// Whether it could not be told.
    pub failed: bool,
}

/// A command that the model asked for, run or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandItem {
    /// The line as the model wrote it.
    pub requested: String,
    /// Where; none when the call named no directory that is known.
    pub workdir: Option<AbsPath>,
    /// What it became; none when the gate denied the line.
    pub shown: Option<Shown>,
    /// The Proposal.
    pub proposal: Option<ProposalId>,
    /// The Grant it ran under, unasked.
    pub grant: Option<GrantId>,
    /// When its start was stored.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// What came of it; none while it is open.
    pub outcome: Option<CommandOutcome>,
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandOutcome {
    /// It was started and ended, in whatever way.
    Ran(CommandResult),
    /// The gate said no, before anybody was asked or on the second pass.
    GateDenied(Denial),
    /// A person said no.
    Denied,
    /// Nobody answered.
    Expired,
    /// The Turn ended before anybody answered.
    Cancelled,
    /// It was allowed and could not be started.
    Failed {
        /// Why, for people.
        reason: String,
    },
    /// Its start was stored, and the daemon died while it ran.
    Interrupted,
}

impl CommandOutcome {
    /// The names on the wire and in the store.
    pub const NAMES: [&'static str; 7] =
        ["ran", "gate_denied", "denied", "expired", "cancelled", "failed", "interrupted"];

    /// Returns its name on the wire and in the store.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Ran(_) => "ran",
            Self::GateDenied(_) => "gate_denied",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Failed { .. } => "failed",
            Self::Interrupted => "interrupted",
        }
    }

    /// Returns how it ended, when it was started and that is known.
    pub const fn result(&self) -> Option<&CommandResult> {
        if let Self::Ran(result) = self { Some(result) } else { None }
    }

    /// Returns the gate's no.
    pub const fn denial(&self) -> Option<&Denial> {
        if let Self::GateDenied(denial) = self { Some(denial) } else { None }
    }

    /// Returns why it could not be started, for people.
    pub fn failure(&self) -> Option<&str> {
        if let Self::Failed { reason } = self { Some(reason) } else { None }
    }
}

/// How a command that was started ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandResult {
    /// Why it ended.
    pub ended_by: CommandEnd,
    /// Its exit status, when it exited.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<String>,
    /// How long it ran.
    pub duration: Duration,
    /// What it printed on standard output.
    pub stdout: Clipped,
    /// What it printed on standard error.
    pub stderr: Clipped,
    /// What it ran under.
    pub confinement: Confinement,
}

/// Why a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEnd {
    /// It exited.
    Exit,
    /// A signal that Owl did not send.
    Signal,
    /// Its deadline.
    Timeout,
    /// Its Turn was cancelled.
    Cancel,
    /// The daemon stopped.
    Shutdown,
}

impl CommandEnd {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Exit, Self::Signal, Self::Timeout, Self::Cancel, Self::Shutdown];

    /// Returns its name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exit => "exit",
            Self::Signal => "signal",
            Self::Timeout => "timeout",
            Self::Cancel => "cancel",
            Self::Shutdown => "shutdown",
        }
    }
}

/// A part of an Item that grows while it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// An assistant's words.
    Text,
    /// An assistant's reasoning.
    Reasoning,
    /// What a command prints, as far as the head keeps it.
    Stdout,
    /// Likewise on standard error.
    Stderr,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Text, Self::Reasoning, Self::Stdout, Self::Stderr];

    /// Returns its name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Reasoning => "reasoning",
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}
