//! Consent: one outcome, told to everybody, whoever answers and whenever.

use crate::support::{World, allow, ask, command, items, proposal};
use serde_json::json;

#[tokio::test]
async fn a_refused_command_is_not_run_and_the_model_is_told_with_the_reason() {
    let mut world = World::new().await;
    let c = world.conversation().await;
    ask(&mut world.client, &c, &["cat README.md"]).await;
    let shown = proposal(&mut world.client).await;
    let deny = json!({ "proposal_id": shown["id"], "decision": "deny", "reason": "not that one" });
    assert_eq!(world.client.ok("consent.answer", deny).await["state"], "denied");
    let item = command(&mut world.client).await;
    assert_eq!((&item["outcome"], &item["started_at"]), (&json!("denied"), &json!(null)));
    world.client.event_of("turn.finished").await;
    let said = items(&mut world.client, &c).await.last().unwrap()["text"].as_str().unwrap().to_owned();
    assert!(said.contains("the user refused this command"), "{said}");
}

#[tokio::test]
async fn a_command_nobody_answered_is_not_run_and_expires() {
    let mut world = World::configured("consent:\n  window: 300ms\n").await;
    let c = world.conversation().await;
    ask(&mut world.client, &c, &["cat README.md"]).await;
    let shown = proposal(&mut world.client).await;
    let resolved = world.client.event_of("proposal.resolved").await;
    assert_eq!((&resolved["outcome"], &resolved["decided_by"]["kind"]), (&json!("expired"), &json!("owl")));
    assert_eq!(command(&mut world.client).await["outcome"], "expired");
    let finished = world.client.event_of("turn.finished").await;
    assert_eq!(finished["turn"]["stop_reason"], "end_turn");
    let late = world.client.err("consent.answer", json!({ "proposal_id": shown["id"], "decision": "allow" })).await;
    assert_eq!((&late["data"]["kind"], &late["data"]["state"]), (&json!("already_resolved"), &json!("expired")));
    let said = items(&mut world.client, &c).await.last().unwrap()["text"].as_str().unwrap().to_owned();
    assert!(said.contains("nobody answered"), "{said}");
}

#[tokio::test]
async fn of_many_clients_that_answer_at_once_one_wins_and_all_are_told_the_same() {
    let mut world = World::new().await;
    let c = world.conversation().await;
    for _ in 0..10 {
        ask(&mut world.client, &c, &["wc -c README.md"]).await;
        let shown = proposal(&mut world.client).await;
        let mut answers = Vec::new();
        for n in 0..8 {
            let mut other = world.daemon.connect().await;
            let decision = if n % 2 == 0 { "allow" } else { "deny" };
            let params = json!({ "proposal_id": shown["id"], "decision": decision });
            answers.push(tokio::spawn(async move { (decision, other.call("consent.answer", params).await) }));
        }
        let mut winners = Vec::new();
        let mut told = Vec::new();
        for answer in answers {
            match answer.await.unwrap() {
                (decision, Ok(result)) => {
                    let state = if decision == "allow" { "allowed" } else { "denied" };
                    assert_eq!(result["state"], state, "only an equal answer is no error");
                    if result["won"] == true {
                        winners.push(state);
                    }
                    told.push(result["state"].clone());
                }
                (_, Err(error)) => {
                    assert_eq!(error["data"]["kind"], "already_resolved");
                    told.push(error["data"]["state"].clone());
                }
            }
        }
        assert_eq!(winners.len(), 1);
        assert!(told.iter().all(|state| state == winners[0]), "{told:?}");
        let events = world.client.events_until("turn.finished").await;
        let resolved: Vec<_> = events.iter().filter(|e| e["type"] == "proposal.resolved").collect();
        assert_eq!(resolved.len(), 1);
        assert_eq!(resolved[0]["outcome"], winners[0]);
        let started = events.iter().filter(|e| e["type"] == "command.started").count();
        assert_eq!(started, usize::from(winners[0] == "allowed"));
    }
}

#[tokio::test]
async fn a_wrong_a_foreign_and_a_stale_answer_are_refused_by_name_and_decide_nothing() {
    let mut world = World::new().await;
    let c = world.conversation().await;
    let other = world.conversation().await;
    ask(&mut world.client, &c, &["cat README.md"]).await;
    let shown = proposal(&mut world.client).await;
    let id = shown["id"].clone();
    let cases = [
        (json!({ "proposal_id": "nope", "decision": "allow" }), "not_found"),
        (json!({ "proposal_id": id, "decision": "allow", "conversation_id": other }), "conversation_mismatch"),
        (json!({ "proposal_id": id, "decision": "allow", "digest": "sha256:00" }), "stale"),
        (json!({ "proposal_id": id, "decision": "maybe" }), "invalid_params"),
        (json!({ "proposal_id": id, "decision": "deny", "remember": "conversation" }), "invalid_params"),
        (json!({ "proposal_id": id, "decision": "allow", "reason": "because" }), "invalid_params"),
    ];
    for (params, kind) in cases {
        let error = world.client.err("consent.answer", params.clone()).await;
        assert_eq!(error["data"]["kind"], kind, "{params}");
    }
    assert_eq!(world.client.ok("consent.get", json!({ "proposal_id": id })).await, shown);
    allow(&mut world.client, &shown).await;
    assert_eq!(command(&mut world.client).await["outcome"], "ran");
}

