use super::*;
use crate::testing::{Flag, is_alive, script, until};
use std::fs;

fn mark(home: &Path) -> Mark {
    Mark { run: "r_1".into(), home: home.to_str().unwrap().into() }
}

fn agent(text: &str, home: &Path) -> AgentSpec {
    let OwnCommand { program, argv, env, cwd, deadline, .. } = script(text, home);
    let (mark, grace) = (mark(home), Duration::from_millis(300));
    AgentSpec { program, argv, env, cwd, mark, deadline, grace, line_bytes: 1000 }
}

async fn all(mut agent: Agent) -> (Vec<AgentLine>, AgentEnd) {
    let mut lines = Vec::new();
    loop {
        match agent.next().await {
            AgentProgress::Line(line) => lines.push(line),
            AgentProgress::Ended(end) => return (lines, end),
        }
    }
}

async fn pid_in(file: PathBuf) -> i32 {
    let read = || fs::read_to_string(&file).ok()?.trim().parse::<i32>().ok();
    until("it wrote its number", || read().is_some()).await;
    read().unwrap()
}

#[tokio::test]
async fn its_lines_are_told_one_by_one_and_then_its_end() {
    let home = tempfile::tempdir().unwrap();
    let text = "echo $$; printf 'one\\n\\ntwo'; sleep 0.05; echo ' more'; head -c 3000 /dev/zero; echo; printf end; echo no >&2; exit 4";
    let agent = Spawner::new().spawn_agent(agent(text, home.path()), Flag::new()).await.unwrap();
    let pid = agent.pid();
    let (lines, end) = all(agent).await;
    let told: Vec<_> =
        lines.iter().map(|line| (String::from_utf8_lossy(&line.kept).into_owned(), line.bytes)).collect();
    let pid = (pid.to_string(), pid.to_string().len() as u64);
    let zeros = ("\0".repeat(1000), 3000);
    let short = |text: &str| (text.to_owned(), text.len() as u64);
    assert_eq!(told, [pid, short("one"), short(""), short("two more"), zeros, short("end")]);
    assert_eq!((end.ended_by, end.exit_code, end.stderr.head.as_str()), (EndedBy::Exit, Some(4), "no\n"));
}

#[tokio::test]
async fn it_waits_for_a_slow_reader_and_nothing_is_lost() {
    let home = tempfile::tempdir().unwrap();
    let text = "i=0; while [ $i -lt 200 ]; do head -c 30000 /dev/zero; echo; i=$((i+1)); done; echo > done";
    let spec = AgentSpec { line_bytes: 100_000, ..agent(text, home.path()) };
    let mut agent = Spawner::new().spawn_agent(spec, Flag::new()).await.unwrap();
    until("enough waits", || agent.told.lock().bytes >= WAITING_BYTES).await;
    assert!(agent.told.lock().bytes < WAITING_BYTES + 200_000, "it is not read further");
    assert!(!home.path().join("done").exists());
    assert!(matches!(agent.next().await, AgentProgress::Line(_)));
    let (lines, end) = all(agent).await;
    assert_eq!((lines.len(), end.exit_code), (199, Some(0)));
    assert!(lines.iter().all(|line| line.bytes == 30000 && line.kept.len() == 30000));
}

#[tokio::test]
async fn its_environment_is_what_was_given_and_the_mark() {
    let home = tempfile::tempdir().unwrap();
    let mut spec = agent("tr '\\0' '\\n' < /proc/$$/environ", home.path());
    spec.env.push(("OWL_RUN_ID".into(), "forged".into()));
    let (lines, _) = all(Spawner::new().spawn_agent(spec, Flag::new()).await.unwrap()).await;
    let text: Vec<_> = lines.iter().map(|line| String::from_utf8(line.kept.clone()).unwrap()).collect();
    assert_eq!(text, ["PATH=/usr/bin:/bin", "OWL_RUN_ID=r_1", &format!("OWL_RUN_HOME={}", home.path().display())]);
}

#[tokio::test]
async fn what_it_left_in_a_session_of_its_own_ends_with_it() {
    let home = tempfile::tempdir().unwrap();
    let text = "setsid sh -c 'trap \"\" TERM HUP; echo $$ > other; while :; do sleep 60; done' >/dev/null 2>&1 &
        while ! test -s other; do sleep 0.01; done; echo bye";
    let (lines, end) = all(Spawner::new().spawn_agent(agent(text, home.path()), Flag::new()).await.unwrap()).await;
    assert_eq!((lines.len(), end.exit_code), (1, Some(0)));
    let other = pid_in(home.path().join("other")).await;
    assert!(!is_alive(other));
    until("it is reaped", || !Path::new(&format!("/proc/{other}")).exists()).await;
}

