use super::*;

/// The least of a WebSocket's client end.
pub(super) struct WebSocket(Peer);

impl WebSocket {
    pub(super) async fn open(serving: &Serving) -> Self {
        let mut peer = serving.connect().await;
        peer.send(
            "GET /any HTTP/1.1\r\nhost: owl\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
        )
        .await;
        assert!(peer.next_line().await.unwrap().contains("101"));
        while !peer.next_line().await.unwrap().is_empty() {}
        Self(peer)
    }

    pub(super) async fn send(&mut self, text: &str) {
        self.0.send(frame(text)).await;
    }

    /// Returns the next frame: its kind and its content.
    async fn frame(&mut self) -> (u8, Vec<u8>) {
        let head = self.bytes(2).await;
        let length = match head[1] {
            126 => u16::from_be_bytes(self.bytes(2).await.try_into().unwrap()).into(),
            127 => usize::try_from(u64::from_be_bytes(self.bytes(8).await.try_into().unwrap())).unwrap(),
            short => short.into(),
        };
        (head[0] & 0x0f, self.bytes(length).await)
    }

    pub(super) async fn next(&mut self) -> String {
        let (kind, content) = self.frame().await;
        assert_eq!(kind, 1, "text");
        String::from_utf8(content).unwrap()
    }

    async fn json(&mut self) -> Value {
        serde_json::from_str(&self.next().await).unwrap()
    }

    async fn bytes(&mut self, number: usize) -> Vec<u8> {
        while self.0.held.len() < number {
            let read = soon("a frame", self.0.stream.read_buf(&mut self.0.held)).await;
            assert!(read.unwrap() > 0, "the connection ended");
        }
        self.0.held.drain(..number).collect()
    }

    async fn call(&mut self, method: &str, params: Value) -> Value {
        self.send(&request(1, method, params)).await;
        self.json().await
    }
}

