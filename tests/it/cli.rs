//! The command line: exit codes, JSON alone with --json, nothing that chats.

use crate::support::{owl, run, run_with_input};
use owl_testkit::{Daemon, Home, repo::TempRepo};

#[tokio::test]
async fn without_a_daemon_a_command_says_how_to_start_one_and_touches_nothing() {
    let home = Home::new();
    for args in [&["daemon", "status"][..], &["project", "list"], &["rpc", "system.info"]] {
        let output = run(owl(), args, &home).await;
        assert_eq!(output.code, Some(3), "{args:?}: {}", output.stderr);
        assert!(output.stderr.contains("owl daemon run"), "{}", output.stderr);
    }
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn there_is_no_chat_in_the_command_line() {
    let home = Home::new();
    assert_eq!(run(owl(), &["chat"], &home).await.code, Some(2));
    let help = run(owl(), &["--help"], &home).await;
    assert_eq!(help.code, Some(0));
    let commands = help.stdout.split("Options:").next().unwrap().to_lowercase();
    assert!(!commands.lines().any(|line| line.trim().starts_with("chat")), "{commands}");
}

#[tokio::test]
async fn exit_codes_and_json_hold_for_every_command() {
    let home = Home::new();
    let repo = TempRepo::new();
    repo.commit_file("README.md", "hello\n");
    let path = repo.root().to_str().unwrap();
    let _daemon = Daemon::start(owl(), &home).await;
    let cases: &[(&[&str], i32)] = &[
        (&["daemon", "status"], 0),
        (&["project", "add", path, "--name", "app"], 0),
        (&["project", "add", path, "--name", "app"], 1),
        (&["project", "list"], 0),
        (&["project", "show", "app"], 0),
        (&["project", "show", "nope"], 1),
        (&["provider", "list"], 0),
        (&["provider", "test", "demo"], 0),
        (&["provider", "remove", "anthropic"], 1),
        (&["models"], 0),
        (&["policy"], 0),
        (&["policy", "explain", "git log -n 5", "--in", path], 0),
        (&["policy", "explain", "git push", "--in", path], 1),
        (&["rpc", "system.health"], 0),
        (&["rpc", "no.such"], 1),
        (&["rpc", "system.health", "{"], 2),
        (&["project", "remove", "app"], 0),
        (&["no-such-command"], 2),
    ];
    for (args, code) in cases {
        let plain = run(owl(), args, &home).await;
        assert_eq!(plain.code, Some(*code), "{args:?}: {}{}", plain.stdout, plain.stderr);
        if args[0] == "project" && ["add", "remove"].contains(&args[1]) {
            continue;
        }
        let with_json: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let json = run(owl(), &with_json, &home).await;
        assert_eq!(json.code, Some(*code), "{args:?}: {}{}", json.stdout, json.stderr);
        for line in json.stdout.lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|error| panic!("{args:?}: {error}: {line}"));
        }
    }
}

#[tokio::test]
async fn a_key_on_the_command_line_is_refused_and_not_repeated() {
    let home = Home::new();
    let _daemon = Daemon::start(owl(), &home).await;
    for args in [
        &["provider", "add", "anthropic", "sk-secret-0123456789"][..],
        &["provider", "add", "anthropic", "--key", "sk-secret-0123456789"],
        &["provider", "add", "anthropic", "--api-key=sk-secret-0123456789"],
    ] {
        let refused = run(owl(), args, &home).await;
        assert_eq!(refused.code, Some(2), "{args:?}");
        assert!(refused.stderr.contains("standard input"), "{}", refused.stderr);
        assert!(!refused.stderr.contains("sk-secret"), "{}", refused.stderr);
    }
}

#[tokio::test]
async fn a_key_from_standard_input_is_kept_private_and_only_its_end_is_shown() {
    let home = Home::new();
    let _daemon = Daemon::start(owl(), &home).await;
    let key = "sk-planted-0123456789abcd";
    let added = run_with_input(owl(), &["provider", "add", "anthropic"], &home, &format!("{key}\n")).await;
    assert_eq!(added.code, Some(0), "{}", added.stderr);
    assert!(added.stdout.contains("abcd") && !added.stdout.contains(key), "{}", added.stdout);
    let listed = run(owl(), &["provider", "list", "--json"], &home).await;
    assert!(listed.stdout.contains("\"last4\":\"abcd\"") && !listed.stdout.contains(key));
    let removed = run(owl(), &["provider", "remove", "anthropic"], &home).await;
    assert_eq!(removed.code, Some(0));
    assert_eq!(run(owl(), &["provider", "remove", "anthropic"], &home).await.code, Some(1));
}

#[tokio::test]
async fn the_demo_shows_one_whole_conversation_and_leaves_nothing() {
    let home = Home::new();
    std::fs::create_dir_all(home.path().join("home")).unwrap();
    let output = run(owl(), &["demo"], &home).await;
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    for part in [
        "proposal.created",
        "\"allowed\"",
        "command.finished",
        "\"denied\"",
        "gate_denied",
        "after_seq",
        "I am the demo provider",
    ] {
        assert!(output.stdout.contains(part), "{part} is missing:\n{}", output.stdout);
    }
    assert!(output.stdout.contains("→ {\"id\":") || output.stdout.contains("→ {\"jsonrpc\""), "{}", output.stdout);
}

#[tokio::test]
async fn completions_come_from_the_same_tree() {
    let home = Home::new();
    let script = run(owl(), &["completions", "bash"], &home).await;
    assert_eq!(script.code, Some(0));
    assert!(script.stdout.contains("_owl") && script.stdout.contains("policy"));
}
