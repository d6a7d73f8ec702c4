//! The arguments of a call, and the schema that a model writes them by: one JSON for both services (D17).

use owl_domain::provider::{Argument, ToolSpec};
use serde::{
    Deserialize,
    de::{Deserializer, Error as _, MapAccess, Visitor},
};
use serde_json::{Map, Value, json};
use std::fmt;

/// Reads arguments: the members of an object in their order. Empty means none.
///
/// # Errors
/// A sentence for the model: not JSON, not an object, or which member stands there twice.
pub(crate) fn read(text: &str) -> Result<Vec<(String, Argument)>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    match serde_json::from_str::<Members>(text) {
        Ok(Members(members)) => Ok(members),
        Err(error) if error.is_eof() => Err("the arguments are not whole: the JSON ends too early".into()),
        Err(error) if error.is_data() => {
            // serde_json adds the place, which means nothing to whoever wrote one line.
            let text = error.to_string();
            Err(text.split(" at line ").next().unwrap_or(&text).to_owned())
        }
        Err(error) => Err(format!("the arguments are not JSON: {error}")),
    }
}

/// An object's members, in order and each once; a map would let the last of two win in silence.
struct Members(Vec<(String, Argument)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object of arguments")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members: Vec<(String, Argument)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    if members.iter().any(|(known, _)| *known == name) {
                        return Err(A::Error::custom(format_args!("the member `{name}` stands there twice")));
                    }
                    members.push((name, argument(value)));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

fn argument(value: Value) -> Argument {
    match value {
        Value::String(text) => Argument::Text(text),
        Value::Number(number) => number.as_i64().map_or(Argument::Other("a number"), Argument::Whole),
        Value::Null => Argument::Other("null"),
        Value::Bool(_) => Argument::Other("true or false"),
        Value::Array(_) => Argument::Other("a list"),
        Value::Object(_) => Argument::Other("an object"),
    }
}

/// Returns a call's arguments as the object that a service asks for. Empty is `{}`; what is no object was answered with
/// a refusal already and goes back whole under one name, so that the model sees what it wrote.
pub(crate) fn as_object(text: &str) -> Map<String, Value> {
    if text.trim().is_empty() {
        return Map::new();
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => object,
        Ok(_) | Err(_) => Map::from_iter([("unparsed".to_owned(), Value::from(text))]),
    }
}

/// Returns the JSON Schema of a tool's input: an object of named texts and nothing else.
pub(crate) fn schema(tool: &ToolSpec) -> Value {
    let properties: Map<String, Value> = tool
        .parameters
        .iter()
        .map(|p| (p.name.to_owned(), json!({"type": "string", "description": p.description})))
        .collect();
    let required: Vec<&str> = tool.parameters.iter().filter(|p| p.required).map(|p| p.name).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_in_their_order() {
        let read = read(r#"{"workdir":"/x","command":"git log","job_id":7,"n":1.5,"l":[1],"o":{},"b":true,"z":null}"#);
        let expected = [
            ("workdir", Argument::Text("/x".into())),
            ("command", Argument::Text("git log".into())),
            ("job_id", Argument::Whole(7)),
            ("n", Argument::Other("a number")),
            ("l", Argument::Other("a list")),
            ("o", Argument::Other("an object")),
            ("b", Argument::Other("true or false")),
            ("z", Argument::Other("null")),
        ];
        assert_eq!(read, Ok(expected.map(|(name, value)| (name.to_owned(), value)).to_vec()));
    }

    #[test]
    fn nothing_means_no_arguments() {
        for text in ["", "  \n", "{}", " {} "] {
            assert_eq!(read(text), Ok(Vec::new()), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_object_is_refused_and_says_why() {
        for (text, words) in [
            (r#"{"command":"git st"#, "not whole"),
            (r#"{"command""#, "not whole"),
            ("git status", "not JSON"),
            (r#"{"command":"a"} {"command":"b"}"#, "not JSON"),
            (r#"["git status"]"#, "a JSON object"),
            (r#""git status""#, "a JSON object"),
            ("7", "a JSON object"),
            ("null", "a JSON object"),
            (r#"{"command":"a","command":"b"}"#, "the member `command` stands there twice"),
            (r#"{"command":"a","comm\u0061nd":"b"}"#, "the member `command` stands there twice"),
        ] {
            let wrong = read(text).expect_err(text);
            assert!(wrong.contains(words), "{text}: {wrong}");
            assert!(!wrong.contains(" line ") || wrong.contains("not JSON"), "{wrong}");
        }
    }

    #[test]
    fn what_goes_back_is_always_an_object() {
        assert_eq!(as_object(r#"{"a":1}"#), json!({"a": 1}).as_object().unwrap().clone());
        assert_eq!(as_object(""), Map::new());
        assert_eq!(as_object(r#"{"a":"#), json!({"unparsed": "{\"a\":"}).as_object().unwrap().clone());
        assert_eq!(as_object("[1]"), json!({"unparsed": "[1]"}).as_object().unwrap().clone());
    }

    #[test]
    fn a_schema_takes_named_texts_and_nothing_else() {
        use owl_domain::provider::ToolParameter;
        const PARAMETERS: &[ToolParameter] = &[
            ToolParameter { name: "command", description: "A line.", required: true },
            ToolParameter { name: "workdir", description: "Where.", required: false },
        ];
        let tool = ToolSpec { name: "run_command", description: String::new(), parameters: PARAMETERS };
        assert_eq!(
            schema(&tool),
            json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string", "description": "A line."},
                    "workdir": {"type": "string", "description": "Where."},
                },
                "required": ["command"],
                "additionalProperties": false,
            })
        );
    }
}
