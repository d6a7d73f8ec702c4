use super::*;

/// The outlet of a connection whose places are all taken, and what it hands on.
fn crowded(stuck: Duration) -> (LineOutlet, Way, mpsc::Receiver<Outgoing>) {
    let (queue, inbox) = mpsc::channel(CHUNKS);
    let way = Way { queue, chunks: Arc::new(Semaphore::new(0)), progress: Arc::new(Progress::new()) };
    let mut outlet = LineOutlet::new("chat.event", "id", way.clone(), CancellationToken::new(), stuck);
    outlet.add("{}");
    (outlet, way, inbox)
}

#[tokio::test]
async fn a_peer_that_takes_something_now_and_then_is_waited_for() {
    let stuck = Duration::from_secs(2);
    let (mut outlet, way, mut inbox) = crowded(stuck);
    let waiting = tokio::spawn(async move { outlet.flush().await });
    let since = Instant::now();
    while since.elapsed() < stuck + Duration::from_millis(500) {
        way.progress.made();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(!waiting.is_finished());
    way.chunks.add_permits(1);
    assert_eq!(waiting.await.unwrap(), Ok(()));
    let written = String::from_utf8(inbox.recv().await.unwrap().bytes).unwrap();
    assert_eq!(
        written,
        "{\"jsonrpc\":\"2.0\",\"method\":\"chat.event\",\"params\":{\"subscription\":\"id\",\"result\":{}}}\n"
    );
}

#[tokio::test]
async fn a_peer_that_takes_nothing_is_stuck() {
    let (mut outlet, _way, _inbox) = crowded(Duration::from_millis(10));
    assert_eq!(outlet.flush().await, Err(Unsent::Stuck));
}

#[tokio::test]
async fn what_was_not_handed_on_is_not_said_before_the_last_word() {
    let (outlet, way, mut inbox) = crowded(Duration::from_millis(10));
    way.chunks.add_permits(1);
    outlet.last(r#"{"type":"stream.lagged"}"#).await;
    let written = String::from_utf8(inbox.recv().await.unwrap().bytes).unwrap();
    assert_eq!(written.lines().count(), 1);
    assert!(written.contains("stream.lagged"));
}

#[test]
fn a_chunk_is_full_by_number_or_by_size() {
    let (mut outlet, _way, _inbox) = crowded(Duration::ZERO);
    for _ in 2..CHUNK_EVENTS {
        outlet.add("{}");
    }
    assert!(!outlet.is_full());
    outlet.add("{}");
    assert!(outlet.is_full());
    let (mut outlet, _way, _inbox) = crowded(Duration::ZERO);
    outlet.add(&"x".repeat(CHUNK_BYTES));
    assert!(outlet.is_full());
}
