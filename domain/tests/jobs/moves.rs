//! What a client may do to a Job, and when.

use crate::world::{World, wanted};
use owl_domain::{
    ids::JobId,
    job::{Accepted, Discard, JobMove, JobState, MoveError, Outcome},
    ports::{AtRisk, Beyond, Jobs, Made, Once, Runs},
    text::{BranchName, ClientKey},
};
use owl_testkit::tokio;

#[tokio::test]
async fn an_accepted_job_keeps_its_branch_and_loses_its_worktree() {
    let world = World::new();
    let (job, _) = world.ran().await;
    let Accepted { job, branch_is_there, kept } = world.service.accept(job.id).await.unwrap();
    assert_eq!((job.state, job.worktree, branch_is_there, kept), (JobState::Done, None, true, None));
    let told = world.told();
    assert!(told.contains(&"worktree removed /data/worktrees/j_7".to_owned()));
    assert!(!told.iter().any(|told| told.starts_with("branch removed")));
    let again = world.service.accept(job.id).await.unwrap_err();
    assert!(matches!(again, MoveError::WrongState { wanted: JobMove::Accept, .. }));
}

#[tokio::test]
async fn a_worktree_with_work_that_its_branch_does_not_hold_stays_when_the_job_is_accepted() {
    let there = || Beyond { branch_is_there: true, worktree_is_there: true, ..Beyond::default() };
    let other = BranchName::new("feature").ok();
    let cases = [
        (Beyond { files: 2, ..there() }, "2 files there are in no commit"),
        (Beyond { commits: 1, ..there() }, "1 commits there are not on owl/job-7; no branch is checked out there"),
        (
            Beyond { commits: 3, files: 1, checked_out: other.clone(), ..there() },
            "3 commits there are not on owl/job-7; feature is checked out there",
        ),
        (
            Beyond { branch_is_there: false, checked_out: other, ..there() },
            "the branch owl/job-7 is gone, and feature is checked out there",
        ),
    ];
    for (beyond, why) in cases {
        let world = World::new();
        let (job, _) = world.ran().await;
        world.turn(|knobs| knobs.beyond = beyond.clone());
        let Accepted { job, branch_is_there, kept } = world.service.accept(job.id).await.unwrap();
        assert_eq!((job.state, branch_is_there), (JobState::Done, beyond.branch_is_there), "{why}");
        assert_eq!(kept.unwrap().to_string(), why);
        assert!(job.worktree.is_some(), "{why}");
        assert!(!world.told().iter().any(|told| told.starts_with("worktree removed")), "{why}");
    }
}

#[tokio::test]
async fn an_accepted_job_whose_worktree_and_branch_are_gone_names_neither() {
    let world = World::new();
    let (job, _) = world.ran().await;
    world.turn(|knobs| knobs.beyond = Beyond::default());
    let Accepted { job, branch_is_there, kept } = world.service.accept(job.id).await.unwrap();
    assert_eq!((job.worktree, branch_is_there, kept), (None, false, None));
}

#[tokio::test]
async fn work_that_would_be_lost_is_dropped_only_when_that_is_said() {
    let world = World::new();
    let (job, _) = world.ran().await;
    let at_risk = AtRisk { files: 2, commits: 1 };
    world.turn(|knobs| knobs.at_risk = at_risk);
    let refused = world.service.drop(job.id, Discard::No).await.unwrap_err();
    assert_eq!(refused, MoveError::WouldBeLost { at_risk });
    assert_eq!(world.now(job.id).await.0.state, JobState::Review);
    assert!(!world.told().iter().any(|told| told.contains("removed")));
    let (job, lost) = world.service.drop(job.id, Discard::Yes).await.unwrap();
    assert_eq!((job.state, job.worktree, lost), (JobState::Cancelled, None, at_risk));
    let told = world.told();
    assert_eq!(told[told.len() - 2..], ["worktree removed /data/worktrees/j_7", "branch removed owl/job-7"]);
}

#[tokio::test]
async fn a_job_without_a_run_is_dropped_without_touching_git() {
    let world = World::new();
    let id = world.added().await;
    let (job, lost) = world.service.drop(id, Discard::No).await.unwrap();
    assert_eq!((job.state, lost), (JobState::Cancelled, AtRisk::default()));
    assert_eq!(world.told(), [""; 0]);
}

