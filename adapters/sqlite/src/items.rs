//! How an Item begins and how it is completed: its rows, its events, its words in the search. Shared by the ports that
//! write Items; each call is a part of their change.

use crate::{
    change::Change,
    failure::Failure,
    json, rows, search,
    sql::{self, must, run, whole},
};
use owl_domain::{
    conversation::{CommandOutcome, CommandResult, ItemBody, Part},
    gate::Denial,
    ids::{ConversationId, ItemId, ProposalId, Seq, TurnId},
    text::{AbsPath, ProjectName},
    turn::{About, EventBody},
};
use rusqlite::params;

const INSERT: &str = "INSERT INTO items (conversation, turn, seq, kind, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
    RETURNING id";
const COUNT: &str = "UPDATE conversations SET item_count = item_count + 1 WHERE id = ?1";
const COMPLETE: &str = "UPDATE items SET completed_at = ?2 WHERE id = ?1 AND completed_at IS NULL";
const SET_TEXT: &str = "UPDATE items SET text = ?2 WHERE id = ?1";
const SET_LOOKUP: &str = "UPDATE items SET lookup = ?2 WHERE id = ?1";
const JOIN_TEXT: &str = concat!(
    "UPDATE items AS i SET text = ",
    rows::grown!("text"),
    " || ?2, reasoning = ",
    rows::grown!("reasoning"),
    " || ?3, complete = ?4 WHERE i.id = ?1"
);
const DROP_CHUNKS: &str = "DELETE FROM chunks WHERE item = ?1";
const INSERT_COMMAND: &str = "INSERT INTO commands (item, conversation, turn, requested, workdir, project)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const SET_PROPOSAL: &str = "UPDATE commands SET proposal = ?2 WHERE item = ?1";
const SET_OUTCOME: &str = "UPDATE commands SET outcome = ?2, denial = ?3, failure = ?4 WHERE item = ?1";
const SET_RESULT: &str = "UPDATE commands SET outcome = 'ran', finished_at = ?2, ended_by = ?3, exit_code = ?4,
    signal = ?5, duration_ms = ?6, confinement = ?7, stdout_bytes = ?8, stdout_omitted = ?9, stdout_replaced = ?10,
    stderr_bytes = ?11, stderr_omitted = ?12, stderr_replaced = ?13, stdout_head = ?14, stdout_tail = ?15,
    stderr_head = ?16, stderr_tail = ?17 WHERE item = ?1";

/// Where an Item belongs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// In which Conversation.
    pub(crate) conversation: ConversationId,
    /// In which Turn.
    pub(crate) turn: TurnId,
}

impl Place {
    /// Returns what its events are about.
    pub(crate) fn about(self) -> About {
        About::Conversation(self.conversation, Some(self.turn))
    }
}

/// Whether a reply came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whole {
    /// It did.
    Yes,
    /// It was cut off.
    No,
}

fn insert(change: &mut Change<'_>, place: Place, kind: &str) -> Result<ItemId, Failure> {
    let seq = change.next_seq()?;
    let (conversation, turn) = (place.conversation.number(), place.turn.number());
    let id = sql::sure(change.db(), INSERT, params![conversation, turn, seq.0, kind, change.now_ms()], |row| {
        row.id(ItemId::new)
    })?;
    must(change.db(), COUNT, [conversation], "this conversation")?;
    Ok(id)
}

fn complete(change: &mut Change<'_>, place: Place, id: ItemId) -> Result<Seq, Failure> {
    must(change.db(), COMPLETE, params![id.number(), change.now_ms()], "this item, open")?;
    let item = rows::sure_item(change.db(), id)?;
    search::add_item(change.db(), &item)?;
    change.tell(place.about(), EventBody::ItemCompleted(item))
}

/// Stores a question: `item.completed`. Returns its Item and the number of that event.
pub(crate) fn question(change: &mut Change<'_>, place: Place, text: &str) -> Result<(ItemId, Seq), Failure> {
    let id = insert(change, place, "user")?;
    must(change.db(), SET_TEXT, params![id.number(), text], "this item")?;
    Ok((id, complete(change, place, id)?))
}

/// Begins the text of a reply: `item.started`.
pub(crate) fn begin_text(change: &mut Change<'_>, place: Place) -> Result<ItemId, Failure> {
    let id = insert(change, place, "assistant")?;
    let item = rows::sure_item(change.db(), id)?;
    change.tell(place.about(), EventBody::ItemStarted(item))?;
    Ok(id)
}

/// Completes the text of a reply with what was appended to it, in the database and in memory: `item.completed`.
pub(crate) fn end_text(change: &mut Change<'_>, place: Place, id: ItemId, whole: Whole) -> Result<(), Failure> {
    let rest = |part| change.texts().of(id, part);
    let joined = params![id.number(), rest(Part::Text), rest(Part::Reasoning), whole == Whole::Yes];
    must(change.db(), JOIN_TEXT, joined, "this item")?;
    let _pieces = run(change.db(), DROP_CHUNKS, [id.number()])?;
    complete(change, place, id)?;
    Ok(())
}

/// Stores something that the model read: `item.completed`.
pub(crate) fn lookup(
    change: &mut Change<'_>,
    place: Place,
    lookup: &owl_domain::conversation::Lookup,
) -> Result<ItemId, Failure> {
    let id = insert(change, place, "lookup")?;
    must(change.db(), SET_LOOKUP, params![id.number(), json::write_lookup(lookup)], "this item")?;
    complete(change, place, id)?;
    Ok(id)
}

