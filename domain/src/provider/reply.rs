//! What a model is asked and what comes of it (D17).

use super::{ModelRef, TurnError};
use alloc::{boxed::Box, string::String, vec::Vec};
use core::time::Duration;

/// Tokens that were used, and what they cost where the Provider tells it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Usage {
    /// Read anew.
    pub input_tokens: u64,
    /// Written.
    pub output_tokens: u64,
    /// Read from the Provider's cache.
    pub cache_read_tokens: u64,
    /// Written to the Provider's cache.
    pub cache_write_tokens: u64,
    /// In USD.
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// The most tokens that one reply is believed to use: far above any context, and a million such replies are still
    /// a number that every client can read.
    pub const MOST_TOKENS_TOLD: u64 = 1 << 40;
    /// The most tokens of a sum: a JSON number beyond it is another one in many clients.
    pub const MOST_TOKENS: u64 = (1 << 53) - 1;
    /// The most that one reply is believed to cost, in USD.
    pub const MOST_COST_TOLD_USD: f64 = 1e9;

    /// Returns the sum, at most [`Self::MOST_TOKENS`] of each kind; a cost that is known for one part only is kept.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let tokens = |one: u64, other: u64| one.saturating_add(other).min(Self::MOST_TOKENS);
        let cost_usd = match (self.cost_usd, other.cost_usd) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
        };
        Self {
            input_tokens: tokens(self.input_tokens, other.input_tokens),
            output_tokens: tokens(self.output_tokens, other.output_tokens),
            cache_read_tokens: tokens(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens: tokens(self.cache_write_tokens, other.cache_write_tokens),
            cost_usd,
        }
    }
}

/// What a model is asked. Made by [`crate::conversation::history`] alone, so that it is always valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Which model.
    pub model: ModelRef,
    /// The fixed text that says what Owl is; holds nothing from a repository.
    pub system: String,
    /// The tools that are offered; empty when commands are off.
    pub tools: Vec<ToolSpec>,
    /// The conversation, roles alternating, the user's first.
    pub messages: Vec<Message>,
    /// The longest reply, in tokens, where the model's own maximum is known.
    pub max_output_tokens: Option<u64>,
}

/// A tool as it is offered to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub description: String,
    /// What it takes: named text parameters.
    pub parameters: &'static [ToolParameter],
}

/// One parameter of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolParameter {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub description: &'static str,
    /// Whether it must be given.
    pub required: bool,
}

/// One message of a request. Neighbours never have the same role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// From the user's side: results of the calls of the message before, in their order, then texts.
    User {
        /// One per call of the assistant's message before.
        results: Vec<ToolResult>,
        /// Questions; not empty texts.
        texts: Vec<String>,
    },
    /// From the model: its blocks in the order of arrival.
    Assistant(Vec<Block>),
}

/// What a call came to, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// The call's id in this request.
    pub call_id: String,
    /// The text.
    pub text: String,
    /// Whether it did not do what was asked.
    pub is_error: bool,
}

/// A part of a model's reply, in the order of arrival.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Words.
    Text(String),
    /// Reasoning as the service sent it, to go back unmodified: the raw JSON of one block or entry.
    Raw(String),
    /// A tool that it calls.
    Call(Call),
}

/// A tool call of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The model's id for it, or Owl's when it gave none.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments as they came, joined; empty means `{}`.
    pub arguments: String,
}

/// One argument of a call, as far as a tool of Owl's can use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// A text.
    Text(String),
    /// A whole number.
    Whole(i64),
    /// Anything else; names its type for people, such as `a list`.
    Other(&'static str),
}

/// What comes of a model that was asked. The last one is [`Piece::Whole`] or [`Piece::Broken`].
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// Words as they come; never empty.
    Text(String),
    /// Reasoning as it comes; never empty.
    Reasoning(String),
    /// The Provider will be asked again; only before the first text, reasoning or call.
    Retrying(Retrying),
    /// The reply is whole: its end sign came.
    Whole(Box<WholeReply>),
    /// The reply is not whole. Its text so far has been handed on; no call of it counts.
    Broken(Box<Broken>),
}

/// One more try, told before the wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retrying {
    /// The try that failed, from 1.
    pub attempt: u32,
    /// How many there are at most.
    pub max_attempts: u32,
    /// How long it waits.
    pub wait: Duration,
    /// The HTTP status, when there was one.
    pub status: Option<u16>,
    /// What the Provider said.
    pub message: String,
}

/// A reply that came to its end sign.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeReply {
    /// Its parts in order of arrival.
    pub blocks: Vec<Block>,
    /// Why it ended.
    pub stop: ReplyStop,
    /// What it used.
    pub usage: Usage,
}

/// Why a whole reply ended. Calls are carried out only for [`ReplyStop::Done`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyStop {
    /// An ordinary end, or tools are called.
    Done,
    /// A stop sequence.
    StopSequence,
    /// The length limit.
    MaxTokens,
    /// The model declined.
    Refusal {
        /// What the service says about it.
        explanation: Option<String>,
    },
    /// A filter.
    ContentFilter,
    /// The context is full.
    ContextFull,
    /// The service paused: the reply goes back unmodified and the next round begins.
    Pause,
}

impl ReplyStop {
    /// Says whether the calls of such a reply are carried out.
    pub const fn carries_out_calls(&self) -> bool {
        matches!(self, Self::Done)
    }
}

/// A reply that did not come to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Broken {
    /// Why.
    pub why: BrokenBy,
    /// What it used, as far as it was told.
    pub usage: Usage,
}

/// Why a reply did not come to its end.
#[derive(Debug, Clone, PartialEq)]
pub enum BrokenBy {
    /// An error, of the Provider or of the way to it.
    Error(TurnError),
    /// The Provider said that the prompt is too long: no error, but a full context.
    ContextFull,
    /// The `Stop` fired.
    Stopped,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_of_tokens_stays_a_number_that_every_client_can_read() {
        let most = Usage { input_tokens: u64::MAX, output_tokens: Usage::MOST_TOKENS, ..Usage::default() };
        let sum = most.plus(Usage { output_tokens: 1, cache_read_tokens: 7, ..most });
        let expected = (Usage::MOST_TOKENS, Usage::MOST_TOKENS, 7);
        assert_eq!((sum.input_tokens, sum.output_tokens, sum.cache_read_tokens), expected);
    }
}
