//! A daemon that is killed at any instant: what was acknowledged is there, nothing runs twice, nothing is told falsely,
//! and the conversation goes on before a model that is strict about its history.

use crate::{
    support::{World, owl},
    work::{Held, fifo, held, question, replayed, runs, strict, talk},
};
use owl_testkit::{Client, Daemon, StrictModel};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// A step of a Turn, after which the daemon is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// An event of that type; the second of it where the answer's own comes first.
    Event(&'static str, usize),
    /// The answer's bytes were written; nobody knows whether they were read.
    AnswerSent,
    /// The answer was answered.
    AnswerTold,
}

const STEPS: [After; 12] = [
    After::Event("turn.started", 1),
    After::Event("item.delta", 1),
    After::Event("item.completed", 2),
    After::Event("proposal.created", 1),
    After::AnswerSent,
    After::AnswerTold,
    After::Event("proposal.resolved", 1),
    After::Event("command.started", 1),
    After::Event("command.finished", 1),
    After::Event("item.completed", 3),
    After::Event("item.delta", 8),
    After::Event("turn.finished", 1),
];

#[tokio::test]
async fn killed_after_any_step_between_a_question_and_its_end_nothing_is_lost_run_twice_or_told_falsely() {
    let mut world = World::new().await;
    let model = strict(&mut world).await;
    for step in STEPS {
        for line in ["wc -c README.md", "git status"] {
            world = killed_after(world, &model, step, line).await;
        }
    }
}

async fn killed_after(mut world: World, model: &StrictModel, step: After, line: &str) -> World {
    let workdir = world.workdir();
    let c = talk(&mut world.client, &workdir).await;
    let mut told = Held::default();
    replayed(&world.daemon, &c).await.into_iter().for_each(|event| told.take(event));
    world.client.ok("chat.send", json!({ "conversation_id": c, "text": format!("slowly\nrun: {line}") })).await;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut allowed = None;
    loop {
        let event = world.client.event().await;
        told.take(event.clone());
        let name = event["type"].as_str().unwrap();
        let count = counts.entry(name.to_owned()).or_default();
        *count += 1;
        if step == After::Event(STEP_NAMES.iter().find(|known| **known == name).copied().unwrap_or("other"), *count) {
            break;
        }
        assert!(name != "turn.finished", "{step:?} never came: {counts:?}");
        if name != "proposal.created" {
            continue;
        }
        let params = json!({ "proposal_id": event["proposal"]["id"], "decision": "allow" });
        if step == After::AnswerSent {
            let call = json!({ "jsonrpc": "2.0", "id": 999, "method": "consent.answer", "params": params });
            world.client.send_raw(format!("{call}\n").as_bytes()).await;
            break;
        }
        let answer = world.client.ok("consent.answer", params).await;
        assert_eq!((&answer["won"], &answer["state"]), (&json!(true), &json!("allowed")));
        allowed = Some(event["proposal"]["id"].clone());
        if step == After::AnswerTold {
            break;
        }
    }
    let mut world = world.crash().await;
    if let Some(id) = &allowed {
        let proposal = world.client.ok("consent.get", json!({ "proposal_id": id })).await;
        assert_eq!(proposal["state"], "allowed", "{step:?}: an acknowledged answer is kept");
    }
    settle(&mut world, &c, told).await;
    let events = replayed(&world.daemon, &c).await;
    honest(&events, &workdir);
    goes_on(&mut world, model, &c).await;
    world
}

/// The types of the steps.
const STEP_NAMES: [&str; 8] = [
    "turn.started",
    "item.delta",
    "item.completed",
    "proposal.created",
    "proposal.resolved",
    "command.started",
    "command.finished",
    "turn.finished",
];

/// Comes back with what was told before, allows what waits, and waits until the Turn has ended.
async fn settle(world: &mut World, c: &str, mut told: Held) {
    world.client.ok("chat.subscribe", json!({ "conversation_id": c, "after_seq": told.last() })).await;
    let mut live = false;
    while !live || !told.is_over() {
        let event = world.client.event().await;
        told.take(event.clone());
        for proposal in waiting(&event, &mut live) {
            let params = json!({ "proposal_id": proposal["id"], "decision": "allow" });
            assert_eq!(world.client.ok("consent.answer", params).await["won"], true);
        }
    }
    assert_eq!(replayed(&world.daemon, c).await, told.events, "every event that was told is there");
}

/// Returns the Proposals that a client has to answer now: those that wait when it is up to date, and those that come then.
fn waiting(event: &Value, live: &mut bool) -> Vec<Value> {
    match event["type"].as_str().unwrap() {
        "stream.live" => {
            *live = true;
            event["pending"].as_array().unwrap().clone()
        }
        "proposal.created" if *live && event["proposal"]["state"] == "pending" => vec![event["proposal"].clone()],
        _ => Vec::new(),
    }
}