#[tokio::test]
async fn a_job_at_work_is_cancelled_once_its_run_has_ended() {
    let world = World::new();
    let id = world.added().await;
    let (_, run) = world.service.start(id, world.stop.clone()).await.unwrap();
    assert!(matches!(world.service.drop(id, Discard::Yes).await, Err(MoveError::WrongState { .. })));
    let job = world.service.cancel(id).await.unwrap();
    assert_eq!((job.state, job.active_run), (JobState::Cancelled, None));
    assert!(world.told().contains(&format!("stopped {}", run.id)));
    let run = world.service.run(run.id).await.unwrap().unwrap();
    assert_eq!(run.state.ending().unwrap().outcome, Outcome::Cancelled);
    assert_eq!(world.service.cancel(id).await.unwrap().state, JobState::Cancelled, "a second one changes nothing");
    assert!(!world.told().iter().any(|told| told.contains("removed")), "worktree and branch stay");
}

#[tokio::test]
async fn a_run_that_is_being_cancelled_starts_no_agent() {
    let world = World::new();
    let id = world.added().await;
    let (_, run) = world.service.start(id, world.stop.clone()).await.unwrap();
    assert_eq!(world.store.cancel_run(id).await.unwrap(), Some(run.id));
    world.service.advance(run.id, world.stop.clone()).await.unwrap();
    assert_eq!(world.now(id).await.0.state, JobState::Cancelled);
    assert!(!world.told().iter().any(|told| told.starts_with("agent started")));
}

#[tokio::test]
async fn a_stopping_daemon_leaves_the_run_interrupted_and_the_job_pending() {
    let world = World::new();
    let id = world.added().await;
    let (_, run) = world.service.start(id, world.stop.clone()).await.unwrap();
    world.stop.fire();
    world.service.advance(run.id, world.stop.clone()).await.unwrap();
    let (job, run) = world.now(id).await;
    assert_eq!((job.state, run.state.ending().unwrap().outcome), (JobState::Pending, Outcome::Interrupted));
    assert_eq!(job.reason.as_deref(), Some("the daemon stopped while the Run was at work"));
    assert!(!world.told().iter().any(|told| told.starts_with("agent started")));
}

/// Of every pair of moves that a state allows, the second finds what the first made of it.
#[tokio::test]
async fn of_two_moves_at_once_one_wins_and_the_loser_changes_nothing() {
    let moves = [JobMove::Cancel, JobMove::Accept, JobMove::Drop];
    for from in JobState::ALL {
        for first in moves {
            for second in moves {
                let world = World::new();
                let id = world.added().await;
                world.store.rows().jobs[0].state = from;
                let now = world.clock_now();
                let before = world.service.get(id).await.unwrap().unwrap().job;
                let one = world.store.make(id, first, now).await.unwrap();
                let allowed = from != JobState::Active && first.allowed_from().contains(&from);
                assert_eq!(matches!(one, Made::Won(_)), allowed, "{from:?} {first:?}");
                let between = world.service.get(id).await.unwrap().unwrap().job;
                assert_eq!(between.state, if allowed { first.leads_to(from) } else { before.state });
                let two = world.store.make(id, second, now).await.unwrap();
                let after = world.service.get(id).await.unwrap().unwrap().job;
                if !matches!(two, Made::Won(_)) {
                    assert_eq!(after, between, "{from:?} {first:?} {second:?}");
                }
            }
        }
    }
    assert_eq!(
        World::new().store.make(JobId::new(1), JobMove::Drop, Default::default()).await.unwrap(),
        Made::NotFound
    );
}

#[tokio::test]
async fn a_closed_run_is_not_closed_again_nor_moved() {
    let world = World::new();
    let (job, run) = world.ran().await;
    let ending = owl_domain::job::interrupted();
    let again = Runs::close(&*world.store, run.id, ending, world.clock_now()).await.unwrap();
    assert_eq!(again, owl_domain::ports::Moved::Lost);
    assert_eq!(world.now(job.id).await.0, job);
}

#[tokio::test]
async fn the_same_call_sent_twice_makes_one_job() {
    let world = World::new();
    let mut wanted = wanted();
    wanted.once = Some(Once { key: ClientKey::new("k").unwrap(), parameters: "p".into() });
    let first = world.service.add(wanted.clone()).await.unwrap();
    let second = world.service.add(wanted.clone()).await.unwrap();
    assert_eq!((first.duplicate, second.duplicate, first.job.id), (false, true, second.job.id));
    wanted.once = Some(Once { key: ClientKey::new("k").unwrap(), parameters: "q".into() });
    assert_eq!(
        world.service.add(wanted).await.unwrap_err().to_string(),
        "this client_key was used with other parameters"
    );
}
