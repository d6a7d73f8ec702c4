use super::*;

fn batch(entries: impl IntoIterator<Item = Value>) -> String {
    Value::from_iter(entries).to_string()
}

fn call(id: i64, method: &str, params: Value) -> Value {
    serde_json::from_str(&request(id, method, params)).unwrap()
}

#[tokio::test]
async fn calls_are_carried_out_one_after_the_other_and_answered_in_their_order() {
    let serving = Serving::start();
    serving.go.add_permits(1);
    let mut peer = serving.connect().await;
    let calls = [
        call(1, "test.hold", json!({})),
        call(2, "test.nope", json!({})),
        json!({ "jsonrpc": "2.0", "method": "test.change" }),
        json!(5),
        call(3, "test.echo", json!({ "text": "x" })),
    ];
    peer.line(batch(calls)).await;
    let expected = r#"[{"jsonrpc":"2.0","id":1,"result":"held"},{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}},{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request"}},{"jsonrpc":"2.0","id":3,"result":{"text":"x","number":null}}]"#;
    assert_eq!(peer.next_line().await.unwrap(), expected);
    assert_eq!(*serving.seen.begun.borrow(), 0);
}

#[tokio::test]
async fn an_empty_one_and_one_too_long_are_refused() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    peer.line("[]").await;
    assert_eq!(peer.next().await, protocol_error(Value::Null, -32600, "Invalid request"));
    let calls = |number: i64| batch((0..number).map(|id| call(id, "test.nothing", json!({}))));
    peer.line(calls(65)).await;
    let refused = peer.next().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32010)));
    peer.line(calls(64)).await;
    assert_eq!(peer.next().await.as_array().unwrap().len(), 64);
}

#[tokio::test]
async fn notifications_alone_are_not_answered() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    peer.line(r#"[{"jsonrpc":"2.0","method":"test.change"}]"#).await;
    peer.still_works().await;
}

#[tokio::test]
async fn a_subscription_among_them_is_refused_alone_and_answered_once() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    let subscribe = call(1, "test.subscribe", json!({ "events": 1, "bytes": 1 }));
    peer.line(batch([subscribe, call(2, "test.nothing", json!({}))])).await;
    let answers = peer.next().await;
    assert_eq!(answers[0]["error"]["code"], 1012);
    assert_eq!(answers[0]["error"]["data"]["kind"], "not_in_batch");
    assert_eq!(answers[1]["result"], true);
    peer.still_works().await;
    serving.counts(2, 0).await;
}

#[tokio::test]
async fn a_subscription_can_be_ended_among_them() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    let id = peer.call("test.subscribe", json!({ "events": 0, "bytes": 1 })).await["result"].clone();
    peer.line(batch([call(1, "test.unsubscribe", json!({ "subscription": id }))])).await;
    assert_eq!(peer.next().await[0]["result"], true);
}

#[tokio::test]
async fn answers_that_are_too_big_together_are_refused_whole() {
    let serving = Serving::within(Limits { response_bytes: 1000, ..Limits::default() });
    let mut peer = serving.connect().await;
    let big = |id| call(id, "test.big", json!({ "bytes": 600 }));
    peer.line(batch([big(1), big(2)])).await;
    let refused = peer.next().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32011)));
}
