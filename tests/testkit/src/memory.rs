//! Turns, Proposals and Grants in memory, as their ports say: one lock is the transaction, each change tells its events
//! inside it. For tests of what carries Turns on; what a real store adds is tested with that store.

mod grants;
mod proposals;
mod rows;
mod turns;

use owl_domain::{
    consent::{Grant, Proposal},
    conversation::Item,
    ids::{ConversationId, ProposalId, TurnId},
    ports::StoreError,
    turn::{Event, EventBody, StoredTurn, Turn},
};
use rows::Rows;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Turns, Proposals and Grants in memory. Conversations are known by their ids alone.
///
/// Each call lets other tasks go on before its change and after it, so that a future which is dropped at one of its
/// waits is a daemon that was killed there: with the change made or not, and never half.
#[derive(Debug, Default)]
pub struct MemoryTurns {
    rows: Mutex<Rows>,
    failing: Mutex<Failing>,
}

/// Which changes fail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Failing {
    #[default]
    None,
    /// The one after so many others.
    OneAfter(usize),
    All,
}

impl MemoryTurns {
    /// Makes a Conversation.
    pub fn conversation(&self) -> ConversationId {
        self.rows().add_conversation()
    }

    /// Returns a Turn as it is told.
    pub fn turn(&self, id: TurnId) -> Option<Turn> {
        self.rows().told(id)
    }

    /// Returns a Turn with all that happened in it.
    pub fn stored(&self, id: TurnId) -> Option<StoredTurn> {
        self.rows().stored(id)
    }

    /// Returns the Items of a Turn in order.
    pub fn items(&self, turn: TurnId) -> Vec<Item> {
        self.rows().items_of(turn)
    }

    /// Returns all Proposals in order.
    pub fn proposals(&self) -> Vec<Proposal> {
        self.rows().proposals()
    }

    /// Returns a Proposal.
    pub fn proposal(&self, id: ProposalId) -> Option<Proposal> {
        self.rows().proposal(id)
    }

    /// Returns all Grants in order, those that were taken back too.
    pub fn grants(&self) -> Vec<Grant> {
        self.rows().grants()
    }

    /// Returns all events in order.
    pub fn events(&self) -> Vec<Event> {
        self.rows().events.clone()
    }

    /// Returns the names of all events in order.
    pub fn event_names(&self) -> Vec<&'static str> {
        self.rows().events.iter().map(|event| event.body.name()).collect()
    }

    /// Returns how often each Proposal was started, as the events tell it.
    pub fn starts(&self) -> Vec<ProposalId> {
        let rows = self.rows();
        let started = rows.events.iter().filter_map(|event| match event.body {
            EventBody::CommandStarted { proposal, .. } => Some(proposal),
            _ => None,
        });
        started.collect()
    }

    /// Has one change fail, after so many others that go well.
    pub fn fail_after(&self, changes: usize) {
        *self.failing() = Failing::OneAfter(changes);
    }

    /// Has every change fail until [`heal`](Self::heal).
    pub fn break_down(&self) {
        *self.failing() = Failing::All;
    }

    /// Has changes go well again.
    pub fn heal(&self) {
        *self.failing() = Failing::None;
    }

    /// Forgets what a killed daemon had in memory: text that was appended and not yet written.
    pub fn kill(&self) {
        self.rows().forget_texts();
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failing(&self) -> MutexGuard<'_, Failing> {
        self.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read<T: Send>(&self, read: impl FnOnce(&Rows) -> T + Send) -> T {
        tokio::task::yield_now().await;
        let found = read(&self.rows());
        tokio::task::yield_now().await;
        found
    }

    async fn change<T: Send>(&self, change: impl FnOnce(&mut Rows) -> T + Send) -> Result<T, StoreError> {
        tokio::task::yield_now().await;
        self.may_change()?;
        let changed = change(&mut self.rows());
        tokio::task::yield_now().await;
        Ok(changed)
    }

    fn may_change(&self) -> Result<(), StoreError> {
        let mut failing = self.failing();
        match *failing {
            Failing::None => return Ok(()),
            Failing::OneAfter(0) => *failing = Failing::None,
            Failing::OneAfter(more) => {
                *failing = Failing::OneAfter(more - 1);
                return Ok(());
            }
            Failing::All => {}
        }
        Err(StoreError { file: "memory".into(), reason: "could not be written: a test says so".into() })
    }
}
