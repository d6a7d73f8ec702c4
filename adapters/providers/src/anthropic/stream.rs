//! The events of a Messages stream -> a reply. Its end sign is `message_stop`; new events and blocks are announced, so
//! unknown ones are passed over (D17).

use crate::assemble::{Decoder, Fault, Progress, Tally, tokens};
use owl_domain::provider::{Block, Call, Piece, ReplyStop, WholeReply};
use serde_json::{Map, Value};

/// One reply on its way.
#[derive(Default)]
pub(super) struct AnthropicStream {
    tally: Tally,
    id: Option<String>,
    /// In the order in which they began.
    blocks: Vec<Building>,
    stop: Option<String>,
    explanation: Option<String>,
}

/// A content block that began.
struct Building {
    index: u64,
    open: bool,
    kind: Kind,
}

enum Kind {
    Text(String),
    Thinking {
        start: Map<String, Value>,
        thinking: String,
        signature: String,
    },
    Call {
        start: Map<String, Value>,
        json: String,
    },
    /// `redacted_thinking`, and whatever is not known: goes back as it came.
    Raw {
        start: Map<String, Value>,
        json: String,
        whole: bool,
    },
}

impl Decoder for AnthropicStream {
    fn event(&mut self, data: &str, pieces: &mut Vec<Piece>) -> Result<Progress, Fault> {
        let Ok(Value::Object(mut event)) = serde_json::from_str(data) else {
            return Err(Fault::Malformed("an event's data is not a JSON object"));
        };
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut part = |name: &str| event.remove(name).unwrap_or_default();
        match kind.as_str() {
            "message_start" => {
                let message = part("message");
                self.id = message["id"].as_str().map(str::to_owned);
                self.usage(&message["usage"]);
            }
            "content_block_start" => self.block_start(&part("index"), part("content_block"), pieces)?,
            "content_block_delta" => self.block_delta(&part("index"), &part("delta"), pieces)?,
            "content_block_stop" => {
                let index = part("index").as_u64();
                if let Some(block) = self.blocks.iter_mut().rev().find(|b| b.open && Some(b.index) == index) {
                    block.open = false;
                }
            }
            "message_delta" => {
                let delta = part("delta");
                if let Some(reason) = delta["stop_reason"].as_str() {
                    self.stop = Some(reason.into());
                }
                if let Some(explanation) = delta["stop_details"]["explanation"].as_str() {
                    self.explanation = Some(explanation.into());
                }
                self.usage(&part("usage"));
            }
            "message_stop" => return self.whole().map(|whole| Progress::Whole(Box::new(whole))),
            "error" => {
                let error = part("error");
                return Err(Fault::Service {
                    code: error["type"].as_str().unwrap_or("error").into(),
                    message: error["message"].as_str().unwrap_or_default().into(),
                });
            }
            _ => {}
        }
        Ok(Progress::More)
    }

    fn tally(&self) -> &Tally {
        &self.tally
    }

    fn reply_id(&self) -> Option<&str> {
        self.id.as_deref()
    }
}

impl AnthropicStream {
    /// Takes usage: it is cumulative, so what is told replaces what was.
    fn usage(&mut self, told: &Value) {
        let usage = &mut self.tally.usage;
        for (name, field) in [
            ("input_tokens", &mut usage.input_tokens),
            ("output_tokens", &mut usage.output_tokens),
            ("cache_read_input_tokens", &mut usage.cache_read_tokens),
            ("cache_creation_input_tokens", &mut usage.cache_write_tokens),
        ] {
            if let Some(tokens) = tokens(&told[name]) {
                *field = tokens;
            }
        }
    }

    fn block_start(&mut self, index: &Value, block: Value, pieces: &mut Vec<Piece>) -> Result<(), Fault> {
        let (Some(index), Value::Object(start)) = (index.as_u64(), block) else {
            return Err(Fault::Malformed("a content block has no index or is not an object"));
        };
        let text = |name: &str| start.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let kind = match text("type").as_str() {
            "text" => {
                let first = text("text");
                self.tally.text(&first, pieces)?;
                Kind::Text(first)
            }
            "thinking" => {
                let (thinking, signature) = (text("thinking"), text("signature"));
                self.tally.reasoning(&thinking, pieces)?;
                Kind::Thinking { start, thinking, signature }
            }
            "tool_use" => {
                self.tally.call(text("id").len() + text("name").len())?;
                Kind::Call { start, json: String::new() }
            }
            _ => {
                self.tally.kept(start.values().map(|v| v.as_str().map_or(0, str::len)).sum())?;
                Kind::Raw { start, json: String::new(), whole: true }
            }
        };
        self.blocks.push(Building { index, open: true, kind });
        Ok(())
    }

