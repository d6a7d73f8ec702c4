use super::*;

#[tokio::test]
async fn each_answer_is_one_line() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    peer.line(request("a", "test.echo", json!({ "text": "a\nb" }))).await;
    assert_eq!(peer.next_line().await.unwrap(), r#"{"jsonrpc":"2.0","id":"a","result":{"text":"a\nb","number":null}}"#);
}

#[tokio::test]
async fn a_message_may_come_in_any_pieces() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    let line = request(1, "test.echo", json!({ "text": "ä€🦉", "number": 7 })) + "\r\n";
    for byte in line.as_bytes() {
        peer.send([*byte]).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(peer.next().await["result"], json!({ "text": "ä€🦉", "number": 7 }));
}

#[tokio::test]
async fn many_messages_may_come_at_once() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    let lines: String = (0..1000).map(|id| request(id, "test.nothing", json!({})) + "\n").collect();
    peer.send(format!("\r\n \t\n{lines}")).await;
    for id in 0..1000 {
        assert_eq!(peer.next().await["id"], id);
    }
}

#[tokio::test]
async fn blanks_before_the_first_byte_and_blank_lines_are_ignored() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    peer.send(" \t\r\n".repeat(100)).await;
    peer.send("  \n\r\n").await;
    peer.still_works().await;
}

#[tokio::test]
async fn what_is_not_json_gets_an_error_of_its_own_and_the_connection_goes_on() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    let parse_error = protocol_error(Value::Null, -32700, "Parse error");
    for line in [&b"{"[..], b"nonsense", b"5 5", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", b"[1,", b"\"x"]
    {
        peer.line(line).await;
        assert_eq!(peer.next().await, parse_error, "{}", String::from_utf8_lossy(line));
        peer.still_works().await;
    }
    // JSON, and no request.
    for line in ["5", "-1.5e3", "\"x\"", "null", "true"] {
        peer.line(line).await;
        assert_eq!(peer.next().await, protocol_error(Value::Null, -32600, "Invalid request"), "{line}");
        peer.still_works().await;
    }
}

#[tokio::test]
async fn nesting_as_deep_as_a_line_is_long_is_refused_and_not_followed() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    let (open, close) = ("[".repeat(200_000), "]".repeat(200_000));

    peer.line(&open).await;
    assert_eq!(peer.next().await["error"]["code"], -32700);
    peer.still_works().await;

    peer.line(format!("{open}{close}")).await;
    assert_eq!(peer.next().await[0]["error"]["code"], -32600);
    peer.still_works().await;

    peer.line(format!(r#"{{"jsonrpc":"2.0","id":7,"method":"test.echo","params":{{"text":{open}{close}}}}}"#)).await;
    let answer = peer.next().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32602)));
    peer.still_works().await;
}

#[tokio::test]
async fn a_line_over_the_limit_is_skipped_to_its_end() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    let too_big = json!({
        "jsonrpc": "2.0", "id": null,
        "error": { "code": -32007, "message": "Request is too big", "data": "Exceeded max limit of 1048576" },
    });
    let text = "x".repeat(2_000_000);
    peer.line(request(1, "test.echo", json!({ "text": text }))).await;
    assert_eq!(peer.next().await, too_big);
    peer.still_works().await;
}

#[tokio::test]
async fn a_line_at_the_limit_is_taken() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    let envelope = request(1, "test.echo", json!({ "text": "" })).len();
    let text = "x".repeat(1_048_576 - envelope);
    let line = request(1, "test.echo", json!({ "text": text }));
    assert_eq!(line.len(), 1_048_576);
    peer.send(format!("{line}\r\n")).await;
    assert_eq!(peer.next().await["result"]["text"].as_str().unwrap().len(), text.len());
}

#[tokio::test]
async fn an_id_that_cannot_be_echoed_is_refused_and_never_taken_for_a_notification() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    for id in ["1.5", "-1", "true", "{}", "[1]", "9007199254740992", "1e3"] {
        peer.line(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"test.change"}}"#)).await;
        assert_eq!(peer.next().await, protocol_error(Value::Null, -32600, "Invalid request"), "{id}");
    }
    for id in [json!(0), json!(9_007_199_254_740_991_u64), json!("x"), Value::Null] {
        peer.line(request(id.clone(), "test.nothing", json!({}))).await;
        assert_eq!(peer.next().await["id"], id);
    }
    assert_eq!(*serving.seen.begun.borrow(), 0);
}

