//! Where the key goes: into one header of one request, and nowhere else (D18).

use crate::support::*;
use owl_domain::{
    ports::{Freshness, Providers},
    provider::{Provider, TurnErrorKind as Kind},
};
use owl_testkit::{ByteServer, Script, run_again};
use serde_json::json;

#[tokio::test]
async fn the_key_stands_in_its_header_and_nowhere_else() {
    let providers = providers_at(PACE);
    for (provider, name, value) in [
        (Provider::Anthropic, "x-api-key", KEY.to_owned()),
        (Provider::OpenRouter, "authorization", format!("Bearer {KEY}")),
    ] {
        let server = ByteServer::start([Script::chunked(a_reply(provider), 99)]);
        ask(&providers, provider, &server).await.whole();
        let request = server.requests().swap_remove(0);
        assert_eq!(request.header(name), Some(value.as_str()));
        let others = request.headers.iter().filter(|(known, _)| known != name);
        assert!(others.clone().all(|(_, value)| !value.contains(KEY)), "{request:?}");
        assert!(!String::from_utf8_lossy(&request.body).contains(KEY) && !request.target.contains(KEY));
    }
}

#[tokio::test]
async fn no_redirect_is_followed_and_no_other_address_sees_the_key() {
    let providers = providers_at(PACE);
    for provider in BOTH {
        for status in [301, 302, 303, 307, 308] {
            let other = ByteServer::start([Script::chunked(a_reply(provider), 99)]);
            let location = format!("location: {}/v1/elsewhere?x={KEY}", other.url());
            let server = ByteServer::start([Script::answer(status, &[&location], "")]);
            let came = ask(&providers, provider, &server).await;
            let error = came.error();
            assert_eq!((error.kind, error.status, error.attempts), (Kind::ProviderRejected, Some(status), 1));
            assert!(error.message.contains(&other.url()), "it names where it would have led: {}", error.message);
            assert!(!format!("{came:?}").contains(KEY));
            assert_eq!(other.requests(), []);

            let lookup = access(&providers, provider, &server.url());
            let tested = providers.test(provider, lookup.clone()).await;
            let listed = providers.models(provider, lookup, Freshness::Now).await;
            assert!(!tested.ok && listed.stale);
            assert!(!format!("{tested:?}{listed:?}").contains(KEY));
            assert_eq!(other.requests(), []);
        }
    }
}

#[tokio::test]
async fn a_key_that_comes_back_is_not_shown() {
    let providers = providers_at(PACE);
    let echoed = format!("invalid key {KEY} (sent as Bearer {KEY})");
    let id = format!("request-id: {KEY}");
    let generation = format!("x-generation-id: {KEY}");
    let quota = format!("anthropic-ratelimit-requests-limit: {KEY}");
    let headers = [id.as_str(), &generation, &quota, "anthropic-ratelimit-requests-remaining: 0"];
    let in_stream = [
        json!({"type": "message_start", "message": {"id": KEY}}),
        json!({"type": "error", "error": {"type": KEY, "message": echoed}}),
    ];
    let chunk = json!({"id": KEY, "error": {"code": KEY, "message": echoed}});
    let reason = [json!({"type": "message_delta", "delta": {"stop_reason": KEY}}), json!({"type": "message_stop"})];
    let odd_type = format!("content-type: text/{KEY}");
    let scripts = [
        Script::answer(401, &headers, json!({"error": {"type": KEY, "message": echoed}}).to_string()),
        Script::answer(429, &headers, json!({"error": {"message": echoed}}).to_string()),
        Script::answer(403, &headers, json!({"error": echoed}).to_string()),
        Script::answer(400, &headers, json!({"message": echoed}).to_string()),
        // The key with its characters escaped, as JSON may spell it.
        Script::answer(400, &headers, format!("{{\"error\":{{\"message\":\"\\u0073{}\"}}}}", &KEY[1..])),
        Script::answer(404, &headers, &echoed),
        Script::answer(200, &[&odd_type], &echoed),
        Script::chunked(events(&in_stream), 99),
        Script::chunked(events(&reason), 99),
        Script::chunked(events(&[chunk]), 99),
    ];
    for provider in BOTH {
        for script in &scripts {
            let server = ByteServer::start([script.clone()]);
            let came = ask(&providers, provider, &server).await;
            assert!(!format!("{came:?}").contains(KEY), "{came:?}");
            let lookup = access(&providers, provider, &server.url());
            let tested = providers.test(provider, lookup.clone()).await;
            let listed = providers.models(provider, lookup, Freshness::Now).await;
            assert!(!format!("{tested:?}{listed:?}").contains(KEY), "{tested:?} {listed:?}");
        }
    }
    let server = ByteServer::start([scripts[0].clone()]);
    let came = ask(&providers, Provider::Anthropic, &server).await;
    assert!(came.error().message.contains("[key]"), "{}", came.error().message);
}

#[tokio::test]
async fn a_proxy_of_the_environment_sees_nothing() {
    const INSIDE: &str = "OWL_TEST_INSIDE";
    if let Ok(target) = std::env::var(INSIDE) {
        let providers = providers_at(PACE);
        let access = access(&providers, Provider::Anthropic, &target);
        all_of(providers.ask(question(Provider::Anthropic), access, ManualStop::new()).await).await.whole();
        return;
    }
    let proxy = ByteServer::start([Script::answer(502, &[], "")]);
    let target = ByteServer::start([Script::chunked(a_reply(Provider::Anthropic), 99)]);
    let url = proxy.url();
    let environment = [
        ("HTTP_PROXY", url.as_str()),
        ("http_proxy", &url),
        ("ALL_PROXY", &url),
        ("all_proxy", &url),
        (INSIDE, &target.url()),
    ];
    run_again("keys::a_proxy_of_the_environment_sees_nothing", &environment).unwrap();
    assert_eq!(proxy.requests(), []);
    assert_eq!(target.requests().len(), 1, "the second run did ask");
}
