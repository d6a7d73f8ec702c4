//! Streams that end too early, break, fall silent or are not what they should be.

use crate::support::*;
use owl_domain::provider::{Block, Provider, TurnErrorKind as Kind};
use owl_providers::Pace;
use owl_testkit::{ByteServer, Script};
use serde_json::json;
use std::time::Duration;

/// Every try of a cut stream costs a connection: one wait between, and no more.
const BRISK: Pace = Pace { waits_divided_by: 10_000_000, ..Pace::QUICK };

#[tokio::test]
async fn a_stream_cut_anywhere_is_incomplete_keeps_its_text_and_brings_no_call() {
    let providers = providers_at(BRISK);
    let server = ByteServer::start([]);
    for provider in BOTH {
        let reply = a_reply(provider);
        let whole_text = "Let me look — ü🦉.";
        for cut in 0..reply.len() {
            let bytes = &reply.as_bytes()[..cut];
            // Once as a clean end of the body, once as a connection that breaks.
            let script =
                if cut % 2 == 0 { Script::events().send(bytes) } else { Script::chunked_and_cut(bytes, cut.max(1)) };
            server.play([script]);
            let before = server.take_requests();
            drop(before);
            let came = ask(&providers, provider, &server).await;
            let error = came.error();
            assert_eq!(error.kind, Kind::StreamIncomplete, "{provider} at {cut}");
            assert!(whole_text.starts_with(&came.text()), "{provider} at {cut}: {:?}", came.text());
            assert!(error.message.contains(provider.name()), "{}", error.message);
            let tries = server.requests().len();
            if came.text().is_empty() {
                assert!(tries == 5 || tries == 1, "{provider} at {cut}: {tries} tries");
            } else {
                assert_eq!(tries, 1, "{provider} at {cut}: asked again after content");
            }
        }
    }
}

#[tokio::test]
async fn a_cut_inside_a_call_brings_neither_the_call_nor_another_try() {
    let providers = providers_at(BRISK);
    for provider in BOTH {
        let reply = a_reply(provider);
        // In the middle of the arguments, with a clean end; and in the middle of a line.
        for cut in [reply.find("atus").unwrap() - 40, reply.find("git st").unwrap() + 3] {
            let server = ByteServer::start([Script::events().send(&reply[..cut])]);
            let came = ask(&providers, provider, &server).await;
            assert_eq!((came.text().as_str(), came.error().kind), ("Let me look — ü🦉.", Kind::StreamIncomplete));
            assert_eq!(server.requests().len(), 1);
        }
    }
}

#[tokio::test]
async fn a_call_alone_is_content_too() {
    let providers = providers_at(BRISK);
    let start = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "run_command", "input": {}}});
    let server = ByteServer::start([Script::events().send(events(&[start]))]);
    let came = ask(&providers, Provider::Anthropic, &server).await;
    assert_eq!((came.error().kind, server.requests().len()), (Kind::StreamIncomplete, 1));
}

