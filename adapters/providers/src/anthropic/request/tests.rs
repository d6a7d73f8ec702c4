use super::*;
use owl_domain::{
    provider::{Call, ModelRef, Provider, ToolParameter, ToolSpec},
    text::ModelId,
};

const COMMAND: &[ToolParameter] = &[ToolParameter { name: "command", description: "A line.", required: true }];

fn request(messages: Vec<Message>) -> Request {
    Request {
        model: ModelRef { provider: Provider::Anthropic, id: ModelId::new("claude-x").unwrap() },
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
fn a_conversation_becomes_messages_and_its_end_is_marked_for_the_cache() {
    let call = Call { id: "toolu_1".into(), name: "run_command".into(), arguments: "{\"command\":\"git log\"}".into() };
    let result = |id: &str, is_error| ToolResult { call_id: id.into(), text: "said".into(), is_error };
    let body = body(&request(vec![
        question("What?"),
        Message::Assistant(vec![
            Block::Raw("{\"signature\":\"s\",\"thinking\":\"t\",\"type\":\"thinking\"}".into()),
            Block::Text("Look.".into()),
            Block::Call(call.clone()),
            Block::Call(Call { id: "toolu_2".into(), arguments: String::new(), ..call }),
        ]),
        Message::User { results: vec![result("toolu_1", false), result("toolu_2", true)], texts: vec!["And?".into()] },
    ]));
    assert_eq!(
        body,
        json!({
            "model": "claude-x", "max_tokens": 8192, "stream": true,
            "system": [{"type": "text", "text": "You are here.", "cache_control": {"type": "ephemeral"}}],
            "tools": [{"name": "run_command", "description": "Proposes.", "input_schema": {
                "type": "object", "properties": {"command": {"type": "string", "description": "A line."}},
                "required": ["command"], "additionalProperties": false}}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "What?"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "t", "signature": "s"},
                    {"type": "text", "text": "Look."},
                    {"type": "tool_use", "id": "toolu_1", "name": "run_command", "input": {"command": "git log"}},
                    {"type": "tool_use", "id": "toolu_2", "name": "run_command", "input": {}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "said"},
                    {"type": "tool_result", "tool_use_id": "toolu_2", "content": "said", "is_error": true},
                    {"type": "text", "text": "And?", "cache_control": {"type": "ephemeral"}}]},
            ],
        })
    );
}

#[test]
fn nothing_is_sent_that_some_models_refuse() {
    let body = body(&request(vec![question("What?")]));
    for name in ["thinking", "temperature", "tool_choice", "top_p", "stop_sequences"] {
        assert!(body.get(name).is_none(), "{name}");
    }
}

#[test]
fn without_tools_the_member_is_left_out() {
    let mut request = request(vec![question("What?")]);
    request.tools.clear();
    assert!(body(&request).get("tools").is_none());
}

#[test]
fn the_longest_reply_is_the_models_own_up_to_a_bound() {
    for (known, sent) in [(None, 8_192), (Some(4_096), 4_096), (Some(64_000), 32_000)] {
        let request = Request { max_output_tokens: known, ..request(vec![question("What?")]) };
        assert_eq!(body(&request)["max_tokens"], sent, "{known:?}");
    }
}

#[test]
fn reasoning_that_goes_back_last_is_not_touched() {
    let raw = "{\"data\":\"AA\",\"type\":\"redacted_thinking\"}";
    let body = body(&request(vec![question("What?"), Message::Assistant(vec![Block::Raw(raw.into())])]));
    assert_eq!(body["messages"][1]["content"][0], serde_json::from_str::<Value>(raw).unwrap());
}

#[test]
fn the_same_request_gives_the_same_bytes() {
    let request = request(vec![question("What?")]);
    assert_eq!(body(&request).to_string(), body(&request.clone()).to_string());
}
