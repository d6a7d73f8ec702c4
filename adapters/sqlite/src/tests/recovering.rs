//! A daemon that was killed: what is found, what is closed, what goes on. For every sequence of steps, cut anywhere.

use super::*;
use owl_domain::{
    conversation::{ItemBody, Part},
    limits,
    turn::{CallProgress, Step, TurnState},
};
use proptest::{prelude::*, test_runner::Config};
use std::collections::{BTreeMap, BTreeSet};

/// Kills and recovers; says whether the Turn is still there to be carried on.
async fn recovered(owl: Owl, turn: TurnId) -> (Owl, bool) {
    let owl = owl.killed();
    let remaining = owl.store.turns().recover(owl.now).await.unwrap();
    let remains = remaining.contains(&turn);
    let told = owl.store.turns().get(turn).await.unwrap().unwrap();
    let interrupted = matches!(told.state, TurnState::Finished(ended) if ended.ending == Ending::Interrupted);
    assert_eq!(remains, !interrupted);
    (owl, remains)
}

#[tokio::test]
async fn a_turn_that_had_asked_nobody_yet_is_not_asked_again() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn = owl.begin(conversation, "one").await.turn;
    let (owl, remains) = recovered(owl, turn).await;
    assert!(!remains);
    // "Go on" works next.
    owl.begin(conversation, "go on").await;
}

#[tokio::test]
async fn a_turn_that_streamed_keeps_its_text_and_is_interrupted() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn = owl.begin(conversation, "one").await.turn;
    let item = owl.store.turns().open_text(turn, owl.now).await.unwrap();
    owl.store.turns().append(item, Part::Text, &"x".repeat(20_000));
    owl.streamed(turn, |stored| !stored.is_empty()).await;
    let (owl, remains) = recovered(owl, turn).await;
    assert!(!remains);
    let expected = ItemBody::Assistant { text: "x".repeat(20_000), reasoning: String::new(), complete: false };
    assert_eq!(owl.item(conversation, item).await.body, expected);
}

#[tokio::test]
async fn a_turn_that_waited_still_waits_and_one_with_a_running_command_does_not() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn = owl.asked(conversation, &["cat a", "cat b"]).await;
    let one = owl.propose(at(turn, 0), "cat a").await.unwrap();
    let (owl, remains) = recovered(owl, turn).await;
    assert!(remains, "a call is to be judged");
    let other = owl.propose(at(turn, 1), "cat b").await.unwrap();
    let (owl, remains) = recovered(owl, turn).await;
    assert!(remains, "both wait");
    assert_eq!(owl.store.proposals().get(one.id).await.unwrap(), Some(one.clone()));
    owl.answer(&one, Said::AllowOnce).await.unwrap();
    let (owl, remains) = recovered(owl, turn).await;
    assert!(remains, "an allowed one has not started");
    assert!(matches!(owl.load(turn).await.next(), Step::Run(..)));
    owl.start(&one).await;
    let seq = owl.newest();
    let (owl, remains) = recovered(owl, turn).await;
    assert!(!remains);
    let names = owl.names_after(seq).await;
    assert_eq!(names, ["proposal.resolved", "item.completed", "item.completed", "turn.finished"]);
    let outcome = async |proposal: &Proposal| match owl.item(conversation, proposal.item).await.body {
        ItemBody::Command(command) => command.outcome,
        body => panic!("{body:?}"),
    };
    assert_eq!(outcome(&one).await, Some(CommandOutcome::Interrupted));
    assert_eq!(outcome(&other).await, Some(CommandOutcome::Cancelled));
    assert!(owl.answer(&other, Said::AllowOnce).await.is_err());
}

#[tokio::test]
async fn a_turn_that_was_cancelled_is_closed_as_cancelled_by_whoever_carries_it_on() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn = owl.begin(conversation, "one").await.turn;
    owl.store.turns().cancel(conversation, None, owl.now).await.unwrap();
    let (owl, remains) = recovered(owl, turn).await;
    assert!(remains);
    assert_eq!(owl.load(turn).await.next(), Step::Close(Ending::Cancelled));
}

