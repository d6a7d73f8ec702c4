use super::*;
use owl_domain::provider::Usage;
use serde_json::json;

/// Plays events and returns what was handed on, and where it ended.
fn play(events: &[Value]) -> (Vec<Piece>, Result<Progress, Fault>) {
    let mut stream = AnthropicStream::default();
    let mut pieces = Vec::new();
    for event in events {
        match stream.event(&event.to_string(), &mut pieces) {
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

fn start() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "model": "claude-x", "usage": {
        "input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 7}}})
}

fn block(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn text(index: u64, words: &str) -> Value {
    delta(index, json!({"type": "text_delta", "text": words}))
}

fn input(index: u64, json: &str) -> Value {
    delta(index, json!({"type": "input_json_delta", "partial_json": json}))
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn reason(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 42}})
}

fn end() -> Value {
    json!({"type": "message_stop"})
}

fn call(id: &str, name: &str, arguments: &str) -> Block {
    Block::Call(Call { id: id.into(), name: name.into(), arguments: arguments.into() })
}

#[test]
fn thinking_text_and_calls_are_assembled_in_their_order() {
    let events = [
        start(),
        json!({"type": "ping"}),
        block(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "Let me "})),
        delta(0, json!({"type": "thinking_delta", "thinking": "see."})),
        delta(0, json!({"type": "signature_delta", "signature": "si"})),
        delta(0, json!({"type": "signature_delta", "signature": "g"})),
        stop(0),
        json!({"type": "ping"}),
        block(1, json!({"type": "redacted_thinking", "data": "AAAA"})),
        stop(1),
        block(2, json!({"type": "text", "text": ""})),
        text(2, "One "),
        text(2, ""),
        text(2, "moment."),
        stop(2),
        block(3, json!({"type": "tool_use", "id": "toolu_1", "name": "run_command", "input": {}})),
        input(3, ""),
        input(3, "{\"command\":\"git lo"),
        input(3, "g\"}"),
        stop(3),
        block(4, json!({"type": "tool_use", "id": "toolu_2", "name": "list_jobs", "input": {}})),
        stop(4),
        reason("tool_use"),
        end(),
    ];
    let (pieces, progress) = play(&events);
    assert_eq!(
        pieces,
        [
            Piece::Reasoning("Let me ".into()),
            Piece::Reasoning("see.".into()),
            Piece::Text("One ".into()),
            Piece::Text("moment.".into()),
        ]
    );
    let Ok(Progress::Whole(reply)) = progress else { panic!("{progress:?}") };
    assert_eq!(
        *reply,
        WholeReply {
            blocks: vec![
                Block::Raw(json!({"type": "thinking", "thinking": "Let me see.", "signature": "sig"}).to_string()),
                Block::Raw(json!({"type": "redacted_thinking", "data": "AAAA"}).to_string()),
                Block::Text("One moment.".into()),
                call("toolu_1", "run_command", "{\"command\":\"git log\"}"),
                call("toolu_2", "list_jobs", ""),
            ],
            stop: ReplyStop::Done,
            usage: Usage {
                input_tokens: 10,
                output_tokens: 42,
                cache_read_tokens: 5,
                cache_write_tokens: 7,
                cost_usd: None,
            },
        }
    );
}

#[test]
fn every_stop_reason_is_told_as_what_it_is() {
    for (word, expected) in [
        ("end_turn", ReplyStop::Done),
        ("tool_use", ReplyStop::Done),
        ("stop_sequence", ReplyStop::StopSequence),
        ("max_tokens", ReplyStop::MaxTokens),
        ("refusal", ReplyStop::Refusal { explanation: None }),
        ("model_context_window_exceeded", ReplyStop::ContextFull),
        ("pause_turn", ReplyStop::Pause),
    ] {
        assert_eq!(whole(&[start(), reason(word), end()]).stop, expected, "{word}");
    }
    let (_, odd) = play(&[start(), reason("gone_fishing"), end()]);
    assert_eq!(odd, Err(Fault::UnknownStop("gone_fishing".into())));
}

