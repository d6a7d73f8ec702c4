//! A Turn as it is stored, and [`StoredTurn::next`]: the pure heart that says what is due (D16).

use super::{Ending, Turn};
use crate::{
    consent::{Outcome, Proposal},
    conversation::CommandOutcome,
    ids::TurnId,
    limits,
    provider::{Block, Call, ModelRef, ReplyStop},
};
use alloc::{string::String, vec::Vec};

/// A Turn with all that happened in it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTurn {
    /// The Turn.
    pub turn: Turn,
    /// The question.
    pub question: String,
    /// Whether a client cancelled it; it is closed at the next step.
    pub cancelling: bool,
    /// The replies in order.
    pub replies: Vec<StoredReply>,
}

/// One reply of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredReply {
    /// Which model it came from.
    pub model: ModelRef,
    /// Its words, as far as they came.
    pub text: String,
    /// Its parts in order of arrival; empty when it is not whole.
    pub blocks: Vec<Block>,
    /// Why it ended; none when it is not whole.
    pub stop: Option<ReplyStop>,
    /// Its calls, in order. Empty when it is not whole.
    pub calls: Vec<StoredCall>,
}

/// One call of a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredCall {
    /// Where it stands.
    pub at: CallRef,
    /// The call.
    pub call: Call,
    /// How far it is.
    pub progress: CallProgress,
}

/// Where a call stands: its Turn, its reply in it and its place in that, both from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallRef {
    /// The Turn.
    pub turn: TurnId,
    /// The reply.
    pub reply: u32,
    /// The place.
    pub position: u32,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq)]
pub enum CallProgress {
    /// The gate has not seen it.
    Unjudged,
    /// It is a Proposal whose result is not written yet.
    Proposed(Proposal),
    /// The model has, or will get, this result.
    Told(Told),
    /// Its Item is closed and no result was written: made when the history is read.
    Closed(CommandOutcome),
}

/// A call's result in words for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The words.
    pub text: String,
    /// Whether it did not do what was asked.
    pub is_error: bool,
}

/// What is due in a Turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Ask the model.
    Ask,
    /// Let the gate see a call.
    Judge(StoredCall),
    /// Run a Proposal that was allowed.
    Run(CallRef, Proposal),
    /// Tell the model that a Proposal was not allowed.
    Tell(CallRef, Proposal),
    /// Nothing until a person answers, or what runs ends.
    Wait,
    /// End the Turn.
    Close(Ending),
}

impl StoredTurn {
    /// Says what is due. Pure: the same rows give the same step, before a restart and after it.
    #[must_use]
    pub fn next(&self) -> Step {
        self.next_beside(|_| false)
    }

    /// Says what is due beside the calls whose commands somebody runs and watches now: of those only the end is.
    #[must_use]
    pub fn next_beside(&self, runs: impl Fn(CallRef) -> bool) -> Step {
        if self.cancelling {
            return Step::Close(Ending::Cancelled);
        }
        // Only a reply that ended as it should calls anything, whatever stands in the others.
        let carried_out = |reply: &&StoredReply| reply.stop.as_ref().is_some_and(ReplyStop::carries_out_calls);
        let calls = || self.replies.iter().filter(carried_out).flat_map(|reply| &reply.calls);
        let proposed = || {
            calls().filter_map(|call| match &call.progress {
                CallProgress::Proposed(proposal) => Some((call.at, proposal)),
                CallProgress::Unjudged | CallProgress::Told(_) | CallProgress::Closed(_) => None,
            })
        };
        // A start without a result: whoever watched it died. It never runs again, and nothing else of the Turn does.
        if proposed().any(|(at, proposal)| proposal.started_at.is_some() && !runs(at)) {
            return Step::Close(Ending::Interrupted);
        }
        if let Some(call) = calls().find(|call| call.progress == CallProgress::Unjudged) {
            return Step::Judge(call.clone());
        }
        let mut waiting = false;
        let mut decided_otherwise = None;
        for (at, proposal) in proposed() {
            if runs(at) {
                waiting = true;
                continue;
            }
            match proposal.decision.as_ref().map(|decision| decision.outcome) {
                Some(Outcome::Allowed) => return Step::Run(at, proposal.clone()),
                Some(Outcome::Denied | Outcome::Expired | Outcome::Cancelled) => {
                    decided_otherwise = decided_otherwise.or(Some((at, proposal)));
                }
                None => waiting = true,
            }
        }
        if let Some((at, proposal)) = decided_otherwise {
            return Step::Tell(at, proposal.clone());
        }
        if waiting {
            return Step::Wait;
        }
        match self.replies.last() {
            None => Step::Ask,
            // Cut off while it streamed: the model is not asked again by itself.
            Some(StoredReply { stop: None, .. }) => Step::Close(Ending::Interrupted),
            Some(StoredReply { stop: Some(stop), calls, .. }) => match ending(stop, calls) {
                Some(ending) => Step::Close(ending),
                None => self.another_round(),
            },
        }
    }

    /// Returns the Proposals that wait, in order.
    #[must_use]
    pub fn pending(&self) -> Vec<Proposal> {
        let calls = self.replies.iter().flat_map(|reply| &reply.calls);
        calls
            .filter_map(|call| match &call.progress {
                CallProgress::Proposed(proposal) if proposal.decision.is_none() => Some(proposal.clone()),
                CallProgress::Proposed(_)
                | CallProgress::Unjudged
                | CallProgress::Told(_)
                | CallProgress::Closed(_) => None,
            })
            .collect()
    }

    fn another_round(&self) -> Step {
        if self.turn.rounds >= limits::ROUNDS_PER_TURN { Step::Close(Ending::RoundLimit) } else { Step::Ask }
    }
}

/// Returns how a Turn ends whose last reply ended so; none when the model is to be asked again.
fn ending(stop: &ReplyStop, calls: &[StoredCall]) -> Option<Ending> {
    match stop {
        ReplyStop::Done if !calls.is_empty() => None,
        ReplyStop::Done => Some(Ending::EndTurn),
        ReplyStop::StopSequence => Some(Ending::StopSequence),
        ReplyStop::MaxTokens => Some(Ending::MaxTokens),
        ReplyStop::Refusal { .. } => Some(Ending::Refusal),
        ReplyStop::ContentFilter => Some(Ending::ContentFilter),
        ReplyStop::ContextFull => Some(Ending::ContextFull),
        ReplyStop::Pause => None,
    }
}

/// Says what becomes of a command Item that is open when its Turn is closed. Pending Proposals have been cancelled by
/// then, in the same transaction.
#[must_use]
pub fn outcome_at_close(proposal: &Proposal) -> CommandOutcome {
    let outcome = proposal.decision.as_ref().map(|decision| decision.outcome);
    match outcome {
        Some(Outcome::Allowed) if proposal.started_at.is_some() => CommandOutcome::Interrupted,
        Some(Outcome::Allowed) => CommandOutcome::Failed { reason: String::from("its turn had ended") },
        Some(Outcome::Denied) => CommandOutcome::Denied,
        Some(Outcome::Expired) => CommandOutcome::Expired,
        Some(Outcome::Cancelled) | None => CommandOutcome::Cancelled,
    }
}

#[cfg(test)]
mod tests;
