//! A model server on loopback: the wire of Anthropic, the key that goes nowhere else, errors that say what to do.

use crate::support::{World, allow, items, proposal};
use owl_testkit::{ByteServer, Script};
use serde_json::{Value, json};

const KEY: &str = "sk-planted-7f3c9d2e51aa";

/// One reply in Anthropic's events: some text, then perhaps a call.
fn reply(text: &[&str], call: Option<(&str, &Value)>) -> String {
    let mut events = vec![
        json!({ "type": "message_start", "message": { "id": "msg_1", "model": "claude-x", "usage": { "input_tokens": 10, "output_tokens": 1 } } }),
    ];
    events.push(json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }));
    for piece in text {
        events.push(
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": piece } }),
        );
    }
    events.push(json!({ "type": "content_block_stop", "index": 0 }));
    if let Some((id, input)) = call {
        events.push(json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "tool_use", "id": id, "name": "run_command", "input": {} } }));
        for piece in input.to_string().as_bytes().chunks(7) {
            let piece = String::from_utf8_lossy(piece);
            events.push(json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": piece } }));
        }
        events.push(json!({ "type": "content_block_stop", "index": 1 }));
    }
    let stop = if call.is_some() { "tool_use" } else { "end_turn" };
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": stop }, "usage": { "output_tokens": 9 } }));
    events.push(json!({ "type": "message_stop" }));
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect()
}

/// Configures Anthropic at that server, and returns a Conversation that is followed.
pub(crate) async fn configured(world: &mut World, server: &ByteServer) -> String {
    let params =
        json!({ "provider": "anthropic", "api_key": KEY, "base_url": server.url(), "default_model": "claude-x" });
    let provider = world.client.ok("providers.configure", params).await;
    assert_eq!(provider["key"]["last4"], "51aa");
    assert_eq!(provider["endpoint"], format!("{}/v1/messages", server.url()));
    let workdir = world.workdir();
    let made = world.client.ok("conversations.create", json!({ "workdir": workdir })).await;
    let c = made["id"].as_str().unwrap().to_owned();
    world.client.ok("chat.subscribe", json!({ "conversation_id": c, "after_seq": 0 })).await;
    c
}

#[tokio::test]
async fn a_model_asks_for_a_command_and_gets_its_output_in_a_valid_history() {
    let mut world = World::new().await;
    let input = json!({ "command": "git log --oneline -n 5" });
    let server = ByteServer::start([
        Script::chunked(reply(&["Let me ", "look."], Some(("toolu_1", &input))), 11),
        Script::chunked(reply(&["Two ", "commits."], None), 4096),
    ]);
    let c = configured(&mut world, &server).await;
    world.client.ok("chat.send", json!({ "conversation_id": c, "text": "What changed?" })).await;
    let shown = proposal(&mut world.client).await;
    let argv = shown["command"]["argv"].as_array().unwrap();
    let added: Vec<_> = shown["command"]["added"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| &argv[usize::try_from(i.as_u64().unwrap()).unwrap()])
        .collect();
    assert_eq!(
        added,
        [
            "--no-pager",
            "--no-show-signature",
            "--no-ext-diff",
            "--no-textconv",
            "--submodule=short",
            "--ignore-submodules=dirty"
        ]
    );
    assert_eq!(argv.last().unwrap(), "--");
    allow(&mut world.client, &shown).await;
    let events = world.client.events_until("turn.finished").await;
    let item =
        &events.iter().find(|e| e["type"] == "item.completed" && e["item"]["kind"] == "command").unwrap()["item"];
    let plain = world.repo.git(["log", "--oneline", "-n", "5"]);
    assert_eq!(item["result"]["stdout"]["head"].as_str().unwrap().trim_end(), plain.trim_end());

    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].header("x-api-key"), Some(KEY));
    let second = requests[1].json();
    let messages = second["messages"].as_array().unwrap();
    let roles: Vec<_> = messages.iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    assert_eq!(messages[1]["content"][1]["id"], "toolu_1");
    let result = &messages[2]["content"][0];
    assert_eq!((&result["type"], &result["tool_use_id"]), (&json!("tool_result"), &json!("toolu_1")));
    let told = result["content"].as_str().unwrap();
    assert!(told.starts_with("$ git --no-pager log ") && told.contains(plain.trim_end()), "{told}");
    let finished = &events.last().unwrap()["turn"];
    assert_eq!((&finished["stop_reason"], &finished["rounds"]), (&json!("end_turn"), &json!(2)));
    assert_eq!(finished["usage"]["output_tokens"], 18);
}

