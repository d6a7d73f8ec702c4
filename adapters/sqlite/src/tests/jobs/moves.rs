//! Accounts, and moves of Jobs: which wins, what it tells, what is held.

use super::*;
use crate::tests::peer;
use owl_domain::{
    job::JobMove,
    limits,
    ports::{AddJobError, ClaimError, Made, RemoveAccountError},
};

#[tokio::test]
async fn an_account_is_kept_as_it_was_added_and_removed_when_no_job_needs_it() {
    let owl = Owl::new();
    let accounts = owl.store.accounts();
    for text in ["work", "home"] {
        assert!(accounts.add(account(text)).await.unwrap());
    }
    let other = Account { directory: path("/elsewhere"), ..account("work") };
    assert!(!accounts.add(other).await.unwrap());
    accounts.seeded(name("work"), Timestamp::from_millis(9)).await.unwrap();
    let seeded = Account { seeded_at: Some(Timestamp::from_millis(9)), ..account("work") };
    assert_eq!(accounts.list().await.unwrap(), [account("home"), seeded.clone()]);
    assert_eq!(accounts.get(name("work")).await.unwrap(), Some(seeded));

    let job = owl.job().await;
    let refused = accounts.remove(name("work")).await;
    assert_eq!(refused, Err(RemoveAccountError::InUse { by: vec![job.id] }));
    let cancelled = owl.store.jobs().make(job.id, JobMove::Cancel, owl.now).await.unwrap();
    assert!(matches!(cancelled, Made::Won(_)));
    assert_eq!(accounts.remove(name("work")).await, Ok(true));
    assert_eq!(accounts.remove(name("work")).await, Ok(false));
}

#[tokio::test]
async fn a_job_gets_its_number_into_its_branch_and_is_told() {
    let owl = Owl::new();
    let job = owl.job().await;
    assert_eq!((job.branch.as_str(), job.state, job.attempts), ("owl/job-1", JobState::Pending, 0));
    assert_eq!(owl.get(job.id).await, job);
    assert_eq!(owl.names_after(Default::default()).await, ["job.changed"]);
    assert_eq!(owl.store.jobs().get(JobId::new(9)).await.unwrap(), None);
}

#[tokio::test]
async fn a_job_that_is_sent_again_is_the_same_and_with_other_parameters_none() {
    let owl = Owl::new();
    let jobs = owl.store.jobs();
    let with = |parameters: &str| NewJob { once: Some(once("k", parameters)), ..new_job("Fix it") };
    let first = jobs.add(with("a"), owl.now).await.unwrap();
    let again = jobs.add(with("a"), owl.now).await.unwrap();
    assert_eq!((again.job.id, again.duplicate), (first.job.id, true));
    assert_eq!(jobs.add(with("b"), owl.now).await, Err(AddJobError::Mismatch));
    assert_eq!(jobs.repeated(once("k", "a")).await, Ok(Some(first.job)));
    assert_eq!(jobs.repeated(once("new", "a")).await, Ok(None));
    assert_eq!(owl.states().await.len(), 1);
    // A question's key of the same spelling is another one.
    let conversation = owl.conversation().await;
    let turn = owl_domain::ports::NewTurn {
        once: Some(once("k", "c")),
        sent_by: peer(),
        ..crate::tests::turn(conversation, "And?")
    };
    owl.store.turns().begin(turn, owl.now).await.unwrap();
}

#[tokio::test]
async fn jobs_are_listed_newest_first_in_pages() {
    let owl = Owl::new();
    for _ in 0..5 {
        owl.job().await;
    }
    let jobs = owl.store.jobs();
    let cancelled = jobs.make(JobId::new(4), JobMove::Cancel, owl.now).await.unwrap();
    assert!(matches!(cancelled, Made::Won(_)));
    let of = |state| JobFilter { project: Some(ProjectName::new("my-app").unwrap()), state };
    let mut found = Vec::new();
    let mut next = page(2);
    loop {
        let listed = jobs.list(of(Some(JobState::Pending)), next.clone()).await.unwrap();
        found.extend(listed.items.iter().map(|job| job.id.number()));
        next.cursor = listed.next;
        if next.cursor.is_none() {
            break;
        }
        assert!(jobs.list(of(None), next.clone()).await.is_err(), "a cursor of another list");
    }
    assert_eq!(found, [5, 3, 2, 1]);
    let other = JobFilter { project: Some(ProjectName::new("other").unwrap()), state: None };
    assert_eq!(jobs.list(other, page(9)).await.unwrap().items, []);
}

