//! The agent Verifier (D22): a fresh Agent of the same Driver judges the work, with the Account's list alone. What it was
//! granted is not recorded (ADR-0035). Without a verdict in its file the work does not pass.

use super::{
    AgentEnded, AgentEndedBy, Exit, JobService, StoredRun, Verification, VerificationKind, VerificationState, Work,
    brief, span, verdict,
    work::{Watched, Who},
};
use crate::{
    limits,
    ports::{AgentExitWhy, Stop, StoreError, Verdict, VerdictError},
    text::cut_bytes,
};
use alloc::{
    format,
    string::{String, ToString},
    sync::Arc,
};

/// What came of a review.
enum Reviewed {
    /// A verdict, and the exit status of the Agent that left it.
    Verdict(Option<i32>, Verdict),
    /// None, and why.
    Nothing(VerificationState, String),
    /// It was stopped; it counts as not begun.
    Stopped,
}

impl JobService {
    /// Has a fresh Agent judge the work, and stores what it said.
    pub(super) async fn review(&self, run: &StoredRun, stop: &Arc<dyn Stop>) -> Result<(), StoreError> {
        let began = self.now();
        let (state, exit_code, message) = match self.reviewed(run, stop).await? {
            Reviewed::Verdict(exit_code, Verdict { passed: true, message }) => {
                (VerificationState::Passed, exit_code, message)
            }
            Reviewed::Verdict(exit_code, Verdict { passed: false, message }) => {
                (VerificationState::Failed, exit_code, message)
            }
            Reviewed::Nothing(state, why) => (state, None, why),
            Reviewed::Stopped => return Ok(()),
        };
        let verification = Verification {
            name: "review".into(),
            kind: VerificationKind::Agent,
            state,
            exit_code,
            duration: self.now().since(began),
            output: None,
            message: Some(cut_bytes(&message, limits::LAST_WORDS_BYTES).into()),
        };
        self.verified(run.run.id, verification).await
    }

    async fn reviewed(&self, run: &StoredRun, stop: &Arc<dyn Stop>) -> Result<Reviewed, StoreError> {
        let none = |why: String| Ok(Reviewed::Nothing(VerificationState::Error, why));
        let Some(worktree) = run.job.worktree.clone() else { return none("the worktree is gone".into()) };
        let place = match self.ports.verdicts.place(run.run.id).await {
            Ok(place) => place,
            Err(error) => return none(error.to_string()),
        };
        let brief = brief::of_review(&run.job, worktree.clone(), run.job.base_commit.as_ref(), &place);
        let argv = match self.ports.driver.tool().await {
            Ok(tool) => self.ports.driver.argv(&tool, &brief).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let argv = match argv {
            Ok(argv) => argv,
            Err(why) => return none(why),
        };
        let mut granted = run.run.permissions.clone();
        granted.project.allowed_tools.clear();
        let lists = granted.lists(&worktree);
        let agent = match self.agent(run, worktree, argv, Who::Verifier, stop).await {
            Ok(agent) => agent,
            Err(error) => return none(format!("it could not be started: {error}")),
        };
        let watched = self.watch(run, agent, &lists, Who::Verifier).await?;
        let taken = self.ports.verdicts.take(run.run.id).await;
        let redaction = match self.redaction(run).await {
            Ok(redaction) => redaction,
            Err(why) => return none(why),
        };
        let taken =
            taken.map(|verdict| Verdict { message: redaction.cut_text(&verdict.message).into_owned(), ..verdict });
        Ok(judged(watched, taken))
    }
}

/// Puts together how the Agent ended and what it left.
fn judged(watched: Watched, taken: Result<Verdict, VerdictError>) -> Reviewed {
    let late = |what: String| Reviewed::Nothing(VerificationState::TimedOut, format!("it did not end: it {what}"));
    match (watched.ended, watched.exit.why) {
        (None, AgentExitWhy::Stopped) => return Reviewed::Stopped,
        (None, AgentExitWhy::Timeout(after)) => return late(format!("was at work for {}", span(after))),
        (None, AgentExitWhy::Silence(after)) => return late(format!("printed nothing for {}", span(after))),
        (None, AgentExitWhy::Itself) => {}
        (Some(_), _) => {
            return Reviewed::Nothing(VerificationState::Error, why_it_failed(watched).unwrap_or_default());
        }
    }
    match taken {
        Ok(verdict) => {
            let exit_code = match watched.exit.exit {
                Exit::Code(code) => Some(code),
                Exit::Signal(_) => None,
            };
            Reviewed::Verdict(exit_code, verdict)
        }
        Err(error) => {
            let why = why_it_failed(watched).map(|why| format!(". {why}")).unwrap_or_default();
            Reviewed::Nothing(VerificationState::Error, format!("{error}{why}"))
        }
    }
}

fn why_it_failed(watched: Watched) -> Option<String> {
    let ended = AgentEnded {
        ended_by: watched.ended.unwrap_or(AgentEndedBy::Itself),
        exit: watched.exit.exit,
        result: watched.result,
        stderr_tail: watched.exit.stderr_tail,
        overlong_line: watched.exit.overlong_line,
        work: Work::Changed,
    };
    verdict::of_agent(&ended, &[])
}
