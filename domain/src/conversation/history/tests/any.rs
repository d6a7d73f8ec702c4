//! What every request must be, and any rows that a crash can leave.

use super::*;
use proptest::prelude::*;

/// What every request must be, in words: the first rule that one breaks.
pub(super) fn broken_rule(request: &Request) -> Option<&'static str> {
    let messages = &request.messages;
    let mut ids = BTreeSet::new();
    let mut open: Vec<&str> = Vec::new();
    if !matches!(messages.first(), Some(Message::User { .. })) {
        return Some("the first message is the user's");
    }
    let mut last_was_user = None;
    for message in messages {
        let is_user = matches!(message, Message::User { .. });
        if last_was_user.replace(is_user) == Some(is_user) {
            return Some("roles alternate");
        }
        match message {
            Message::User { results, texts } => {
                if results.is_empty() && texts.is_empty() {
                    return Some("no message is empty");
                }
                let answered: Vec<&str> = results.iter().map(|result| result.call_id.as_str()).collect();
                if answered != open {
                    return Some("every call has one result, in the order of the calls, and every result its call");
                }
                open.clear();
                if texts.iter().chain(results.iter().map(|result| &result.text)).any(|text| is_bad_text(text)) {
                    return Some("no text is empty or holds NUL");
                }
            }
            Message::Assistant(blocks) => {
                if blocks.is_empty() {
                    return Some("no message is empty");
                }
                for block in blocks {
                    match block {
                        Block::Text(text) if is_bad_text(text) => return Some("no text is empty or holds NUL"),
                        Block::Text(_) | Block::Raw(_) => {}
                        Block::Call(call) => {
                            if !is_call_id(&call.id) || !ids.insert(call.id.clone()) {
                                return Some("ids are plain and occur once");
                            }
                            if call.arguments.contains('\0') || !is_call_id(&call.name) {
                                return Some("a call is plain");
                            }
                            open.push(&call.id);
                        }
                    }
                }
            }
        }
    }
    if !open.is_empty() {
        return Some("every call has its result in the message right after");
    }
    None
}

fn is_bad_text(text: &str) -> bool {
    text.trim().is_empty() || text.contains('\0')
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" \n".into()),
        Just("\0".into()),
        "[a-zé\0]{1,12}",
        Just("long ".repeat(2_000)),
    ]
}

fn any_progress() -> impl Strategy<Value = CallProgress> {
    prop_oneof![
        any_text().prop_map(|text| told(&text)),
        Just(CallProgress::Unjudged),
        Just(CallProgress::Closed(CommandOutcome::Interrupted)),
        Just(CallProgress::Closed(CommandOutcome::Expired)),
        Just(CallProgress::Closed(CommandOutcome::Failed { reason: "gone".into() })),
    ]
}

fn any_block() -> impl Strategy<Value = Block> {
    let id =
        prop_oneof![Just(String::from("call-1")), Just(String::from("owl_2")), "[a-z \0é]{0,3}", Just("i".repeat(70))];
    let arguments =
        prop_oneof![Just(String::new()), Just("{\"command\":\"a\\u0000\"}".into()), Just("{\"comm".into()), any_text()];
    prop_oneof![
        any_text().prop_map(Block::Text),
        Just(Block::Raw("{\"type\":\"thinking\"}".into())),
        (id, any_text(), arguments).prop_map(|(id, name, arguments)| Block::Call(Call { id, name, arguments })),
    ]
}

fn any_stop() -> impl Strategy<Value = Option<ReplyStop>> {
    prop_oneof![
        6 => Just(Some(ReplyStop::Done)),
        1 => Just(Some(ReplyStop::StopSequence)),
        1 => Just(Some(ReplyStop::MaxTokens)),
        1 => Just(Some(ReplyStop::Refusal { explanation: None })),
        1 => Just(Some(ReplyStop::ContentFilter)),
        1 => Just(Some(ReplyStop::ContextFull)),
        1 => Just(Some(ReplyStop::Pause)),
        2 => Just(None),
    ]
}

fn any_reply() -> impl Strategy<Value = StoredReply> {
    let models = prop_oneof![Just(claude()), Just(model(Provider::OpenRouter, "vendor/m"))];
    let progress = proptest::collection::vec(any_progress(), 0..5);
    (proptest::collection::vec(any_block(), 0..5), any_stop(), progress, models)
        .prop_map(|(blocks, stop, progress, model)| StoredReply { model, ..reply(blocks, stop, progress) })
}

fn any_turn() -> impl Strategy<Value = StoredTurn> {
    let endings = prop_oneof![
        Just(None),
        Just(Some(Ending::EndTurn)),
        Just(Some(Ending::Refusal)),
        Just(Some(Ending::Cancelled)),
        Just(Some(Ending::Interrupted)),
    ];
    (any_text(), proptest::collection::vec(any_reply(), 0..5), endings).prop_map(|(question, replies, ending)| {
        let turn = turn(&question, replies);
        match ending {
            Some(ending) => ended(ending, turn),
            None => turn,
        }
    })
}

proptest! {
    #[test]
    fn whatever_a_crash_left_every_service_takes_the_request(
        earlier in proptest::collection::vec(any_turn(), 0..6),
        current in any_turn(),
        elsewhere in any::<bool>(),
        offered in any::<bool>(),
        context in proptest::option::of(0_u64..60_000),
    ) {
        let mut current = current;
        if elsewhere {
            current.turn.model = model(Provider::OpenRouter, "vendor/m");
        }
        let offered = if offered { tools() } else { Vec::new() };
        let model = known(context, Some(4_096));
        let shaped = shape("s".into(), offered.clone(), Some(&model), &earlier, &current);
        prop_assert_eq!(broken_rule(&shaped.request), None, "{:#?}", shaped.request);
        let paused = current.replies.last().is_some_and(|reply| reply.stop == Some(ReplyStop::Pause));
        let last_is_user = matches!(shaped.request.messages.last(), Some(Message::User { .. }));
        prop_assert!(last_is_user || paused);
        let has_calls = shaped.request.messages.iter().any(|message| {
            matches!(message, Message::Assistant(blocks) if blocks.iter().any(|block| matches!(block, Block::Call(_))))
        });
        prop_assert!(!has_calls || !offered.is_empty(), "a call is sent only beside the tools that it calls");
    }
}
