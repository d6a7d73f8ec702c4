mod lists;
mod names;

use crate::{
    ClientError, RpcError,
    client::Client,
    fakes::Ports,
    samples::{self, CHAT},
    table,
    tests::{Serving, soon},
};
use owl_domain::{
    consent::{Answered, Said},
    conversation::{PageError, Paged},
    ids::{ItemId, Seq},
    ports::{AnswerError, BeginError, Begun, CreateError, Created, StoreError, UpdateError},
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

struct Called {
    _serving: Serving,
    client: Client,
}

impl Called {
    async fn with(ports: Ports) -> Self {
        let serving = Serving::of(table(&ports.api()));
        let client = Client::connect(&serving.socket).await.unwrap();
        Self { _serving: serving, client }
    }

    async fn ok(&self, method: &str, params: Value) -> Value {
        match soon("an answer", self.client.call(method, params.clone())).await {
            Ok(result) => result,
            Err(error) => panic!("{method} {params}: {error:?}"),
        }
    }

    async fn err(&self, method: &str, params: Value) -> RpcError {
        match soon("an answer", self.client.call(method, params.clone())).await {
            Err(ClientError::Rpc(error)) => error,
            other => panic!("{method} {params}: {other:?}"),
        }
    }

    /// Says which parameter is refused and why.
    async fn refuses(&self, method: &str, params: Value, field: &str, reason: &str) {
        let error = self.err(method, params.clone()).await;
        let data = error.data.unwrap_or_default();
        assert_eq!(
            (error.code, &data["field"], &data["reason"]),
            (-32602, &json!(field), &json!(reason)),
            "{method} {params}"
        );
    }

    async fn finds_nothing(&self, method: &str, params: Value, what: &str, id: &str) {
        let error = self.err(method, params.clone()).await;
        let data = error.data.unwrap_or_default();
        assert_eq!((error.code, &data["what"], &data["id"]), (1001, &json!(what), &json!(id)), "{method} {params}");
    }
}

fn store_error() -> StoreError {
    StoreError { file: "/data/owl.db".into(), reason: "cannot be written: the disk is full".into() }
}

#[tokio::test]
async fn what_names_nothing_is_not_found_whatever_is_wrong_with_it() {
    let mut ports = Ports::new();
    ports.projects.expect_get().returning(|_| Ok(None));
    let called = Called::with(ports).await;
    for id in ["c_99", "c_0", "c_012", "t_12", "12", "", "c_99999999999999999999", "nonsense\u{202e}"] {
        for method in ["conversations.get", "conversations.items", "consent.list", "grants.list", "commands.list"] {
            called.finds_nothing(method, json!({ "conversation_id": id }), "conversation", id).await;
        }
    }
    called.finds_nothing("consent.get", json!({ "proposal_id": "g_1" }), "proposal", "g_1").await;
    called.finds_nothing("grants.revoke", json!({ "grant_id": "x" }), "grant", "x").await;
    called.finds_nothing("chat.wait", json!({ "turn_id": "x" }), "turn", "x").await;
    called.finds_nothing("projects.get", json!({ "project": "nope" }), "project", "nope").await;
    called.finds_nothing("projects.get", json!({ "project": "../x" }), "project", "../x").await;
    called.finds_nothing("conversations.list", json!({ "project": "nope" }), "project", "nope").await;
    called.finds_nothing("worktrees.list", json!({ "project": "nope" }), "project", "nope").await;
}

#[tokio::test]
async fn what_is_over_its_limit_or_not_of_its_form_is_refused_by_name() {
    let called = Called::with(Ports::new()).await;
    for limit in [0, 201, -1] {
        called.refuses("conversations.list", json!({ "limit": limit }), "limit", "value").await;
    }
    called.refuses("conversations.search", json!({ "query": "" }), "query", "length").await;
    called.refuses("conversations.search", json!({ "query": "ü".repeat(201) }), "query", "length").await;
    called.refuses("conversations.create", json!({ "title": "" }), "title", "length").await;
    called.refuses("conversations.create", json!({ "title": "a\nb" }), "title", "value").await;
    called.refuses("conversations.create", json!({ "client_key": "a b" }), "client_key", "value").await;
    called.refuses("conversations.create", json!({ "client_key": "x".repeat(65) }), "client_key", "length").await;
    let model = json!({ "model": { "provider": "demo", "id": "" } });
    called.refuses("conversations.create", model, "model.id", "length").await;
    let model = json!({ "model": { "provider": "nope", "id": "x" } });
    called.refuses("conversations.create", model, "model.provider", "value").await;
    let model = json!({ "model": { "provider": 5, "id": "x" } });
    called.refuses("conversations.create", model, "model.provider", "type").await;
    for model in [json!([]), json!(["demo", "tour"]), json!(true), json!(1.5)] {
        called.refuses("conversations.create", json!({ "model": model }), "model", "type").await;
    }
    called.refuses("conversations.list", json!({ "state": "nope" }), "state", "value").await;
    called.refuses("commands.list", json!({ "outcome": "nope" }), "outcome", "value").await;
    let both = json!({ "conversation_id": "c_12", "before_seq": 1, "after_seq": 1 });
    called.refuses("conversations.items", both, "after_seq", "value").await;
    let before = json!({ "conversation_id": "c_12", "before_seq": -1 });
    called.refuses("conversations.items", before, "before_seq", "value").await;
    let send = |text: &str| json!({ "conversation_id": "c_12", "text": text });
    called.refuses("chat.send", send(" \n"), "text", "length").await;
    called.refuses("chat.send", send(&"x".repeat(131_073)), "text", "length").await;
    called.refuses("chat.wait", json!({ "turn_id": "t_1", "timeout_ms": 600_001 }), "timeout_ms", "value").await;
    called
        .refuses("policy.explain", json!({ "command": "x".repeat(65_537), "workdir": "/" }), "command", "length")
        .await;
    called.refuses("projects.add", json!({ "path": "here" }), "path", "value").await;
    called.refuses("projects.add", json!({ "path": "/x", "name": "-" }), "name", "value").await;
    called.refuses("providers.test", json!({ "provider": "nope" }), "provider", "value").await;
    called.refuses("chat.subscribe", json!({ "conversation_id": "c_12", "after_seq": -1 }), "after_seq", "value").await;
}

#[tokio::test]
async fn a_store_that_cannot_be_read_is_an_error_that_names_the_file_and_never_an_empty_list() {
    let mut ports = Ports::new();
    ports.conversations.expect_list().returning(|_, _| Err(PageError::Store(store_error())));
    ports.conversations.expect_search().returning(|_, _| Err(PageError::Cursor));
    ports.grants.expect_list().returning(|_, _| Err(store_error()));
    let called = Called::with(ports).await;
    for method in ["conversations.list", "grants.list"] {
        let error = called.err(method, json!({})).await;
        assert_eq!(error.code, 1014);
        assert_eq!(error.message, "/data/owl.db cannot be written: the disk is full");
        assert_eq!(error.data.unwrap(), json!({ "kind": "storage", "retryable": true, "file": "/data/owl.db" }));
    }
    let error = called.err("conversations.search", json!({ "query": "x", "cursor": "nonsense" })).await;
    assert_eq!((error.code, &error.data.unwrap()["last_seq"]), (1010, &Value::Null));
}

#[tokio::test]
async fn a_page_tells_where_the_next_one_begins() {
    let mut ports = Ports::new();
    ports.conversations.expect_list().returning(|filter, page| {
        assert!(filter.archived);
        assert_eq!((page.limit, page.cursor.as_deref()), (1, Some("here")));
        Ok(Paged { items: vec![samples::conversation()], next: Some("there".into()) })
    });
    let called = Called::with(ports).await;
    let page = called.ok("conversations.list", json!({ "archived": true, "limit": 1, "cursor": "here" })).await;
    assert_eq!(page["items"][0]["id"], "c_12");
    assert_eq!(page["next_cursor"], "there");
}

#[tokio::test]
async fn a_call_that_is_sent_again_is_known_by_its_key_and_parameters() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut ports = Ports::new();
    let keep = seen.clone();
    ports.conversations.expect_create().returning(move |new, _| {
        let once = new.once.unwrap();
        keep.lock().unwrap().push(once.parameters.clone());
        match once.key.as_str() {
            "other" => Err(CreateError::Mismatch),
            _ => Ok(Created { conversation: samples::conversation(), duplicate: true }),
        }
    });
    let called = Called::with(ports).await;
    let create = |title: &str, key: &str| json!({ "title": title, "client_key": key });
    let made = called.ok("conversations.create", create("a", "k")).await;
    assert_eq!((&made["id"], &made["duplicate"]), (&json!("c_12"), &json!(true)));
    called.ok("conversations.create", create("a", "k2")).await;
    called.ok("conversations.create", create("b", "k")).await;
    let error = called.err("conversations.create", create("a", "other")).await;
    assert_eq!((error.code, &error.data.unwrap()["client_key"]), (1009, &json!("other")));
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0], seen[1], "the key itself is no parameter");
    assert_ne!(seen[0], seen[2]);
}

