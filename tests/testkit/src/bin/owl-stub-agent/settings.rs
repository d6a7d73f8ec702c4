//! Settings files, read as the real tool reads them; where it would drop one without a word, the stub says why.

use serde_json::Value;
use std::{env, fs, path::Path};

const MODES: [&str; 6] = ["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"];

/// What one file says of permissions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) allow: Vec<String>,
    pub(crate) deny: Vec<String>,
    pub(crate) ask: Vec<String>,
    pub(crate) default_mode: Option<String>,
}

/// Loads the Account's file.
///
/// # Errors
/// Says why it is none.
pub(crate) fn load() -> Result<Settings, String> {
    let directory = env::var_os("CLAUDE_CONFIG_DIR").ok_or("CLAUDE_CONFIG_DIR is not set")?;
    let file = Path::new(&directory).join("settings.json");
    if !file.exists() {
        return Err(format!("there is no settings file at {}", file.display()));
    }
    read(&file).map_err(|why| format!("the tool would ignore {}: {why}", file.display()))
}

/// Reads one file.
///
/// # Errors
/// Says what the tool would drop it for.
pub(crate) fn read(file: &Path) -> Result<Settings, String> {
    let bytes = fs::read(file).map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let root: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let root = root.as_object().ok_or("its root is no object")?;
    if root.get("model").is_some_and(|model| !model.is_string()) {
        return Err("`model` is no text".into());
    }
    let Some(permissions) = root.get("permissions") else { return Ok(Settings::default()) };
    let permissions = permissions.as_object().ok_or("`permissions` is no object")?;
    let list = |name: &str| -> Result<Vec<String>, String> {
        let Some(list) = permissions.get(name) else { return Ok(Vec::new()) };
        let list = list.as_array().ok_or_else(|| format!("`{name}` is no list"))?;
        Ok(list.iter().filter_map(|entry| entry.as_str().map(Into::into)).collect())
    };
    let default_mode = match permissions.get("defaultMode") {
        None => None,
        Some(mode) => match mode.as_str().filter(|mode| MODES.contains(mode)) {
            Some(mode) => Some(mode.to_owned()),
            None => return Err("there is no such `defaultMode`".into()),
        },
    };
    Ok(Settings { allow: list("allow")?, deny: list("deny")?, ask: list("ask")?, default_mode })
}
