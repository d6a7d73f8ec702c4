//! Conversations with a model that is strict about its history, commands that can be held up, and what a client holds of
//! a Conversation across connections and daemons.

use crate::support::World;
use owl_testkit::{Client, Daemon, StrictModel, repo::TempRepo};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs::File,
    path::{Path, PathBuf},
};

/// Starts a strict model and makes it the daemon's.
pub(crate) async fn strict(world: &mut World) -> StrictModel {
    let model = StrictModel::start();
    configure(&mut world.client, &model.url()).await;
    model
}

/// Makes a server on loopback the daemon's model.
pub(crate) async fn configure(client: &mut Client, url: &str) {
    let params = json!({ "provider": "anthropic", "api_key": "sk-planted-7f3c9d2e51aa", "base_url": url, "default_model": "claude-x" });
    client.ok("providers.configure", params).await;
}

/// Makes a conversation with the daemon's model, watched from its beginning.
pub(crate) async fn talk(client: &mut Client, workdir: &str) -> String {
    let made = client.ok("conversations.create", json!({ "workdir": workdir })).await;
    let id = made["id"].as_str().unwrap().to_owned();
    client.ok("chat.subscribe", json!({ "conversation_id": id, "after_seq": 0 })).await;
    client.event_of("stream.live").await;
    id
}

/// Sends a question.
pub(crate) async fn question(client: &mut Client, conversation: &str, text: &str) -> Value {
    client.ok("chat.send", json!({ "conversation_id": conversation, "text": text })).await
}

/// Returns all durable events of a conversation, read anew.
pub(crate) async fn replayed(daemon: &Daemon, conversation: &str) -> Vec<Value> {
    after(daemon, conversation, 0).await
}

/// Returns the durable events of a conversation behind a number, read anew.
pub(crate) async fn after(daemon: &Daemon, conversation: &str, seq: i64) -> Vec<Value> {
    let mut client = daemon.connect().await;
    client.ok("chat.subscribe", json!({ "conversation_id": conversation, "after_seq": seq })).await;
    let mut events = client.events_until("stream.live").await;
    events.retain(|event| !event["seq"].is_null());
    events
}

/// Puts a FIFO where `git status` looks for what to leave out: it is held up until somebody opens the other end.
pub(crate) fn fifo(repo: &TempRepo) -> PathBuf {
    let path = repo.root().join("src/.gitignore");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::from_bits_truncate(0o644)).unwrap();
    path
}

/// Waits until a command that was told as started is the program that it should be. Returns where it is in `/proc`.
pub(crate) async fn held(started: &Value) -> String {
    let proc = format!("/proc/{}", started["pid"]);
    // While the program is put in place the kernel knows its file before its words; the environment is last.
    let is_there = || {
        std::fs::read_link(format!("{proc}/exe")).is_ok_and(|exe| json!(exe) == started["program"])
            && std::fs::read(format!("{proc}/environ")).is_ok_and(|environment| !environment.is_empty())
    };
    while !is_there() {
        assert!(std::fs::exists(&proc).unwrap(), "it ended before anybody saw it: {started}");
        tokio::task::yield_now().await;
    }
    proc
}

/// Lets a command go on that is held up there, once it is.
pub(crate) async fn release(fifo: &Path) {
    let fifo = fifo.to_owned();
    // Opening one end waits for the other.
    tokio::task::spawn_blocking(move || drop(File::options().write(true).open(fifo).unwrap())).await.unwrap();
}

/// Says whether a command still runs: a process of that number with that workdir. A zombie does not run.
pub(crate) fn runs(pid: i64, workdir: &str) -> bool {
    std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == Path::new(workdir))
}

/// What a client holds of a conversation, whatever became of its connections.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Held {
    /// Durable events, each once.
    pub(crate) events: Vec<Value>,
    /// The text of each part of each Item.
    pub(crate) texts: BTreeMap<(String, String), String>,
    /// How many events came in all.
    pub(crate) came: usize,
}

impl Held {
    /// Returns the number of the last durable event.
    pub(crate) fn last(&self) -> i64 {
        self.events.last().map_or(0, |event| event["seq"].as_i64().unwrap())
    }

    /// Takes the next event.
    pub(crate) fn take(&mut self, event: Value) {
        self.came += 1;
        let word = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        match event["type"].as_str().unwrap() {
            "item.delta" => {
                let text = self.texts.entry((word("item_id"), word("part"))).or_default();
                assert_eq!(event["offset"].as_u64(), u64::try_from(text.len()).ok(), "{event}");
                text.push_str(&word("text"));
            }
            "item.snapshot" => drop(self.texts.insert((word("item_id"), word("part")), word("text"))),
            "item.completed" => self.completed(&event["item"]),
            _ => {}
        }
        if let Some(seq) = event["seq"].as_i64() {
            assert!(seq > self.last(), "{event}");
            let before = self.events.last().map_or(Value::Null, |before| before["seq"].clone());
            assert_eq!(event["prev"], before, "an event is missing before {event}");
            self.events.push(event);
        }
    }

    /// What is completed is the truth.
    fn completed(&mut self, item: &Value) {
        self.texts.retain(|(id, _), _| *id != item["id"]);
        for (part, text) in [
            ("text", &item["text"]),
            ("reasoning", &item["reasoning"]),
            ("stdout", &item["result"]["stdout"]["head"]),
            ("stderr", &item["result"]["stderr"]["head"]),
        ] {
            if let Some(text) = text.as_str().filter(|text| !text.is_empty()) {
                self.texts.insert((item["id"].as_str().unwrap().to_owned(), part.to_owned()), text.to_owned());
            }
        }
    }

    /// Returns the Items that are whole.
    pub(crate) fn items(&self) -> Vec<Value> {
        let completed = self.events.iter().filter(|event| event["type"] == "item.completed");
        let mut items: Vec<Value> = completed.map(|event| event["item"].clone()).collect();
        items.sort_by_key(|item| item["seq"].as_i64());
        items
    }

    /// Says whether the last Turn has ended.
    pub(crate) fn is_over(&self) -> bool {
        let mut names = self.events.iter().rev().map(|event| event["type"].as_str().unwrap());
        names.find(|name| name.starts_with("turn.")) == Some("turn.finished")
    }
}
