//! The way from a command to the daemon: one connection, the line dialect.

use super::{Failed, output::text};
use crate::config::places::Places;
use owl_rpc::{Client, ClientError, ConnectError, RpcError};
use serde_json::Value;

/// Connects to the daemon.
pub(super) async fn connect(places: &Places) -> Result<Client, Failed> {
    Client::connect(&places.socket).await.map_err(|error| match error {
        ConnectError::NoDaemon(_) => Failed::NoDaemon(format!("{error}; start one with `owl daemon run`")),
        ConnectError::TooLong(_) | ConnectError::Io { .. } => Failed::Broken(error.into()),
    })
}

/// Makes one call.
pub(super) async fn call(client: &Client, method: &str, params: Value) -> Result<Value, Failed> {
    client.call(method, params).await.map_err(|error| match &error {
        ClientError::Rpc(refusal) => Failed::Refused(told(method, refusal)),
        ClientError::Closed => failed(&error),
    })
}

/// Connects and makes one call.
pub(super) async fn one(places: &Places, method: &str, params: Value) -> Result<Value, Failed> {
    let client = connect(places).await?;
    call(&client, method, params).await
}

/// Says why a call was refused, and what to do where the daemon's words leave that to its client.
pub(super) fn told(method: &str, refusal: &RpcError) -> String {
    const METHOD_NOT_FOUND: i32 = -32601;
    if refusal.code == METHOD_NOT_FOUND {
        return format!("the daemon has no method {method}; `owl rpc rpc.discover` prints those that it has");
    }
    let data = refusal.data.as_ref().unwrap_or(&Value::Null);
    if data["kind"] != "workdir_invalid" {
        return refusal.to_string();
    }
    let mut lines = vec![format!("{refusal}; register a repository with `owl project add PATH`")];
    let known = data["known"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !known.is_empty() {
        lines.push("a command may run in:".into());
    }
    lines.extend(known.iter().map(|known| format!("  {} ({})", text(known, "path"), text(known, "project"))));
    lines.join("\n")
}

/// Says what came instead of an answer, for people.
pub(super) fn failed(error: &ClientError) -> Failed {
    Failed::Refused(error.to_string())
}