#[tokio::test]
async fn an_update_tells_left_out_from_null() {
    let mut ports = Ports::new();
    ports.conversations.expect_update().returning(|id, change, _| {
        assert_eq!(id, CHAT);
        assert_eq!((change.title, change.model, change.workdir), (Some(None), None, Some(None)));
        Err(UpdateError::Version { version: 4 })
    });
    let called = Called::with(ports).await;
    let params = json!({ "conversation_id": "c_12", "title": null, "workdir": null, "if_version": 3 });
    let error = called.err("conversations.update", params).await;
    assert_eq!((error.code, &error.data.unwrap()["version"]), (1018, &json!(4)));
}

#[tokio::test]
async fn a_turn_at_work_is_named_to_whoever_sends_a_second() {
    let mut ports = Ports::new();
    ports.turns.expect_repeated().returning(|_, once| match once.key.as_str() {
        "again" => Ok(Some(Begun { turn: samples::TURN, item: ItemId::new(7), seq: Seq(125), duplicate: true })),
        _ => Err(BeginError::Busy { turn: samples::TURN }),
    });
    let called = Called::with(ports).await;
    let send = |key: &str| json!({ "conversation_id": "c_12", "text": "hello", "client_key": key });
    let sent = called.ok("chat.send", send("again")).await;
    assert_eq!(sent, json!({ "turn_id": "t_40", "item_id": "i_7", "seq": 125, "duplicate": true }));
    let error = called.err("chat.send", send("new")).await;
    assert_eq!(error.data.unwrap(), json!({ "kind": "busy", "retryable": true, "turn_id": "t_40" }));
}

