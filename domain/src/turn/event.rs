//! What is told: an event is a row with a number, written in the transaction of the change itself (D7, D16).

use super::Turn;
use crate::{
    consent::{By, Decision, Grant, Proposal},
    conversation::{CommandResult, Conversation, Item},
    gate::Shown,
    ids::{ConversationId, GrantId, ItemId, JobId, ProposalId, RunId, Seq, TurnId},
    job::{Job, RunState},
    provider::{ModelRef, Retrying},
    time::Timestamp,
};
use alloc::boxed::Box;

/// One event, whole. The store makes it, since only there its number is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its number.
    pub seq: Seq,
    /// The number of the one before of the same Conversation or Job.
    pub prev: Option<Seq>,
    /// When it was stored.
    pub at: Timestamp,
    /// What it belongs to.
    pub about: About,
    /// What happened.
    pub body: EventBody,
}

/// What an event belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// A Conversation, and perhaps one of its Turns.
    Conversation(ConversationId, Option<TurnId>),
    /// A Job.
    Job(JobId),
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum EventBody {
    /// A Conversation was made.
    ConversationCreated(Conversation),
    /// Its title, workdir, model or archived changed.
    ConversationUpdated(Conversation),
    /// It was deleted; all its earlier events are gone.
    ConversationDeleted,
    /// A Turn began.
    TurnStarted(Turn),
    /// An Item began.
    ItemStarted(Item),
    /// An Item is whole.
    ItemCompleted(Item),
    /// A Proposal was made.
    ProposalCreated(Box<Proposal>),
    /// A Proposal was decided.
    ProposalResolved {
        /// Which.
        proposal: ProposalId,
        /// Its Item.
        item: ItemId,
        /// How.
        decision: Decision,
    },
    /// A command's start was stored; it runs after that.
    CommandStarted {
        /// Its Item.
        item: ItemId,
        /// Its Proposal.
        proposal: ProposalId,
        /// The Grant it runs under, unasked.
        grant: Option<GrantId>,
        /// Its process id.
        pid: u32,
        /// What runs.
        shown: Box<Shown>,
    },
    /// A command ended.
    CommandFinished {
        /// Its Item.
        item: ItemId,
        /// How; the text it printed is in the Item.
        result: Box<CommandResult>,
    },
    /// A Grant was given.
    GrantCreated {
        /// Which.
        grant: Grant,
        /// By whom.
        by: By,
    },
    /// A Grant was taken back.
    GrantRevoked {
        /// Which.
        grant: Grant,
        /// By whom.
        by: By,
    },
    /// A Provider will be asked again.
    ProviderRetrying {
        /// Which model.
        model: ModelRef,
        /// When and why.
        retrying: Retrying,
    },
    /// A Turn is over.
    TurnFinished(Turn),
    /// A Job moved, or something that is shown of it changed.
    JobChanged(Box<Job>),
    /// A Run moved, or something that is shown of it changed; the whole of it is read by its id.
    RunChanged {
        /// Which.
        run: RunId,
        /// Of which Job.
        job: JobId,
        /// Which attempt, from 1.
        attempt: u32,
        /// How far it is.
        state: RunState,
    },
}

impl EventBody {
    /// The names of all durable events, for clients that choose.
    pub const NAMES: [&'static str; 16] = [
        "conversation.created",
        "conversation.updated",
        "conversation.deleted",
        "turn.started",
        "item.started",
        "item.completed",
        "proposal.created",
        "proposal.resolved",
        "command.started",
        "command.finished",
        "grant.created",
        "grant.revoked",
        "provider.retrying",
        "turn.finished",
        "job.changed",
        "run.changed",
    ];

    /// Returns its name on the wire and in the store.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::ConversationCreated(_) => "conversation.created",
            Self::ConversationUpdated(_) => "conversation.updated",
            Self::ConversationDeleted => "conversation.deleted",
            Self::TurnStarted(_) => "turn.started",
            Self::ItemStarted(_) => "item.started",
            Self::ItemCompleted(_) => "item.completed",
            Self::ProposalCreated(_) => "proposal.created",
            Self::ProposalResolved { .. } => "proposal.resolved",
            Self::CommandStarted { .. } => "command.started",
            Self::CommandFinished { .. } => "command.finished",
            Self::GrantCreated { .. } => "grant.created",
            Self::GrantRevoked { .. } => "grant.revoked",
            Self::ProviderRetrying { .. } => "provider.retrying",
            Self::TurnFinished(_) => "turn.finished",
            Self::JobChanged(_) => "job.changed",
            Self::RunChanged { .. } => "run.changed",
        }
    }
}
