//! What each step of a Turn writes and tells.

use super::*;
use owl_domain::{
    conversation::{ConversationState, ItemBody, Lookup, Part},
    gate::{Denial, DenialKind},
    ports::{BeginError, Judged, Once},
    provider::{Retrying, TurnError, TurnErrorKind},
    text::ClientKey,
    turn::{CallProgress, Step, TurnState},
};

#[tokio::test]
async fn a_whole_turn_is_told_in_order() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn = owl.begin(conversation, "Any TODOs left?\nPlease look.").await.turn;
    let item = owl.store.turns().open_text(turn, owl.now).await.unwrap();
    owl.store.turns().append(item, Part::Reasoning, "Hm.");
    owl.store.turns().append(item, Part::Text, "Let me ");
    owl.store.turns().append(item, Part::Text, "look.");
    owl.store.turns().record(turn, Some(item), calls(&["grep -rn TODO src"]), 3, owl.now).await.unwrap();
    let proposal = owl.propose(at(turn, 0), "grep -rn TODO src").await.unwrap();
    owl.answer(&proposal, Said::AllowForConversation).await.unwrap();
    assert_eq!(owl.try_start(&proposal).await, Moved::Won);
    assert_eq!(owl.try_settle(at(turn, 0), &proposal, ran("src/main.rs:3:// TODO\n")).await, Moved::Won);
    assert_eq!(owl.try_close(turn, Ending::EndTurn).await, Moved::Won);

    assert_eq!(
        owl.names_after(Seq(0)).await,
        [
            "conversation.created",
            "conversation.updated",
            "turn.started",
            "item.completed",
            "item.started",
            "item.completed",
            "item.started",
            "proposal.created",
            "proposal.resolved",
            "grant.created",
            "command.started",
            "command.finished",
            "item.completed",
            "turn.finished",
        ]
    );
    let told = owl.store.turns().get(turn).await.unwrap().unwrap();
    assert_eq!((told.rounds, told.left_out, told.usage), (1, 3, usage(10)));
    assert_eq!(owl.store.turns().text(turn).await.unwrap(), "Let me look.");
    let assistant = owl.item(conversation, item).await;
    let expected = ItemBody::Assistant { text: "Let me look.".into(), reasoning: "Hm.".into(), complete: true };
    assert_eq!(assistant.body, expected);
}

/// Every event's `prev` is the one before of its Conversation, and its own number is the one it is stored under.
#[tokio::test]
async fn events_of_a_conversation_are_linked() {
    let owl = Owl::new();
    let (one, other) = (owl.conversation().await, owl.conversation().await);
    let turn = owl.asked(one, &["cat a"]).await;
    owl.asked(other, &["cat b"]).await;
    owl.close(turn, Ending::EndTurn).await;
    let mut last = HashMap::new();
    for (at, event) in (1..).zip(owl.events_after(Seq(0)).await) {
        let owl_domain::turn::About::Conversation(conversation, _) = event.about else { panic!("{event:?}") };
        assert_eq!(event.seq, Seq(at));
        assert_eq!(event.prev, last.insert(conversation, event.seq), "{event:?}");
    }
}

/// What an Item's last event told is what is read of it afterwards, and its `seq` is that of its first event.
#[tokio::test]
async fn an_item_is_read_as_it_was_told() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn = owl.asked(conversation, &["cat a", "cat b"]).await;
    let proposal = owl.propose(at(turn, 0), "cat a").await.unwrap();
    owl.answer(&proposal, Said::AllowOnce).await.unwrap();
    owl.start(&proposal).await;
    owl.settle(at(turn, 0), &proposal, ran("hello\0\n\u{202e}world")).await;
    owl.propose(at(turn, 1), "cat b").await.unwrap();
    owl.close(turn, Ending::Cancelled).await;

    let (mut first, mut last) = (HashMap::new(), HashMap::new());
    for event in owl.events_after(Seq(0)).await {
        if let EventBody::ItemStarted(item) | EventBody::ItemCompleted(item) = event.body {
            first.entry(item.id).or_insert(event.seq);
            last.insert(item.id, item);
        }
    }
    let items = owl.items(conversation).await;
    assert_eq!(items.len(), 3);
    for item in items {
        assert_eq!(item.seq, first[&item.id]);
        assert_eq!(item, last[&item.id]);
    }
}

#[tokio::test]
async fn the_first_question_gives_the_title_and_grows_the_version() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn = owl.begin(conversation, "  \nWhat is\tin here?\nmore").await.turn;
    let now = owl.store.conversations().get(conversation).await.unwrap().unwrap();
    assert_eq!((now.title.as_str(), now.version, now.state), ("What is in here?", 2, ConversationState::Running));
    owl.close(turn, Ending::EndTurn).await;
    let seq = owl.newest();
    owl.begin(conversation, "And now?").await;
    assert_eq!(owl.names_after(seq).await, ["turn.started", "item.completed"]);
}

