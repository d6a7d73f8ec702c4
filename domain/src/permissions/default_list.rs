//! THE FIFTEEN RULES, and nothing else (ADR-0035): what a fresh Account's Agents may do. A starting point for a coding
//! Agent and no boundary; it grants no shell and nothing that fetches from the web by itself. Changing it is a decision.

use alloc::string::String;

/// The list that a fresh Account is given, in its order.
#[rustfmt::skip]
pub const DEFAULT_LIST: [&str; 15] = [
    "Edit",
    "Write",
    "NotebookEdit",
    "Read",
    "Glob",
    "Grep",
    "Bash(git:*)",
    "Bash(make:*)",
    "Bash(go:*)",
    "Bash(npm:*)",
    "Bash(pnpm:*)",
    "Bash(yarn:*)",
    "Bash(npx:*)",
    "Bash(cargo:*)",
    "Bash(pytest:*)",
];

/// Returns the whole text of the `settings.json` that a fresh Account is given. None of the rules needs an escape.
#[must_use]
pub fn settings_text() -> String {
    let mut text = String::from("{\n  \"permissions\": {\n    \"allow\": [\n");
    for (index, rule) in DEFAULT_LIST.iter().enumerate() {
        let comma = if index + 1 < DEFAULT_LIST.len() { "," } else { "" };
        text.push_str(&alloc::format!("      \"{rule}\"{comma}\n"));
    }
    text.push_str("    ]\n  }\n}\n");
    text
}

#[cfg(test)]
mod tests;
