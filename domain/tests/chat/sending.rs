//! A question is taken, once, or refused saying why with nothing stored (D7, D16).

use crate::world::{SHOP, TREE, World, anthropic};
use owl_domain::{
    ids::ConversationId,
    ports::{BeginError, Once},
    project::{NoWorkdir, WorkdirError},
    provider::{AccessError, Provider},
    text::ClientKey,
    turn::{Message, SendError},
};
use owl_testkit::{model::runs, tokio};
use std::sync::atomic::Ordering;

async fn refused(world: &World, message: Message) -> SendError {
    let before = world.store.events().len();
    let error = world.service().send(message).await.unwrap_err();
    assert_eq!(world.store.events().len(), before, "nothing was stored");
    assert_eq!(world.legs.pop(), None, "nobody was woken");
    error
}

fn once(key: &str, parameters: &str) -> Option<Once> {
    Some(Once { key: ClientKey::new(key).unwrap(), parameters: parameters.into() })
}

#[tokio::test]
async fn a_question_is_stored_and_its_turn_woken() {
    let world = World::new(vec![]);
    let begun = world.service().send(world.message("Any TODOs left?")).await.unwrap();
    assert!(!begun.duplicate);
    assert_eq!(world.store.event_names(), ["turn.started", "item.completed"]);
    assert_eq!(world.store.events().last().map(|event| event.seq), Some(begun.seq));
    assert_eq!(world.legs.pop(), Some(begun.turn));
    assert_eq!(world.model.asked(), [], "the answer does not wait for the model");
}

#[tokio::test]
async fn a_conversation_that_is_not_there_is_refused() {
    let world = World::new(vec![]);
    let mut message = world.message("Hello?");
    message.conversation = ConversationId::new(9);
    assert_eq!(refused(&world, message).await, SendError::Begin(BeginError::NotFound));
}

#[tokio::test]
async fn a_second_question_while_one_is_at_work_is_refused_naming_it() {
    let world = World::new(vec![runs(&["cat README.md"])]);
    let turn = world.ask().await;
    let busy = SendError::Begin(BeginError::Busy { turn });
    assert_eq!(refused(&world, world.message("Hello?")).await, busy);
    world.service().cancel(world.conversation, None).await.unwrap();
    world.legs.forget();
    assert_eq!(refused(&world, world.message("Hello?")).await, busy, "until it has ended");
    world.leg(turn).await.unwrap();
    assert!(world.service().send(world.message("Hello?")).await.is_ok());
}

#[tokio::test]
async fn two_questions_at_once_begin_one_turn() {
    let world = World::new(vec![]);
    let service = world.service();
    let (one, other) = tokio::join!(service.send(world.message("One?")), service.send(world.message("Other?")));
    let errors: Vec<_> = [one, other].into_iter().filter_map(Result::err).collect();
    assert!(matches!(errors[..], [SendError::Begin(BeginError::Busy { .. })]), "{errors:?}");
}

#[tokio::test]
async fn the_same_key_gives_the_same_turn_also_while_it_is_at_work() {
    let world = World::new(vec![runs(&["cat README.md"])]);
    let message = |parameters| Message { once: once("k1", parameters), ..world.message("Any TODOs left?") };
    let first = world.service().send(message("a")).await.unwrap();
    world.go_on().await;
    let again = world.service().send(message("a")).await.unwrap();
    assert!(again.duplicate);
    assert_eq!((again.turn, again.item, again.seq), (first.turn, first.item, first.seq));
    assert_eq!(refused(&world, message("b")).await, SendError::Begin(BeginError::Mismatch));
    let starts = world.store.event_names().into_iter().filter(|name| *name == "turn.started").count();
    assert_eq!(starts, 1);
}

#[tokio::test]
async fn the_same_key_twice_at_once_is_one_turn() {
    let world = World::new(vec![]);
    let message = || Message { once: once("k1", "a"), ..world.message("Any TODOs left?") };
    let service = world.service();
    let (one, other) = tokio::join!(service.send(message()), service.send(message()));
    assert_eq!(one.unwrap().turn, other.unwrap().turn);
}

#[tokio::test]
async fn a_directory_that_is_none_is_refused_with_those_that_are() {
    let world = World::new(vec![]);
    for (given, why) in
        [("shop", NoWorkdir::NotAbsolute), ("/home/u", NoWorkdir::NotKnown), ("/home/u/shop/src", NoWorkdir::Gone)]
    {
        let message = Message { workdir: Some(given.into()), ..world.message("Hello?") };
        let error = refused(&world, message).await;
        let SendError::Workdir(WorkdirError::Invalid { workdir, reason, known, known_total }) = error else {
            panic!("{error:?}");
        };
        assert_eq!((workdir.as_str(), reason, known_total), (given, why, 2));
        assert_eq!(known.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), [SHOP, TREE]);
    }
    let message = Message { workdir: Some(TREE.into()), ..world.message("Hello?") };
    let begun = world.service().send(message).await.unwrap();
    assert_eq!(world.store.turn(begun.turn).unwrap().workdir, Some(crate::world::path(TREE)));
}

#[tokio::test]
async fn no_model_to_be_had_is_refused_with_what_could_be_asked() {
    let mut world = World::new(vec![]);
    world.known.model = None;
    let required = |configured: &[Provider]| SendError::ModelRequired { configured: configured.to_vec() };
    let error = refused(&world, world.message("Hello?")).await;
    assert_eq!(error, required(&[Provider::Anthropic, Provider::Demo]));
    world.known.has_key.store(false, Ordering::SeqCst);
    assert_eq!(refused(&world, world.message("Hello?")).await, required(&[Provider::Demo]));
}

#[tokio::test]
async fn a_provider_without_a_key_is_refused() {
    let world = World::new(vec![]);
    world.known.has_key.store(false, Ordering::SeqCst);
    let message = || Message { model: Some(anthropic()), ..world.message("Hello?") };
    let provider = Provider::Anthropic;
    assert_eq!(refused(&world, message()).await, SendError::Access(AccessError::NotConfigured { provider }));
    world.known.has_key.store(true, Ordering::SeqCst);
    let begun = world.service().send(message()).await.unwrap();
    assert_eq!(world.store.turn(begun.turn).unwrap().model, anthropic(), "for this Turn only");
}

#[tokio::test]
async fn a_store_that_fails_takes_no_question() {
    let world = World::new(vec![]);
    world.store.break_down();
    let error = refused(&world, world.message("Hello?")).await;
    assert!(matches!(error, SendError::Begin(BeginError::Store(_))), "{error:?}");
}
