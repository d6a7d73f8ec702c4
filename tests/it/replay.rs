//! Events are never lost: a client that was killed anywhere and comes back has what one has that was always there.

use crate::{
    support::{World, items},
    work::{Held, after, configure, question, replayed, strict, talk},
};
use owl_testkit::{ByteServer, Client, Script, Signal};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A Turn with all there is: a command that is allowed and remembered, one that is refused, one that the gate denies, one
/// that runs under the Grant, and words that come one by one.
const SCRIPT: &str = "slowly
run: git status
run: cat README.md
run: git push
then
run: git status --short
run: wc -c README.md
then";

/// Answers a Proposal of the script as its person does.
async fn answer(client: &mut Client, proposal: &Value) {
    let answer = match proposal["command"]["argv"][0].as_str().unwrap() {
        "git" => json!({ "proposal_id": proposal["id"], "decision": "allow", "remember": "conversation" }),
        "cat" => json!({ "proposal_id": proposal["id"], "decision": "deny", "reason": "not that one" }),
        _ => json!({ "proposal_id": proposal["id"], "decision": "allow" }),
    };
    client.ok("consent.answer", answer).await;
}

/// Carries the script on to its end, and returns what this client saw of it.
async fn conduct(client: &mut Client, mut held: Held) -> Held {
    while !held.is_over() {
        let event = client.event().await;
        if event["type"] == "proposal.created" && event["proposal"]["state"] == "pending" {
            answer(client, &event["proposal"]).await;
        }
        held.take(event);
    }
    held
}

/// When a watcher is killed.
#[derive(Debug, Clone, Copy)]
enum Killed {
    /// At its nth event.
    At(usize),
    /// At every event.
    Always,
}

/// Watches a conversation until `done`, and is killed meanwhile.
async fn watch(
    socket: &Path,
    conversation: &str,
    killed: Killed,
    mut held: Held,
    done: impl Fn(&Held) -> bool,
) -> Held {
    while !done(&held) {
        let mut client = Client::connect(socket).await;
        let params = json!({ "conversation_id": conversation, "after_seq": held.last() });
        client.ok("chat.subscribe", params).await;
        while !done(&held) {
            let Some(event) = client.next_event().await else { return held };
            // Killed again before anything new came would be no progress.
            let is_new = !["stream.live", "item.snapshot"].iter().any(|name| event["type"] == *name);
            held.take(event);
            let dies = match killed {
                Killed::At(nth) => held.came == nth,
                Killed::Always => is_new,
            };
            if dies {
                break;
            }
        }
    }
    held
}

fn watchers(socket: PathBuf, conversation: &str, done: fn(&Held) -> bool) -> Vec<tokio::task::JoinHandle<Held>> {
    let kills = (1..=70).map(Killed::At).chain([Killed::Always]);
    kills
        .map(|killed| {
            let (socket, conversation) = (socket.clone(), conversation.to_owned());
            tokio::spawn(async move { watch(&socket, &conversation, killed, Held::default(), done).await })
        })
        .collect()
}

/// What a Turn came to, without what differs between two of them: ids, times and digests.
fn shape(held: &Held) -> Value {
    let shown = |item: &Value| {
        json!([
            item["kind"],
            item["text"],
            item["requested"],
            item["outcome"],
            item["denial"]["kind"],
            item["grant_id"].is_null(),
            item["result"]["exit_code"],
            item["result"]["stdout"]["head"]
        ])
    };
    let mut types: Vec<&str> = held.events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    types.sort_unstable();
    let end = &held.events.last().unwrap()["turn"]["stop_reason"];
    json!({ "items": held.items().iter().map(shown).collect::<Vec<_>>(), "types": types, "end": end })
}

