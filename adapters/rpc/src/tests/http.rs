use super::*;

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: String,
}

/// Sends a request as it is and reads one answer.
pub(super) async fn exchange(peer: &mut Peer, request: &str) -> Answer {
    peer.send(request).await;
    let mut head = Vec::new();
    loop {
        let line = peer.next_line().await.expect("the connection ended");
        if line.is_empty() {
            break;
        }
        head.push(line);
    }
    let status = head[0].split(' ').nth(1).unwrap().parse().unwrap();
    let length = head.iter().find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(String::from));
    let length: usize = length.map_or(0, |length| length.parse().unwrap());
    while peer.held.len() < length {
        let read = soon("a body", peer.stream.read_buf(&mut peer.held)).await;
        assert!(read.unwrap() > 0);
    }
    Answer { status, body: String::from_utf8(peer.held.drain(..length).collect()).unwrap() }
}

pub(super) fn post_of(body: &str) -> String {
    let length = body.len();
    format!(
        "POST /any HTTP/1.1\r\nhost: owl\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

pub(super) async fn post(serving: &Serving, body: &str) -> Answer {
    exchange(&mut serving.connect().await, &post_of(body)).await
}

#[tokio::test]
async fn a_call_has_the_same_answer_as_on_a_line_byte_for_byte() {
    let serving = Serving::start();
    let mut lines = serving.connect().await;
    let mut socket = websocket::WebSocket::open(&serving).await;
    for call in [
        request(1, "test.echo", json!({ "text": "ä\n", "number": -1 })),
        request("s", "test.nothing", Value::Null),
        request(1, "test.echo", json!({ "txt": "" })),
        request(1, "test.echo", json!([])),
        request(1, "test.nope", json!({})),
        request(1, "test.big", json!({ "bytes": 11_000_000 })),
        request(1, "test.subscribe", json!({ "events": "many" })),
        request(1, "test.unsubscribe", json!({ "subscription": "none" })),
        request(1, "test.unsubscribe", json!({})),
        json!([{ "jsonrpc": "2.0", "id": 1, "method": "test.nothing" }, 5]).to_string(),
        String::from("[]"),
        String::from("[1,"),
        String::from("{\"jsonrpc\":\"1.0\",\"id\":4}"),
    ] {
        lines.line(&call).await;
        let on_lines = lines.next_line().await.unwrap();
        let is_subscription = call.contains("test.subscribe");
        let posted = post(&serving, &call).await;
        assert_eq!(posted.status, 200, "{call}");
        if !is_subscription {
            assert_eq!(posted.body, on_lines, "{call}");
        }
        socket.send(&call).await;
        assert_eq!(socket.next().await, on_lines, "{call}");
    }
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    for id in 0..3 {
        let answer = exchange(&mut peer, &post_of(&request(id, "test.nothing", json!({})))).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.body, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":true}}"#));
    }
}

#[tokio::test]
async fn a_subscription_needs_a_stream() {
    let serving = Serving::start();
    let answer = post(&serving, &request(1, "test.subscribe", json!({ "events": 1, "bytes": 1 }))).await;
    let error: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!((answer.status, &error["error"]["code"]), (200, &json!(1011)));
    assert_eq!(error["error"]["data"], json!({ "kind": "needs_stream", "retryable": false }));
}

#[tokio::test]
async fn a_request_without_an_id_does_nothing_and_is_answered_null() {
    let serving = Serving::start();
    for id in ["", r#","id":1.5"#, r#","id":9007199254740992"#] {
        let answer = post(&serving, &format!(r#"{{"jsonrpc":"2.0","method":"test.change"{id}}}"#)).await;
        assert_eq!((answer.status, answer.body.as_str()), (200, "null"), "{id}");
    }
    assert_eq!(*serving.seen.begun.borrow(), 0);
}

#[tokio::test]
async fn other_types_and_methods_are_refused() {
    let serving = Serving::start();
    let body = request(1, "test.nothing", json!({}));
    let length = body.len();
    let untyped = format!("POST / HTTP/1.1\r\nhost: owl\r\ncontent-length: {length}\r\n\r\n{body}");
    assert_eq!(exchange(&mut serving.connect().await, &untyped).await.status, 415);
    for method in ["GET", "PUT", "DELETE"] {
        let request = format!("{method} / HTTP/1.1\r\nhost: owl\r\n\r\n");
        assert_eq!(exchange(&mut serving.connect().await, &request).await.status, 405, "{method}");
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused() {
    let serving = Serving::start();
    let answer = post(&serving, &request(1, "test.echo", json!({ "text": "x".repeat(1_100_000) }))).await;
    let error: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!((answer.status, &error["error"]["code"]), (413, &json!(-32007)));
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_though_it_comes_in_chunks() {
    let serving = Serving::start();
    let announced = post(&serving, &request(1, "test.echo", json!({ "text": "x".repeat(1_100_000) }))).await;
    let mut peer = serving.connect().await;
    let mut chunked = String::from(
        "POST / HTTP/1.1\r\nhost: owl\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n",
    );
    for _ in 0..30 {
        chunked.push_str(&format!("{:x}\r\n{}\r\n", 50_000, "x".repeat(50_000)));
    }
    let answer = exchange(&mut peer, &chunked).await;
    assert_eq!((answer.status, answer.body), (413, announced.body));
}

#[tokio::test]
async fn a_call_that_changes_something_ends_whole_though_its_caller_left() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    peer.send(post_of(&request(1, "test.change", json!({})))).await;
    serving.begun(1).await;
    drop(peer);
    serving.counts(1, 0).await;
    serving.go.add_permits(1);
    serving.ended(1).await;
}

#[tokio::test]
async fn a_handshake_that_fails_is_no_success() {
    let serving = Serving::start();
    let request = "GET / HTTP/1.1\r\nhost: owl\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
    assert_eq!(exchange(&mut serving.connect().await, request).await.status, 400);
}