#[tokio::test]
async fn another_version_is_refused_with_the_requests_id() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    for version in [r#""jsonrpc":"1.0","#, "", r#""jsonrpc":2,"#] {
        peer.line(format!(r#"{{{version}"id":9,"method":"test.nothing"}}"#)).await;
        assert_eq!(peer.next().await, protocol_error(json!(9), -32600, "Invalid request"));
    }
    peer.line(r#"{"jsonrpc":"2.0","id":3}"#).await;
    assert_eq!(peer.next().await, protocol_error(json!(3), -32600, "Invalid request"));
}

#[tokio::test]
async fn members_beside_the_four_are_ignored() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    peer.line(r#"{"jsonrpc":"2.0","trace":[1],"id":1,"method":"test.nothing","params":null}"#).await;
    assert_eq!(peer.next().await["result"], true);
}

#[tokio::test]
async fn calls_that_wait_do_not_hold_up_those_behind_them() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    peer.line(request("slow", "test.hold", json!({}))).await;
    peer.line(request("fast", "test.nothing", json!({}))).await;
    assert_eq!(peer.next().await["id"], "fast");
    serving.go.add_permits(1);
    assert_eq!(peer.next().await, json!({ "jsonrpc": "2.0", "id": "slow", "result": "held" }));
}

#[tokio::test]
async fn a_connection_with_as_many_calls_as_may_be_is_not_read() {
    let serving = Serving::within(Limits { calls_in_flight_per_connection: 2, ..Limits::default() });
    let mut peer = serving.connect().await;
    for id in 0..2 {
        peer.line(request(id, "test.hold", json!({}))).await;
    }
    peer.line(request(2, "test.nothing", json!({}))).await;
    let mut other = serving.connect().await;
    other.still_works().await;
    serving.go.add_permits(1);
    assert_eq!(peer.next().await["result"], "held");
    assert_eq!(peer.next().await["id"], 2);
}

#[tokio::test]
async fn an_answer_over_the_limit_becomes_an_error_under_its_id() {
    let serving = Serving::within(Limits { response_bytes: 1000, ..Limits::default() });
    let mut peer = serving.connect().await;
    let envelope = r#"{"jsonrpc":"2.0","id":1,"result":""}"#.len();
    let answer = peer.call("test.big", json!({ "bytes": 1000 - envelope })).await;
    assert!(answer["result"].is_string());
    let answer = peer.call("test.big", json!({ "bytes": 1001 - envelope })).await;
    assert_eq!(
        answer,
        json!({
            "jsonrpc": "2.0", "id": 1,
            "error": { "code": -32008, "message": "Response is too big", "data": "Exceeded max limit of 1000" },
        })
    );
}

#[tokio::test]
async fn a_peer_that_only_closed_its_side_of_writing_is_still_answered() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    peer.line(request(1, "test.hold", json!({}))).await;
    // The last line needs no line feed.
    peer.send(request(2, "test.nothing", json!({}))).await;
    peer.stream.shutdown().await.unwrap();
    assert_eq!(peer.next().await["id"], 2);
    serving.go.add_permits(1);
    assert_eq!(peer.next().await["result"], "held");
    assert_eq!(peer.next_line().await, None);
}

#[tokio::test]
async fn subscriptions_of_a_half_closed_peer_live_until_it_is_gone() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    peer.line(request(1, "test.subscribe", json!({ "events": 3, "bytes": 1 }))).await;
    peer.stream.shutdown().await.unwrap();
    assert!(peer.next().await["result"].is_string());
    for seq in 1..=3 {
        assert_eq!(peer.next().await["params"]["result"]["seq"], seq);
    }
    serving.counts(2, 1).await;
    drop(peer);
    serving.counts(1, 0).await;
}

#[tokio::test]
async fn a_peer_that_says_nothing_is_left_after_a_while() {
    let serving = Serving::within(Limits { first_byte: Duration::from_millis(20), ..Limits::default() });
    let mut silent = serving.connect().await;
    silent.send(" \n").await;
    assert_eq!(silent.next_line().await, None);
}

#[tokio::test]
async fn a_caller_is_named_by_the_kernel() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    let answer = peer.call("test.peer", json!({})).await;
    assert_eq!(answer["result"][0], std::process::id());
    assert_eq!(answer["result"][1], nix::unistd::Uid::effective().as_raw());
    if cfg!(target_os = "linux") {
        assert!(answer["result"][2].as_str().unwrap().starts_with("owl_rpc"), "{answer}");
    }
}

#[tokio::test]
async fn a_handler_that_panics_is_told_as_a_defect() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    let answer = peer.call("test.panics", json!({})).await;
    assert_eq!(answer["error"]["code"], -32603);
    assert_eq!(answer["error"]["data"]["kind"], "internal");
    assert!(answer["error"]["data"]["ref"].is_string());
    peer.still_works().await;
}
