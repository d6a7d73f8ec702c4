//! `owl daemon`: runs it, or asks how it is.

use super::{
    Failed, Out,
    output::{counted, text},
    socket,
};
use crate::{config::places::Places, daemon::lifecycle};
use clap::Subcommand;
use serde_json::{Value, json};

#[derive(Debug, Subcommand)]
pub(super) enum Daemon {
    /// Run the daemon in the foreground until SIGTERM or Ctrl-C
    Run,
    /// Ask a running daemon how it is
    Status,
}

pub(super) async fn run(command: Daemon, places: Places, out: &mut Out) -> Result<(), Failed> {
    match command {
        Daemon::Run => Ok(lifecycle::run(places).await?),
        Daemon::Status => {
            let client = socket::connect(&places).await?;
            let info = socket::call(&client, "system.info", json!({})).await?;
            let health = socket::call(&client, "system.health", json!({})).await?;
            let status = json!({ "info": info, "health": health });
            out.answer(&status, told)?;
            if health["ok"].as_bool() == Some(true) {
                return Ok(());
            }
            Err(Failed::Told(text(&health, "message")))
        }
    }
}

fn told(status: &Value) -> String {
    let number = |member: &str, noun: &str| counted(status["health"][member].as_u64().unwrap_or(0), noun);
    let mut lines = vec![
        format!(
            "owl {} (api {}), pid {}",
            text(status, "info.version"),
            text(status, "info.api"),
            text(status, "info.pid")
        ),
        format!("socket       {}", text(status, "info.paths.socket")),
        format!("database     {} ({})", text(status, "info.paths.database"), text(status, "health.database")),
        format!("confinement  {}", text(status, "info.confinement.kind")),
        format!(
            "at work      {}, {} waiting for a person, {}, {}",
            number("turns_running", "turn"),
            text(status, "health.turns_waiting"),
            number("commands_running", "command"),
            number("runs_active", "Run")
        ),
    ];
    let own = env!("CARGO_PKG_VERSION");
    if text(status, "info.version") != own {
        lines.push(format!("NOTE         this is owl {own}, and the daemon is another version: restart it"));
    }
    let missing: Vec<&str> =
        status["info"]["confinement"]["missing"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !missing.is_empty() {
        lines.push(format!("missing      {} (this kernel does not offer it)", missing.join(", ")));
    }
    if status["info"]["sandbox"].as_str() == Some("off") {
        lines.push("sandbox      OFF by configuration: commands run without the kernel's guards".into());
    }
    lines.join("\n")
}
