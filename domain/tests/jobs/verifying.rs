//! Setup, checks and the Verifier.

use crate::world::{TOKEN, WORKTREE, World, agent, check_ran, exit};
use owl_domain::{
    job::{Check, Exit, JobState, Terms, VerificationKind, VerificationState},
    ports::{AgentEvent, AgentExitWhy, CheckRan, EndedBy, LogLine, LogNote, Verdict, VerdictError},
};
use owl_testkit::tokio;
use std::time::Duration;

fn checks(names: &[&str]) -> Vec<Check> {
    let check =
        |name: &&str| Check { name: (*name).into(), run: format!("just {name}"), timeout: Duration::from_secs(60) };
    names.iter().map(check).collect()
}

#[tokio::test]
async fn setup_goes_through_a_fresh_worktree_once_before_the_agent() {
    let world = World::new();
    world.turn(|knobs| knobs.terms.setup = vec!["npm ci".into(), "make deps".into()]);
    let (job, _) = world.ran().await;
    let told = world.told();
    let at = |what: &str| told.iter().position(|told| told.starts_with(what)).unwrap();
    assert!(at("ran npm ci") < at("ran make deps") && at("ran make deps") < at("agent started"));
    world.start_and_run(job.id).await;
    assert_eq!(world.told().iter().filter(|told| told.starts_with("ran npm ci")).count(), 1);
}

#[tokio::test]
async fn setup_that_fails_blocks_the_job_with_what_it_printed_and_starts_no_agent() {
    let world = World::new();
    world.turn(|knobs| {
        knobs.terms.setup = vec!["npm ci".into(), "make deps".into()];
        knobs.checks.push_back(check_ran(1, "no such\u{7} package"));
    });
    let (job, run) = world.ran().await;
    assert_eq!(job.state, JobState::Blocked);
    assert_eq!(
        job.reason.as_deref(),
        Some("The Project's setup failed: `npm ci` exited with 1: no such\\u{7} package")
    );
    assert!(!world.told().iter().any(|told| told.starts_with("agent") || told.starts_with("ran make")));
    assert_eq!(run.exit, None);
    world.start_and_run(job.id).await;
    assert_eq!(world.told().iter().filter(|told| told.starts_with("ran npm ci")).count(), 2, "it is done again");
}

#[tokio::test]
async fn every_check_runs_and_every_failure_is_told() {
    let world = World::new();
    let late =
        CheckRan { ended_by: EndedBy::Timeout, exit_code: None, signal: Some("SIGTERM".into()), ..check_ran(0, "") };
    world.turn(|knobs| {
        knobs.terms.checks = checks(&["test", "lint", "slow"]);
        knobs.checks.extend([check_ran(3, "1 test failed"), check_ran(0, ""), late]);
    });
    let (job, run) = world.ran().await;
    assert_eq!(job.state, JobState::Blocked);
    assert_eq!(
        job.reason.as_deref(),
        Some("2 of 3 checks did not pass: test (exit 3), slow (ended, it took too long): 1 test failed")
    );
    let states: Vec<_> =
        run.verification.iter().map(|one| (one.name.as_str(), one.state, one.output.is_some())).collect();
    assert_eq!(
        states,
        [
            ("test", VerificationState::Failed, true),
            ("lint", VerificationState::Passed, false),
            ("slow", VerificationState::TimedOut, true)
        ]
    );
    assert_eq!(run.verification[0].kind, VerificationKind::Check { command: "just test".into() });
    let log = world.knobs.lock().unwrap().log.clone();
    assert!(log.iter().any(|line| matches!(line, LogLine::Owl(LogNote::Ran { name, .. }) if name == "lint")));
}

fn with_review(world: &World, verdict: Result<Verdict, VerdictError>, verifier: Vec<AgentEvent>) {
    world.turn(|knobs| {
        knobs.terms = Terms {
            checks: checks(&["test"]),
            verification_agent: true,
            allowed_tools: vec!["Bash(just:*)".into()],
            ..Terms::default()
        };
        knobs.verdict = Some(verdict);
        knobs.agents.extend([agent(Vec::new()), verifier]);
    });
}

fn passed() -> Result<Verdict, VerdictError> {
    Ok(Verdict { passed: true, message: "It holds.".into() })
}