#[tokio::test]
async fn an_answer_goes_in_whole_and_comes_back_with_who_decided() {
    let mut ports = Ports::new();
    ports.proposals.expect_answer().returning(|answer, by, _| {
        assert_eq!(by.peer().unwrap().pid, i32::try_from(std::process::id()).ok());
        match answer.verdict {
            Said::AllowForConversation => {
                Ok(Answered { proposal: samples::proposal(), decision: samples::decision(), won: true })
            }
            Said::Deny(Some(reason)) if reason.as_str() == "not now" => {
                Err(AnswerError::AlreadyResolved { proposal: answer.proposal, decision: samples::decision() })
            }
            Said::AllowOnce => Err(AnswerError::Stale { digest: samples::shown().digest }),
            Said::Deny(_) => Err(AnswerError::ConversationMismatch { conversation: CHAT }),
        }
    });
    ports.proposals.expect_get().returning(|_| Ok(Some(samples::proposal())));
    let called = Called::with(ports).await;
    let answer = |more: Value| {
        let mut params = json!({ "proposal_id": "p_3" });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    let person = json!({ "kind": "client", "pid": 4242, "uid": 1000, "program": "owl-desktop" });
    let won = called.ok("consent.answer", answer(json!({ "decision": "allow", "remember": "conversation" }))).await;
    assert_eq!(
        won,
        json!({
            "proposal_id": "p_3", "state": "allowed", "won": true, "decided_by": person,
            "decided_at": "2026-11-30T21:04:30.000Z", "grant_id": "g_1",
        })
    );
    let lost = called.err("consent.answer", answer(json!({ "decision": "deny", "reason": "not now" }))).await;
    assert_eq!((lost.code, lost.message.as_str()), (1002, "p_3 was already allowed"));
    assert_eq!(
        lost.data.unwrap(),
        json!({
            "kind": "already_resolved", "retryable": false, "proposal_id": "p_3", "state": "allowed",
            "decided_by": person, "decided_at": "2026-11-30T21:04:30.000Z", "grant_id": "g_1",
        })
    );
    let stale = called.err("consent.answer", answer(json!({ "decision": "allow", "digest": "sha256:x" }))).await;
    assert_eq!((stale.code, &stale.data.unwrap()["digest"]), (1004, &json!(samples::shown().digest.as_str())));
    for elsewhere in ["c_1", "nonsense"] {
        let params = answer(json!({ "decision": "deny", "conversation_id": elsewhere }));
        let error = called.err("consent.answer", params).await;
        assert_eq!((error.code, &error.data.unwrap()["conversation_id"]), (1005, &json!("c_12")));
    }
    let refused = answer(json!({ "decision": "nope" }));
    called.refuses("consent.answer", refused, "decision", "value").await;
    let refused = answer(json!({ "decision": "deny", "remember": "conversation" }));
    called.refuses("consent.answer", refused, "remember", "value").await;
    let refused = answer(json!({ "decision": "allow", "reason": "x" }));
    called.refuses("consent.answer", refused, "reason", "value").await;
    let refused = answer(json!({ "decision": "deny", "reason": "x".repeat(2001) }));
    called.refuses("consent.answer", refused, "reason", "length").await;
    let refused = answer(json!({ "decision": "allow", "rember": "conversation" }));
    let error = called.err("consent.answer", refused).await;
    assert_eq!(error.message, "unknown parameter `rember`");
    assert_eq!(
        error.data.unwrap()["expected"],
        "one of proposal_id, decision, remember, digest, reason, conversation_id"
    );
}

#[tokio::test]
async fn a_key_that_is_refused_is_in_no_answer() {
    let mut ports = Ports::new();
    ports.credentials.expect_get().returning(|_| Ok(None));
    let called = Called::with(ports).await;
    let configure = |key: Value| json!({ "provider": "anthropic", "api_key": key });
    for key in [json!("sk-planted with blanks"), json!(["sk-planted"]), json!({ "sk-planted": 1 })] {
        let error = called.err("providers.configure", configure(key)).await;
        assert_eq!(error.data.as_ref().unwrap()["field"], "api_key");
        assert!(!serde_json::to_string(&error).unwrap().contains("sk-planted"), "{error:?}");
    }
    called.refuses("providers.configure", json!({ "provider": "anthropic" }), "api_key", "missing").await;
    called.refuses("providers.configure", json!({ "provider": "demo" }), "provider", "value").await;
    called.refuses("providers.remove", json!({ "provider": "demo" }), "provider", "value").await;
    let long = json!({ "provider": "anthropic", "api_key": "k", "models": ["a", "b c"] });
    called.refuses("providers.configure", long, "models[1]", "value").await;
}

#[tokio::test]
async fn the_gate_is_told_row_by_row_and_as_text() {
    let called = Called::with(Ports::new()).await;
    let policy = called.ok("policy.list", json!({})).await;
    let rows = policy["rows"].as_array().unwrap();
    let covers: Vec<&str> = rows.iter().map(|row| row["covers"].as_str().unwrap()).collect();
    for command in ["cat", "git log", "git branch", "grep", "wc"] {
        assert!(covers.contains(&command), "{covers:?}");
    }
    assert_eq!(rows.len(), 11);
    assert!(policy["text"].as_str().unwrap().contains("git status"));
}

#[tokio::test]
async fn the_document_describes_every_method_and_none_twice() {
    let called = Called::with(Ports::new()).await;
    let document = called.ok("rpc.discover", json!({})).await;
    let methods = document["methods"].as_array().unwrap();
    let mut names: Vec<&str> = methods.iter().map(|method| method["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    let expected = [
        "chat.cancel",
        "chat.send",
        "chat.subscribe",
        "chat.unsubscribe",
        "chat.wait",
        "commands.list",
        "consent.answer",
        "consent.get",
        "consent.list",
        "conversations.create",
        "conversations.delete",
        "conversations.get",
        "conversations.items",
        "conversations.list",
        "conversations.search",
        "conversations.update",
        "events.subscribe",
        "events.unsubscribe",
        "grants.list",
        "grants.revoke",
        "models.list",
        "policy.explain",
        "policy.list",
        "projects.add",
        "projects.get",
        "projects.list",
        "projects.remove",
        "providers.configure",
        "providers.list",
        "providers.remove",
        "providers.test",
        "rpc.discover",
        "system.health",
        "system.info",
        "worktrees.list",
    ];
    for name in expected {
        assert!(names.contains(&name), "{name}");
    }
    let mut once = names.clone();
    once.dedup();
    assert_eq!(names, once);
    for method in methods {
        assert_eq!(method["paramStructure"], "by-name");
        for param in method["params"].as_array().unwrap() {
            assert!(param["schema"].is_object() && param["name"].is_string(), "{param}");
        }
    }
}

#[tokio::test]
async fn health_tells_what_is_open() {
    let called = Called::with(Ports::new()).await;
    let health = called.ok("system.health", json!({})).await;
    assert_eq!(
        health,
        json!({
            "ok": true, "database": "ok", "message": null, "uptime_ms": 5, "last_seq": 0, "connections": 1,
            "subscriptions": 0, "turns_running": 0, "turns_waiting": 0, "commands_running": 0, "runs_active": 0,
        })
    );
}
