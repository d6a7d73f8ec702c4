//! The command line: exit codes, JSON alone with --json, nothing that chats.

use crate::support::{World, owl, run, run_with_input};
use owl_testkit::{ByteServer, Daemon, Home, Output, Script, repo::TempRepo};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::UnixListener,
};

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
        (&["account", "list"], 0),
        (&["account", "add", "work", "--no-token"], 0),
        (&["account", "list"], 0),
        (&["account", "show", "work"], 0),
        (&["account", "permissions", "work"], 0),
        (&["account", "show", "nope"], 1),
        (&["jobs", "list"], 0),
        (&["jobs", "add", "--project", "app", "Do it"], 0),
        (&["jobs", "list"], 0),
        (&["jobs", "show", "j_1", "--diff"], 0),
        (&["jobs", "accept", "j_1"], 1),
        (&["jobs", "cancel", "j_1"], 0),
        (&["jobs", "drop", "j_1"], 0),
        (&["jobs", "show", "j_9"], 1),
        (&["logs", "r_9"], 1),
        (&["account", "remove", "work"], 0),
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
        // What changes something is answered otherwise the second time.
        if args.get(1).is_some_and(|verb| ["add", "remove", "cancel", "drop"].contains(verb)) {
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
        &["account", "add", "work", "sk-secret-0123456789"],
        &["account", "add", "work", "--token", "sk-secret-0123456789"],
        &["account", "add", "work", "--token=sk-secret-0123456789"],
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
async fn a_provider_is_tested_with_its_key_and_a_refusal_is_told() {
    let home = Home::new();
    let _daemon = Daemon::start(owl(), &home).await;
    let models = json!({ "data": [{ "type": "model", "id": "claude-x", "display_name": "X" }], "has_more": false });
    let refusal = json!({ "type": "error", "error": { "type": "authentication_error", "message": "no such key" } });
    let key = "sk-planted-0123456789abcd";
    for (status, body, code) in [(200, models, 0), (401, refusal, 1)] {
        let server = ByteServer::start([Script::answer(status, &["content-type: application/json"], body.to_string())]);
        let add = ["provider", "add", "anthropic", "--base-url", &server.url(), "--model", "claude-x"];
        let added = run_with_input(owl(), &add, &home, key).await;
        assert_eq!(added.code, Some(0), "{}", added.stderr);
        let tested = run(owl(), &["provider", "test", "anthropic"], &home).await;
        assert_eq!(tested.code, Some(code), "{}{}", tested.stdout, tested.stderr);
        assert!(!server.requests().is_empty(), "it asked the Provider");
        assert!(server.requests().iter().all(|request| request.header("x-api-key") == Some(key)));
        let agent = format!("coding-owl/{}", env!("CARGO_PKG_VERSION"));
        assert!(server.requests().iter().all(|request| request.header("user-agent") == Some(agent.as_str())));
        assert!(!format!("{}{}", tested.stdout, tested.stderr).contains(key));
    }
}

#[tokio::test]
async fn a_project_file_with_nearly_the_right_name_is_named_as_not_read() {
    let world = World::new().await;
    world.repo.commit_file(".coding-owl.yml", "apiVersion: codingowl.dev/v1\n");
    let shown = run(owl(), &["project", "show", "app"], &world.home).await;
    assert!(
        shown.stdout.contains(".coding-owl.yml is not read: the name must be .coding-owl.yaml"),
        "{}",
        shown.stdout
    );
}

#[tokio::test]
async fn a_refusal_of_a_call_is_told_whole_and_once() {
    let world = World::new().await;
    let call = ["rpc", "consent.answer", r#"{"proposal_id":"p_1","decision":"maybe"}"#];
    let plain = run(owl(), &call, &world.home).await;
    assert_eq!(plain.code, Some(1));
    assert!(plain.stdout.is_empty() && plain.stderr.contains("must be `allow` or `deny`"), "{}", plain.stderr);
    let unknown = run(owl(), &["rpc", "projects.get", r#"{"name":"app"}"#], &world.home).await;
    assert!(unknown.stderr.contains("unknown parameter `name`; expected is one of project"), "{}", unknown.stderr);

    let json: Vec<&str> = call.into_iter().chain(["--json"]).collect();
    let refused = run(owl(), &json, &world.home).await;
    assert_eq!(refused.code, Some(1));
    let error: Value = serde_json::from_str(&refused.stdout).unwrap();
    assert_eq!((&error["code"], &error["data"]["field"]), (&json!(-32602), &json!("decision")));
    assert!(error["message"].is_string());

    let unknown = run(owl(), &["rpc", "no.such"], &world.home).await;
    assert!(unknown.stderr.contains("no.such") && unknown.stderr.contains("rpc.discover"), "{}", unknown.stderr);

    let workdir = world.workdir();
    let denied = run(owl(), &["--json", "policy", "explain", "git push", "--in", &workdir], &world.home).await;
    assert_eq!(denied.code, Some(1));
    let verdict: Value = serde_json::from_str(&denied.stdout).unwrap();
    assert_eq!(verdict["verdict"], "denied");

    let elsewhere = run(owl(), &["policy", "explain", "git log", "--in", "/"], &world.home).await;
    assert_eq!(elsewhere.code, Some(1));
    assert!(elsewhere.stderr.contains("owl project add PATH"), "{}", elsewhere.stderr);
    assert!(elsewhere.stderr.contains(&format!("{workdir} (app)")), "{}", elsewhere.stderr);
}

#[tokio::test]
async fn only_what_can_be_followed_is_followed_and_only_so() {
    let home = Home::new();
    let document = std::fs::read_to_string(crate::support::source("schemas/openrpc.json")).unwrap();
    let document: Value = serde_json::from_str(&document).unwrap();
    let methods = document["methods"].as_array().unwrap();
    let refused = run(owl(), &["rpc", "system.info", "--follow"], &home).await;
    assert_eq!(refused.code, Some(2));
    for method in methods.iter().filter(|method| !method["x-notification"].is_null()) {
        let name = method["name"].as_str().unwrap();
        assert!(refused.stderr.contains(name), "{}", refused.stderr);
        let alone = run(owl(), &["rpc", name, "{}"], &home).await;
        assert_eq!(alone.code, Some(2), "{name}");
        assert!(alone.stdout.is_empty() && alone.stderr.contains("--follow"), "{}", alone.stderr);
    }
}

/// What `owl` prints about a daemon that answers its calls in this order.
async fn of_a_daemon_that_answers(args: &[&str], answers: Vec<Value>) -> Output {
    let home = Home::new();
    std::fs::create_dir_all(home.socket().parent().unwrap()).unwrap();
    let listener = UnixListener::bind(home.socket()).unwrap();
    let daemon = async {
        let (read, mut write) = listener.accept().await.unwrap().0.into_split();
        let mut lines = BufReader::new(read).lines();
        for answer in answers {
            let asked: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
            let event = json!({ "jsonrpc": "2.0", "method": "chat.event", "params": { "type": "of.tomorrow" } });
            let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer, "more": true });
            write.write_all(format!("{event}\n{answer}\n").as_bytes()).await.unwrap();
        }
    };
    tokio::join!(daemon, run(owl(), args, &home)).1
}

#[tokio::test]
async fn a_daemon_of_another_version_is_understood_and_named() {
    let info = |version: &str| json!({ "version": version, "api": "1.7", "pid": 7, "of_tomorrow": { "a": [1] } });
    let health = json!({ "ok": true, "database": "ok", "of_tomorrow": 1, "turns_running": 2, "runs_active": 1 });
    let status = of_a_daemon_that_answers(&["daemon", "status"], vec![info("9.9.9"), health.clone()]).await;
    assert_eq!(status.code, Some(0), "{}", status.stderr);
    assert!(status.stdout.contains("owl 9.9.9 (api 1.7), pid 7"), "{}", status.stdout);
    assert!(status.stdout.contains("2 turns, - waiting for a person, 0 commands, 1 Run\n"), "{}", status.stdout);
    let note = format!("this is owl {}, and the daemon is another version: restart it", env!("CARGO_PKG_VERSION"));
    assert!(status.stdout.contains(&note), "{}", status.stdout);
    let status = of_a_daemon_that_answers(&["daemon", "status"], vec![info(env!("CARGO_PKG_VERSION")), health]).await;
    assert!(!status.stdout.contains("another version"), "{}", status.stdout);
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
async fn the_demo_needs_no_network() {
    let home = Home::new();
    std::fs::create_dir_all(home.path().join("home")).unwrap();
    // A network of its own, in which not even loopback is up.
    let alone = |program: &str| format!("unshare --user --map-root-user --net -- {program}");
    if run("sh", &["-c", &alone("true")], &home).await.code == Some(0) {
        let output = run("sh", &["-c", &alone(&format!("'{}' demo", owl().display()))], &home).await;
        assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
        assert!(output.stdout.contains("command.finished"), "{}", output.stdout);
    } else {
        eprintln!("SKIPPED: the_demo_needs_no_network (`unshare` gives no network of its own here)");
    }
}

#[tokio::test]
async fn completions_come_from_the_same_tree() {
    let home = Home::new();
    let script = run(owl(), &["completions", "bash"], &home).await;
    assert_eq!(script.code, Some(0));
    assert!(script.stdout.contains("_owl") && script.stdout.contains("policy"));
}
