//! Which answer is which error: the whole table, for both services.

use crate::support::*;
use owl_domain::{
    ports::Providers,
    provider::{BrokenBy, Provider, TurnErrorKind as Kind},
};
use owl_testkit::{ByteServer, Script};
use serde_json::json;

/// Tries that an error is worth.
const RETRIED: u32 = 5;
const ONCE: u32 = 1;

#[tokio::test]
async fn every_answer_is_the_error_it_is_and_names_who_which_and_where() {
    let providers = providers_at(PACE);
    for provider in BOTH {
        for (status, said, kind, tries) in [
            (400, "something is odd", Kind::ProviderRejected, ONCE),
            (401, "bad key", Kind::ProviderAuth, ONCE),
            (402, "no credit", Kind::ProviderBilling, ONCE),
            (403, "not allowed", Kind::ProviderAuth, ONCE),
            (403, "your input was flagged by moderation", Kind::ProviderRejected, ONCE),
            (404, "no such model", Kind::ModelNotFound, ONCE),
            (404, "No endpoints found that support tool use", Kind::ModelWithoutTools, ONCE),
            (400, "some-model does not support tools", Kind::ModelWithoutTools, ONCE),
            (405, "not so", Kind::ProviderRejected, ONCE),
            (408, "slow", Kind::ProviderFailed, RETRIED),
            (409, "conflict", Kind::ProviderFailed, RETRIED),
            (413, "request too large", Kind::ProviderRejected, ONCE),
            (418, "teapot", Kind::ProviderRejected, ONCE),
            (422, "unprocessable", Kind::ProviderRejected, ONCE),
            (429, "slow down", Kind::ProviderRateLimited, RETRIED),
            (500, "oops", Kind::ProviderFailed, RETRIED),
            (501, "never", Kind::ProviderFailed, ONCE),
            (502, "gateway", Kind::ProviderFailed, RETRIED),
            (503, "unavailable", Kind::ProviderFailed, RETRIED),
            (504, "timeout", Kind::ProviderFailed, RETRIED),
            (520, "odd", Kind::ProviderFailed, ONCE),
            (529, "overloaded", Kind::ProviderOverloaded, RETRIED),
        ] {
            let body = json!({"type": "error", "error": {"type": "some_error", "message": said}}).to_string();
            let server =
                ByteServer::start([Script::answer(status, &["request-id: req_7", "x-generation-id: req_7"], body)]);
            let came = ask(&providers, provider, &server).await;
            let error = came.error();
            assert_eq!((error.kind, error.attempts), (kind, tries), "{provider} {status} {said}");
            assert_eq!(
                (error.status, error.provider, error.model.clone()),
                (Some(status), Some(provider), Some(model(provider)))
            );
            assert_eq!(error.request_id.as_deref(), Some("req_7"));
            assert_eq!(server.requests().len(), usize::try_from(tries).unwrap());
            assert_eq!(came.retries(), usize::try_from(tries - 1).unwrap());
            let url = error.url.clone().unwrap();
            assert_eq!(
                Some(url.clone()),
                providers.endpoint(provider, Some(providers.base_url(provider, &server.url()).unwrap()))
            );
            for word in [provider.name(), "some-model", &status.to_string(), &url, said] {
                assert!(error.message.contains(word), "{word} is not in {}", error.message);
            }
        }
    }
}

