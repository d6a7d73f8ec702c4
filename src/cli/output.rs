//! What a command prints: text for people, or with `--json` JSON alone. The only place that writes to standard output.

use super::Failed;
use owl_domain::show::visible;
use serde_json::{Value, json};
use std::io::{self, Write as _};

/// Where a command prints.
pub(crate) struct Out {
    json: bool,
}

impl Out {
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    /// Says whether JSON alone is printed.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints what the daemon answered: the JSON as it is, or the text that `text` makes of it.
    pub(crate) fn answer(&mut self, value: &Value, text: impl FnOnce(&Value) -> String) -> Result<(), Failed> {
        if self.json {
            return self.line(&value.to_string());
        }
        let text = text(value);
        self.line(visible(&text).trim_end_matches('\n'))
    }

    /// Prints one line as it is. A reader that went away is no error of the command.
    pub(crate) fn line(&mut self, line: &str) -> Result<(), Failed> {
        let mut stdout = io::stdout().lock();
        match stdout.write_all(line.as_bytes()).and_then(|()| stdout.write_all(b"\n")).and_then(|()| stdout.flush()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(Failed::Broken(anyhow::Error::new(error).context("standard output"))),
        }
    }

    /// Prints why a command did not do what was asked, on standard error; with `--json` as JSON on standard output too,
    /// so that a script has one place to look.
    pub(crate) fn failed(&mut self, failed: &Failed) {
        let message = failed.to_string();
        let is_told = matches!(failed, Failed::Told(_));
        if self.json && !is_told && self.line(&json!({ "error": message }).to_string()).is_err() {
            return;
        }
        let mut stderr = io::stderr().lock();
        // There is nobody left to tell when standard error is gone.
        if writeln!(stderr, "owl: {}", visible(&message)).is_err() {}
    }
}

/// Prints a note for a person on standard error, where it is in no script's way.
pub(crate) fn note(text: &str) {
    // There is nobody left to tell when standard error is gone.
    if writeln!(io::stderr().lock(), "{}", visible(text)).is_err() {}
}

/// Lays rows out in columns, the last one as long as it is.
pub(crate) fn columns(head: &[&str], rows: &[Vec<String>]) -> String {
    let all: Vec<Vec<String>> = std::iter::once(head.iter().map(|h| (*h).to_owned()).collect())
        .chain(rows.iter().map(|row| row.iter().map(|cell| visible(cell).replace(['\n', '\t'], " ")).collect()))
        .collect();
    let width = |column: usize| all.iter().filter_map(|row| row.get(column)).map(|c| c.chars().count()).max();
    let widths: Vec<usize> = (0..head.len()).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in &all {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}", width = *width)).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Returns a text member of an object, or a dash.
pub(crate) fn text(value: &Value, member: &str) -> String {
    match value.pointer(&format!("/{}", member.replace('.', "/"))) {
        None | Some(Value::Null) => "-".into(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Says how many there are.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// Returns the `items` of a list's answer.
pub(crate) fn items(value: &Value) -> Vec<Value> {
    value.get("items").and_then(Value::as_array).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_told_as_one() {
        assert_eq!([0, 1, 2].map(|number| counted(number, "turn")), ["0 turns", "1 turn", "2 turns"]);
    }

    #[test]
    fn columns_line_up_and_show_what_would_not_print() {
        let rows = [vec!["a".into(), "b\u{1b}[2J".into()], vec!["longer".into(), String::new()]];
        assert_eq!(columns(&["NAME", "WHAT"], &rows), "NAME    WHAT\na       b\\u{1b}[2J\nlonger\n");
    }
}
