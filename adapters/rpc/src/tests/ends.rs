use super::*;

#[tokio::test]
async fn what_runs_is_answered_subscribers_are_told_and_the_file_is_gone() {
    let serving = Serving::start();
    let (mut caller, mut subscriber, mut idle) =
        (serving.connect().await, serving.connect().await, serving.connect().await);
    idle.still_works().await;
    caller.line(request(1, "test.change", json!({}))).await;
    serving.begun(1).await;
    subscriber.line(request(1, "test.subscribe", json!({ "events": 2, "bytes": 1 }))).await;
    assert!(subscriber.next().await["result"].is_string());

    serving.running.refuse();
    assert!(!serving.socket.exists());
    assert!(UnixStream::connect(&serving.socket).await.is_err());
    let refused = idle.call("test.nothing", json!({})).await;
    assert_eq!(refused["error"]["data"], json!({ "kind": "shutting_down", "retryable": true }));

    let stopping = tokio::spawn(serving.running.stop());
    for seq in 1..=2 {
        assert_eq!(subscriber.next().await["params"]["result"]["seq"], seq);
    }
    let closed = subscriber.next().await["params"]["result"].clone();
    assert_eq!(closed, json!({ "type": "stream.closed", "next_after": 2 }));
    assert_eq!(subscriber.next_line().await, None);
    assert_eq!(idle.next_line().await, None);
    assert!(!stopping.is_finished());
    serving.go.add_permits(1);
    assert_eq!(caller.next().await["result"], "changed");
    assert_eq!(caller.next_line().await, None);
    soon("the end", stopping).await.unwrap();
}

#[tokio::test]
async fn what_does_not_end_is_cut() {
    let serving = Serving::within(Limits { stop: Duration::from_millis(50), ..Limits::default() });
    let mut caller = serving.connect().await;
    caller.line(request(1, "test.hold", json!({}))).await;
    caller.still_works().await;
    serving.running.stop().await;
    assert_eq!(caller.rest().await, "");
}

#[tokio::test]
async fn a_file_that_another_daemon_put_in_place_stays() {
    let serving = Serving::start();
    std::fs::remove_file(&serving.socket).unwrap();
    let _other = std::os::unix::net::UnixListener::bind(&serving.socket).unwrap();
    serving.running.stop().await;
    assert!(serving.socket.exists());
}
