use super::*;
use crate::tests::{Serving, soon};

#[tokio::test]
async fn each_call_gets_its_own_answer() {
    let serving = Serving::start();
    let client = Client::connect(&serving.socket).await.unwrap();
    let slow = client.call("test.hold", json!({}));
    let fast = async {
        let answer = client.call("test.echo", json!({ "text": "x" })).await;
        serving.go.add_permits(1);
        answer
    };
    let (slow, fast) = soon("both", async { tokio::join!(slow, fast) }).await;
    assert_eq!(slow.unwrap(), "held");
    assert_eq!(fast.unwrap()["text"], "x");
}

#[tokio::test]
async fn a_refusal_comes_as_the_daemon_said_it() {
    let serving = Serving::start();
    let client = Client::connect(&serving.socket).await.unwrap();
    let refused = client.call("test.echo", json!({ "txt": 1 })).await.unwrap_err();
    let ClientError::Rpc(error) = refused else { panic!("{refused:?}") };
    assert_eq!((error.code, error.data.unwrap()["field"].clone()), (-32602, json!("txt")));
}

#[tokio::test]
async fn every_line_that_crosses_is_shown_in_order() {
    let serving = Serving::start();
    let shown = Arc::new(Mutex::new(Vec::new()));
    let into = shown.clone();
    let observer: Observer = Arc::new(move |way, line| into.lock().unwrap().push((way, line.to_owned())));
    let client = Client::connect_observed(&serving.socket, observer).await.unwrap();
    client.call("test.nothing", json!({})).await.unwrap();
    let mut events = client.subscribe("test.subscribe", json!({ "events": 1, "bytes": 1 })).await.unwrap();
    assert_eq!(events.next().await.unwrap()["seq"], 1);
    let shown = shown.lock().unwrap().clone();
    let ways: Vec<Crossed> = shown.iter().map(|(way, _)| *way).collect();
    use Crossed::{Received, Sent};
    assert_eq!(ways, [Sent, Received, Sent, Received, Received]);
    assert!(shown[4].1.contains(events.id()) && !shown[4].1.ends_with('\n'));
}

#[tokio::test]
async fn a_connection_that_ends_ends_what_waits() {
    let serving = Serving::start();
    let client = Client::connect(&serving.socket).await.unwrap();
    let mut events = client.subscribe("test.subscribe", json!({ "events": 0, "bytes": 1 })).await.unwrap();
    let waits = client.call("test.change", json!({}));
    let stop = async {
        serving.begun(1).await;
        serving.go.add_permits(1);
        serving.running.stop().await;
    };
    let (answer, ()) = soon("the end", async { tokio::join!(waits, stop) }).await;
    assert_eq!(answer.unwrap(), "changed");
    assert_eq!(events.next().await.unwrap()["type"], "stream.closed");
    assert_eq!(events.next().await, None);
    assert_eq!(client.call("test.nothing", json!({})).await, Err(ClientError::Closed));
}

#[tokio::test]
async fn no_daemon_and_a_path_that_does_not_fit_are_two_things() {
    let home = tempfile::tempdir().unwrap();
    let nobody = Client::connect(&home.path().join("owl.sock")).await.err().unwrap();
    assert!(nobody.is_no_daemon(), "{nobody}");
    let stale = home.path().join("stale.sock");
    drop(std::os::unix::net::UnixListener::bind(&stale).unwrap());
    assert!(Client::connect(&stale).await.err().unwrap().is_no_daemon());
    let long = home.path().join("x".repeat(200));
    let too_long = Client::connect(&long).await.err().unwrap();
    assert!(matches!(too_long, ConnectError::TooLong(_)) && too_long.to_string().contains("fit"), "{too_long}");
}
