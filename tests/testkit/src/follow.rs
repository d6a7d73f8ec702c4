//! Holds the events of a subscription against what is promised of them: in order, without a gap, each once, and text
//! whose pieces join to what is stored in the end (D7).

use serde_json::Value;
use std::collections::HashMap;

/// What a client knows of one of its subscriptions.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    /// Whether all events of a Conversation or Job come, so that one's `prev` is the one before.
    all: bool,
    /// Whether it began with the first event there is.
    from_the_first: bool,
    newest: i64,
    /// The number of the last event of each Conversation and Job.
    last: HashMap<String, i64>,
    /// The text of each part of each open Item.
    texts: HashMap<(String, String), String>,
    over: bool,
}

impl Follow {
    /// Begins to follow, as it was asked for.
    pub(crate) fn new(params: &Value) -> Self {
        let from_the_first = params["after_seq"] == 0;
        let newest = params["after_seq"].as_i64().unwrap_or(0);
        Self { all: params["types"].is_null(), from_the_first, newest, ..Self::default() }
    }

    /// Takes the next event.
    ///
    /// # Errors
    /// Says what was promised otherwise.
    pub(crate) fn take(&mut self, event: &Value) -> Result<(), String> {
        if self.over {
            return Err("the subscription had ended".into());
        }
        let name = event["type"].as_str().unwrap_or_default();
        if let Some(seq) = event["seq"].as_i64() {
            self.durable(event, seq)?;
        }
        match name {
            "item.delta" => self.delta(event),
            "item.snapshot" => {
                if event["offset"] != 0 {
                    return Err("a snapshot begins at 0".into());
                }
                self.texts.insert(part_of(event), text_of(event));
                Ok(())
            }
            "item.completed" => self.completed(&event["item"]),
            "stream.lagged" | "stream.closed" => {
                self.over = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn durable(&mut self, event: &Value, seq: i64) -> Result<(), String> {
        if seq <= self.newest {
            return Err(format!("it came behind {}", self.newest));
        }
        self.newest = seq;
        let of = event["conversation_id"].as_str().or_else(|| event["job_id"].as_str()).unwrap_or_default();
        let before = self.last.insert(of.to_owned(), seq);
        if !self.all {
            return Ok(());
        }
        match (before, event["prev"].as_i64()) {
            // The events of a Conversation go with it: whoever did not have them yet is told of its end alone.
            (Some(before), Some(prev)) if prev > before && event["type"] == "conversation.deleted" => Ok(()),
            (Some(before), prev) if prev != Some(before) => Err(format!("the one before was {before}")),
            // A deleted Conversation's earlier events are gone.
            (None, Some(prev)) if self.from_the_first && event["type"] != "conversation.deleted" => {
                Err(format!("{prev} was never told"))
            }
            _ => Ok(()),
        }
    }

    fn delta(&mut self, event: &Value) -> Result<(), String> {
        let held = self.texts.entry(part_of(event)).or_default();
        if event["offset"].as_u64() != u64::try_from(held.len()).ok() {
            return Err(format!("{} bytes are held", held.len()));
        }
        held.push_str(&text_of(event));
        Ok(())
    }

    fn completed(&mut self, item: &Value) -> Result<(), String> {
        let result = &item["result"];
        let parts = [
            ("text", &item["text"]),
            ("reasoning", &item["reasoning"]),
            ("stdout", &result["stdout"]["head"]),
            ("stderr", &result["stderr"]["head"]),
        ];
        for (part, whole) in parts {
            let key = (item["id"].as_str().unwrap_or_default().to_owned(), part.to_owned());
            if let Some(held) = self.texts.remove(&key)
                && whole.as_str() != Some(&held)
                && item["outcome"] != "interrupted"
            {
                return Err(format!("the pieces of {part} join to {held:?}"));
            }
        }
        Ok(())
    }
}

fn part_of(event: &Value) -> (String, String) {
    let word = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
    (word("item_id"), word("part"))
}

fn text_of(event: &Value) -> String {
    event["text"].as_str().unwrap_or_default().to_owned()
}