/// Holds what is stored against itself: what was decided, what ran and what is told of it agree.
fn honest(events: &[Value], workdir: &str) {
    let of = |name: &'static str| events.iter().filter(move |event| event["type"] == name);
    for created in of("proposal.created") {
        let proposal = &created["proposal"];
        let id = &proposal["id"];
        let resolved: Vec<_> = of("proposal.resolved").filter(|event| event["proposal_id"] == *id).collect();
        assert_eq!(resolved.len(), 1, "{id} has one outcome");
        let started: Vec<_> = of("command.started").filter(|event| event["proposal_id"] == *id).collect();
        assert!(started.len() <= 1, "{id} ran twice");
        let item = of("item.completed").find(|event| event["item"]["proposal_id"] == *id).unwrap();
        let outcome = item["item"]["outcome"].as_str().unwrap();
        let decided = resolved[0]["outcome"].as_str().unwrap();
        let may_be: &[&str] = match (decided, started.len()) {
            ("allowed", 1) => &["ran", "interrupted", "failed"],
            ("allowed", _) => &["failed", "gate_denied"],
            (other, 0) => &[other],
            (other, _) => panic!("{id} was {other} and ran"),
        };
        assert!(may_be.contains(&outcome), "{id} was {decided}, started {} times, and is {outcome}", started.len());
        let finished = of("command.finished").filter(|event| event["item_id"] == item["item"]["id"]).count();
        assert_eq!(finished, usize::from(outcome == "ran"), "{id}");
    }
    for started in of("command.started") {
        assert_eq!(started["workdir"], workdir);
        assert!(!runs(started["pid"].as_i64().unwrap(), workdir), "a command outlived its daemon: {started}");
    }
}

/// The next question is answered, by a model that would refuse a history with a hole in it.
async fn goes_on(world: &mut World, model: &StrictModel, c: &str) {
    question(&mut world.client, c, "go on\nrun: git log --oneline -n 1").await;
    let shown = crate::support::proposal(&mut world.client).await;
    crate::support::allow(&mut world.client, &shown).await;
    let finished = world.client.event_of("turn.finished").await;
    assert_eq!(finished["turn"]["stop_reason"], "end_turn", "{finished}");
    assert_eq!(model.faults(), Vec::<String>::new());
}

#[tokio::test]
async fn killed_while_a_command_is_held_up_it_is_dead_with_its_daemon_and_the_model_is_told_what_is_known() {
    let mut world = World::new().await;
    let model = strict(&mut world).await;
    let fifo = fifo(&world.repo);
    let workdir = world.workdir();
    let c = talk(&mut world.client, &workdir).await;
    question(&mut world.client, &c, "run: git status\nrun: wc -c README.md\nrun: ls").await;
    let first = crate::support::proposal(&mut world.client).await;
    let second = crate::support::proposal(&mut world.client).await;
    crate::support::allow(&mut world.client, &first).await;
    let started = world.client.event_of("command.started").await;
    held(&started).await;
    assert!(runs(started["pid"].as_i64().unwrap(), &workdir));
    // Allowed, too: it runs beside the one that is held up.
    crate::support::allow(&mut world.client, &second).await;
    assert_eq!(crate::support::command(&mut world.client).await["outcome"], "ran");
    let mut world = world.crash().await;
    std::fs::remove_file(&fifo).unwrap();
    let events = replayed(&world.daemon, &c).await;
    honest(&events, &workdir);
    let items = events.iter().filter(|e| e["type"] == "item.completed").map(|e| &e["item"]);
    let outcomes: Vec<_> = items.map(|item| &item["outcome"]).skip(2).collect();
    assert_eq!(outcomes, [&json!("ran"), &json!("interrupted"), &json!("cancelled")]);
    world.client.ok("chat.subscribe", json!({ "conversation_id": c })).await;
    goes_on(&mut world, &model, &c).await;
    let last = model.requests().pop().unwrap().json().to_string();
    assert!(last.contains("Started, but not known to have finished: the daemon stopped while it ran."), "{last}");
    assert!(!last.contains("the user refused"), "{last}");
}

/// Numbers that look random and are the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// A client that talks without end, across every daemon, and remembers what it was told.
struct Talker {
    conversation: String,
    held: Held,
    /// Answers that were acknowledged.
    answers: BTreeMap<String, String>,
    /// Questions that were acknowledged, by their Turn.
    questions: Vec<String>,
    dice: Dice,
}

const QUESTIONS: [&str; 4] = [
    "slowly\nrun: wc -c README.md\nrun: git status\nthen\nrun: grep -rn TODO src\nthen",
    "run: git log --oneline -n 3\nrun: git push\nrun: ls",
    "slowly",
    "slowly\nrun: cat README.md\nthen\nrun: cat src/a.txt",
];

