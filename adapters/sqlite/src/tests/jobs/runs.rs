//! Runs from beginning to end, each step a compare-and-set.

use super::*;
use owl_domain::{
    ids::Seq,
    job::{Outcome, RunEnding, RunState, RunStep, Stage, interrupted},
    ports::Moved,
};

fn ending(outcome: Outcome) -> RunEnding {
    RunEnding { outcome, reason: Some("because".into()) }
}

#[tokio::test]
async fn a_run_comes_back_with_everything_that_its_agent_was_told() {
    let mut owl = Owl::new();
    let job = owl.job().await;
    owl.pass(5);
    let (active, run) = owl.began(job.id).await;
    assert_eq!((active.state, active.active_run, active.attempts), (JobState::Active, Some(run.id), 1));
    assert_eq!((active.base_commit, active.updated_at), (Some(commit("1")), owl.now));
    assert_eq!(active.worktree, Some(path("/data/worktrees/j_1")));
    assert_eq!((&run.permissions, run.attempt, &run.state), (&permissions(), 1, &RunState::Running));
    assert_eq!(run.argv, ["claude", "--", "Fix it\nnow"]);
    let runs = owl.store.runs();
    let stored = runs.load(run.id).await.unwrap().unwrap();
    assert_eq!((stored.terms, stored.stage, stored.cancelling), (terms(), Stage::Prepared, false));
    assert_eq!(runs.of_job(job.id, 20).await.unwrap(), (vec![run], 1));
    assert_eq!(owl.names_after(Seq(1)).await, ["job.changed", "run.changed"]);
}

#[tokio::test]
async fn a_run_goes_through_its_stages_once_each() {
    let mut owl = Owl::new();
    let job = owl.job().await;
    let (_, run) = owl.began(job.id).await;
    let runs = owl.store.runs();
    runs.set_up(run.id).await.unwrap();
    assert!(owl.get(job.id).await.set_up);
    assert_eq!(runs.ended(run.id, work(), owl.now).await, Ok(Moved::Lost), "it was not started");
    assert_eq!(runs.start(run.id, owl.now).await, Ok(Moved::Won));
    assert_eq!(runs.start(run.id, owl.now).await, Ok(Moved::Lost), "it is never started twice");
    runs.reported(run.id, reported()).await.unwrap();
    assert_eq!(runs.ended(run.id, work(), owl.now).await, Ok(Moved::Won));
    assert_eq!(runs.ended(run.id, work(), owl.now).await, Ok(Moved::Lost));
    assert_eq!(runs.verified(run.id, check(), owl.now).await, Ok(Moved::Won));
    let agent = Verification { kind: VerificationKind::Agent, output: None, ..check() };
    assert_eq!(runs.verified(run.id, agent.clone(), owl.now).await, Ok(Moved::Won));

    let now = owl.run_of(run.id).await;
    assert_eq!(now.state, RunState::Verifying);
    assert_eq!(now.permissions, Permissions { reported: Some(reported()), ..permissions() });
    assert_eq!((now.exit, now.settings_changed), (Some(Exit::Signal("SIGTERM".into())), Some(true)));
    assert_eq!((now.denials, now.verification), (work().denials, vec![check(), agent]));
    assert_eq!((now.result_text.as_deref(), now.stderr_tail.as_str()), (Some("I stop."), "oops"));
    assert_eq!(owl.get(job.id).await.changes, Some(changes()));
    let stored = runs.load(run.id).await.unwrap().unwrap();
    assert_eq!(stored.stage, Stage::Ended(work().ended));

    owl.pass(9);
    assert_eq!(runs.close(run.id, ending(Outcome::Blocked), owl.now).await, Ok(Moved::Won));
    assert_eq!(runs.close(run.id, ending(Outcome::Review), owl.now).await, Ok(Moved::Lost));
    assert_eq!(runs.verified(run.id, check(), owl.now).await, Ok(Moved::Lost));
    let (now, job) = (owl.run_of(run.id).await, owl.get(job.id).await);
    assert_eq!(now.state.ending(), Some(&ending(Outcome::Blocked)));
    assert_eq!((job.state, job.reason.as_deref(), job.active_run), (JobState::Blocked, Some("because"), None));
    assert_eq!(runs.load(run.id).await.unwrap().unwrap().next(), RunStep::Nothing);
}

