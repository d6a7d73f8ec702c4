//! Stored Turns -> what a model is sent. Pure: the same rows give the same request, and whatever a crash left in them,
//! the request is one that every service takes. Repairs happen here, by reading; rows are never rewritten (D16, D17).

use crate::{
    conversation::CommandOutcome,
    provider::{Block, Call, Message, Model, ModelRef, ReplyStop, Request, ToolResult, ToolSpec},
    text::cut_bytes,
    turn::{CallProgress, Ending, StoredCall, StoredReply, StoredTurn, Told, TurnState, outcome_at_close, told},
};
use alloc::{
    collections::BTreeSet,
    format,
    string::{String, ToString},
    vec::Vec,
};

/// How much of earlier Turns is worth loading, in bytes: several times what is sent, because outputs are shortened
/// before a Turn is left out.
pub const MOST_BYTES: usize = 4 * 1024 * 1024;
/// The most that is sent, in tokens: what a model with a long context still reads well and a person still pays for.
const BUDGET_TOKENS: u64 = 130_000;
/// The longest reply that is waited for, in tokens.
const REPLY_TOKENS: u64 = 32_000;
/// The longest reply where a model's own bound is not known, in tokens.
const REPLY_TOKENS_UNKNOWN: u64 = 8_192;
/// How many bytes count as one token.
const BYTES_PER_TOKEN: u64 = 3;
/// What remains of an output that is shortened, in bytes.
const SHORTENED_BYTES: usize = 1_024;

/// A request, and what did not fit into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shaped {
    /// The request.
    pub request: Request,
    /// How many Items of earlier Turns were left out because they did not fit.
    pub left_out: u32,
}

/// Makes the request that carries `current` on, after the Turns that came before it, oldest first.
#[must_use]
pub fn shape(
    system: String,
    tools: Vec<ToolSpec>,
    known: Option<&Model>,
    earlier: &[StoredTurn],
    current: &StoredTurn,
) -> Shaped {
    let model = current.turn.model.clone();
    let limit = ReplyLimit::of(known);
    let calls = if tools.is_empty() { Calls::AsText } else { Calls::AsCalls };
    let mut turns: Vec<Shaping> =
        earlier.iter().filter(|turn| !was_refused(turn)).map(|t| Shaping::of(t, None)).collect();
    turns.push(Shaping::of(current, Some(&model)));
    let fixed = system.len() + tools.iter().map(tool_size).sum::<usize>();
    let left_out = fit(&mut turns, fixed, limit.budget_bytes());

    let mut messages = joined(turns.into_iter().flat_map(|turn| turn.messages).map(|message| calls.apply(message)));
    let paused = current.replies.last().is_some_and(|reply| reply.stop == Some(ReplyStop::Pause));
    if !paused && matches!(messages.last(), Some(Message::Assistant(_))) {
        // Only a reply that was cut off can stand last here, and a model is asked by a user.
        messages.pop();
    }
    renumber(&mut messages);
    Shaped { request: Request { model, system, tools, messages, max_output_tokens: limit.asked_for }, left_out }
}

/// A Turn that the model refused is left out whole: with it in sight, it would go on refusing.
fn was_refused(turn: &StoredTurn) -> bool {
    matches!(&turn.turn.state, TurnState::Finished(ended) if ended.ending == Ending::Refusal)
}

/// How long a reply may get, and what that leaves for the request.
struct ReplyLimit {
    asked_for: Option<u64>,
    budget: u64,
}

impl ReplyLimit {
    /// A small context is shared in halves: a model that names its whole context as its longest reply still answers.
    fn of(known: Option<&Model>) -> Self {
        let longest = known.and_then(|model| model.max_output_tokens).map(|most| most.min(REPLY_TOKENS));
        let Some(context) = known.and_then(|model| model.context_tokens) else {
            return Self { asked_for: longest, budget: BUDGET_TOKENS };
        };
        let reply = longest.unwrap_or(REPLY_TOKENS_UNKNOWN).min(context / 2).max(1);
        let is_usual = longest.is_none() && reply == REPLY_TOKENS_UNKNOWN;
        let asked_for = if is_usual { None } else { Some(reply) };
        Self { asked_for, budget: context.saturating_sub(reply).min(BUDGET_TOKENS) }
    }

    fn budget_bytes(&self) -> usize {
        usize::try_from(self.budget * BYTES_PER_TOKEN).unwrap_or(usize::MAX)
    }
}

/// One Turn on its way into a request.
struct Shaping {
    messages: Vec<Message>,
    /// How many Items it stands for.
    items: u32,
}

