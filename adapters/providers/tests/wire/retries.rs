//! Asking again: how often, how late, how it is told, and how it is ended.

use crate::support::*;
use owl_domain::{
    ports::Providers,
    provider::{BrokenBy, Piece, Provider, Retrying, TurnErrorKind as Kind},
};
use owl_providers::Pace;
use owl_testkit::{ByteServer, Script};
use serde_json::json;
use std::{sync::Arc, time::Duration};

fn overloaded(headers: &[&str]) -> Script {
    Script::answer(
        529,
        headers,
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}).to_string(),
    )
}

fn retryings(came: &Came) -> Vec<Retrying> {
    came.pieces.iter().filter_map(|piece| if let Piece::Retrying(r) = piece { Some(r.clone()) } else { None }).collect()
}

#[tokio::test]
async fn overloaded_for_ever_is_given_up_after_five_tries_each_told() {
    for provider in BOTH {
        let server = ByteServer::start([overloaded(&[])]);
        let came = ask(&providers_at(PACE), provider, &server).await;
        assert_eq!((came.error().kind, came.error().attempts), (Kind::ProviderOverloaded, 5));
        assert!(came.error().message.contains("5 tries"), "{}", came.error().message);
        let told: Vec<_> =
            retryings(&came).into_iter().map(|r| (r.attempt, r.max_attempts, r.status, r.message)).collect();
        let expected: Vec<_> = (1..=4).map(|n| (n, 5, Some(529), "overloaded_error: Overloaded".to_owned())).collect();
        assert_eq!(told, expected);
        let requests = server.requests();
        assert_eq!(requests.len(), 5);
        assert!(requests.iter().all(|request| request.body == requests[0].body), "every try sends the same bytes");
    }
}

#[tokio::test]
async fn a_try_that_succeeds_ends_the_matter() {
    for provider in BOTH {
        let whole = Script::chunked(a_reply(provider), 33);
        let server = ByteServer::start([overloaded(&[]), Script::new(), Script::events(), whole]);
        let came = ask(&providers_at(PACE), provider, &server).await;
        assert_eq!((came.whole().blocks.len(), came.retries(), server.requests().len()), (2, 3, 4));
    }
}

#[tokio::test]
async fn the_wait_is_never_shorter_than_asked() {
    let scaled = |seconds: f64| Duration::from_secs_f64(seconds) / PACE.waits_divided_by;
    for (header, asked) in [
        ("retry-after: 30", 30.0),
        ("retry-after: 2.5", 2.5),
        ("retry-after-ms: 7500", 7.5),
        // The manual clock stands at 21:04:05.123.
        ("retry-after: Mon, 30 Nov 2026 21:04:35 GMT", 29.877),
    ] {
        let server = ByteServer::start([overloaded(&[header]), Script::chunked(a_reply(Provider::Anthropic), 99)]);
        let came = ask(&providers_at(PACE), Provider::Anthropic, &server).await;
        let [retrying] = &retryings(&came)[..] else { panic!("{:?}", came.pieces) };
        assert!(retrying.wait >= scaled(asked), "{header}: {:?}", retrying.wait);
        assert!(retrying.wait <= scaled(asked * 1.25 + 0.001), "{header}: {:?}", retrying.wait);
    }
}

#[tokio::test]
async fn a_wait_beyond_two_minutes_is_told_and_not_waited() {
    let server = ByteServer::start([overloaded(&["retry-after: 121"])]);
    let came = ask(&providers_at(PACE), Provider::OpenRouter, &server).await;
    assert_eq!((came.error().attempts, came.error().retry_after), (1, Some(Duration::from_secs(121))));
    assert_eq!((came.retries(), server.requests().len()), (0, 1));
    for endless in ["retry-after: 99999999999999999999", "retry-after: inf"] {
        let server = ByteServer::start([overloaded(&[endless])]);
        let came = ask(&providers_at(PACE), Provider::Anthropic, &server).await;
        assert!(came.error().retry_after.is_some(), "{endless}");
        assert_eq!((came.retries(), server.requests().len()), (0, 1), "{endless}");
    }
}

#[tokio::test]
async fn no_try_starts_later_than_the_bound_after_the_first() {
    // In earnest: one second and more before the second try, and no time for it.
    let pace = Pace { last_try: Duration::from_millis(500), ..Pace::EARNEST };
    let server = ByteServer::start([overloaded(&[])]);
    let came = ask(&providers_at(pace), Provider::Anthropic, &server).await;
    assert_eq!((came.error().attempts, came.retries(), server.requests().len()), (1, 0, 1));
}

#[tokio::test]
async fn a_stop_ends_a_wait_at_once() {
    // An hour in earnest: only the stop can end it.
    let pace = Pace { last_try: Duration::from_secs(7_200), ..Pace::EARNEST };
    let providers = providers_at(pace);
    let server = ByteServer::start([overloaded(&["retry-after: 120"])]);
    let access = access(&providers, Provider::Anthropic, &server.url());
    let stop = ManualStop::new();
    let mut reply = providers.ask(question(Provider::Anthropic), access, Arc::clone(&stop) as _).await;
    let Piece::Retrying(retrying) = reply.next().await else { panic!("it was not told before the wait") };
    assert!(retrying.wait >= Duration::from_secs(120));
    let ended = tokio::spawn(async move { reply.next().await });
    stop.give();
    let Piece::Broken(broken) = ended.await.unwrap() else { panic!("it went on") };
    assert_eq!(broken.why, BrokenBy::Stopped);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_stop_ends_a_stream_at_once_and_keeps_what_was_handed_on() {
    let providers = providers_at(PACE);
    let text = [
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 9}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "So far"}}),
    ];
    let server = ByteServer::start([Script::events().send(events(&text)).hold()]);
    let access = access(&providers, Provider::Anthropic, &server.url());
    let stop = ManualStop::new();
    let mut reply = providers.ask(question(Provider::Anthropic), access, Arc::clone(&stop) as _).await;
    assert_eq!(reply.next().await, Piece::Text("So far".into()));
    stop.give();
    let Piece::Broken(broken) = reply.next().await else { panic!("it went on") };
    assert_eq!((broken.why, broken.usage.input_tokens), (BrokenBy::Stopped, 9));
}

#[tokio::test]
async fn a_stop_before_the_answer_ends_the_request() {
    let providers = providers_at(PACE);
    let server = ByteServer::start([Script::new().hold()]);
    let access = access(&providers, Provider::OpenRouter, &server.url());
    let stop = ManualStop::new();
    let reply = providers.ask(question(Provider::OpenRouter), access, Arc::clone(&stop) as _).await;
    let came = tokio::spawn(all_of(reply));
    tokio::task::spawn_blocking(move || server.wait_for_requests(1)).await.unwrap();
    stop.give();
    assert_eq!(came.await.unwrap().broken().why, BrokenBy::Stopped);
}
