//! Who did something, Proposals, Grants, and what an answerer is told (D8, D9).

use super::{Command, names};
use owl_domain::consent;
use schemars::JsonSchema;
use serde::Serialize;

/// Who did something. `pid`, `uid` and `program` are null unless `kind` is `client` or `turn`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct By {
    /// `client`, `turn` (decided beforehand by `on_consent`), `grant`, or `owl` (a deadline, a Turn that ended).
    #[schemars(schema_with = "names::by")]
    pub kind: &'static str,
    /// The peer's process, from the kernel.
    pub pid: Option<i32>,
    /// The peer's user, from the kernel.
    pub uid: Option<u32>,
    /// The peer's program when it connected.
    pub program: Option<String>,
}

impl From<&consent::By> for By {
    fn from(by: &consent::By) -> Self {
        let peer = by.peer().cloned().unwrap_or_default();
        Self { kind: by.name(), pid: peer.pid, uid: peer.uid, program: peer.program }
    }
}

/// A command that waits, or waited, for a person.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Proposal {
    /// Its id.
    pub id: String,
    /// In which Conversation.
    pub conversation_id: String,
    /// In which Turn.
    pub turn_id: String,
    /// The Item that shows the command.
    pub item_id: String,
    /// `pending`, then exactly one of the others.
    #[schemars(schema_with = "names::proposal_state")]
    pub state: &'static str,
    /// When it was made.
    pub created_at: String,
    /// Until when it may be answered.
    pub expires_at: String,
    /// Exactly what will run.
    pub command: Command,
    /// Where.
    pub workdir: String,
    /// The Project of that directory.
    pub project: String,
    /// The digest over program, workdir, argv, added and env.
    pub digest: String,
    /// What remembering the answer would cover.
    pub remember: Remember,
    /// What it would run under now.
    #[schemars(schema_with = "names::confinement")]
    pub confinement: &'static str,
    /// Who decided.
    pub decided_by: Option<By>,
    /// When.
    pub decided_at: Option<String>,
    /// What the person said when denying.
    pub reason: Option<String>,
    /// The Grant it ran under, or that the answer made.
    pub grant_id: Option<String>,
}

/// What remembering an answer would cover.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Remember {
    /// The sentence a person reads before giving it.
    pub covers: String,
}

impl From<&consent::Proposal> for Proposal {
    fn from(proposal: &consent::Proposal) -> Self {
        let decision = proposal.decision.as_ref();
        let shown = &proposal.shown;
        Self {
            id: proposal.id.to_string(),
            conversation_id: proposal.conversation.to_string(),
            turn_id: proposal.turn.to_string(),
            item_id: proposal.item.to_string(),
            state: proposal.state(),
            created_at: proposal.created_at.to_string(),
            expires_at: proposal.expires_at.to_string(),
            command: Command::from(shown),
            workdir: shown.workdir.to_string(),
            project: proposal.project.to_string(),
            digest: shown.digest.as_str().to_owned(),
            remember: Remember { covers: consent::Scope::of(shown).sentence() },
            confinement: shown.confinement.name(),
            decided_by: decision.map(|decision| By::from(&decision.by)),
            decided_at: decision.map(|decision| decision.at.to_string()),
            reason: decision.and_then(|decision| decision.reason.as_ref()).map(ToString::to_string),
            grant_id: decision.and_then(|decision| decision.grant).map(super::ids),
        }
    }
}

/// How a Proposal was decided.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Decision {
    /// The outcome.
    #[schemars(schema_with = "names::outcome")]
    pub state: &'static str,
    /// Who decided.
    pub decided_by: By,
    /// When.
    pub decided_at: String,
    /// What the person said when denying.
    pub reason: Option<String>,
    /// The Grant it ran under, or that the answer made.
    pub grant_id: Option<String>,
}

impl From<&consent::Decision> for Decision {
    fn from(decision: &consent::Decision) -> Self {
        Self {
            state: decision.outcome.name(),
            decided_by: By::from(&decision.by),
            decided_at: decision.at.to_string(),
            reason: decision.reason.as_ref().map(ToString::to_string),
            grant_id: decision.grant.map(super::ids),
        }
    }
}

/// What an answerer is told: the Proposal as it is now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answered {
    /// Which.
    pub proposal_id: String,
    /// Its outcome.
    #[schemars(schema_with = "names::outcome")]
    pub state: &'static str,
    /// Whether this answer decided it.
    pub won: bool,
    /// Who decided.
    pub decided_by: By,
    /// When.
    pub decided_at: String,
    /// The Grant that was made, or was there already.
    pub grant_id: Option<String>,
}

impl From<&consent::Answered> for Answered {
    fn from(answered: &consent::Answered) -> Self {
        let decision = &answered.decision;
        Self {
            proposal_id: answered.proposal.id.to_string(),
            state: decision.outcome.name(),
            won: answered.won,
            decided_by: By::from(&decision.by),
            decided_at: decision.at.to_string(),
            grant_id: decision.grant.map(super::ids),
        }
    }
}

/// An answer that is remembered for one Conversation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Grant {
    /// Its id.
    pub id: String,
    /// In which Conversation it holds.
    pub conversation_id: String,
    /// The program, by its bare name.
    pub program: String,
    /// The verb, for git.
    pub verb: Option<String>,
    /// The directory.
    pub workdir: String,
    /// The sentence that the Proposal showed.
    pub covers: String,
    /// When it was given.
    pub created_at: String,
    /// The Proposal whose answer made it.
    pub created_from: String,
    /// Who gave it.
    pub granted_by: By,
    /// How many commands ran under it.
    pub uses: u64,
    /// When the last one did.
    pub last_used_at: Option<String>,
    /// When it was taken back.
    pub revoked_at: Option<String>,
}

impl From<&consent::Grant> for Grant {
    fn from(grant: &consent::Grant) -> Self {
        Self {
            id: grant.id.to_string(),
            conversation_id: grant.conversation.to_string(),
            program: grant.scope.program.name().to_owned(),
            verb: grant.scope.verb.map(|verb| verb.name().to_owned()),
            workdir: grant.scope.workdir.to_string(),
            covers: grant.scope.sentence(),
            created_at: grant.created_at.to_string(),
            created_from: grant.created_from.to_string(),
            granted_by: By::from(&grant.granted_by),
            uses: grant.uses,
            last_used_at: grant.last_used_at.map(super::ids),
            revoked_at: grant.revoked_at.map(super::ids),
        }
    }
}