#[test]
fn a_refusal_brings_its_explanation() {
    let details = json!({"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": {"explanation": "Not this."}}});
    let reply = whole(&[start(), details, end()]);
    assert_eq!(reply.stop, ReplyStop::Refusal { explanation: Some("Not this.".into()) });
}

#[test]
fn without_all_its_end_signs_a_reply_is_not_whole() {
    let open = block(7, json!({"type": "text", "text": ""}));
    let cases: [(&[Value], Result<Progress, Fault>); 4] = [
        (&[start(), reason("end_turn")], Ok(Progress::More)),
        (&[start(), end()], Err(Fault::Incomplete("no stop reason was told"))),
        (
            &[start(), json!({"type": "message_delta", "delta": {"stop_reason": null}}), end()],
            Err(Fault::Incomplete("no stop reason was told")),
        ),
        (&[start(), open, reason("end_turn"), end()], Err(Fault::Incomplete("a content block had not stopped"))),
    ];
    for (events, expected) in cases {
        assert_eq!(play(events).1, expected, "{events:?}");
    }
}

#[test]
fn indexes_need_not_begin_at_nought_and_blocks_may_be_mixed() {
    let reply = whole(&[
        start(),
        block(5, json!({"type": "text", "text": "a"})),
        block(9, json!({"type": "tool_use", "id": "t", "name": "n", "input": {}})),
        text(5, "b"),
        input(9, "{}"),
        text(5, "c"),
        stop(9),
        stop(5),
        reason("tool_use"),
        end(),
    ]);
    assert_eq!(reply.blocks, [Block::Text("abc".into()), call("t", "n", "{}")]);
}

#[test]
fn what_is_not_known_is_passed_over() {
    let reply = whole(&[
        json!({"type": "brand_new", "x": 1}),
        json!({"no_type": true}),
        start(),
        block(0, json!({"type": "text", "text": ""})),
        delta(0, json!({"type": "citations_delta", "citation": {}})),
        delta(0, json!({"type": "future_delta", "x": 1})),
        text(0, "hello"),
        stop(0),
        stop(99),
        block(1, json!({"type": "hologram", "shape": "owl"})),
        stop(1),
        block(2, json!({"type": "server_tool_use", "id": "s", "name": "search", "input": {}})),
        input(2, "{\"query\":\"x\"}"),
        stop(2),
        block(3, json!({"type": "hologram", "shape": "owl"})),
        delta(3, json!({"type": "hologram_delta", "light": 1})),
        stop(3),
        reason("end_turn"),
        end(),
    ]);
    assert_eq!(
        reply.blocks,
        [
            Block::Text("hello".into()),
            Block::Raw(json!({"type": "hologram", "shape": "owl"}).to_string()),
            Block::Raw(
                json!({"type": "server_tool_use", "id": "s", "name": "search", "input": {"query": "x"}}).to_string()
            ),
        ]
    );
}

#[test]
fn thinking_without_its_signature_is_shown_and_never_kept() {
    let (pieces, end) = play(&[
        start(),
        block(0, json!({"type": "thinking", "thinking": "Hm", "signature": ""})),
        stop(0),
        block(1, json!({"type": "text", "text": "Yes."})),
        stop(1),
        reason("end_turn"),
        end(),
    ]);
    assert_eq!(pieces, [Piece::Reasoning("Hm".into()), Piece::Text("Yes.".into())]);
    let Ok(Progress::Whole(reply)) = end else { panic!("{end:?}") };
    assert_eq!(reply.blocks, [Block::Text("Yes.".into())]);
}

#[test]
fn usage_is_cumulative() {
    let usage = |tokens: u64| json!({"type": "message_delta", "delta": {}, "usage": {"output_tokens": tokens}});
    let reply = whole(&[start(), usage(3), usage(9), reason("end_turn"), usage(12), end()]);
    assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (10, 12));
}

