//! C18: however it ends, nothing of it is left.

use crate::bench::{Bench, Flag, Scenario, bash, stubs, subjects};
use owl_agents::Bounds;
use owl_domain::{
    ids::RunId,
    job::Exit,
    ports::{AgentEvent, AgentExitWhy},
};
use serde_json::json;
use std::{fs, path::Path, time::Duration};

fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| !matches!(stat.rsplit(") ").next().and_then(|rest| rest.chars().next()), Some('Z' | 'X')))
}

async fn appears(file: &Path) -> String {
    for _ in 0..24_000 {
        if let Ok(text) = fs::read_to_string(file)
            && !text.trim().is_empty()
        {
            return text;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{} did not appear within two minutes", file.display());
}

#[tokio::test]
async fn c18_a_stopped_tool_ends_without_a_result_and_its_command_in_a_session_of_its_own_is_gone() {
    for subject in subjects() {
        let bench = Bench::new(&subject).await;
        bench.put("long.mk", "x:\n\t@echo $$PPID > long.pid; trap '' TERM; sleep 1000\n");
        let scenario = Scenario::calls(&[bash("make -f long.mk x")]);
        let _api = bench.prepare(&scenario);
        let stop = Flag::new();
        let agent = bench.start(&scenario, stop.clone()).await;
        let watching = bench.watch(agent);
        let stopping = async {
            let pid = appears(&bench.worktree().join("long.pid")).await;
            stop.fire();
            pid
        };
        let (seen, pid) = tokio::join!(watching, stopping);
        assert!(seen.result().is_none(), "{subject:?}");
        assert_eq!(seen.exit.why, AgentExitWhy::Stopped);
        assert_eq!(seen.exit.exit, Exit::Code(143), "{subject:?}");
        assert!(!is_alive(&pid), "its command is gone: {subject:?}");
    }
}

#[tokio::test]
async fn c18_one_that_ignores_term_is_killed_with_its_child_that_does_too() {
    for subject in stubs() {
        let bench = Bench::new(&subject).await;
        let child = bench.home.path().join("child.pid");
        let then =
            vec![json!({"ignore_term": true}), json!({"child": child}), json!({"wait_for": "/nonexistent/never"})];
        let scenario = Scenario { then, ..Scenario::default() };
        let _api = bench.prepare(&scenario);
        let stop = Flag::new();
        let agent = bench.start(&scenario, stop.clone()).await;
        let stopping = async {
            let pid = appears(&child).await;
            stop.fire();
            pid
        };
        let (seen, pid) = tokio::join!(bench.watch(agent), stopping);
        assert_eq!(seen.exit.exit, Exit::Signal("SIGKILL".into()));
        assert!(!is_alive(&pid));
    }
}

#[tokio::test]
async fn one_that_is_dropped_is_gone_with_what_it_started() {
    let subject = &stubs()[0];
    let bench = Bench::new(subject).await;
    let child = bench.home.path().join("child.pid");
    let then = vec![json!({"child": child}), json!({"wait_for": "/nonexistent/never"})];
    let scenario = Scenario { then, ..Scenario::default() };
    let _api = bench.prepare(&scenario);
    let agent = bench.start(&scenario, Flag::new()).await;
    let pid = appears(&child).await;
    drop(agent);
    for _ in 0..24_000 {
        if !is_alive(&pid) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("its child is still there");
}

#[tokio::test]
async fn a_line_of_eight_mebibytes_is_survived_and_a_longer_one_drained() {
    let subject = &stubs()[0];
    let bench = Bench::new(subject).await;
    let whole = owl_domain::limits::AGENT_LINE_BYTES;
    let then = vec![
        json!({"raw_bytes": whole}),
        json!({"raw_bytes": whole + 1}),
        json!({"raw_bytes": 300_000}),
        json!({"say": "on"}),
    ];
    let scenario = Scenario { then, ..Scenario::default() };
    let _api = bench.prepare(&scenario);
    let mut agent = bench.start(&scenario, Flag::new()).await;
    let mut lengths = Vec::new();
    let exit = loop {
        match agent.next().await {
            AgentEvent::Line { text, bytes } if text.starts_with('x') => {
                lengths.push(usize::try_from(bytes).unwrap());
                assert!(text.len() <= owl_domain::limits::LOG_LINE_BYTES);
            }
            AgentEvent::Ended(exit) => break exit,
            _ => {}
        }
    };
    assert_eq!(lengths, [whole, whole + 1, 300_000]);
    assert_eq!((exit.exit, exit.overlong_line), (Exit::Code(0), Some(u64::try_from(whole + 1).unwrap())));
}

#[tokio::test]
async fn a_tool_that_dies_by_a_signal_says_which() {
    let subject = &stubs()[0];
    let bench = Bench::new(subject).await;
    let seen = bench.play(&Scenario { then: vec![json!({"die": "KILL"})], ..Scenario::default() }).await;
    assert_eq!((seen.exit.why, seen.exit.exit), (AgentExitWhy::Itself, Exit::Signal("SIGKILL".into())));
    let bench = Bench::new(subject).await;
    let then = vec![json!({"stderr": "it broke"}), json!({"exit": 3})];
    let seen = bench.play(&Scenario { then, ..Scenario::default() }).await;
    assert_eq!((seen.exit.exit, seen.exit.stderr_tail.as_str()), (Exit::Code(3), "it broke\n"));
}

#[tokio::test]
async fn one_that_says_nothing_or_does_not_end_is_ended_and_the_reason_is_told() {
    let subject = &stubs()[0];
    let (short, long) = (Duration::from_millis(300), Duration::from_secs(120));
    for (bounds, why) in [
        (Bounds { timeout: long, silence: short }, AgentExitWhy::Silence(short)),
        (Bounds { timeout: short, silence: long }, AgentExitWhy::Timeout(short)),
    ] {
        let bench = Bench::bounded(subject, &[], bounds).await;
        let then = vec![json!({"wait_for": "/nonexistent/never"})];
        let seen = bench.play(&Scenario { then, ..Scenario::default() }).await;
        assert_eq!(seen.exit.why, why);
        assert!(seen.result().is_none());
    }
}

#[tokio::test]
async fn what_a_dead_daemon_left_running_is_found_by_its_mark_and_ended() {
    let bench = Bench::new(&stubs()[0]).await;
    let home = bench.home.path().to_str().unwrap().to_owned();
    let mark = |run: &str, home: &str| vec![("OWL_RUN_ID".into(), run.into()), ("OWL_RUN_HOME".into(), home.into())];
    // It is told when it has its session: what is still in the shell's group ends with the shell.
    let leave = "echo $(setsid sh -c 'sleep 1000 > /dev/null 2>&1 & echo $!')";
    let ours = bench.shell(leave, mark("r_5", &home)).await;
    let other = bench.shell(leave, mark("r_5", "/another/daemon")).await;
    let pid = |output: &owl_process::OwnOutput| String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert_eq!(bench.end_leftovers().await, [RunId::new(5)]);
    assert!(!is_alive(&pid(&ours)));
    assert!(is_alive(&pid(&other)), "another daemon's is not touched");
    let pid = nix::unistd::Pid::from_raw(pid(&other).parse().unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    assert_eq!(bench.end_leftovers().await, []);
}
