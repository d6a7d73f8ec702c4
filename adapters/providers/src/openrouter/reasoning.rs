//! Pieces of `reasoning_details` -> entries that go back unchanged on their message (D17).

use serde_json::{Map, Value};

/// The entries of one reply.
#[derive(Debug, Default)]
pub(super) struct Reasoning(Vec<Map<String, Value>>);

/// What is joined, and what the last one that is not null replaces.
const JOINED: [&str; 3] = ["text", "summary", "data"];

impl Reasoning {
    /// Takes the details of one piece; entries with the same `index` and `type` are one.
    pub(super) fn pieces(&mut self, details: &[Value]) {
        for piece in details.iter().filter_map(Value::as_object) {
            let same = |entry: &&mut Map<String, Value>| {
                entry.get("type") == piece.get("type")
                    && match (entry.get("index"), piece.get("index")) {
                        (Some(one), Some(other)) => one == other,
                        // Without an index, encrypted data is whole: joined it would be damaged.
                        (None, None) => piece.get("data").is_none(),
                        (Some(_), None) | (None, Some(_)) => false,
                    }
            };
            match self.0.iter_mut().rev().find(same) {
                Some(entry) => join(entry, piece),
                None => self.0.push(piece.clone()),
            }
        }
    }

    /// Returns the raw JSON of each entry.
    pub(super) fn finish(self) -> impl Iterator<Item = String> {
        self.0.into_iter().map(|entry| Value::Object(entry).to_string())
    }
}

fn join(entry: &mut Map<String, Value>, piece: &Map<String, Value>) {
    for (name, value) in piece {
        match (entry.get_mut(name), value) {
            (_, Value::Null) => {}
            (Some(Value::String(text)), Value::String(more)) if JOINED.contains(&name.as_str()) => text.push_str(more),
            _ => {
                entry.insert(name.clone(), value.clone());
            }
        }
    }
}

/// Returns what of a piece's details people may read, for services that tell it nowhere else.
pub(super) fn readable(details: &[Value]) -> String {
    details.iter().filter_map(|piece| piece["text"].as_str().or_else(|| piece["summary"].as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn joined(pieces: &[Value]) -> Vec<Value> {
        let mut reasoning = Reasoning::default();
        for piece in pieces {
            reasoning.pieces(piece.as_array().unwrap());
        }
        reasoning.finish().map(|raw| serde_json::from_str(&raw).unwrap()).collect()
    }

    #[test]
    fn pieces_of_one_index_and_type_are_one_entry() {
        let entries = joined(&[
            json!([{"type": "reasoning.text", "index": 0, "text": "Let ", "format": "f", "signature": null}]),
            json!([{"type": "reasoning.text", "index": 0, "text": "me", "format": null}]),
            json!([{"type": "reasoning.text", "index": 0, "signature": "sig"}]),
            json!([{"type": "reasoning.summary", "index": 0, "summary": "a"}, {"type": "reasoning.summary", "index": 1, "summary": "b"}]),
            json!([{"type": "reasoning.encrypted", "index": 2, "data": "AA"}, {"type": "reasoning.encrypted", "index": 2, "data": "BB", "id": "r1"}]),
        ]);
        assert_eq!(
            entries,
            [
                json!({"type": "reasoning.text", "index": 0, "text": "Let me", "format": "f", "signature": "sig"}),
                json!({"type": "reasoning.summary", "index": 0, "summary": "a"}),
                json!({"type": "reasoning.summary", "index": 1, "summary": "b"}),
                json!({"type": "reasoning.encrypted", "index": 2, "data": "AABB", "id": "r1"}),
            ]
        );
    }

    #[test]
    fn encrypted_entries_without_an_index_are_never_joined() {
        let entries = joined(&[
            json!([{"type": "reasoning.encrypted", "data": "AA"}]),
            json!([{"type": "reasoning.encrypted", "data": "BB"}]),
            json!([{"type": "reasoning.text", "text": "a"}]),
            json!([{"type": "reasoning.text", "text": "b"}]),
        ]);
        assert_eq!(
            entries,
            [
                json!({"type": "reasoning.encrypted", "data": "AA"}),
                json!({"type": "reasoning.encrypted", "data": "BB"}),
                json!({"type": "reasoning.text", "text": "ab"}),
            ]
        );
    }
}
