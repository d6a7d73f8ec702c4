use super::*;
use futures_util::FutureExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A gated stream that has read its client's request, and the client.
async fn asked() -> (Gated, Arc<InFlight>, UnixStream) {
    let (ours, mut client) = UnixStream::pair().unwrap();
    let in_flight = Arc::new(InFlight::new(1));
    let mut gated = Gated::new(ours, in_flight.clone(), CancellationToken::new());
    client.write_all(b"POST").await.unwrap();
    let mut came = [0; 4];
    gated.read_exact(&mut came).await.unwrap();
    in_flight.asked();
    (gated, in_flight, client)
}

/// Says whether the client is seen to be gone.
fn is_left(gated: &mut Gated) -> bool {
    gated.read(&mut [0; 4]).now_or_never().is_some()
}

#[tokio::test]
async fn a_client_that_was_answered_leaves_at_once_and_one_that_was_not_does_not() {
    let (mut gated, in_flight, client) = asked().await;
    drop(client);
    gated.stream.readable().await.unwrap();
    assert!(!is_left(&mut gated), "nothing was answered");
    in_flight.answered();
    assert!(!is_left(&mut gated), "the answer is not written");
    gated.flush().await.unwrap();
    assert!(is_left(&mut gated));
}

#[tokio::test]
async fn one_whose_requests_came_together_has_not_left_before_the_last_is_answered() {
    let (mut gated, in_flight, client) = asked().await;
    in_flight.answered();
    gated.flush().await.unwrap();
    in_flight.asked();
    drop(client);
    gated.stream.readable().await.unwrap();
    gated.flush().await.unwrap();
    assert!(!is_left(&mut gated));
}
