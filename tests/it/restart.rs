//! A killed daemon loses nothing that was told, and runs nothing twice.

use crate::support::{World, allow, ask, command, items, owl, proposal};
use owl_testkit::{ByteServer, Daemon, Script};
use serde_json::json;

#[tokio::test]
async fn a_finished_conversation_reads_back_the_same_after_a_crash() {
    let mut world = World::new().await;
    let c = world.conversation().await;
    ask(&mut world.client, &c, &["git log --oneline -n 5"]).await;
    let shown = proposal(&mut world.client).await;
    allow(&mut world.client, &shown).await;
    world.client.event_of("turn.finished").await;
    let before = items(&mut world.client, &c).await;
    let mut world = world.crash().await;
    assert_eq!(items(&mut world.client, &c).await, before);
    world.client.ok("chat.subscribe", json!({ "conversation_id": c, "after_seq": 0 })).await;
    let replayed = world.client.events_until("stream.live").await;
    let seqs: Vec<_> = replayed.iter().filter_map(|e| e["seq"].as_i64()).collect();
    assert!(seqs.is_sorted() && replayed.iter().any(|e| e["type"] == "turn.finished"));
}

#[tokio::test]
async fn a_proposal_that_waited_still_waits_after_a_crash_and_then_runs_once() {
    let mut world = World::new().await;
    let c = world.conversation().await;
    ask(&mut world.client, &c, &["wc -c README.md"]).await;
    let shown = proposal(&mut world.client).await;
    let mut world = world.crash().await;
    let list = world.client.ok("consent.list", json!({})).await;
    assert_eq!(list["items"], json!([shown]));
    world.client.ok("chat.subscribe", json!({ "conversation_id": c })).await;
    allow(&mut world.client, &shown).await;
    let events = world.client.events_until("turn.finished").await;
    assert_eq!(events.iter().filter(|e| e["type"] == "command.started").count(), 1);
    assert_eq!(events.last().unwrap()["turn"]["stop_reason"], "end_turn");
}

#[tokio::test]
async fn a_proposal_whose_time_ended_while_no_daemon_ran_is_expired_and_the_turn_goes_on() {
    let mut world = World::configured("consent:\n  window: 1s\n").await;
    let c = world.conversation().await;
    ask(&mut world.client, &c, &["wc -c README.md"]).await;
    let shown = proposal(&mut world.client).await;
    let World { home, repo, daemon, client } = world;
    daemon.kill().await;
    drop(client);
    // The deadline is a moment of the real clock: this waits for that moment, not for the daemon.
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let daemon = Daemon::start(owl(), &home).await;
    let mut client = daemon.connect().await;
    client.ok("chat.subscribe", json!({ "conversation_id": c, "after_seq": 0 })).await;
    let resolved = client.event_of("proposal.resolved").await;
    assert_eq!(resolved["outcome"], "expired");
    client.event_of("turn.finished").await;
    let late = client.err("consent.answer", json!({ "proposal_id": shown["id"], "decision": "allow" })).await;
    assert_eq!(late["data"]["state"], "expired");
    drop(repo);
}

#[tokio::test]
async fn a_turn_that_was_streaming_is_interrupted_keeps_its_text_and_is_not_asked_again() {
    let mut world = World::new().await;
    let c = world.conversation().await;
    world.client.ok("chat.send", json!({ "conversation_id": c, "text": "hello" })).await;
    world.client.event_of("item.delta").await;
    let mut world = world.crash().await;
    let seen = world.client.ok("conversations.get", json!({ "conversation_id": c })).await;
    assert_eq!((&seen["state"], &seen["turn"]["stop_reason"]), (&json!("idle"), &json!("interrupted")));
    let stored = items(&mut world.client, &c).await;
    if let Some(answer) = stored.iter().find(|item| item["kind"] == "assistant") {
        assert_eq!((&answer["complete"], &answer["state"]), (&json!(false), &json!("done")));
    }
    world.client.ok("chat.subscribe", json!({ "conversation_id": c })).await;
    world.client.ok("chat.send", json!({ "conversation_id": c, "text": "go on" })).await;
    let finished = world.client.event_of("turn.finished").await;
    assert_eq!(finished["turn"]["stop_reason"], "end_turn");
}