fn frame(text: &str) -> Vec<u8> {
    let mut frame = vec![0x81];
    match text.len() {
        short @ 0..=125 => frame.push(0x80 | short as u8),
        medium @ 126..=65_535 => {
            frame.push(0x80 | 126);
            frame.extend((medium as u16).to_be_bytes());
        }
        long => {
            frame.push(0x80 | 127);
            frame.extend((long as u64).to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(text.as_bytes());
    frame
}

#[tokio::test]
async fn a_subscription_begins_tells_and_ends() {
    let serving = Serving::start();
    let mut socket = WebSocket::open(&serving).await;
    let id = socket.call("test.subscribe", json!({ "events": 2, "bytes": 1 })).await["result"].clone();
    assert_eq!(id.as_str().unwrap().len(), 16);
    for seq in 1..=2 {
        let event = json!({ "seq": seq, "text": "x", "type": "test" });
        let expected =
            format!(r#"{{"jsonrpc":"2.0","method":"test.event","params":{{"subscription":{id},"result":{event}}}}}"#);
        assert_eq!(socket.next().await, expected);
    }
    assert_eq!(socket.call("test.unsubscribe", json!({ "subscription": id })).await["result"], true);
    assert_eq!(socket.call("test.unsubscribe", json!([id])).await["result"], false);
}

#[tokio::test]
async fn two_connections_cannot_end_each_others_subscriptions() {
    let serving = Serving::start();
    let (mut one, mut other) = (WebSocket::open(&serving).await, WebSocket::open(&serving).await);
    let id = one.call("test.subscribe", json!({ "events": 0, "bytes": 1 })).await["result"].clone();
    assert_eq!(other.call("test.unsubscribe", json!({ "subscription": id })).await["result"], false);
    assert_eq!(one.call("test.unsubscribe", json!({ "subscription": id })).await["result"], true);
}

#[tokio::test]
async fn a_subscription_in_a_batch_is_refused_alone_and_answered_once() {
    let serving = Serving::start();
    let mut socket = WebSocket::open(&serving).await;
    let batch = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "test.subscribe", "params": { "events": 1, "bytes": 1 } },
        { "jsonrpc": "2.0", "id": 2, "method": "test.nothing" },
    ]);
    socket.send(&batch.to_string()).await;
    let answers = socket.json().await;
    assert_eq!(answers[0]["error"]["code"], 1012);
    assert_eq!(answers[1]["result"], true);
    assert_eq!(socket.call("test.nothing", json!({})).await["result"], true);
}

#[tokio::test]
async fn a_subscription_that_cannot_begin_says_why_once() {
    let serving = Serving::start();
    let mut socket = WebSocket::open(&serving).await;
    let refused = socket.call("test.subscribe", json!({ "events": -1, "bytes": 1 })).await;
    assert_eq!(refused["error"]["data"]["kind"], "not_found");
    assert_eq!(socket.call("test.nothing", json!({})).await["result"], true);
}

#[tokio::test]
async fn a_connection_has_as_many_subscriptions_as_may_be() {
    let serving = Serving::within(Limits { subscriptions_per_connection: 1, ..Limits::default() });
    let mut socket = WebSocket::open(&serving).await;
    socket.call("test.subscribe", json!({ "events": 0, "bytes": 1 })).await;
    let refused = socket.call("test.subscribe", json!({ "events": 0, "bytes": 1 })).await;
    assert_eq!(refused["error"]["code"], -32006);
}

#[tokio::test]
async fn a_message_over_the_limit_is_refused() {
    let serving = Serving::start();
    let mut socket = WebSocket::open(&serving).await;
    let text = "x".repeat(1_048_576);
    socket.send(&request(1, "test.echo", json!({ "text": text }))).await;
    assert_eq!(socket.json().await["error"]["code"], -32007);
    let text = "x".repeat(1_000_000);
    assert_eq!(socket.call("test.echo", json!({ "text": text })).await["result"]["text"], text);
}

#[tokio::test]
async fn line_feeds_may_come_and_are_never_sent() {
    let serving = Serving::start();
    let mut socket = WebSocket::open(&serving).await;
    socket
        .send("{\n \"jsonrpc\": \"2.0\",\n \"id\": 1,\n \"method\": \"test.echo\",\n \"params\": {\"text\":\n\"a\"}}")
        .await;
    assert!(!socket.next().await.contains('\n'));
}

#[tokio::test]
async fn a_call_that_changes_something_ends_whole_though_its_caller_left() {
    let serving = Serving::start();
    let mut socket = WebSocket::open(&serving).await;
    socket.send(&request(1, "test.change", json!({}))).await;
    serving.begun(1).await;
    drop(socket);
    serving.counts(1, 0).await;
    serving.go.add_permits(1);
    serving.ended(1).await;
}

#[tokio::test]
async fn a_connection_with_as_many_calls_as_may_be_is_not_read() {
    let serving = Serving::within(Limits { calls_in_flight_per_connection: 2, ..Limits::default() });
    let socket = WebSocket::open(&serving).await;
    let (mut answers, mut calls) = socket.0.stream.into_split();
    let draining = tokio::spawn(async move { tokio::io::copy(&mut answers, &mut tokio::io::sink()).await });
    let sending = tokio::spawn(async move {
        for id in 0..2000 {
            calls.write_all(&frame(&request(id, "test.change", json!({})))).await.unwrap();
        }
        calls
    });
    for done in 1..=2000 {
        serving.begun(done).await;
        // Two may be under way, beside those that were in the server's buffer before the second began.
        let under_way = *serving.seen.begun.borrow() - *serving.seen.ended.borrow();
        assert!(under_way < 300, "{under_way} are under way");
        serving.go.add_permits(1);
        serving.ended(done).await;
    }
    drop(soon("the last call", sending).await.unwrap());
    drop(soon("the end", draining).await);
}

#[tokio::test]
async fn a_peer_that_does_not_read_is_told_where_to_go_on() {
    let serving = Serving::within(Limits { stuck_subscriber: Duration::from_millis(200), ..Limits::default() });
    let mut socket = WebSocket::open(&serving).await;
    let events = 20_000;
    socket.send(&request(1, "test.subscribe", json!({ "events": events, "bytes": 1000 }))).await;
    serving.fed().await;
    serving.counts(2, 0).await;
    assert!(serving.seen.fed.load(Ordering::Relaxed) < 3000, "what a sleeper costs is bounded");
    assert!(socket.json().await["result"].is_string());
    let mut last = 0;
    let next_after = loop {
        let event = socket.json().await["params"]["result"].clone();
        if event["type"] == "stream.lagged" {
            break event["next_after"].as_i64().unwrap();
        }
        assert_eq!(event["seq"], last + 1);
        last += 1;
    };
    assert_eq!(next_after, last, "nothing is missed and nothing comes twice");
    assert_eq!(socket.call("test.nothing", json!({})).await["result"], true);
}

#[tokio::test]
async fn the_end_of_the_server_closes_with_1000() {
    let serving = Serving::start();
    let mut socket = WebSocket::open(&serving).await;
    assert!(socket.call("test.subscribe", json!({ "events": 0, "bytes": 1 })).await["result"].is_string());
    let stopping = tokio::spawn(serving.running.stop());
    let closed = soon("the close", async {
        loop {
            let (kind, content) = socket.frame().await;
            if kind == 8 {
                break content;
            }
            assert!(String::from_utf8(content).unwrap().contains("stream.closed"));
        }
    })
    .await;
    assert_eq!(closed[..2], 1000_u16.to_be_bytes());
    drop(socket);
    soon("the end", stopping).await.unwrap();
}
