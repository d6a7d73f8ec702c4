use super::*;
use owl_domain::provider::{Call, Usage};
use serde_json::json;

fn play(events: &[Value]) -> (Vec<Piece>, Result<Progress, Fault>) {
    let mut stream = OpenRouterStream::default();
    let mut pieces = Vec::new();
    for event in events {
        let data = event.as_str().map_or_else(|| event.to_string(), str::to_owned);
        match stream.event(&data, &mut pieces) {
            Ok(Progress::More) => {}
            end => return (pieces, end),
        }
    }
    (pieces, Ok(Progress::More))
}

fn whole(events: &[Value]) -> WholeReply {
    match play(events).1 {
        Ok(Progress::Whole(whole)) => *whole,
        other => panic!("not whole: {other:?}"),
    }
}

fn delta(delta: Value) -> Value {
    json!({"id": "gen-1", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn text(words: &str) -> Value {
    delta(json!({"role": "assistant", "content": words}))
}

fn call() -> Value {
    delta(
        json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "run_command", "arguments": "{}"}}]}),
    )
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": reason, "native_finish_reason": reason}]})
}

fn done() -> Value {
    json!("[DONE]")
}

#[test]
fn text_reasoning_and_calls_are_assembled() {
    let events = [
        delta(json!({"role": "assistant", "content": null, "reasoning": "Let me ", "reasoning_details": [
            {"type": "reasoning.text", "index": 0, "text": "Let me "}]})),
        delta(json!({"content": "", "reasoning": "see.", "reasoning_details": [
            {"type": "reasoning.text", "index": 0, "text": "see.", "signature": "sig"}]})),
        text("One "),
        text("moment."),
        delta(
            json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "run_command", "arguments": ""}}]}),
        ),
        delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"command\":\"git lo"}}]})),
        delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "g\"}"}}]})),
        finish("tool_calls"),
        json!({"choices": [], "usage": null}),
        json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20, "cost": 0.0125,
            "prompt_tokens_details": {"cached_tokens": 60}}}),
        done(),
    ];
    let (pieces, end) = play(&events);
    assert_eq!(
        pieces,
        [
            Piece::Reasoning("Let me ".into()),
            Piece::Reasoning("see.".into()),
            Piece::Text("One ".into()),
            Piece::Text("moment.".into()),
        ]
    );
    let Ok(Progress::Whole(reply)) = end else { panic!("{end:?}") };
    let raw = json!({"type": "reasoning.text", "index": 0, "text": "Let me see.", "signature": "sig"}).to_string();
    assert_eq!(
        *reply,
        WholeReply {
            blocks: vec![
                Block::Raw(raw),
                Block::Text("One moment.".into()),
                Block::Call(Call {
                    id: "call_1".into(),
                    name: "run_command".into(),
                    arguments: "{\"command\":\"git log\"}".into()
                }),
            ],
            stop: ReplyStop::Done,
            usage: Usage {
                input_tokens: 40,
                output_tokens: 20,
                cache_read_tokens: 60,
                cache_write_tokens: 0,
                cost_usd: Some(0.0125),
            },
        }
    );
}

#[test]
fn reasoning_is_told_once_whichever_member_it_stands_in() {
    for (piece, told) in [
        (json!({"reasoning": "a"}), "a"),
        (json!({"reasoning_content": "b"}), "b"),
        (json!({"reasoning": null, "reasoning_content": "b"}), "b"),
        (json!({"reasoning": "a", "reasoning_details": [{"type": "reasoning.text", "text": "a"}]}), "a"),
        (json!({"reasoning_details": [{"type": "reasoning.summary", "summary": "c"}]}), "c"),
    ] {
        assert_eq!(play(&[delta(piece.clone())]).0, [Piece::Reasoning(told.into())], "{piece}");
    }
}

#[test]
fn every_finish_reason_is_told_as_what_it_is() {
    for (word, expected) in [
        ("stop", ReplyStop::Done),
        ("tool_calls", ReplyStop::Done),
        ("function_call", ReplyStop::Done),
        ("length", ReplyStop::MaxTokens),
        ("content_filter", ReplyStop::ContentFilter),
        ("refusal_of_a_kind_not_known", ReplyStop::Done),
    ] {
        assert_eq!(whole(&[text("a"), finish(word), done()]).stop, expected, "{word} without calls");
        let reply = whole(&[text("a"), call(), finish(word), done()]);
        assert_eq!(reply.stop, expected, "{word} with calls");
        assert_eq!(reply.blocks.len(), 2, "the calls are kept; whether they run is decided by the stop");
    }
    let native = json!({"choices": [{"delta": {}, "finish_reason": "stop", "native_finish_reason": "refusal"}]});
    assert_eq!(whole(&[native, done()]).stop, ReplyStop::Refusal { explanation: None });
    let (_, end) = play(&[text("a"), finish("error"), done()]);
    assert!(matches!(end, Err(Fault::Service { .. })), "{end:?}");
}

