//! The way from a command to the daemon: one connection, the line dialect.

use super::Failed;
use crate::config::places::Places;
use owl_rpc::{Client, ClientError, ConnectError};
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
    client.call(method, params).await.map_err(|error| failed(&error))
}

/// Connects and makes one call.
pub(super) async fn one(places: &Places, method: &str, params: Value) -> Result<Value, Failed> {
    let client = connect(places).await?;
    call(&client, method, params).await
}

/// Says what came instead of an answer, for people.
pub(super) fn failed(error: &ClientError) -> Failed {
    Failed::Refused(error.to_string())
}