#[tokio::test]
async fn a_second_turn_is_busy_and_stores_nothing() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let at_work = owl.begin(conversation, "one").await.turn;
    let seq = owl.newest();
    let busy = owl.store.turns().begin(turn(conversation, "two"), owl.now).await;
    assert_eq!(busy, Err(BeginError::Busy { turn: at_work }));
    let gone = owl.store.turns().begin(turn(ConversationId::new(99), "two"), owl.now).await;
    assert_eq!(gone, Err(BeginError::NotFound));
    assert_eq!(owl.newest(), seq);
    assert_eq!(owl.items(conversation).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_questions_at_once_one_begins_a_turn() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let begins = (0..20).map(|n| {
        let (turns, now) = (owl.store.turns(), owl.now);
        tokio::spawn(async move { turns.begin(turn(conversation, &format!("question {n}")), now).await })
    });
    let mut begun = 0;
    for begin in begins.collect::<Vec<_>>() {
        match begin.await.unwrap() {
            Ok(_) => begun += 1,
            Err(error) => assert!(matches!(error, BeginError::Busy { .. }), "{error}"),
        }
    }
    assert_eq!(begun, 1);
}

fn once(key: &str, parameters: &str) -> Option<Once> {
    Some(Once { key: ClientKey::new(key).unwrap(), parameters: parameters.into() })
}

#[tokio::test]
async fn a_question_that_is_sent_again_is_the_same_turn() {
    let mut owl = Owl::new();
    let conversation = owl.conversation().await;
    let keyed = |parameters| NewTurn { once: once("k1", parameters), ..turn(conversation, "one") };
    let turns = owl.store.turns();
    let first = turns.begin(keyed("a"), owl.now).await.unwrap();
    let seq = owl.newest();
    let again = Begun { duplicate: true, ..first.clone() };
    // Before `busy` is looked at.
    assert_eq!(turns.begin(keyed("a"), owl.now).await, Ok(again.clone()));
    assert_eq!(turns.repeated(conversation, once("k1", "a").unwrap()).await, Ok(Some(again.clone())));
    assert_eq!(turns.begin(keyed("b"), owl.now).await, Err(BeginError::Mismatch));
    assert_eq!(turns.repeated(conversation, once("k1", "b").unwrap()).await, Err(BeginError::Mismatch));
    assert_eq!(turns.repeated(conversation, once("k2", "a").unwrap()).await, Ok(None));
    assert_eq!(owl.newest(), seq);

    // In another Conversation it is another key; after a restart it is still known; after a day it is forgotten.
    let other = owl.conversation().await;
    assert_eq!(turns.repeated(other, once("k1", "a").unwrap()).await, Ok(None));
    owl.close(first.turn, Ending::EndTurn).await;
    drop(turns);
    owl = owl.reopen();
    assert_eq!(owl.store.turns().begin(keyed("a"), owl.now).await, Ok(again));
    owl.pass(24 * 3_600_000);
    let anew = owl.store.turns().begin(keyed("b"), owl.now).await.unwrap();
    assert!(!anew.duplicate && anew.turn != first.turn);
}

#[tokio::test]
async fn calls_count_only_when_the_reply_was_done() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn = owl.begin(conversation, "one").await.turn;
    let cut = WholeReply { stop: ReplyStop::MaxTokens, ..calls(&["cat a"]) };
    owl.store.turns().record(turn, None, cut.clone(), 0, owl.now).await.unwrap();
    let stored = owl.load(turn).await;
    assert_eq!(stored.replies[0].blocks, cut.blocks);
    assert_eq!(stored.replies[0].calls, []);
    assert_eq!(stored.next(), Step::Close(Ending::MaxTokens));
    assert_eq!(owl.propose(at(turn, 0), "cat a").await, Err(OpenError::Lost));
}

#[tokio::test]
async fn a_reply_is_loaded_as_it_was_recorded() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn = owl.begin(conversation, "one").await.turn;
    let blocks = vec![
        Block::Raw("{\"type\":\"thinking\"}".into()),
        Block::Text("look".into()),
        Block::Call(Call { id: "a".into(), name: "run_command".into(), arguments: String::new() }),
        Block::Text("and".into()),
        Block::Call(Call { id: "b".into(), name: "list_jobs".into(), arguments: "{}".into() }),
    ];
    let refusal = ReplyStop::Refusal { explanation: Some("no \"really\"".into()) };
    for (reply, stop) in [(0, ReplyStop::Done), (1, ReplyStop::Pause), (2, refusal)] {
        let whole = WholeReply { blocks: blocks.clone(), stop: stop.clone(), usage: Usage::default() };
        owl.store.turns().record(turn, None, whole, 0, owl.now).await.unwrap();
        let stored = owl.load(turn).await.replies.remove(reply);
        assert_eq!((&stored.blocks, stored.stop, stored.model), (&blocks, Some(stop), model()));
        assert_eq!(stored.calls.len(), if reply == 0 { 2 } else { 0 });
    }
    let stored = owl.load(turn).await;
    let call = &stored.replies[0].calls[1];
    assert_eq!((call.at, call.call.id.as_str(), &call.progress), (at(turn, 1), "b", &CallProgress::Unjudged));
}

