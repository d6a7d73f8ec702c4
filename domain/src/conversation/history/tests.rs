mod any;

use super::*;
use crate::{
    ids::{ConversationId, TurnId},
    provider::{Provider, Usage},
    text::ModelId,
    time::Timestamp,
    turn::{CallRef, Ended, OnConsent, Turn},
};
use alloc::vec;
use any::broken_rule;

fn model(provider: Provider, id: &str) -> ModelRef {
    ModelRef { provider, id: ModelId::new(id).unwrap() }
}

fn claude() -> ModelRef {
    model(Provider::Anthropic, "claude-x")
}

fn turn(question: &str, replies: Vec<StoredReply>) -> StoredTurn {
    StoredTurn {
        turn: Turn {
            id: TurnId::new(1),
            conversation: ConversationId::new(1),
            state: TurnState::Running,
            workdir: None,
            model: claude(),
            on_consent: OnConsent::Ask,
            tools: true,
            rounds: 0,
            started_at: Timestamp::default(),
            usage: Usage::default(),
            left_out: 0,
        },
        question: question.into(),
        cancelling: false,
        replies,
    }
}

fn ended(ending: Ending, mut turn: StoredTurn) -> StoredTurn {
    turn.turn.state = TurnState::Finished(Ended { ending, at: Timestamp::default() });
    turn
}

fn call(id: &str, arguments: &str) -> Call {
    Call { id: id.into(), name: "run_command".into(), arguments: arguments.into() }
}

fn told(text: &str) -> CallProgress {
    CallProgress::Told(Told { text: text.into(), is_error: false })
}

/// A reply with its calls and how far each is.
fn reply(blocks: Vec<Block>, stop: Option<ReplyStop>, progress: Vec<CallProgress>) -> StoredReply {
    let calls = blocks.iter().filter_map(|block| match block {
        Block::Call(call) => Some(call.clone()),
        Block::Text(_) | Block::Raw(_) => None,
    });
    let at = CallRef { turn: TurnId::new(1), reply: 0, position: 0 };
    let calls = calls.zip(progress).map(|(call, progress)| StoredCall { at, call, progress }).collect();
    let text = blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.as_str()),
        Block::Raw(_) | Block::Call(_) => None,
    });
    StoredReply { model: claude(), text: text.collect(), blocks, stop, calls }
}

fn says(text: &str) -> StoredReply {
    reply(vec![Block::Text(text.into())], Some(ReplyStop::Done), Vec::new())
}

/// A reply that says something, calls once, and was told something.
fn looks(id: &str, output: &str) -> StoredReply {
    let blocks = vec![Block::Text("Let me look.".into()), Block::Call(call(id, "{\"command\":\"git log\"}"))];
    reply(blocks, Some(ReplyStop::Done), vec![told(output)])
}

fn tools() -> Vec<ToolSpec> {
    vec![ToolSpec { name: "run_command", description: "Proposes.".into(), parameters: &[] }]
}

fn shaped(earlier: &[StoredTurn], current: &StoredTurn) -> Shaped {
    shape("You are here.".into(), tools(), None, earlier, current)
}

fn messages(earlier: &[StoredTurn], current: &StoredTurn) -> Vec<Message> {
    let shaped = shaped(earlier, current);
    assert_eq!(broken_rule(&shaped.request), None);
    shaped.request.messages
}

fn user(texts: &[&str]) -> Message {
    Message::User { results: Vec::new(), texts: texts.iter().map(|text| String::from(*text)).collect() }
}

fn results(results: &[(&str, &str, bool)], texts: &[&str]) -> Message {
    let results = results.iter().map(|(id, text, is_error)| ToolResult {
        call_id: (*id).into(),
        text: (*text).into(),
        is_error: *is_error,
    });
    Message::User { results: results.collect(), texts: texts.iter().map(|text| String::from(*text)).collect() }
}

fn text(text: &str) -> Block {
    Block::Text(text.into())
}

#[test]
fn a_question_alone_is_one_message() {
    let shaped = shaped(&[], &turn("What?", Vec::new()));
    assert_eq!(shaped.request.messages, [user(&["What?"])]);
    assert_eq!(shaped.request.model, claude());
    assert_eq!(shaped.request.system, "You are here.");
    assert_eq!(shaped.request.tools, tools());
    assert_eq!((shaped.left_out, shaped.request.max_output_tokens), (0, None));
}