#[tokio::test]
async fn a_job_is_held_by_one_start_at_a_time_and_by_none_from_a_state_that_allows_none() {
    let owl = Owl::new();
    let job = owl.job().await;
    let jobs = owl.store.jobs();
    let claim = jobs.claim(job.id).await.unwrap();
    assert!(matches!(jobs.claim(job.id).await, Err(ClaimError::Held { .. })));
    assert_eq!(owl.get(job.id).await, job, "a hold is told to nobody");
    jobs.release(claim.clone()).await.unwrap();
    let second = jobs.claim(job.id).await.unwrap();
    // A hold that was let go of does not let go of a later one.
    jobs.release(claim).await.unwrap();
    assert!(matches!(jobs.claim(job.id).await, Err(ClaimError::Held { .. })));
    let cancelled = jobs.make(job.id, JobMove::Cancel, owl.now).await.unwrap();
    assert!(matches!(cancelled, Made::Won(_)));
    assert_eq!(owl.store.runs().begin(new_run(second), owl.now).await.unwrap(), None, "it was cancelled meanwhile");
    assert!(matches!(jobs.claim(job.id).await, Err(ClaimError::WrongState { .. })));
    assert_eq!(jobs.claim(JobId::new(9)).await, Err(ClaimError::NotFound));
    assert_eq!(owl.states().await, [(job.id, JobState::Cancelled)]);
}

#[tokio::test]
async fn as_many_are_held_or_at_work_as_may_be() {
    let owl = Owl::new();
    for number in 0..limits::RUNS_ACTIVE {
        let job = owl.job().await;
        if number % 2 == 0 {
            owl.began(job.id).await;
        } else {
            owl.store.jobs().claim(job.id).await.unwrap();
        }
    }
    let one_more = owl.job().await;
    assert_eq!(owl.store.jobs().claim(one_more.id).await, Err(ClaimError::Limit));
    assert_eq!(owl.store.health().await.runs_active, 4);
}

/// Every move from every state: what the domain's table allows wins, and nothing else changes anything.
#[tokio::test]
async fn a_move_wins_from_exactly_the_states_that_allow_it() {
    for what in [JobMove::Cancel, JobMove::Accept, JobMove::Drop] {
        for state in JobState::ALL {
            let owl = Owl::new();
            let job = owl.job().await;
            let set = if state == JobState::Active {
                owl.began(job.id).await;
                String::new()
            } else {
                format!("UPDATE jobs SET state = '{}'", state.name())
            };
            let force = move |change: &mut crate::change::Change<'_>| Ok(change.db().execute_batch(&set)?);
            owl.store.database.write(owl.now, force).await.unwrap();
            let (before, newest) = (owl.get(job.id).await, owl.newest());
            let made = owl.store.jobs().make(job.id, what, owl.now).await.unwrap();
            let after = owl.get(job.id).await;
            let allowed = what.allowed_from().contains(&state) && state != JobState::Active;
            let to = if allowed { what.leads_to(state) } else { state };
            assert_eq!((after.state, matches!(made, Made::Won(_))), (to, allowed), "{what:?} from {state:?}");
            let told = owl.names_after(newest).await;
            let expected: &[&str] = if to == state { &[] } else { &["job.changed"] };
            assert_eq!(told, expected, "{what:?} from {state:?}");
            if to == state {
                assert_eq!(after, before);
            }
        }
    }
}

/// Two moves at once: one wins, and the other one finds the state that it does not allow.
#[tokio::test]
async fn of_two_moves_at_once_one_wins() {
    for _ in 0..20 {
        let owl = Owl::new();
        let job = owl.job().await;
        let set = "UPDATE jobs SET state = 'review'";
        owl.store.database.write(owl.now, move |change| Ok(change.db().execute_batch(set)?)).await.unwrap();
        let jobs = owl.store.jobs();
        let (accepted, cancelled) =
            tokio::join!(jobs.make(job.id, JobMove::Accept, owl.now), jobs.make(job.id, JobMove::Cancel, owl.now));
        let won = [accepted.unwrap(), cancelled.unwrap()].map(|made| matches!(made, Made::Won(_)));
        assert_eq!(won.iter().filter(|won| **won).count(), 1);
    }
}

#[tokio::test]
async fn a_daemon_that_died_while_it_started_jobs_leaves_no_hold() {
    let owl = Owl::new();
    let (held, worked, free) = (owl.job().await, owl.job().await, owl.job().await);
    owl.began(worked.id).await;
    let set = "UPDATE jobs SET state = 'blocked', active_run = NULL WHERE active_run IS NOT NULL";
    owl.store.database.write(owl.now, move |change| Ok(change.db().execute_batch(set)?)).await.unwrap();
    for job in [held.id, worked.id] {
        owl.store.jobs().claim(job).await.unwrap();
    }
    let owl = owl.killed();
    let without_worktree = owl.store.jobs().recover().await.unwrap();
    assert_eq!(without_worktree.iter().map(|job| job.id).collect::<Vec<_>>(), [held.id]);
    for job in [held.id, worked.id, free.id] {
        owl.store.jobs().claim(job).await.unwrap();
    }
}