impl Shaping {
    /// Shapes a Turn: the question, then per reply its text and calls, then their results. Reasoning goes back within
    /// the Turn that is carried on, and only to the model it came from: `carried_on` names it.
    fn of(turn: &StoredTurn, carried_on: Option<&ModelRef>) -> Self {
        let mut messages = Vec::new();
        let mut items = 1_u32;
        let question = printable(&turn.question).unwrap_or_else(|| String::from("(no text)"));
        messages.push(Message::User { results: Vec::new(), texts: alloc::vec![question] });
        for reply in &turn.replies {
            let with_reasoning = carried_on == Some(&reply.model);
            let (blocks, results) = answer(reply, with_reasoning);
            let has_text = u32::from(!reply.text.is_empty());
            items = items.saturating_add(has_text).saturating_add(u32::try_from(reply.calls.len()).unwrap_or(u32::MAX));
            if !blocks.is_empty() {
                messages.push(Message::Assistant(blocks));
            }
            if !results.is_empty() {
                messages.push(Message::User { results, texts: Vec::new() });
            }
        }
        Self { messages, items }
    }

    fn size(&self) -> usize {
        self.messages.iter().map(message_size).sum()
    }
}

/// Returns what of a reply is sent, and the results of its calls in their order.
fn answer(reply: &StoredReply, with_reasoning: bool) -> (Vec<Block>, Vec<ToolResult>) {
    let carries_calls = match &reply.stop {
        Some(ReplyStop::Done | ReplyStop::StopSequence | ReplyStop::Pause) => true,
        // Not whole, or cut by a limit or a filter: no call of it counts, and its reasoning may be half.
        Some(ReplyStop::MaxTokens | ReplyStop::ContentFilter | ReplyStop::ContextFull)
        | Some(ReplyStop::Refusal { .. })
        | None => false,
    };
    if !carries_calls {
        return (printable(&reply.text).map(Block::Text).into_iter().collect(), Vec::new());
    }
    let mut stored = reply.calls.iter();
    let (mut blocks, mut results) = (Vec::new(), Vec::new());
    for block in &reply.blocks {
        match block {
            Block::Text(text) => blocks.extend(printable(text).map(Block::Text)),
            Block::Raw(raw) if with_reasoning => blocks.push(Block::Raw(raw.clone())),
            Block::Raw(_) => {}
            Block::Call(call) => {
                // By position and never by id: some models begin anew with the same ids in every reply.
                let stored = stored.next();
                if stored.is_none() && reply.stop != Some(ReplyStop::Done) {
                    continue;
                }
                let Told { text, is_error } = result(stored);
                let text = printable(&text).unwrap_or_else(|| String::from("(nothing was told)"));
                results.push(ToolResult { call_id: call.id.clone(), text, is_error });
                blocks.push(Block::Call(Call {
                    id: call.id.clone(),
                    name: tool_name(&call.name),
                    arguments: without_nul_escapes(&without_nul(&call.arguments)),
                }));
            }
        }
    }
    (blocks, results)
}

/// Returns what the model is told of a call. A result that was never written is made from what became of the call.
fn result(call: Option<&StoredCall>) -> Told {
    match call.map(|call| &call.progress) {
        Some(CallProgress::Told(told)) => told.clone(),
        Some(CallProgress::Closed(outcome)) => told::missing(outcome),
        Some(CallProgress::Proposed(proposal)) => told::missing(&outcome_at_close(proposal)),
        Some(CallProgress::Unjudged) | None => told::missing(&CommandOutcome::Cancelled),
    }
}

/// Makes the Turns fit: outputs of earlier Turns are shortened, oldest first; then whole Turns are left out, oldest
/// first; then outputs of the last Turn are shortened. Returns how many Items were left out.
fn fit(turns: &mut Vec<Shaping>, fixed: usize, budget: usize) -> u32 {
    let mut total = fixed + turns.iter().map(Shaping::size).sum::<usize>();
    let Some((current, earlier)) = turns.split_last_mut() else { return 0 };
    for turn in &mut *earlier {
        shorten(turn, &mut total, budget);
    }
    let (mut left_out, mut gone) = (0_u32, 0);
    for turn in &*earlier {
        if total <= budget {
            break;
        }
        total -= turn.size();
        left_out = left_out.saturating_add(turn.items);
        gone += 1;
    }
    shorten(current, &mut total, budget);
    turns.drain(..gone);
    left_out
}

/// Shortens the outputs of a Turn, oldest first, while the whole does not fit.
fn shorten(turn: &mut Shaping, total: &mut usize, budget: usize) {
    let results = turn.messages.iter_mut().flat_map(|message| match message {
        Message::User { results, .. } => results.as_mut_slice(),
        Message::Assistant(_) => &mut [],
    });
    for result in results {
        if *total <= budget {
            return;
        }
        let whole = result.text.len();
        let head = cut_bytes(&result.text, SHORTENED_BYTES);
        let short = format!("{head}\n[shortened to make room: the first {} of {whole} bytes]", head.len());
        if short.len() < whole {
            *total -= whole - short.len();
            result.text = short;
        }
    }
}

