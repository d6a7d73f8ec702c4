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
    let is_other = |names: &[&'static str], is_right: fn(&Value) -> bool| {
        names.iter().copied().find(|name| root.get(*name).is_some_and(|value| !is_right(value)))
    };
    let wrong = is_other(&["model", "apiKeyHelper", "outputStyle", "language", "$schema"], Value::is_string)
        .or_else(|| is_other(&["includeCoAuthoredBy", "alwaysThinkingEnabled"], Value::is_boolean))
        .or_else(|| is_other(&["cleanupPeriodDays"], |days| days.as_f64().is_some_and(|days| days >= 0.0)))
        .or_else(|| is_other(&["env", "statusLine", "sandbox", "attribution", "hooks"], Value::is_object))
        .or_else(|| {
            is_other(&["hooks"], |hooks| hooks.as_object().is_none_or(|all| all.values().all(Value::is_array)))
        });
    if let Some(wrong) = wrong {
        return Err(format!("`{wrong}` is of another type"));
    }
    let Some(permissions) = root.get("permissions") else { return Ok(Settings::default()) };
    let permissions = permissions.as_object().ok_or("`permissions` is no object")?;
    let list = |name: &str| -> Result<Vec<String>, String> {
        let Some(list) = permissions.get(name) else { return Ok(Vec::new()) };
        let list = list.as_array().ok_or_else(|| format!("`{name}` is no list"))?;
        Ok(list.iter().filter_map(|entry| entry.as_str().map(Into::into)).collect())
    };
    let directories = permissions.get("additionalDirectories").and_then(Value::as_array);
    if directories.is_some_and(|directories| !directories.iter().all(Value::is_string)) {
        return Err("a directory is no text".into());
    }
    if permissions.get("disableBypassPermissionsMode").is_some_and(|word| word != "disable") {
        return Err("there is no such `disableBypassPermissionsMode`".into());
    }
    let default_mode = match permissions.get("defaultMode") {
        None => None,
        Some(mode) => match mode.as_str().filter(|mode| MODES.contains(mode)) {
            Some(mode) => Some(mode.to_owned()),
            None => return Err("there is no such `defaultMode`".into()),
        },
    };
    Ok(Settings { allow: list("allow")?, deny: list("deny")?, ask: list("ask")?, default_mode })
}