#[tokio::test]
async fn a_prompt_that_is_too_long_is_a_full_context_and_no_error() {
    let providers = providers_at(PACE);
    for (provider, status, message) in [
        (Provider::Anthropic, 400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (Provider::Anthropic, 400, "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000"),
        (
            Provider::OpenRouter,
            400,
            "This endpoint's maximum context length is 8192 tokens. However, you requested about 9000",
        ),
        (Provider::OpenRouter, 413, "Prompt is too long"),
    ] {
        let body = json!({"error": {"message": message, "code": status}}).to_string();
        let server = ByteServer::start([Script::answer(status, &[], body)]);
        let came = ask(&providers, provider, &server).await;
        assert_eq!(came.broken().why, BrokenBy::ContextFull, "{message}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn each_error_says_what_to_do() {
    let providers = providers_at(PACE);
    for (status, said, word) in [
        (401, "bad key", "owl provider add anthropic"),
        (402, "no credit", "credit"),
        (404, "no such model", "/v1/messages was called"),
        (404, "No endpoints found that support tool use", "`tools` is true"),
        (429, "slow down", "wait"),
        (529, "overloaded", "later"),
    ] {
        let server = ByteServer::start([Script::answer(status, &[], json!({"error": {"message": said}}).to_string())]);
        let came = ask(&providers, Provider::Anthropic, &server).await;
        let hint = came.error().hint.clone().unwrap_or_default();
        assert!(hint.contains(word), "{status}: {hint}");
    }
}

#[tokio::test]
async fn nobody_there_is_unreachable_and_tried_again() {
    let providers = providers_at(PACE);
    for provider in BOTH {
        // A port that was free a moment ago: nobody listens.
        let url = ByteServer::start([]).url();
        let access = access(&providers, provider, &url);
        let came = all_of(providers.ask(question(provider), access, ManualStop::new()).await).await;
        let error = came.error();
        assert_eq!((error.kind, error.attempts, error.status), (Kind::ProviderUnreachable, 5, None));
        assert!(error.message.contains(&url) && error.message.contains("some-model"), "{}", error.message);
    }
}

#[tokio::test]
async fn a_connection_that_ends_before_the_headers_is_unreachable_and_tried_again() {
    let providers = providers_at(PACE);
    for script in [Script::new(), Script::new().send("HTTP/1.1 200 OK\r\ncontent-ty")] {
        let server = ByteServer::start([script]);
        let came = ask(&providers, Provider::Anthropic, &server).await;
        assert_eq!(came.error().kind, Kind::ProviderUnreachable);
        assert_eq!(server.requests().len(), 5);
    }
}

#[tokio::test]
async fn headers_that_do_not_come_are_not_waited_for_for_ever() {
    let pace = owl_providers::Pace { headers: std::time::Duration::from_millis(30), ..PACE };
    let server = ByteServer::start([Script::new().hold()]);
    let came = ask(&providers_at(pace), Provider::OpenRouter, &server).await;
    assert_eq!((came.error().kind, came.error().attempts), (Kind::ProviderUnreachable, 5));
}

#[tokio::test]
async fn a_page_of_a_proxy_tells_status_and_host_and_nothing_of_itself() {
    let providers = providers_at(PACE);
    let page = "<html><body>Secret internals of the proxy</body></html>";
    let server = ByteServer::start([Script::answer(403, &["content-type: text/html"], page)]);
    let came = ask(&providers, Provider::OpenRouter, &server).await;
    let message = &came.error().message;
    assert!(message.contains("403") && message.contains(&server.url()), "{message}");
    assert!(!message.contains("internals") && !message.contains('<'), "{message}");
}

#[tokio::test]
async fn what_a_service_says_is_bounded() {
    let providers = providers_at(PACE);
    let long = "é".repeat(8 * 1024);
    let server = ByteServer::start([Script::answer(400, &[], json!({"error": {"message": long}}).to_string())]);
    let came = ask(&providers, Provider::Anthropic, &server).await;
    assert!(came.error().message.len() < 2_048 + 300, "{}", came.error().message.len());
    let longer = json!({"error": {"message": "x".repeat(128 * 1024)}}).to_string();
    server.play([Script::answer(400, &[], longer)]);
    let came = ask(&providers, Provider::Anthropic, &server).await;
    let shown = came.error().message.matches('x').count();
    assert!((2_000..=2_048).contains(&shown), "the start of a body over its bound is shown: {shown}");
    let page = format!("<html>{}</html>", "x".repeat(128 * 1024));
    server.play([Script::answer(400, &[], page)]);
    let came = ask(&providers, Provider::Anthropic, &server).await;
    assert!(!came.error().message.contains("xx"), "a page is not");
}

#[tokio::test]
async fn quotas_are_told_with_a_rate_limit() {
    let providers = providers_at(PACE);
    let headers = [
        "anthropic-ratelimit-requests-limit: 50",
        "anthropic-ratelimit-requests-remaining: 0",
        "anthropic-ratelimit-requests-reset: 2026-11-30T21:05:00Z",
        "anthropic-ratelimit-input-tokens-limit: 40000",
        "anthropic-ratelimit-input-tokens-remaining: 17",
    ];
    let server = ByteServer::start([Script::answer(429, &headers, json!({"error": {"message": "slow"}}).to_string())]);
    let came = ask(&providers, Provider::Anthropic, &server).await;
    let message = &came.error().message;
    assert!(message.contains("0 of 50 requests left until 2026-11-30T21:05:00Z"), "{message}");
    assert!(message.contains("17 of 40000 input tokens left"), "{message}");
}

#[tokio::test]
async fn without_a_key_nobody_is_asked() {
    let providers = providers_at(PACE);
    let server = ByteServer::start([Script::answer(200, &[], "")]);
    let access = owl_domain::ports::Access { key: None, ..access(&providers, Provider::Anthropic, &server.url()) };
    let came = all_of(providers.ask(question(Provider::Anthropic), access, ManualStop::new()).await).await;
    assert_eq!(came.error().kind, Kind::ProviderNotConfigured);
    assert!(came.error().hint.as_ref().unwrap().contains("owl provider add"));
    assert_eq!(server.requests(), []);
}

#[tokio::test]
async fn an_error_inside_a_200_stream_is_an_error_with_its_code_and_message() {
    let providers = providers_at(PACE);
    let so_far = json!({"choices": [{"delta": {"content": "So far"}}]});
    let gone = json!({"error": {"code": 502, "message": "Provider disconnected"}, "choices": [{"delta": {}, "finish_reason": "error"}]});
    let stream = format!(": OPENROUTER PROCESSING\n\n{}", events(&[so_far, gone.clone()]));
    let server = ByteServer::start([Script::chunked(stream, 7)]);
    let came = ask(&providers, Provider::OpenRouter, &server).await;
    assert_eq!(came.text(), "So far");
    let error = came.error();
    assert_eq!((error.kind, error.status, error.attempts), (Kind::StreamError, Some(502), 1));
    assert!(error.message.contains("502") && error.message.contains("Provider disconnected"), "{}", error.message);

    // Before content it is one of those that may pass.
    server.play([Script::chunked(events(&[gone]), 7), Script::chunked(a_reply(Provider::OpenRouter), 7)]);
    let came = ask(&providers, Provider::OpenRouter, &server).await;
    assert_eq!((came.whole().blocks.len(), came.retries()), (2, 1));

    for (kind, again) in [
        ("overloaded_error", true),
        ("rate_limit_error", true),
        ("api_error", true),
        ("invalid_request_error", false),
        ("authentication_error", false),
    ] {
        let start = json!({"type": "message_start", "message": {"id": "msg_1"}});
        let error = json!({"type": "error", "error": {"type": kind, "message": "So it is"}});
        server.take_requests();
        server.play([Script::chunked(events(&[start, error]), 9)]);
        let came = ask(&providers, Provider::Anthropic, &server).await;
        assert_eq!(came.error().kind, Kind::StreamError);
        assert_eq!(came.error().request_id.as_deref(), Some("msg_1"));
        assert!(came.error().message.contains(kind) && came.error().message.contains("So it is"));
        assert_eq!(server.requests().len(), if again { 5 } else { 1 }, "{kind}");
    }
}
