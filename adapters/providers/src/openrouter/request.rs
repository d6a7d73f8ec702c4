//! A neutral request -> the body of `POST /v1/chat/completions`. Pure: the same request gives the same bytes.

use crate::arguments::{as_object, schema};
use owl_domain::provider::{Block, Call, Message, Request};
use serde_json::{Value, json};

/// The longest reply that is asked for, in tokens.
const TOKENS_MOST: u64 = 32_000;

/// Makes the body.
pub(super) fn body(request: &Request) -> Value {
    let mut messages = vec![json!({"role": "system", "content": request.system})];
    for message in &request.messages {
        match message {
            Message::User { results, texts } => {
                let results = results.iter();
                messages.extend(results.map(|r| json!({"role": "tool", "tool_call_id": r.call_id, "content": r.text})));
                if !texts.is_empty() {
                    messages.push(json!({"role": "user", "content": texts.join("\n\n")}));
                }
            }
            Message::Assistant(blocks) => messages.push(assistant(blocks)),
        }
    }
    let mut body = json!({
        "model": request.model.id.as_str(),
        "stream": true,
        "stream_options": {"include_usage": true},
        "messages": messages,
    });
    if let Some(most) = request.max_output_tokens {
        body["max_tokens"] = most.min(TOKENS_MOST).into();
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            let function = json!({"name": tool.name, "description": tool.description, "parameters": schema(tool)});
            json!({"type": "function", "function": function})
        });
        body["tools"] = tools.collect();
    }
    body
}

fn assistant(blocks: &[Block]) -> Value {
    let (mut texts, mut reasoning, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for block in blocks {
        match block {
            Block::Text(text) => texts.push(text.as_str()),
            // Made by this crate's own decoder; a row that somebody damaged is left out.
            Block::Raw(raw) => reasoning.extend(serde_json::from_str::<Value>(raw).ok()),
            Block::Call(call) => calls.push(tool_call(call)),
        }
    }
    let mut message = json!({"role": "assistant", "content": null});
    if !texts.is_empty() {
        message["content"] = texts.join("\n\n").into();
    }
    if !reasoning.is_empty() {
        message["reasoning_details"] = reasoning.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    message
}

fn tool_call(call: &Call) -> Value {
    // The string as it came, unless the service behind would fail to read it.
    let as_it_came = serde_json::from_str::<Value>(&call.arguments).is_ok_and(|v| v.is_object());
    let arguments =
        if as_it_came { call.arguments.clone() } else { Value::Object(as_object(&call.arguments)).to_string() };
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}

#[cfg(test)]
mod tests;
