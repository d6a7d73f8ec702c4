//! `owl logs`: what a Run's Agent printed, one JSON line each, as it is written with `-f`.

use super::{Failed, Out, socket};
use crate::config::places::Places;
use clap::Args;
use owl_domain::show::visible;
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub(super) struct Logs {
    /// The Run's id
    run: String,
    /// Go on until the Run ends
    #[arg(short, long)]
    follow: bool,
}

pub(super) async fn run(command: Logs, places: &Places, out: &mut Out) -> Result<(), Failed> {
    let client = socket::connect(places).await?;
    if command.follow {
        let params = json!({ "run_id": command.run });
        let mut events = client.subscribe("runs.subscribe", params).await.map_err(|error| socket::failed(&error))?;
        while let Some(event) = events.next().await {
            if event["type"] == "run.line" {
                line(out, &event["text"])?;
            }
            if event["type"] == "stream.closed" {
                break;
            }
        }
        return Ok(());
    }
    let mut params = json!({ "run_id": command.run });
    loop {
        let page = socket::call(&client, "runs.log", params.clone()).await?;
        let lines = page["lines"].as_array().cloned().unwrap_or_default();
        for entry in &lines {
            line(out, &entry["text"])?;
        }
        if lines.is_empty() || page["next_offset"] == page["size"] {
            return Ok(());
        }
        params["after_offset"] = page["next_offset"].clone();
    }
}

/// The Agent's own JSON goes out as it is with `--json`; for people what would not print is shown.
fn line(out: &mut Out, text: &Value) -> Result<(), Failed> {
    let text = text.as_str().unwrap_or_default();
    if out.is_json() { out.line(text) } else { out.line(&visible(text)) }
}
