//! Many at once: whatever order things come in, what is answered, stored, told and run agrees.

use crate::{
    support::{World, allow, ask, command, conversation, proposal},
    wire::{Answer, Dialect, Wire},
    work::{fifo, held, question, release, replayed, strict, talk},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Milliseconds since 1970 of a time as it is told.
fn millis(time: &Value) -> i64 {
    let text = time.as_str().unwrap();
    let number = |range: std::ops::Range<usize>| text[range].parse::<i64>().unwrap();
    let (year, month, day) = (number(0..4), number(5..7), number(8..10));
    // Days from the civil calendar, by Howard Hinnant's formula.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    ((days * 24 + number(11..13)) * 60 + number(14..16)) * 60_000 + number(17..19) * 1_000 + number(20..23)
}

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// Counts events of a type that name a Proposal.
fn count(events: &[Value], name: &str, proposal: &str) -> usize {
    events.iter().filter(|event| event["type"] == name && event["proposal_id"] == proposal).count()
}

#[tokio::test]
async fn an_answer_at_the_deadline_is_told_stored_and_carried_out_as_the_same_thing() {
    const TURNS: usize = 16;
    let mut world = World::configured("consent:\n  window: 150ms\n").await;
    let _model = strict(&mut world).await;
    let workdir = world.workdir();
    let c = talk(&mut world.client, &workdir).await;
    let lines = vec!["run: wc -c README.md"; 16].join("\n");
    let mut answering = Vec::new();
    for _ in 0..4 {
        answering.push(world.daemon.connect().await);
    }
    // How long before the deadline an answer leaves. Each one that came too late has the next leave earlier, each one
    // that came in time has it leave later: so all are about to miss it.
    let mut before = 5;
    let mut told: BTreeMap<String, String> = BTreeMap::new();
    for _ in 0..TURNS {
        question(&mut world.client, &c, &lines).await;
        let mut waiting = Vec::new();
        while waiting.len() < 16 {
            waiting.push(proposal(&mut world.client).await);
        }
        for (nth, shown) in waiting.iter().enumerate() {
            let client = &mut answering[nth % 4];
            // The deadline is a moment of the real clock: this waits for that moment, not for the daemon.
            let wait = millis(&shown["expires_at"]) - before - now();
            tokio::time::sleep(Duration::from_millis(u64::try_from(wait).unwrap_or(0))).await;
            let id = shown["id"].as_str().unwrap().to_owned();
            let decision = if nth % 3 == 0 { "deny" } else { "allow" };
            let answer = client.call("consent.answer", json!({ "proposal_id": id, "decision": decision })).await;
            let state = match answer {
                Ok(answered) => {
                    assert_eq!((&answered["won"], &answered["decided_by"]["kind"]), (&json!(true), &json!("client")));
                    before = (before - 1).max(-3);
                    answered["state"].as_str().unwrap().to_owned()
                }
                Err(error) => {
                    assert_eq!(error["data"]["kind"], "already_resolved");
                    assert_eq!(
                        (&error["data"]["state"], &error["data"]["decided_by"]["kind"]),
                        (&json!("expired"), &json!("owl"))
                    );
                    before = (before + 1).min(40);
                    "expired".to_owned()
                }
            };
            told.insert(id, state);
        }
        world.client.event_of("turn.finished").await;
    }
    assert_eq!(told.len(), TURNS * 16);
    let events = replayed(&world.daemon, &c).await;
    let mut rows = BTreeMap::new();
    let mut cursor = Value::Null;
    loop {
        let page = world.client.ok("consent.list", json!({ "state": "all", "limit": 200, "cursor": cursor })).await;
        for row in page["items"].as_array().unwrap() {
            rows.insert(row["id"].as_str().unwrap().to_owned(), row.clone());
        }
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let mut outcomes = BTreeMap::new();
    for event in &events {
        if event["type"] == "item.completed" && event["item"]["kind"] == "command" {
            outcomes
                .insert(event["item"]["proposal_id"].as_str().unwrap().to_owned(), event["item"]["outcome"].clone());
        }
    }
    for (id, state) in &told {
        let resolved: Vec<_> =
            events.iter().filter(|e| e["type"] == "proposal.resolved" && e["proposal_id"] == **id).collect();
        assert_eq!(resolved.len(), 1, "{id}");
        assert_eq!((&resolved[0]["outcome"], &rows[id]["state"]), (&json!(state), &json!(state)), "{id}");
        assert_eq!(resolved[0]["decided_at"], rows[id]["decided_at"], "{id}");
        assert_eq!(count(&events, "command.started", id), usize::from(state == "allowed"), "{id}");
        assert_eq!(outcomes[id], if state == "allowed" { "ran" } else { state.as_str() }, "{id}");
        let in_time = millis(&rows[id]["decided_at"]) < millis(&rows[id]["expires_at"]);
        assert_eq!(in_time, state != "expired", "{id}: {}", rows[id]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_clients_in_every_dialect_one_decides_and_only_its_wish_to_remember_counts() {
    let mut world = World::new().await;
    let _model = strict(&mut world).await;
    let workdir = world.workdir();
    for round in 0..8 {
        let c = talk(&mut world.client, &workdir).await;
        question(&mut world.client, &c, "run: wc -c README.md").await;
        let shown = proposal(&mut world.client).await;
        let mut wires = Vec::new();
        for n in 0..24 {
            wires.push(Wire::connect(&world.home.socket(), Dialect::ALL[n % 3]).await);
        }
        let at_once = std::sync::Arc::new(tokio::sync::Barrier::new(wires.len()));
        let answering = wires.into_iter().enumerate().map(|(n, mut wire)| {
            let at_once = at_once.clone();
            let mut params =
                json!({ "proposal_id": shown["id"], "decision": if n % 2 == 0 { "allow" } else { "deny" } });
            if n % 4 == 0 {
                params["remember"] = json!("conversation");
            }
            tokio::spawn(async move {
                at_once.wait().await;
                (n, wire.call("consent.answer", &params.to_string()).await)
            })
        });
        let answering: Vec<_> = answering.collect();
        let mut answers: Vec<(usize, Answer)> = Vec::new();
        for answer in answering {
            answers.push(answer.await.unwrap());
        }
        let winners: Vec<_> = answers.iter().filter(|(_, answer)| answer.value()["won"] == true).collect();
        assert_eq!(winners.len(), 1, "round {round}");
        let (winner, won) = (winners[0].0, winners[0].1.value());
        let state = won["state"].as_str().unwrap();
        for (n, answer) in &answers {
            let value = answer.value();
            let said = if n % 2 == 0 { "allowed" } else { "denied" };
            let decided = match answer.code() {
                None => {
                    assert_eq!((&value["state"], said), (&json!(state), state), "only an equal answer is no error");
                    value
                }
                Some(code) => {
                    assert_eq!((code, said == state), (1002, false));
                    value["data"].clone()
                }
            };
            for field in ["state", "decided_by", "decided_at", "grant_id"] {
                assert_eq!(decided[field], won[field], "round {round}, client {n}: all are told the same");
            }
        }
        let events = world.client.events_until("turn.finished").await;
        let id = shown["id"].as_str().unwrap();
        assert_eq!(count(&events, "proposal.resolved", id), 1);
        assert_eq!(count(&events, "command.started", id), usize::from(state == "allowed"));
        let grants = world.client.ok("grants.list", json!({ "conversation_id": c })).await;
        let granted = usize::from(winner % 4 == 0);
        assert_eq!(grants["items"].as_array().unwrap().len(), granted, "a losing answer makes no grant");
        assert_eq!(won["grant_id"].is_null(), granted == 0);
        assert_eq!(events.iter().filter(|event| event["type"] == "grant.created").count(), granted);
    }
}

#[tokio::test]
async fn answers_whose_conversations_were_mixed_up_decide_nothing() {
    let mut world = World::new().await;
    let mut other = world.daemon.connect().await;
    let workdir = world.workdir();
    let a = world.conversation().await;
    let b = conversation(&mut other, &workdir).await;
    ask(&mut world.client, &a, &["wc -c README.md"]).await;
    ask(&mut other, &b, &["wc -l README.md"]).await;
    let (of_a, of_b) = (proposal(&mut world.client).await, proposal(&mut other).await);
    let answer = |proposal: &Value, conversation: &Value, digest: &Value| {
        json!({ "proposal_id": proposal["id"], "decision": "allow", "remember": "conversation",
            "conversation_id": conversation, "digest": digest })
    };
    let (in_a, in_b) = (&of_a["conversation_id"], &of_b["conversation_id"]);
    for _ in 0..20 {
        let (first, second) = tokio::join!(
            world.client.call("consent.answer", answer(&of_a, in_b, &of_a["digest"])),
            other.call("consent.answer", answer(&of_b, in_a, &of_b["digest"])),
        );
        for (error, actual) in [(first.unwrap_err(), in_a), (second.unwrap_err(), in_b)] {
            assert_eq!(
                (&error["data"]["kind"], &error["data"]["conversation_id"]),
                (&json!("conversation_mismatch"), actual)
            );
        }
        // The right conversation, and what the other proposal showed.
        let (first, second) = tokio::join!(
            world.client.call("consent.answer", answer(&of_a, in_a, &of_b["digest"])),
            other.call("consent.answer", answer(&of_b, in_b, &of_a["digest"])),
        );
        for (error, actual) in [(first.unwrap_err(), &of_a), (second.unwrap_err(), &of_b)] {
            assert_eq!((&error["data"]["kind"], &error["data"]["digest"]), (&json!("stale"), &actual["digest"]));
        }
    }
    // A Turn of one is not the other's to stop.
    let wrong = json!({ "conversation_id": a, "turn_id": of_b["turn_id"] });
    assert_eq!(world.client.ok("chat.cancel", wrong).await["cancelled"], false);
    for shown in [&of_a, &of_b] {
        assert_eq!(world.client.ok("consent.get", json!({ "proposal_id": shown["id"] })).await, *shown);
    }
    assert_eq!(world.client.ok("grants.list", json!({})).await["items"], json!([]));
    allow(&mut world.client, &of_a).await;
    allow(&mut other, &of_b).await;
    assert_eq!(command(&mut world.client).await["requested"], "wc -c README.md");
    assert_eq!(command(&mut other).await["requested"], "wc -l README.md");
}

#[tokio::test]
async fn a_grant_that_is_taken_back_while_a_turn_runs_lets_what_runs_go_on_and_covers_nothing_more() {
    let mut world = World::new().await;
    let _model = strict(&mut world).await;
    let workdir = world.workdir();
    let c = talk(&mut world.client, &workdir).await;
    question(&mut world.client, &c, "run: git status").await;
    let shown = proposal(&mut world.client).await;
    let remember = json!({ "proposal_id": shown["id"], "decision": "allow", "remember": "conversation" });
    let grant = world.client.ok("consent.answer", remember).await["grant_id"].clone();
    world.client.event_of("turn.finished").await;

    let fifo = fifo(&world.repo);
    question(&mut world.client, &c, "run: git status --short\nthen\nrun: git status --short").await;
    let under = proposal(&mut world.client).await;
    assert_eq!((&under["state"], &under["grant_id"]), (&json!("allowed"), &grant));
    let started = world.client.event_of("command.started").await;
    held(&started).await;
    let revoked = world.client.ok("grants.revoke", json!({ "grant_id": grant })).await;
    assert!(!revoked["revoked_at"].is_null());
    let again = world.client.ok("grants.revoke", json!({ "grant_id": grant })).await;
    assert_eq!(again, revoked);
    release(&fifo).await;
    let item = command(&mut world.client).await;
    assert_eq!(
        (&item["outcome"], &item["grant_id"], &item["result"]["ended_by"]),
        (&json!("ran"), &grant, &json!("exit"))
    );
    std::fs::remove_file(&fifo).unwrap();
    let asked = proposal(&mut world.client).await;
    assert_eq!((&asked["state"], &asked["grant_id"]), (&json!("pending"), &Value::Null));
    world.client.ok("consent.answer", json!({ "proposal_id": asked["id"], "decision": "deny" })).await;
    world.client.event_of("turn.finished").await;
    let revocations = replayed(&world.daemon, &c).await.iter().filter(|e| e["type"] == "grant.revoked").count();
    assert_eq!(revocations, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelling_and_allowing_in_the_same_moment_agree_on_what_ran() {
    let mut world = World::new().await;
    let _model = strict(&mut world).await;
    let workdir = world.workdir();
    let c = talk(&mut world.client, &workdir).await;
    let mut canceller = world.daemon.connect().await;
    let mut allower = world.daemon.connect().await;
    for round in 0..30 {
        question(&mut world.client, &c, "run: wc -c README.md\nrun: wc -l README.md").await;
        let first = proposal(&mut world.client).await;
        let second = proposal(&mut world.client).await;
        let cancel = canceller.call("chat.cancel", json!({ "conversation_id": c }));
        let params = |shown: &Value| json!({ "proposal_id": shown["id"], "decision": "allow" });
        let (cancelled, allowed) = if round % 2 == 0 {
            tokio::join!(cancel, allower.call("consent.answer", params(&first)))
        } else {
            let (allowed, cancelled) = tokio::join!(allower.call("consent.answer", params(&first)), cancel);
            (cancelled, allowed)
        };
        assert_eq!(cancelled.unwrap()["cancelled"], true);
        let events = world.client.events_until("turn.finished").await;
        assert_eq!(events.last().unwrap()["turn"]["stop_reason"], "cancelled");
        let id = first["id"].as_str().unwrap();
        let resolved = events.iter().find(|e| e["type"] == "proposal.resolved" && e["proposal_id"] == id).unwrap();
        let item =
            &events.iter().find(|e| e["type"] == "item.completed" && e["item"]["proposal_id"] == id).unwrap()["item"];
        let started = count(&events, "command.started", id);
        match allowed {
            Ok(answered) => {
                assert_eq!((&answered["state"], &resolved["outcome"]), (&json!("allowed"), &json!("allowed")));
                // Cancelled before its start was stored, or between that and `execve`, it never began, and says so.
                let stopped = item["failure"] == "it was stopped before it began";
                let outcome = if started == 0 || stopped { "failed" } else { "ran" };
                assert_eq!(item["outcome"], outcome, "{item}");
                assert_eq!(item["result"].is_null(), outcome == "failed", "{item}");
            }
            Err(error) => {
                assert_eq!((&error["data"]["state"], &resolved["outcome"]), (&json!("cancelled"), &json!("cancelled")));
                assert_eq!((started, &item["outcome"]), (0, &json!("cancelled")));
            }
        }
        assert_eq!(count(&events, "command.started", second["id"].as_str().unwrap()), 0);
    }
}