#[tokio::test]
async fn a_fresh_agent_reviews_with_the_accounts_list_alone_and_what_it_was_granted_is_not_recorded() {
    let world = World::new();
    let reported = owl_domain::permissions::Reported { permission_mode: Some("plan".into()), ..Default::default() };
    with_review(&world, passed(), agent(vec![AgentEvent::Reported(reported)]));
    let (job, run) = world.ran().await;
    assert_eq!((job.state, job.reason), (JobState::Review, None));
    assert_eq!(run.verification[1].kind, VerificationKind::Agent);
    assert_eq!(run.verification[1].message.as_deref(), Some("It holds."));
    assert_eq!(run.permissions.project.allowed_tools, ["Bash(just:*)"]);
    assert_eq!(
        run.permissions.reported.unwrap().permission_mode,
        None,
        "what the Verifier's tool said is not recorded"
    );
    let log = world.knobs.lock().unwrap().log.clone();
    let started: Vec<_> = log
        .iter()
        .filter_map(|line| match line {
            LogLine::Owl(LogNote::Started { who, argv, .. }) => Some((*who, argv.clone())),
            LogLine::Owl(_) | LogLine::Agent { .. } => None,
        })
        .collect();
    assert_eq!((started[0].0, started[1].0), ("agent", "verifier"));
    assert!(started[0].1.contains(&"Bash(just:*)".into()));
    assert!(!started[1].1.contains(&"Bash(just:*)".into()));
    let prompt = started[1].1.last().unwrap();
    assert!(prompt.contains("/state/verdicts/r_9/verdict.json") && prompt.contains("Fix the failing test"), "{prompt}");
    assert_eq!(world.told().iter().filter(|told| told.contains(WORKTREE) && told.starts_with("agent")).count(), 2);
}

#[tokio::test]
async fn a_failed_check_leaves_nothing_to_review() {
    let world = World::new();
    with_review(&world, passed(), agent(Vec::new()));
    world.turn(|knobs| knobs.checks.push_back(check_ran(1, "")));
    let (job, run) = world.ran().await;
    assert_eq!((job.state, run.verification.len()), (JobState::Blocked, 1));
}

#[tokio::test]
async fn without_a_good_verdict_the_job_is_blocked_saying_which() {
    let silent = || vec![exit(AgentExitWhy::Silence(Duration::from_secs(60)), Exit::Signal("SIGTERM".into()))];
    let failed = Ok(Verdict { passed: false, message: "The test still fails.".into() });
    let cases = [
        (failed, agent(Vec::new()), "The Verifier says no: The test still fails."),
        (Err(VerdictError::Missing), agent(Vec::new()), "The Verifier gave no verdict: it left no verdict"),
        (
            Err(VerdictError::Link),
            agent(Vec::new()),
            "The Verifier gave no verdict: it left a link in place of a verdict",
        ),
        (passed(), silent(), "The Verifier gave no verdict: it did not end: it printed nothing for 1 min"),
        (
            Err(VerdictError::Missing),
            vec![exit(AgentExitWhy::Itself, Exit::Code(1))],
            "The Verifier gave no verdict: it left no verdict. The Agent ended (exit 1) without saying how it went",
        ),
    ];
    for (verdict, verifier, reason) in cases {
        let world = World::new();
        with_review(&world, verdict, verifier);
        let (job, _) = world.ran().await;
        assert_eq!((job.state, job.reason.as_deref()), (JobState::Blocked, Some(reason)));
    }
}

#[tokio::test]
async fn the_accounts_token_is_taken_out_of_what_checks_print_and_verifiers_say() {
    let world = World::new();
    world.turn(|knobs| {
        knobs.terms.setup = vec!["env".into()];
        knobs.terms.checks = checks(&["test"]);
        knobs.checks.extend([check_ran(0, TOKEN), check_ran(1, &format!("a {TOKEN}"))]);
    });
    let (job, run) = world.ran().await;
    assert_eq!(job.reason.as_deref(), Some("1 of 1 checks did not pass: test (exit 1): a [token]"));
    assert_eq!(run.verification[0].output.as_ref().unwrap().head, "a [token]");
    assert!(!format!("{:?}", world.knobs.lock().unwrap().log).contains(TOKEN));

    let world = World::new();
    world.turn(|knobs| {
        knobs.terms.verification_agent = true;
        knobs.verdict = Some(Ok(Verdict { passed: false, message: format!("{TOKEN} is in it") }));
    });
    let (job, _) = world.ran().await;
    assert_eq!(job.reason.as_deref(), Some("The Verifier says no: [token] is in it"));
}