#[tokio::test]
async fn a_call_is_answered_once() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn = owl.asked(conversation, &["rm -rf .", "x", "cat c"]).await;
    let seq = owl.newest();
    let denial = Denial::about(DenialKind::Program, "rm", "`rm` is not a program Owl runs").instead("use ls");
    let denied =
        || Judged::Denied { requested: "rm -rf .".into(), workdir: Some(path(WORKDIR)), denial: denial.clone() };
    let settle = |call, judged| {
        let (turns, now) = (owl.store.turns(), owl.now);
        async move { turns.settle(call, judged, told("no"), now).await.unwrap() }
    };
    assert_eq!(settle(at(turn, 0), denied()).await, Moved::Won);
    assert_eq!(settle(at(turn, 0), denied()).await, Moved::Lost);
    assert_eq!(owl.propose(at(turn, 0), "cat a").await, Err(OpenError::Lost));
    let lookup = Lookup { tool: "list_jobs".into(), input: "{}".into(), result: "none".into(), failed: false };
    assert_eq!(settle(at(turn, 1), Judged::Lookup(lookup.clone())).await, Moved::Won);
    assert_eq!(owl.names_after(seq).await, ["item.completed", "item.completed"]);
    assert_eq!(settle(at(turn, 9), denied()).await, Moved::Lost);

    let items = owl.items(conversation).await;
    let ItemBody::Command(command) = &items[1].body else { panic!("{items:?}") };
    assert_eq!(command.outcome, Some(CommandOutcome::GateDenied(denial.clone())));
    assert_eq!((&command.shown, command.proposal), (&None, None));
    assert_eq!(items[2].body, ItemBody::Lookup(lookup));
    let stored = owl.load(turn).await;
    assert_eq!(stored.replies[0].calls[0].progress, CallProgress::Told(told("no")));
    assert!(matches!(stored.next(), Step::Judge(call) if call.at == at(turn, 2)));

    owl.close(turn, Ending::Cancelled).await;
    assert_eq!(settle(at(turn, 2), denied()).await, Moved::Lost);
}

#[tokio::test]
async fn another_try_is_told() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn = owl.begin(conversation, "one").await.turn;
    let retrying = Retrying {
        attempt: 1,
        max_attempts: 5,
        wait: Duration::from_secs(2),
        status: Some(529),
        message: "Overloaded".into(),
    };
    owl.store.turns().retrying(turn, retrying.clone(), owl.now).await.unwrap();
    let last = owl.events_after(Seq(0)).await.pop().unwrap();
    assert_eq!(last.body, EventBody::ProviderRetrying { model: model(), retrying });
}

#[tokio::test]
async fn a_turn_is_closed_once_with_all_that_was_open() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn = owl.asked(conversation, &["cat a", "cat b", "cat c", "cat d"]).await;
    let mut proposals = Vec::new();
    for (position, line) in [(0, "cat a"), (1, "cat b"), (2, "cat c")] {
        proposals.push(owl.propose(at(turn, position), line).await.unwrap());
    }
    owl.answer(&proposals[1], Said::AllowOnce).await.unwrap();
    owl.answer(&proposals[2], Said::AllowOnce).await.unwrap();
    owl.start(&proposals[2]).await;
    let seq = owl.newest();
    let error = TurnError {
        provider: Some(Provider::OpenRouter),
        model: Some(model()),
        hint: Some("wait".into()),
        status: Some(429),
        request_id: Some("r".into()),
        url: Some("https://example.test/".into()),
        retry_after: Some(Duration::from_millis(1_500)),
        attempts: 5,
        ..TurnError::of(TurnErrorKind::ProviderRateLimited, "too many requests")
    };
    let ending = Ending::Error(error);
    let broken = Usage { cost_usd: Some(0.25), ..usage(7) };
    let turns = owl.store.turns();
    assert_eq!(turns.close(turn, ending.clone(), broken, owl.now).await, Ok(Moved::Won));
    assert_eq!(
        owl.names_after(seq).await,
        ["proposal.resolved", "item.completed", "item.completed", "item.completed", "turn.finished"]
    );
    let outcomes: Vec<_> = owl
        .items(conversation)
        .await
        .into_iter()
        .filter_map(|item| match item.body {
            ItemBody::Command(command) => command.outcome,
            _ => None,
        })
        .collect();
    let failed = CommandOutcome::Failed { reason: "its turn had ended".into() };
    assert_eq!(outcomes, [CommandOutcome::Cancelled, failed, CommandOutcome::Interrupted]);

    let seq = owl.newest();
    assert_eq!(turns.close(turn, Ending::EndTurn, usage(1), owl.now).await, Ok(Moved::Lost));
    assert_eq!(owl.newest(), seq);
    let closed = turns.get(turn).await.unwrap().unwrap();
    assert_eq!(closed.usage, usage(10).plus(broken));
    assert!(matches!(closed.state, TurnState::Finished(ended) if ended.ending == ending && ended.at == owl.now));
    let told = owl.store.conversations().get(conversation).await.unwrap().unwrap();
    assert_eq!((told.usage, told.pending_count, told.item_count), (closed.usage, 0, 4));
    // What nobody was told is made when the history is read.
    let calls = &owl.load(turn).await.replies[0].calls;
    assert_eq!(calls[2].progress, CallProgress::Closed(CommandOutcome::Interrupted));
    assert_eq!(calls[3].progress, CallProgress::Unjudged);
}

