//! What an Agent's stream comes to: its end, its denials, whether anything changed.

use crate::world::{World, agent, call, exit, result};
use owl_domain::{
    job::{AgentResult, Exit, Job, JobState, Run, RunState},
    permissions::Reported,
    ports::{AgentEvent, AgentExit, AgentExitWhy, LogLine, LogNote},
};
use owl_testkit::tokio;
use std::time::Duration;

async fn ran_with(events: Vec<AgentEvent>) -> (World, Job, Run) {
    let world = World::new();
    world.turn(|knobs| knobs.agents.push_back(events));
    let (job, run) = world.ran().await;
    (world, job, run)
}

async fn blocked_by(events: Vec<AgentEvent>) -> String {
    let (_world, job, _run) = ran_with(events).await;
    assert_eq!(job.state, JobState::Blocked);
    job.reason.unwrap()
}

#[tokio::test]
async fn work_that_holds_is_there_to_be_looked_at() {
    let reported = Reported { permission_mode: Some("default".into()), ..Reported::default() };
    let (world, job, run) = ran_with(agent(vec![AgentEvent::Reported(reported.clone())])).await;
    assert_eq!((job.state, job.reason, job.active_run), (JobState::Review, None, None));
    assert_eq!(job.changes.unwrap().files, 2);
    assert_eq!(run.permissions.reported, Some(reported));
    assert_eq!((run.exit, run.result_text.as_deref()), (Some(Exit::Code(0)), Some("I am done.")));
    assert_eq!(run.settings_changed, Some(false));
    let log = world.knobs.lock().unwrap().log.clone();
    let LogLine::Owl(LogNote::Started { who, argv, set, removed }) = &log[1] else { panic!("{log:?}") };
    assert_eq!((*who, argv), ("agent", &run.argv));
    assert_eq!((set.len(), removed.len()), (1, 1));
    assert_eq!(log[2], LogLine::Agent { text: "{}".into(), bytes: 2 });
}

#[tokio::test]
async fn a_run_that_changed_nothing_is_blocked_with_what_was_denied() {
    let world = World::new();
    let denied = vec![AgentEvent::Denied(call(1, "docker build .")), AgentEvent::Denied(call(2, "docker build ."))];
    world.turn(|knobs| {
        knobs.changes_something = false;
        knobs.agents.push_back(agent(denied));
    });
    let (job, run) = world.ran().await;
    assert_eq!(job.state, JobState::Blocked);
    assert_eq!(
        job.reason.as_deref(),
        Some("The Agent changed nothing and 2 tool calls were denied; to allow them add `Bash(docker build:*)`")
    );
    let denial = &run.denials[0];
    assert_eq!((denial.count, denial.rule_to_add.as_deref()), (2, Some("Bash(docker build:*)")));
}

#[tokio::test]
async fn a_run_that_changed_nothing_and_was_denied_nothing_is_blocked_with_its_last_words() {
    let world = World::new();
    world.turn(|knobs| knobs.changes_something = false);
    let (job, run) = world.ran().await;
    assert_eq!(job.state, JobState::Blocked);
    assert_eq!(job.reason.as_deref(), Some("The Agent changed nothing. Its last words: I am done."));
    assert_eq!(run.denials, []);
}

#[tokio::test]
async fn a_second_attempt_that_adds_nothing_is_blocked_too() {
    let world = World::new();
    let (job, _) = world.ran().await;
    assert_eq!(job.state, JobState::Review);
    world.turn(|knobs| knobs.changes_something = false);
    let (job, run) = world.start_and_run(job.id).await;
    assert_eq!((job.state, job.attempts, run.attempt), (JobState::Blocked, 2, 2));
    assert_eq!(world.told().iter().filter(|told| told.starts_with("worktree made")).count(), 1);
}

#[tokio::test]
async fn the_same_denial_twenty_times_ends_the_run() {
    let denied: Vec<AgentEvent> = (0..40).map(|id| AgentEvent::Denied(call(id, "curl x"))).collect();
    let (world, job, run) = ran_with(agent(denied)).await;
    assert!(world.told().contains(&"agent ended by Owl".to_owned()));
    assert_eq!(run.denials[0].count, 20);
    assert_eq!(
        job.reason.as_deref(),
        Some("Owl ended the Agent: the same call was refused 20 times (Bash: curl x); to allow it add `Bash(curl:*)`")
    );
    let told_twice: Vec<AgentEvent> = (0..40).map(|id| AgentEvent::Denied(call(id / 4, "curl x"))).collect();
    let (world, job, run) = ran_with(agent(told_twice)).await;
    assert!(!world.told().contains(&"agent ended by Owl".to_owned()), "a call counts once, however often it is told");
    assert_eq!((job.state, run.denials[0].count), (JobState::Review, 10));
}

