//! Subscriptions by type and by number, and `owl rpc --follow`, which comes back by itself.

use crate::{
    support::{World, allow, ask, owl, proposal},
    work::{fifo, held},
};
use owl_testkit::{Daemon, Home, Running};
use serde_json::{Value, json};

#[tokio::test]
async fn an_inbox_of_some_types_has_those_and_no_other() {
    let mut world = World::new().await;
    let c = world.conversation().await;
    let mut inbox = world.daemon.connect().await;
    let types = json!(["proposal.created", "turn.finished"]);
    inbox.ok("events.subscribe", json!({ "types": types })).await;
    assert_eq!(inbox.event().await["type"], "stream.live");
    let mut last = 0;
    for _ in 0..2 {
        ask(&mut world.client, &c, &["cat README.md"]).await;
        let shown = proposal(&mut world.client).await;
        // In a live stream, too, nothing else comes between.
        let created = inbox.event().await;
        assert_eq!((&created["type"], &created["proposal"]), (&json!("proposal.created"), &shown));
        inbox.ok("consent.answer", json!({ "proposal_id": shown["id"], "decision": "deny" })).await;
        let finished = inbox.event().await;
        assert_eq!(finished["type"], "turn.finished");
        last = finished["seq"].as_i64().unwrap();
    }
    let mut again = world.daemon.connect().await;
    again.ok("events.subscribe", json!({ "types": types, "after_seq": 0 })).await;
    let names: Vec<_> = again
        .events_until("stream.live")
        .await
        .iter()
        .map(|event| event["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["proposal.created", "turn.finished", "proposal.created", "turn.finished", "stream.live"]);
    again.ok("events.subscribe", json!({ "types": types, "after_seq": last })).await;
    assert_eq!(again.event().await["type"], "stream.live");
    for (types, field) in [
        (json!(["turn.finished", "no.such"]), "types[1]"),
        (json!(["stream.live"]), "types[0]"),
        (json!(["item.delta"]), "types[0]"),
        (json!([]), "types"),
        (json!(vec!["turn.finished"; 51]), "types"),
    ] {
        let error = again.err("events.subscribe", json!({ "types": types })).await;
        assert_eq!((&error["code"], &error["data"]["field"]), (&json!(-32602), &json!(field)), "{types}");
    }
}

#[tokio::test]
async fn a_number_beyond_the_newest_is_told_and_never_answered_with_silence() {
    let mut world = World::new().await;
    let c = world.conversation().await;
    ask(&mut world.client, &c, &["cat README.md"]).await;
    proposal(&mut world.client).await;
    let newest = world.client.ok("system.health", json!({})).await["last_seq"].as_i64().unwrap();
    for (method, params) in [("chat.subscribe", json!({ "conversation_id": c })), ("events.subscribe", json!({}))] {
        let with = |seq: i64| {
            let mut params = params.clone();
            params["after_seq"] = json!(seq);
            params
        };
        let error = world.client.err(method, with(newest + 1)).await;
        assert_eq!((&error["code"], &error["data"]["last_seq"]), (&json!(1010), &json!(newest)), "{method}");
        assert_eq!(world.client.err(method, with(-1)).await["code"], -32602);
        let mut at_the_end = world.daemon.connect().await;
        at_the_end.ok(method, with(newest)).await;
        let live = at_the_end.event().await;
        assert_eq!((&live["type"], &live["last_seq"]), (&json!("stream.live"), &json!(newest)));
    }
    let error =
        world.client.err("chat.subscribe", json!({ "conversation_id": "c_999", "after_seq": newest + 1 })).await;
    assert_eq!(error["data"]["kind"], "not_found");
}

/// `owl rpc --follow`, and what it prints.
struct Following(Running);

impl Following {
    fn start(home: &Home, method: &str, params: &Value) -> Self {
        let args = ["rpc", method, &params.to_string(), "--follow"];
        Self(Running::start(owl().as_ref(), &args, &home.environment()))
    }

    async fn event(&mut self) -> Value {
        let line = self.0.line().await.expect("it follows on");
        serde_json::from_str(&line).unwrap()
    }

    /// Returns the durable events up to the one with this title.
    async fn until_title(&mut self, title: &str) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let event = self.event().await;
            let last = event["conversation"]["title"] == title;
            if event["seq"].is_i64() {
                events.push(event);
            }
            if last {
                return events;
            }
        }
    }
}

#[tokio::test]
async fn following_goes_on_after_a_restart_of_the_daemon_and_misses_nothing() {
    let mut world = World::new().await;
    let c = world.conversation().await;
    let mut following = Following::start(&world.home, "chat.subscribe", &json!({ "conversation_id": c }));
    let mut inbox = Following::start(&world.home, "events.subscribe", &json!({ "types": ["conversation.updated"] }));
    assert_eq!(following.event().await["type"], "stream.live");
    assert_eq!(inbox.event().await["type"], "stream.live");
    let World { home, repo, mut daemon, client } = world;
    drop(client);
    let mut expected = Vec::new();
    for round in 0..3 {
        if round % 2 == 0 {
            daemon.kill().await;
        } else {
            assert_eq!(daemon.terminate().await.code(), Some(0));
        }
        daemon = Daemon::start(owl(), &home).await;
        let mut client = daemon.connect().await;
        // What happens before they are back is told, too.
        for n in 0..3 {
            let title = format!("round {round} title {n}");
            client.ok("conversations.update", json!({ "conversation_id": c, "title": title })).await;
            expected.push(title);
        }
        for follower in [&mut following, &mut inbox] {
            let told = follower.until_title(&format!("round {round} title 2")).await;
            let titles: Vec<_> = told.iter().map(|event| event["conversation"]["title"].as_str().unwrap()).collect();
            assert_eq!(titles, expected[expected.len() - 3..]);
        }
    }
    let mut client = daemon.connect().await;
    client.ok("conversations.delete", json!({ "conversation_id": c })).await;
    loop {
        let event = following.event().await;
        if event["type"] == "stream.closed" {
            if event["reason"] == "deleted" {
                break;
            }
            assert_eq!(event["reason"], "stopping");
        }
    }
    assert_eq!(following.0.ended().await, Some(0));
    drop(repo);
}

#[tokio::test]
async fn a_command_of_a_conversation_that_is_deleted_is_ended_first_and_says_how() {
    let mut world = World::new().await;
    let _holds_git_up = fifo(&world.repo);
    let c = world.conversation().await;
    ask(&mut world.client, &c, &["git status"]).await;
    let shown = proposal(&mut world.client).await;
    allow(&mut world.client, &shown).await;
    let started = world.client.event_of("command.started").await;
    held(&started).await;
    let mut other = world.daemon.connect().await;
    other.ok("conversations.delete", json!({ "conversation_id": c })).await;
    assert!(!std::path::Path::new(&format!("/proc/{}", started["pid"])).exists());
    let told = world.client.events_until("stream.closed").await;
    let names: Vec<&str> = told.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(names[names.len() - 2..], ["conversation.deleted", "stream.closed"], "{names:?}");
    // Its events go with it, so a client that is slow has only these; one that was told more was told the truth.
    for item in told.iter().filter(|event| event["type"] == "item.completed").map(|event| &event["item"]) {
        assert_eq!((&item["outcome"], &item["result"]["ended_by"]), (&json!("ran"), &json!("cancel")), "{names:?}");
    }
}