#[test]
fn an_error_in_the_middle_breaks_the_reply() {
    let (pieces, end) = play(&[
        start(),
        block(0, json!({"type": "text", "text": ""})),
        text(0, "So far"),
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        stop(0),
        reason("end_turn"),
        end(),
    ]);
    assert_eq!(pieces, [Piece::Text("So far".into())]);
    assert_eq!(end, Err(Fault::Service { code: "overloaded_error".into(), message: "Overloaded".into() }));
}

#[test]
fn a_call_without_an_id_gets_one_and_input_may_come_with_the_start() {
    let reply = whole(&[
        start(),
        block(0, json!({"type": "tool_use", "name": "a", "input": {"x": 1}})),
        stop(0),
        block(1, json!({"type": "tool_use", "id": "", "name": "b", "input": {"x": 1}})),
        input(1, "{\"x\":2}"),
        stop(1),
        reason("tool_use"),
        end(),
    ]);
    assert_eq!(reply.blocks, [call("owl_1", "a", "{\"x\":1}"), call("owl_2", "b", "{\"x\":2}")]);
}

#[test]
fn what_is_no_event_is_malformed() {
    let mut stream = AnthropicStream::default();
    for data in ["", "nonsense", "[1]", "7", "{\"type\":", "[DONE]"] {
        let end = stream.event(data, &mut Vec::new());
        assert!(matches!(end, Err(Fault::Malformed(_))), "{data}: {end:?}");
    }
    let (_, end) = play(&[start(), text(0, "from nowhere")]);
    assert!(matches!(end, Err(Fault::Malformed(_))), "{end:?}");
    let (_, end) = play(&[start(), json!({"type": "content_block_start", "content_block": {"type": "text"}})]);
    assert!(matches!(end, Err(Fault::Malformed(_))), "{end:?}");
}

#[test]
fn text_reasoning_and_calls_have_their_bounds() {
    let half = "x".repeat(200 * 1024);
    let (pieces, end) = play(&[start(), block(0, json!({"type": "text", "text": ""})), text(0, &half), text(0, &half)]);
    assert_eq!(pieces, [Piece::Text(half.clone()), Piece::Text("x".repeat(56 * 1024))], "what fits is kept");
    assert!(matches!(end, Err(Fault::TooBig(_))), "{end:?}");
    let thought = delta(0, json!({"type": "thinking_delta", "thinking": half}));
    let (_, end) = play(&[start(), block(0, json!({"type": "thinking", "thinking": ""})), thought.clone(), thought]);
    assert!(matches!(end, Err(Fault::TooBig(_))), "{end:?}");
    let (_, end) = play(&[start(), block(0, json!({"type": "tool_use", "id": "t"})), input(0, &half), input(0, &half)]);
    assert!(matches!(end, Err(Fault::TooBig(_))), "{end:?}");
}

#[test]
fn content_is_text_reasoning_or_a_call_and_nothing_else() {
    let mut stream = AnthropicStream::default();
    let mut feed = |event: Value| {
        stream.event(&event.to_string(), &mut Vec::new()).unwrap();
        stream.tally().content
    };
    assert!(!feed(start()));
    assert!(!feed(json!({"type": "ping"})));
    assert!(!feed(block(0, json!({"type": "text", "text": ""}))));
    assert!(!feed(text(0, "")));
    assert!(feed(text(0, "a")));
    let mut stream = AnthropicStream::default();
    let begun = block(0, json!({"type": "tool_use", "id": "t", "name": "n", "input": {}}));
    stream.event(&begun.to_string(), &mut Vec::new()).unwrap();
    assert!(stream.tally().content, "a call that began costs as much as text");
}

#[test]
fn tokens_that_nobody_believes_are_bounded() {
    let told = json!({"input_tokens": 1_u64 << 62, "output_tokens": u64::MAX, "cache_read_input_tokens": -3});
    let events = [json!({"type": "message_start", "message": {"usage": told}}), reason("end_turn"), end()];
    let expected = Usage { input_tokens: Usage::MOST_TOKENS_TOLD, output_tokens: 42, ..Usage::default() };
    assert_eq!(whole(&events).usage, expected);
}
