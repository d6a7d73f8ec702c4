//! `owl demo`: what it prints crossed the socket and fits the schema, and it leaves nothing behind.

use crate::support::owl;
use owl_testkit::{
    Home, Running, Seen, contract,
    repo::{Snapshot, TempRepo},
    run_in,
};
use serde_json::Value;
use std::{collections::HashMap, os::unix::fs::PermissionsExt as _, path::PathBuf};

/// Runs the demo in a directory, with a place of its own for temporary files.
async fn demo(home: &Home, directory: &std::path::Path, args: &[&str]) -> owl_testkit::Output {
    let temporary = home.path().join("tmp");
    std::fs::create_dir_all(&temporary).unwrap();
    let mut environment: Vec<(&'static str, PathBuf)> = home.environment();
    environment.push(("TMPDIR", temporary));
    run_in(directory, owl().as_ref(), args, &environment, "").await
}

#[tokio::test]
async fn every_line_that_the_demo_prints_is_json_rpc_that_fits_the_schema() {
    let home = Home::new();
    let repo = TempRepo::with_commit();
    let output = demo(&home, repo.root(), &["demo", "--json"]).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let mut asked: HashMap<u64, String> = HashMap::new();
    let (mut answers, mut events, mut captions) = (0, Vec::new(), 0);
    for line in output.stdout.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        if let Some(sent) = line.get("sent") {
            assert_eq!(sent["jsonrpc"], "2.0");
            asked.insert(sent["id"].as_u64().unwrap(), sent["method"].as_str().unwrap().to_owned());
            contract().check_params(sent["method"].as_str().unwrap(), &sent["params"]).unwrap();
        } else if let Some(received) = line.get("received") {
            match received["id"].as_u64() {
                Some(id) => {
                    let method = asked.remove(&id).expect("an answer to a call that was made");
                    let seen = match received.get("error") {
                        Some(error) => Seen::Error(&method, error),
                        None => Seen::Result(&method, &received["result"]),
                    };
                    contract().check(seen).unwrap();
                    answers += 1;
                }
                None => {
                    let event = &received["params"]["result"];
                    contract().check(Seen::Event(received["method"].as_str().unwrap(), event)).unwrap();
                    events.push(event["type"].as_str().unwrap().to_owned());
                }
            }
        } else {
            assert!(line["caption"].is_string(), "{line}");
            captions += 1;
        }
    }
    assert!(asked.is_empty(), "never answered: {asked:?}");
    assert!(answers >= 10 && captions >= 8, "{answers} answers, {captions} captions");
    for name in [
        "proposal.created",
        "proposal.resolved",
        "command.started",
        "command.finished",
        "item.delta",
        "stream.live",
        "grant.created",
        "turn.finished",
    ] {
        assert!(events.iter().any(|event| event == name), "{name} is missing");
    }
}

#[tokio::test]
async fn the_demo_leaves_the_repository_as_it_was_and_its_home_is_gone() {
    let home = Home::new();
    let repo = TempRepo::with_commit();
    let before = Snapshot::of(repo.root());
    let output = demo(&home, repo.root(), &["demo"]).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(Snapshot::of(repo.root()).changed_since(&before), Vec::<PathBuf>::new());
    assert_eq!(std::fs::read_dir(home.path().join("tmp")).unwrap().count(), 0, "the home is gone");
    assert!(
        output.stdout.contains(repo.root().canonicalize().unwrap().to_str().unwrap()),
        "it looked at this repository"
    );
}

#[tokio::test]
async fn a_demo_that_is_stopped_leaves_nothing_either() {
    let home = Home::new();
    let temporary = home.path().join("tmp");
    std::fs::create_dir_all(&temporary).unwrap();
    let mut environment: Vec<(&'static str, PathBuf)> = home.environment();
    environment.push(("TMPDIR", temporary.clone()));
    let mut demo = Running::start(owl().as_ref(), &["demo"], &environment);
    while demo.line().await.unwrap().is_empty() {}
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 1);
    demo.terminate();
    assert_eq!(demo.ended().await, Some(1));
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "the home is gone");
}

#[tokio::test]
async fn a_demo_that_is_kept_says_where_and_outside_a_repository_it_makes_one() {
    let home = Home::new();
    let nowhere = home.path().join("nowhere");
    std::fs::create_dir_all(&nowhere).unwrap();
    let output = demo(&home, &nowhere, &["demo", "--keep"]).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let kept: Vec<_> = std::fs::read_dir(home.path().join("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len(), 1);
    assert!(output.stdout.contains(kept[0].to_str().unwrap()), "{}", output.stdout.lines().last().unwrap());
    assert!(kept[0].join("data/owl.db").exists());
    let mode = std::fs::metadata(&kept[0]).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "keys and answers may lie in it");
    assert!(output.stdout.contains("Say hello"), "the small repository's one commit");
}
