//! `owl provider`: configures where a chat's model comes from. A key is read from standard input and from nowhere else
//! (D5, D18).

use super::{
    Failed, Out,
    output::{columns, counted, items, text},
    socket,
};
use crate::config::places::Places;
use clap::Subcommand;
use serde_json::{Value, json};
use std::io::{IsTerminal as _, Read as _};

#[derive(Debug, Subcommand)]
pub(super) enum Provider {
    /// Give a Provider its key, read from standard input
    Add {
        /// anthropic or openrouter
        provider: String,
        /// Another address than the Provider's own: https, or http to loopback
        #[arg(long, value_name = "URL")]
        base_url: Option<String>,
        /// The model that is used unless another is named
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
        /// A model that is listed first; may be given several times
        #[arg(long = "list", value_name = "MODEL")]
        models: Vec<String>,
        /// A key does not belong here: other programs see what stands on a command line
        #[arg(long, hide = true, value_name = "NEVER", alias = "api-key", alias = "token", num_args = 0..=1)]
        key: Option<Option<String>>,
        #[arg(hide = true, allow_hyphen_values = false)]
        more: Vec<String>,
    },
    /// List the Providers
    List,
    /// Make one request that costs nothing
    Test {
        /// Which
        provider: String,
    },
    /// Remove a Provider's key and settings
    Remove {
        /// Which
        provider: String,
    },
}

pub(super) async fn run(command: Provider, places: &Places, out: &mut Out) -> Result<(), Failed> {
    match command {
        Provider::Add { provider, base_url, model, models, key, more } => {
            if key.is_some() || !more.is_empty() {
                return Err(not_here(&format!("owl provider add {provider}")));
            }
            let client = socket::connect(places).await?;
            let mut params = json!({ "provider": provider, "api_key": secret_from_stdin("key")? });
            if let Some(base_url) = base_url {
                params["base_url"] = base_url.into();
            }
            if let Some(model) = model {
                params["default_model"] = model.into();
            }
            if !models.is_empty() {
                params["models"] = models.into();
            }
            let added = socket::call(&client, "providers.configure", params).await?;
            out.answer(&added, |p| {
                let key = format!("key …{} ({})", text(p, "key.last4"), text(p, "key.fingerprint"));
                format!("{} is configured: {key}, {}", text(p, "provider"), text(p, "endpoint"))
            })
        }
        Provider::List => {
            let list = socket::one(places, "providers.list", json!({})).await?;
            out.answer(&list, |list| {
                let rows: Vec<_> = items(list).iter().map(row).collect();
                columns(&["PROVIDER", "STATE", "KEY", "DEFAULT MODEL", "ENDPOINT"], &rows)
            })
        }
        Provider::Test { provider } => {
            let tested = socket::one(places, "providers.test", json!({ "provider": provider })).await?;
            let ok = tested["ok"].as_bool() == Some(true);
            if !ok && !out.is_json() {
                return Err(Failed::Refused(text(&tested, "message")));
            }
            out.answer(&tested, |t| {
                let models = t["models"].as_u64().map(|n| format!(", {}", counted(n, "model"))).unwrap_or_default();
                format!("{provider} answers ({} ms{models})", text(t, "duration_ms"))
            })?;
            if ok { Ok(()) } else { Err(Failed::Told(text(&tested, "message"))) }
        }
        Provider::Remove { provider } => {
            let removed = socket::one(places, "providers.remove", json!({ "provider": provider })).await?;
            out.answer(&removed, |r| format!("{} is removed, its key too", text(r, "provider")))
        }
    }
}

fn row(provider: &Value) -> Vec<String> {
    let configured = provider["configured"].as_bool() == Some(true);
    let key = match provider["key"]["set"].as_bool() {
        Some(true) => format!("…{} ({})", text(provider, "key.last4"), text(provider, "key.source")),
        _ => "-".into(),
    };
    let state = match (configured, provider["last_error"].is_null()) {
        (false, _) => "no key",
        (true, true) => "ready",
        (true, false) => "last request failed",
    };
    vec![text(provider, "provider"), state.into(), key, text(provider, "default_model"), text(provider, "endpoint")]
}

/// Refuses a secret on the command line without repeating it.
pub(super) fn not_here(command: &str) -> Failed {
    Failed::Usage(format!(
        "a key is read from standard input only, since other programs see what stands on a command line: {command} < FILE"
    ))
}

/// Reads a secret from standard input: the whole of it, or from a terminal one line that is not shown.
pub(super) fn secret_from_stdin(what: &str) -> Result<String, Failed> {
    let stdin = std::io::stdin();
    let mut secret = String::new();
    if stdin.is_terminal() {
        secret = hidden_line(what)?;
    } else {
        let most = u64::try_from(owl_domain::limits::API_KEY_BYTES).unwrap_or(u64::MAX) + 16;
        let read = stdin.lock().take(most).read_to_string(&mut secret);
        read.map_err(|error| Failed::Refused(format!("the {what} on standard input cannot be read: {error}")))?;
    }
    if secret.trim().is_empty() {
        return Err(Failed::Usage(format!("there is no {what} on standard input")));
    }
    Ok(secret.trim().to_owned())
}

fn hidden_line(what: &str) -> Result<String, Failed> {
    use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};
    let broken = |error| Failed::Broken(anyhow::Error::new(error).context("the terminal"));
    let stdin = std::io::stdin();
    let before = tcgetattr(&stdin).map_err(broken)?;
    let mut quiet = before.clone();
    quiet.local_flags.remove(LocalFlags::ECHO);
    crate::cli::output::note(&format!("Paste the {what} and press Enter; it is not shown."));
    tcsetattr(&stdin, SetArg::TCSAFLUSH, &quiet).map_err(broken)?;
    let mut line = String::new();
    let read = stdin.read_line(&mut line);
    tcsetattr(&stdin, SetArg::TCSAFLUSH, &before).map_err(broken)?;
    read.map_err(|error| Failed::Broken(anyhow::Error::new(error).context("standard input")))?;
    Ok(line)
}