impl Talker {
    /// Talks until the daemon dies, or until it is told to stop and its Turn has ended.
    async fn talk(&mut self, socket: &Path, stop: &AtomicBool) {
        let mut client = Client::connect(socket).await;
        let params = json!({ "conversation_id": self.conversation, "after_seq": self.held.last() });
        if client.attempt("chat.subscribe", params).await.is_none() {
            return;
        }
        let mut live = false;
        loop {
            if live && (self.held.is_over() || self.questions.is_empty()) {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let text = QUESTIONS[usize::try_from(self.dice.roll(4)).unwrap()];
                let params = json!({ "conversation_id": self.conversation, "text": text });
                let Some(begun) = client.attempt("chat.send", params).await else { return };
                self.questions.push(begun.unwrap()["turn_id"].as_str().unwrap().to_owned());
            }
            let Some(event) = client.next_event().await else { return };
            self.held.take(event.clone());
            for proposal in waiting(&event, &mut live) {
                if self.answer(&mut client, &proposal).await.is_none() {
                    return;
                }
            }
        }
    }

    async fn answer(&mut self, client: &mut Client, proposal: &Value) -> Option<()> {
        let id = proposal["id"].as_str().unwrap().to_owned();
        let answer = match self.dice.roll(8) {
            0 | 1 => json!({ "proposal_id": id, "decision": "deny" }),
            2 => json!({ "proposal_id": id, "decision": "allow", "remember": "conversation" }),
            3 => {
                client.attempt("chat.cancel", json!({ "conversation_id": self.conversation })).await?.unwrap();
                return Some(());
            }
            _ => json!({ "proposal_id": id, "decision": "allow" }),
        };
        match client.attempt("consent.answer", answer).await? {
            Ok(answered) => drop(self.answers.insert(id, answered["state"].as_str().unwrap().to_owned())),
            // Cancelled with its Turn in the meantime, or answered before the daemon died.
            Err(error) => assert_eq!(error["data"]["kind"], "already_resolved"),
        }
        Some(())
    }
}

/// How often the daemon is killed; `OWL_TEST_KILLS` says otherwise.
fn kills() -> u64 {
    std::env::var("OWL_TEST_KILLS").ok().and_then(|many| many.parse().ok()).unwrap_or(24)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_random_instants_under_load_everything_acknowledged_is_there_and_nothing_ran_twice() {
    let mut world = World::new().await;
    let model = strict(&mut world).await;
    let workdir = world.workdir();
    let mut talkers = Vec::new();
    for n in 0..4 {
        let made = world.client.ok("conversations.create", json!({ "workdir": workdir })).await;
        let conversation = made["id"].as_str().unwrap().to_owned();
        let (held, dice) = (Held::default(), Dice(0x9e37_79b9_7f4a_7c15 ^ (n + 1)));
        talkers.push(Talker { conversation, held, answers: BTreeMap::new(), questions: Vec::new(), dice });
    }
    let World { home, repo, mut daemon, client } = world;
    drop(client);
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let stop = Arc::new(AtomicBool::new(false));
    for left in (0..=kills()).rev() {
        stop.store(left == 0, Ordering::Relaxed);
        let socket: PathBuf = home.socket();
        let talking = talkers.into_iter().map(|mut talker| {
            let (socket, stop) = (socket.clone(), stop.clone());
            tokio::spawn(async move {
                talker.talk(&socket, &stop).await;
                talker
            })
        });
        let talking: Vec<_> = talking.collect();
        if left > 0 {
            // Any instant will do: it is not waited for anything.
            tokio::time::sleep(Duration::from_millis(20 + dice.roll(280))).await;
            daemon.kill().await;
            daemon = Daemon::start(owl(), &home).await;
        }
        talkers = Vec::new();
        for talker in talking {
            talkers.push(talker.await.unwrap());
        }
    }
    let mut client = daemon.connect().await;
    for talker in &talkers {
        let stored = replayed(&daemon, &talker.conversation).await;
        assert_eq!(talker.held.events, stored, "every event that was told is there, and no other");
        honest(&stored, &workdir);
        for (id, state) in &talker.answers {
            assert_eq!(client.ok("consent.get", json!({ "proposal_id": id })).await["state"], *state, "{id}");
        }
        for turn in &talker.questions {
            let begun = stored.iter().filter(|e| e["type"] == "turn.started" && e["turn"]["id"] == **turn).count();
            assert_eq!(begun, 1, "{turn}");
        }
    }
    let mut world = World { home, repo, daemon, client };
    for talker in &talkers {
        world.client.ok("chat.subscribe", json!({ "conversation_id": talker.conversation })).await;
        question(&mut world.client, &talker.conversation, "go on").await;
        let finished = world.client.event_of("turn.finished").await;
        assert_eq!(finished["turn"]["stop_reason"], "end_turn", "{finished}");
    }
    assert_eq!(model.faults(), Vec::<String>::new());
}
