//! Whole replies: the same in every split of their bytes, every end told as what it is.

use crate::support::*;
use owl_domain::{
    ports::Providers,
    provider::{Block, Call, Piece, Provider, ReplyStop},
};
use owl_testkit::{ByteServer, Script, Signal};
use serde_json::json;

fn expected() -> Vec<Block> {
    let call =
        Call { id: "toolu_1".into(), name: "run_command".into(), arguments: "{\"command\":\"git status\"}".into() };
    vec![Block::Text("Let me look — ü🦉.".into()), Block::Call(call)]
}

#[tokio::test]
async fn a_reply_is_the_same_in_every_split_and_with_every_line_end() {
    let providers = providers_at(PACE);
    let server = ByteServer::start([]);
    for provider in BOTH {
        let lf = a_reply(provider);
        let mixed: String = lf
            .split("\n\n")
            .enumerate()
            .map(|(n, e)| format!("{e}{}", ["\n\n", "\r\r", "\r\n\r\n", "\n\r\n"][n % 4]))
            .collect();
        let spellings = [
            lf.clone(),
            format!("\u{feff}{lf}"),
            lf.replace('\n', "\r"),
            lf.replace('\n', "\r\n"),
            format!("\u{feff}{}", lf.replace('\n', "\r")),
            mixed,
        ];
        for (which, stream) in spellings.iter().enumerate() {
            for size in [1, 2, 3, 5, 7, 64, stream.len()] {
                server.play([Script::chunked(stream, size)]);
                let came = ask(&providers, provider, &server).await;
                let whole = came.whole();
                assert_eq!(
                    (&whole.blocks, &whole.stop),
                    (&expected(), &ReplyStop::Done),
                    "{provider}, {which} by {size}"
                );
                assert_eq!((whole.usage.input_tokens, whole.usage.output_tokens), (9, 20));
                assert_eq!(came.text(), "Let me look — ü🦉.");
            }
        }
        server.play([Script::events().send_one_by_one(&lf)]);
        assert_eq!(ask(&providers, provider, &server).await.whole().blocks, expected());
    }
}

#[tokio::test]
async fn text_is_handed_on_as_it_comes_and_calls_only_with_the_whole() {
    let providers = providers_at(PACE);
    for provider in BOTH {
        let reply = a_reply(provider);
        let (first, rest) = reply.split_at(reply.find("look").unwrap());
        let (first, rest) = {
            let at = first.rfind("data:").unwrap();
            (&reply[..at], format!("{}{rest}", &reply[at..first.len()]))
        };
        let go_on = Signal::new();
        let server = ByteServer::start([Script::events().send(first).wait_for(&go_on).send(rest)]);
        let access = access(&providers, provider, &server.url());
        let mut reply = providers.ask(question(provider), access, ManualStop::new()).await;
        assert_eq!(reply.next().await, Piece::Text("Let me ".into()), "the rest has not been sent");
        go_on.give();
        assert_eq!(reply.next().await, Piece::Text("look — ü🦉.".into()));
        let Piece::Whole(whole) = reply.next().await else { panic!("not whole") };
        assert_eq!(whole.blocks, expected());
    }
}

#[tokio::test]
async fn a_length_limit_is_told_as_what_it_is() {
    let providers = providers_at(PACE);
    let server = ByteServer::start([]);
    for (provider, word) in [(Provider::Anthropic, "max_tokens"), (Provider::OpenRouter, "length")] {
        let stream = a_reply(provider)
            .replace("\"tool_use\"}", &format!("\"{word}\"}}"))
            .replace("\"tool_calls\",\"index\"", &format!("\"{word}\",\"index\""));
        assert!(stream.contains(word), "{stream}");
        server.play([Script::chunked(stream, 50)]);
        assert_eq!(ask(&providers, provider, &server).await.whole().stop, ReplyStop::MaxTokens);
    }
}

#[tokio::test]
async fn a_reason_that_is_not_known_is_an_error_that_names_it() {
    let providers = providers_at(PACE);
    let stream = a_reply(Provider::Anthropic).replace("\"tool_use\"}", "\"gone_fishing\"}");
    let server = ByteServer::start([Script::chunked(stream, 50)]);
    let came = ask(&providers, Provider::Anthropic, &server).await;
    assert_eq!(came.error().kind, owl_domain::provider::TurnErrorKind::StreamError);
    assert!(came.error().message.contains("gone_fishing"));
}

#[tokio::test]
async fn what_is_sent_is_what_the_service_asks_for() {
    let providers = providers_at(PACE);
    let server = ByteServer::start([]);
    for (provider, target) in [(Provider::Anthropic, "/v1/messages"), (Provider::OpenRouter, "/v1/chat/completions")] {
        for base in ["", "/", "/v1", "/v1/"] {
            server.play([Script::chunked(a_reply(provider), 99)]);
            let access = access(&providers, provider, &format!("{}{base}", server.url()));
            all_of(providers.ask(question(provider), access, ManualStop::new()).await).await.whole();
        }
        for request in server.take_requests() {
            assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", target));
            assert_eq!(request.header("content-type"), Some("application/json"));
            assert_eq!(request.json()["stream"], json!(true));
            assert_eq!(request.header("user-agent"), Some(format!("coding-owl/{VERSION}").as_str()));
            for name in ["accept-encoding", "cookie", "referer", "http-referer", "x-title"] {
                assert_eq!(request.header(name), None);
            }
        }
    }
}

#[tokio::test]
async fn a_connection_is_used_again_after_a_whole_reply() {
    let providers = providers_at(PACE);
    for provider in BOTH {
        let server = ByteServer::start([Script::chunked_and_kept(a_reply(provider))]);
        // The body's end is read in the background: it may not be there yet when the next question comes at once.
        let mut asked = 0;
        while asked == server.connections() {
            assert!(asked < 50, "each of {asked} requests made a connection of its own");
            ask(&providers, provider, &server).await.whole();
            asked += 1;
        }
    }
}

#[tokio::test]
async fn the_explanation_of_a_refusal_is_bounded_and_without_the_key() {
    let explanation = format!("Not with {KEY}. {}", "é".repeat(200 * 1024));
    let delta = json!({"stop_reason": "refusal", "stop_details": {"explanation": explanation}});
    let stream = events(&[
        json!({"type": "message_start", "message": {"id": "msg_1"}}),
        json!({"type": "message_delta", "delta": delta}),
        json!({"type": "message_stop"}),
    ]);
    let server = ByteServer::start([Script::chunked(stream, 999)]);
    let came = ask(&providers_at(PACE), Provider::Anthropic, &server).await;
    let ReplyStop::Refusal { explanation: Some(told) } = &came.whole().stop else { panic!("{:?}", came.last) };
    assert!(told.starts_with("Not with [key]. é") && (16_380..=16_384).contains(&told.len()), "{}", told.len());
}
