//! Conversations: text in order, everything stored, one Turn at a time.

use crate::support::{World, allow, ask, command, conversation, demo, items, proposal};
use serde_json::json;

#[tokio::test]
async fn text_comes_in_order_in_pieces_and_equals_what_is_stored() {
    let mut world = World::new().await;
    let c = world.conversation().await;
    world.client.ok("chat.send", json!({ "conversation_id": c, "text": "hello" })).await;
    let events = world.client.events_until("turn.finished").await;
    let mut text = String::new();
    for delta in events.iter().filter(|e| e["type"] == "item.delta" && e["part"] == "text") {
        assert_eq!(delta["offset"].as_u64().unwrap() as usize, text.len());
        text.push_str(delta["text"].as_str().unwrap());
    }
    assert!(text.starts_with("I am the demo provider: a script, not a model."), "{text}");
    let stored = items(&mut world.client, &c).await;
    assert_eq!(stored[1]["text"], text);
    assert_eq!(stored[1]["complete"], true);
    assert_eq!(events.last().unwrap()["turn"]["stop_reason"], "end_turn");
    let seqs: Vec<_> = events.iter().filter_map(|e| e["seq"].as_i64()).collect();
    assert!(seqs.is_sorted());
}

#[tokio::test]
async fn a_command_is_shown_whole_before_it_runs_and_its_output_reaches_person_and_model() {
    let mut world = World::new().await;
    let c = world.conversation().await;
    let workdir = world.workdir();
    ask(&mut world.client, &c, &["grep -rn TODO src"]).await;
    let shown = proposal(&mut world.client).await;
    assert_eq!(shown["state"], "pending");
    let argv = json!([
        "grep",
        "--exclude-dir=.git",
        "-r",
        "-n",
        "--exclude-dir=.[gG][iI][tT]",
        "--exclude=.[gG][iI][tT]",
        "--",
        "TODO",
        "src"
    ]);
    assert_eq!(shown["command"]["argv"], argv);
    assert_eq!(shown["command"]["added"], json!([1, 4, 5]));
    assert_eq!(
        shown["command"]["env"],
        json!({ "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin" })
    );
    assert_eq!(shown["workdir"], workdir);
    assert_eq!(shown["project"], "app");
    let covers = format!("grep in {workdir}, in this conversation, until revoked");
    assert_eq!(shown["remember"]["covers"], covers);

    let answer = allow(&mut world.client, &shown).await;
    assert_eq!((answer["won"].as_bool(), answer["state"].as_str()), (Some(true), Some("allowed")));
    let started = world.client.event_of("command.started").await;
    assert_eq!(started["argv"], argv);
    let item = command(&mut world.client).await;
    assert_eq!(item["outcome"], "ran");
    assert_eq!(item["result"]["exit_code"], 0);
    assert_eq!(item["result"]["stdout"]["head"], "src/a.txt:2:TODO two\n");
    world.client.event_of("turn.finished").await;
    let stored = items(&mut world.client, &c).await;
    assert_eq!(stored.iter().find(|i| i["kind"] == "command"), Some(&item));
    let said = stored.last().unwrap()["text"].as_str().unwrap();
    assert!(said.contains("21 bytes"), "the model got the output: {said}");
}

#[tokio::test]
async fn a_second_question_is_refused_as_busy_and_nothing_of_it_is_stored() {
    let mut world = World::new().await;
    let c = world.conversation().await;
    let begun = ask(&mut world.client, &c, &["git status"]).await;
    proposal(&mut world.client).await;
    let before = items(&mut world.client, &c).await.len();
    let error = world.client.err("chat.send", json!({ "conversation_id": c, "text": "and?" })).await;
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(1003), &json!("busy")));
    assert_eq!(error["data"]["turn_id"], begun["turn_id"]);
    assert_eq!(items(&mut world.client, &c).await.len(), before);
}

