//! A line as it is written: the Agent's own as it came, Owl's as an object of type `owl`.

use owl_domain::{
    limits,
    ports::{LogLine, LogNote},
    text::cut_bytes,
};
use serde_json::json;

/// Returns a line with its line feed.
pub(super) fn written(line: &LogLine) -> String {
    match line {
        LogLine::Agent { text, bytes } => agents(text, *bytes),
        LogLine::Owl(note) => format!("{}\n", of_owl(note)),
    }
}

fn agents(text: &str, bytes: u64) -> String {
    let kept = cut_bytes(text, limits::LOG_LINE_BYTES);
    let cut = bytes.saturating_sub(u64::try_from(kept.len()).unwrap_or(u64::MAX));
    // Whoever reads lines must not be told of two where there was one.
    let kept = kept.replace('\n', " ");
    if cut == 0 { format!("{kept}\n") } else { format!("{kept}…[{cut} bytes cut]\n") }
}

fn of_owl(note: &LogNote) -> serde_json::Value {
    match note {
        LogNote::Started { who, argv, set, removed } => json!({
            "type": "owl", "event": "started", "who": who, "argv": argv, "set": set, "removed": removed,
        }),
        LogNote::Ran { name, command, how, output } => json!({
            "type": "owl", "event": "ran", "name": name, "command": command, "how": how,
            "output": {
                "head": output.head, "tail": output.tail, "bytes": output.bytes,
                "omitted_bytes": output.omitted_bytes,
            },
        }),
        LogNote::Said { text } => json!({ "type": "owl", "event": "said", "text": text }),
    }
}