fn message_size(message: &Message) -> usize {
    match message {
        Message::User { results, texts } => {
            let results = results.iter().map(|result| result.call_id.len() + result.text.len());
            results.chain(texts.iter().map(String::len)).sum()
        }
        Message::Assistant(blocks) => blocks.iter().map(block_size).sum(),
    }
}

fn block_size(block: &Block) -> usize {
    match block {
        Block::Text(text) | Block::Raw(text) => text.len(),
        Block::Call(call) => call.id.len() + call.name.len() + call.arguments.len(),
    }
}

fn tool_size(tool: &ToolSpec) -> usize {
    let parameters = tool.parameters.iter().map(|parameter| parameter.name.len() + parameter.description.len());
    tool.name.len() + tool.description.len() + parameters.sum::<usize>()
}

/// How calls of the past are sent.
#[derive(Clone, Copy)]
enum Calls {
    /// As calls with results.
    AsCalls,
    /// As words: services take no calls in a request that offers no tools.
    AsText,
}

impl Calls {
    fn apply(self, message: Message) -> Message {
        match (self, message) {
            (Self::AsCalls, message) => message,
            (Self::AsText, Message::Assistant(blocks)) => {
                Message::Assistant(blocks.into_iter().filter(|block| !matches!(block, Block::Call(_))).collect())
            }
            (Self::AsText, Message::User { results, texts }) => {
                let told = results.into_iter().map(|result| format!("Of an earlier command:\n{}", result.text));
                Message::User { results: Vec::new(), texts: told.chain(texts).collect() }
            }
        }
    }
}

/// Joins neighbours of one role, so that roles alternate; what is empty is no message.
fn joined(messages: impl Iterator<Item = Message>) -> Vec<Message> {
    let mut joined: Vec<Message> = Vec::new();
    for message in messages {
        match (joined.last_mut(), message) {
            (_, Message::Assistant(blocks)) if blocks.is_empty() => {}
            (_, Message::User { results, texts }) if results.is_empty() && texts.is_empty() => {}
            (Some(Message::Assistant(before)), Message::Assistant(blocks)) => before.extend(blocks),
            (Some(Message::User { results: before, texts: said }), Message::User { results, texts }) => {
                before.extend(results);
                said.extend(texts);
            }
            (_, message) => joined.push(message),
        }
    }
    joined
}

/// Gives each call an id that every service takes and that occurs once, in call and result alike. What stands in for
/// another is counted, so that the same rows give the same bytes.
fn renumber(messages: &mut [Message]) {
    let mut used: BTreeSet<String> = BTreeSet::new();
    let mut count = 0_u32;
    let mut waiting: Vec<String> = Vec::new();
    for message in messages {
        match message {
            Message::Assistant(blocks) => {
                waiting.clear();
                for block in blocks {
                    let Block::Call(call) = block else { continue };
                    count += 1;
                    if !is_call_id(&call.id) || used.contains(&call.id) {
                        call.id = free_id(count, &used);
                    }
                    used.insert(call.id.clone());
                    waiting.push(call.id.clone());
                }
            }
            Message::User { results, .. } => {
                for (result, id) in results.iter_mut().zip(waiting.drain(..)) {
                    result.call_id = id;
                }
            }
        }
    }
}

fn free_id(count: u32, used: &BTreeSet<String>) -> String {
    let mut id = format!("owl_{count}");
    while used.contains(&id) {
        id.push('_');
    }
    id
}

fn is_call_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(is_name_byte)
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// Returns a tool's name as services take it back; models invent names that they do not.
fn tool_name(name: &str) -> String {
    let plain = name.chars().take(64).map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' });
    let plain: String = plain.collect();
    if plain.is_empty() { String::from("unnamed") } else { plain }
}

/// Returns a text as it is sent; none when there is nothing in it to read.
fn printable(text: &str) -> Option<String> {
    if text.chars().all(char::is_whitespace) { None } else { Some(without_nul(text)) }
}

fn without_nul(text: &str) -> String {
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text.to_string() }
}

/// Replaces a NUL that JSON text spells as an escape; an escaped backslash before `u0000` is left alone.
fn without_nul_escapes(json: &str) -> String {
    if !json.contains("\\u0000") {
        return json.to_string();
    }
    let mut plain = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        plain.push_str(before);
        if let Some(after) = escape.strip_prefix("\\u0000") {
            plain.push_str("\\ufffd");
            rest = after;
        } else {
            let length = escape.chars().take(2).map(char::len_utf8).sum();
            let (pair, after) = escape.split_at(length);
            plain.push_str(pair);
            rest = after;
        }
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests;
