//! Values that are stored as JSON, because SQL never looks into them. The structs are private and converted by hand, so
//! that a change in the domain does not change what is on disk unnoticed.

use crate::failure::Failure;
use owl_domain::{
    consent::{By, Peer},
    conversation::Lookup,
    gate::{Confinement, Denial, DenialKind, Digest, Program, Shown, Verb},
    provider::{Block, Call, ModelRef, Provider, ReplyStop, TurnError, TurnErrorKind},
    text::{AbsPath, ModelId},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::time::Duration;

/// Writes a value. These structs have no map with other keys than texts, so that it cannot fail.
pub(crate) fn write(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Reads a value; `what` names it for the error.
pub(crate) fn read<T: DeserializeOwned>(text: &str, what: &'static str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|_| Failure::Unreadable { what })
}

/// Takes a value that must be one of those that this Owl knows.
pub(crate) fn known<T>(value: Option<T>, what: &'static str) -> Result<T, Failure> {
    value.ok_or(Failure::Unreadable { what })
}

/// Writes a list of texts.
pub(crate) fn write_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    write(&texts.into_iter().collect::<Vec<_>>())
}

/// Reads a list of texts.
pub(crate) fn read_texts(text: &str, what: &'static str) -> Result<Vec<String>, Failure> {
    read(text, what)
}

#[derive(Serialize, Deserialize)]
struct PeerRow {
    pid: Option<i32>,
    uid: Option<u32>,
    program: Option<String>,
}

impl PeerRow {
    fn of(peer: &Peer) -> Self {
        Self { pid: peer.pid, uid: peer.uid, program: peer.program.clone() }
    }

    fn peer(self) -> Peer {
        Peer { pid: self.pid, uid: self.uid, program: self.program }
    }
}

/// Writes a peer.
pub(crate) fn write_peer(peer: &Peer) -> String {
    write(&PeerRow::of(peer))
}

/// Reads a peer.
pub(crate) fn read_peer(text: &str) -> Result<Peer, Failure> {
    Ok(read::<PeerRow>(text, "a client")?.peer())
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ByRow {
    Client(PeerRow),
    Turn(PeerRow),
    Grant,
    Owl,
}

/// Writes who did something.
pub(crate) fn write_by(by: &By) -> String {
    write(&match by {
        By::Client(peer) => ByRow::Client(PeerRow::of(peer)),
        By::Turn(peer) => ByRow::Turn(PeerRow::of(peer)),
        By::Grant => ByRow::Grant,
        By::Owl => ByRow::Owl,
    })
}

/// Reads who did something.
pub(crate) fn read_by(text: &str) -> Result<By, Failure> {
    Ok(match read::<ByRow>(text, "who decided")? {
        ByRow::Client(peer) => By::Client(peer.peer()),
        ByRow::Turn(peer) => By::Turn(peer.peer()),
        ByRow::Grant => By::Grant,
        ByRow::Owl => By::Owl,
    })
}

#[derive(Serialize, Deserialize)]
struct ShownRow {
    requested: String,
    path: String,
    argv: Vec<String>,
    added: Vec<usize>,
    env: Vec<(String, String)>,
    confinement: String,
}

/// Writes what was shown, but for what has columns of its own.
pub(crate) fn write_shown(shown: &Shown) -> String {
    write(&ShownRow {
        requested: shown.requested.clone(),
        path: shown.path.to_string(),
        argv: shown.argv.clone(),
        added: shown.added.clone(),
        env: shown.env.clone(),
        confinement: shown.confinement.name().into(),
    })
}

/// Reads what was shown, with what has columns of its own.
pub(crate) fn read_shown(
    text: &str,
    program: Program,
    verb: Option<Verb>,
    workdir: AbsPath,
    digest: String,
) -> Result<Shown, Failure> {
    const WHAT: &str = "a command as it was shown";
    let row: ShownRow = read(text, WHAT)?;
    Ok(Shown {
        requested: row.requested,
        program,
        verb,
        path: known(AbsPath::new(row.path).ok(), WHAT)?,
        argv: row.argv,
        added: row.added,
        env: row.env,
        workdir,
        confinement: known(confinement(&row.confinement), WHAT)?,
        digest: Digest::as_written(digest),
    })
}

/// Returns the confinement of that name.
pub(crate) fn confinement(name: &str) -> Option<Confinement> {
    Confinement::ALL.into_iter().find(|confinement| confinement.name() == name)
}

#[derive(Serialize, Deserialize)]
struct DenialRow {
    kind: String,
    argument: Option<String>,
    message: String,
    hint: Option<String>,
}

/// Writes the gate's no.
pub(crate) fn write_denial(denial: &Denial) -> String {
    write(&DenialRow {
        kind: denial.kind.name().into(),
        argument: denial.argument.clone(),
        message: denial.message.clone(),
        hint: denial.hint.clone(),
    })
}

/// Reads the gate's no.
pub(crate) fn read_denial(text: &str) -> Result<Denial, Failure> {
    let row: DenialRow = read(text, "a denial")?;
    Ok(Denial {
        kind: known(DenialKind::from_name(&row.kind), "a denial")?,
        argument: row.argument,
        message: row.message,
        hint: row.hint,
    })
}

#[derive(Serialize, Deserialize)]
struct LookupRow {
    tool: String,
    input: String,
    result: String,
    failed: bool,
}

/// Writes a lookup.
pub(crate) fn write_lookup(lookup: &Lookup) -> String {
    write(&LookupRow {
        tool: lookup.tool.clone(),
        input: lookup.input.clone(),
        result: lookup.result.clone(),
        failed: lookup.failed,
    })
}

/// Reads a lookup.
pub(crate) fn read_lookup(text: &str) -> Result<Lookup, Failure> {
    let row: LookupRow = read(text, "a lookup")?;
    Ok(Lookup { tool: row.tool, input: row.input, result: row.result, failed: row.failed })
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BlockRow {
    Text(String),
    Raw(String),
    Call { id: String, name: String, arguments: String },
}

/// Writes the parts of a reply.
pub(crate) fn write_blocks(blocks: &[Block]) -> String {
    let rows = blocks.iter().map(|block| match block {
        Block::Text(text) => BlockRow::Text(text.clone()),
        Block::Raw(raw) => BlockRow::Raw(raw.clone()),
        Block::Call(call) => {
            BlockRow::Call { id: call.id.clone(), name: call.name.clone(), arguments: call.arguments.clone() }
        }
    });
    write(&rows.collect::<Vec<_>>())
}

/// Reads the parts of a reply.
pub(crate) fn read_blocks(text: &str) -> Result<Vec<Block>, Failure> {
    let rows: Vec<BlockRow> = read(text, "a model's reply")?;
    let blocks = rows.into_iter().map(|row| match row {
        BlockRow::Text(text) => Block::Text(text),
        BlockRow::Raw(raw) => Block::Raw(raw),
        BlockRow::Call { id, name, arguments } => Block::Call(Call { id, name, arguments }),
    });
    Ok(blocks.collect())
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StopRow {
    Done,
    StopSequence,
    MaxTokens,
    Refusal(Option<String>),
    ContentFilter,
    ContextFull,
    Pause,
}

/// Writes why a reply ended.
pub(crate) fn write_stop(stop: &ReplyStop) -> String {
    write(&match stop {
        ReplyStop::Done => StopRow::Done,
        ReplyStop::StopSequence => StopRow::StopSequence,
        ReplyStop::MaxTokens => StopRow::MaxTokens,
        ReplyStop::Refusal { explanation } => StopRow::Refusal(explanation.clone()),
        ReplyStop::ContentFilter => StopRow::ContentFilter,
        ReplyStop::ContextFull => StopRow::ContextFull,
        ReplyStop::Pause => StopRow::Pause,
    })
}

/// Reads why a reply ended.
pub(crate) fn read_stop(text: &str) -> Result<ReplyStop, Failure> {
    Ok(match read::<StopRow>(text, "why a reply ended")? {
        StopRow::Done => ReplyStop::Done,
        StopRow::StopSequence => ReplyStop::StopSequence,
        StopRow::MaxTokens => ReplyStop::MaxTokens,
        StopRow::Refusal(explanation) => ReplyStop::Refusal { explanation },
        StopRow::ContentFilter => ReplyStop::ContentFilter,
        StopRow::ContextFull => ReplyStop::ContextFull,
        StopRow::Pause => ReplyStop::Pause,
    })
}

#[derive(Serialize, Deserialize)]
struct ErrorRow {
    kind: String,
    provider: Option<String>,
    model: Option<(String, String)>,
    message: String,
    hint: Option<String>,
    status: Option<u16>,
    request_id: Option<String>,
    url: Option<String>,
    retry_after_ms: Option<u64>,
    attempts: u32,
}

/// Writes what went wrong in a Turn.
pub(crate) fn write_error(error: &TurnError) -> String {
    write(&ErrorRow {
        kind: error.kind.name().into(),
        provider: error.provider.map(|provider| provider.name().into()),
        model: error.model.as_ref().map(|model| (model.provider.name().into(), model.id.to_string())),
        message: error.message.clone(),
        hint: error.hint.clone(),
        status: error.status,
        request_id: error.request_id.clone(),
        url: error.url.clone(),
        retry_after_ms: error.retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
        attempts: error.attempts,
    })
}

/// Reads what went wrong in a Turn.
pub(crate) fn read_error(text: &str) -> Result<TurnError, Failure> {
    const WHAT: &str = "a turn's error";
    let row: ErrorRow = read(text, WHAT)?;
    let provider = |name: &str| known(Provider::from_name(name), WHAT);
    let model = |(name, id): (String, String)| {
        Ok::<_, Failure>(ModelRef { provider: provider(&name)?, id: known(ModelId::new(id).ok(), WHAT)? })
    };
    Ok(TurnError {
        kind: known(TurnErrorKind::from_name(&row.kind), WHAT)?,
        provider: row.provider.as_deref().map(provider).transpose()?,
        model: row.model.map(model).transpose()?,
        message: row.message,
        hint: row.hint,
        status: row.status,
        request_id: row.request_id,
        url: row.url,
        retry_after: row.retry_after_ms.map(Duration::from_millis),
        attempts: row.attempts,
    })
}