#[tokio::test]
async fn on_a_version_that_tells_no_refusals_a_failure_is_one_when_no_rule_covers_the_call() {
    let failed = vec![AgentEvent::Failed(call(1, "make test")), AgentEvent::Failed(call(2, "curl x"))];
    let (_world, _job, run) = ran_with(agent(failed)).await;
    assert_eq!(run.denials.len(), 1);
    assert_eq!(run.denials[0].input_summary, "curl x");
}

#[tokio::test]
async fn what_is_no_success_is_blocked_whatever_it_calls_itself() {
    let not_logged_in = AgentResult { is_error: true, ..result("Not logged in · Please run /login") };
    let ended = |code| exit(AgentExitWhy::Itself, Exit::Code(code));
    assert_eq!(
        blocked_by(vec![AgentEvent::Result(not_logged_in), ended(1)]).await,
        "The Agent failed (exit 1): Not logged in · Please run /login"
    );
    assert_eq!(blocked_by(vec![AgentEvent::Result(result("well")), ended(2)]).await, "The Agent failed (exit 2): well");
    let stderr = AgentExit {
        why: AgentExitWhy::Itself,
        exit: Exit::Code(1),
        stderr_tail: "error: unknown option\u{1b}[0m".into(),
        overlong_line: Some(9_000_000),
    };
    assert_eq!(
        blocked_by(vec![AgentEvent::Ended(stderr)]).await,
        "The Agent ended (exit 1) without saying how it went; it printed a line of 9000000 bytes, of which Owl reads \
         8388608; on standard error: error: unknown option\\u{1b}[0m"
    );
    assert_eq!(
        blocked_by(vec![exit(AgentExitWhy::Itself, Exit::Signal("SIGKILL".into()))]).await,
        "The Agent was ended by SIGKILL, which Owl did not send"
    );
    let signal = || Exit::Signal("SIGTERM".into());
    assert_eq!(
        blocked_by(vec![exit(AgentExitWhy::Timeout(Duration::from_secs(4 * 3600)), signal())]).await,
        "Owl ended the Agent: it was at work for 4 h (runs.timeout)"
    );
    assert_eq!(
        blocked_by(vec![exit(AgentExitWhy::Silence(Duration::from_secs(900)), signal())]).await,
        "Owl ended the Agent: it printed nothing for 15 min (runs.silence)"
    );
    let retrying = AgentEvent::Retrying { attempt: 1, error: "authentication_failed".into(), credential: true };
    assert_eq!(
        blocked_by(agent(vec![retrying])).await,
        "Owl ended the Agent: its credential is refused; give the Account another token"
    );
}

#[tokio::test]
async fn a_retry_for_another_reason_is_waited_for() {
    let retrying = AgentEvent::Retrying { attempt: 1, error: "overloaded".into(), credential: false };
    let (_world, job, _run) = ran_with(agent(vec![retrying])).await;
    assert_eq!(job.state, JobState::Review);
}

#[tokio::test]
async fn an_agent_whose_log_cannot_be_written_is_ended() {
    let world = World::new();
    world.turn(|knobs| knobs.log_fails = true);
    let (job, _) = world.ran().await;
    assert_eq!(job.reason.as_deref(), Some("Owl ended the Agent: its log could not be written"));
}

#[tokio::test]
async fn an_accounts_file_that_was_another_one_afterwards_is_noted() {
    let world = World::new();
    let id = world.added().await;
    let (_, run) = world.service.start(id, world.stop.clone()).await.unwrap();
    world.turn(|knobs| knobs.sha256 = "bb");
    world.service.advance(run.id, world.stop.clone()).await.unwrap();
    assert_eq!(world.now(id).await.1.settings_changed, Some(true));
}

#[tokio::test]
async fn a_run_whose_store_fails_is_not_carried_on() {
    let world = World::new();
    let id = world.added().await;
    let (_, run) = world.service.start(id, world.stop.clone()).await.unwrap();
    world.store.rows().fails = true;
    assert!(world.service.advance(run.id, world.stop.clone()).await.is_err());
    world.store.rows().fails = false;
    world.service.give_up(run.id).await.unwrap();
    let (job, run) = world.now(id).await;
    assert!(matches!(run.state, RunState::Finished(_)));
    assert_eq!(job.state, JobState::Blocked);
    assert!(!world.told().iter().any(|told| told.starts_with("agent started")));
}

#[tokio::test]
async fn a_worktree_that_its_agent_removed_is_told_as_gone_and_not_as_unchanged() {
    let world = World::new();
    world.turn(|knobs| (knobs.changes_something, knobs.worktree_gone) = (false, true));
    let (job, _) = world.ran().await;
    assert_eq!(job.state, JobState::Blocked);
    assert_eq!(
        job.reason.as_deref(),
        Some(
            "It could not be told what the Agent changed: its worktree /data/worktrees/j_7 is gone, or is not the one \
             that Owl made"
        )
    );
}
