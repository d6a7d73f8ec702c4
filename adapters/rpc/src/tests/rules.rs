use super::*;

#[tokio::test]
async fn no_notification_reaches_a_handler() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    peer.line(r#"{"jsonrpc":"2.0","method":"test.change"}"#).await;
    peer.line(r#"{"jsonrpc":"2.0","method":"test.change","params":{}}"#).await;
    peer.still_works().await;
    assert_eq!(*serving.seen.begun.borrow(), 0);
}

#[tokio::test]
async fn a_method_that_does_not_exist_is_told() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    assert_eq!(peer.call("test.nope", json!({})).await, protocol_error(json!(1), -32601, "Method not found"));
}

#[tokio::test]
async fn a_call_that_changes_something_ends_whole_though_its_caller_left() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    peer.line(request(1, "test.change", json!({}))).await;
    serving.begun(1).await;
    drop(peer);
    serving.counts(1, 0).await;
    serving.go.add_permits(1);
    serving.ended(1).await;
}

#[tokio::test]
async fn a_subscription_is_ended_by_name_or_by_list_and_only_by_its_own_connection() {
    let serving = Serving::start();
    let (mut one, mut other) = (serving.connect().await, serving.connect().await);
    for form in [|id: &Value| json!({ "subscription": id }), |id: &Value| json!([id])] {
        let id = one.call("test.subscribe", json!({ "events": 0, "bytes": 1 })).await["result"].clone();
        assert_eq!(id.as_str().unwrap().len(), 16);
        assert_eq!(other.call("test.unsubscribe", form(&id)).await["result"], false);
        assert_eq!(one.call("test.unsubscribe", form(&id)).await["result"], true);
        assert_eq!(one.call("test.unsubscribe", form(&id)).await["result"], false);
    }
    for wrong in [json!([]), json!(["a", "b"]), json!({}), json!({ "subscription": 5 })] {
        assert_eq!(one.call("test.unsubscribe", wrong.clone()).await["error"]["code"], -32602, "{wrong}");
    }
}

#[tokio::test]
async fn nothing_is_told_of_a_subscription_after_its_end_was_answered() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    peer.line(request(1, "test.subscribe", json!({ "events": 100_000, "bytes": 100 }))).await;
    let id = peer.next().await["result"].clone();
    peer.line(request(2, "test.unsubscribe", json!({ "subscription": id }))).await;
    for told in 0.. {
        assert!(told < 100_000, "a stream that never pauses must not keep the connection from being read");
        let message = peer.next().await;
        if message["id"] == 2 {
            assert_eq!(message["result"], true);
            break;
        }
        assert_eq!(message["method"], "test.event");
    }
    peer.still_works().await;
}

#[tokio::test]
async fn a_connection_has_as_many_subscriptions_as_may_be() {
    let serving = Serving::within(Limits { subscriptions_per_connection: 2, ..Limits::default() });
    let mut peer = serving.connect().await;
    let subscribe = json!({ "events": 0, "bytes": 1 });
    let first = peer.call("test.subscribe", subscribe.clone()).await["result"].clone();
    peer.call("test.subscribe", subscribe.clone()).await;
    let refused = peer.call("test.subscribe", subscribe.clone()).await;
    assert_eq!(refused["error"]["code"], -32006);
    peer.call("test.unsubscribe", json!([first])).await;
    assert!(peer.call("test.subscribe", subscribe).await["result"].is_string());
}

#[tokio::test]
async fn a_subscription_that_cannot_begin_takes_no_place() {
    let serving = Serving::within(Limits { subscriptions_per_connection: 1, ..Limits::default() });
    let mut peer = serving.connect().await;
    let refused = peer.call("test.subscribe", json!({ "events": -1, "bytes": 1 })).await;
    assert_eq!(refused["error"]["data"]["kind"], "not_found");
    serving.counts(2, 0).await;
    assert!(peer.call("test.subscribe", json!({ "events": 0, "bytes": 1 })).await["result"].is_string());
}

/// Everything that this thread logs, as text. It serves the whole process and tells threads apart by itself: a subscriber set for one
/// thread misses each place that another thread comes by first, since `tracing` remembers that nobody there wanted to hear of it.
struct Log;

std::thread_local! {
    static LOGGED: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
}

impl Log {
    fn add(what: &dyn std::fmt::Debug) {
        // A thread that is ending may log once more when its text is gone already.
        LOGGED.try_with(|text| text.borrow_mut().push_str(&format!("{what:?}\n"))).ok();
    }
}

impl tracing::Subscriber for Log {
    /// jsonrpsee writes whole bodies at TRACE, so nothing of it at that level may ever be let through.
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("owl") || *metadata.level() <= tracing::Level::DEBUG
    }

    fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::Id {
        Self::add(span);
        tracing::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::Id, values: &tracing::span::Record<'_>) {
        Self::add(values);
    }

    fn record_follows_from(&self, _: &tracing::Id, _: &tracing::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        Self::add(event);
    }

    fn enter(&self, _: &tracing::Id) {}

    fn exit(&self, _: &tracing::Id) {}
}

#[tokio::test(flavor = "current_thread")]
async fn parameters_are_in_no_log_whatever_the_dialect() {
    tracing::subscriber::set_global_default(Log).expect("nothing else in these tests listens");
    let serving = Serving::start();
    let secret = "sk-planted-in-the-parameters";
    let call = request(1, "test.echo", json!({ "text": secret }));

    let mut peer = serving.connect().await;
    peer.line(&call).await;
    assert_eq!(peer.next().await["result"]["text"], secret);
    let answer = http::post(&serving, &call).await;
    assert!(answer.body.contains(secret));
    let mut socket = websocket::WebSocket::open(&serving).await;
    socket.send(&call).await;
    assert!(socket.next().await.contains(secret));
    let refused = peer.call("test.echo", json!({ "text": [secret] })).await;
    assert!(!refused.to_string().contains(secret), "{refused}");

    let logged = LOGGED.take();
    assert!(logged.contains("test.echo"), "calls are told");
    assert!(!logged.contains(secret), "{logged}");
}
