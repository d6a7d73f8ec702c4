//! Values that the tests of Turns and consent start from. Never part of what is shipped.

use crate::{
    consent::{By, Decision, Outcome, Peer, Proposal},
    gate::{Confinement, Program, Shown, Verb, digest, environment},
    ids::{ConversationId, ItemId, ProposalId, TurnId},
    provider::{ModelRef, Provider, Usage},
    text::{AbsPath, ModelId, ProjectName},
    time::Timestamp,
    turn::{OnConsent, Turn, TurnState},
};
use core::time::Duration;

/// When everything begins.
pub(crate) const NOON: Timestamp = Timestamp::from_millis(1_796_040_000_000);

/// Where everything happens.
pub(crate) const SHOP: &str = "/home/u/shop";

pub(crate) fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

pub(crate) fn model() -> ModelRef {
    ModelRef { provider: Provider::Demo, id: ModelId::new("tour").unwrap() }
}

pub(crate) fn peer(program: &str) -> Peer {
    Peer { pid: Some(4242), uid: Some(1000), program: Some(program.into()) }
}

/// A Turn that has just begun.
pub(crate) fn turn() -> Turn {
    Turn {
        id: TurnId::new(1),
        conversation: ConversationId::new(1),
        state: TurnState::Running,
        workdir: Some(path(SHOP)),
        model: model(),
        on_consent: OnConsent::Ask,
        tools: true,
        rounds: 0,
        started_at: NOON,
        usage: Usage::default(),
        left_out: 0,
    }
}

/// A command of plain words, shown as it would run.
pub(crate) fn shown(line: &str) -> Shown {
    let argv: Vec<String> = line.split(' ').map(String::from).collect();
    let name = argv.first().unwrap();
    let program = Program::from_name(name).unwrap();
    let verb = argv.get(1).and_then(|word| Verb::from_name(word)).filter(|_| program == Program::Git);
    let (binary, workdir) = (path(&format!("/usr/bin/{name}")), path(SHOP));
    let env = environment();
    let digest = digest(&binary, &workdir, &argv, &[], &env);
    Shown {
        requested: line.into(),
        program,
        verb,
        path: binary,
        argv,
        added: Vec::new(),
        env,
        workdir,
        confinement: Confinement::Both,
        digest,
    }
}

/// A Proposal that waits, with an hour to go.
pub(crate) fn pending(id: i64) -> Proposal {
    Proposal {
        id: ProposalId::new(id),
        conversation: ConversationId::new(1),
        turn: TurnId::new(1),
        item: ItemId::new(100 + id),
        created_at: NOON,
        expires_at: NOON.plus(Duration::from_secs(3_600)),
        shown: shown("cat README.md"),
        project: ProjectName::new("shop").unwrap(),
        decision: None,
        started_at: None,
    }
}

/// A Proposal that was decided.
pub(crate) fn decided(id: i64, outcome: Outcome) -> Proposal {
    let by = match outcome {
        Outcome::Allowed | Outcome::Denied => By::Client(peer("owl-desktop")),
        Outcome::Expired | Outcome::Cancelled => By::Owl,
    };
    let decision = Decision { outcome, by, at: NOON, reason: None, grant: None };
    Proposal { decision: Some(decision), ..pending(id) }
}

/// A Proposal that was allowed and whose start is stored.
pub(crate) fn started(id: i64) -> Proposal {
    Proposal { started_at: Some(NOON), ..decided(id, Outcome::Allowed) }
}
