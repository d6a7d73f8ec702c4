//! A neutral request -> the body of `POST /v1/messages`. Pure: the same request gives the same bytes.

use crate::arguments::{as_object, schema};
use owl_domain::provider::{Block, Message, Request, ToolResult};
use serde_json::{Value, json};

/// The longest reply when the model's own maximum is not known, in tokens.
const TOKENS_UNKNOWN: u64 = 8_192;
/// The longest reply that is asked for, in tokens.
pub(crate) const TOKENS_MOST: u64 = 32_000;

/// Makes the body.
pub(super) fn body(request: &Request) -> Value {
    let mut messages: Vec<Value> = request.messages.iter().map(message).collect();
    // The end of the conversation is where the next request parts from this one: what is before it can be cached.
    if let Some(last) = messages.last_mut().and_then(|m| m["content"].as_array_mut()).and_then(|c| c.last_mut())
        && may_be_cached(last)
    {
        last["cache_control"] = ephemeral();
    }
    let mut body = json!({
        "model": request.model.id.as_str(),
        "max_tokens": request.max_output_tokens.map_or(TOKENS_UNKNOWN, |most| most.min(TOKENS_MOST)),
        "stream": true,
        "system": [{"type": "text", "text": request.system, "cache_control": ephemeral()}],
        "messages": messages,
    });
    if !request.tools.is_empty() {
        let tools = request
            .tools
            .iter()
            .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": schema(tool)}))
            .collect();
        body["tools"] = Value::Array(tools);
    }
    body
}

fn ephemeral() -> Value {
    json!({"type": "ephemeral"})
}

fn may_be_cached(block: &Value) -> bool {
    matches!(block["type"].as_str(), Some("text" | "tool_result" | "tool_use"))
}

fn message(message: &Message) -> Value {
    match message {
        Message::User { results, texts } => {
            let content: Vec<Value> = results.iter().map(result).chain(texts.iter().map(|t| text(t))).collect();
            json!({"role": "user", "content": content})
        }
        Message::Assistant(blocks) => {
            let content: Vec<Value> = blocks.iter().filter_map(block).collect();
            json!({"role": "assistant", "content": content})
        }
    }
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn result(result: &ToolResult) -> Value {
    let mut block = json!({"type": "tool_result", "tool_use_id": result.call_id, "content": result.text});
    if result.is_error {
        block["is_error"] = Value::Bool(true);
    }
    block
}

fn block(block: &Block) -> Option<Value> {
    match block {
        Block::Text(words) => Some(text(words)),
        // Made by this crate's own decoder; a row that somebody damaged is left out.
        Block::Raw(raw) => serde_json::from_str(raw).ok(),
        Block::Call(call) => {
            Some(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": as_object(&call.arguments)}))
        }
    }
}

#[cfg(test)]
mod tests;
