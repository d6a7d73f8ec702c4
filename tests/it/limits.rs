//! Limits: what is over one is refused by name, and what is at one is not.

use crate::{
    support::{World, allow, ask, items, owl, proposal},
    wire::{Dialect, Wire, answer},
    work::{configure, fifo, question, release, strict, talk},
};
use owl_testkit::{ByteServer, Daemon, Home, Script};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;

#[tokio::test]
async fn what_is_in_force_is_told() {
    let mut world = World::configured("consent:\n  window: 5m\n").await;
    let mut limits = world.client.ok("system.info", json!({})).await["limits"].take();
    // As many as the process may open files for.
    assert!((1..=2048).contains(&limits["connections"].take().as_u64().unwrap()));
    let expected = json!({
        "request_bytes": 1_048_576, "response_bytes": 10_485_760, "batch_entries": 64, "connections": null,
        "subscriptions_per_connection": 32, "calls_in_flight_per_connection": 64, "queue_messages_per_connection": 256,
        "stuck_subscriber_ms": 10_000, "first_byte_ms": 30_000, "text_bytes": 131_072, "prompt_bytes": 65_536,
        "title_chars": 200, "reason_bytes": 2_000, "search_chars": 200, "client_key_chars": 64, "api_key_bytes": 4_096,
        "models_per_provider": 200, "command_bytes": 8_192, "command_words": 64, "command_ms": 30_000,
        "commands_running": 8, "stdout_bytes": 57_344, "stderr_bytes": 8_192, "consent_window_ms": 300_000,
        "proposals_pending_per_conversation": 16, "calls_per_reply": 16, "rounds_per_turn": 25,
        "reply_text_bytes": 262_144, "page_items": 200, "page_bytes": 4_194_304, "runs_active": 8, "wait_ms": 600_000,
    });
    assert_eq!(limits, expected);
}

#[tokio::test]
async fn a_parameter_over_its_limit_is_refused_by_name_and_one_at_it_is_taken() {
    let mut world = World::new().await;
    let c = world.conversation().await;
    ask(&mut world.client, &c, &["cat README.md"]).await;
    let shown = proposal(&mut world.client).await;
    let (id, w) = (shown["id"].clone(), world.workdir());
    let text = |many: usize| "x".repeat(many);
    let key = |many: usize| json!({ "client_key": text(many), "title": "x" });
    let title = |many: usize| json!({ "conversation_id": c, "title": "\u{fc}".repeat(many) });
    let deny = |many: usize| json!({ "proposal_id": id, "decision": "deny", "reason": text(many) });
    let sends = |many: usize| json!({ "conversation_id": c, "text": text(many) });
    let cases: Vec<(&str, Value, Value, &str)> = vec![
        ("conversations.create", key(64), key(65), "client_key"),
        ("conversations.update", title(200), title(201), "title"),
        ("conversations.search", json!({ "query": text(200) }), json!({ "query": text(201) }), "query"),
        ("conversations.list", json!({ "limit": 200 }), json!({ "limit": 201 }), "limit"),
        ("conversations.list", json!({ "limit": 1 }), json!({ "limit": 0 }), "limit"),
        ("commands.list", json!({ "limit": 200 }), json!({ "limit": 1_000_000 }), "limit"),
        (
            "chat.wait",
            json!({ "turn_id": shown["turn_id"], "timeout_ms": 600_000 }),
            json!({ "turn_id": shown["turn_id"], "timeout_ms": 600_001 }),
            "timeout_ms",
        ),
        (
            "policy.explain",
            json!({ "command": text(65_536), "workdir": w }),
            json!({ "command": text(65_537), "workdir": w }),
            "command",
        ),
        ("consent.answer", deny(2_000), deny(2_001), "reason"),
    ];
    for (method, at, over, field) in cases {
        let error = world.client.err(method, over).await;
        assert_eq!((&error["code"], &error["data"]["field"]), (&json!(-32602), &json!(field)), "{method}");
        assert!(["length", "value"].contains(&error["data"]["reason"].as_str().unwrap()), "{error}");
        world.client.ok(method, at).await;
    }
    world.client.event_of("turn.finished").await;
    assert_eq!(world.client.err("chat.send", sends(131_073)).await["data"]["field"], "text");
    world.client.ok("chat.send", sends(131_072)).await;
    world.client.event_of("turn.finished").await;
}

#[tokio::test]
async fn a_message_over_the_limit_is_refused_in_every_dialect() {
    let world = World::new().await;
    let call = |length: usize| {
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"system.info","ignored":""}"#;
        call.replacen(r#":""}"#, &format!(r#":"{}"}}"#, "x".repeat(length - call.len())), 1)
    };
    assert_eq!(call(1_048_576).len(), 1_048_576);
    for dialect in Dialect::ALL {
        let mut wire = Wire::connect(&world.home.socket(), dialect).await;
        assert_eq!(answer(&wire.ask(&call(1_048_576)).await).code(), None, "{dialect:?}");
        let over = call(1_048_577);
        if dialect == Dialect::Http {
            wire.say(&over).await;
            let (status, body) = wire.hear_http().await.unwrap();
            assert_eq!((status, answer(&body).code()), (413, Some(-32007)), "{body}");
            continue;
        }
        let said = answer(&wire.ask(&over).await);
        assert_eq!((said.code(), said.id.as_str()), (Some(-32007), "null"), "{dialect:?}");
        assert_eq!(wire.call("system.info", "{}").await.code(), None, "{dialect:?}: the connection goes on");
    }
}

