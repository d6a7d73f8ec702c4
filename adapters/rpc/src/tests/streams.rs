use super::*;

#[tokio::test]
async fn events_come_in_order_after_the_answer() {
    let serving = Serving::start();
    let mut peer = serving.connect().await;
    peer.line(request(1, "test.subscribe", json!({ "events": 1000, "bytes": 10 }))).await;
    let id = peer.next().await["result"].clone();
    for seq in 1..=1000 {
        let event = peer.next().await;
        assert_eq!(event["method"], "test.event");
        assert_eq!(event["params"]["subscription"], id);
        assert_eq!(event["params"]["result"]["seq"], seq);
    }
}

#[tokio::test]
async fn a_peer_that_does_not_read_costs_little_and_is_told_where_to_go_on() {
    let serving = Serving::within(Limits { stuck_subscriber: Duration::from_millis(200), ..Limits::default() });
    let mut sleeper = serving.connect().await;
    let (events, bytes) = (200_000, 1000);
    let subscribe =
        |after: i64| request(1, "test.subscribe", json!({ "events": events, "bytes": bytes, "after": after }));
    sleeper.line(subscribe(0)).await;
    serving.fed().await;
    // The subscription has ended; its connection has not.
    serving.counts(2, 0).await;
    let fed = serving.seen.fed.load(Ordering::Relaxed);
    assert!(fed < 2000, "{fed} events of 200,000 were made for one that sleeps");

    assert!(sleeper.next().await["result"].is_string());
    let mut last = 0;
    let next_after = loop {
        let event = sleeper.next().await["params"]["result"].clone();
        if event["type"] == "stream.lagged" {
            break event["next_after"].as_i64().unwrap();
        }
        assert_eq!(event["seq"], last + 1);
        last += 1;
    };
    assert_eq!(next_after, last, "nothing is missed and nothing comes twice");
    sleeper.still_works().await;

    sleeper.line(subscribe(next_after)).await;
    assert!(sleeper.next().await["result"].is_string());
    for seq in next_after + 1..=events {
        assert_eq!(sleeper.next().await["params"]["result"]["seq"], seq);
    }
}

#[tokio::test]
async fn one_that_sleeps_holds_up_nobody_else() {
    let serving = Serving::start();
    let (mut sleeper, mut reader) = (serving.connect().await, serving.connect().await);
    sleeper.line(request(1, "test.subscribe", json!({ "events": 100_000, "bytes": 1000 }))).await;
    reader.line(request(1, "test.subscribe", json!({ "events": 5000, "bytes": 100 }))).await;
    assert!(reader.next().await["result"].is_string());
    for seq in 1..=5000 {
        assert_eq!(reader.next().await["params"]["result"]["seq"], seq);
    }
}
