//! How Runs end that do not end by themselves: cancelled, with the daemon, after a crash (D22).

use super::bench::{Bench, appears, is_alive, write};
use serde_json::{Value, json};
use std::{fs, path::Path};

/// An Agent that ignores TERM, with a child in a session of its own that does too, and never ends.
fn stubborn(bench: &Bench) -> std::path::PathBuf {
    let (child, never) = (bench.home.path().join("child"), bench.home.path().join("never"));
    let last = [json!({ "ignore_term": true }), json!({ "child": child }), json!({ "wait_for": never })];
    bench.script([vec![write("a.txt", "a\n")], last.to_vec()].concat().into());
    child
}

async fn at_work(bench: &mut Bench) -> (String, String, [i64; 2]) {
    let child = stubborn(bench);
    let job = bench.add("Never end").await;
    let run = bench.start(&job).await;
    let child = appears(&child).await.parse().unwrap();
    let agent = bench.records().last().unwrap()["pid"].as_i64().unwrap();
    assert!(is_alive(agent) && is_alive(child));
    (job, run, [agent, child])
}

#[tokio::test]
async fn a_job_that_is_cancelled_ends_its_agent_with_all_that_it_started() {
    let mut bench = Bench::new().await;
    let (job, run, pids) = at_work(&mut bench).await;
    let cancelled = bench.owl(&["jobs", "cancel", &job]).await;
    assert!(cancelled.stdout.contains("is cancelled"), "{} {}", cancelled.stdout, cancelled.stderr);
    assert_eq!(pids.map(is_alive), [false, false], "when it has answered, nothing is left");
    let (job, run) = bench.finished(&job, &run).await;
    assert_eq!((&job["state"], &run["outcome"]), (&json!("cancelled"), &json!("cancelled")));
    assert!(Path::new(job["worktree"].as_str().unwrap()).join("a.txt").exists(), "its worktree stays");
    assert_eq!(bench.repo.git(["branch", "--list", "owl/job-1"]).trim_start_matches(['+', ' ']), "owl/job-1");
    let again = bench.client.ok("jobs.cancel", json!({ "job_id": job["id"] })).await;
    assert_eq!(again["updated_at"], job["updated_at"], "cancelling again changes nothing");
}

#[tokio::test]
async fn a_daemon_that_stops_ends_its_agents_and_starts_none_again_by_itself() {
    let mut bench = Bench::new().await;
    let (job, run, pids) = at_work(&mut bench).await;
    let mut follower = bench.daemon.connect().await;
    follower.ok("runs.subscribe", json!({ "run_id": run })).await;
    follower.event_of("stream.live").await;
    let bench = bench.stop_and_start().await;
    assert_eq!(pids.map(is_alive), [false, false]);
    assert_eq!(follower.event_of("stream.closed").await["run_id"], json!(run));
    let mut client = bench.daemon.connect().await;
    let job = client.ok("jobs.get", json!({ "job_id": job })).await;
    assert_eq!((&job["state"], &job["runs"][0]["outcome"]), (&json!("pending"), &json!("interrupted")));
    assert!(job["reason"].as_str().unwrap().contains("the daemon stopped"), "{}", job["reason"]);
    assert_eq!(bench.records().len(), 1);
}

#[tokio::test]
async fn what_a_killed_daemon_left_running_is_found_and_ended() {
    let mut bench = Bench::new().await;
    let (job, run, pids) = at_work(&mut bench).await;
    let mut bench = bench.crash().await;
    assert_eq!(pids.map(is_alive), [false, false], "before anybody is served");
    let shown = bench.client.ok("jobs.get", json!({ "job_id": job })).await;
    assert_eq!((&shown["state"], &shown["active_run_id"]), (&json!("pending"), &Value::Null));
    assert!(shown["reason"].as_str().unwrap().contains("the daemon stopped"), "{}", shown["reason"]);
    let ended = bench.client.ok("runs.get", json!({ "run_id": run })).await;
    assert_eq!((&ended["state"], &ended["outcome"]), (&json!("finished"), &json!("interrupted")));
    assert_eq!(bench.records().len(), 1, "nothing starts by itself");

    bench.script(json!([write("b.txt", "b\n")]));
    let second = bench.start(&job).await;
    let (job, run) = bench.finished(&job, &second).await;
    assert_eq!((&job["state"], &run["attempt"]), (&json!("review"), &json!(2)));
    assert_eq!(job["changes"]["files"], 2, "what the first one wrote is still there");
}

