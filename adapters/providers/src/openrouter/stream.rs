//! The chunks of a chat completion -> a reply. Its end signs are a `finish_reason` and `[DONE]`, both (D17).

use super::{
    calls::Calls,
    reasoning::{Reasoning, readable},
};
use crate::assemble::{self, Decoder, Fault, Progress, Tally};
use owl_domain::provider::{Block, Piece, ReplyStop, WholeReply};
use serde_json::Value;

/// One reply on its way.
#[derive(Default)]
pub(super) struct OpenRouterStream {
    tally: Tally,
    id: Option<String>,
    text: String,
    reasoning: Reasoning,
    calls: Calls,
    finish: Option<Finish>,
    /// What a model says when it declines, apart from its text.
    refusal: String,
}

/// Why a reply finished. Two may be told; the gravest counts, so they are in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Finish {
    Ordinary,
    Length,
    Refusal,
    ContentFilter,
    Error,
}

impl Decoder for OpenRouterStream {
    fn event(&mut self, data: &str, pieces: &mut Vec<Piece>) -> Result<Progress, Fault> {
        if data.trim() == "[DONE]" {
            return self.whole().map(|whole| Progress::Whole(Box::new(whole)));
        }
        let Ok(chunk @ Value::Object(_)) = serde_json::from_str::<Value>(data) else {
            return Err(Fault::Malformed("a chunk's data is not a JSON object"));
        };
        if self.id.is_none() {
            self.id = chunk["id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
        }
        self.usage(&chunk["usage"]);
        let choice = the_choice(&chunk["choices"]);
        if !chunk["error"].is_null() {
            return Err(in_stream(&chunk["error"]));
        }
        if !choice["error"].is_null() {
            return Err(in_stream(&choice["error"]));
        }
        self.delta(&choice["delta"], pieces)?;
        self.finished(choice);
        Ok(Progress::More)
    }

    fn tally(&self) -> &Tally {
        &self.tally
    }

    fn reply_id(&self) -> Option<&str> {
        self.id.as_deref()
    }
}

impl OpenRouterStream {
    /// Takes usage: the last one counts. `prompt_tokens` holds what came from the cache too.
    fn usage(&mut self, told: &Value) {
        if !told.is_object() {
            return;
        }
        let tokens = |value: &Value| assemble::tokens(value).unwrap_or(0);
        let usage = &mut self.tally.usage;
        usage.cache_read_tokens = tokens(&told["prompt_tokens_details"]["cached_tokens"]);
        usage.input_tokens = tokens(&told["prompt_tokens"]).saturating_sub(usage.cache_read_tokens);
        usage.output_tokens = tokens(&told["completion_tokens"]);
        usage.cost_usd = assemble::cost(&told["cost"]);
    }

    fn delta(&mut self, delta: &Value, pieces: &mut Vec<Piece>) -> Result<(), Fault> {
        let details = delta["reasoning_details"].as_array().map(Vec::as_slice).unwrap_or_default();
        match delta["reasoning"].as_str().or_else(|| delta["reasoning_content"].as_str()) {
            Some(text) => self.tally.reasoning(text, pieces)?,
            None => self.tally.reasoning(&readable(details), pieces)?,
        }
        for piece in details {
            self.tally.kept(
                ["text", "summary", "data", "signature"].iter().filter_map(|n| piece[n].as_str()).map(str::len).sum(),
            )?;
        }
        self.reasoning.pieces(details);
        if let Some(text) = delta["content"].as_str() {
            self.text.push_str(text);
            self.tally.text(text, pieces)?;
        }
        if let Some(text) = delta["refusal"].as_str() {
            self.tally.kept(text.len())?;
            self.refusal.push_str(text);
        }
        for piece in delta["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default() {
            let kept = self.calls.piece(piece);
            self.tally.call(kept)?;
        }
        Ok(())
    }

    fn finished(&mut self, choice: &Value) {
        let Some(word) = choice["finish_reason"].as_str() else { return };
        let finish = match word {
            "error" => Finish::Error,
            "content_filter" => Finish::ContentFilter,
            _ if choice["native_finish_reason"] == "refusal" => Finish::Refusal,
            "length" => Finish::Length,
            "stop" | "tool_calls" | "function_call" => Finish::Ordinary,
            other => {
                // A word is logged, and nothing that a service could put in its place.
                let is_word = other.len() <= 40 && other.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
                let word = if is_word { other } else { "(no word)" };
                tracing::warn!(finish_reason = word, "a reply finished for a reason that is not known");
                Finish::Ordinary
            }
        };
        self.finish = self.finish.max(Some(finish));
    }

    fn whole(&mut self) -> Result<WholeReply, Fault> {
        let Some(finish) = self.finish else {
            return Err(Fault::Incomplete("no finish reason was told"));
        };
        let refused = !self.refusal.is_empty();
        let stop = match finish {
            Finish::Error => {
                let message = "the service ended the reply with an error and did not say which".into();
                return Err(Fault::Service { code: "error".into(), message });
            }
            Finish::ContentFilter => ReplyStop::ContentFilter,
            Finish::Refusal => ReplyStop::Refusal { explanation: refused.then(|| std::mem::take(&mut self.refusal)) },
            Finish::Length => ReplyStop::MaxTokens,
            Finish::Ordinary if refused && self.calls.is_empty() => {
                ReplyStop::Refusal { explanation: Some(std::mem::take(&mut self.refusal)) }
            }
            Finish::Ordinary => ReplyStop::Done,
        };
        let mut blocks: Vec<Block> = std::mem::take(&mut self.reasoning).finish().map(Block::Raw).collect();
        if !self.text.is_empty() {
            blocks.push(Block::Text(std::mem::take(&mut self.text)));
        }
        blocks.extend(std::mem::take(&mut self.calls).finish().map(Block::Call));
        Ok(WholeReply { blocks, stop, usage: self.tally.usage })
    }
}

/// Returns the one choice that was asked for; null when the chunk has none. A service that sends more sends other
/// answers, which are not a part of this one.
fn the_choice(choices: &Value) -> &Value {
    let choices = choices.as_array().map(Vec::as_slice).unwrap_or_default();
    choices.iter().find(|choice| choice["index"].as_i64().is_none_or(|index| index == 0)).unwrap_or(&Value::Null)
}

/// An error inside a 200 stream: its code may be a number or a text.
fn in_stream(error: &Value) -> Fault {
    let code = match &error["code"] {
        Value::Number(code) => code.to_string(),
        Value::String(code) => code.clone(),
        _ => error["type"].as_str().unwrap_or("error").to_owned(),
    };
    let message = error["message"].as_str().or_else(|| error.as_str()).unwrap_or_default().to_owned();
    Fault::Service { code, message }
}

#[cfg(test)]
mod tests;