#[tokio::test]
async fn streamed_text_is_stored_without_waiting_for_its_end() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn = owl.begin(conversation, "one").await.turn;
    let item = owl.store.turns().open_text(turn, owl.now).await.unwrap();
    let text = "long enough to be written at once. ".repeat(1_000);
    for piece in text.split_inclusive(' ') {
        owl.store.turns().append(item, Part::Text, piece);
    }
    owl.store.turns().append(item, Part::Stdout, "not a part of it");
    owl.streamed(turn, |stored| stored == text).await;
    let ItemBody::Assistant { text: open, complete, .. } = owl.item(conversation, item).await.body else { panic!() };
    assert_eq!((open, complete), (text.clone(), false));
    owl.store.turns().append(item, Part::Text, "And the end.");
    owl.close(turn, Ending::Interrupted).await;
    assert_eq!(owl.store.turns().text(turn).await.unwrap(), text.clone() + "And the end.");
    // An Item that is closed grows no more.
    owl.store.turns().append(item, Part::Text, "late");
    let owl = owl.reopen();
    assert_eq!(owl.store.turns().text(turn).await.unwrap(), text + "And the end.");
}

#[derive(Debug, Clone)]
enum Move {
    Begin,
    Open,
    Text,
    Record(usize),
    Propose(u32),
    Answer(usize, u8),
    Start(usize),
    Settle(usize),
    Expire,
    Cancel,
    Close,
    Kill,
    KillAndRecover,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        3 => Just(Move::Begin),
        2 => Just(Move::Open),
        2 => Just(Move::Text),
        4 => (0..4usize).prop_map(Move::Record),
        8 => (0..4u32).prop_map(Move::Propose),
        8 => (0..6usize, 0..3u8).prop_map(|(which, what)| Move::Answer(which, what)),
        5 => (0..6usize).prop_map(Move::Start),
        5 => (0..6usize).prop_map(Move::Settle),
        1 => Just(Move::Expire),
        1 => Just(Move::Cancel),
        1 => Just(Move::Close),
        2 => Just(Move::Kill),
        1 => Just(Move::KillAndRecover),
    ];
    prop::collection::vec(one, 1..40)
}

/// What a test knows of the daemon that it plays.
struct Played {
    owl: Owl,
    conversation: ConversationId,
    turn: Option<TurnId>,
    open: Option<ItemId>,
    proposals: Vec<(CallRef, Proposal)>,
}

