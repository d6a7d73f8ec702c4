//! A Run as it is stored, and [`StoredRun::next`]: the pure heart that says what is due (D22).

use super::{
    AgentEnded, AgentEndedBy, Check, Job, Outcome, Run, RunEnding, RunState, Terms, VerificationKind, verdict,
};
use alloc::string::String;

/// A Run with all that happened in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    /// The Run.
    pub run: Run,
    /// Its Job.
    pub job: Job,
    /// The terms as they stood when it began.
    pub terms: Terms,
    /// How far it came.
    pub stage: Stage,
    /// Whether a client cancelled its Job; it is closed at the next step.
    pub cancelling: bool,
}

/// How far a Run came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Everything is recorded; nothing was started.
    Prepared,
    /// The Agent was started, and its end is not stored.
    AtWork,
    /// The Agent has ended.
    Ended(AgentEnded),
}

/// What is due in a Run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunStep {
    /// Nothing: it is over.
    Nothing,
    /// The Project's setup, in a worktree that has not been through it.
    SetUp,
    /// The Agent.
    Work,
    /// A check.
    Check(Check),
    /// A fresh Agent's review.
    Review,
    /// Its end.
    Close(RunEnding),
}

impl StoredRun {
    /// Says what is due. Pure: the same rows give the same step.
    #[must_use]
    pub fn next(&self) -> RunStep {
        if matches!(self.run.state, RunState::Finished(_)) {
            return RunStep::Nothing;
        }
        if self.cancelling {
            return RunStep::Close(RunEnding { outcome: Outcome::Cancelled, reason: None });
        }
        match &self.stage {
            Stage::Prepared if !self.job.set_up && !self.terms.setup.is_empty() => RunStep::SetUp,
            Stage::Prepared => RunStep::Work,
            // Whoever started it is gone; nothing of it is taken up again.
            Stage::AtWork => RunStep::Close(interrupted()),
            Stage::Ended(ended) => self.judge(ended),
        }
    }

    fn judge(&self, ended: &AgentEnded) -> RunStep {
        // Nobody cancelled it, so it was the daemon that stopped: what is half done is not judged.
        if ended.ended_by == AgentEndedBy::Stopped {
            return RunStep::Close(interrupted());
        }
        if let Some(reason) = verdict::of_agent(ended, &self.run.denials) {
            return blocked(reason);
        }
        let judged = &self.run.verification;
        let checks = judged.iter().filter(|one| matches!(one.kind, VerificationKind::Check { .. })).count();
        if let Some(check) = self.terms.checks.get(checks) {
            return RunStep::Check(check.clone());
        }
        if let Some(reason) = verdict::of_checks(judged) {
            return blocked(reason);
        }
        if !self.terms.verification_agent {
            return review();
        }
        match judged.iter().find(|one| one.kind == VerificationKind::Agent) {
            None => RunStep::Review,
            Some(review_of) => verdict::of_review(review_of).map_or_else(review, blocked),
        }
    }
}

/// Returns the ending of a Run that the daemon's stop or death cut off.
#[must_use]
pub fn interrupted() -> RunEnding {
    RunEnding {
        outcome: Outcome::Interrupted,
        reason: Some(String::from("the daemon stopped while the Run was at work")),
    }
}

fn blocked(reason: String) -> RunStep {
    RunStep::Close(RunEnding { outcome: Outcome::Blocked, reason: Some(reason) })
}

fn review() -> RunStep {
    RunStep::Close(RunEnding { outcome: Outcome::Review, reason: None })
}
