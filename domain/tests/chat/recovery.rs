//! A killed daemon loses nothing that was decided, runs nothing twice, and tells nothing falsely (D16).

use crate::world::{Does, WINDOW, World, answer, peer, until};
use owl_domain::{
    consent::{Outcome, Said},
    conversation::{CommandOutcome, ItemBody},
    ids::TurnId,
    ports::AnswerError,
    turn::{CallProgress, Ending, TurnState},
};
use owl_testkit::{
    model::{Said as Speaks, runs, says},
    tokio,
};

/// Carries a Turn on until something holds, and kills the daemon there.
async fn killed_when(world: &World, turn: TurnId, holds: impl Fn() -> bool) {
    tokio::select! {
        biased;
        () = until(holds) => {}
        carried = world.leg(turn) => panic!("{carried:?}"),
    }
}

#[tokio::test]
async fn what_waits_waits_on_and_runs_once_after_its_second_gate() {
    let world = World::new(vec![runs(&["cat README.md"]), says("Done.")]);
    let turn = world.ask().await;
    let before = world.store.proposals();
    let events = world.store.events();
    world.restart().await;
    assert_eq!(world.store.proposals(), before, "the same id, digest and deadline");
    assert_eq!(world.store.events(), events, "nothing is told again");
    assert_eq!(world.files.located(), 1);
    world.allow(1).await;
    assert_eq!(world.files.located(), 2);
    assert_eq!(world.commands.begun(), ["cat README.md"]);
    assert_eq!(world.ending(turn), Some(Ending::EndTurn));
}

#[tokio::test]
async fn what_was_allowed_and_not_started_runs_once() {
    let world = World::new(vec![runs(&["cat README.md"])]);
    let turn = world.ask().await;
    world.service().answer(answer(1, Said::AllowOnce), peer("owl-desktop")).await.unwrap();
    world.restart().await;
    assert_eq!(world.commands.begun(), ["cat README.md"]);
    assert_eq!(world.outcomes(turn), ["ran"]);
    world.restart().await;
    assert_eq!(world.commands.begun().len(), 1);
}

#[tokio::test]
async fn what_was_held_and_not_started_is_held_anew() {
    let world = World::new(vec![runs(&["cat README.md"])]);
    let turn = world.ask().await;
    world.service().answer(answer(1, Said::AllowOnce), peer("owl-desktop")).await.unwrap();
    killed_when(&world, turn, || !world.commands.held().is_empty()).await;
    assert_eq!(world.commands.begun(), Vec::<String>::new());
    world.restart().await;
    assert_eq!((world.commands.held().len(), world.commands.begun().len()), (2, 1));
    assert_eq!(world.outcomes(turn), ["ran"]);
}

#[tokio::test]
async fn what_was_started_never_runs_again_and_is_told_as_started() {
    let world = World::new(vec![runs(&["cat a", "cat b", "cat c"])]);
    world.commands.then(Does::Hang("half".into()));
    world.commands.then(Does::WaitInQueue);
    let turn = world.ask().await;
    for proposal in [1, 2] {
        world.service().answer(answer(proposal, Said::AllowOnce), peer("owl-desktop")).await.unwrap();
    }
    killed_when(&world, turn, || !world.store.starts().is_empty()).await;
    world.restart().await;
    assert_eq!(world.store.starts().len(), 1);
    assert_eq!(world.ending(turn), Some(Ending::Interrupted));
    assert_eq!(world.outcomes(turn), ["interrupted", "failed", "cancelled"], "nothing else of the Turn runs");
    assert_eq!(
        world.command_items(turn)[1].outcome,
        Some(CommandOutcome::Failed { reason: "its turn had ended".into() })
    );
    let late = world.answer(3, Said::AllowOnce).await;
    let Err(AnswerError::AlreadyResolved { decision, .. }) = late else { panic!("{late:?}") };
    assert_eq!(decision.outcome, Outcome::Cancelled);

    // The next Turn's history says what is known.
    world.ask().await;
    let request = world.model.asked().pop().unwrap();
    let told = format!("{:?}", request.messages);
    assert!(told.contains("Started, but not known to have finished: the daemon stopped while it ran."), "{told}");
}