    fn block_delta(&mut self, index: &Value, delta: &Value, pieces: &mut Vec<Piece>) -> Result<(), Fault> {
        let index = index.as_u64();
        let Some(block) = self.blocks.iter_mut().rev().find(|b| b.open && Some(b.index) == index) else {
            return Err(Fault::Malformed("a piece belongs to no open content block"));
        };
        let piece = |name: &str| delta[name].as_str().unwrap_or_default();
        match (&mut block.kind, delta["type"].as_str().unwrap_or_default()) {
            (Kind::Text(text), "text_delta") => {
                text.push_str(piece("text"));
                self.tally.text(piece("text"), pieces)
            }
            (Kind::Thinking { thinking, .. }, "thinking_delta") => {
                thinking.push_str(piece("thinking"));
                self.tally.reasoning(piece("thinking"), pieces)
            }
            (Kind::Thinking { signature, .. }, "signature_delta") => {
                signature.push_str(piece("signature"));
                self.tally.kept(piece("signature").len())
            }
            (Kind::Call { json, .. } | Kind::Raw { json, .. }, "input_json_delta") => {
                json.push_str(piece("partial_json"));
                self.tally.call(piece("partial_json").len())
            }
            // A block of which a part is not understood cannot go back unmodified.
            (Kind::Raw { whole, .. }, _) => {
                *whole = false;
                Ok(())
            }
            (Kind::Text(_) | Kind::Thinking { .. } | Kind::Call { .. }, _) => Ok(()),
        }
    }

    fn whole(&mut self) -> Result<WholeReply, Fault> {
        if self.blocks.iter().any(|block| block.open) {
            return Err(Fault::Incomplete("a content block had not stopped"));
        }
        let Some(reason) = self.stop.take() else {
            return Err(Fault::Incomplete("no stop reason was told"));
        };
        let stop = match reason.as_str() {
            "end_turn" | "tool_use" => ReplyStop::Done,
            "stop_sequence" => ReplyStop::StopSequence,
            "max_tokens" => ReplyStop::MaxTokens,
            "refusal" => ReplyStop::Refusal { explanation: self.explanation.take() },
            "model_context_window_exceeded" => ReplyStop::ContextFull,
            "pause_turn" => ReplyStop::Pause,
            _ => return Err(Fault::UnknownStop(reason)),
        };
        let mut nameless = 0_u32;
        let blocks = self.blocks.drain(..).filter_map(|block| finished(block.kind, &mut nameless)).collect();
        Ok(WholeReply { blocks, stop, usage: self.tally.usage })
    }
}

/// Returns a block as it is kept; none when nothing of it may go back.
fn finished(kind: Kind, nameless: &mut u32) -> Option<Block> {
    match kind {
        Kind::Text(text) => (!text.is_empty()).then_some(Block::Text(text)),
        // The service refuses thinking without the signature that it was given with.
        Kind::Thinking { signature, .. } if signature.is_empty() => None,
        Kind::Thinking { mut start, thinking, signature } => {
            start.insert("thinking".into(), thinking.into());
            start.insert("signature".into(), signature.into());
            Some(Block::Raw(Value::Object(start).to_string()))
        }
        Kind::Call { mut start, json } => {
            let mut text = |name: &str| match start.remove(name) {
                Some(Value::String(text)) => text,
                Some(_) | None => String::new(),
            };
            let (mut id, name) = (text("id"), text("name"));
            if id.is_empty() {
                *nameless += 1;
                id = format!("owl_{nameless}");
            }
            // Some servers send the input whole with the block's start.
            let arguments = match start.remove("input") {
                Some(Value::Object(input)) if json.is_empty() && !input.is_empty() => Value::Object(input).to_string(),
                Some(_) | None => json,
            };
            Some(Block::Call(Call { id, name, arguments }))
        }
        Kind::Raw { whole: false, .. } => None,
        Kind::Raw { mut start, json, .. } => {
            if !json.is_empty() {
                start.insert("input".into(), serde_json::from_str(&json).ok()?);
            }
            Some(Block::Raw(Value::Object(start).to_string()))
        }
    }
}

#[cfg(test)]
mod tests;
