//! One conversation as the tests of this crate tell it: a question, a command that a person allows, an answer.

use owl_domain::{
    consent::{By, Decision, Grant, Outcome, Peer, Proposal, Scope},
    conversation::{
        CommandEnd, CommandItem, CommandOutcome, CommandResult, Conversation, ConversationState, Item, ItemBody,
    },
    gate::{Confinement, Digest, Program, Shown},
    ids::{ConversationId, GrantId, ItemId, ProposalId, Seq, TurnId},
    provider::{ModelRef, Provider, Usage},
    text::{AbsPath, Clipped, ModelId, ProjectName},
    time::Timestamp,
    turn::{About, Ended, Ending, Event, EventBody, OnConsent, Turn, TurnState},
};
use std::time::Duration;

pub(crate) const CHAT: ConversationId = ConversationId::new(12);
pub(crate) const TURN: TurnId = TurnId::new(40);

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

pub(crate) fn model() -> ModelRef {
    ModelRef { provider: Provider::Anthropic, id: ModelId::new("claude-x").unwrap() }
}

pub(crate) fn person() -> By {
    By::Client(Peer { pid: Some(4242), uid: Some(1000), program: Some("owl-desktop".into()) })
}

pub(crate) fn shown() -> Shown {
    let words = ["grep", "--exclude-dir=.git", "-r", "-n", "--exclude-dir=.[gG][iI][tT]", "--exclude=.[gG][iI][tT]"];
    Shown {
        requested: "grep -rn TODO src".into(),
        program: Program::Grep,
        verb: None,
        path: path("/usr/bin/grep"),
        argv: words.into_iter().chain(["--", "TODO", "src"]).map(String::from).collect(),
        added: vec![1, 4, 5],
        env: [("HOME", "/nonexistent"), ("LC_ALL", "C.UTF-8"), ("PATH", "/usr/bin:/bin")]
            .map(|(name, value)| (name.into(), value.into()))
            .into(),
        workdir: path("/home/u/my-app"),
        confinement: Confinement::Both,
        digest: Digest::as_written("sha256:38c766089048073d31c5cb8eeae73683d18433aaae7f504598ebb240a9c48c41"),
    }
}

pub(crate) fn proposal() -> Proposal {
    Proposal {
        id: ProposalId::new(3),
        conversation: CHAT,
        turn: TURN,
        item: ItemId::new(9),
        created_at: at("2026-11-30T21:04:05.123Z"),
        expires_at: at("2026-11-30T22:04:05.123Z"),
        shown: shown(),
        project: ProjectName::new("my-app").unwrap(),
        decision: None,
        started_at: None,
    }
}

pub(crate) fn decision() -> Decision {
    Decision {
        outcome: Outcome::Allowed,
        by: person(),
        at: at("2026-11-30T21:04:30.000Z"),
        reason: None,
        grant: Some(GrantId::new(1)),
    }
}

pub(crate) fn grant() -> Grant {
    Grant {
        id: GrantId::new(1),
        conversation: CHAT,
        scope: Scope::of(&shown()),
        created_at: at("2026-11-30T21:04:30.000Z"),
        created_from: ProposalId::new(3),
        granted_by: person(),
        uses: 0,
        last_used_at: None,
        revoked_at: None,
    }
}

pub(crate) fn conversation() -> Conversation {
    Conversation {
        id: CHAT,
        title: "Any TODOs left?".into(),
        workdir: Some(path("/home/u/my-app")),
        project: Some(ProjectName::new("my-app").unwrap()),
        model: Some(model()),
        state: ConversationState::AwaitingConsent,
        archived: false,
        version: 1,
        created_at: at("2026-11-30T21:00:00.000Z"),
        updated_at: at("2026-11-30T21:04:01.000Z"),
        last_seq: Some(Seq(129)),
        item_count: 3,
        pending_count: 1,
        usage: Usage { input_tokens: 812, output_tokens: 96, ..Usage::default() },
    }
}

pub(crate) fn turn(ending: Option<Ending>) -> Turn {
    Turn {
        id: TURN,
        conversation: CHAT,
        state: match ending {
            None => TurnState::Running,
            Some(ending) => TurnState::Finished(Ended { ending, at: at("2026-11-30T21:04:34.000Z") }),
        },
        workdir: Some(path("/home/u/my-app")),
        model: model(),
        on_consent: OnConsent::Ask,
        tools: true,
        rounds: 0,
        started_at: at("2026-11-30T21:04:01.000Z"),
        usage: Usage::default(),
        left_out: 0,
    }
}

pub(crate) fn item(id: i64, seq: i64, done: bool, body: ItemBody) -> Item {
    let created_at = at("2026-11-30T21:04:02.000Z");
    Item {
        id: ItemId::new(id),
        conversation: CHAT,
        turn: TURN,
        seq: Seq(seq),
        created_at,
        completed_at: done.then(|| at("2026-11-30T21:04:05.000Z")),
        body,
    }
}

pub(crate) fn assistant(text: &str, complete: bool) -> ItemBody {
    ItemBody::Assistant { text: text.into(), reasoning: String::new(), complete }
}

pub(crate) fn command(outcome: Option<CommandOutcome>) -> CommandItem {
    CommandItem {
        requested: "grep -rn TODO src".into(),
        workdir: Some(path("/home/u/my-app")),
        shown: Some(shown()),
        proposal: Some(ProposalId::new(3)),
        grant: None,
        started_at: outcome.is_some().then(|| at("2026-11-30T21:04:30.010Z")),
        finished_at: outcome.is_some().then(|| at("2026-11-30T21:04:30.019Z")),
        outcome,
    }
}

pub(crate) fn ran(stdout: &str) -> CommandResult {
    CommandResult {
        ended_by: CommandEnd::Exit,
        exit_code: Some(0),
        signal: None,
        duration: Duration::from_millis(9),
        stdout: Clipped { head: stdout.into(), bytes: stdout.len() as u64, ..Clipped::default() },
        stderr: Clipped::default(),
        confinement: Confinement::Both,
    }
}

pub(crate) fn event(seq: i64, body: EventBody) -> Event {
    let turn = match body {
        EventBody::ConversationCreated(_)
        | EventBody::ConversationUpdated(_)
        | EventBody::ConversationDeleted
        | EventBody::GrantRevoked { .. } => None,
        _ => Some(TURN),
    };
    Event {
        seq: Seq(seq),
        prev: Some(Seq(seq - 1)),
        at: at("2026-11-30T21:04:05.000Z"),
        about: About::Conversation(CHAT, turn),
        body,
    }
}