#[tokio::test]
async fn each_outcome_moves_its_job_and_a_second_attempt_begins_where_the_first_one_ended() {
    for outcome in Outcome::ALL {
        let owl = Owl::new();
        let job = owl.job().await;
        let (_, run) = owl.began(job.id).await;
        assert_eq!(owl.store.runs().close(run.id, ending(outcome), owl.now).await, Ok(Moved::Won));
        let ended = owl.get(job.id).await;
        assert_eq!(ended.state, outcome.job_state());
        if outcome == Outcome::Cancelled {
            continue;
        }
        let claim = owl.store.jobs().claim(job.id).await.unwrap();
        let again = NewRun { base_commit: None, ..new_run(claim) };
        let (active, second) = owl.store.runs().begin(again, owl.now).await.unwrap().unwrap();
        assert_eq!((active.attempts, active.reason, second.attempt), (2, None, 2));
        assert_eq!(active.base_commit, Some(commit("1")), "it stays as it was made");
        let (newest, total) = owl.store.runs().of_job(job.id, 1).await.unwrap();
        assert_eq!((newest[0].id, total), (second.id, 2));
    }
}

#[tokio::test]
async fn a_run_that_is_to_be_cancelled_is_not_started_and_judged_no_more() {
    let owl = Owl::new();
    let (before, during) = (owl.job().await, owl.job().await);
    assert_eq!(owl.store.jobs().cancel_run(before.id).await, Ok(None));
    let runs = owl.store.runs();
    let (_, run) = owl.began(before.id).await;
    assert_eq!(owl.store.jobs().cancel_run(before.id).await, Ok(Some(run.id)));
    assert_eq!(runs.start(run.id, owl.now).await, Ok(Moved::Lost));
    let (_, run) = owl.began(during.id).await;
    assert_eq!(runs.start(run.id, owl.now).await, Ok(Moved::Won));
    assert_eq!(owl.store.jobs().cancel_run(during.id).await, Ok(Some(run.id)));
    assert_eq!(runs.ended(run.id, work(), owl.now).await, Ok(Moved::Won), "what it did is told");
    assert_eq!(runs.verified(run.id, check(), owl.now).await, Ok(Moved::Lost));
    let RunStep::Close(end) = runs.load(run.id).await.unwrap().unwrap().next() else { panic!() };
    assert_eq!(end.outcome, Outcome::Cancelled);
}

#[tokio::test]
async fn what_was_at_work_when_the_daemon_died_is_closed_and_its_jobs_are_pending() {
    let owl = Owl::new();
    let (prepared, working, cancelling) = (owl.job().await, owl.job().await, owl.job().await);
    let (_, first) = owl.began(prepared.id).await;
    let (_, second) = owl.began(working.id).await;
    assert_eq!(owl.store.runs().start(second.id, owl.now).await, Ok(Moved::Won));
    let (_, third) = owl.began(cancelling.id).await;
    owl.store.jobs().cancel_run(cancelling.id).await.unwrap();

    let mut owl = owl.killed();
    owl.pass(60_000);
    let newest = owl.newest();
    assert_eq!(owl.store.runs().recover(owl.now).await.unwrap(), [first.id, second.id, third.id]);
    for run in [first.id, second.id] {
        assert_eq!(owl.run_of(run).await.state.ending(), Some(&interrupted()));
    }
    let job = owl.get(working.id).await;
    assert_eq!((job.state, job.reason), (JobState::Pending, interrupted().reason));
    assert_eq!(owl.get(cancelling.id).await.state, JobState::Cancelled);
    assert_eq!(owl.names_after(newest).await, ["job.changed", "run.changed"].repeat(3));
    assert_eq!(owl.store.runs().recover(owl.now).await.unwrap(), []);
}

#[tokio::test]
async fn a_worktree_that_was_removed_is_told_once() {
    let owl = Owl::new();
    let job = owl.job().await;
    let (_, run) = owl.began(job.id).await;
    owl.store.runs().set_up(run.id).await.unwrap();
    assert_eq!(owl.store.runs().close(run.id, ending(Outcome::Review), owl.now).await, Ok(Moved::Won));
    let newest = owl.newest();
    for _ in 0..2 {
        owl.store.jobs().worktree_removed(job.id, owl.now).await.unwrap();
    }
    let job = owl.get(job.id).await;
    assert_eq!((job.worktree, job.set_up, job.base_commit), (None, false, Some(commit("1"))));
    assert_eq!(owl.names_after(newest).await, ["job.changed"]);
}

#[tokio::test]
async fn events_of_a_job_are_linked() {
    let owl = Owl::new();
    let (one, other) = (owl.job().await, owl.job().await);
    owl.began(one.id).await;
    owl.began(other.id).await;
    let events = owl.events_after(Seq(0)).await;
    let of = |job: JobId| events.iter().filter(move |event| event.about == owl_domain::turn::About::Job(job));
    for job in [one.id, other.id] {
        let mut before = None;
        for event in of(job) {
            assert_eq!(event.prev, before);
            before = Some(event.seq);
        }
        assert_eq!(of(job).count(), 3);
    }
}
