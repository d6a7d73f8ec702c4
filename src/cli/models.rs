//! `owl models`: the models there are.

use super::{
    Failed, Out,
    output::{columns, items, note, text},
    socket,
};
use crate::config::places::Places;
use clap::Args;
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub(super) struct Models {
    /// Those of one Provider
    #[arg(long)]
    provider: Option<String>,
    /// Those whose id or name holds this
    query: Option<String>,
    /// Ask the Providers again
    #[arg(long)]
    refresh: bool,
}

pub(super) async fn run(command: Models, places: &Places, out: &mut Out) -> Result<(), Failed> {
    let client = socket::connect(places).await?;
    let mut params = json!({ "limit": 200, "refresh": command.refresh });
    if let Some(provider) = command.provider {
        params["provider"] = provider.into();
    }
    if let Some(query) = command.query {
        params["query"] = query.into();
    }
    let mut all = Vec::new();
    let mut last;
    loop {
        last = socket::call(&client, "models.list", params.clone()).await?;
        all.extend(items(&last));
        match &last["next_cursor"] {
            Value::Null => break,
            cursor => {
                params["cursor"] = cursor.clone();
                params["refresh"] = false.into();
            }
        }
    }
    last["items"] = all.into();
    if !out.is_json() {
        for source in last["sources"].as_array().into_iter().flatten().filter(|source| !source["error"].is_null()) {
            note(&format!("{}: {}", text(source, "provider"), text(source, "error")));
        }
    }
    out.answer(&last, |list| {
        let rows: Vec<_> = items(list).iter().map(row).collect();
        columns(&["PROVIDER", "MODEL", "TOOLS", "CONTEXT", "NAME"], &rows)
    })
}

fn row(model: &Value) -> Vec<String> {
    let tools = match model["tools"].as_bool() {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    };
    vec![text(model, "provider"), text(model, "id"), tools.into(), text(model, "context_tokens"), text(model, "name")]
}
