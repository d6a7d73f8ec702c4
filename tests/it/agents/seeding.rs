//! An Account's list: seeded once, read ever after, never written again (ADR-0035, D19).

use super::bench::{Bench, DEFAULT_LIST, TOKEN, bash, write};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::Path,
};

/// Everything about a file that writing to it would change.
fn identity(path: &Path) -> (Vec<u8>, u64, u32, [i64; 4]) {
    let there = fs::metadata(path).unwrap();
    let times = [there.mtime(), there.mtime_nsec(), there.ctime(), there.ctime_nsec()];
    (fs::read(path).unwrap(), there.ino(), there.mode(), times)
}

#[tokio::test]
async fn a_fresh_account_is_seeded_with_the_fifteen_rules_before_its_first_agent() {
    let mut bench = Bench::new().await;
    let settings = bench.settings();
    assert!(settings.parent().unwrap().is_dir() && !settings.exists(), "its directory is made, its file is not");
    let would = bench.client.ok("accounts.permissions", json!({ "account": "work" })).await;
    assert_eq!((would["would_seed"].as_array().unwrap().len(), &would["present"]), (15, &json!(false)));
    assert!(!settings.exists(), "asking writes nothing");

    bench.script(json!([write("a.txt", "a\n"), bash("git status")]));
    let (job, run) = bench.ran("Write a").await;
    assert_eq!((&job["state"], &run["denials"]), (&json!("review"), &json!([])));
    assert_eq!(fs::read_to_string(&settings).unwrap(), DEFAULT_LIST);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode(&settings), mode(settings.parent().unwrap())), (0o600, 0o700));
    let list = &run["permissions"]["account"];
    assert_eq!((list["allow"].as_array().unwrap().len(), &list["seeded"]), (15, &json!(true)));
    assert_eq!(list["ignored"], json!([]));

    let log = bench.log(&run).await;
    let said = log.iter().find(|line| line["event"] == "said").unwrap();
    assert!(said["text"].as_str().unwrap().contains(settings.to_str().unwrap()), "{said}");
    let shown = bench.owl(&["account", "permissions", "work"]).await.stdout;
    assert!(shown.contains("Bash(pytest:*)") && shown.contains("a starting point, not a boundary"), "{shown}");
    let shown = bench.owl(&["account", "show", "work"]).await.stdout;
    assert!(shown.contains("made by Owl at") && shown.contains("…7Q2x") && !shown.contains(TOKEN), "{shown}");
}

#[tokio::test]
async fn a_file_that_the_user_wrote_is_used_and_recorded_as_it_stands_and_never_touched() {
    let mut bench = Bench::new().await;
    let own =
        "{ \"permissions\":{\"allow\": [ \"Write\",\"Read\" ],\n\"deny\":[\"Bash(git push:*)\"]} ,\"mine\":1}\n\n";
    fs::write(bench.settings(), own).unwrap();
    let before = identity(&bench.settings());
    bench.script(json!([write("a.txt", "a\n"), bash("make all")]));
    let (job, run) = bench.ran("Write a").await;
    let list = &run["permissions"]["account"];
    assert_eq!((&list["allow"], &list["deny"]), (&json!(["Write", "Read"]), &json!(["Bash(git push:*)"])));
    assert_eq!((&list["seeded"], &run["settings_changed"]), (&json!(false), &json!(false)));
    assert_eq!(run["denials"][0]["rule_to_add"], "Bash(make:*)", "what the user left out is not put back");
    bench.again(&job).await;
    let bench = bench.crash().await;
    assert_eq!(identity(&bench.settings()), before);
    let account = bench.owl(&["account", "show", "work"]).await.stdout;
    assert!(account.contains("not made by Owl"), "{account}");
}

