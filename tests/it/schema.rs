//! The contract: the committed document is the daemon's own, and the tests' client holds all that it sees against it.

use crate::support::{World, allow, ask, proposal, source};
use expect_test::expect_file;
use owl_testkit::{Contract, Seen, contract};
use serde_json::{Map, Value, json};

#[tokio::test]
async fn the_committed_document_is_what_the_daemon_answers() {
    let mut world = World::new().await;
    let document = world.client.ok("rpc.discover", json!({})).await;
    let mut text = serde_json::to_string_pretty(&document).unwrap();
    text.push('\n');
    expect_file!["../../schemas/openrpc.json"].assert_eq(&text);
}

#[tokio::test]
async fn every_documented_method_is_there_and_no_other() {
    let mut world = World::new().await;
    for method in contract().methods() {
        if let Err(error) = world.client.call(method, json!({})).await {
            assert_ne!(error["code"], -32601, "{method}");
        }
    }
    for method in ["no.such", "chat.event", "system", "System.info", ""] {
        assert_eq!(world.client.err(method, json!({})).await["code"], -32601, "{method}");
    }
}

/// Everything a client may be told in one Turn, and what a few calls answer.
async fn samples() -> (Vec<Value>, Vec<(&'static str, Value)>) {
    let mut world = World::new().await;
    let c = world.conversation().await;
    ask(&mut world.client, &c, &["git status", "git push"]).await;
    let shown = proposal(&mut world.client).await;
    allow(&mut world.client, &shown).await;
    world.client.event_of("turn.finished").await;
    let mut again = world.daemon.connect().await;
    again.ok("chat.subscribe", json!({ "conversation_id": c, "after_seq": 0 })).await;
    let events = again.events_until("stream.live").await;
    let mut results = Vec::new();
    for (method, params) in [
        ("system.info", json!({})),
        ("conversations.get", json!({ "conversation_id": c })),
        ("conversations.items", json!({ "conversation_id": c })),
        ("consent.list", json!({ "state": "all" })),
        ("commands.list", json!({})),
    ] {
        results.push((method, again.ok(method, params).await));
    }
    (events, results)
}

/// Where each member of each object stands; those of maps, whose names are data, left out.
fn members(value: &Value, at: &str, into: &mut Vec<(String, String)>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                let is_data = ["/env", "/input", "/limits", "/programs"].iter().any(|map| at.ends_with(map));
                if !is_data {
                    into.push((at.to_owned(), name.clone()));
                }
                members(value, &format!("{at}/{name}"), into);
            }
        }
        Value::Array(entries) => {
            for (nth, entry) in entries.iter().enumerate() {
                members(entry, &format!("{at}/{nth}"), into);
            }
        }
        _ => {}
    }
}

/// Breaks a member of an object.
type Break = fn(&mut Map<String, Value>, &str);

/// Breaks a value in each way that there is, and says which were not noticed.
fn unnoticed(whole: &Value, check: impl Fn(&Value) -> Result<(), String>) -> Vec<String> {
    assert_eq!(check(whole), Ok(()));
    let mut places = Vec::new();
    members(whole, "", &mut places);
    let mut unnoticed = Vec::new();
    for (at, name) in places {
        let breaks: [(&str, Break); 4] = [
            ("without it", |object, name| drop(object.remove(name))),
            ("of another type", |object, name| {
                let other = if object[name].is_array() { json!(7) } else { json!([7]) };
                object.insert(name.to_owned(), other);
            }),
            ("beside one too many", |object, _| drop(object.insert("made_up".into(), json!(1)))),
            ("of a time cut short", |object, name| {
                let cut = object[name].as_str().filter(|_| name.ends_with("_at")).map(|text| text.replace('.', ""));
                object.insert(name.to_owned(), cut.map_or(json!([[[]]]), Value::String));
            }),
        ];
        for (how, break_it) in breaks {
            let mut broken = whole.clone();
            break_it(broken.pointer_mut(&at).unwrap().as_object_mut().unwrap(), &name);
            if check(&broken).is_ok() {
                unnoticed.push(format!("{at}/{name}: {how}"));
            }
        }
    }
    unnoticed
}

#[tokio::test]
async fn a_value_that_is_broken_anywhere_does_not_fit() {
    let (events, results) = samples().await;
    let contract = contract();
    for event in events {
        let missed = unnoticed(&event, |event| contract.check(Seen::Event("chat.event", event)));
        assert_eq!(missed, Vec::<String>::new(), "{event}");
    }
    for (method, result) in results {
        let missed = unnoticed(&result, |result| contract.check(Seen::Result(method, result)));
        assert_eq!(missed, Vec::<String>::new(), "{method}");
    }
}

#[tokio::test]
async fn an_error_that_is_broken_anywhere_does_not_fit() {
    let mut world = World::new().await;
    let contract = contract();
    let c = world.conversation().await;
    for (method, params) in [
        ("consent.get", json!({ "proposal_id": "p_9" })),
        ("chat.subscribe", json!({ "conversation_id": c, "after_seq": 999_999 })),
        ("chat.send", json!({ "conversation_id": c, "text": "x", "workdir": "/" })),
        ("system.info", json!({ "x": 1 })),
    ] {
        let error = world.client.err(method, params).await;
        for (path, value) in [
            ("/code", json!(1)),
            ("/message", json!("")),
            ("/data/kind", json!("made_up")),
            ("/data/retryable", json!(null)),
            ("/data", json!({})),
        ] {
            let mut broken = error.clone();
            *broken.pointer_mut(path).unwrap() = value;
            assert!(contract.check(Seen::Error(method, &broken)).is_err(), "{method} {path}: {broken}");
        }
        let mut broken = error.clone();
        broken["data"]["made_up"] = json!(1);
        assert!(contract.check(Seen::Error(method, &broken)).is_err(), "{method}: {broken}");
        // A kind that this method does not name.
        assert!(contract.check(Seen::Error(method, &error)).is_ok());
        let elsewhere = contract.check(Seen::Error("rpc.discover", &error));
        assert_eq!(elsewhere.is_ok(), error["data"]["kind"] == "invalid_params", "{method}");
    }
}

#[test]
fn a_document_with_a_dangling_reference_is_none() {
    let text = std::fs::read_to_string(source("schemas/openrpc.json")).unwrap();
    let broken = text.replacen("#/components/schemas/Turn\"", "#/components/schemas/Nothing\"", 1);
    assert_ne!(text, broken);
    let document: Value = serde_json::from_str(&broken).unwrap();
    assert!(std::panic::catch_unwind(|| Contract::new(&document)).is_err());
}
