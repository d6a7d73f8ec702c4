//! When the store fails, a Turn ends saying so as soon as it can be said, and nothing is told that is not stored (D16).

use crate::world::World;
use owl_domain::{
    consent::Said,
    conversation::ItemBody,
    provider::TurnErrorKind,
    turn::{Ending, EventBody},
};
use owl_testkit::{
    model::{runs, says},
    tokio,
};

fn script() -> World {
    World::new(vec![
        [says("Let me look.")[..2].to_vec(), runs(&["cat a", "rm x"])].concat(),
        [says("And again.")[..2].to_vec(), runs(&["cat b"])].concat(),
        says("Done."),
    ])
}

/// The first question was answered, and what `cat` may be used for is granted.
async fn granted() -> World {
    let world = World::new(vec![runs(&["cat README.md"])]);
    world.ask().await;
    world.answer(1, Said::AllowForConversation).await.unwrap();
    World { model: script().model, ..world }
}

#[tokio::test]
async fn a_turn_that_cannot_be_saved_ends_with_storage_whichever_write_fails() {
    for writes in 0.. {
        let world = granted().await;
        let begun = world.service().send(world.message("And now?")).await.unwrap();
        let begins = world.commands.begun().len();
        world.legs.forget();
        world.store.fail_after(writes);
        let carried = world.leg(begun.turn).await;
        world.store.heal();
        if carried.is_ok() {
            assert_eq!(world.ending(begun.turn), Some(Ending::EndTurn));
            assert!(writes > 10, "each write of the Turn failed once");
            return;
        }
        let error = world.error(begun.turn);
        assert_eq!(error.kind, TurnErrorKind::Storage, "write {writes}");
        assert!(world.commands.begun().len() <= begins + 2);
        let begun_commands = world.commands.begun().len() - 1;
        assert!(begun_commands <= world.store.starts().len(), "write {writes}: nothing ran without its start");
        assert_all_is_stored(&world, begun.turn);
        assert_eq!(open_on_their_way(&world), 0, "write {writes}: no text is left growing");
        // The next question works.
        let next = world.service().send(world.message("Still there?")).await.unwrap();
        world.legs.forget();
        world.leg(next.turn).await.unwrap();
        assert!(matches!(world.ending(next.turn), Some(Ending::EndTurn)), "write {writes}");
    }
}

/// How many Items watchers believe to grow.
fn open_on_their_way(world: &World) -> usize {
    let seen = world.live.seen();
    let opened = seen.iter().filter(|seen| seen.starts_with("open ")).count();
    opened - seen.iter().filter(|seen| seen.starts_with("close ")).count()
}

/// Every event tells of what the rows hold, and no Item of a Turn that ended is open.
fn assert_all_is_stored(world: &World, turn: owl_domain::ids::TurnId) {
    let items = world.items(turn);
    for event in world.store.events() {
        if let EventBody::ItemCompleted(told) = event.body
            && told.turn == turn
        {
            assert!(items.contains(&told), "{told:?}");
        }
    }
    for item in items {
        assert!(item.completed_at.is_some());
        if let ItemBody::Command(command) = item.body {
            assert!(command.outcome.is_some());
        }
    }
}

#[tokio::test]
async fn a_start_that_could_not_be_stored_is_never_released() {
    let world = World::new(vec![runs(&["cat README.md"])]);
    let turn = world.ask().await;
    let store = world.store.clone();
    world.commands.when_held(move || store.fail_after(0));
    let service = world.service();
    service.answer(crate::world::answer(1, Said::AllowOnce), crate::world::peer("x")).await.unwrap();
    assert!(world.leg(turn).await.is_err());
    assert_eq!(world.commands.dropped(), 1);
    assert_eq!(world.commands.begun(), Vec::<String>::new());
    assert_eq!(world.store.starts(), []);
    assert_eq!(world.error(turn).kind, TurnErrorKind::Storage);
    assert_eq!(world.outcomes(turn), ["failed"]);
}

#[tokio::test]
async fn a_store_that_stays_broken_is_told_and_the_turn_closed_once_it_works() {
    let world = World::new(vec![runs(&["cat README.md"])]);
    let turn = world.service().send(world.message("Any TODOs left?")).await.unwrap().turn;
    world.store.break_down();
    assert!(world.leg(turn).await.is_err());
    assert_eq!(world.ending(turn), None);
    assert!(world.service().give_up(turn).await.is_err());
    world.store.heal();
    world.service().give_up(turn).await.unwrap();
    assert_eq!(world.error(turn).kind, TurnErrorKind::Storage);
    world.service().give_up(turn).await.unwrap();
    let ends = world.store.event_names().into_iter().filter(|name| *name == "turn.finished").count();
    assert_eq!(ends, 1, "its end is told once");
}

#[tokio::test]
async fn an_answer_that_could_not_be_stored_decides_nothing() {
    let world = World::new(vec![runs(&["cat README.md"])]);
    let turn = world.ask().await;
    world.store.fail_after(0);
    assert!(world.answer(1, Said::AllowForConversation).await.is_err());
    assert_eq!(world.outcomes(turn), ["open"]);
    assert_eq!(world.store.grants(), []);
    world.assert_nothing_held();
    world.allow(1).await;
    assert_eq!(world.outcomes(turn), ["ran"]);
}
