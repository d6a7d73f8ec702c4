//! Pieces of calls -> calls, for services that number them in every way there is: an index that is missing, wrong or
//! from 1; an id that is repeated, late or missing (D17).

use owl_domain::provider::Call;
use serde_json::Value;

/// The calls of one reply, in the order in which they were opened.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Building>);

#[derive(Debug, Default)]
struct Building {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Calls {
    /// Takes one entry of `tool_calls` and returns how many bytes of it were kept.
    pub(super) fn piece(&mut self, piece: &Value) -> usize {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let id = text(&piece["id"]);
        let name = text(&piece["function"]["name"]);
        // Some servers send the object itself instead of its text.
        let arguments = match &piece["function"]["arguments"] {
            Value::String(text) => text.clone(),
            object @ Value::Object(_) => object.to_string(),
            _ => String::new(),
        };
        let kept = id.len() + name.len() + arguments.len();
        let place = self.place(piece["index"].as_u64(), &id, &name);
        let call = &mut self.0[place];
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        call.arguments.push_str(&arguments);
        kept
    }

    /// A known id wins; else the index; else the one that is open. A new id opens a call even under a used index,
    /// unless the call there still lacks its own.
    fn place(&mut self, index: Option<u64>, id: &str, name: &str) -> usize {
        if !id.is_empty()
            && let Some(known) = self.0.iter().position(|call| call.id == id)
        {
            return known;
        }
        let found = match index {
            Some(_) => self.0.iter().rposition(|call| call.index == index),
            // Without id and index, a name after whole arguments can only begin the next call.
            None => self.0.len().checked_sub(1).filter(|last| name.is_empty() || !self.0[*last].is_complete()),
        };
        match found {
            Some(found) if id.is_empty() || self.0[found].id.is_empty() => found,
            Some(_) | None => {
                self.0.push(Building { index, ..Building::default() });
                self.0.len() - 1
            }
        }
    }

    /// Says whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the calls; one without an id gets one.
    pub(super) fn finish(self) -> impl Iterator<Item = Call> {
        self.0.into_iter().enumerate().map(|(n, call)| {
            let id = if call.id.is_empty() { format!("owl_{}", n + 1) } else { call.id };
            Call { id, name: call.name, arguments: call.arguments }
        })
    }
}

impl Building {
    fn is_complete(&self) -> bool {
        serde_json::from_str::<Value>(&self.arguments).is_ok_and(|v| v.is_object())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(pieces: &[Value], expected: &[(&str, &str, &str)]) {
        let mut calls = Calls::default();
        for piece in pieces {
            calls.piece(piece);
        }
        let calls: Vec<_> = calls.finish().map(|c| (c.id, c.name, c.arguments)).collect();
        let expected: Vec<_> =
            expected.iter().map(|(id, name, args)| (id.to_string(), name.to_string(), args.to_string())).collect();
        assert_eq!(calls, expected, "{pieces:?}");
    }

    fn piece(index: Option<u64>, id: Option<&str>, name: Option<&str>, arguments: &str) -> Value {
        let mut piece = json!({"function": {"arguments": arguments}});
        if let Some(index) = index {
            piece["index"] = index.into();
        }
        if let Some(id) = id {
            piece["id"] = id.into();
        }
        if let Some(name) = name {
            piece["function"]["name"] = name.into();
        }
        piece
    }

    #[test]
    fn pieces_by_index_as_documented() {
        check(
            &[
                piece(Some(0), Some("a"), Some("f"), ""),
                piece(Some(0), None, None, "{\"x\":"),
                piece(Some(1), Some("b"), Some("g"), "{"),
                piece(Some(0), None, None, "1}"),
                piece(Some(1), None, None, "}"),
            ],
            &[("a", "f", "{\"x\":1}"), ("b", "g", "{}")],
        );
    }

    #[test]
    fn indexes_from_one_repeated_ids_and_names_are_one_call() {
        check(
            &[piece(Some(1), Some("a"), Some("f"), "{"), piece(Some(1), Some("a"), Some("f"), "}")],
            &[("a", "f", "{}")],
        );
    }

    #[test]
    fn a_known_id_wins_over_a_wrong_index() {
        check(
            &[
                piece(Some(0), Some("a"), Some("f"), "{\"x\":"),
                piece(Some(1), Some("b"), Some("g"), "{\"y\":"),
                piece(Some(1), Some("a"), None, "1}"),
                piece(Some(0), Some("b"), None, "2}"),
            ],
            &[("a", "f", "{\"x\":1}"), ("b", "g", "{\"y\":2}")],
        );
    }

    #[test]
    fn a_new_id_opens_a_call_under_a_used_index() {
        check(
            &[
                piece(Some(0), Some("a"), Some("f"), "{}"),
                piece(Some(0), Some("b"), Some("g"), "{"),
                piece(Some(0), None, None, "}"),
            ],
            &[("a", "f", "{}"), ("b", "g", "{}")],
        );
    }

    #[test]
    fn an_index_that_is_missing_means_the_call_that_is_open() {
        check(
            &[piece(None, Some("a"), Some("f"), ""), piece(None, None, None, "{"), piece(None, None, None, "}")],
            &[("a", "f", "{}")],
        );
        check(
            &[piece(None, None, Some("f"), "{}"), piece(None, None, Some("g"), "{}")],
            &[("owl_1", "f", "{}"), ("owl_2", "g", "{}")],
        );
    }

    #[test]
    fn ids_and_names_may_come_late_or_never() {
        check(&[piece(Some(0), None, None, "{"), piece(Some(0), Some("a"), Some("f"), "}")], &[("a", "f", "{}")]);
        check(
            &[piece(Some(0), None, Some("f"), "{}"), piece(Some(1), None, Some("g"), "{}")],
            &[("owl_1", "f", "{}"), ("owl_2", "g", "{}")],
        );
    }

    #[test]
    fn arguments_that_are_an_object_already_are_taken_as_its_text() {
        let whole = json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": {"x": 1}}});
        check(&[whole], &[("a", "f", "{\"x\":1}")]);
    }
}
