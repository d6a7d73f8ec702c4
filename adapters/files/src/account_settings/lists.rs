//! What a settings file says of permissions, read as the coding tool reads it (D19): what is unknown is passed over, and
//! what the tool would drop the whole file for is wrong, with its place.

use super::json::{Place, Value};

/// The modes that the tool knows.
const MODES: [&str; 6] = ["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"];

/// The lists as they stand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Lists {
    pub(super) allow: Vec<Entry>,
    pub(super) ask: Vec<Entry>,
    pub(super) deny: Vec<Entry>,
    pub(super) default_mode: Option<String>,
}

/// One entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// A text, which may be a rule.
    Text(String),
    /// Something else, as JSON; the tool skips it.
    Other(String),
}

/// What the tool would drop the whole file for.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) place: Place,
    pub(super) key: Option<String>,
    pub(super) message: String,
}

/// Reads what the lists say, as the tool does.
pub(super) fn parsed(text: &str) -> Result<Lists, Wrong> {
    if text.trim().is_empty() {
        let message = "it is empty, and the tool would ignore it; write {} to allow nothing".into();
        return Err(Wrong { place: Place { line: 1, column: 1 }, key: None, message });
    }
    let whole = Value::whole(text)?;
    let root = whole.object("the file")?;
    for key in ["model", "apiKeyHelper"] {
        if let Some(value) = root.get(key).filter(|value| !value.is_text()) {
            return Err(value.wrong(key, "a text"));
        }
    }
    for key in ["env", "hooks"] {
        if let Some(value) = root.get(key).filter(|value| !value.is_object()) {
            return Err(value.wrong(key, "an object"));
        }
    }
    let Some(permissions) = root.get("permissions") else {
        return Ok(Lists::default());
    };
    let permissions = permissions.object("permissions")?;
    let list = |name: &str| match permissions.get(name) {
        None => Ok(Vec::new()),
        Some(value) => {
            let entries = value.list(&format!("permissions.{name}"))?;
            Ok(entries
                .iter()
                .map(|entry| entry.text().map_or_else(|| Entry::Other(entry.json()), Entry::Text))
                .collect())
        }
    };
    list("additionalDirectories")?;
    let default_mode = match permissions.get("defaultMode") {
        None => None,
        Some(value) => match value.text() {
            Some(mode) if MODES.contains(&mode.as_str()) => Some(mode),
            Some(_) | None => {
                return Err(value.wrong("permissions.defaultMode", &format!("one of {}", MODES.join(", "))));
            }
        },
    };
    Ok(Lists { allow: list("allow")?, ask: list("ask")?, deny: list("deny")?, default_mode })
}