#[tokio::test]
async fn a_proposal_outlives_its_client_and_is_found_and_answered_by_another() {
    let mut world = World::new().await;
    let c = world.conversation().await;
    let begun = ask(&mut world.client, &c, &["cat README.md"]).await;
    let shown = proposal(&mut world.client).await;
    drop(world.client);
    let mut next = world.daemon.connect().await;
    let list = next.ok("consent.list", json!({})).await;
    assert_eq!(list["items"], json!([shown]));
    allow(&mut next, &shown).await;
    let waited = next.ok("chat.wait", json!({ "turn_id": begun["turn_id"], "until": "finished" })).await;
    assert_eq!(waited["turn"]["stop_reason"], "end_turn");
}

#[tokio::test]
async fn a_client_that_never_opened_the_conversation_is_told_and_may_answer() {
    let mut world = World::new().await;
    let mut inbox = world.daemon.connect().await;
    inbox.ok("events.subscribe", json!({ "types": ["proposal.created"] })).await;
    inbox.event_of("stream.live").await;
    let c = world.conversation().await;
    ask(&mut world.client, &c, &["cat README.md"]).await;
    let shown = proposal(&mut inbox).await;
    allow(&mut inbox, &shown).await;
    assert_eq!(command(&mut world.client).await["outcome"], "ran");
}

#[tokio::test]
async fn proposals_of_one_turn_are_independent_and_the_model_is_asked_once_all_have_a_result() {
    let mut world = World::new().await;
    let c = world.conversation().await;
    ask(&mut world.client, &c, &["cat README.md", "wc -l README.md", "head -n 1 README.md"]).await;
    let first = proposal(&mut world.client).await;
    let second = proposal(&mut world.client).await;
    let third = proposal(&mut world.client).await;
    world.client.ok("consent.answer", json!({ "proposal_id": second["id"], "decision": "deny" })).await;
    allow(&mut world.client, &third).await;
    let mut done = [command(&mut world.client).await, command(&mut world.client).await];
    done.sort_by_key(|item| item["seq"].as_i64());
    assert_eq!((&done[0]["outcome"], &done[1]["outcome"]), (&json!("denied"), &json!("ran")));
    let now = world.client.ok("conversations.get", json!({ "conversation_id": c })).await;
    assert_eq!((&now["state"], now["turn"]["rounds"].as_i64()), (&json!("awaiting_consent"), Some(1)));
    allow(&mut world.client, &first).await;
    world.client.event_of("turn.finished").await;
}

#[tokio::test]
async fn a_turn_sent_with_deny_asks_nobody() {
    let mut world = World::new().await;
    let c = world.conversation().await;
    let sent = json!({ "conversation_id": c, "text": "run: cat README.md", "on_consent": "deny" });
    world.client.ok("chat.send", sent).await;
    let shown = proposal(&mut world.client).await;
    assert_eq!((&shown["state"], &shown["decided_by"]["kind"]), (&json!("denied"), &json!("turn")));
    assert_eq!(command(&mut world.client).await["outcome"], "denied");
    world.client.event_of("turn.finished").await;
}

#[tokio::test]
async fn a_file_that_became_a_link_out_while_a_person_thought_is_not_read() {
    let mut world = World::new().await;
    let secret = world.home.path().join("secret.txt");
    std::fs::write(&secret, "CANARY\n").unwrap();
    let c = world.conversation().await;
    ask(&mut world.client, &c, &["cat README.md"]).await;
    let shown = proposal(&mut world.client).await;
    std::fs::remove_file(world.repo.root().join("README.md")).unwrap();
    std::os::unix::fs::symlink(&secret, world.repo.root().join("README.md")).unwrap();
    assert_eq!(allow(&mut world.client, &shown).await["state"], "allowed");
    let item = command(&mut world.client).await;
    assert_eq!((&item["outcome"], &item["denial"]["kind"]), (&json!("gate_denied"), &json!("path_outside")));
    let events = world.client.events_until("turn.finished").await;
    assert!(!serde_json::to_string(&events).unwrap().contains("CANARY"));
    let said = items(&mut world.client, &c).await.last().unwrap()["text"].as_str().unwrap().to_owned();
    assert!(said.contains("it was allowed, but Owl denies it now"), "{said}");
}
