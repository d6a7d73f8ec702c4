//! The ports against a real file: what a change writes and tells, who wins, and what is left of it after a restart.

mod consent;
mod conversations;
mod deleting;
mod failing;
mod finding;
mod jobs;
mod opening;
mod recovering;
mod settings;
mod turns;
mod usage;

use crate::SqliteStore;
use owl_domain::{
    consent::{Answer, Answered, By, Peer, Proposal, Said},
    conversation::{CommandEnd, CommandOutcome, CommandResult, Item, Page},
    gate::{Confinement, Digest, Program, Shown, Verb},
    ids::{ConversationId, ItemId, Seq, TurnId},
    ports::{
        AnswerError, Begun, ConversationFilter, EventScope, EventText, Moved, NewConversation, NewProposal, NewTurn,
        OpenError, Settled, Window,
    },
    project::{Pin, Pins, Project, Workdir},
    provider::{Block, Call, ModelRef, Provider, ReplyStop, Usage, WholeReply},
    text::{AbsPath, BranchName, Clipped, ModelId, ProjectName, Question},
    time::Timestamp,
    turn::{CallRef, Ending, Event, EventBody, OnConsent, StoredTurn, Told},
};
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};
use tempfile::TempDir;

pub(crate) const WORKDIR: &str = "/home/u/my-app";

/// Writes an event so that a test can have it back.
#[derive(Default)]
pub(crate) struct Decodable {
    written: Mutex<HashMap<String, Event>>,
}

impl EventText for Decodable {
    fn encode(&self, event: &Event) -> String {
        let text = format!("{event:?}");
        self.written.lock().unwrap().insert(text.clone(), event.clone());
        text
    }
}

/// A store in a directory of its own, and a clock that a test moves.
pub(crate) struct Owl {
    pub(crate) directory: TempDir,
    pub(crate) store: SqliteStore,
    pub(crate) events: Arc<Decodable>,
    pub(crate) now: Timestamp,
}