#[test]
fn calls_come_with_their_results_and_the_next_question_after_them() {
    let cut_off = ended(Ending::Interrupted, turn("Any left?", vec![looks("toolu_1", "$ git log")]));
    let current = turn("And now?", vec![looks("toolu_2", "said")]);
    let called =
        |id| Message::Assistant(vec![text("Let me look."), Block::Call(call(id, "{\"command\":\"git log\"}"))]);
    assert_eq!(
        messages(&[cut_off], &current),
        [
            user(&["Any left?"]),
            called("toolu_1"),
            results(&[("toolu_1", "$ git log", false)], &["And now?"]),
            called("toolu_2"),
            results(&[("toolu_2", "said", false)], &[]),
        ]
    );
}

#[test]
fn a_reply_that_is_not_whole_is_its_text_only() {
    for stop in [None, Some(ReplyStop::MaxTokens), Some(ReplyStop::ContentFilter), Some(ReplyStop::ContextFull)] {
        let blocks = vec![Block::Raw("{}".into()), text("So far"), Block::Call(call("toolu_1", "{}"))];
        let earlier = turn("One?", vec![reply(blocks, stop.clone(), vec![told("x")])]);
        assert_eq!(
            messages(&[earlier], &turn("Two?", Vec::new())),
            [user(&["One?"]), Message::Assistant(vec![text("So far")]), user(&["Two?"])],
            "{stop:?}"
        );
    }
}

#[test]
fn two_questions_in_a_row_are_joined() {
    let failed = turn("One?", vec![reply(Vec::new(), None, Vec::new())]);
    assert_eq!(messages(&[failed.clone(), failed], &turn("Two?", Vec::new())), [user(&["One?", "One?", "Two?"])]);
}

#[test]
fn a_turn_that_the_model_refused_is_left_out_whole_and_not_counted() {
    let refused = ended(Ending::Refusal, turn("Bad?", vec![says("No.")]));
    let fine = ended(Ending::EndTurn, turn("One?", vec![says("Yes.")]));
    let shaped = shaped(&[refused, fine], &turn("Two?", Vec::new()));
    assert_eq!(shaped.request.messages, [user(&["One?"]), Message::Assistant(vec![text("Yes.")]), user(&["Two?"])]);
    assert_eq!(shaped.left_out, 0);
}

#[test]
fn a_result_that_was_never_written_is_made_from_what_became_of_the_call() {
    let denial = told::missing(&CommandOutcome::Denied).text;
    let died = told::missing(&CommandOutcome::Interrupted).text;
    let cancelled = told::missing(&CommandOutcome::Cancelled).text;
    let blocks = ["a", "b", "c", "d"].map(|id| Block::Call(call(id, "{}"))).to_vec();
    let progress = vec![
        CallProgress::Closed(CommandOutcome::Denied),
        CallProgress::Closed(CommandOutcome::Interrupted),
        CallProgress::Unjudged,
        // The fourth has no row at all.
    ];
    let earlier = turn("One?", vec![reply(blocks.clone(), Some(ReplyStop::Done), progress)]);
    assert_eq!(
        messages(&[earlier], &turn("Two?", Vec::new())),
        [
            user(&["One?"]),
            Message::Assistant(blocks),
            results(
                &[("a", &denial, true), ("b", &died, true), ("c", &cancelled, true), ("d", &cancelled, true)],
                &["Two?"]
            ),
        ]
    );
}

#[test]
fn pairing_is_by_position_and_ids_are_made_unique() {
    let twice = |output: &str| {
        let blocks = vec![Block::Call(call("call-1", "{}")), Block::Call(call("call-1", "{}"))];
        let second = format!("{output}, second");
        reply(blocks, Some(ReplyStop::Done), vec![told(output), told(&second)])
    };
    let long = "x".repeat(65);
    let odd = reply(
        vec![Block::Call(call("", "{}")), Block::Call(call("a b", "{}")), Block::Call(call(&long, "{}"))],
        Some(ReplyStop::Done),
        vec![told("5"), told("6"), told("7")],
    );
    let taken = reply(vec![Block::Call(call("owl_9", "{}"))], Some(ReplyStop::Done), vec![told("8")]);
    let again = reply(vec![Block::Call(call("call-1", "{}"))], Some(ReplyStop::Done), vec![told("9")]);
    let current = turn("?", vec![twice("first"), twice("third"), odd, taken, again]);
    let told: Vec<(String, String)> = messages(&[], &current)
        .into_iter()
        .flat_map(|message| match message {
            Message::User { results, .. } => results,
            Message::Assistant(_) => Vec::new(),
        })
        .map(|result| (result.call_id, result.text))
        .collect();
    let expected = [
        ("call-1", "first"),
        ("owl_2", "first, second"),
        ("owl_3", "third"),
        ("owl_4", "third, second"),
        ("owl_5", "5"),
        ("owl_6", "6"),
        ("owl_7", "7"),
        ("owl_9", "8"),
        ("owl_9_", "9"),
    ];
    assert_eq!(told, expected.map(|(id, text)| (id.to_string(), text.to_string())));
}

