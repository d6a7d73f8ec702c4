use super::*;

fn two() -> Limits {
    Limits { connections: 2, ..Limits::default() }
}

#[tokio::test]
async fn one_connection_too_many_is_refused_in_its_own_dialect_and_can_read_that() {
    let serving = Serving::within(two());
    let (mut one, mut two) = (serving.connect().await, serving.connect().await);
    one.still_works().await;
    two.still_works().await;
    let error = json!({
        "code": -32009, "message": "2 connections are open, and no more may be; try again later",
        "data": { "kind": "too_many_connections", "retryable": true, "limit": 2 },
    });

    let mut lines = serving.connect().await;
    // More than one read of the server's.
    lines.line(request(1, "test.echo", json!({ "text": "x".repeat(100_000) }))).await;
    assert_eq!(lines.next().await, json!({ "jsonrpc": "2.0", "id": null, "error": error }));
    assert_eq!(lines.next_line().await, None);

    let answer = http::post(&serving, &request(1, "test.nothing", json!({}))).await;
    assert_eq!(answer.status, 503);
    assert_eq!(serde_json::from_str::<Value>(&answer.body).unwrap()["error"], error);

    one.still_works().await;
}

#[tokio::test]
async fn a_place_that_became_free_is_given_again() {
    let serving = Serving::within(two());
    let (mut one, mut two) = (serving.connect().await, serving.connect().await);
    one.still_works().await;
    two.still_works().await;
    drop(two);
    soon("a place", async {
        loop {
            let mut next = serving.connect().await;
            next.line(request(1, "test.nothing", json!({}))).await;
            if next.next().await["result"] == true {
                break;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_refused_peer_that_says_nothing_is_told_on_a_line() {
    let serving = Serving::within(Limits { connections: 0, ..Limits::default() });
    let mut silent = serving.connect().await;
    assert_eq!(silent.next().await["error"]["code"], -32009);
}

#[tokio::test]
async fn clients_that_come_one_after_the_other_never_take_a_place_each() {
    let serving = Serving::within(Limits { connections: 50, ..Limits::default() });
    for number in 0..200 {
        // Answered and gone, as `curl` is: each is one connection, and was one too many two seconds long.
        let answer = http::post(&serving, &request(1, "test.nothing", json!({}))).await;
        assert_eq!(answer.status, 200, "number {number}");
    }
}
