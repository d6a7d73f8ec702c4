use super::*;
use proptest::prelude::*;
use serde_json::json;

fn stream(prompts_off: PromptsOff) -> Stream {
    Stream::new(&AbsPath::new("/w/j_7").unwrap(), prompts_off)
}

fn read(stream: &mut Stream, value: &Value) -> Vec<AgentEvent> {
    stream.read(value.to_string().as_bytes())
}

fn call(id: &str, line: &str) -> Value {
    json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "Now."},
        {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": line, "description": id}}]}})
}

fn denied(events: &[AgentEvent]) -> Vec<&ToolCall> {
    events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::Denied(call) | AgentEvent::Failed(call) => Some(call),
            _ => None,
        })
        .collect()
}

#[test]
fn what_the_tool_says_of_itself_is_read() {
    let init = json!({"type": "system", "subtype": "init", "session_id": "s", "cwd": "/w", "tools": ["Bash", "Edit"],
        "mcp_servers": [{"name": "t", "status": "connected", "new": 1}], "model": "m", "permissionMode": "plan",
        "apiKeySource": "none", "claude_code_version": "2.1.332", "something": {"new": true}});
    let reported = Reported {
        permission_mode: Some("plan".into()),
        tools: vec!["Bash".into(), "Edit".into()],
        mcp_servers: vec![McpServer { name: "t".into(), status: "connected".into() }],
        tool_version: Some("2.1.332".into()),
        api_key_source: Some("none".into()),
    };
    assert_eq!(read(&mut stream(PromptsOff::Flag), &init), [AgentEvent::Reported(reported)]);
}

#[test]
fn a_denial_is_told_with_the_input_of_its_call_by_event_and_by_result() {
    let mut stream = stream(PromptsOff::Flag);
    assert_eq!(read(&mut stream, &call("toolu_1", "curl x")), []);
    let event = json!({"type": "system", "subtype": "permission_denied", "tool_name": "Bash", "tool_use_id": "toolu_1",
        "decision_reason_type": "asyncAgent", "message": "whatever it says"});
    let told = read(&mut stream, &event);
    let first = denied(&told)[0].clone();
    assert_eq!((first.command(), first.id.as_deref()), (Some("curl x"), Some("toolu_1")));
    let result = json!({"type": "result", "subtype": "success", "is_error": false, "result": "done",
        "permission_denials": [{"tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"command": "curl x"}},
            {"tool_name": "Write", "tool_use_id": "toolu_2", "tool_input": {"file_path": "/w/j_7/.npmrc", "content": ""}}]});
    let told = read(&mut stream, &result);
    let calls = denied(&told);
    assert_eq!(*calls[0], first, "the same call, whichever way it is told");
    assert_eq!(calls[1].file(), Some(".npmrc"));
    let said = AgentResult { is_error: false, subtype: "success".into(), text: Some("done".into()) };
    assert_eq!(told.last(), Some(&AgentEvent::Result(said)));
}

#[test]
fn a_failure_may_be_a_denial_only_where_the_tool_does_not_tell_them_apart() {
    let failed = json!({"type": "user", "message": {"content": [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "no", "is_error": true},
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": "yes", "is_error": false}]}});
    for (prompts_off, expected) in [(PromptsOff::Flag, 0), (PromptsOff::Mode, 1)] {
        let mut stream = stream(prompts_off);
        read(&mut stream, &call("toolu_1", "make test"));
        read(&mut stream, &call("toolu_2", "make"));
        assert_eq!(denied(&read(&mut stream, &failed)).len(), expected);
    }
}

#[test]
fn equal_calls_are_equal_whatever_describes_them() {
    let mut stream = stream(PromptsOff::Flag);
    read(&mut stream, &call("a", "curl x"));
    read(&mut stream, &call("b", "curl x"));
    read(&mut stream, &call("c", "curl y"));
    assert_eq!(stream.calls["a"].input, stream.calls["b"].input);
    assert_ne!(stream.calls["a"].input, stream.calls["c"].input);
}

#[test]
fn each_tools_call_is_about_what_a_rule_could_name() {
    let stream = stream(PromptsOff::Flag);
    let subject = |tool: &str, input: Value| stream.call(None, tool, Some(&input)).subject;
    assert_eq!(subject("Write", json!({"file_path": "/w/j_7/a/b"})), Subject::File("a/b".into()));
    assert_eq!(subject("Write", json!({"file_path": "/w/j_70/a"})), Subject::File("/w/j_70/a".into()));
    assert_eq!(subject("NotebookEdit", json!({"notebook_path": "n.ipynb"})), Subject::File("n.ipynb".into()));
    assert_eq!(subject("WebFetch", json!({"url": "https://x"})), Subject::Address("https://x".into()));
    assert_eq!(subject("Skill", json!({"skill": "deploy"})), Subject::Skill("deploy".into()));
    assert_eq!(subject("mcp__t__x", json!({"a": 1})), Subject::Other);
    assert_eq!(subject("Bash", json!({"command": 5})), Subject::Other);
}

#[test]
fn a_retry_says_whether_the_credential_was_refused() {
    let retry = |error: Value| {
        let mut stream = stream(PromptsOff::Flag);
        let event =
            json!({"type": "system", "subtype": "api_retry", "attempt": 2, "retry_delay_ms": 0.5, "error": error});
        match read(&mut stream, &event).remove(0) {
            AgentEvent::Retrying { attempt: 2, credential, .. } => credential,
            other => panic!("{other:?}"),
        }
    };
    assert!(retry(json!("authentication_failed")));
    assert!(retry(json!({"type": "authentication_failed"})));
    assert!(!retry(json!("overloaded")));
}

#[test]
fn what_is_not_known_is_passed_over_and_what_does_not_say_that_it_went_well_did_not() {
    let mut stream = stream(PromptsOff::Flag);
    for line in [
        "",
        "not json",
        "[]",
        "5",
        "{}",
        r#"{"type":"new"}"#,
        r#"{"type":"assistant"}"#,
        r#"{"type":"user","message":5}"#,
    ] {
        assert_eq!(stream.read(line.as_bytes()), [], "{line}");
    }
    let failed = |line: &str| match &Stream::new(&AbsPath::new("/w").unwrap(), PromptsOff::Flag).read(line.as_bytes())[..]
    {
        [AgentEvent::Result(result)] => result.is_error,
        other => panic!("{other:?}"),
    };
    assert!(failed(r#"{"type":"result","subtype":"error_max_turns"}"#));
    assert!(failed(r#"{"type":"result","subtype":"success","is_error":true}"#));
    assert!(!failed(r#"{"type":"result","subtype":"success"}"#));
}

#[test]
fn calls_are_remembered_in_bounded_number() {
    let mut stream = stream(PromptsOff::Flag);
    for id in 0..CALLS_REMEMBERED + 10 {
        read(&mut stream, &call(&id.to_string(), "x"));
    }
    assert_eq!((stream.calls.len(), stream.order.len()), (CALLS_REMEMBERED, CALLS_REMEMBERED));
}

proptest! {
    #[test]
    fn no_line_makes_it_panic(line in proptest::collection::vec(any::<u8>(), 0..200), kind in "system|assistant|user|result") {
        let mut stream = stream(PromptsOff::Mode);
        stream.read(&line);
        stream.read(format!(r#"{{"type":"{kind}","message":{{"content":[{{}}]}},"permission_denials":[{{}},5]}}"#).as_bytes());
    }
}