#[tokio::test]
async fn a_run_shows_what_stood_then() {
    let mut bench = Bench::new().await;
    bench.script(json!([write("a.txt", "a\n")]));
    let (job, first) = bench.ran("Write a").await;
    fs::write(bench.settings(), r#"{"permissions":{"allow":["Write"]}}"#).unwrap();
    bench.script(json!([write("b.txt", "b\n")]));
    let (job, second) = bench.again(&job).await;
    assert_eq!(second["permissions"]["account"]["allow"], json!(["Write"]));
    assert_eq!(job["runs"], json!([second, first]));
}

#[tokio::test]
async fn a_file_that_the_user_deleted_is_seeded_again() {
    let mut bench = Bench::new().await;
    bench.script(json!([write("a.txt", "a\n")]));
    let (job, _) = bench.ran("Write a").await;
    let first = bench.client.ok("accounts.get", json!({ "account": "work" })).await;
    fs::remove_file(bench.settings()).unwrap();
    bench.script(json!([write("b.txt", "b\n")]));
    let (_, run) = bench.again(&job).await;
    assert_eq!(run["permissions"]["account"]["seeded"], true);
    assert_eq!(fs::read_to_string(bench.settings()).unwrap(), DEFAULT_LIST);
    let second = bench.client.ok("accounts.get", json!({ "account": "work" })).await;
    assert!(second["seeded_at"].as_str() > first["seeded_at"].as_str());
}

#[tokio::test]
async fn what_the_tool_would_drop_refuses_the_run_naming_file_line_and_column() {
    let cases = [
        ("{\n  // mine\n}\n", json!(2), json!(3)),
        ("{\"permissions\":{\"allow\":[\"Read\",]}}", json!(1), json!(34)),
        ("", json!(1), json!(0)),
        ("[]", json!(1), json!(1)),
        ("{\"permissions\":{\"allow\":\"Read\"}}", json!(1), Value::Null),
    ];
    let mut bench = Bench::new().await;
    let job = bench.add("Write a").await;
    for (text, line, _column) in cases {
        fs::write(bench.settings(), text).unwrap();
        let before = identity(&bench.settings());
        let refused = bench.client.err("jobs.start", json!({ "job_id": job })).await;
        let data = &refused["data"];
        assert_eq!(
            (&data["kind"], &data["reason"], &data["file"]),
            (&json!("cannot_start"), &json!("settings_unreadable"), &json!(bench.settings())),
            "{text}"
        );
        assert_eq!((&data["line"], data["column"].is_u64()), (&line, true), "{text}: {refused}");
        assert_eq!(identity(&bench.settings()), before);
        let job = bench.client.ok("jobs.get", json!({ "job_id": job })).await;
        assert_eq!((&job["state"], &job["runs_total"], &job["worktree"]), (&json!("pending"), &json!(0), &Value::Null));
    }
    assert_eq!(bench.records(), Vec::<Value>::new(), "no Agent was started");
    assert_eq!(bench.repo.git(["branch", "--list", "owl/*"]), "");
    let shown = bench.owl(&["account", "permissions", "work"]).await;
    assert_eq!(shown.code, Some(1));
    assert!(shown.stdout.contains("cannot be read as the coding tool reads it:1:"), "{}", shown.stdout);
}

#[tokio::test]
async fn a_link_to_nothing_is_refused_and_a_link_to_a_good_file_is_read() {
    let mut bench = Bench::new().await;
    let elsewhere = bench.home.path().join("dotfiles.json");
    symlink(&elsewhere, bench.settings()).unwrap();
    let job = bench.add("Write a").await;
    let refused = bench.client.err("jobs.start", json!({ "job_id": job })).await;
    assert_eq!(refused["data"]["reason"], "settings_unreadable", "{refused}");
    assert!(!elsewhere.exists(), "nothing is written through it");
    fs::write(&elsewhere, r#"{"permissions":{"allow":["Write"]}}"#).unwrap();
    bench.script(json!([write("a.txt", "a\n")]));
    let run = bench.start(&job).await;
    let (_, run) = bench.finished(&job, &run).await;
    assert_eq!(run["permissions"]["account"]["allow"], json!(["Write"]));
    assert!(fs::symlink_metadata(bench.settings()).unwrap().is_symlink());
}

#[tokio::test]
async fn of_eight_runs_at_once_on_a_fresh_account_one_seeds_and_all_read_the_whole() {
    let mut bench = Bench::new().await;
    let go = bench.home.path().join("go");
    bench.script(json!([{ "wait_for": go }, write("a.txt", "a\n")]));
    let mut starting = tokio::task::JoinSet::new();
    for number in 1..=8 {
        let job = bench.add(&format!("Job {number}")).await;
        let mut client = bench.daemon.connect().await;
        starting.spawn(async move { client.ok("jobs.start", json!({ "job_id": job })).await });
    }
    let started = starting.join_all().await;
    let ninth = bench.add("One too many").await;
    let refused = bench.client.err("jobs.start", json!({ "job_id": ninth })).await;
    assert_eq!(
        (&refused["data"]["kind"], &refused["data"]["limit"], &refused["data"]["max"]),
        (&json!("limit_reached"), &json!("runs_active"), &json!(8))
    );
    assert_eq!(bench.client.ok("system.health", json!({})).await["runs_active"], 8);
    fs::write(go, "").unwrap();
    let mut seeded = 0;
    for one in started {
        let (job, run) = (one["job"]["id"].as_str().unwrap(), one["run"]["id"].as_str().unwrap());
        let (job, run) = bench.finished(job, run).await;
        assert_eq!(
            (&job["state"], run["permissions"]["account"]["allow"].as_array().unwrap().len()),
            (&json!("review"), 15)
        );
        seeded += usize::from(run["permissions"]["account"]["seeded"] == true);
    }
    assert_eq!(seeded, 1);
    assert_eq!(fs::read_to_string(bench.settings()).unwrap(), DEFAULT_LIST);
    let left: Vec<_> =
        fs::read_dir(bench.settings().parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["settings.json"]);
}

#[tokio::test]
async fn a_settings_file_that_changed_during_a_run_is_said_aloud() {
    let mut bench = Bench::new().await;
    let go = bench.home.path().join("go");
    bench.script(json!([{ "wait_for": go }, write("a.txt", "a\n")]));
    let job = bench.add("Wait").await;
    let run = bench.start(&job).await;
    fs::write(bench.settings(), r#"{"permissions":{"allow":["Bash"]}}"#).unwrap();
    fs::write(&go, "").unwrap();
    let (job, run) = bench.finished(&job, &run).await;
    assert_eq!(run["settings_changed"], true);
    let shown = bench.shown(&job).await;
    let notes: Vec<&str> = shown.lines().filter(|line| line.starts_with("  NOTE: ")).collect();
    let file = bench.settings();
    let file = file.to_str().unwrap();
    assert!(notes.len() == 1 && notes[0].contains(file) && notes[0].contains("changed during the Run"), "{notes:?}");
}
