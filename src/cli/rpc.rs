//! `owl rpc`: any method of the daemon, for scripts. With `--follow` a subscription that reconnects and resumes.

use super::{Failed, Out, socket};
use crate::config::places::Places;
use clap::Args;
use owl_rpc::ClientError;
use serde_json::{Value, json};
use std::time::Duration;

/// How long to wait before the daemon is looked for again.
const RECONNECT: Duration = Duration::from_millis(500);

#[derive(Debug, Args)]
pub(super) struct Rpc {
    /// The method, such as system.info; a subscription with --follow
    method: String,
    /// Its parameters, a JSON object
    params: Option<String>,
    /// Print events until the subscription ends, reconnecting and resuming
    #[arg(long)]
    follow: bool,
}

pub(super) async fn run(command: Rpc, places: &Places, out: &mut Out) -> Result<(), Failed> {
    let params = match command.params.as_deref() {
        None => json!({}),
        Some(text) => serde_json::from_str(text)
            .ok()
            .filter(Value::is_object)
            .ok_or_else(|| Failed::Usage("the parameters must be one JSON object".into()))?,
    };
    // By its name, which says so in every version of the API: nobody has to be asked.
    let is_subscription = command.method.ends_with(".subscribe");
    if command.follow != is_subscription {
        let method = &command.method;
        return Err(Failed::Usage(if command.follow {
            format!("{method} is no subscription; --follow is for chat.subscribe, events.subscribe and runs.subscribe")
        } else {
            format!("{method} is a subscription and ends with this command; give --follow to print its events")
        }));
    }
    if command.follow {
        return follow(places, &command.method, params, out).await;
    }
    let client = socket::connect(places).await?;
    match client.call(&command.method, params).await {
        Ok(answer) => out.line(&answer.to_string()),
        Err(error) => Err(refused(&command.method, &error, out)),
    }
}

/// Says why a call was refused: with `--json` by the whole error object, else in words, with what would have been right.
fn refused(method: &str, error: &ClientError, out: &mut Out) -> Failed {
    let ClientError::Rpc(refusal) = error else { return socket::failed(error) };
    let mut message = socket::told(method, refusal);
    if let Some(expected) = refusal.data.as_ref().and_then(|data| data["expected"].as_str())
        && !message.contains(expected)
    {
        message = format!("{message}; expected is {expected}");
    }
    if !out.is_json() {
        return Failed::Refused(message);
    }
    match out.line(&json!({ "code": refusal.code, "message": refusal.message, "data": refusal.data }).to_string()) {
        Ok(()) => Failed::Told(message),
        Err(failed) => failed,
    }
}

/// Prints events as they come. A connection that ends is made again, and the subscription resumes behind the last event
/// that was printed; it ends when the daemon says that what it watches is over.
async fn follow(places: &Places, method: &str, mut params: Value, out: &mut Out) -> Result<(), Failed> {
    let mut client = socket::connect(places).await?;
    let mut has_begun = false;
    loop {
        let mut events = match client.subscribe(method, params.clone()).await {
            Ok(events) => events,
            // It began before, and this daemon is going, or has no room right now.
            Err(error) if has_begun && may_go_well_later(&error) => {
                tokio::time::sleep(RECONNECT).await;
                client = again(places).await?;
                continue;
            }
            Err(error) => return Err(refused(method, &error, out)),
        };
        has_begun = true;
        while let Some(event) = events.next().await {
            // Up to date is a number, too: without it, what comes before the first event of a new connection is missed.
            for (member, resumed_by) in [
                ("seq", "after_seq"),
                ("last_seq", "after_seq"),
                ("next_offset", "after_offset"),
                ("next_after", "after_seq"),
            ] {
                if let Some(number) = event[member].as_i64() {
                    params[resumed_by] = number.into();
                }
            }
            out.line(&event.to_string())?;
            let over = matches!(event["reason"].as_str(), Some("deleted" | "finished"));
            if event["type"] == "stream.closed" && over {
                return Ok(());
            }
            if event["type"] == "stream.lagged" {
                break;
            }
        }
        client = again(places).await?;
    }
}

fn may_go_well_later(error: &ClientError) -> bool {
    match error {
        ClientError::Closed => true,
        ClientError::Rpc(error) => error.data.as_ref().is_some_and(|data| data["retryable"] == true),
    }
}

async fn again(places: &Places) -> Result<owl_rpc::Client, Failed> {
    loop {
        match socket::connect(places).await {
            Err(Failed::NoDaemon(_)) => tokio::time::sleep(RECONNECT).await,
            other => return other,
        }
    }
}