#[test]
fn of_two_finish_reasons_the_gravest_counts() {
    for (one, other, expected) in [
        ("tool_calls", "stop", ReplyStop::Done),
        ("length", "stop", ReplyStop::MaxTokens),
        ("stop", "length", ReplyStop::MaxTokens),
        ("content_filter", "length", ReplyStop::ContentFilter),
        ("length", "content_filter", ReplyStop::ContentFilter),
    ] {
        assert_eq!(whole(&[call(), finish(one), finish(other), done()]).stop, expected, "{one}, {other}");
    }
    let (_, end) = play(&[finish("error"), finish("stop"), done()]);
    assert!(matches!(end, Err(Fault::Service { .. })), "{end:?}");
}

#[test]
fn a_model_that_declines_apart_from_its_text_refuses() {
    let reply =
        whole(&[delta(json!({"refusal": "I will "})), delta(json!({"refusal": "not."})), finish("stop"), done()]);
    assert_eq!(reply.stop, ReplyStop::Refusal { explanation: Some("I will not.".into()) });
}

#[test]
fn without_both_end_signs_a_reply_is_not_whole() {
    assert_eq!(play(&[text("a"), finish("stop")]).1, Ok(Progress::More));
    assert_eq!(play(&[text("a"), done()]).1, Err(Fault::Incomplete("no finish reason was told")));
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}});
    assert_eq!(play(&[text("a"), finish("stop"), usage]).1, Ok(Progress::More));
}

#[test]
fn an_error_in_a_chunk_breaks_the_reply_whatever_else_it_says() {
    for (chunk, code) in [
        (
            json!({"error": {"code": 502, "message": "Gone"}, "choices": [{"delta": {"content": ""}, "finish_reason": "error"}]}),
            "502",
        ),
        (
            json!({"error": {"code": "server_error", "message": "Gone"}, "choices": [{"delta": {}, "finish_reason": "stop"}]}),
            "server_error",
        ),
        (json!({"error": {"code": 502, "message": "Gone"}}), "502"),
        (json!({"error": {"type": "overloaded", "message": "Gone"}, "choices": []}), "overloaded"),
        (json!({"error": "Gone"}), "error"),
        (json!({"choices": [{"error": {"code": 502, "message": "Gone"}, "delta": {}}]}), "502"),
    ] {
        let (pieces, end) = play(&[text("So far"), chunk.clone(), done()]);
        assert_eq!(pieces, [Piece::Text("So far".into())]);
        assert_eq!(end, Err(Fault::Service { code: code.into(), message: "Gone".into() }), "{chunk}");
    }
}

#[test]
fn chunks_may_lack_everything() {
    let reply = whole(&[
        json!({}),
        json!({"choices": null}),
        json!({"choices": [{}]}),
        json!({"choices": [{"delta": null, "finish_reason": null}]}),
        json!({"choices": [{"delta": {"content": null, "tool_calls": null, "reasoning_details": null}}]}),
        json!({"error": null, "choices": []}),
        text("a"),
        finish("stop"),
        done(),
    ]);
    assert_eq!((reply.blocks, reply.stop), (vec![Block::Text("a".into())], ReplyStop::Done));
}

#[test]
fn what_is_no_chunk_is_malformed() {
    for data in ["nonsense", "[1]", "{\"choices\":", "DONE"] {
        let end = OpenRouterStream::default().event(data, &mut Vec::new());
        assert!(matches!(end, Err(Fault::Malformed(_))), "{data}: {end:?}");
    }
}

#[test]
fn text_reasoning_and_calls_have_their_bounds() {
    let half = "x".repeat(200 * 1024);
    for piece in [
        json!({"content": half}),
        json!({"reasoning": half}),
        json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": half}]}),
        json!({"tool_calls": [{"index": 0, "function": {"arguments": half}}]}),
    ] {
        let (_, end) = play(&[delta(piece.clone()), delta(piece)]);
        assert!(matches!(end, Err(Fault::TooBig(_))), "{end:?}");
    }
}

#[test]
fn tokens_that_nobody_believes_are_bounded_and_a_cost_below_nothing_is_none() {
    let told = json!({"choices": [], "usage": {"prompt_tokens": 1_u64 << 62, "completion_tokens": 1e300, "cost": -1}});
    let most = Usage::MOST_TOKENS_TOLD;
    let expected = Usage { input_tokens: most, output_tokens: most, ..Usage::default() };
    assert_eq!(whole(&[text("Hi"), finish("stop"), told, done()]).usage, expected);
}

#[test]
fn another_choice_is_another_answer() {
    let other = |words: &str| json!({"index": 1, "delta": {"content": words}, "finish_reason": "length"});
    let both = json!({"choices": [other("Never "), {"index": 0, "delta": {"content": "mind."}}]});
    let indexless = json!({"choices": [{"delta": {"content": " Yes."}}]});
    let events = [text("Do "), json!({"choices": [other("not ")]}), both, indexless, finish("stop"), done()];
    let reply = whole(&events);
    assert_eq!((reply.blocks, reply.stop), (vec![Block::Text("Do mind. Yes.".into())], ReplyStop::Done));
}