/// Stores a command that the gate denied unasked: `item.completed`.
pub(crate) fn denied_command(
    change: &mut Change<'_>,
    place: Place,
    asked: Asked<'_>,
    denial: &Denial,
) -> Result<ItemId, Failure> {
    let id = insert_command(change, place, asked)?;
    set_outcome(change, id, &CommandOutcome::GateDenied(denial.clone()))?;
    complete(change, place, id)?;
    Ok(id)
}

/// What a model asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// The line as the model wrote it.
    pub(crate) requested: &'a str,
    /// Where it was to run.
    pub(crate) workdir: Option<&'a AbsPath>,
    /// The Project of that directory.
    pub(crate) project: Option<&'a ProjectName>,
}

/// Inserts the Item of a command, without an event: its Proposal comes first.
pub(crate) fn insert_command(change: &mut Change<'_>, place: Place, asked: Asked<'_>) -> Result<ItemId, Failure> {
    let id = insert(change, place, "command")?;
    let workdir = asked.workdir.map(AbsPath::as_str);
    let project = asked.project.map(ProjectName::as_str);
    let (conversation, turn) = (place.conversation.number(), place.turn.number());
    must(
        change.db(),
        INSERT_COMMAND,
        params![id.number(), conversation, turn, asked.requested, workdir, project],
        "this command",
    )?;
    Ok(id)
}

/// Tells that a command with a Proposal began: `item.started`.
pub(crate) fn begin_command(
    change: &mut Change<'_>,
    place: Place,
    id: ItemId,
    proposal: ProposalId,
) -> Result<(), Failure> {
    must(change.db(), SET_PROPOSAL, [id.number(), proposal.number()], "this command")?;
    let item = rows::sure_item(change.db(), id)?;
    change.tell(place.about(), EventBody::ItemStarted(item))?;
    Ok(())
}

/// Closes a command: `command.finished` when it ran, `item.completed`.
pub(crate) fn end_command(
    change: &mut Change<'_>,
    place: Place,
    id: ItemId,
    outcome: &CommandOutcome,
) -> Result<(), Failure> {
    set_outcome(change, id, outcome)?;
    if let CommandOutcome::Ran(result) = outcome {
        let finished = EventBody::CommandFinished { item: id, result: Box::new(result.clone()) };
        change.tell(place.about(), finished)?;
    }
    complete(change, place, id)?;
    Ok(())
}

fn set_outcome(change: &Change<'_>, id: ItemId, outcome: &CommandOutcome) -> Result<(), Failure> {
    let (denial, failure) = match outcome {
        CommandOutcome::Ran(result) => return set_result(change, id, result),
        CommandOutcome::GateDenied(denial) => (Some(json::write_denial(denial)), None),
        CommandOutcome::Failed { reason } => (None, Some(reason)),
        CommandOutcome::Denied | CommandOutcome::Expired | CommandOutcome::Cancelled | CommandOutcome::Interrupted => {
            (None, None)
        }
    };
    must(change.db(), SET_OUTCOME, params![id.number(), outcome.name(), denial, failure], "this command")
}

fn set_result(change: &Change<'_>, id: ItemId, result: &CommandResult) -> Result<(), Failure> {
    let (stdout, stderr) = (&result.stdout, &result.stderr);
    let duration = i64::try_from(result.duration.as_millis()).unwrap_or(i64::MAX);
    must(
        change.db(),
        SET_RESULT,
        params![
            id.number(),
            change.now_ms(),
            result.ended_by.name(),
            result.exit_code,
            result.signal,
            duration,
            result.confinement.name(),
            whole(stdout.bytes),
            whole(stdout.omitted_bytes),
            whole(stdout.replaced_bytes),
            whole(stderr.bytes),
            whole(stderr.omitted_bytes),
            whole(stderr.replaced_bytes),
            stdout.head,
            stdout.tail,
            stderr.head,
            stderr.tail,
        ],
        "this command",
    )
}

/// Returns the length of a text inside JSON, for pages that end by their bytes.
fn escaped(text: &str) -> usize {
    text.bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 2,
            0..=31 => 6,
            _ => 1,
        })
        .sum()
}

/// Returns about how long an Item is as JSON: never less than it is.
pub(crate) fn size(body: &ItemBody) -> usize {
    /// Names of members, ids, times and numbers.
    const FRAME: usize = 1_024;
    let texts = match body {
        ItemBody::User { text } => escaped(text),
        ItemBody::Assistant { text, reasoning, .. } => escaped(text) + escaped(reasoning),
        ItemBody::Lookup(lookup) => escaped(&lookup.input) + escaped(&lookup.result),
        ItemBody::Command(command) => {
            let printed = match &command.outcome {
                Some(CommandOutcome::Ran(result)) => [&result.stdout, &result.stderr]
                    .iter()
                    .map(|output| escaped(&output.head) + escaped(&output.tail))
                    .sum(),
                _ => 0,
            };
            printed + command_size(command)
        }
    };
    FRAME + texts
}

/// Returns about how long a command is as JSON, without what it printed.
pub(crate) fn command_size(command: &owl_domain::conversation::CommandItem) -> usize {
    const FRAME: usize = 1_024;
    let shown = command.shown.as_ref().map_or(0, shown_size);
    FRAME + escaped(&command.requested) + shown
}

/// Returns about how long is what a person is shown of a command.
pub(crate) fn shown_size(shown: &owl_domain::gate::Shown) -> usize {
    /// A word stands in `argv`, and in `display` with characters written out as `\\u{10ffff}`.
    const TWICE: usize = 12;
    const ENVIRONMENT: usize = 1_024;
    let words: usize = shown.argv.iter().map(|word| escaped(word) + 4).sum();
    ENVIRONMENT + escaped(&shown.requested) + escaped(shown.workdir.as_str()) + TWICE * words
}
