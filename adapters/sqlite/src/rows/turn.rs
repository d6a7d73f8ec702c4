//! A Turn as it is told.

use crate::{
    failure::Failure,
    json,
    sql::{self, Columns},
};
use owl_domain::{
    ids::{ConversationId, TurnId},
    provider::{ModelRef, Provider, Usage},
    turn::{Ended, Ending, OnConsent, Turn, TurnState},
};
use rusqlite::Connection;

/// Says whether the Turn `t` only waits for people: a Proposal is pending, and no call is anything else but answered.
/// The `+` keeps SQLite from walking through all that is pending anywhere.
macro_rules! awaiting {
    () => {
        "(t.finished_at IS NULL AND NOT t.cancelling
          AND EXISTS (SELECT 1 FROM proposals w WHERE w.turn = t.id AND +w.state = 'pending')
          AND NOT EXISTS (SELECT 1 FROM calls k LEFT JOIN proposals w ON w.item = k.item
                          WHERE k.turn = t.id AND k.told IS NULL AND w.state IS NOT 'pending'))"
    };
}
pub(crate) use awaiting;

/// The columns of a Turn `t`.
macro_rules! turn_columns {
    () => {
        concat!(
            "t.id, t.conversation, t.workdir, t.provider, t.model, t.on_consent, t.tools, t.rounds, t.started_at,
             t.input_tokens, t.output_tokens, t.cache_read_tokens, t.cache_write_tokens, t.cost_usd, t.left_out, ",
            $crate::rows::awaiting!(),
            ", t.finished_at, t.ending, t.error"
        )
    };
}
pub(crate) use turn_columns;

const GET: &str = concat!("SELECT ", turn_columns!(), " FROM turns t WHERE t.id = ?1");

/// Returns a Turn; none when there is none of that id.
pub(crate) fn turn(db: &Connection, id: TurnId) -> Result<Option<Turn>, Failure> {
    sql::one(db, GET, [id.number()], read_turn)
}

/// Reads [`turn_columns`].
pub(crate) fn read_turn(row: &mut Columns<'_>) -> Result<Turn, Failure> {
    Ok(Turn {
        id: row.id(TurnId::new)?,
        conversation: row.id(ConversationId::new)?,
        workdir: row.maybe_path()?,
        model: read_model(row)?.ok_or(Failure::Unreadable { what: "a turn without a model" })?,
        on_consent: row.named(on_consent, "what becomes of a command")?,
        tools: row.next()?,
        rounds: row.small()?,
        started_at: row.time()?,
        usage: read_usage(row)?,
        left_out: row.small()?,
        state: read_state(row)?,
    })
}

fn read_state(row: &mut Columns<'_>) -> Result<TurnState, Failure> {
    let awaits: bool = row.next()?;
    let Some(at) = row.maybe_time()? else {
        return Ok(if awaits { TurnState::AwaitingConsent } else { TurnState::Running });
    };
    let name: String = row.next()?;
    let error: Option<String> = row.next()?;
    let error = error.map(|error| json::read_error(&error)).transpose()?;
    let ending = ending(&name, error).ok_or(Failure::Unreadable { what: "how a turn ended" })?;
    Ok(TurnState::Finished(Ended { ending, at }))
}

fn on_consent(name: &str) -> Option<OnConsent> {
    [OnConsent::Ask, OnConsent::Deny].into_iter().find(|on_consent| on_consent.name() == name)
}

fn ending(name: &str, error: Option<owl_domain::provider::TurnError>) -> Option<Ending> {
    let endings = [
        Ending::EndTurn,
        Ending::StopSequence,
        Ending::MaxTokens,
        Ending::Refusal,
        Ending::ContentFilter,
        Ending::ContextFull,
        Ending::RoundLimit,
        Ending::Cancelled,
        Ending::Interrupted,
    ];
    endings.into_iter().chain(error.map(Ending::Error)).find(|ending| ending.name() == name)
}

/// Reads a Provider and a model's id; none when both are null.
pub(crate) fn read_model(row: &mut Columns<'_>) -> Result<Option<ModelRef>, Failure> {
    let provider = row.maybe_named(Provider::from_name, "a provider's name")?;
    let id = row.maybe_model()?;
    Ok(provider.zip(id).map(|(provider, id)| ModelRef { provider, id }))
}

/// Reads the five columns of what was used; a row from before the sums were bounded may hold more.
pub(crate) fn read_usage(row: &mut Columns<'_>) -> Result<Usage, Failure> {
    let mut tokens = || Ok::<_, Failure>(row.count()?.min(Usage::MOST_TOKENS));
    Ok(Usage {
        input_tokens: tokens()?,
        output_tokens: tokens()?,
        cache_read_tokens: tokens()?,
        cache_write_tokens: tokens()?,
        cost_usd: row.next()?,
    })
}
