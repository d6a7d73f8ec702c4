//! One API in three dialects: the same call has the same answer, byte for byte, and a client that leaves undoes nothing.

use crate::{
    support::{World, allow, ask, command, proposal},
    wire::{Answer, Dialect, Wire, answer, answers},
    work::{question, strict, talk},
};
use serde_json::{Value, json};

/// A daemon that has something to tell: a finished Turn, a refused command, and one that waits.
pub(crate) async fn lived_in() -> (World, String, Value) {
    let mut world = World::new().await;
    let c = world.conversation().await;
    ask(&mut world.client, &c, &["git log --oneline -n 5", "git push"]).await;
    let shown = proposal(&mut world.client).await;
    allow(&mut world.client, &shown).await;
    world.client.event_of("turn.finished").await;
    ask(&mut world.client, &c, &["cat README.md"]).await;
    let waits = proposal(&mut world.client).await;
    (world, c, waits)
}

#[tokio::test]
async fn the_same_call_has_the_same_answer_in_every_dialect() {
    let (world, c, waits) = lived_in().await;
    let (w, p, d) = (world.workdir(), waits["id"].as_str().unwrap(), waits["digest"].as_str().unwrap());
    let calls: Vec<(&str, String)> = [
        ("system.info", "{}".into()),
        ("system.info", "null".into()),
        ("rpc.discover", "{}".into()),
        ("projects.list", "{}".into()),
        ("projects.get", r#"{"project":"app"}"#.into()),
        ("projects.get", r#"{"project":"nope"}"#.into()),
        ("projects.add", format!(r#"{{"path":"{w}"}}"#)),
        ("projects.add", r#"{"path":"relative"}"#.into()),
        ("worktrees.list", r#"{"project":"app"}"#.into()),
        ("conversations.list", r#"{"limit":1}"#.into()),
        ("conversations.list", r#"{"cursor":"nonsense"}"#.into()),
        ("conversations.get", format!(r#"{{"conversation_id":"{c}"}}"#)),
        ("conversations.get", r#"{"conversation_id":"c_999"}"#.into()),
        ("conversations.items", format!(r#"{{"conversation_id":"{c}","limit":200}}"#)),
        ("conversations.items", format!(r#"{{"conversation_id":"{c}","before_seq":9,"after_seq":1}}"#)),
        ("conversations.search", r#"{"query":"README"}"#.into()),
        ("conversations.update", format!(r#"{{"conversation_id":"{c}","if_version":77,"title":"x"}}"#)),
        ("chat.send", format!(r#"{{"conversation_id":"{c}","text":"and?"}}"#)),
        ("chat.send", format!(r#"{{"conversation_id":"{c}","text":"and?","workdir":"/"}}"#)),
        ("chat.wait", r#"{"turn_id":"t_2","timeout_ms":0}"#.into()),
        ("chat.wait", r#"{"turn_id":"nonsense"}"#.into()),
        ("chat.cancel", r#"{"conversation_id":"c_1","turn_id":"t_1"}"#.into()),
        ("chat.unsubscribe", r#"{"subscription":"nonsense"}"#.into()),
        ("events.unsubscribe", r#"["nonsense"]"#.into()),
        ("events.unsubscribe", "[7]".into()),
        ("chat.unsubscribe", "{}".into()),
        ("consent.list", r#"{"state":"all"}"#.into()),
        ("consent.get", format!(r#"{{"proposal_id":"{p}"}}"#)),
        ("consent.answer", format!(r#"{{"proposal_id":"{p}","decision":"allow","digest":"sha256:0"}}"#)),
        ("consent.answer", format!(r#"{{"proposal_id":"{p}","decision":"allow","conversation_id":"c_9"}}"#)),
        ("consent.answer", r#"{"proposal_id":"p_1","decision":"deny"}"#.into()),
        ("consent.answer", r#"{"proposal_id":"p_1","decision":"allow"}"#.into()),
        ("consent.answer", format!(r#"{{"proposal_id":"{p}","decision":"allow","rember":"conversation"}}"#)),
        ("consent.answer", format!(r#"{{"proposal_id":"{p}","proposal_id":"{p}","decision":"allow"}}"#)),
        ("consent.answer", format!(r#"{{"proposal_id":"{p}"}}"#)),
        ("consent.answer", format!(r#"["{p}","allow"]"#)),
        ("consent.answer", "7".into()),
        ("grants.list", "{}".into()),
        ("grants.revoke", r#"{"grant_id":"g_9"}"#.into()),
        ("policy.list", "{}".into()),
        ("policy.explain", format!(r#"{{"command":"cat \"a b\" \u202e","workdir":"{w}"}}"#)),
        ("policy.explain", format!(r#"{{"command":"git log","workdir":"{w}/src"}}"#)),
        ("commands.list", r#"{"limit":200}"#.into()),
        ("providers.list", "{}".into()),
        ("providers.configure", r#"{"provider":"demo"}"#.into()),
        ("providers.remove", r#"{"provider":"anthropic"}"#.into()),
        ("events.subscribe", r#"{"types":["no.such"]}"#.into()),
        ("no.such", "{}".into()),
        ("", "{}".into()),
    ]
    .into();
    assert!(!d.is_empty());
    let mut wires = Vec::new();
    for dialect in Dialect::ALL {
        wires.push(Wire::connect(&world.home.socket(), dialect).await);
    }
    for (method, params) in calls {
        let mut told: Vec<Answer> = Vec::new();
        for (wire, dialect) in wires.iter_mut().zip(Dialect::ALL) {
            // A subscription over POST has an answer of its own.
            if dialect == Dialect::Http && method.ends_with(".subscribe") {
                assert_eq!(wire.call(method, &params).await.value()["data"]["kind"], "needs_stream");
                continue;
            }
            told.push(wire.call(method, &params).await);
        }
        assert!(told.iter().all(|answer| *answer == told[0]), "{method} {params}: {told:#?}");
    }
}

#[tokio::test]
async fn what_is_no_call_is_refused_alike_and_the_connection_goes_on() {
    let world = World::new().await;
    let many = format!("[{}]", vec![r#"{"jsonrpc":"2.0","id":1,"method":"system.health"}"#; 65].join(","));
    let messages: [(&str, i64); 10] = [
        ("{", -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"system.info","params":{}"#, -32700),
        ("nonsense", -32700),
        (r#"{"id":1}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"system.info"}"#, -32600),
        (r#"{"id":1,"method":"system.info"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
        ("[]", -32600),
        (&many, -32010),
    ];
    for (message, code) in messages {
        let mut told = Vec::new();
        for dialect in Dialect::ALL {
            let mut wire = Wire::connect(&world.home.socket(), dialect).await;
            if dialect == Dialect::Lines {
                // What opens a connection decides its dialect; here it is what comes later.
                wire.call("system.info", "{}").await;
            }
            let said = wire.ask(message).await;
            told.push(answer(&said));
            assert_eq!(wire.call("system.info", "{}").await.code(), None, "{dialect:?}: the next call works");
        }
        let shown = &message[..message.len().min(80)];
        assert_eq!(told[0].code(), Some(code), "{shown}: {told:?}");
        assert!(told.iter().all(|answer| *answer == told[0]), "{shown}: {told:#?}");
    }
    // What has no id and is no notification is no call of anybody's; jsonrpsee takes it for no JSON-RPC at all.
    let calls_of_nobody = [
        "{}",
        r#"{"a":1}"#,
        r#"{"method":"system.info"}"#,
        r#"{"jsonrpc":"2.0","method":7}"#,
        "7",
        "\"x\"",
        "null",
        "true",
    ];
    for message in calls_of_nobody {
        for dialect in Dialect::ALL {
            let mut wire = Wire::connect(&world.home.socket(), dialect).await;
            wire.call("system.info", "{}").await;
            let said = answer(&wire.ask(message).await);
            let code = if dialect == Dialect::Lines { -32600 } else { -32700 };
            assert_eq!((said.code(), said.id.as_str()), (Some(code), "null"), "{dialect:?}: {message}");
        }
    }
}

#[tokio::test]
async fn what_is_nested_without_end_is_refused_alike_and_harms_nobody() {
    let world = World::new().await;
    let nested = |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    let call = |params: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"consent.get","params":{params}}}"#);
    for message in [
        nested("[", "]"),
        call(&nested("[", "]")),
        call(&format!(r#"{{"proposal_id":{}}}"#, nested("[", "]"))),
        call(&nested(r#"{"a":"#, "}").replace(":}", ":1}")),
        format!(r#"{{"jsonrpc":"2.0","id":{},"method":"system.info"}}"#, nested("[", "]")),
    ] {
        let mut told = Vec::new();
        for dialect in Dialect::ALL {
            let mut wire = Wire::connect(&world.home.socket(), dialect).await;
            wire.call("system.info", "{}").await;
            wire.say(&message).await;
            if message.contains(r#""id":1"#) || message.starts_with('[') {
                told.push(wire.hear().await.unwrap());
                assert!(told[0].contains("\"error\""), "{}", told[0]);
            } else if dialect == Dialect::Lines {
                assert_eq!(answer(&wire.hear().await.unwrap()).code(), Some(-32600));
            } else if dialect == Dialect::Http {
                wire.hear().await.unwrap();
            }
            assert_eq!(wire.call("system.info", "{}").await.code(), None, "{dialect:?}: the next call works");
        }
        assert!(told.iter().all(|said| *said == told[0]), "{}: {told:#?}", &message[..80]);
    }
}

#[tokio::test]
async fn ids_come_back_as_they_were_sent() {
    let world = World::new().await;
    for dialect in Dialect::ALL {
        let mut wire = Wire::connect(&world.home.socket(), dialect).await;
        for id in ["0", "9007199254740991", "\"\"", "\"a \\\" \u{1f989} b\"", "null"] {
            let said = wire.ask(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"system.info"}}"#)).await;
            let sent: Value = serde_json::from_str(id).unwrap();
            let came: Value = serde_json::from_str(&answer(&said).id).unwrap();
            assert_eq!(came, sent, "{dialect:?}");
        }
        for id in ["1.5", "-1", "true", "{}", "[1]", "9007199254740992"] {
            let odd = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"system.info"}}"#);
            match dialect {
                Dialect::Lines => {
                    let said = answer(&wire.ask(&odd).await);
                    assert_eq!((said.code(), said.id.as_str()), (Some(-32600), "null"), "{id}");
                }
                // Taken for a notification: the body `null`, and nothing at all.
                Dialect::Http => assert_eq!(wire.ask(&odd).await, "null", "{id}"),
                Dialect::WebSocket => wire.say(&odd).await,
            }
            assert_eq!(wire.call("system.info", "{}").await.id, "1", "{dialect:?} {id}");
        }
    }
}

#[tokio::test]
async fn a_batch_is_answered_in_its_order_with_refusals_where_they_stand() {
    let (world, c, _) = lived_in().await;
    let call = |id: &str, method: &str, params: String| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
    };
    let batch = format!(
        "[{}]",
        [
            call("1", "projects.list", "{}".into()),
            call("\"two\"", "no.such", "{}".into()),
            call("3", "chat.subscribe", format!(r#"{{"conversation_id":"{c}","after_seq":0}}"#)),
            r#"{"jsonrpc":"2.0","method":"chat.cancel","params":{"conversation_id":"c_1"}}"#.into(),
            "{}".into(),
            call("5", "consent.list", "{}".into()),
            call("6", "chat.unsubscribe", r#"{"subscription":"x"}"#.into()),
            call("7", "system.info", r#"{"x":1}"#.into()),
        ]
        .join(",")
    );
    let mut told = Vec::new();
    for dialect in Dialect::ALL {
        let mut wire = Wire::connect(&world.home.socket(), dialect).await;
        if dialect == Dialect::Lines {
            wire.call("system.info", "{}").await;
        }
        let several = answers(&wire.ask(&batch).await);
        let ids: Vec<_> = several.iter().map(|answer| answer.id.as_str()).collect();
        assert_eq!(ids, ["1", "\"two\"", "3", "null", "5", "6", "7"], "{dialect:?}");
        let codes: Vec<_> = several.iter().map(Answer::code).collect();
        assert_eq!(codes, [None, Some(-32601), Some(1012), Some(-32600), None, None, Some(-32602)]);
        // Notifications only: nothing on a stream, and nothing but the status over POST.
        let silent = r#"[{"jsonrpc":"2.0","method":"system.info"},{"jsonrpc":"2.0","method":"no.such"}]"#;
        wire.say(silent).await;
        if dialect == Dialect::Http {
            assert!(["", "null"].contains(&wire.hear_http().await.unwrap().1.as_str()));
        }
        assert_eq!(wire.call("system.info", "{}").await.code(), None);
        told.push(several);
    }
    assert!(told.iter().all(|several| *several == told[0]), "{told:#?}");
    // The notification in the batch cancelled nothing.
    let mut client = world.daemon.connect().await;
    assert_eq!(client.ok("conversations.get", json!({ "conversation_id": c })).await["state"], "awaiting_consent");
}

#[tokio::test]
async fn a_notification_does_nothing() {
    let (mut world, c, waits) = lived_in().await;
    let p = waits["id"].as_str().unwrap();
    for dialect in Dialect::ALL {
        let mut wire = Wire::connect(&world.home.socket(), dialect).await;
        for (method, params) in [
            ("consent.answer", format!(r#"{{"proposal_id":"{p}","decision":"allow"}}"#)),
            ("chat.cancel", format!(r#"{{"conversation_id":"{c}"}}"#)),
        ] {
            wire.say(&format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)).await;
            if dialect == Dialect::Http {
                assert_eq!(wire.hear_http().await.unwrap(), (200, "null".into()));
            }
        }
        // Answered behind them on the same connection: they have been read.
        wire.call("system.info", "{}").await;
    }
    assert_eq!(world.client.ok("consent.get", json!({ "proposal_id": p })).await, waits);
}

#[tokio::test]
async fn an_answer_takes_effect_though_its_client_leaves_at_once() {
    let mut world = World::new().await;
    let _model = strict(&mut world).await;
    let workdir = world.workdir();
    let c = talk(&mut world.client, &workdir).await;
    for round in 0..30 {
        let dialect = Dialect::ALL[round % 3];
        question(&mut world.client, &c, "run: wc -c README.md").await;
        let shown = proposal(&mut world.client).await;
        let mut wire = Wire::connect(&world.home.socket(), dialect).await;
        let params = json!({ "proposal_id": shown["id"], "decision": "allow", "digest": shown["digest"] });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "consent.answer", "params": params });
        wire.say(&call.to_string()).await;
        drop(wire);
        assert_eq!(command(&mut world.client).await["outcome"], "ran", "{dialect:?}");
        world.client.event_of("turn.finished").await;
    }
}