#[test]
fn reasoning_goes_back_within_its_turn_and_to_its_model_alone() {
    let thought = Block::Raw("{\"type\":\"thinking\"}".into());
    let thinks = |model: ModelRef| {
        let blocks = vec![thought.clone(), text("Look."), Block::Call(call("t", "{}"))];
        StoredReply { model, ..reply(blocks, Some(ReplyStop::Done), vec![told("x")]) }
    };
    let has_raw = |messages: Vec<Message>| {
        messages.iter().any(|message| matches!(message, Message::Assistant(blocks) if blocks.contains(&thought)))
    };
    assert!(has_raw(messages(&[], &turn("?", vec![thinks(claude())]))));
    assert!(has_raw(messages(&[], &turn("?", vec![thinks(claude()), looks("u", "y")]))), "earlier replies likewise");
    assert!(!has_raw(messages(&[turn("?", vec![thinks(claude())])], &turn("?", Vec::new()))), "an earlier turn");
    let other = model(Provider::Anthropic, "claude-y");
    assert!(!has_raw(messages(&[], &turn("?", vec![thinks(other)]))), "another model");
    let elsewhere = model(Provider::OpenRouter, "claude-x");
    assert!(!has_raw(messages(&[], &turn("?", vec![thinks(elsewhere)]))), "another provider");
    let first = messages(&[], &turn("?", vec![thinks(claude())])).swap_remove(1);
    assert_eq!(
        first,
        Message::Assistant(vec![thought.clone(), text("Look."), Block::Call(call("t", "{}"))]),
        "in place"
    );
}

#[test]
fn after_a_pause_the_reply_goes_back_last_and_unmodified() {
    let blocks = vec![Block::Raw("{\"type\":\"server_tool_use\"}".into()), text("Still at it. ")];
    let paused = reply(blocks.clone(), Some(ReplyStop::Pause), Vec::new());
    assert_eq!(messages(&[], &turn("?", vec![paused])), [user(&["?"]), Message::Assistant(blocks)]);
}

#[test]
fn a_request_ends_with_the_user_whatever_the_rows_say() {
    for stop in [None, Some(ReplyStop::Done), Some(ReplyStop::MaxTokens)] {
        let last = reply(vec![text("So far")], stop, Vec::new());
        assert_eq!(messages(&[], &turn("?", vec![last])), [user(&["?"])]);
    }
}

#[test]
fn empty_texts_and_nul_characters_are_not_sent() {
    let blocks = vec![
        text("  \n"),
        text("a\0b"),
        Block::Call(Call {
            id: "t".into(),
            name: "run\0 it!".into(),
            arguments: "{\"command\":\"a\\u0000\\\\u0000\0\"}".into(),
        }),
    ];
    let current = turn(
        "\0?",
        vec![
            reply(blocks, Some(ReplyStop::Done), vec![told("\0")]),
            reply(vec![text("")], Some(ReplyStop::Done), Vec::new()),
        ],
    );
    let arguments = "{\"command\":\"a\\ufffd\\\\u0000\u{fffd}\"}";
    assert_eq!(
        messages(&[], &current),
        [
            user(&["\u{fffd}?"]),
            Message::Assistant(vec![
                text("a\u{fffd}b"),
                Block::Call(Call { id: "t".into(), name: "run__it_".into(), arguments: arguments.into() })
            ]),
            results(&[("t", "\u{fffd}", false)], &[]),
        ]
    );
}

#[test]
fn without_tools_calls_of_the_past_are_told_in_words() {
    let earlier = turn("One?", vec![looks("a", "$ git log"), says("Done.")]);
    let shaped = shape("s".into(), Vec::new(), None, &[earlier], &turn("Two?", Vec::new()));
    assert_eq!(broken_rule(&shaped.request), None);
    assert_eq!(
        shaped.request.messages,
        [
            user(&["One?"]),
            Message::Assistant(vec![text("Let me look.")]),
            user(&["Of an earlier command:\n$ git log"]),
            Message::Assistant(vec![text("Done.")]),
            user(&["Two?"]),
        ]
    );
}

