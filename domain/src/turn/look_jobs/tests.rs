use super::*;
use crate::{
    conversation::Paged,
    job::{JobPorts, JobService},
    ports::{
        Clock, LogLines, MockClock, MockJobs, MockPaths, MockProjects, MockRepositories, MockRunLogs, MockRuns,
        MockTerms,
    },
    project::ProjectService,
    provider::Call,
    text::{AccountName, BranchName, Prompt, Title},
    time::Timestamp,
    turn::tools,
};
use alloc::{sync::Arc, vec};
use core::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

fn job() -> Job {
    Job {
        id: JobId::new(7),
        project: ProjectName::new("shop").unwrap(),
        account: AccountName::new("work").unwrap(),
        title: Title::new("Fix it").unwrap(),
        prompt: Prompt::new("Fix the \u{1b}[31mtest").unwrap(),
        state: JobState::Blocked,
        reason: Some("2 tool calls were denied".into()),
        branch: BranchName::new("owl/job-7").unwrap(),
        worktree: None,
        base_branch: BranchName::new("main").unwrap(),
        base_commit: None,
        attempts: 1,
        active_run: None,
        changes: None,
        set_up: false,
        created_at: Timestamp::default(),
        updated_at: Timestamp::default(),
    }
}

/// What a call finds among one Job without Runs, and the log `lines` of Run 9.
fn looked_up(tool: &str, arguments: Vec<(&str, Argument)>) -> (String, bool) {
    let mut jobs = MockJobs::new();
    jobs.expect_get().returning(|id| Ok((id == JobId::new(7)).then(job)));
    jobs.expect_list().returning(|filter, _| {
        let fits = filter.state.is_none_or(|state| state == JobState::Blocked);
        Ok(Paged { items: if fits { vec![job()] } else { vec![] }, next: None })
    });
    let mut runs = MockRuns::new();
    runs.expect_of_job().returning(|_, _| Ok((Vec::new(), 3)));
    runs.expect_get().returning(|_| Ok(None));
    let mut logs = MockRunLogs::new();
    logs.expect_size().returning(|_| 30);
    logs.expect_read().returning(|_, _, _| Ok(LogLines::default()));
    let mut stored = MockProjects::new();
    stored.expect_list().returning(|| Ok(Vec::new()));
    let clock: Arc<dyn Clock> = Arc::new(MockClock::new());
    let (repositories, paths) = (Arc::new(MockRepositories::new()), Arc::new(MockPaths::new()));
    let projects =
        ProjectService::new(Arc::new(stored), repositories, paths, Arc::new(MockTerms::new()), clock.clone());
    let projects = Arc::new(projects);
    let jobs = JobService::new(JobPorts {
        jobs: Arc::new(jobs),
        runs: Arc::new(runs),
        logs: Arc::new(logs),
        ..JobPorts::mocked(projects.clone(), clock)
    });
    let looker = Looker { projects: &projects, jobs: &jobs };
    let call = Call { id: "1".into(), name: tool.into(), arguments: "{}".into() };
    let arguments = arguments.into_iter().map(|(name, value)| (name.into(), value)).collect();
    let (_, told) = now(looker.answer(&call, Ok(arguments))).unwrap();
    (told.text, told.is_error)
}

/// Nothing here waits for anything.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => panic!("it waits"),
    }
}

fn text(value: &str) -> Argument {
    Argument::Text(value.into())
}

#[test]
fn an_id_is_taken_with_its_prefix_as_digits_and_as_a_number() {
    for id in [text("j_7"), text("7"), Argument::Whole(7)] {
        let (found, failed) = looked_up(tools::GET_JOB, vec![("job_id", id)]);
        assert!(!failed && found.starts_with("j_7  blocked  Fix it"), "{found}");
        assert!(found.contains("[3 older Runs are not shown]"), "{found}");
        assert!(!found.contains('\u{1b}'), "nothing raw");
    }
    let none = [text("j_8"), text("r_7"), text("07"), text("+7"), text("x"), Argument::Whole(8), Argument::Whole(-7)];
    for id in none {
        assert_eq!(looked_up(tools::GET_JOB, vec![("job_id", id)]), ("`job_id` names nothing.".into(), true));
    }
    assert_eq!(looked_up(tools::GET_JOB, vec![]), ("`job_id` is missing.".into(), true));
    let wrong = looked_up(tools::GET_JOB, vec![("job_id", Argument::Other("a list"))]);
    assert_eq!(wrong, ("`job_id` must be an id, and is a list.".into(), true));
    let unknown = looked_up(tools::GET_JOB, vec![("job_id", text("7")), ("run", text("1"))]);
    assert_eq!(unknown, ("There is no parameter `run`.".into(), true));
}

#[test]
fn jobs_are_listed_by_state_with_their_reason() {
    let line = "j_7  blocked  Fix it  attempts 1  2 tool calls were denied";
    assert_eq!(looked_up(tools::LIST_JOBS, vec![]), (line.into(), false));
    assert_eq!(looked_up(tools::LIST_JOBS, vec![("state", text("blocked"))]), (line.into(), false));
    assert_eq!(looked_up(tools::LIST_JOBS, vec![("state", text("done"))]), ("There is no such Job.".into(), false));
    let (wrong, failed) = looked_up(tools::LIST_JOBS, vec![("state", text("Blocked"))]);
    assert!(failed && wrong.contains("pending, active, blocked"), "{wrong}");
    assert!(looked_up(tools::LIST_JOBS, vec![("project", text("../x"))]).1);
}

#[test]
fn a_job_that_changed_nothing_and_a_run_that_is_none_say_so() {
    let (found, failed) = looked_up(tools::GET_JOB_DIFF, vec![("job_id", text("j_7"))]);
    assert_eq!((found.as_str(), failed), ("j_7 changed nothing.", false));
    let (found, failed) = looked_up(tools::READ_RUN_LOG, vec![("run_id", text("r_9"))]);
    assert_eq!((found.as_str(), failed), ("`run_id` names nothing.", true));
}

#[test]
fn the_end_of_a_long_log_begins_at_a_line_and_says_how_much_there_is() {
    let line = "{\"say\":\"é\"}";
    let long = vec![line; 4_000].join("\n");
    let bytes = u64::try_from(long.len()).unwrap();
    let cut = cut_end(&long, bytes);
    let (first, rest) = cut.split_once('\n').unwrap();
    assert_eq!(first, format!("[last {} of {bytes} bytes]", rest.len()));
    assert!(rest.lines().all(|one| one == line) && cut.len() <= limits::LOOKUP_BYTES);
    assert_eq!(cut_end("short", 5), "short");
}
