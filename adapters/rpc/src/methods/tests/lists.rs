//! What a list, and a look at one thing, is asked for.

use super::*;
use owl_domain::ports::{Recorded, RevokedGrants};

fn recorded() -> Recorded {
    Recorded {
        item: ItemId::new(9),
        conversation: CHAT,
        turn: samples::TURN,
        project: None,
        command: samples::command(None),
        decision: None,
        created_at: samples::at("2026-11-30T21:04:02.000Z"),
    }
}

#[tokio::test]
async fn null_is_left_out_wherever_something_may_be_left_out() {
    let mut ports = Ports::new();
    ports
        .conversations
        .expect_list()
        .withf(|filter, _| !filter.archived)
        .returning(|_, _| Ok(Paged { items: Vec::new(), next: None }));
    ports.grants.expect_list().withf(|_, revoked| *revoked == RevokedGrants::LeftOut).returning(|_, _| Ok(Vec::new()));
    let called = Called::with(ports).await;
    for (method, name) in [("conversations.list", "archived"), ("grants.list", "include_revoked")] {
        let found = called.ok(method, json!({ name: null })).await;
        assert_eq!(found["items"], json!([]), "{method}");
        called.refuses(method, json!({ name: "yes" }), name, "type").await;
    }
    called.refuses("models.list", json!({ "refresh": "yes" }), "refresh", "type").await;
    for (method, name) in [("jobs.get", "diff"), ("jobs.drop", "discard")] {
        called.finds_nothing(method, json!({ "job_id": "x", name: null }), "job", "x").await;
    }
}

#[tokio::test]
async fn no_parameter_that_may_be_left_out_refuses_null() {
    let document = Called::with(Ports::new()).await.ok("rpc.discover", json!({})).await;
    for method in document["methods"].as_array().unwrap() {
        for parameter in method["params"].as_array().unwrap() {
            let may_be_null = |schema: &Value| {
                schema["type"] == "null"
                    || schema["type"].as_array().is_some_and(|types| types.contains(&json!("null")))
            };
            let schema = &parameter["schema"];
            let nullable =
                may_be_null(schema) || schema["anyOf"].as_array().is_some_and(|any| any.iter().any(may_be_null));
            assert!(parameter["required"] == true || nullable, "{} {}", method["name"], parameter["name"]);
        }
    }
}

#[tokio::test]
async fn the_record_of_a_project_is_found_after_it_was_removed_and_one_that_never_was_is_not() {
    let mut ports = Ports::new();
    ports.conversations.expect_commands().returning(|filter, _| {
        let was = filter.project.is_some_and(|project| project.as_str() == "was");
        Ok(Paged { items: was.then(recorded).into_iter().collect(), next: None })
    });
    let called = Called::with(ports).await;
    called.finds_nothing("commands.list", json!({ "project": "nope" }), "project", "nope").await;
    let found = called.ok("commands.list", json!({ "project": "was" })).await;
    assert_eq!(found["items"][0]["requested"], "grep -rn TODO src");
}