impl Owl {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let events = Arc::new(Decodable::default());
        let store = SqliteStore::open(&directory.path().join("owl.db"), events.clone()).unwrap();
        Self { directory, store, events, now: Timestamp::from_millis(1_796_072_645_123) }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("owl.db")
    }

    /// Waits until the writer has stored of a Turn's streamed text what is waited for, however busy the machine is.
    pub(crate) async fn streamed(&self, turn: TurnId, is_there: impl Fn(&str) -> bool) {
        let stored = async {
            while !is_there(&self.store.turns().text(turn).await.unwrap()) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), stored).await.expect("the text is never stored");
    }

    /// Opens the file anew, as a daemon does that is started after another one died.
    pub(crate) fn reopen(self) -> Self {
        let Self { directory, store, events, now } = self;
        drop(store);
        let store = SqliteStore::open(&directory.path().join("owl.db"), events.clone()).unwrap();
        Self { directory, store, events, now }
    }

    /// The files as they are at this moment, opened in another directory: what a daemon finds after `kill -9`, which
    /// runs no clean-up. To be called while no write is under way.
    pub(crate) fn killed(self) -> Self {
        let Self { directory: before, store: _dies, events, now } = self;
        let directory = tempfile::tempdir().unwrap();
        for name in ["owl.db", "owl.db-wal"] {
            std::fs::copy(before.path().join(name), directory.path().join(name)).unwrap();
        }
        let store = SqliteStore::open(&directory.path().join("owl.db"), events.clone()).unwrap();
        Self { directory, store, events, now }
    }

    pub(crate) fn pass(&mut self, millis: u64) {
        self.now = self.now.plus(Duration::from_millis(millis));
    }

    pub(crate) async fn conversation(&self) -> ConversationId {
        let new = NewConversation { workdir: Some(path(WORKDIR)), model: Some(model()), ..NewConversation::default() };
        self.store.conversations().create(new, self.now).await.unwrap().conversation.id
    }

    pub(crate) async fn begin(&self, conversation: ConversationId, question: &str) -> Begun {
        self.store.turns().begin(turn(conversation, question), self.now).await.unwrap()
    }

    /// A Turn whose first reply called `run_command` once for each line.
    pub(crate) async fn asked(&self, conversation: ConversationId, lines: &[&str]) -> TurnId {
        let turn = self.begin(conversation, "What is there?").await.turn;
        self.reply(turn, lines).await;
        turn
    }

    pub(crate) async fn reply(&self, turn: TurnId, lines: &[&str]) {
        self.store.turns().record(turn, None, calls(lines), 0, self.now).await.unwrap();
    }

    pub(crate) async fn propose(&self, call: CallRef, line: &str) -> Result<Proposal, OpenError> {
        self.store.proposals().open(self.proposal(call, line), self.now).await
    }

    pub(crate) fn proposal(&self, call: CallRef, line: &str) -> NewProposal {
        let expires_at = self.now.plus(Duration::from_secs(3_600));
        NewProposal { call, shown: shown(line), workdir: workdir(), expires_at }
    }

    pub(crate) async fn answer(&self, proposal: &Proposal, verdict: Said) -> Result<Answered, AnswerError> {
        let answer = Answer { proposal: proposal.id, verdict, digest: None, conversation: None };
        self.store.proposals().answer(answer, client(), self.now).await
    }

    pub(crate) async fn start(&self, proposal: &Proposal) {
        assert_eq!(self.try_start(proposal).await, Moved::Won);
    }

    pub(crate) async fn try_start(&self, proposal: &Proposal) -> Moved {
        self.store.proposals().start(proposal.id, 4_311, self.now).await.unwrap()
    }

    pub(crate) async fn settle(&self, call: CallRef, proposal: &Proposal, outcome: CommandOutcome) {
        assert_eq!(self.try_settle(call, proposal, outcome).await, Moved::Won);
    }

    pub(crate) async fn try_settle(&self, call: CallRef, proposal: &Proposal, outcome: CommandOutcome) -> Moved {
        let settled = Settled { outcome, told: told("result") };
        self.store.proposals().settle(proposal.id, call, settled, self.now).await.unwrap()
    }

    pub(crate) async fn close(&self, turn: TurnId, ending: Ending) {
        assert_eq!(self.try_close(turn, ending).await, Moved::Won);
    }

    pub(crate) async fn try_close(&self, turn: TurnId, ending: Ending) -> Moved {
        self.store.turns().close(turn, ending, Usage::default(), self.now).await.unwrap()
    }

    pub(crate) async fn load(&self, turn: TurnId) -> StoredTurn {
        self.store.turns().load(turn).await.unwrap().unwrap()
    }

    pub(crate) async fn items(&self, conversation: ConversationId) -> Vec<Item> {
        self.store.conversations().items(conversation, Window::Newest, 200).await.unwrap().items
    }

    pub(crate) async fn item(&self, conversation: ConversationId, item: ItemId) -> Item {
        self.items(conversation).await.into_iter().find(|found| found.id == item).unwrap()
    }

    /// The events after a number, decoded.
    pub(crate) async fn events_after(&self, seq: Seq) -> Vec<Event> {
        let (mut stored, mut last) = (Vec::new(), seq);
        loop {
            let more = self.store.events().after(last, EventScope::All, 1_000).await.unwrap();
            let Some(newest) = more.last() else { break };
            last = newest.seq;
            stored.extend(more);
        }
        let written = self.events.written.lock().unwrap();
        stored.iter().map(|event| written.get(&event.text).unwrap().clone()).collect()
    }

    /// The names of the events after a number.
    pub(crate) async fn names_after(&self, seq: Seq) -> Vec<&'static str> {
        self.events_after(seq).await.iter().map(|event| event.body.name()).collect()
    }

    pub(crate) fn newest(&self) -> Seq {
        self.store.events().newest()
    }
}

pub(crate) fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