/// One that nobody disturbed.
async fn undisturbed() -> Value {
    let mut world = World::new().await;
    let _model = strict(&mut world).await;
    let workdir = world.workdir();
    let c = talk(&mut world.client, &workdir).await;
    let mut held = Held::default();
    after(&world.daemon, &c, 0).await.into_iter().for_each(|event| held.take(event));
    question(&mut world.client, &c, SCRIPT).await;
    shape(&conduct(&mut world.client, held).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_killed_at_any_event_has_in_the_end_what_an_undisturbed_one_has() {
    let mut world = World::new().await;
    let model = strict(&mut world).await;
    let workdir = world.workdir();
    let c = talk(&mut world.client, &workdir).await;
    let mut held = Held::default();
    after(&world.daemon, &c, 0).await.into_iter().for_each(|event| held.take(event));
    let watching = watchers(world.home.socket(), &c, Held::is_over);
    question(&mut world.client, &c, SCRIPT).await;
    let whole = conduct(&mut world.client, held).await;
    let kinds: Vec<_> = whole.items().iter().map(|item| item["outcome"].clone()).filter(|o| !o.is_null()).collect();
    assert_eq!(kinds, ["ran", "denied", "gate_denied", "ran", "ran"]);
    assert!(whole.events.len() > 30, "{}", whole.events.len());
    assert_eq!(items(&mut world.client, &c).await, whole.items());
    for (nth, watcher) in watching.into_iter().enumerate() {
        let theirs = watcher.await.unwrap();
        assert_eq!(theirs.events, whole.events, "killed at event {}", nth + 1);
        assert_eq!(theirs.texts, whole.texts, "killed at event {}", nth + 1);
    }
    // Afterwards, too, from every number there is.
    for (nth, event) in whole.events.iter().enumerate() {
        let rest = after(&world.daemon, &c, event["seq"].as_i64().unwrap()).await;
        assert_eq!(rest, whole.events[nth + 1..]);
    }
    assert_eq!(model.faults(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_killed_while_a_proposal_waits_changes_nothing_of_that() {
    let mut world = World::new().await;
    let model = strict(&mut world).await;
    let workdir = world.workdir();
    let c = talk(&mut world.client, &workdir).await;
    let waits = |held: &Held| held.events.iter().filter(|event| event["type"] == "proposal.created").count() == 2;
    let watching = watchers(world.home.socket(), &c, waits);
    question(&mut world.client, &c, SCRIPT).await;
    let mut before = Vec::new();
    for watcher in watching {
        before.push(watcher.await.unwrap());
    }
    // Two wait, and the gate has denied the third.
    loop {
        let event = world.client.event_of("item.completed").await;
        if event["item"]["outcome"] == "gate_denied" {
            break;
        }
    }
    let mut world = world.crash().await;
    let live = world.client.ok("chat.subscribe", json!({ "conversation_id": c, "after_seq": 0 })).await;
    assert!(live.is_string());
    let mut held = Held::default();
    let pending = loop {
        let event = world.client.event().await;
        held.take(event.clone());
        if event["type"] == "stream.live" {
            break event["pending"].as_array().unwrap().clone();
        }
    };
    assert_eq!(pending.len(), 2);
    let socket = world.home.socket();
    let over = Held::is_over as fn(&Held) -> bool;
    let resumed: Vec<_> = before
        .into_iter()
        .map(|held| {
            let (socket, c) = (socket.clone(), c.clone());
            // Those who were killed at an early event are still at it; nobody is killed a second time.
            tokio::spawn(async move { watch(&socket, &c, Killed::At(0), held, over).await })
        })
        .collect();
    for proposal in &pending {
        answer(&mut world.client, proposal).await;
    }
    let whole = conduct(&mut world.client, held).await;
    assert_eq!(shape(&whole), undisturbed().await);
    for watcher in resumed {
        let theirs = watcher.await.unwrap();
        assert_eq!((theirs.events, theirs.texts), (whole.events.clone(), whole.texts.clone()));
    }
    assert_eq!(model.faults(), Vec::<String>::new());
}

/// A reply that stops in the middle of its words until it is told to go on.
fn halting(signal: &Signal) -> Script {
    let event = |value: Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap());
    let usage = json!({ "input_tokens": 10, "output_tokens": 1 });
    let delta = |text: &str| {
        let delta = json!({ "type": "text_delta", "text": text });
        event(json!({ "type": "content_block_delta", "index": 0, "delta": delta }))
    };
    let begin = [
        json!({ "type": "message_start", "message": { "id": "msg_1", "model": "claude-x", "usage": usage } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
    ];
    let end = [
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 9 } }),
        json!({ "type": "message_stop" }),
    ];
    Script::events()
        .send(begin.into_iter().map(event).collect::<String>())
        .send(delta("The first h\u{e4}lf, "))
        .wait_for(signal)
        .send(delta("and the "))
        .send(delta("\u{1f989} rest."))
        .send(end.into_iter().map(event).collect::<String>())
}

#[tokio::test]
async fn a_client_that_comes_back_in_the_middle_of_an_answer_has_all_of_its_text() {
    let mut world = World::new().await;
    let signal = Signal::new();
    let server = ByteServer::start([halting(&signal)]);
    configure(&mut world.client, &server.url()).await;
    let workdir = world.workdir();
    let c = talk(&mut world.client, &workdir).await;
    let mut held = Held::default();
    question(&mut world.client, &c, "Well?").await;
    for event in replayed(&world.daemon, &c).await {
        held.take(event);
    }
    let mut first = world.daemon.connect().await;
    first.ok("chat.subscribe", json!({ "conversation_id": c, "after_seq": held.last() })).await;
    loop {
        let event = first.event().await;
        let is_text = ["item.delta", "item.snapshot"].iter().any(|name| event["type"] == *name);
        held.take(event);
        if is_text {
            break;
        }
    }
    drop(first);
    let mut second = world.daemon.connect().await;
    second.ok("chat.subscribe", json!({ "conversation_id": c, "after_seq": held.last() })).await;
    let events = second.events_until("stream.live").await;
    let snapshots: Vec<_> = events.iter().filter(|event| event["type"] == "item.snapshot").collect();
    assert_eq!(snapshots.len(), 1, "{events:?}");
    assert_eq!((&snapshots[0]["offset"], &snapshots[0]["text"]), (&json!(0), &json!("The first hälf, ")));
    assert_eq!(events.last().unwrap()["state"], "running");
    events.into_iter().for_each(|event| held.take(event));
    // One that wants no pieces gets none.
    let mut third = world.daemon.connect().await;
    third.ok("chat.subscribe", json!({ "conversation_id": c, "after_seq": 0, "deltas": false })).await;
    signal.give();
    while !held.is_over() {
        let event = second.event().await;
        if event["type"] == "item.completed" {
            let joined = held.texts[&(event["item"]["id"].as_str().unwrap().to_owned(), "text".to_owned())].clone();
            assert_eq!(event["item"]["text"], joined);
        }
        held.take(event);
    }
    let stored = items(&mut world.client, &c).await;
    assert_eq!(stored[1]["text"], "The first hälf, and the 🦉 rest.");
    assert_eq!(held.items(), stored);
    let third = third.events_until("turn.finished").await;
    assert!(third.iter().all(|event| event["type"] != "item.delta" && event["type"] != "item.snapshot"));
}

#[tokio::test]
async fn what_a_client_saw_beyond_the_stored_text_of_a_killed_daemon_is_replaced() {
    let mut world = World::new().await;
    let server = ByteServer::start([halting(&Signal::new())]);
    configure(&mut world.client, &server.url()).await;
    let workdir = world.workdir();
    let c = talk(&mut world.client, &workdir).await;
    question(&mut world.client, &c, "Well?").await;
    let mut held = Held::default();
    after(&world.daemon, &c, 0).await.into_iter().for_each(|event| held.take(event));
    let mut world = {
        let mut watcher = world.daemon.connect().await;
        watcher.ok("chat.subscribe", json!({ "conversation_id": c, "after_seq": held.last() })).await;
        while held.texts.len() < 2 {
            held.take(watcher.event().await);
        }
        world.crash().await
    };
    // The question's, and then the answer's.
    let seen = held.texts.values().nth(1).unwrap().clone();
    assert_eq!(seen, "The first hälf, ");
    world.client.ok("chat.subscribe", json!({ "conversation_id": c, "after_seq": held.last() })).await;
    for event in world.client.events_until("stream.live").await {
        held.take(event);
    }
    assert!(held.is_over());
    let stored = items(&mut world.client, &c).await;
    assert_eq!(held.items(), stored);
    assert_eq!((&stored[1]["complete"], &stored[1]["state"]), (&json!(false), &json!("done")));
    assert!(seen.starts_with(stored[1]["text"].as_str().unwrap()), "{seen}");
    assert_eq!(held.events.last().unwrap()["turn"]["stop_reason"], "interrupted");
}

#[tokio::test]
async fn the_inbox_has_every_event_of_every_conversation_once_from_any_number_on() {
    let mut world = World::new().await;
    let _model = strict(&mut world).await;
    let workdir = world.workdir();
    let mut inbox = world.daemon.connect().await;
    inbox.ok("events.subscribe", json!({ "after_seq": 0 })).await;
    let mut other = world.daemon.connect().await;
    let a = talk(&mut world.client, &workdir).await;
    let b = talk(&mut other, &workdir).await;
    let (mut held_a, mut held_b) = (Held::default(), Held::default());
    after(&world.daemon, &a, 0).await.into_iter().for_each(|event| held_a.take(event));
    after(&world.daemon, &b, 0).await.into_iter().for_each(|event| held_b.take(event));
    question(&mut world.client, &a, SCRIPT).await;
    question(&mut other, &b, SCRIPT).await;
    let (held_a, held_b) = tokio::join!(conduct(&mut world.client, held_a), conduct(&mut other, held_b));
    let mut all: Vec<Value> = held_a.events.iter().chain(&held_b.events).cloned().collect();
    all.sort_by_key(|event| event["seq"].as_i64());
    let mut seen = Vec::new();
    while seen.len() < all.len() {
        let event = inbox.event().await;
        assert!(event["seq"].is_i64() || event["type"] == "stream.live", "{event}");
        if event["seq"].is_i64() {
            seen.push(event);
        }
    }
    assert_eq!(seen, all);
    for nth in 0..all.len() {
        let subscription = inbox.ok("events.subscribe", json!({ "after_seq": all[nth]["seq"] })).await;
        let mut rest = inbox.events_until("stream.live").await;
        assert_eq!(rest.pop().unwrap()["last_seq"], all.last().unwrap()["seq"]);
        assert_eq!(rest, all[nth + 1..]);
        inbox.ok("events.unsubscribe", json!({ "subscription": subscription })).await;
    }
    // Its own number may be one of another conversation.
    let foreign = held_b.events[1]["seq"].as_i64().unwrap();
    let rest = after(&world.daemon, &a, foreign).await;
    let expected: Vec<_> = held_a.events.iter().filter(|event| event["seq"].as_i64().unwrap() > foreign).collect();
    assert_eq!(rest.iter().collect::<Vec<_>>(), expected);
}