fn known(context: Option<u64>, longest: Option<u64>) -> Model {
    Model {
        model: claude(),
        name: String::new(),
        context_tokens: context,
        max_output_tokens: longest,
        tools: Some(true),
        reasoning: None,
        price: None,
        listed_first: false,
    }
}

#[test]
fn a_reply_gets_what_its_model_can_and_a_small_context_is_shared() {
    for (context, longest, asked_for, budget) in [
        (None, None, None, 130_000),
        (None, Some(4_096), Some(4_096), 130_000),
        (None, Some(64_000), Some(32_000), 130_000),
        (Some(200_000), None, None, 130_000),
        (Some(200_000), Some(64_000), Some(32_000), 130_000),
        (Some(100_000), Some(8_000), Some(8_000), 92_000),
        (Some(8_192), Some(8_192), Some(4_096), 4_096),
        (Some(8_192), None, Some(4_096), 4_096),
        (Some(0), Some(0), Some(1), 0),
    ] {
        let limit = ReplyLimit::of(Some(&known(context, longest)));
        assert_eq!((limit.asked_for, limit.budget), (asked_for, budget), "{context:?} {longest:?}");
    }
    assert_eq!(ReplyLimit::of(None).budget, 130_000);
}

/// Shapes for a context of so many tokens, half of which is the reply's.
fn within(tokens: u64, earlier: &[StoredTurn], current: &StoredTurn) -> Shaped {
    let model = known(Some(tokens * 2), Some(tokens));
    let shaped = shape(String::new(), tools(), Some(&model), earlier, current);
    assert_eq!(broken_rule(&shaped.request), None);
    shaped
}

fn outputs(shaped: &Shaped) -> Vec<usize> {
    let results = shaped.request.messages.iter().flat_map(|message| match message {
        Message::User { results, .. } => results.as_slice(),
        Message::Assistant(_) => &[],
    });
    results.map(|result| result.text.len()).collect()
}

#[test]
fn old_outputs_are_shortened_before_anything_is_left_out() {
    let output = "é".repeat(5_000);
    let earlier = [turn("1?", vec![looks("a", &output)]), turn("2?", vec![looks("b", &output)])];
    let current = turn("3?", vec![looks("c", &output)]);
    let short = 1_024 + "\n[shortened to make room: the first 1024 of 10000 bytes]".len();
    let all = within(20_000, &earlier, &current);
    assert_eq!((outputs(&all), all.left_out), (vec![10_000, 10_000, 10_000], 0));
    let oldest = within(8_000, &earlier, &current);
    assert_eq!((outputs(&oldest), oldest.left_out), (vec![short, 10_000, 10_000], 0));
    let both = within(5_000, &earlier, &current);
    assert_eq!((outputs(&both), both.left_out), (vec![short, short, 10_000], 0));
    let one_turn = within(4_000, &earlier, &current);
    assert_eq!((outputs(&one_turn), one_turn.left_out), (vec![short, 10_000], 3));
    let no_turn = within(3_500, &earlier, &current);
    assert_eq!((outputs(&no_turn), no_turn.left_out), (vec![10_000], 6));
    let last = within(500, &earlier, &current);
    assert_eq!((outputs(&last), last.left_out), (vec![short], 6), "the question is always asked");
    let Some(Message::User { results, .. }) = last.request.messages.last() else { panic!("{last:?}") };
    let note = "\n[shortened to make room: the first 1024 of 10000 bytes]";
    assert!(results.iter().all(|result| result.text.ends_with(note)));
}

#[test]
fn an_output_that_is_short_already_is_left_as_it_is() {
    let output = "x".repeat(SHORTENED_BYTES + 20);
    let shaped = within(10, &[], &turn("?", vec![looks("a", &output)]));
    assert_eq!(outputs(&shaped), [output.len()]);
}

#[test]
fn the_same_rows_give_the_same_request() {
    let earlier = [turn("1?", vec![looks("x", "a"), looks("x", "b")])];
    let current = turn("2?", vec![looks("x", "c")]);
    assert_eq!(shaped(&earlier, &current), shaped(&earlier, &current));
}