#[tokio::test]
async fn an_end_sign_while_something_is_open_is_no_end() {
    let providers = providers_at(BRISK);
    let text = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "So far"}});
    let end = [json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}), json!({"type": "message_stop"})];
    let server = ByteServer::start([Script::events().send(events(&[text, end[0].clone(), end[1].clone()]))]);
    let came = ask(&providers, Provider::Anthropic, &server).await;
    assert_eq!((came.text().as_str(), came.error().kind), ("So far", Kind::StreamIncomplete));

    let no_reason = events(&[json!({"choices": [{"delta": {"content": "So far"}}]}), json!("[DONE]")]);
    let no_done = events(&[
        json!({"choices": [{"delta": {"content": "So far"}, "finish_reason": "stop"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}),
    ]);
    for stream in [no_reason, no_done] {
        server.play([Script::events().send(stream)]);
        let came = ask(&providers, Provider::OpenRouter, &server).await;
        assert_eq!((came.text().as_str(), came.error().kind), ("So far", Kind::StreamIncomplete));
    }
}

#[tokio::test]
async fn silence_is_a_stall_tried_again_once_and_only_before_content() {
    let pace = Pace { idle: Duration::from_millis(50), ..BRISK };
    let providers = providers_at(pace);
    let start = json!({"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 4}}});
    let server = ByteServer::start([Script::events().send(events(&[start])).hold()]);
    let came = ask(&providers, Provider::Anthropic, &server).await;
    assert_eq!((came.error().kind, came.error().attempts), (Kind::StreamStalled, 2));
    assert_eq!(server.requests().len(), 2);
    assert_eq!(came.broken().usage.input_tokens, 8, "what both tries used is told");

    let text = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "So far"}});
    server.take_requests();
    server.play([Script::events().send(events(&[text])).hold()]);
    let came = ask(&providers, Provider::Anthropic, &server).await;
    assert_eq!((came.text().as_str(), came.error().kind), ("So far", Kind::StreamStalled));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn comments_are_signs_of_life() {
    // Far more silence between the events than is allowed, but never between two bytes.
    let providers = providers_at(Pace { idle: Duration::from_millis(250), ..BRISK });
    let mut script = Script::events();
    for _ in 0..40 {
        script = script.send(": OPENROUTER PROCESSING\n\n").pause(Duration::from_millis(10));
    }
    let server = ByteServer::start([script.send(a_reply(Provider::OpenRouter))]);
    assert_eq!(ask(&providers, Provider::OpenRouter, &server).await.whole().blocks.len(), 2);
}

#[tokio::test]
async fn comments_for_ever_end_with_the_replys_own_time() {
    let pace = Pace { reply: Duration::from_millis(120), ..BRISK };
    let mut script = Script::events();
    for _ in 0..2_000 {
        script = script.send(": OPENROUTER PROCESSING\n\n").pause(Duration::from_millis(1));
    }
    let server = ByteServer::start([script]);
    let came = ask(&providers_at(pace), Provider::OpenRouter, &server).await;
    assert_eq!((came.error().kind, server.requests().len()), (Kind::StreamIncomplete, 1));
}

#[tokio::test]
async fn what_is_no_json_is_malformed_and_tried_again_before_content_only() {
    let providers = providers_at(BRISK);
    for provider in BOTH {
        let server = ByteServer::start([Script::events().send("data: <html>\n\n")]);
        let came = ask(&providers, provider, &server).await;
        assert_eq!((came.error().kind, server.requests().len()), (Kind::StreamMalformed, 5));

        let reply = a_reply(provider);
        let cut = reply.find("\n\n").map(|_| reply.find("look").unwrap()).unwrap();
        let line_start = reply[..cut].rfind("data:").unwrap();
        server.take_requests();
        server.play([Script::events().send(&reply[..line_start]).send("data: {\"half\":\n\n")]);
        let came = ask(&providers, provider, &server).await;
        assert_eq!(
            (came.text().as_str(), came.error().kind, server.requests().len()),
            ("Let me ", Kind::StreamMalformed, 1)
        );
    }
}

#[tokio::test]
async fn an_event_over_its_bound_is_malformed() {
    let providers = providers_at(BRISK);
    let flood = format!("data: {}", "x".repeat(9 * 1024 * 1024));
    let server = ByteServer::start([Script::events().send(flood)]);
    let came = ask(&providers, Provider::OpenRouter, &server).await;
    assert_eq!(came.error().kind, Kind::StreamMalformed);
    assert!(came.error().message.contains("8 MiB"), "{}", came.error().message);
}

#[tokio::test]
async fn a_long_line_in_small_pieces_is_read_in_one_go() {
    // 4 MiB in pieces of 1 KiB: what is quadratic in a line's length does not come to an end here.
    let providers = providers_at(BRISK);
    let mut stream = events(&[json!({"unknown": "x".repeat(4 * 1024 * 1024)})]);
    stream.push_str(&a_reply(Provider::OpenRouter));
    let server = ByteServer::start([Script::chunked(stream, 1024)]);
    let came = ask(&providers, Provider::OpenRouter, &server).await;
    assert!(matches!(came.whole().blocks[..], [Block::Text(_), Block::Call(_)]));
}

#[tokio::test]
async fn a_text_over_its_bound_is_too_big_and_not_asked_for_again() {
    let providers = providers_at(BRISK);
    let chunk = json!({"choices": [{"delta": {"content": "x".repeat(60 * 1024)}}]});
    let server = ByteServer::start([Script::events().send(events(&vec![chunk; 6]))]);
    let came = ask(&providers, Provider::OpenRouter, &server).await;
    assert_eq!((came.error().kind, came.text().len()), (Kind::ReplyTooBig, 256 * 1024));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_body_that_is_no_event_stream_says_what_it_was() {
    let providers = providers_at(BRISK);
    let server = ByteServer::start([Script::answer(200, &["content-type: text/html"], "<html>please log in</html>")]);
    let came = ask(&providers, Provider::Anthropic, &server).await;
    assert_eq!(came.error().kind, Kind::StreamIncomplete);
    assert!(came.error().message.contains("text/html"), "{}", came.error().message);
}