#[tokio::test]
async fn a_cancelled_turn_has_nothing_to_cancel() {
    let owl = Owl::new();
    let (conversation, other) = (owl.conversation().await, owl.conversation().await);
    let turn = owl.asked(conversation, &["cat a", "cat b"]).await;
    let one = owl.propose(at(turn, 0), "cat a").await.unwrap();
    owl.propose(at(turn, 1), "cat b").await.unwrap();
    let seq = owl.newest();
    let cancel = |conversation, turn| {
        let (turns, now) = (owl.store.turns(), owl.now);
        async move { turns.cancel(conversation, turn, now).await.unwrap() }
    };
    assert_eq!(cancel(other, Some(turn)).await, None);
    assert_eq!(cancel(conversation, Some(TurnId::new(99))).await, None);
    assert_eq!(cancel(conversation, Some(turn)).await, Some(turn));
    assert_eq!(cancel(conversation, None).await, None);
    assert_eq!(owl.names_after(seq).await, ["proposal.resolved", "proposal.resolved"]);
    assert!(matches!(owl.answer(&one, Said::AllowOnce).await, Err(AnswerError::AlreadyResolved { .. })));
    let stored = owl.load(turn).await;
    assert!(stored.cancelling);
    assert_eq!(stored.next(), Step::Close(Ending::Cancelled));
    owl.close(turn, Ending::Cancelled).await;
    assert_eq!(owl.names_after(seq).await.iter().filter(|name| **name == "turn.finished").count(), 1);
}

#[tokio::test]
async fn a_turn_waits_only_while_nothing_else_is_due() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let state = async || owl.store.conversations().get(conversation).await.unwrap().unwrap().state;
    assert_eq!(state().await, ConversationState::Idle);
    let turn = owl.asked(conversation, &["cat a", "cat b"]).await;
    let one = owl.propose(at(turn, 0), "cat a").await.unwrap();
    assert_eq!(state().await, ConversationState::Running, "a call is not judged");
    let other = owl.propose(at(turn, 1), "cat b").await.unwrap();
    assert_eq!(state().await, ConversationState::AwaitingConsent);
    assert_eq!(owl.store.turns().get(turn).await.unwrap().unwrap().state, TurnState::AwaitingConsent);
    owl.answer(&one, Said::AllowOnce).await.unwrap();
    assert_eq!(state().await, ConversationState::Running, "one is to run");
    owl.start(&one).await;
    owl.settle(at(turn, 0), &one, ran("")).await;
    assert_eq!(state().await, ConversationState::AwaitingConsent);
    owl.answer(&other, Said::Deny(None)).await.unwrap();
    assert_eq!(state().await, ConversationState::Running, "the model is to be told");
}

#[tokio::test]
async fn turns_before_one_are_loaded_until_they_are_enough() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let mut turns = Vec::new();
    for number in 0..5 {
        let turn = owl.begin(conversation, &format!("question {number} {}", "x".repeat(1_000))).await.turn;
        owl.store.turns().record(turn, None, words("answer"), 0, owl.now).await.unwrap();
        owl.close(turn, Ending::EndTurn).await;
        turns.push(turn);
    }
    let earlier = owl.store.turns().earlier(turns[4], 1_500).await.unwrap();
    let loaded: Vec<_> = earlier.turns.iter().map(|turn| turn.turn.id).collect();
    assert_eq!((loaded, earlier.left_out), (turns[2..4].to_vec(), 2));
    let all = owl.store.turns().earlier(turns[4], usize::MAX).await.unwrap();
    assert_eq!((all.turns.len(), all.left_out), (4, 0));
    assert_eq!(owl.store.turns().newest(conversation).await.unwrap().unwrap().id, turns[4]);
}
