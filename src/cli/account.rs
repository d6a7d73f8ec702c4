//! `owl account`: subscriptions whose Agents work unattended, and what they are allowed (ADR-0035).

use super::{
    Failed, Out,
    output::{columns, items, text},
    provider::{not_here, secret_from_stdin},
    socket,
};
use crate::config::places::Places;
use clap::Subcommand;
use serde_json::{Value, json};

#[derive(Debug, Subcommand)]
pub(super) enum Account {
    /// Add an Account, or replace its token; a token is read from standard input
    Add {
        /// Its name
        name: String,
        /// Add it without a token: its Agents use what the coding tool finds in the Account's own directory
        #[arg(long)]
        no_token: bool,
        /// A token does not belong here: other programs see what stands on a command line
        #[arg(long, hide = true, value_name = "NEVER", alias = "key", num_args = 0..=1)]
        token: Option<Option<String>>,
        #[arg(hide = true)]
        more: Vec<String>,
    },
    /// List the Accounts
    List,
    /// Show one Account
    Show {
        /// Its name
        name: String,
    },
    /// Show what an Account's Agents are allowed, and which rules the coding tool would ignore
    Permissions {
        /// Its name
        name: String,
    },
    /// Forget an Account and its token; its directory stays
    Remove {
        /// Its name
        name: String,
    },
}

pub(super) async fn run(command: Account, places: &Places, out: &mut Out) -> Result<(), Failed> {
    match command {
        Account::Add { name, no_token, token, more } => {
            if token.is_some() || !more.is_empty() {
                return Err(not_here(&format!("owl account add {name}")));
            }
            let client = socket::connect(places).await?;
            let mut params = json!({ "name": name });
            if !no_token {
                params["token"] = secret_from_stdin("token")?.into();
            }
            let added = socket::call(&client, "accounts.add", params).await?;
            out.answer(&added, |a| {
                let done = if a["created"].as_bool() == Some(true) { "is added" } else { "has a new token" };
                format!("{} {done}; its directory is {}", text(a, "name"), text(a, "dir"))
            })
        }
        Account::List => {
            let list = socket::one(places, "accounts.list", json!({})).await?;
            out.answer(&list, |list| {
                let row = |a: &Value| vec![text(a, "name"), token(a), settings(a), text(a, "dir")];
                let rows: Vec<_> = items(list).iter().map(row).collect();
                if rows.is_empty() {
                    return "There is no Account. Add one: owl account add NAME < TOKEN-FILE".into();
                }
                columns(&["NAME", "TOKEN", "SETTINGS", "DIRECTORY"], &rows)
            })
        }
        Account::Show { name } => {
            let account = socket::one(places, "accounts.get", json!({ "account": name })).await?;
            out.answer(&account, |a| {
                let made = match a["seeded_at"].as_str() {
                    Some(at) => format!("made by Owl at {at}; yours from then on"),
                    None if a["settings_present"].as_bool() == Some(true) => "not made by Owl".into(),
                    None => "not there; Owl makes it before the first Run".into(),
                };
                [
                    format!("name       {}", text(a, "name")),
                    format!("directory  {}", text(a, "dir")),
                    format!("settings   {} ({made})", text(a, "settings_file")),
                    format!("token      {}", token(a)),
                    format!("added      {}", text(a, "created_at")),
                ]
                .join("\n")
            })
        }
        Account::Permissions { name } => {
            let found = socket::one(places, "accounts.permissions", json!({ "account": name })).await?;
            let unreadable = !found["error"].is_null();
            out.answer(&found, permissions)?;
            if unreadable { Err(Failed::Told("the coding tool would ignore this file".into())) } else { Ok(()) }
        }
        Account::Remove { name } => {
            let removed = socket::one(places, "accounts.remove", json!({ "account": name })).await?;
            out.answer(&removed, |r| {
                format!("{} is forgotten, its token too; {} stays", text(r, "account"), text(r, "kept_dir"))
            })
        }
    }
}

fn token(account: &Value) -> String {
    if account["token"]["set"].as_bool() != Some(true) {
        return "-".into();
    }
    format!("…{} ({})", text(account, "token.last4"), text(account, "token.fingerprint"))
}

fn settings(account: &Value) -> String {
    let there = account["settings_present"].as_bool() == Some(true);
    if there { "there" } else { "not made yet" }.into()
}

/// What an Account's Agents are allowed: one rule a line, what differs from the default, what the tool ignores.
pub(super) fn permissions(found: &Value) -> String {
    let mut lines = vec![format!("file  {}", text(found, "file"))];
    if !found["error"].is_null() {
        let place = match (found["error"]["line"].as_u64(), found["error"]["column"].as_u64()) {
            (Some(line), Some(column)) => format!(":{line}:{column}"),
            (Some(line), None) => format!(":{line}"),
            (None, _) => String::new(),
        };
        lines.push(format!(
            "this file cannot be read as the coding tool reads it{place}: {}",
            text(found, "error.message")
        ));
        return lines.join("\n");
    }
    if found["present"].as_bool() != Some(true) {
        lines.push(
            "not there yet; before the first Run Owl makes it with these rules, and it is yours from then on:".into(),
        );
        lines.extend(rules(found, "would_seed").into_iter().map(|rule| format!("  allow  {rule}")));
        lines.push("The list is a starting point, not a boundary.".into());
        return lines.join("\n");
    }
    for (member, word) in [("allow", "allow"), ("ask", "ask  "), ("deny", "deny ")] {
        lines.extend(rules(found, member).into_iter().map(|rule| format!("  {word}  {}", marked(found, rule))));
    }
    if rules(found, "allow").is_empty() {
        lines.push("  nothing is allowed: an Agent of this Account can do almost nothing".into());
    }
    if let Some(mode) = found["default_mode"].as_str() {
        lines.push(format!("defaultMode  {mode}"));
        if !["default", "dontAsk"].contains(&mode) {
            lines.push(format!(
                "NOTE: with defaultMode {mode} the lists above do not mean what they say; it is honoured."
            ));
        }
    }
    let default = owl_domain::permissions::default_list::DEFAULT_LIST;
    let allowed = rules(found, "allow");
    let added: Vec<&str> = allowed.iter().copied().filter(|rule| !default.contains(rule)).collect();
    let missing: Vec<&str> = default.iter().copied().filter(|rule| !allowed.contains(rule)).collect();
    if added.is_empty() && missing.is_empty() {
        lines.push("This is the default list. It is a starting point, not a boundary.".into());
    } else {
        lines.extend(added.into_iter().map(|rule| format!("beyond the default: {rule}")));
        lines.extend(missing.into_iter().map(|rule| format!("in the default, not here: {rule}")));
    }
    lines.join("\n")
}

fn rules<'v>(found: &'v Value, member: &str) -> Vec<&'v str> {
    found[member].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn marked(found: &Value, rule: &str) -> String {
    let shown = owl_domain::show::visible(rule).replace('\n', "\\n");
    let ignored = found["ignored"].as_array().into_iter().flatten().find(|entry| entry["rule"].as_str() == Some(rule));
    match ignored {
        Some(entry) => format!("{shown}   IGNORED by the tool: {}", text(entry, "why")),
        None => shown,
    }
}