#[tokio::test]
async fn one_connection_has_so_many_subscriptions_and_a_place_is_free_again() {
    let world = World::new().await;
    for dialect in [Dialect::Lines, Dialect::WebSocket] {
        let mut wire = Wire::connect(&world.home.socket(), dialect).await;
        let mut ids = Vec::new();
        let mut lives = 0;
        // Answers and events of earlier ones come between.
        let mut subscribe = async |wire: &mut Wire| loop {
            let said: Value = serde_json::from_str(&wire.hear().await.unwrap()).unwrap();
            if said["method"].is_null() {
                return said;
            }
            lives += 1;
        };
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"events.subscribe","params":{}}"#;
        for _ in 0..32 {
            wire.say(call).await;
            ids.push(subscribe(&mut wire).await["result"].clone());
        }
        wire.say(call).await;
        assert_eq!(subscribe(&mut wire).await["error"]["code"], -32006, "{dialect:?}");
        let unsubscribe = json!({ "jsonrpc": "2.0", "id": 1, "method": "events.unsubscribe",
            "params": { "subscription": ids[7] } });
        wire.say(&unsubscribe.to_string()).await;
        assert_eq!(subscribe(&mut wire).await["result"], true);
        wire.say(call).await;
        assert!(subscribe(&mut wire).await["result"].is_string(), "{dialect:?}");
    }
}

#[tokio::test]
async fn a_connection_too_many_is_told_so_in_its_dialect_and_the_others_go_on() {
    let home = Home::new();
    // A daemon that may open few files has few connections.
    let few = home.path().join("few");
    std::fs::write(&few, format!("#!/bin/sh\nulimit -n 128\nexec '{}' \"$@\"\n", owl().display())).unwrap();
    std::fs::set_permissions(&few, std::fs::Permissions::from_mode(0o755)).unwrap();
    let daemon = Daemon::start(&few, &home).await;
    let mut client = daemon.connect().await;
    let most = client.ok("system.info", json!({})).await["limits"]["connections"].as_u64().unwrap();
    assert!(most < 128, "{most}");
    let mut open = Vec::new();
    for _ in 1..most {
        let mut wire = Wire::connect(&home.socket(), Dialect::Lines).await;
        assert_eq!(wire.call("system.info", "{}").await.code(), None);
        open.push(wire);
    }
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"system.info"}"#;
    let mut refused = Wire::connect(&home.socket(), Dialect::Lines).await;
    let said = answer(&refused.ask(call).await);
    assert_eq!((said.code(), said.id.as_str(), &said.value()["data"]["limit"]), (Some(-32009), "null", &json!(most)));
    assert_eq!(refused.hear().await, None);
    let mut refused = Wire::connect(&home.socket(), Dialect::Http).await;
    refused.say(call).await;
    let (status, body) = refused.hear_http().await.unwrap();
    assert_eq!((status, answer(&body)), (503, said));
    for wire in &mut open {
        assert_eq!(wire.call("system.info", "{}").await.code(), None);
    }
    drop(open.pop());
    // A place is free once the daemon has noticed.
    loop {
        let mut wire = Wire::connect(&home.socket(), Dialect::Lines).await;
        if answer(&wire.ask(call).await).code().is_none() {
            break;
        }
    }
}

#[tokio::test]
async fn calls_in_one_reply_beyond_the_limit_are_denied_and_the_rest_is_proposed() {
    let mut world = World::new().await;
    let model = strict(&mut world).await;
    let workdir = world.workdir();
    let c = talk(&mut world.client, &workdir).await;
    let lines: Vec<String> = (1..=19).map(|n| format!("run: head -n {n} README.md")).collect();
    question(&mut world.client, &c, &lines.join("\n")).await;
    let mut denied = 0;
    let mut shown = Vec::new();
    while shown.len() + denied < 19 {
        let event = world.client.event().await;
        match event["type"].as_str().unwrap() {
            "proposal.created" => shown.push(event["proposal"].clone()),
            "item.completed" if event["item"]["kind"] == "command" => {
                assert_eq!(event["item"]["denial"]["kind"], "too_many");
                denied += 1;
            }
            _ => {}
        }
    }
    assert_eq!((shown.len(), denied), (16, 3));
    for proposal in &shown {
        world.client.ok("consent.answer", json!({ "proposal_id": proposal["id"], "decision": "deny" })).await;
    }
    assert_eq!(world.client.event_of("turn.finished").await["turn"]["stop_reason"], "end_turn");
    assert_eq!(model.faults(), Vec::<String>::new());
}

