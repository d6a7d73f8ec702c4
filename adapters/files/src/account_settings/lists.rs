//! What a settings file says of permissions, read as the coding tool reads it (D19): what is unknown is passed over, and
//! what the tool would drop the whole file for is wrong, with its place.

use super::json::{Place, Value};

/// The modes that the tool knows.
const MODES: [&str; 6] = ["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"];

/// What may stand beside the lists, and must then be of its kind: for each of these the tool drops the whole file, as the
/// tests against the real one show. Keys that are not named here it passes over.
const KINDS: [(&str, Kind); 13] = [
    ("$schema", Kind::Text),
    ("model", Kind::Text),
    ("apiKeyHelper", Kind::Text),
    ("outputStyle", Kind::Text),
    ("language", Kind::Text),
    ("cleanupPeriodDays", Kind::Count),
    ("includeCoAuthoredBy", Kind::Bool),
    ("alwaysThinkingEnabled", Kind::Bool),
    ("env", Kind::Object),
    ("statusLine", Kind::Object),
    ("sandbox", Kind::Object),
    ("attribution", Kind::Object),
    ("hooks", Kind::Lists),
];

/// A kind of value.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Text,
    Bool,
    /// A number that is not negative.
    Count,
    Object,
    /// An object of lists.
    Lists,
}

impl Kind {
    fn check(self, value: Value<'_>, key: &str) -> Result<(), Wrong> {
        let (is_it, expected) = match self {
            Self::Text => (value.is_text(), "a text"),
            Self::Bool => (matches!(value.json().as_str(), "true" | "false"), "true or false"),
            Self::Count => (value.json().parse::<f64>().is_ok_and(|number| number >= 0.0), "a number of days"),
            Self::Object => (value.is_object(), "an object"),
            Self::Lists => {
                let lists = value.object(key)?;
                let is_list = |name: &str| lists.get(name).is_some_and(|list| list.list(name).is_ok());
                (lists.names().all(is_list), "an object of lists")
            }
        };
        if is_it { Ok(()) } else { Err(value.wrong(key, expected)) }
    }
}

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
    for (key, kind) in KINDS {
        if let Some(value) = root.get(key) {
            kind.check(value, key)?;
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
    if list("additionalDirectories")?.iter().any(|entry| matches!(entry, Entry::Other(_))) {
        let value = permissions.get("additionalDirectories").unwrap_or(whole);
        return Err(value.wrong("permissions.additionalDirectories", "a list of texts"));
    }
    if let Some(value) = permissions.get("disableBypassPermissionsMode")
        && value.text().as_deref() != Some("disable")
    {
        return Err(value.wrong("permissions.disableBypassPermissionsMode", "`disable`"));
    }
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
