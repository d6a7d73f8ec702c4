//! The closed lists of names in the schemas. Taken from the domain's own lists, so that they cannot drift.

use owl_domain::{
    consent::Outcome,
    conversation::{CommandEnd, CommandOutcome, ConversationState, Part},
    gate::{Confinement, DenialKind},
    job::{JobState, Outcome as RunOutcome, VerificationState},
    provider::{Provider, TurnErrorKind},
    turn::OnConsent,
};
use schemars::{Schema, SchemaGenerator, json_schema};

fn one_of<'a>(names: impl IntoIterator<Item = &'a str>) -> Schema {
    let names: Vec<&str> = names.into_iter().collect();
    json_schema!({ "type": "string", "enum": names })
}

fn one_of_or_null<'a>(names: impl IntoIterator<Item = &'a str>) -> Schema {
    let names: Vec<Option<&str>> = names.into_iter().map(Some).chain([None]).collect();
    json_schema!({ "type": ["string", "null"], "enum": names })
}

macro_rules! lists {
    ($($(#[$doc:meta])* $name:ident = $how:ident($names:expr);)*) => {$(
        $(#[$doc])*
        pub(crate) fn $name(_: &mut SchemaGenerator) -> Schema {
            $how($names)
        }
    )*};
}

const STATES: [ConversationState; 3] =
    [ConversationState::Idle, ConversationState::Running, ConversationState::AwaitingConsent];
const ENDINGS: [&str; 10] = [
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "refusal",
    "content_filter",
    "context_full",
    "round_limit",
    "cancelled",
    "interrupted",
    "error",
];

lists! {
    /// Who did something.
    by = one_of(["client", "turn", "grant", "owl"]);
    /// What a command runs under.
    confinement = one_of(Confinement::ALL.map(Confinement::name));
    /// A Proposal's state.
    proposal_state = one_of(["pending"].into_iter().chain(Outcome::ALL.map(Outcome::name)));
    /// A decided Proposal's outcome.
    outcome = one_of(Outcome::ALL.map(Outcome::name));
    /// Why the gate said no.
    denial = one_of(DenialKind::ALL.iter().map(|kind| kind.name()));
    /// A Provider.
    provider = one_of(Provider::ALL.map(Provider::name));
    /// A Provider, or nothing.
    provider_or_null = one_of_or_null(Provider::ALL.map(Provider::name));
    /// A Conversation's state.
    conversation_state = one_of(STATES.map(ConversationState::name));
    /// A Conversation's state, or nothing.
    conversation_state_or_null = one_of_or_null(STATES.map(ConversationState::name));
    /// A Turn's state.
    turn_state = one_of(["running", "awaiting_consent", "finished"]);
    /// How a Turn ended.
    stop_reason_or_null = one_of_or_null(ENDINGS);
    /// What becomes of a command that would have to be asked about.
    on_consent = one_of([OnConsent::Ask.name(), OnConsent::Deny.name()]);
    /// What went wrong in a Turn.
    turn_error = one_of(TurnErrorKind::ALL.iter().map(|kind| kind.name()));
    /// Whether an Item still grows.
    item_state = one_of(["open", "done"]);
    /// What came of a command.
    command_outcome_or_null = one_of_or_null(CommandOutcome::NAMES);
    /// Why a command ended.
    ended_by = one_of(CommandEnd::ALL.map(CommandEnd::name));
    /// Why a command ended, or nothing.
    ended_by_or_null = one_of_or_null(CommandEnd::ALL.map(CommandEnd::name));
    /// A part of an Item that grows.
    part = one_of(Part::ALL.map(Part::name));
    /// The kinds of Items in which text is found, or nothing.
    match_kind_or_null = one_of_or_null(["user", "assistant", "command"]);
    /// What a directory of a Project is.
    worktree_kind = one_of(["root", "worktree", "job"]);
    /// Where a key came from, or nothing.
    key_source_or_null = one_of_or_null(["keychain", "file", "environment"]);
    /// The gate's answer.
    verdict = one_of(["allowed", "denied"]);
    /// A Job's state.
    job_state = one_of(JobState::ALL.map(JobState::name));
    /// A Run's state.
    run_state = one_of(["running", "verifying", "finished"]);
    /// What a Run led to, or nothing.
    run_outcome_or_null = one_of_or_null(RunOutcome::ALL.map(RunOutcome::name));
    /// Why a stream ended.
    closed_reason = one_of(["stopping", "deleted"]);
    /// What judges a Run's work.
    verification_kind = one_of(["check", "agent"]);
    /// What it said.
    verification_state = one_of(VerificationState::ALL.map(VerificationState::name));
    /// Why a stream of a Run ended.
    run_closed_reason = one_of(["stopping", "finished"]);
}