pub(crate) fn model() -> ModelRef {
    ModelRef { provider: Provider::Anthropic, id: ModelId::new("claude-x").unwrap() }
}

pub(crate) fn turn(conversation: ConversationId, question: &str) -> NewTurn {
    NewTurn {
        conversation,
        question: Question::new(question).unwrap(),
        workdir: Some(path(WORKDIR)),
        model: model(),
        on_consent: OnConsent::Ask,
        sent_by: peer(),
        tools: true,
        once: None,
    }
}

pub(crate) fn peer() -> Peer {
    Peer { pid: Some(4_242), uid: Some(1_000), program: Some("owl-desktop".into()) }
}

pub(crate) fn client() -> By {
    By::Client(peer())
}

pub(crate) fn told(text: &str) -> Told {
    Told { text: text.into(), is_error: false }
}

pub(crate) fn at(turn: TurnId, position: u32) -> CallRef {
    CallRef { turn, reply: 0, position }
}

pub(crate) fn usage(tokens: u64) -> Usage {
    Usage { input_tokens: tokens, output_tokens: 1, ..Usage::default() }
}

pub(crate) fn calls(lines: &[&str]) -> WholeReply {
    let call = |(number, line): (usize, &&str)| {
        Block::Call(Call {
            id: format!("call_{number}"),
            name: "run_command".into(),
            arguments: format!("{{\"command\":{line:?}}}"),
        })
    };
    let blocks = lines.iter().enumerate().map(call).collect();
    WholeReply { blocks, stop: ReplyStop::Done, usage: usage(10) }
}

pub(crate) fn words(text: &str) -> WholeReply {
    WholeReply { blocks: vec![Block::Text(text.into())], stop: ReplyStop::Done, usage: usage(10) }
}

/// What a line would be shown as; `git` with its verb, so that Grants can be told apart.
pub(crate) fn shown(line: &str) -> Shown {
    let words: Vec<String> = line.split(' ').map(String::from).collect();
    let program = Program::from_name(&words[0]).unwrap();
    let verb = words.get(1).and_then(|word| Verb::from_name(word));
    Shown {
        requested: line.into(),
        program,
        verb,
        path: path(&format!("/usr/bin/{}", program.name())),
        argv: words,
        added: vec![],
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        workdir: path(WORKDIR),
        confinement: Confinement::Both,
        digest: Digest::as_written(format!("sha256:{line}")),
    }
}

pub(crate) fn workdir() -> Workdir {
    Workdir { project: ProjectName::new("my-app").unwrap(), pins: pins(WORKDIR) }
}

pub(crate) fn pins(root: &str) -> Pins {
    let pin = |at: &str| Pin { path: path(at), device: u64::MAX - 1, inode: 7 };
    let git_dir = format!("{root}/.git");
    Pins { work_tree: pin(root), git_dir: pin(&git_dir), common_dir: pin(&git_dir) }
}

pub(crate) fn project(name: &str, root: &str) -> Project {
    Project {
        name: ProjectName::new(name).unwrap(),
        base_branch: BranchName::new("main").unwrap(),
        pins: pins(root),
        added_at: Timestamp::from_millis(5),
    }
}

pub(crate) fn ran(stdout: &str) -> CommandOutcome {
    CommandOutcome::Ran(CommandResult {
        ended_by: CommandEnd::Exit,
        exit_code: Some(0),
        signal: None,
        duration: Duration::from_millis(9),
        stdout: Clipped { head: stdout.into(), bytes: stdout.len() as u64, ..Clipped::default() },
        stderr: Clipped::default(),
        confinement: Confinement::Both,
    })
}

pub(crate) fn page(limit: u32) -> Page {
    Page { limit, cursor: None }
}

pub(crate) fn everything() -> ConversationFilter {
    ConversationFilter::default()
}

pub(crate) fn is_resolved(event: &Event) -> bool {
    matches!(event.body, EventBody::ProposalResolved { .. })
}
