//! A command that was allowed is started once, its start stored before, and ends as it is said (D14, D16).

use crate::world::{Does, World, answer, peer, until};
use owl_domain::{
    consent::Said,
    conversation::CommandOutcome,
    ids::TurnId,
    ports::{Clock, Turns},
    turn::{Ending, TurnState},
};
use owl_testkit::{model::runs, tokio};

fn one() -> World {
    World::new(vec![runs(&["cat README.md"])])
}

#[tokio::test]
async fn one_that_cannot_be_forked_or_executed_says_so() {
    for (does, reason, starts) in
        [(Does::FailToFork, "too many processes", 0), (Does::FailToExecute, "cat could not be executed", 1)]
    {
        let world = one();
        world.commands.then(does);
        let turn = world.ask().await;
        world.allow(1).await;
        assert_eq!(world.outcomes(turn), ["failed"]);
        assert_eq!(world.told_at(turn, 0), format!("Not run: it was allowed, but could not be started: {reason}."));
        assert_eq!(world.store.starts().len(), starts);
        assert_eq!(world.commands.begun(), Vec::<String>::new());
        assert_eq!(world.ending(turn), Some(Ending::EndTurn));
    }
}

#[tokio::test]
async fn an_exit_that_is_not_zero_is_an_answer() {
    let world = one();
    world.commands.then(Does::Exit(1));
    let turn = world.ask().await;
    world.allow(1).await;
    assert_eq!(world.told_at(turn, 0), "$ cat -- README.md\nin /home/u/shop\nexit 1\n(it printed nothing)");
    assert_eq!(world.told(turn)[0].clone().map(|told| told.is_error), Some(false));
}

#[tokio::test]
async fn one_whose_turn_was_cancelled_between_fork_and_start_never_begins() {
    let world = one();
    let turn = world.ask().await;
    let (store, conversation, now) = (world.store.clone(), world.conversation, world.clock.now());
    world.commands.when_held(move || {
        // In one moment with the fork: nothing of the leg goes on before it.
        let mut cancelling = Box::pin(store.cancel(conversation, None, now));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        while cancelling.as_mut().poll(&mut context).is_pending() {}
    });
    world.allow(1).await;
    assert_eq!(world.commands.held().len(), 1);
    assert_eq!(world.commands.dropped(), 1, "the held process was dropped, not released");
    assert_eq!(world.commands.begun(), Vec::<String>::new());
    assert_eq!(world.store.starts(), []);
    assert_eq!(world.outcomes(turn), ["failed"]);
    let outcome = world.command_items(turn).remove(0).outcome;
    assert_eq!(outcome, Some(CommandOutcome::Failed { reason: "its turn had ended".into() }));
    assert_eq!(world.store.proposals()[0].state(), "allowed");
    assert_eq!(world.ending(turn), Some(Ending::Cancelled));
}

/// Allows a command that gets no place, and stops its leg in that way while it waits for one.
async fn stopped_in_the_queue(stop: impl AsyncFn(&World, TurnId)) -> (World, TurnId) {
    let world = one();
    world.commands.then(Does::WaitInQueue);
    let turn = world.ask().await;
    let stopping = async {
        until(|| world.commands.queued() == 1).await;
        stop(&world, turn).await;
    };
    tokio::join!(world.allow(1), stopping);
    world.assert_nothing_held();
    assert_eq!(world.store.starts(), []);
    assert_eq!(world.store.proposals()[0].state(), "allowed");
    (world, turn)
}

#[tokio::test]
async fn one_that_waits_for_a_place_when_the_daemon_stops_runs_after_its_start() {
    let (world, turn) = stopped_in_the_queue(async |world, _| world.legs.stop_all()).await;
    assert_eq!(world.outcomes(turn), ["open"]);
    world.restart().await;
    assert_eq!(world.commands.begun(), ["cat README.md"]);
    assert_eq!(world.outcomes(turn), ["ran"]);
    assert_eq!(world.ending(turn), Some(Ending::EndTurn));
}

#[tokio::test]
async fn one_that_waits_for_a_place_when_its_turn_is_cancelled_never_runs() {
    let (world, turn) = stopped_in_the_queue(async |world, turn| {
        world.service().cancel(world.conversation, Some(turn)).await.unwrap();
    })
    .await;
    assert_eq!(world.outcomes(turn), ["failed"]);
    assert_eq!(world.ending(turn), Some(Ending::Cancelled));
    world.restart().await;
    world.assert_nothing_held();
}

#[tokio::test]
async fn one_that_was_allowed_when_the_daemon_stops_runs_after_its_start() {
    let world = one();
    let turn = world.ask().await;
    let service = world.service();
    service.answer(answer(1, Said::AllowOnce), peer("owl-desktop")).await.unwrap();
    let stop = world.legs.begin(turn);
    stop.fire();
    service.advance(turn, stop, &*world.legs).await.unwrap();
    world.assert_nothing_held();
    assert_eq!(world.outcomes(turn), ["open"]);
    world.restart().await;
    assert_eq!(world.outcomes(turn), ["ran"]);
}