#[tokio::test]
async fn a_log_is_told_as_it_is_written_and_goes_on_where_a_client_left() {
    let mut bench = Bench::new().await;
    let go = bench.home.path().join("go");
    bench.script(json!([{ "say": "first" }, { "wait_for": go }, { "say": "second" }, write("a.txt", "a\n")]));
    let job = bench.add("Talk").await;
    let run = bench.start(&job).await;
    let mut follower = bench.daemon.connect().await;
    follower.ok("runs.subscribe", json!({ "run_id": run })).await;
    let mut next = json!(0);
    loop {
        let event = follower.event_of("run.line").await;
        assert_eq!(event["offset"], next, "no line is missing");
        next = event["next_offset"].clone();
        if event["text"].as_str().unwrap().contains("first") {
            break;
        }
    }
    let while_at_work = bench.client.ok("runs.log", json!({ "run_id": run })).await;
    assert_eq!((&while_at_work["finished"], &while_at_work["next_offset"]), (&json!(false), &while_at_work["size"]));
    drop(follower);
    let mut astray = bench.daemon.connect().await;
    astray.ok("runs.subscribe", json!({ "run_id": run, "after_offset": 1_000_000_000 })).await;
    let stands = astray.event().await;
    assert_eq!((&stands["type"], &stands["next_offset"]), (&json!("stream.live"), &while_at_work["next_offset"]));
    fs::write(go, "").unwrap();
    assert!(astray.event_of("run.line").await["offset"] == while_at_work["next_offset"], "and what comes is told");
    let mut follower = bench.daemon.connect().await;
    follower.ok("runs.subscribe", json!({ "run_id": run, "after_offset": next })).await;
    let rest = follower.events_until("stream.closed").await;
    let told: Vec<&Value> = rest.iter().filter(|event| event["type"] == "run.line").collect();
    assert!(!told.iter().any(|line| line["text"].as_str().unwrap().contains("\"first\"")));
    assert!(told.iter().any(|line| line["text"].as_str().unwrap().contains("\"second\"")));
    let moves: Vec<&Value> =
        rest.iter().filter(|event| event["type"] == "run.changed").map(|e| &e["run"]["state"]).collect();
    assert_eq!(moves.last(), Some(&&json!("finished")));
    let run = bench.client.ok("runs.get", json!({ "run_id": run })).await;
    assert_eq!(rest.last().unwrap()["next_offset"], run["log_bytes"]);
    let plain = bench.owl(&["logs", run["id"].as_str().unwrap(), "--json"]).await.stdout;
    let whole = fs::read_to_string(bench.home.path().join("state/coding-owl/logs/r_1.jsonl")).unwrap();
    assert_eq!(plain, whole);
}

#[tokio::test]
async fn one_line_over_every_limit_ends_the_run_with_the_lines_before_in_the_log() {
    let mut bench = Bench::new().await;
    bench.script(json!([{ "say": "before" }, { "raw_bytes": 9_000_000 }, write("a.txt", "a\n"), { "say": "after" }]));
    let (job, run) = bench.ran("Print").await;
    assert_eq!(job["runs_total"], 1);
    let log = bench.log(&run).await;
    assert!(log.iter().any(|line| line.to_string().contains("before")));
    assert!(run["log_bytes"].as_u64().unwrap() < 3_000_000, "{}", run["log_bytes"]);
}

#[tokio::test]
async fn what_left_its_session_and_dropped_its_environment_ends_with_the_last_run() {
    let leaves = "env -i /usr/bin/setsid /bin/sleep 600 </dev/null >/dev/null 2>&1 & echo $! >left.txt";
    let check = json!({ "name": "leaves", "run": leaves });
    let mut bench = Bench::with(&format!("checks: [{check}]\n"), &[]).await;
    bench.script(json!([write("a.txt", "a\n")]));
    let (job, run) = bench.ran("Leave something").await;
    assert_eq!(run["verification"][0]["state"], "passed", "{run}");
    let left = fs::read_to_string(Path::new(job["worktree"].as_str().unwrap()).join("left.txt")).unwrap();
    assert!(!is_alive(left.trim().parse().unwrap()));
}