#[tokio::test]
async fn a_turn_that_calls_without_end_is_ended_and_says_so() {
    let mut world = World::new().await;
    let model = strict(&mut world).await;
    let workdir = world.workdir();
    let c = talk(&mut world.client, &workdir).await;
    question(&mut world.client, &c, &["run: git push"; 40].join("\nthen\n")).await;
    let finished = world.client.event_of("turn.finished").await;
    assert_eq!((&finished["turn"]["stop_reason"], &finished["turn"]["rounds"]), (&json!("round_limit"), &json!(25)));
    question(&mut world.client, &c, "go on").await;
    assert_eq!(world.client.event_of("turn.finished").await["turn"]["stop_reason"], "end_turn");
    assert_eq!(model.faults(), Vec::<String>::new());
}

#[tokio::test]
async fn a_reply_that_does_not_end_is_cut_off_and_told() {
    let mut world = World::new().await;
    let start = json!({ "type": "message_start", "message": { "id": "m", "model": "x", "usage": { "input_tokens": 1, "output_tokens": 1 } } });
    let block = json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } });
    let delta = json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "x".repeat(16_000) } });
    let event = |value: &Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap());
    let events = format!("{}{}{}", event(&start), event(&block), event(&delta).repeat(20));
    let server = ByteServer::start([Script::chunked_and_cut(events, 4096).hold()]);
    configure(&mut world.client, &server.url()).await;
    let workdir = world.workdir();
    let c = talk(&mut world.client, &workdir).await;
    question(&mut world.client, &c, "Well?").await;
    let finished = world.client.event_of("turn.finished").await;
    assert_eq!(finished["turn"]["error"]["kind"], "reply_too_big", "{finished}");
    let answer = items(&mut world.client, &c).await[1].clone();
    assert_eq!(answer["complete"], false);
    let length = answer["text"].as_str().unwrap().len();
    assert!(length > 200_000 && length <= 262_144, "{length}");
}

#[tokio::test]
async fn so_many_commands_run_at_once_and_the_next_starts_when_one_has_ended() {
    let mut world = World::new().await;
    let _model = strict(&mut world).await;
    let fifo = fifo(&world.repo);
    let workdir = world.workdir();
    let mut inbox = world.daemon.connect().await;
    inbox.ok("events.subscribe", json!({ "types": ["command.started", "command.finished"] })).await;
    inbox.event_of("stream.live").await;
    for _ in 0..9 {
        let c = talk(&mut world.client, &workdir).await;
        question(&mut world.client, &c, "run: git status").await;
        let shown = proposal(&mut world.client).await;
        allow(&mut world.client, &shown).await;
    }
    for _ in 0..8 {
        assert_eq!(inbox.event().await["type"], "command.started");
    }
    assert_eq!(inbox.ok("system.health", json!({})).await["commands_running"], 8);
    // All that wait at the FIFO go on; the ninth comes only then.
    release(&fifo).await;
    assert_eq!(inbox.event().await["type"], "command.finished");
    std::fs::remove_file(&fifo).unwrap();
    let mut types = Vec::new();
    while types.len() < 9 {
        types.push(inbox.event().await["type"].as_str().unwrap().to_owned());
    }
    types.sort();
    assert_eq!(types[..8], vec!["command.finished"; 8]);
    assert_eq!(types[8], "command.started");
}

/// What the kernel counts of a daemon: its open descriptors, and its threads that make children.
#[cfg(target_os = "linux")]
fn counts(daemon: &Daemon) -> [usize; 2] {
    let all =
        |of: &str| std::fs::read_dir(format!("/proc/{}/{of}", daemon.pid())).unwrap().map(|one| one.unwrap().path());
    let is_maker = |thread: &std::path::PathBuf| {
        std::fs::read_to_string(thread.join("comm")).is_ok_and(|name| name.trim_end() == "owl-fork")
    };
    [all("fd").count(), all("task").filter(is_maker).count()]
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn however_many_commands_ran_the_daemon_has_no_more_descriptors_and_threads_than_one_round_takes() {
    let mut world = World::new().await;
    let _model = strict(&mut world).await;
    let workdir = world.workdir();
    let c = talk(&mut world.client, &workdir).await;
    let lines = ["run: git log --oneline\n", "run: cat README.md\n", "run: grep -rn TODO .\n", "run: ls\n"].concat();
    let mut after = Vec::new();
    for _ in 0..5 {
        question(&mut world.client, &c, &lines.repeat(3)).await;
        let mut shown = Vec::new();
        for _ in lines.repeat(3).lines() {
            shown.push(proposal(&mut world.client).await);
        }
        for one in shown {
            allow(&mut world.client, &one).await;
            world.client.event_of("command.finished").await;
        }
        world.client.event_of("turn.finished").await;
        after.push(counts(&world.daemon));
    }
    let (first, rest) = after.split_first().unwrap();
    let is_as_much = |[descriptors, threads]: &[usize; 2]| *descriptors <= first[0] + 4 && *threads <= first[1] + 4;
    assert!(rest.iter().all(is_as_much), "{after:?}");
}