#[tokio::test]
async fn conversations_never_wait_for_each_other() {
    let mut world = World::new().await;
    let a = world.conversation().await;
    ask(&mut world.client, &a, &["git status"]).await;
    proposal(&mut world.client).await;
    let mut other = world.daemon.connect().await;
    let b = conversation(&mut other, &world.workdir()).await;
    other.ok("chat.send", json!({ "conversation_id": b, "text": "hello" })).await;
    other.event_of("turn.finished").await;
    other.ok("projects.list", json!({})).await;
    let waiting = other.ok("conversations.get", json!({ "conversation_id": a })).await;
    assert_eq!(waiting["state"], "awaiting_consent");
    assert_eq!(waiting["proposals"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_turn_runs_to_its_end_when_its_only_client_leaves() {
    let mut world = World::new().await;
    let c = world.conversation().await;
    let begun = world.client.ok("chat.send", json!({ "conversation_id": c, "text": "hello" })).await;
    let mut next = world.daemon.connect().await;
    drop(world.client);
    let waited = next.ok("chat.wait", json!({ "turn_id": begun["turn_id"], "until": "finished" })).await;
    assert_eq!(waited["turn"]["stop_reason"], "end_turn");
    assert_eq!(items(&mut next, &c).await[1]["text"], waited["text"]);
}

#[tokio::test]
async fn cancelling_closes_every_proposal_once_and_says_when_there_was_nothing_to_cancel() {
    let mut world = World::new().await;
    let c = world.conversation().await;
    ask(&mut world.client, &c, &["git status", "wc -l README.md"]).await;
    proposal(&mut world.client).await;
    proposal(&mut world.client).await;
    let first = world.client.ok("chat.cancel", json!({ "conversation_id": c })).await;
    assert_eq!(first["cancelled"], true);
    let second = world.client.ok("chat.cancel", json!({ "conversation_id": c })).await;
    let events = world.client.events_until("turn.finished").await;
    let outcomes: Vec<_> = events.iter().filter(|e| e["type"] == "proposal.resolved").map(|e| &e["outcome"]).collect();
    assert_eq!(outcomes, ["cancelled", "cancelled"]);
    assert!(events.iter().all(|e| e["type"] != "command.started"));
    assert_eq!(events.last().unwrap()["turn"]["stop_reason"], "cancelled");
    let third = world.client.ok("chat.cancel", json!({ "conversation_id": c })).await;
    assert_eq!(third, json!({ "turn_id": null, "cancelled": false }));
    assert!(second["cancelled"] == false || second["turn_id"] == first["turn_id"]);
}

#[tokio::test]
async fn a_question_sent_twice_with_one_key_is_stored_once() {
    let mut world = World::new().await;
    let c = world.conversation().await;
    let sent = json!({ "conversation_id": c, "text": "hello", "client_key": "k1" });
    let first = world.client.ok("chat.send", sent.clone()).await;
    let again = world.client.ok("chat.send", sent).await;
    assert_eq!((first["duplicate"].as_bool(), again["duplicate"].as_bool()), (Some(false), Some(true)));
    assert_eq!(
        (&first["turn_id"], &first["item_id"], &first["seq"]),
        (&again["turn_id"], &again["item_id"], &again["seq"])
    );
    let other = json!({ "conversation_id": c, "text": "other", "client_key": "k1" });
    let error = world.client.err("chat.send", other).await;
    assert_eq!(error["data"]["kind"], "idempotency_mismatch");
    world.client.event_of("turn.finished").await;
    let asked = items(&mut world.client, &c).await.into_iter().filter(|i| i["kind"] == "user").count();
    assert_eq!(asked, 1);
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused_saying_what_to_do_and_stores_nothing() {
    let mut world = World::new().await;
    let made = world.client.ok("conversations.create", json!({})).await;
    let c = made["id"].clone();
    let error = world.client.err("chat.send", json!({ "conversation_id": c, "text": "hello" })).await;
    assert_eq!(error["data"]["kind"], "model_required");
    let keyless = json!({ "conversation_id": c, "text": "hello", "model": { "provider": "anthropic", "id": "x" } });
    let error = world.client.err("chat.send", keyless).await;
    assert_eq!(
        (&error["data"]["kind"], &error["data"]["provider"]),
        (&json!("provider_not_configured"), &json!("anthropic"))
    );
    assert!(error["message"].as_str().unwrap().contains("owl provider add anthropic"), "{error}");
    let error = world.client.err("chat.send", json!({ "conversation_id": c, "text": " \n", "model": demo() })).await;
    assert_eq!((&error["code"], &error["data"]["field"]), (&json!(-32602), &json!("text")));
    let error =
        world.client.err("chat.send", json!({ "conversation_id": "c_999", "text": "x", "model": demo() })).await;
    assert_eq!(error["data"]["kind"], "not_found");
    assert_eq!(items(&mut world.client, c.as_str().unwrap()).await, Vec::<serde_json::Value>::new());
}

#[tokio::test]
async fn the_one_spoken_to_last_is_listed_first_with_its_question_as_title() {
    let mut world = World::new().await;
    let older = world.conversation().await;
    let newer = world.conversation().await;
    for (id, text) in [(&newer, "Second?"), (&older, "Any TODOs left?\nmore")] {
        let begun = world.client.ok("chat.send", json!({ "conversation_id": id, "text": text })).await;
        world.client.ok("chat.wait", json!({ "turn_id": begun["turn_id"], "until": "finished" })).await;
    }
    let list = world.client.ok("conversations.list", json!({})).await;
    let titles: Vec<_> = list["items"].as_array().unwrap().iter().map(|c| c["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["Any TODOs left?", "Second?"]);
}

#[tokio::test]
async fn an_unknown_method_a_wrong_field_and_a_broken_line_leave_the_connection_working() {
    let mut world = World::new().await;
    assert_eq!(world.client.err("chat.sned", json!({})).await["code"], -32601);
    let error = world.client.err("chat.send", json!({ "conversation_id": "c_1", "text": "x", "textt": 1 })).await;
    assert_eq!((&error["data"]["field"], &error["data"]["reason"]), (&json!("textt"), &json!("unknown")));
    world.client.send_raw(b"this is no json\n").await;
    let answer: serde_json::Value = serde_json::from_str(&world.client.line().await.unwrap()).unwrap();
    assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32700), &json!(null)));
    world.client.send_raw(&[b"{\"a\":\"".as_slice(), &vec![b'x'; 2 << 20], b"\"}\n"].concat()).await;
    let answer: serde_json::Value = serde_json::from_str(&world.client.line().await.unwrap()).unwrap();
    assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32007), &json!(null)));
    world.client.ok("system.health", json!({})).await;
}

#[tokio::test]
async fn a_conversation_is_exported_whole_as_json_and_as_text_for_people() {
    let mut world = World::new().await;
    let c = world.conversation().await;
    ask(&mut world.client, &c, &["cat README.md", "git push"]).await;
    let shown = proposal(&mut world.client).await;
    allow(&mut world.client, &shown).await;
    world.client.event_of("turn.finished").await;
    for format in ["json", "markdown"] {
        let mut text = String::new();
        let mut params = json!({ "conversation_id": c, "format": format });
        loop {
            let piece = world.client.ok("conversations.export", params.clone()).await;
            text += piece["text"].as_str().unwrap();
            if piece["next_after"].is_null() {
                break;
            }
            params["after_seq"] = piece["next_after"].clone();
        }
        if format == "json" {
            let whole: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(whole["items"], json!(items(&mut world.client, &c).await));
            assert_eq!(whole["conversation"]["id"], c);
        } else {
            for part in
                ["## You", "## Command: ran", "TODO: more", "## Command: denied by the gate", "`push` is none of them"]
            {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
    }
    let error = world.client.err("conversations.export", json!({ "conversation_id": "c_9", "format": "json" })).await;
    assert_eq!(error["data"]["kind"], "not_found");
}