impl Played {
    async fn play(mut self, step: &Move) -> Self {
        let (turns, now) = (self.owl.store.turns(), self.owl.now);
        let at_work = match self.turn {
            Some(turn) => turns.get(turn).await.unwrap().filter(|turn| !turn.is_finished()).map(|turn| turn.id),
            None => None,
        };
        match (step, at_work) {
            (Move::Begin, _) => {
                if let Ok(begun) = turns.begin(turn(self.conversation, "What is there?"), now).await {
                    self.turn = Some(begun.turn);
                    self.open = None;
                }
            }
            (Move::Open, Some(turn)) if self.open.is_none() && self.asks(turn).await => {
                self.open = Some(turns.open_text(turn, now).await.unwrap());
            }
            (Move::Text, Some(_)) => {
                if let Some(item) = self.open {
                    turns.append(item, Part::Text, &"words ".repeat(3_000));
                }
            }
            (Move::Record(count), Some(turn)) if self.open.is_some() || self.asks(turn).await => {
                let lines = ["cat a", "git log", "ls"];
                turns.record(turn, self.open.take(), calls(&lines[..*count]), 0, now).await.unwrap();
            }
            (Move::Propose(position), Some(turn)) => {
                let reply = u32::try_from(self.owl.load(turn).await.replies.len()).unwrap().saturating_sub(1);
                let call = CallRef { turn, reply, position: *position };
                if let Ok(proposal) = self.owl.propose(call, "git log").await {
                    self.proposals.push((call, proposal));
                }
            }
            (Move::Answer(which, what), _) => {
                let said = [Said::AllowOnce, Said::AllowForConversation, Said::Deny(None)];
                if let Some((_, proposal)) = self.proposals.get(*which) {
                    // Losing is an outcome too.
                    drop(self.owl.answer(proposal, said[usize::from(*what)].clone()).await);
                }
            }
            (Move::Start(which), _) => {
                if let Some((_, proposal)) = self.proposals.get(*which) {
                    let _won_or_lost = self.owl.try_start(proposal).await;
                }
            }
            (Move::Settle(which), _) => {
                if let Some((call, proposal)) = self.proposals.get(*which) {
                    let now = self.owl.store.proposals().get(proposal.id).await.unwrap().unwrap();
                    let outcome = match now.decision.map(|decision| decision.outcome.name()) {
                        Some("denied") => CommandOutcome::Denied,
                        Some("expired") => CommandOutcome::Expired,
                        Some("allowed") if now.started_at.is_some() => ran("out"),
                        _ => return self,
                    };
                    let _won_or_lost = self.owl.try_settle(*call, proposal, outcome).await;
                }
            }
            (Move::Expire, _) => {
                self.owl.pass(3_600_000);
                self.owl.store.proposals().expire_due(self.owl.now).await.unwrap();
            }
            (Move::Cancel, _) => {
                turns.cancel(self.conversation, None, now).await.unwrap();
            }
            (Move::Close, Some(turn)) => {
                self.open = None;
                self.owl.close(turn, Ending::EndTurn).await;
            }
            (Move::Kill, _) => return self.kill().await,
            (Move::KillAndRecover, _) => {
                let killed = self.kill().await;
                let owl = &killed.owl;
                for turn in owl.store.turns().recover(owl.now).await.unwrap() {
                    let due = owl.load(turn).await.next();
                    let asks = matches!(due, Step::Ask | Step::Close(Ending::Interrupted));
                    assert!(!asks, "nothing is asked or run again by itself: {due:?}");
                }
                return Self { open: None, ..killed };
            }
            _ => {}
        }
        self
    }

    async fn asks(&self, turn: TurnId) -> bool {
        self.owl.load(turn).await.next() == Step::Ask
    }

    /// What was stored before the kill is there after it; of text, all but what was not written yet.
    async fn kill(self) -> Self {
        let before = match self.turn {
            Some(turn) => self.owl.store.turns().load(turn).await.unwrap(),
            None => None,
        };
        let owl = self.owl.killed();
        if let Some(before) = before {
            let mut after = owl.load(before.turn.id).await;
            for (reply, stored) in after.replies.iter_mut().zip(&before.replies) {
                if stored.stop.is_none() {
                    assert!(reply.text.starts_with(&stored.text));
                    reply.text.clone_from(&stored.text);
                }
            }
            assert_eq!(after, before);
        }
        Self { owl, ..self }
    }