#[tokio::test]
async fn a_stop_ends_it_with_children_that_ignore_term_and_cleared_the_mark() {
    let home = tempfile::tempdir().unwrap();
    let text = "trap '' TERM; setsid env -i sh -c 'trap \"\" TERM HUP; echo $$ > other; while :; do /bin/sleep 60; done' & wait; wait; sleep 60";
    let stop = Flag::new();
    let agent = Spawner::new().spawn_agent(agent(text, home.path()), stop.clone()).await.unwrap();
    let other = pid_in(home.path().join("other")).await;
    stop.tell();
    let (_, end) = all(agent).await;
    assert_eq!((end.ended_by, end.signal.as_deref()), (EndedBy::Stopped, Some("SIGKILL")));
    assert!(!is_alive(other));
}

#[tokio::test]
async fn one_that_is_dropped_is_killed_with_what_it_started() {
    let home = tempfile::tempdir().unwrap();
    let text = "setsid sh -c 'echo $$ > other; exec sleep 600' & echo $$ > own; wait";
    let agent = Spawner::new().spawn_agent(agent(text, home.path()), Flag::new()).await.unwrap();
    let (own, other) = (pid_in(home.path().join("own")).await, pid_in(home.path().join("other")).await);
    drop(agent);
    until("both are gone", || !is_alive(own) && !is_alive(other)).await;
}

#[tokio::test]
async fn what_a_dead_daemon_left_is_found_by_its_mark_and_nothing_else_is_touched() {
    let home = tempfile::tempdir().unwrap();
    let spawner = Spawner::new();
    // As after a crash: marked processes that nobody owns any more, of three Runs and of another daemon.
    let run = async |file: &str, run: &str, of: &str| {
        let text =
            format!("setsid sh -c 'echo $$ > {file}; exec sleep 600' & while ! test -s {file}; do sleep 0.01; done");
        let mut command = script(&text, home.path());
        command.env.extend(Mark { run: run.into(), home: format!("{}/{of}", home.path().display()) }.variables());
        assert!(spawner.run_own(command, Flag::new()).await.unwrap().succeeded());
        pid_in(home.path().join(file)).await
    };
    let (old, active) = (run("old", "r_1", "here").await, run("active", "r_2", "here").await);
    let elsewhere = run("elsewhere", "r_1", "there").await;
    let here = format!("{}/here", home.path().display());
    let ended = spawner.end_leftovers(here, |run| run == "r_2").await;
    assert_eq!(ended, BTreeSet::from(["r_1".to_owned()]));
    assert!(!is_alive(old) && is_alive(active) && is_alive(elsewhere));
    for pid in [active, elsewhere] {
        nix::sys::signal::kill(Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL).unwrap();
    }
}

#[tokio::test]
async fn a_check_keeps_both_ends_of_its_output_and_ends_what_it_started() {
    let home = tempfile::tempdir().unwrap();
    let text = "setsid sh -c 'echo $$ > other; exec sleep 600' & while ! test -s other; do sleep 0.01; done
        echo first; head -c 200000 /dev/zero | tr '\\0' x; echo; echo last; echo wrong >&2; exit 2";
    let spawner = Spawner::new();
    let end = spawner.run_check(script(text, home.path()), mark(home.path()), Flag::new()).await.unwrap();
    assert_eq!((end.ended_by, end.exit_code, end.stderr.head.as_str()), (EndedBy::Exit, Some(2), "wrong\n"));
    assert!(end.stdout.head.starts_with("first\n") && end.stdout.tail.ends_with("\nlast\n"));
    assert_eq!(end.stdout.bytes, 200_012);
    assert!(!is_alive(pid_in(home.path().join("other")).await));
}

#[tokio::test]
async fn a_check_that_takes_too_long_is_ended_and_said_so() {
    let home = tempfile::tempdir().unwrap();
    let command =
        OwnCommand { deadline: Duration::from_millis(200), ..script("echo begun; exec sleep 600", home.path()) };
    let end = Spawner::new().run_check(command, mark(home.path()), Flag::new()).await.unwrap();
    assert_eq!((end.ended_by, end.stdout.head.as_str()), (EndedBy::Timeout, "begun\n"));
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let home = tempfile::tempdir().unwrap();
    let spec = AgentSpec { program: "/no/such".into(), ..agent("", home.path()) };
    let error = Spawner::new().spawn_agent(spec, Flag::new()).await.unwrap_err();
    assert!(error.to_string().contains("No such file or directory"), "{error}");
}