#[tokio::test]
async fn a_start_that_another_leg_finds_ends_the_turn() {
    // The same rows without `recover`: the pure heart says the same.
    let world = World::new(vec![runs(&["cat a", "cat b"])]);
    world.commands.then(Does::Hang("half".into()));
    world.commands.then(Does::WaitInQueue);
    let turn = world.ask().await;
    for proposal in [1, 2] {
        world.service().answer(answer(proposal, Said::AllowOnce), peer("owl-desktop")).await.unwrap();
    }
    killed_when(&world, turn, || !world.store.starts().is_empty()).await;
    world.leg(turn).await.unwrap();
    assert_eq!(world.ending(turn), Some(Ending::Interrupted));
    assert_eq!(world.outcomes(turn), ["interrupted", "failed"]);
    assert_eq!(world.commands.held().len(), 1);
}

#[tokio::test]
async fn a_turn_that_streamed_is_interrupted_and_not_asked_again() {
    let hang = vec![says("Let me look.")[0].clone(), Speaks::Hang];
    let world = World::new(vec![hang]);
    let turn = world.service().send(world.message("Any TODOs left?")).await.unwrap().turn;
    killed_when(&world, turn, || world.live.seen().len() == 2).await;
    world.restart().await;
    assert_eq!(world.ending(turn), Some(Ending::Interrupted));
    assert_eq!(world.model.asked().len(), 1);
    let [ItemBody::User { .. }, ItemBody::Assistant { complete: false, .. }] =
        &world.items(turn).into_iter().map(|item| item.body).collect::<Vec<_>>()[..]
    else {
        panic!("{:?}", world.items(turn));
    };
}

#[tokio::test]
async fn what_was_overdue_at_the_start_is_expired() {
    let world = World::new(vec![runs(&["cat README.md"])]);
    let turn = world.ask().await;
    world.clock.advance(WINDOW * 2);
    world.restart().await;
    assert_eq!(world.outcomes(turn), ["expired"]);
    assert_eq!(world.told_at(turn, 0), "Not run: nobody answered within 60 s. Nobody refused it either.");
    let late = world.answer(1, Said::AllowOnce).await;
    let Err(AnswerError::AlreadyResolved { decision, .. }) = late else { panic!("{late:?}") };
    assert_eq!(decision.outcome, Outcome::Expired);
    world.assert_nothing_held();
}

#[tokio::test]
async fn a_turn_that_was_cancelled_when_the_daemon_died_ends_cancelled() {
    let world = World::new(vec![runs(&["cat README.md"])]);
    let turn = world.ask().await;
    world.service().cancel(world.conversation, None).await.unwrap();
    world.restart().await;
    assert_eq!(world.ending(turn), Some(Ending::Cancelled));
    assert_eq!(world.outcomes(turn), ["cancelled"]);
}

#[tokio::test]
async fn two_conversations_do_not_wait_for_each_other() {
    let world = World::new(vec![runs(&["cat README.md"])]);
    let first = world.ask().await;
    let mut message = world.message("And here?");
    message.conversation = world.store.conversation();
    let second = world.send(message).await;
    assert_eq!(world.outcomes(second), ["open"]);
    world.allow(2).await;
    assert_eq!(world.ending(second), Some(Ending::EndTurn));
    assert_eq!(world.store.turn(first).unwrap().state, TurnState::AwaitingConsent);
}

#[tokio::test]
async fn every_call_of_a_turn_that_ended_has_what_a_result_is_made_of() {
    let world = World::new(vec![runs(&["cat a", "rm x", "cat b"])]);
    let turn = world.ask().await;
    world.service().cancel(world.conversation, None).await.unwrap();
    world.go_on().await;
    for call in world.store.stored(turn).unwrap().replies.into_iter().flat_map(|reply| reply.calls) {
        assert!(matches!(call.progress, CallProgress::Told(_) | CallProgress::Closed(_)), "{call:?}");
    }
}
