//! JSON of which only the start is there, read as far as it goes: an error's body over its bound still says what it is.

use serde_json::Value;

/// Reads the start of a JSON document: what was open at its end is closed there, and a member that had not come to its
/// value is left out. Null when nothing can be read.
pub(crate) fn read(bytes: &[u8]) -> Value {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    };
    let (at_end, comma) = closed(text);
    let at_comma = || serde_json::from_str(&closed(&text[..comma]).0);
    serde_json::from_str(&at_end).or_else(|_| at_comma()).unwrap_or_default()
}

/// Returns the text closed at its end, and where its last comma is.
fn closed(text: &str) -> (String, usize) {
    let (mut open, mut comma) = (Vec::new(), 0);
    // Where a string began that has not ended, and where the last character ended that is whole.
    let (mut in_string, mut whole) = (false, 0);
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' if in_string => {
                let escaped = match chars.next() {
                    Some((_, 'u')) => chars.by_ref().take(4).count() == 4,
                    Some(_) => true,
                    None => false,
                };
                if !escaped {
                    break;
                }
            }
            '"' => in_string = !in_string,
            _ if in_string => {}
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => drop(open.pop()),
            ',' => comma = at,
            _ => {}
        }
        whole = chars.offset();
    }
    let quote = if in_string { "\"" } else { "" };
    let ends: String = open.iter().rev().collect();
    (format!("{}{quote}{ends}", &text[..whole]), comma)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_came_is_read_and_what_had_not_come_is_left_out() {
        for (start, expected) in [
            (r#"{"error":{"message":"Too lo"#, json!({"error": {"message": "Too lo"}})),
            (r#"{"error":{"type":"x","mess"#, json!({"error": {"type": "x"}})),
            (r#"{"error":{"type":"x","message":"#, json!({"error": {"type": "x"}})),
            (r#"{"error":{"message":"a, \"b\" {"},"more":["#, json!({"error": {"message": "a, \"b\" {"}, "more": []})),
            (r#"{"message":"a\"#, json!({"message": "a"})),
            (r#"{"message":"a\u00e"#, json!({"message": "a"})),
            (r#"{"message":"a\u00e9"#, json!({"message": "aé"})),
            (r#"{"error":{"code":400"#, json!({"error": {"code": 400}})),
            (r#"{"whole":1}"#, json!({"whole": 1})),
            ("<html><body>No, ", json!(null)),
            ("]}", json!(null)),
            ("", json!(null)),
        ] {
            assert_eq!(read(start.as_bytes()), expected, "{start}");
        }
        assert_eq!(read(b"{\"message\":\"a\xc3"), json!({"message": "a"}), "half a character");
    }

    #[test]
    fn wherever_it_is_cut_it_is_read_or_nothing_is() {
        let whole = json!({"a": [1, {"b": "c\"\\é\n"}], "error": {"message": "So, {it} is", "code": null}}).to_string();
        for end in 0..=whole.len() {
            let read = read(&whole.as_bytes()[..end]);
            assert!(read.is_null() || read.is_object(), "{end}: {read}");
        }
    }
}
