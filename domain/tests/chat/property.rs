//! For whatever a model calls and a person answers, cut anywhere: carried on from the rows, the same Items come of it,
//! no Proposal is started twice, and every call has its result (D16).

use crate::world::{Leads, WINDOW, World, answer, peer};
use owl_domain::{
    consent::Said,
    conversation::{CommandOutcome, Item, ItemBody, history},
    ids::TurnId,
    provider::{Block, Message, Request},
    turn::{Ending, StoredTurn, Turn, TurnState},
};
use owl_testkit::{
    model::{Said as Speaks, calls, says},
    tokio,
};
use proptest::{collection::vec, prelude::*, sample::select, test_runner::TestCaseResult};
use std::{
    collections::BTreeSet,
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

/// What a person does with the Proposal that waits longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answers {
    Allow,
    Remember,
    Deny,
    LetExpire,
    CancelTurn,
}

/// After so many waits of a leg the daemon is killed, or only that leg is gone.
#[derive(Debug, Clone, Copy)]
struct Cut {
    after: usize,
    is_daemon: bool,
}

/// A whole Turn that is to come the same way however it is cut.
#[derive(Debug, Clone)]
struct Script {
    rounds: Vec<(bool, Vec<(&'static str, String)>)>,
    answers: Vec<Answers>,
}

fn call() -> impl Strategy<Value = (&'static str, String)> {
    let command = |line: &str| ("run_command", format!(r#"{{"command":"{line}"}}"#));
    prop_oneof![
        6 => select(vec!["cat a", "cat b", "cat README.md", "wc -l a", "git status", "git log"]).prop_map(command),
        2 => select(vec!["rm -rf .", "cat /etc/passwd", "git push", "cat out", ""]).prop_map(command),
        1 => Just(command("cat later")),
        1 => Just(("list_projects", "{}".to_owned())),
        1 => Just(("read_file", "{}".to_owned())),
        1 => Just(("run_command", r#"{"command":"cat a","approved":true}"#.to_owned())),
        1 => Just(("run_command", r#"{"command":"cat"#.to_owned())),
    ]
}

fn script() -> impl Strategy<Value = Script> {
    use Answers::{Allow, CancelTurn, Deny, LetExpire, Remember};
    let answers = prop_oneof![
        5 => Just(Allow),
        2 => Just(Remember),
        2 => Just(Deny),
        1 => Just(LetExpire),
        1 => Just(CancelTurn),
    ];
    (vec((any::<bool>(), vec(call(), 1..4)), 0..4), vec(answers, 1..6))
        .prop_map(|(rounds, answers)| Script { rounds, answers })
}

fn cuts() -> impl Strategy<Value = Vec<Cut>> {
    vec((0..60_usize, any::<bool>()).prop_map(|(after, is_daemon)| Cut { after, is_daemon }), 0..6)
}

impl Script {
    fn world(&self) -> World {
        let round = |(talks, called): &(bool, Vec<(&'static str, String)>)| -> Vec<Speaks> {
            let mut reply = if *talks { says("Let me look.") } else { Vec::new() };
            let _end = reply.pop();
            let mut blocks = if *talks { vec![Block::Text("Let me look.".into())] } else { Vec::new() };
            for said in calls(called.iter().cloned()) {
                match said {
                    Speaks::Piece(owl_domain::provider::Piece::Whole(whole)) => {
                        blocks.extend(whole.blocks);
                        reply.push(owl_testkit::model::whole(std::mem::take(&mut blocks), whole.stop));
                    }
                    other => reply.push(other),
                }
            }
            reply
        };
        let world = World::new(self.rounds.iter().map(round).collect());
        world.files.lead("out", Leads::Outside);
        // What was proposed leads out from then on: the gate's second pass has something to deny.
        let store = world.store.clone();
        world.files.lead_by(move |word| {
            let was_proposed = || store.proposals().iter().any(|proposal| proposal.shown.requested == "cat later");
            if word == "later" && was_proposed() { Leads::Outside } else { Leads::Inside }
        });
        world
    }

    /// Answers the Proposal that waits longest. Says whether there was one.
    async fn answer(&self, world: &World, turn: TurnId) -> bool {
        let service = world.service();
        let Some(first) = service.view(turn).await.unwrap().unwrap().pending.into_iter().next() else {
            return false;
        };
        let at = usize::try_from(first.id.number()).unwrap();
        let verdict = match self.answers[at % self.answers.len()] {
            Answers::Allow => Said::AllowOnce,
            Answers::Remember => Said::AllowForConversation,
            Answers::Deny => Said::Deny(None),
            Answers::LetExpire => {
                world.clock.advance(WINDOW);
                service.expire_due().await.unwrap();
                return true;
            }
            Answers::CancelTurn => {
                service.cancel(world.conversation, Some(turn)).await.unwrap();
                return true;
            }
        };
        assert!(service.answer(answer(first.id.number(), verdict), peer("owl-desktop")).await.unwrap().won);
        true
    }

    /// Carries a Turn to its end, cut where `cuts` say.
    async fn carry(&self, world: &World, cuts: &[Cut]) -> TurnId {
        let turn = world.service().send(world.message("Any TODOs left?")).await.unwrap().turn;
        let mut cuts = cuts.iter();
        loop {
            while let Some(woken) = world.legs.pop() {
                let Some(cut) = cuts.next() else {
                    world.leg(woken).await.unwrap();
                    continue;
                };
                match polled(world.leg(woken), cut.after) {
                    Some(carried) => carried.unwrap(),
                    None if cut.is_daemon => {
                        world.store.kill();
                        world.legs.forget();
                        world.service().recover().await.unwrap();
                    }
                    None => owl_domain::ports::Legs::wake(world.legs.as_ref(), woken),
                }
            }
            if world.ending(turn).is_some() {
                return turn;
            }
            assert!(self.answer(world, turn).await, "a Turn that does not go on waits for somebody");
        }
    }
}

/// Polls a future so often, and drops it when it has not come to its end by then.
fn polled<T>(future: impl Future<Output = T>, most: usize) -> Option<T> {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..most {
        if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return Some(done);
        }
    }
    None
}

/// Holds of every Turn at its end, however it came there.
fn check_end(world: &World, turn: TurnId) -> TestCaseResult {
    let starts = world.store.starts();
    prop_assert_eq!(starts.iter().collect::<BTreeSet<_>>().len(), starts.len(), "no Proposal is started twice");
    prop_assert!(world.commands.begun().len() <= starts.len(), "nothing ran without its start");
    for proposal in world.store.proposals() {
        let decision = proposal.decision.expect("a Turn that ended leaves nothing open");
        let is_allowed = decision.outcome == owl_domain::consent::Outcome::Allowed;
        prop_assert!(is_allowed || proposal.started_at.is_none());
    }
    let names = world.store.event_names();
    let of = |name| names.iter().filter(|told| **told == name).count();
    prop_assert_eq!(of("turn.finished"), 1);
    prop_assert_eq!(names.last(), Some(&"turn.finished"));
    prop_assert_eq!(of("proposal.created"), world.store.proposals().len());
    prop_assert_eq!(of("proposal.resolved"), world.store.proposals().len());
    prop_assert_eq!(of("item.completed"), world.items(turn).len());
    for item in world.items(turn) {
        prop_assert!(item.completed_at.is_some());
    }
    check_history(world, turn)
}

/// The history as the next Turn sends it: each call is followed by its result, roles alternate.
fn check_history(world: &World, turn: TurnId) -> TestCaseResult {
    let earlier = world.store.stored(turn).unwrap();
    let before = earlier.clone();
    let next = StoredTurn {
        turn: Turn { state: TurnState::Running, ..earlier.turn.clone() },
        question: "And now?".into(),
        cancelling: false,
        replies: Vec::new(),
    };
    let shaped = history::shape(String::new(), owl_domain::turn::tools::offered(), None, &[earlier], &next);
    prop_assert_eq!(&before, &world.store.stored(turn).unwrap());
    valid(&shaped.request)
}

fn valid(request: &Request) -> TestCaseResult {
    let mut due: Vec<String> = Vec::new();
    for (at, message) in request.messages.iter().enumerate() {
        match message {
            Message::User { results, .. } => {
                prop_assert_eq!(at % 2, 0, "roles alternate, the user's first");
                let given: Vec<_> = results.iter().map(|result| result.call_id.clone()).collect();
                prop_assert_eq!(given, std::mem::take(&mut due), "each call has its result, in order");
            }
            Message::Assistant(blocks) => {
                prop_assert_eq!(at % 2, 1);
                due = blocks
                    .iter()
                    .filter_map(|block| match block {
                        Block::Call(call) => Some(call.id.clone()),
                        Block::Text(_) | Block::Raw(_) => None,
                    })
                    .collect();
            }
        }
    }
    prop_assert!(due.is_empty(), "no call is left without its result");
    Ok(())
}

/// What an Item came to, but for the numbers and times that depend on the way there.
fn content(items: Vec<Item>) -> Vec<ItemBody> {
    items.into_iter().map(|item| item.body).collect()
}

fn run(test: impl Future<Output = TestCaseResult>) -> TestCaseResult {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn however_a_turn_is_cut_the_same_comes_of_it(script in script(), cuts in cuts()) {
        run(async {
            let whole = script.world();
            let turn = script.carry(&whole, &[]).await;
            check_end(&whole, turn)?;

            let cut = script.world();
            let same = script.carry(&cut, &cuts).await;
            check_end(&cut, same)?;
            if cut.ending(same) == Some(Ending::Interrupted) {
                // What was decided and told before the cut is what it would have been.
                for (there, here) in content(whole.items(turn)).iter().zip(content(cut.items(same))) {
                    if let (ItemBody::Command(there), ItemBody::Command(here)) = (there, &here) {
                        let closed_early = matches!(
                            here.outcome,
                            Some(CommandOutcome::Interrupted | CommandOutcome::Cancelled | CommandOutcome::Failed { .. })
                                | Some(CommandOutcome::Denied | CommandOutcome::Expired)
                        );
                        prop_assert!(closed_early || here == there);
                        prop_assert_eq!(&here.requested, &there.requested);
                    }
                }
            } else {
                prop_assert_eq!(cut.ending(same), whole.ending(turn));
                prop_assert_eq!(cut.items(same), whole.items(turn));
                prop_assert_eq!(cut.store.events(), whole.store.events());
                prop_assert_eq!(cut.store.stored(same), whole.store.stored(turn));
            }
            Ok(())
        })?;
    }
}

#[test]
fn every_single_place_to_cut_is_survived() {
    let script = Script {
        rounds: vec![
            (true, vec![("run_command", r#"{"command":"cat a"}"#.into()), ("list_projects", "{}".into())]),
            (false, vec![("run_command", r#"{"command":"cat b"}"#.into())]),
        ],
        answers: vec![Answers::Remember],
    };
    let mut interrupted = 0;
    let (mut places, mut whole) = (0, 0);
    for is_daemon in [true, false] {
        for leg in 0..2 {
            for after in 0..120 {
                let world = script.world();
                let ahead = vec![Cut { after: usize::MAX, is_daemon }; leg];
                let cuts = [ahead, vec![Cut { after, is_daemon }]].concat();
                run(async {
                    let turn = script.carry(&world, &cuts).await;
                    check_end(&world, turn)?;
                    places += 1;
                    interrupted += usize::from(world.ending(turn) == Some(Ending::Interrupted));
                    whole += usize::from(world.ending(turn) == Some(Ending::EndTurn));
                    Ok(())
                })
                .unwrap();
            }
        }
    }
    assert_eq!(interrupted + whole, places);
    assert!(interrupted > 20 && whole > 20, "{interrupted} interrupted, {whole} whole");
}
