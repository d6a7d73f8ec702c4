use super::*;
use owl_domain::{
    provider::{ModelRef, Provider, ToolParameter, ToolResult, ToolSpec},
    text::ModelId,
};

const COMMAND: &[ToolParameter] = &[ToolParameter { name: "command", description: "A line.", required: true }];

fn request(messages: Vec<Message>) -> Request {
    Request {
        model: ModelRef { provider: Provider::OpenRouter, id: ModelId::new("vendor/model").unwrap() },
        system: "You are here.".into(),
        tools: vec![ToolSpec { name: "run_command", description: "Proposes.".into(), parameters: COMMAND }],
        messages,
        max_output_tokens: None,
    }
}

fn question(text: &str) -> Message {
    Message::User { results: Vec::new(), texts: vec![text.into()] }
}

#[test]
fn a_conversation_becomes_messages_with_one_tool_message_per_call() {
    let call =
        Call { id: "call_1".into(), name: "run_command".into(), arguments: "{ \"command\": \"git log\" }".into() };
    let result = |id: &str| ToolResult { call_id: id.into(), text: "said".into(), is_error: true };
    let body = body(&request(vec![
        question("What?"),
        Message::Assistant(vec![
            Block::Raw("{\"index\":0,\"text\":\"t\",\"type\":\"reasoning.text\"}".into()),
            Block::Text("Look.".into()),
            Block::Call(call.clone()),
            Block::Call(Call { id: "call_2".into(), arguments: String::new(), ..call.clone() }),
        ]),
        Message::User { results: vec![result("call_1"), result("call_2")], texts: vec!["And?".into(), "So?".into()] },
        Message::Assistant(vec![Block::Call(Call { id: "call_3".into(), arguments: "{\"comm".into(), ..call })]),
        Message::User { results: vec![result("call_3")], texts: Vec::new() },
    ]));
    let function = |arguments: &str| json!({"name": "run_command", "arguments": arguments});
    assert_eq!(
        body,
        json!({
            "model": "vendor/model", "stream": true, "stream_options": {"include_usage": true},
            "tools": [{"type": "function", "function": {"name": "run_command", "description": "Proposes.", "parameters": {
                "type": "object", "properties": {"command": {"type": "string", "description": "A line."}},
                "required": ["command"], "additionalProperties": false}}}],
            "messages": [
                {"role": "system", "content": "You are here."},
                {"role": "user", "content": "What?"},
                {"role": "assistant", "content": "Look.",
                 "reasoning_details": [{"type": "reasoning.text", "text": "t", "index": 0}],
                 "tool_calls": [
                    {"id": "call_1", "type": "function", "function": function("{ \"command\": \"git log\" }")},
                    {"id": "call_2", "type": "function", "function": function("{}")}]},
                {"role": "tool", "tool_call_id": "call_1", "content": "said"},
                {"role": "tool", "tool_call_id": "call_2", "content": "said"},
                {"role": "user", "content": "And?\n\nSo?"},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "call_3", "type": "function", "function": function("{\"unparsed\":\"{\\\"comm\"}")}]},
                {"role": "tool", "tool_call_id": "call_3", "content": "said"},
            ],
        })
    );
}

#[test]
fn the_longest_reply_is_left_out_unless_it_is_known() {
    for (known, sent) in [(None, Value::Null), (Some(4_096), 4_096.into()), (Some(64_000), 32_000.into())] {
        let request = Request { max_output_tokens: known, ..request(vec![question("What?")]) };
        assert_eq!(body(&request)["max_tokens"], sent, "{known:?}");
    }
}

#[test]
fn without_tools_the_member_is_left_out() {
    let mut request = request(vec![question("What?")]);
    request.tools.clear();
    assert!(body(&request).get("tools").is_none());
}
