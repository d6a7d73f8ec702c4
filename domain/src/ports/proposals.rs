//! Proposals and Grants as rows: one outcome, by one compare-and-set on the stored row (ADR-0022, D8).

use super::{Moved, Settled, StoreError};
use crate::{
    consent::{Answer, Answered, By, Decision, Grant, Outcome, Proposal},
    conversation::{Page, PageError, Paged},
    gate::{Digest, Shown},
    ids::{ConversationId, GrantId, ProposalId, TurnId},
    project::Workdir,
    time::Timestamp,
    turn::CallRef,
};
use alloc::{boxed::Box, vec::Vec};
use async_trait::async_trait;

/// Keeps Proposals. Each change is one transaction with its events.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Proposals: Send + Sync {
    /// Stores a Proposal and its Item: `item.started`, `proposal.created`, and `proposal.resolved` when it is decided at
    /// once: `allowed` when a Grant of the Conversation covers it (looked up in the same transaction, and counted), else
    /// `denied` when its Turn said so beforehand.
    ///
    /// # Errors
    /// [`OpenError`]: nothing was stored.
    async fn open(&self, new: NewProposal, now: Timestamp) -> Result<Proposal, OpenError>;

    /// Returns a Proposal; none when there is none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn get(&self, id: ProposalId) -> Result<Option<Proposal>, StoreError>;

    /// Returns a page of Proposals, oldest first.
    ///
    /// # Errors
    /// [`PageError`].
    async fn list(&self, filter: ProposalFilter, page: Page) -> Result<Paged<Proposal>, PageError>;

    /// Decides a Proposal that is pending and not past its deadline; both stand in the `WHERE`. Makes a Grant when the
    /// answer says so and none like it exists. `proposal.resolved`, `grant.created`. One that is past its deadline
    /// becomes `expired` here.
    ///
    /// # Errors
    /// [`AnswerError`] says what it was not.
    async fn answer(&self, answer: Answer, by: By, now: Timestamp) -> Result<Answered, AnswerError>;

    /// Makes every pending Proposal past its deadline `expired`, each by the same compare-and-set. Returns their Turns.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn expire_due(&self, now: Timestamp) -> Result<Vec<TurnId>, StoreError>;

    /// Returns the next deadline of a pending Proposal.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn next_deadline(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Stores that a Proposal starts, before its `execve`: `command.started`. Loses unless it is allowed, was never
    /// started, and its Turn is neither cancelling nor closed.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn start(&self, id: ProposalId, pid: u32, now: Timestamp) -> Result<Moved, StoreError>;

    /// Closes the Item of a Proposal's command and answers its call: `command.finished` when it ran, `item.completed`.
    /// Loses when the Item is closed already.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn settle(
        &self,
        id: ProposalId,
        call: CallRef,
        settled: Settled,
        now: Timestamp,
    ) -> Result<Moved, StoreError>;
}

/// Keeps Grants. Only [`Proposals::answer`] makes one.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Grants: Send + Sync {
    /// Returns Grants, newest first; those of one Conversation when one is named.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn list(
        &self,
        conversation: Option<ConversationId>,
        revoked: RevokedGrants,
    ) -> Result<Vec<Grant>, StoreError>;

    /// Takes a Grant back: `grant.revoked`. Again changes nothing. None when there is none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn revoke(&self, id: GrantId, by: By, now: Timestamp) -> Result<Option<Grant>, StoreError>;
}

/// Whether Grants that were taken back are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevokedGrants {
    /// They are left out.
    LeftOut,
    /// They are listed too.
    Included,
}

/// A Proposal that is to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewProposal {
    /// The call it came from.
    pub call: CallRef,
    /// Exactly what will run.
    pub shown: Shown,
    /// The directory it will run in.
    pub workdir: Workdir,
    /// Until when it may be answered.
    pub expires_at: Timestamp,
}

/// Why a Proposal was not stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// As many wait in this Conversation as may.
    #[error("as many proposals wait in this conversation as may")]
    TooMany,
    /// The call was judged already, or its Turn is closed or cancelling; whoever lost reads it again.
    #[error("the call was judged already")]
    Lost,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Which Proposals are listed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProposalFilter {
    /// Those of one Conversation.
    pub conversation: Option<ConversationId>,
    /// Those in one state.
    pub state: ProposalState,
}

/// In which state a Proposal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProposalState {
    /// Nobody answered yet.
    #[default]
    Pending,
    /// It was decided so.
    Decided(Outcome),
    /// Any.
    All,
}

/// Why an answer decided nothing. Looked for in this order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// There is no such Proposal.
    #[error("there is no such proposal")]
    NotFound,
    /// It is in another Conversation than the client believes.
    #[error("it is in {conversation}")]
    ConversationMismatch {
        /// Where it is.
        conversation: ConversationId,
    },
    /// The client showed something else.
    #[error("what was shown is not what would run")]
    Stale {
        /// Its digest.
        digest: Digest,
    },
    /// It was decided otherwise.
    #[error("{proposal} was already {}", decision.outcome.name())]
    AlreadyResolved {
        /// Which.
        proposal: ProposalId,
        /// How, by whom and when.
        decision: Decision,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
