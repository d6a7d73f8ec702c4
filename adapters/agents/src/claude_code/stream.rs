//! Claude Code's stream, one JSON object a line, read tolerantly: what is not known is passed over, since the log keeps
//! it. Never looks at the text of a refusal, which differs from version to version (D21).

use owl_domain::{
    job::AgentResult,
    permissions::{BASH, McpServer, Reported, Subject, ToolCall},
    ports::{AgentEvent, PromptsOff},
    text::AbsPath,
};
use serde_json::Value;
use std::collections::{HashMap, VecDeque};

/// Calls whose end has not been told yet; an Agent makes a few at a time.
const CALLS_REMEMBERED: usize = 4_096;
/// How the tool names a credential that is refused.
const CREDENTIAL_REFUSED: &str = "authentication_failed";

/// Reads lines, and remembers calls until it is told what became of them.
#[derive(Debug)]
pub(super) struct Stream {
    worktree: String,
    prompts_off: PromptsOff,
    calls: HashMap<String, ToolCall>,
    order: VecDeque<String>,
}

impl Stream {
    pub(super) fn new(worktree: &AbsPath, prompts_off: PromptsOff) -> Self {
        let worktree = format!("{}/", worktree.as_str());
        Self { worktree, prompts_off, calls: HashMap::new(), order: VecDeque::new() }
    }

    /// Returns what a line says.
    pub(super) fn read(&mut self, line: &[u8]) -> Vec<AgentEvent> {
        let Ok(value) = serde_json::from_slice::<Value>(line) else { return Vec::new() };
        match (text(&value, "type"), text(&value, "subtype")) {
            ("system", "init") => vec![AgentEvent::Reported(reported(&value))],
            ("system", "permission_denied") => vec![AgentEvent::Denied(self.denied_by_event(&value))],
            ("system", "api_retry") => vec![retrying(&value)],
            ("assistant", _) => {
                self.remember(&value);
                Vec::new()
            }
            ("user", _) => self.failed(&value),
            ("result", subtype) => self.result(&value, subtype),
            _ => Vec::new(),
        }
    }

    fn remember(&mut self, value: &Value) {
        for block in blocks(value).filter(|block| text(block, "type") == "tool_use") {
            let id = text(block, "id");
            if id.is_empty() {
                continue;
            }
            let call = self.call(Some(id), text(block, "name"), block.get("input"));
            if self.calls.insert(id.into(), call).is_none() {
                self.order.push_back(id.into());
            }
            if self.order.len() > CALLS_REMEMBERED
                && let Some(oldest) = self.order.pop_front()
            {
                self.calls.remove(&oldest);
            }
        }
    }

    /// On a version that tells no refusals while it runs, a failed call may be one; whoever knows the lists decides.
    fn failed(&self, value: &Value) -> Vec<AgentEvent> {
        match self.prompts_off {
            PromptsOff::Flag => return Vec::new(),
            PromptsOff::Mode => {}
        }
        let failed = blocks(value).filter(|block| text(block, "type") == "tool_result");
        let failed = failed.filter(|block| block.get("is_error").and_then(Value::as_bool) == Some(true));
        failed.filter_map(|block| self.calls.get(text(block, "tool_use_id")).cloned().map(AgentEvent::Failed)).collect()
    }

    fn denied_by_event(&self, value: &Value) -> ToolCall {
        let id = text(value, "tool_use_id");
        // The event has no input; the call that it is about was told before.
        self.calls.get(id).cloned().unwrap_or_else(|| self.call(Some(id), text(value, "tool_name"), None))
    }

    fn result(&self, value: &Value, subtype: &str) -> Vec<AgentEvent> {
        let denials = value.get("permission_denials").and_then(Value::as_array).into_iter().flatten();
        let mut events: Vec<AgentEvent> = denials
            .map(|denial| {
                let id = text(denial, "tool_use_id");
                AgentEvent::Denied(self.call(Some(id), text(denial, "tool_name"), denial.get("tool_input")))
            })
            .collect();
        events.push(AgentEvent::Result(AgentResult {
            // Whatever does not say that it went well did not.
            is_error: value.get("is_error").and_then(Value::as_bool).unwrap_or(subtype != "success"),
            subtype: subtype.into(),
            text: value.get("result").and_then(Value::as_str).map(Into::into),
        }));
        events
    }

    fn call(&self, id: Option<&str>, tool: &str, input: Option<&Value>) -> ToolCall {
        let nothing = Value::Null;
        let input = input.unwrap_or(&nothing);
        let subject = match tool {
            BASH => given(input, "command").map(Subject::Command),
            "Edit" | "Write" | "MultiEdit" | "Read" => self.file(input, "file_path"),
            "NotebookEdit" => self.file(input, "notebook_path"),
            "WebFetch" => given(input, "url").map(Subject::Address),
            "Skill" => given(input, "skill").or_else(|| given(input, "command")).map(Subject::Skill),
            _ => None,
        };
        ToolCall {
            id: id.filter(|id| !id.is_empty()).map(Into::into),
            tool: tool.into(),
            subject: subject.unwrap_or(Subject::Other),
            input: in_one_spelling(tool, input),
        }
    }

    fn file(&self, input: &Value, key: &str) -> Option<Subject> {
        let path = given(input, key)?;
        let relative = path.strip_prefix(&self.worktree).map(ToOwned::to_owned);
        Some(Subject::File(relative.unwrap_or(path)))
    }
}

/// Writes the input so that equal calls are equal: keys in order, without the words that describe a command to a person.
fn in_one_spelling(tool: &str, input: &Value) -> String {
    match (tool, input) {
        (BASH, Value::Object(members)) => {
            let mut members = members.clone();
            members.remove("description");
            Value::Object(members).to_string()
        }
        _ => input.to_string(),
    }
}

fn reported(value: &Value) -> Reported {
    let texts = |key: &str| {
        let list = value.get(key).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(Into::into).collect()
    };
    let servers = value.get("mcp_servers").and_then(Value::as_array).into_iter().flatten();
    Reported {
        permission_mode: given(value, "permissionMode"),
        tools: texts("tools"),
        mcp_servers: servers
            .map(|server| McpServer { name: text(server, "name").into(), status: text(server, "status").into() })
            .collect(),
        tool_version: given(value, "claude_code_version"),
        api_key_source: given(value, "apiKeySource"),
    }
}

fn retrying(value: &Value) -> AgentEvent {
    let error = match value.get("error") {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let attempt = value.get("attempt").and_then(Value::as_u64).and_then(|attempt| u32::try_from(attempt).ok());
    let credential = error.contains(CREDENTIAL_REFUSED);
    AgentEvent::Retrying { attempt: attempt.unwrap_or(0), error, credential }
}

fn blocks(value: &Value) -> impl Iterator<Item = &Value> {
    value.get("message").and_then(|message| message.get("content")).and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn given(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(Into::into)
}

#[cfg(test)]
mod tests;