    /// What holds of every history, however it came about.
    async fn check(self) {
        let owl = &self.owl;
        let mut started: BTreeMap<ItemId, u32> = BTreeMap::new();
        let mut completed: BTreeMap<ItemId, Item> = BTreeMap::new();
        let (mut created, mut resolved, mut starts, mut finished) =
            (BTreeSet::new(), BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        let mut prev = None;
        for event in owl.events_after(Seq(0)).await {
            assert_eq!(event.prev, prev);
            prev = Some(event.seq);
            match event.body {
                EventBody::ItemStarted(item) => *started.entry(item.id).or_default() += 1,
                EventBody::ItemCompleted(item) => assert!(completed.insert(item.id, item).is_none()),
                EventBody::ProposalCreated(proposal) => assert!(created.insert(proposal.id)),
                EventBody::ProposalResolved { proposal, decision, .. } => {
                    assert!(created.contains(&proposal));
                    assert!(resolved.insert(proposal, decision).is_none(), "an outcome is final");
                }
                EventBody::CommandStarted { proposal, .. } => assert!(starts.insert(proposal), "at most one start"),
                EventBody::TurnFinished(turn) => assert!(finished.insert(turn.id)),
                _ => {}
            }
        }
        assert!(started.values().all(|times| *times == 1));
        let mut last = Seq(0);
        for item in owl.items(self.conversation).await {
            assert!(item.seq > last);
            last = item.seq;
            let is_over = finished.contains(&item.turn);
            assert!(!is_over || item.completed_at.is_some(), "a Turn that is over leaves nothing open");
            assert_eq!(item.completed_at.map(|_| &item), completed.get(&item.id));
        }
        for (call, before) in &self.proposals {
            let now = owl.store.proposals().get(before.id).await.unwrap().unwrap();
            assert_eq!(now.decision.as_ref(), resolved.get(&now.id), "row and event agree");
            assert_eq!(now.started_at.is_some(), starts.contains(&now.id));
            assert!(now.decision.is_some() || !finished.contains(&now.turn));
            let stored = owl.load(call.turn).await;
            let answered = &stored.replies[call.reply as usize].calls[call.position as usize].progress;
            assert!(!matches!(answered, CallProgress::Unjudged));
        }
    }
}

proptest! {
    #![proptest_config(Config { cases: 48, failure_persistence: None, ..Config::default() })]

    #[test]
    fn every_history_cut_anywhere_goes_on_as_it_was(moves in moves()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let owl = Owl::new();
            let conversation = owl.conversation().await;
            let mut played = Played { owl, conversation, turn: None, open: None, proposals: Vec::new() };
            for step in &moves {
                played = played.play(step).await;
            }
            played.check().await;
        });
    }
}

#[tokio::test]
async fn large_events_are_read_a_few_at_a_time_and_none_is_left_out() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    for _ in 0..6 {
        let begun = owl.begin(conversation, &"x".repeat(100_000)).await;
        owl.close(begun.turn, Ending::EndTurn).await;
    }
    let some = owl.store.events().after(Seq(0), EventScope::All, 1_000).await.unwrap();
    let bytes: usize = some.iter().map(|event| event.text.len()).sum();
    let last = some.last().unwrap().text.len();
    assert!(bytes >= limits::EVENTS_AHEAD_BYTES && bytes - last < limits::EVENTS_AHEAD_BYTES, "{bytes}");
    let all = owl.events_after(Seq(0)).await;
    assert!(all.len() > some.len());
    assert!(all.is_sorted_by_key(|event| event.seq) && all.last().unwrap().seq == owl.newest());
}

#[tokio::test]
async fn what_is_told_from_memory_is_what_stands_in_the_file() {
    let owl = Owl::new();
    let (one, other) = (owl.conversation().await, owl.conversation().await);
    for conversation in [one, other, one] {
        let turn = owl.asked(conversation, &["git status"]).await;
        owl.close(turn, Ending::EndTurn).await;
    }
    let told = async |owl: &Owl| {
        let mut told = Vec::new();
        for scope in [EventScope::All, EventScope::Conversation(one), EventScope::Conversation(other)] {
            for after in (0..=owl.newest().0).map(Seq) {
                told.push(owl.store.events().after(after, scope.clone(), 3).await.unwrap());
            }
        }
        told
    };
    let from_memory = told(&owl).await;
    assert!(from_memory.iter().map(Vec::len).sum::<usize>() > 30);
    assert!(from_memory.iter().flatten().any(|event| event.item.is_some()));
    assert_eq!(told(&owl.reopen()).await, from_memory);
}