#[tokio::test]
async fn a_command_that_was_running_is_told_as_started_and_never_runs_again() {
    let mut world = World::new().await;
    // A FIFO named .gitignore holds git status until the deadline.
    let fifo = world.repo.root().join("src/.gitignore");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::from_bits_truncate(0o644)).unwrap();
    let c = world.conversation().await;
    ask(&mut world.client, &c, &["git status", "wc -c README.md"]).await;
    let first = proposal(&mut world.client).await;
    let second = proposal(&mut world.client).await;
    allow(&mut world.client, &first).await;
    let started = world.client.event_of("command.started").await;
    let pid = started["pid"].as_i64().unwrap();
    let mut world = world.crash().await;
    let stored = items(&mut world.client, &c).await;
    let commands: Vec<_> = stored.iter().filter(|item| item["kind"] == "command").collect();
    assert_eq!(commands[0]["outcome"], "interrupted");
    assert_eq!(commands[1]["outcome"], "cancelled");
    let error = world.client.err("consent.answer", json!({ "proposal_id": second["id"], "decision": "allow" })).await;
    assert_eq!(error["data"]["state"], "cancelled");
    // Where nobody reaps orphans it is a zombie: dead all the same.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map_or("gone", |(_, rest)| rest);
    assert!(state == "gone" || state.starts_with('Z'), "the command died with its daemon: {stat}");
    world.client.ok("chat.subscribe", json!({ "conversation_id": c })).await;
    world.client.ok("chat.send", json!({ "conversation_id": c, "text": "go on" })).await;
    world.client.event_of("turn.finished").await;
}

#[tokio::test]
async fn a_stop_ends_what_runs_leaves_what_waits_and_tells_who_watches() {
    let mut world = World::new().await;
    let fifo = world.repo.root().join("src/.gitignore");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::from_bits_truncate(0o644)).unwrap();
    let waits = world.conversation().await;
    ask(&mut world.client, &waits, &["cat README.md"]).await;
    let shown = proposal(&mut world.client).await;
    let runs = world.conversation().await;
    ask(&mut world.client, &runs, &["git status"]).await;
    let second = proposal(&mut world.client).await;
    allow(&mut world.client, &second).await;
    world.client.event_of("command.started").await;
    let silent = ByteServer::start([Script::events().hold()]);
    let hears_nothing = crate::models::configured(&mut world, &silent).await;
    world.client.ok("chat.send", json!({ "conversation_id": hears_nothing, "text": "Is anybody there?" })).await;
    silent.wait_for_requests(1);
    let World { home, repo, daemon, mut client } = world;
    let status = daemon.terminate().await;
    assert_eq!(status.code(), Some(0));
    let closed = client.event_of("stream.closed").await;
    assert_eq!(closed["reason"], "stopping");
    assert!(!home.socket().exists());

    let daemon = Daemon::start(owl(), &home).await;
    let mut client = daemon.connect().await;
    for ended in [&runs, &hears_nothing] {
        let ended = client.ok("conversations.get", json!({ "conversation_id": ended })).await;
        assert_eq!(ended["turn"]["stop_reason"], "interrupted");
    }
    assert_eq!(silent.requests().len(), 1, "nobody asks it again");
    let item = items(&mut client, &runs).await.into_iter().find(|item| item["kind"] == "command").unwrap();
    assert_eq!(item["result"]["ended_by"], "shutdown");
    assert_eq!(client.ok("consent.list", json!({})).await["items"][0]["id"], shown["id"]);
    client.ok("chat.subscribe", json!({ "conversation_id": waits })).await;
    allow(&mut client, &shown).await;
    assert_eq!(command(&mut client).await["outcome"], "ran");
    drop(repo);
}
