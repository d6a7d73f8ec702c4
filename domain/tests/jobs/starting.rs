//! A Job is started once everything is found out and recorded, or not at all.

use crate::world::{World, commit, path, wanted};
use owl_domain::{
    job::{CannotStartReason, JobState, RunState, StartError, Terms, WantError},
    permissions::default_list::DEFAULT_LIST,
    ports::{ClaimError, LogLine, LogNote, SettingsError, ToolError},
    project::FileError,
    text::{AccountName, CommitId},
};
use owl_testkit::tokio;

fn reason(error: &StartError) -> CannotStartReason {
    match error {
        StartError::CannotStart(cannot) => cannot.reason,
        StartError::Claim(_) | StartError::Cancelled { .. } => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn everything_is_found_out_and_recorded_before_the_agent_starts() {
    let world = World::new();
    world.turn(|knobs| {
        knobs.terms = Terms {
            allowed_tools: vec!["Bash(just:*)".into(), "bash".into()],
            unattended_clauses: vec!["Write tests first.".into()],
            file: Some(".coding-owl.yaml".into()),
            commit: Some(commit()),
            ..Terms::default()
        };
    });
    let id = world.added().await;
    let (job, run) = world.service.start(id, world.stop.clone()).await.unwrap();
    assert_eq!(
        world.told(),
        [
            "tool asked",
            "settings read or seeded",
            "seeded work",
            "worktree made /data/worktrees/j_7 owl/job-7",
            "woken r_9"
        ]
    );
    assert_eq!((job.state, job.attempts, job.active_run), (JobState::Active, 1, Some(run.id)));
    assert_eq!((job.worktree, job.base_commit), (Some(path("/data/worktrees/j_7")), Some(commit())));
    assert_eq!(run.state, RunState::Running);
    let permissions = &run.permissions;
    assert_eq!(permissions.account.allow, DEFAULT_LIST);
    assert!(permissions.account.seeded);
    assert_eq!(permissions.project.allowed_tools, ["Bash(just:*)", "bash"]);
    assert_eq!(
        (permissions.project.ignored[0].rule.as_str(), permissions.project.commit.clone()),
        ("bash", Some(commit()))
    );
    assert_eq!(run.argv[1..3], ["Bash(just:*)", "bash"]);
    assert!(run.argv[3].ends_with("\n\nWrite tests first."), "{}", run.argv[3]);
    assert_eq!(run.argv.last().unwrap(), "\nFix the failing test\nand more");
    assert_eq!(job.title.as_str(), "Fix the failing test");
    let log = world.knobs.lock().unwrap().log.clone();
    let LogLine::Owl(LogNote::Said { text }) = &log[0] else { panic!("{log:?}") };
    assert_eq!(
        text,
        "Owl created /data/accounts/work/settings.json with the default list; from now on the file is yours, and Owl only \
         reads it. The list is a starting point and not a boundary."
    );
}

#[tokio::test]
async fn what_cannot_be_started_stays_as_it_was_without_a_run_or_a_worktree() {
    type Turn = fn(&mut crate::world::Knobs);
    let unreadable = || SettingsError::Unreadable {
        file: "/a/settings.json".into(),
        key: None,
        line: Some(3),
        column: Some(7),
        message: "a comment".into(),
    };
    let cases: [(CannotStartReason, Turn); 6] = [
        (CannotStartReason::Account, |knobs| knobs.accounts.clear()),
        (CannotStartReason::ToolMissing, |knobs| knobs.tool_error = Some(ToolError::Missing { looked: "PATH".into() })),
        (CannotStartReason::ToolVersion, |knobs| {
            knobs.tool_error = Some(ToolError::Version { program: "/bin/claude".into(), reason: "1.0".into() });
        }),
        (CannotStartReason::SettingsUnwritable, |knobs| {
            knobs.settings_error = Some(SettingsError::Unwritable { file: "/a".into(), message: "disk full".into() });
        }),
        (CannotStartReason::ProjectConfig, |knobs| {
            let (file, message) = (".coding-owl.yaml".to_owned(), "unknown field".to_owned());
            knobs.file_error = Some(FileError { file, key: None, line: Some(2), column: None, message });
        }),
        (CannotStartReason::Worktree, |knobs| knobs.in_the_way = true),
    ];
    for (expected, turn) in cases {
        let world = World::new();
        let id = world.added().await;
        world.turn(turn);
        let error = world.service.start(id, world.stop.clone()).await.unwrap_err();
        assert_eq!(reason(&error), expected);
        let view = world.service.get(id).await.unwrap().unwrap();
        assert_eq!((view.job.state, view.job.attempts, view.runs_total), (JobState::Pending, 0, 0));
        assert!(!world.told().iter().any(|told| told.starts_with("worktree made") || told.starts_with("woken")));
        world.turn(|knobs| *knobs = crate::world::Knobs { accounts: vec!["work"], ..crate::world::Knobs::default() });
        assert!(world.service.start(id, world.stop.clone()).await.is_ok(), "{expected:?} leaves no hold behind");
    }
    let world = World::new();
    let id = world.added().await;
    world.turn(|knobs| knobs.settings_error = Some(unreadable()));
    let StartError::CannotStart(cannot) = world.service.start(id, world.stop.clone()).await.unwrap_err() else {
        panic!()
    };
    assert_eq!((cannot.file.as_deref(), cannot.line, cannot.column), (Some("/a/settings.json"), Some(3), Some(7)));
}

#[tokio::test]
async fn a_job_cancelled_while_it_is_being_started_gets_no_run_and_no_worktree() {
    let world = World::new();
    let id = world.added().await;
    let claim = owl_domain::ports::Jobs::claim(&*world.store, id).await.unwrap();
    assert_eq!(claim.job.state, JobState::Pending);
    let second = world.service.start(id, world.stop.clone()).await.unwrap_err();
    assert!(matches!(second, StartError::Claim(ClaimError::Held { .. })));
    owl_domain::ports::Jobs::release(&*world.store, claim).await.unwrap();

    // The cancel comes right before the Run would be stored.
    world.store.rows().held.clear();
    let cancelled = world.service.cancel(id).await.unwrap();
    assert_eq!(cancelled.state, JobState::Cancelled);
    let late = world.service.start(id, world.stop.clone()).await.unwrap_err();
    assert!(matches!(late, StartError::Claim(ClaimError::WrongState { .. })));
    assert_eq!(world.service.get(id).await.unwrap().unwrap().runs_total, 0);
}

#[tokio::test]
async fn a_worktree_made_for_a_start_that_lost_is_taken_away_again() {
    let world = World::new();
    let id = world.added().await;
    let hold = owl_domain::ports::Jobs::claim(&*world.store, id).await.unwrap();
    let store = world.store.clone();
    // Between the hold and the record the hold is lost, as a cancel does it.
    store.rows().held.clear();
    let new = owl_domain::ports::NewRun {
        claim: hold,
        worktree: path("/data/worktrees/j_7"),
        base_commit: Some(CommitId::new("a".repeat(40)).unwrap()),
        terms: Terms::default(),
        permissions: world.permissions().await,
        argv: Vec::new(),
        tool_version: String::new(),
    };
    let begun = owl_domain::ports::Runs::begin(&*store, new, world.clock_now()).await.unwrap();
    assert_eq!(begun, None);
    world.lose_holds();
    let lost = world.service.start(id, world.stop.clone()).await.unwrap_err();
    assert!(matches!(lost, StartError::Cancelled { .. }), "{lost:?}");
    let told = world.told();
    let ends = &told[told.len() - 2..];
    assert_eq!(ends, ["worktree removed /data/worktrees/j_7", "branch removed owl/job-7"]);
}

#[tokio::test]
async fn a_job_needs_an_account_that_is_there() {
    let world = World::new();
    world.turn(|knobs| knobs.accounts.clear());
    assert!(matches!(world.service.add(wanted()).await, Err(WantError::AccountNeeded { known }) if known.is_empty()));
    world.turn(|knobs| knobs.accounts = vec!["a", "b"]);
    let error = world.service.add(wanted()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "no account was named, and there are several: name one, or set `account` in .coding-owl.yaml"
    );
    let mut named = wanted();
    named.account = Some(AccountName::new("c").unwrap());
    assert_eq!(
        world.service.add(named).await.unwrap_err().to_string(),
        "there is no account `c`; add it: owl account add c"
    );
    world.turn(|knobs| knobs.terms.account = Some(AccountName::new("b").unwrap()));
    assert_eq!(world.service.add(wanted()).await.unwrap().job.account.as_str(), "b");
}

#[tokio::test]
async fn a_worktree_that_is_gone_is_not_made_anew_under_a_job_with_work() {
    let world = World::new();
    let (job, _) = world.ran().await;
    assert_eq!(job.state, JobState::Review);
    world.turn(|knobs| knobs.worktree_gone = true);
    let error = world.service.start(job.id, world.stop.clone()).await.unwrap_err();
    assert_eq!(reason(&error), CannotStartReason::Worktree);
    assert_eq!(world.now(job.id).await.0.state, JobState::Review);
}

#[tokio::test]
async fn what_was_at_work_when_the_daemon_died_is_interrupted_and_nothing_starts_by_itself() {
    let world = World::new();
    let id = world.added().await;
    world.service.start(id, world.stop.clone()).await.unwrap();
    let other = world.added().await;
    let _held = owl_domain::ports::Jobs::claim(&*world.store, other).await.unwrap();
    world.turn(|knobs| knobs.told.clear());
    world.service.recover().await.unwrap();
    let (job, run) = world.now(id).await;
    assert_eq!((job.state, job.active_run), (JobState::Pending, None));
    let ending = run.state.ending().unwrap();
    assert_eq!(ending.outcome, owl_domain::job::Outcome::Interrupted);
    assert_eq!(job.reason, ending.reason);
    assert_eq!(
        world.told(),
        ["leftovers ended", "worktree removed /data/worktrees/j_8", "branch removed owl/job-8"],
        "nothing is woken, and a worktree that was made and not recorded goes"
    );
    assert!(world.service.start(other, world.stop.clone()).await.is_ok(), "no hold outlives the daemon");
}
