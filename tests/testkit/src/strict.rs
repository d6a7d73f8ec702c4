//! A model server on loopback that speaks as Anthropic does and refuses, as that does, a history in which a call has no
//! result right after it. What it says is written in the question, so that a Turn can be carried on by any daemon.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so and ends")]

use crate::{ByteServer, Recorded, Script};
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// How long it waits between two words of a reply that comes slowly.
const BETWEEN_WORDS: Duration = Duration::from_millis(2);

/// The server. Each line `run: LINE` of a question becomes a call; a line `then` begins the next reply; a line `slowly`
/// has words come one by one. The last reply calls nothing.
#[derive(Debug)]
pub struct StrictModel {
    server: ByteServer,
    faults: Arc<Mutex<Vec<String>>>,
}

impl StrictModel {
    /// Listens on a free port of loopback.
    pub fn start() -> Self {
        let faults = Arc::new(Mutex::new(Vec::new()));
        let found = faults.clone();
        let server = ByteServer::answering(move |request| match reply_to(request) {
            Ok(script) => script,
            Err(fault) => {
                let error = json!({ "type": "invalid_request_error", "message": fault });
                found.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{fault}: {}", request.json()));
                let body = json!({ "type": "error", "error": error }).to_string();
                Script::answer(400, &["content-type: application/json"], body)
            }
        });
        Self { server, faults }
    }

    /// Returns its base address.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.server.requests()
    }

    /// Returns what it refused so far, and why.
    pub fn faults(&self) -> Vec<String> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn reply_to(request: &Recorded) -> Result<Script, String> {
    let body = request.json();
    let messages = body["messages"].as_array().ok_or("there are no messages")?;
    let calls_before = check(messages)?;
    let asked = |message: &&Value| message["role"] == "user" && texts(message).next().is_some();
    let at = messages.iter().rposition(|message| asked(&message)).ok_or("nothing was asked")?;
    let question = texts(&messages[at]).last().unwrap_or_default().to_owned();
    let nth = messages[at..].iter().filter(|message| message["role"] == "assistant").count();
    let lines: Vec<&str> = question.lines().map(str::trim).collect();
    let round = lines.split(|line| *line == "then").nth(nth).unwrap_or_default();
    let calls: Vec<&str> = round.iter().filter_map(|line| line.strip_prefix("run:")).map(str::trim).collect();
    let text = if calls.is_empty() { "That is all there is to see." } else { "Let me have a look at that." };
    Ok(script(text, &calls, calls_before, lines.contains(&"slowly")))
}

/// Refuses what the service refuses. Returns how many calls the history holds.
fn check(messages: &[Value]) -> Result<usize, String> {
    let (mut open, mut seen, mut last) = (Vec::new(), HashSet::new(), String::from("assistant"));
    for (nth, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().ok_or("a message has no role")?;
        if role == last {
            return Err(format!("messages.{nth}: {role} twice in a row"));
        }
        last = role.to_owned();
        let (mut answered, mut called, mut text_before) = (Vec::new(), Vec::new(), false);
        let blocks = message["content"].as_array().filter(|blocks| !blocks.is_empty());
        for block in blocks.ok_or(format!("messages.{nth}: content is empty"))? {
            match (role, block["type"].as_str().unwrap_or_default()) {
                (_, "text") if block["text"].as_str().is_some_and(|text| !text.trim().is_empty()) => text_before = true,
                ("user", "tool_result") if !text_before => {
                    answered.push(block["tool_use_id"].as_str().unwrap_or_default().to_owned());
                }
                ("assistant", "tool_use") if block["input"].is_object() => {
                    let id = block["id"].as_str().unwrap_or_default().to_owned();
                    if !seen.insert(id.clone()) {
                        return Err(format!("messages.{nth}: {id} twice"));
                    }
                    called.push(id);
                }
                _ => return Err(format!("messages.{nth}: {block} cannot stand here")),
            }
        }
        if answered != open {
            return Err(format!("messages.{nth}: {open:?} were called, and {answered:?} have a result right after"));
        }
        open = called;
    }
    if last == "user" { Ok(seen.len()) } else { Err("the last message is not the user's".into()) }
}

fn texts(message: &Value) -> impl Iterator<Item = &str> {
    let blocks = message["content"].as_array().into_iter().flatten();
    blocks.filter(|block| block["type"] == "text").filter_map(|block| block["text"].as_str())
}

/// Makes a reply of words and calls.
fn script(text: &str, calls: &[&str], calls_before: usize, slowly: bool) -> Script {
    let usage = json!({ "input_tokens": 10, "output_tokens": 1 });
    let begin = [
        json!({ "type": "message_start", "message": { "id": "msg_1", "model": "claude-x", "usage": usage } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
    ];
    let mut script = Script::events().send(events(&begin));
    for word in text.split_inclusive(' ') {
        let delta = json!({ "type": "text_delta", "text": word });
        script = script.send(events(&[json!({ "type": "content_block_delta", "index": 0, "delta": delta })]));
        if slowly {
            script = script.pause(BETWEEN_WORDS);
        }
    }
    let mut end = vec![json!({ "type": "content_block_stop", "index": 0 })];
    for (nth, line) in calls.iter().enumerate() {
        let index = nth + 1;
        let id = format!("toolu_{}", calls_before + index);
        let call = json!({ "type": "tool_use", "id": id, "name": "run_command", "input": {} });
        let input = json!({ "type": "input_json_delta", "partial_json": json!({ "command": line }).to_string() });
        end.push(json!({ "type": "content_block_start", "index": index, "content_block": call }));
        end.push(json!({ "type": "content_block_delta", "index": index, "delta": input }));
        end.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let stop = if calls.is_empty() { "end_turn" } else { "tool_use" };
    end.push(json!({ "type": "message_delta", "delta": { "stop_reason": stop }, "usage": { "output_tokens": 9 } }));
    end.push(json!({ "type": "message_stop" }));
    script.send(events(&end))
}

fn events(events: &[Value]) -> String {
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect()
}