#[tokio::test]
async fn a_key_is_found_nowhere_but_at_its_provider() {
    let mut world = World::configured("log:\n  level: trace\n").await;
    let server = ByteServer::start([Script::answer(
        401,
        &["content-type: application/json"],
        json!({ "type": "error", "error": { "type": "authentication_error", "message": format!("bad key {KEY}") } })
            .to_string(),
    )]);
    let c = configured(&mut world, &server).await;
    world.client.ok("chat.send", json!({ "conversation_id": c, "text": "hello" })).await;
    let events = world.client.events_until("turn.finished").await;
    let error = &events.last().unwrap()["turn"]["error"];
    assert_eq!((&error["kind"], &error["status"]), (&json!("provider_auth"), &json!(401)));
    assert!(error["message"].as_str().unwrap().contains("anthropic"), "{error}");
    let mut seen = serde_json::to_string(&events).unwrap();
    for method in ["providers.list", "system.info", "conversations.list", "commands.list"] {
        seen += &world.client.ok(method, json!({})).await.to_string();
    }
    seen += &world.client.ok("providers.test", json!({ "provider": "anthropic" })).await.to_string();
    assert!(!seen.contains(KEY));
    assert!(!world.daemon.log().contains(KEY));
    let data = world.home.database();
    for entry in std::fs::read_dir(data.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        let holds = std::fs::read(&path).is_ok_and(|bytes| bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()));
        assert_eq!(holds, path.ends_with("credentials.json"), "{}", path.display());
    }
}

#[tokio::test]
async fn a_reply_that_is_cut_keeps_its_text_runs_nothing_and_the_next_question_works() {
    let mut world = World::new().await;
    let whole = reply(&["Let me ", "look."], Some(("toolu_1", &json!({ "command": "git status" }))));
    let cut = &whole[..whole.find("partial_json").unwrap() + 20];
    let server = ByteServer::start([Script::chunked(cut, 64), Script::chunked(reply(&["Fine."], None), 64)]);
    let c = configured(&mut world, &server).await;
    world.client.ok("chat.send", json!({ "conversation_id": c, "text": "What changed?" })).await;
    let events = world.client.events_until("turn.finished").await;
    assert!(events.iter().all(|e| e["type"] != "proposal.created"));
    let turn = &events.last().unwrap()["turn"];
    assert_eq!((&turn["stop_reason"], &turn["error"]["kind"]), (&json!("error"), &json!("stream_incomplete")));
    let answer = items(&mut world.client, &c).await[1].clone();
    assert_eq!((&answer["text"], &answer["complete"]), (&json!("Let me look."), &json!(false)));
    world.client.ok("chat.send", json!({ "conversation_id": c, "text": "Go on" })).await;
    assert_eq!(world.client.event_of("turn.finished").await["turn"]["stop_reason"], "end_turn");
}

#[tokio::test]
async fn a_provider_that_is_down_is_told_with_what_to_do_and_the_question_stays() {
    let mut world = World::new().await;
    let server = ByteServer::start([Script::answer(404, &[], "not here")]);
    let c = configured(&mut world, &server).await;
    world.client.ok("chat.send", json!({ "conversation_id": c, "text": "Is anybody there?" })).await;
    let finished = world.client.event_of("turn.finished").await;
    let error = &finished["turn"]["error"];
    assert_eq!(error["kind"], "model_not_found");
    assert!(error["url"].as_str().unwrap().starts_with(&server.url()), "{error}");
    assert!(!error["hint"].is_null(), "{error}");
    assert_eq!(items(&mut world.client, &c).await[0]["text"], "Is anybody there?");
}