#[tokio::test]
async fn one_that_runs_when_its_turn_is_cancelled_is_stopped_and_says_so() {
    let world = one();
    world.commands.then(Does::Hang("half".into()));
    let turn = world.ask().await;
    let service = world.service();
    let running = async {
        world.allow(1).await;
    };
    let cancelling = async {
        until(|| world.live.seen().iter().any(|seen| seen.contains("half"))).await;
        assert_eq!(world.store.turn(turn).unwrap().state, TurnState::Running);
        service.cancel(world.conversation, Some(turn)).await.unwrap();
    };
    tokio::join!(running, cancelling);
    assert_eq!(world.outcomes(turn), ["ran"]);
    assert!(world.told_at(turn, 0).contains("\nstopped: the turn was cancelled\n"), "{}", world.told_at(turn, 0));
    assert!(world.told_at(turn, 0).contains("half"), "what it printed is kept");
    assert_eq!(world.ending(turn), Some(Ending::Cancelled));
    assert_eq!(world.model.asked().len(), 1);
}

#[tokio::test]
async fn one_that_runs_when_the_daemon_stops_is_stopped_and_the_turn_is_interrupted() {
    let world = World::new(vec![runs(&["cat README.md", "cat b"])]);
    world.commands.then(Does::Hang("half".into()));
    let turn = world.ask().await;
    let service = world.service();
    service.answer(answer(2, Said::AllowOnce), peer("owl-desktop")).await.unwrap();
    let stopping = async {
        until(|| world.live.seen().iter().any(|seen| seen.contains("half"))).await;
        world.legs.stop_all();
    };
    tokio::join!(world.go_on(), stopping);
    assert_eq!(world.outcomes(turn), ["cancelled", "ran"], "a Turn that ends takes what waits with it");
    assert!(world.told_at(turn, 1).contains("\nstopped: the daemon was stopping\n"));
    assert_eq!(world.ending(turn), Some(Ending::Interrupted));
    world.restart().await;
    assert_eq!(world.commands.begun().len(), 1, "nothing is run again");
}

#[tokio::test]
async fn each_runs_as_soon_as_it_was_allowed_whatever_else_runs() {
    let world = World::new(vec![runs(&["cat README.md", "cat b", "cat c"])]);
    world.commands.then(Does::Hang("half".into()));
    let turn = world.ask().await;
    let service = world.service();
    let answering = async {
        until(|| world.live.seen().iter().any(|seen| seen.contains("half"))).await;
        for (proposal, outcomes) in [(3, ["open", "open", "ran"]), (2, ["open", "ran", "ran"])] {
            service.answer(answer(proposal, Said::AllowOnce), peer("owl-desktop")).await.unwrap();
            until(|| world.outcomes(turn) == outcomes).await;
        }
        assert_eq!(world.model.asked().len(), 1, "not every call has its result");
        service.cancel(world.conversation, Some(turn)).await.unwrap();
    };
    tokio::join!(world.allow(1), answering);
    assert_eq!(world.commands.begun(), ["cat README.md", "cat c", "cat b"]);
    assert_eq!(world.outcomes(turn), ["ran", "ran", "ran"]);
    assert_eq!(world.ending(turn), Some(Ending::Cancelled));
}

#[tokio::test]
async fn all_that_run_when_the_daemon_stops_say_so_before_the_turn_is_interrupted() {
    let world = World::new(vec![runs(&["cat README.md", "cat b"])]);
    world.commands.then(Does::Hang("one".into()));
    world.commands.then(Does::Hang("two".into()));
    let turn = world.ask().await;
    let service = world.service();
    let stopping = async {
        until(|| world.live.seen().iter().any(|seen| seen.contains("one"))).await;
        service.answer(answer(2, Said::AllowOnce), peer("owl-desktop")).await.unwrap();
        until(|| world.live.seen().iter().any(|seen| seen.contains("two"))).await;
        world.legs.stop_all();
    };
    tokio::join!(world.allow(1), stopping);
    assert_eq!(world.outcomes(turn), ["ran", "ran"]);
    for call in 0..2 {
        assert!(world.told_at(turn, call).contains("\nstopped: the daemon was stopping\n"));
    }
    assert_eq!(world.ending(turn), Some(Ending::Interrupted));
}

#[tokio::test]
async fn what_it_prints_is_told_as_it_comes_and_its_end_is_told() {
    let world = one();
    world.ask().await;
    world.allow(1).await;
    let seen = world.live.seen();
    assert_eq!(seen[..3], ["open i_2", "stdout of i_2: hello\n", "close i_2"]);
}

#[tokio::test]
async fn no_two_legs_start_one_command() {
    let world = one();
    let turn = world.ask().await;
    let service = world.service();
    service.answer(answer(1, Said::AllowOnce), peer("owl-desktop")).await.unwrap();
    world.legs.forget();
    let (one, other) = (world.service(), world.service());
    let (a, b) = tokio::join!(
        one.advance(turn, world.legs.begin(turn), &*world.legs),
        other.advance(turn, world.legs.begin(turn), &*world.legs)
    );
    a.unwrap();
    b.unwrap();
    assert_eq!(world.store.starts().len(), 1);
    assert_eq!(world.commands.begun().len(), 1);
}
