//! What a connection of each dialect may do beside calling: stop speaking, say nothing, follow, or be refused at its door.

use crate::{
    dialects::lived_in,
    support::World,
    wire::{Dialect, Wire, answer, post},
};
use serde_json::{Value, json};

#[tokio::test]
async fn who_stops_speaking_is_still_answered_and_then_let_go() {
    let (world, c, _) = lived_in().await;
    let mut wire = Wire::connect(&world.home.socket(), Dialect::Lines).await;
    wire.say(r#"{"jsonrpc":"2.0","id":1,"method":"system.info"}"#).await;
    // Without a line feed, too.
    wire.say_raw(br#"{"jsonrpc":"2.0","id":2,"method":"conversations.list"}"#).await;
    wire.half_close().await;
    let mut ids = vec![answer(&wire.hear().await.unwrap()).id, answer(&wire.hear().await.unwrap()).id];
    ids.sort();
    assert_eq!(ids, ["1", "2"]);
    assert_eq!(wire.hear().await, None);

    // A call that waits is answered when it is done.
    let mut waiter = Wire::connect(&world.home.socket(), Dialect::Lines).await;
    waiter.say(r#"{"jsonrpc":"2.0","id":1,"method":"chat.wait","params":{"turn_id":"t_2","until":"finished"}}"#).await;
    waiter.half_close().await;
    // A subscription lives on.
    let mut watcher = Wire::connect(&world.home.socket(), Dialect::Lines).await;
    let params = format!(r#"{{"conversation_id":"{c}"}}"#);
    watcher.say(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"chat.subscribe","params":{params}}}"#)).await;
    watcher.half_close().await;
    watcher.hear().await.unwrap();
    assert!(watcher.hear().await.unwrap().contains("stream.live"));
    let mut client = world.daemon.connect().await;
    client.ok("chat.cancel", json!({ "conversation_id": c })).await;
    assert_eq!(answer(&waiter.hear().await.unwrap()).value()["turn"]["stop_reason"], "cancelled");
    assert_eq!(waiter.hear().await, None);
    loop {
        if watcher.hear().await.unwrap().contains("turn.finished") {
            break;
        }
    }
    drop(watcher);
    drop(waiter);
    // Gone for the daemon, too, once it is noticed that nobody hears them: what is left is the world's own.
    let mut health = client.ok("system.health", json!({})).await;
    while health["subscriptions"] != 1 {
        health = client.ok("system.health", json!({})).await;
    }
}

#[tokio::test]
async fn many_who_say_nothing_keep_nobody_from_being_served() {
    let world = World::new().await;
    let mut idle = Vec::new();
    for n in 0..300 {
        let mut wire = Wire::connect(&world.home.socket(), Dialect::ALL[n % 3]).await;
        wire.call("system.info", "{}").await;
        idle.push(wire);
    }
    let mut client = world.daemon.connect().await;
    assert!(client.ok("system.health", json!({})).await["connections"].as_u64().unwrap() >= 301);
    for wire in &mut idle {
        assert_eq!(wire.call("conversations.list", "{}").await.code(), None);
    }
    drop(idle);
    let mut health = client.ok("system.health", json!({})).await;
    while health["connections"].as_u64().unwrap() > 2 {
        health = client.ok("system.health", json!({})).await;
    }
}

#[tokio::test]
async fn a_websocket_follows_a_turn_and_ends_its_own_subscriptions_alone() {
    let mut world = World::new().await;
    let c = world.conversation().await;
    let mut wire = Wire::connect(&world.home.socket(), Dialect::WebSocket).await;
    let mut other = Wire::connect(&world.home.socket(), Dialect::WebSocket).await;
    let params = format!(r#"{{"conversation_id":"{c}","after_seq":0}}"#);
    let id = wire.call("chat.subscribe", &params).await.value();
    assert!(id.is_string());
    assert_eq!(other.call("chat.unsubscribe", &json!({ "subscription": id }).to_string()).await.value(), false);
    world.client.ok("chat.send", json!({ "conversation_id": c, "text": "hello" })).await;
    let theirs = world.client.events_until("turn.finished").await;
    let mut ours = Vec::new();
    while !ours.iter().any(|event: &Value| event["type"] == "turn.finished") {
        let said: Value = serde_json::from_str(&wire.hear().await.unwrap()).unwrap();
        assert_eq!((&said["method"], &said["params"]["subscription"]), (&json!("chat.event"), &id));
        ours.push(said["params"]["result"].clone());
    }
    let durable = |events: &[Value]| -> Vec<Value> { events.iter().filter(|e| !e["seq"].is_null()).cloned().collect() };
    assert_eq!(durable(&ours)[1..], durable(&theirs));
    let live = ours.iter().filter(|event| event["type"] == "stream.live").count();
    assert_eq!(live, 1);
    assert_eq!(wire.call("chat.unsubscribe", &json!({ "subscription": id }).to_string()).await.value(), true);
    assert_eq!(wire.call("chat.unsubscribe", &json!([id]).to_string()).await.value(), false);
    world.client.ok("chat.send", json!({ "conversation_id": c, "text": "hello" })).await;
    world.client.event_of("turn.finished").await;
    assert_eq!(wire.call("system.info", "{}").await.id, "1", "nothing more was told on this connection");
}

#[tokio::test]
async fn http_refuses_what_is_no_post_of_json_and_keeps_its_connection() {
    let world = World::new().await;
    let mut wire = Wire::connect(&world.home.socket(), Dialect::Http).await;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"system.info"}"#;
    for (request, status) in [
        (post("text/plain", call), 415),
        (post("application/json; charset=utf-8", call), 200),
        ("GET / HTTP/1.1\r\nhost: owl\r\n\r\n".into(), 405),
        ("PUT /x HTTP/1.1\r\nhost: owl\r\ncontent-length: 0\r\n\r\n".into(), 405),
        (post("application/json", call).replacen("POST /", "POST /any/path?x=1", 1), 200),
        (post("application/json", call), 200),
    ] {
        wire.say_raw(request.as_bytes()).await;
        let (came, body) = wire.hear_http().await.unwrap();
        assert_eq!(came, status, "{request}: {body}");
    }
}
