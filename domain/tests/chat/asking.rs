//! A model is asked, its text told as it comes and kept, and every end of a reply told as what it is (D16, D17).

use crate::world::{World, anthropic, until};
use owl_domain::{
    conversation::ItemBody,
    ids::TurnId,
    limits,
    provider::{Block, BrokenBy, Call, Piece, ReplyStop, Retrying, TurnError, TurnErrorKind},
    turn::{Ending, TurnState},
};
use owl_testkit::{
    model::{Said, ScriptedModel, broken, calls, runs, says, whole},
    tokio,
};
use std::{sync::atomic::Ordering, time::Duration};

fn text(piece: &str) -> Said {
    Said::Piece(Piece::Text(piece.into()))
}

/// The assistant Items of a Turn: text, reasoning, whether it is complete.
fn texts(world: &World, turn: TurnId) -> Vec<(String, String, bool)> {
    let texts = world.items(turn).into_iter().filter_map(|item| match item.body {
        ItemBody::Assistant { text, reasoning, complete } => Some((text, reasoning, complete)),
        ItemBody::User { .. } | ItemBody::Lookup(_) | ItemBody::Command(_) => None,
    });
    texts.collect()
}

fn call(line: &str) -> Block {
    let arguments = format!(r#"{{"command":"{line}"}}"#);
    Block::Call(Call { id: "call-0".into(), name: "run_command".into(), arguments })
}

#[tokio::test]
async fn text_is_told_as_it_comes_and_kept_whole() {
    let reasoning = Said::Piece(Piece::Reasoning("hm".into()));
    let reply = [vec![reasoning], says("Let me look.")].concat();
    let world = World::new(vec![reply]);
    let turn = world.ask().await;
    assert_eq!(texts(&world, turn), [("Let me look.".into(), "hm".into(), true)]);
    assert_eq!(
        world.live.seen(),
        ["open i_2", "reasoning of i_2: hm", "text of i_2: Let me", "text of i_2:  look.", "close i_2"]
    );
    assert_eq!(
        world.store.event_names(),
        ["turn.started", "item.completed", "item.started", "item.completed", "turn.finished"]
    );
    let told = world.store.turn(turn).unwrap();
    assert_eq!((told.rounds, told.usage.input_tokens, told.usage.output_tokens), (1, 10, 5));
    assert_eq!(world.service().view(turn).await.unwrap().unwrap().text, "Let me look.");
}

#[tokio::test]
async fn a_reply_without_text_makes_no_item() {
    let world = World::new(vec![vec![whole(vec![], ReplyStop::Done)]]);
    let turn = world.ask().await;
    assert_eq!(texts(&world, turn), []);
    assert_eq!(world.ending(turn), Some(Ending::EndTurn));
}

#[tokio::test]
async fn every_stop_of_a_reply_is_told_and_runs_no_call_of_it() {
    let refusal = ReplyStop::Refusal { explanation: None };
    for (stop, ending) in [
        (ReplyStop::StopSequence, Ending::StopSequence),
        (ReplyStop::MaxTokens, Ending::MaxTokens),
        (refusal, Ending::Refusal),
        (ReplyStop::ContentFilter, Ending::ContentFilter),
        (ReplyStop::ContextFull, Ending::ContextFull),
    ] {
        let reply = vec![text("I will"), whole(vec![Block::Text("I will".into()), call("cat README.md")], stop)];
        let world = World::new(vec![reply]);
        let turn = world.ask().await;
        assert_eq!(world.ending(turn), Some(ending));
        assert_eq!(texts(&world, turn), [("I will".into(), String::new(), true)]);
        assert_eq!(world.store.proposals(), []);
        assert_eq!(world.outcomes(turn), Vec::<&str>::new());
        assert_eq!(world.model.asked().len(), 1);
        world.assert_nothing_held();
    }
}

#[tokio::test]
async fn the_explanation_of_a_refusal_is_text_that_a_person_sees_and_no_model() {
    let refusal = || ReplyStop::Refusal { explanation: Some("This is not answered.".into()) };
    for (before, told) in [
        (vec![], "This is not answered."),
        (vec![text("Let me ")], "Let me \n\nThis is not answered."),
        (vec![Said::Piece(Piece::Reasoning("hm".into()))], "This is not answered."),
    ] {
        let world = World::new(vec![[before, vec![whole(vec![], refusal())]].concat(), says("Hello.")]);
        let turn = world.ask().await;
        assert_eq!(world.ending(turn), Some(Ending::Refusal));
        let seen = texts(&world, turn);
        assert_eq!((seen.len(), seen[0].0.as_str(), seen[0].2), (1, told, true));
        assert!(world.live.seen().contains(&"text of i_2: This is not answered.".to_owned()));
        world.ask().await;
        assert!(!format!("{:?}", world.model.asked()).contains("not answered"), "no model reads it");
    }
}

#[tokio::test]
async fn a_refusal_without_words_makes_no_item() {
    let blank = ReplyStop::Refusal { explanation: Some(" ".into()) };
    let world = World::new(vec![vec![whole(vec![], blank)]]);
    let turn = world.ask().await;
    assert_eq!((world.ending(turn), texts(&world, turn)), (Some(Ending::Refusal), vec![]));
}

#[tokio::test]
async fn a_pause_is_asked_on() {
    let paused = vec![text("Wait"), whole(vec![Block::Text("Wait".into())], ReplyStop::Pause)];
    let world = World::new(vec![paused, says("Done.")]);
    let turn = world.ask().await;
    assert_eq!(texts(&world, turn).len(), 2);
    assert_eq!(world.ending(turn), Some(Ending::EndTurn));
    assert_eq!(world.store.turn(turn).unwrap().rounds, 2);
}

#[tokio::test]
async fn a_broken_reply_keeps_its_text_and_runs_nothing() {
    let error = TurnError { status: Some(502), ..TurnError::of(TurnErrorKind::StreamIncomplete, "it broke off") };
    let reply = vec![text("Let me "), broken(BrokenBy::Error(error.clone()))];
    let world = World::new(vec![runs(&["cat README.md"]), reply]);
    let turn = world.ask().await;
    world.allow(1).await;
    assert_eq!(world.ending(turn), Some(Ending::Error(error)));
    assert_eq!(texts(&world, turn), [("Let me ".into(), String::new(), false)]);
    assert_eq!(world.outcomes(turn), ["ran"], "only what was allowed before");
    assert_eq!(world.store.proposals().len(), 1);
    let told = world.store.turn(turn).unwrap();
    assert_eq!((told.rounds, told.usage.input_tokens), (1, 13), "what it used is counted, the round is not");
    assert_eq!(world.known.last_error.lock().unwrap().as_deref(), Some("it broke off"));
    assert_eq!(world.live.seen().last().unwrap(), "close i_3");
}

#[tokio::test]
async fn the_next_message_after_a_broken_reply_works_and_clears_the_error() {
    let model = ScriptedModel::new(|request| {
        let questions = request.messages.len();
        let error = TurnError::of(TurnErrorKind::StreamError, "overloaded");
        if questions == 1 { vec![text("Hm"), broken(BrokenBy::Error(error))] } else { says("Fine.") }
    });
    let world = World::with_model(model);
    let first = world.ask().await;
    assert_eq!(world.error(first).kind, TurnErrorKind::StreamError);
    let second = world.ask().await;
    assert_eq!(world.ending(second), Some(Ending::EndTurn));
    assert_eq!(*world.known.last_error.lock().unwrap(), None);
}

#[tokio::test]
async fn a_prompt_that_is_too_long_is_a_full_context_and_no_error() {
    let world = World::new(vec![vec![broken(BrokenBy::ContextFull)]]);
    let turn = world.ask().await;
    assert_eq!(world.ending(turn), Some(Ending::ContextFull));
    assert_eq!(*world.known.last_error.lock().unwrap(), None);
}

#[tokio::test]
async fn a_retry_is_told_before_the_wait() {
    let retrying = Retrying {
        attempt: 1,
        max_attempts: 5,
        wait: Duration::from_secs(2),
        status: Some(529),
        message: "Overloaded".into(),
    };
    let world = World::new(vec![[vec![Said::Piece(Piece::Retrying(retrying))], says("Hi.")].concat()]);
    let turn = world.ask().await;
    assert_eq!(
        world.store.event_names()[2..],
        ["provider.retrying", "item.started", "item.completed", "turn.finished"]
    );
    let users = world.items(turn).into_iter().filter(|item| matches!(item.body, ItemBody::User { .. })).count();
    assert_eq!(users, 1, "the question is stored once");
}

#[tokio::test]
async fn a_turn_that_goes_on_calling_ends_at_the_bound_on_rounds() {
    let world = World::with_model(ScriptedModel::new(|_| calls([("list_projects", "{}".to_owned())])));
    let turn = world.ask().await;
    assert_eq!(world.ending(turn), Some(Ending::RoundLimit));
    let rounds = usize::try_from(limits::ROUNDS_PER_TURN).unwrap();
    assert_eq!(world.model.asked().len(), rounds);
    assert_eq!(world.told(turn).into_iter().flatten().count(), rounds, "the last calls are answered too");
}

/// Stops a Turn while its model is silent, in that way.
async fn stopped_while_silent(stop: impl AsyncFn(&World, TurnId)) -> (World, TurnId) {
    let world = World::new(vec![vec![text("Let me "), Said::Hang]]);
    let turn = world.service().send(world.message("Any TODOs left?")).await.unwrap().turn;
    let stopping = async {
        until(|| world.live.seen().len() == 2).await;
        assert_eq!(world.store.turn(turn).unwrap().state, TurnState::Running);
        stop(&world, turn).await;
    };
    tokio::join!(world.go_on(), stopping);
    (world, turn)
}

#[tokio::test]
async fn a_turn_that_is_cancelled_while_it_streams_keeps_its_text() {
    let (world, turn) = stopped_while_silent(async |world, turn| {
        world.service().cancel(world.conversation, Some(turn)).await.unwrap();
    })
    .await;
    assert_eq!(world.ending(turn), Some(Ending::Cancelled));
    assert_eq!(texts(&world, turn), [("Let me ".into(), String::new(), false)]);
    assert_eq!(world.live.seen().last().unwrap(), "close i_2");
}

#[tokio::test]
async fn a_turn_that_streams_when_the_daemon_stops_is_interrupted() {
    let (world, turn) = stopped_while_silent(async |world, _| world.legs.stop_all()).await;
    assert_eq!(world.ending(turn), Some(Ending::Interrupted));
    assert_eq!(texts(&world, turn), [("Let me ".into(), String::new(), false)]);
    world.restart().await;
    assert_eq!(world.model.asked().len(), 1, "it is not asked again by itself");
}

#[tokio::test]
async fn a_turn_that_would_ask_when_the_daemon_stops_is_interrupted_unasked() {
    let world = World::new(vec![]);
    let turn = world.service().send(world.message("Any TODOs left?")).await.unwrap().turn;
    let stop = world.legs.begin(turn);
    stop.fire();
    world.service().advance(turn, stop, &*world.legs).await.unwrap();
    assert_eq!(world.ending(turn), Some(Ending::Interrupted));
    assert_eq!(world.model.asked(), []);
}

#[tokio::test]
async fn what_waits_when_the_daemon_stops_waits_on() {
    let world = World::new(vec![runs(&["cat README.md"])]);
    let turn = world.ask().await;
    let stop = world.legs.begin(turn);
    stop.fire();
    world.service().advance(turn, stop, &*world.legs).await.unwrap();
    assert_eq!(world.store.turn(turn).unwrap().state, TurnState::AwaitingConsent);
    assert_eq!(world.outcomes(turn), ["open"]);
}

#[tokio::test]
async fn a_turn_at_its_end_ends_also_when_the_daemon_stops() {
    let world = World::new(vec![]);
    let turn = world.service().send(world.message("Any TODOs left?")).await.unwrap().turn;
    let reply = owl_domain::provider::WholeReply {
        blocks: vec![],
        stop: ReplyStop::Done,
        usage: owl_domain::provider::Usage::default(),
    };
    let now = owl_domain::ports::Clock::now(world.clock.as_ref());
    crate::world::turns(&world).record(turn, None, reply, 0, now).await.unwrap();
    let stop = world.legs.begin(turn);
    stop.fire();
    world.service().advance(turn, stop, &*world.legs).await.unwrap();
    assert_eq!(world.ending(turn), Some(Ending::EndTurn));
}

#[tokio::test]
async fn a_provider_that_lost_its_key_is_told_by_name() {
    let mut world = World::new(vec![]);
    world.known.model = Some(anthropic());
    let turn = world.service().send(world.message("Any TODOs left?")).await.unwrap().turn;
    world.known.has_key.store(false, Ordering::SeqCst);
    world.go_on().await;
    let error = world.error(turn);
    assert_eq!(error.kind, TurnErrorKind::ProviderNotConfigured);
    assert_eq!(error.hint.as_deref(), Some("give it a key: owl provider add anthropic"));
    assert_eq!(error.model, Some(anthropic()));
    assert_eq!(world.model.asked(), []);
    assert!(!format!("{error:?}").contains("sk-planted"));
}

#[tokio::test]
async fn the_model_gets_earlier_turns_and_every_result() {
    let world = World::new(vec![runs(&["cat README.md", "rm x"]), says("It says hello.")]);
    world.ask().await;
    world.allow(1).await;
    let second = world.model.asked().remove(1);
    let results: Vec<_> = second
        .messages
        .iter()
        .flat_map(|message| match message {
            owl_domain::provider::Message::User { results, .. } => results.clone(),
            owl_domain::provider::Message::Assistant(_) => Vec::new(),
        })
        .collect();
    assert_eq!(results.len(), 2);
    assert!(results[0].text.starts_with("$ cat -- README.md") && !results[0].is_error);
    assert!(results[1].text.starts_with("Not run: Owl denies this command") && results[1].is_error);
}
