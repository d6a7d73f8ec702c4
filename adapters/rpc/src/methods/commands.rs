//! `commands.list`: the record of every line that a model asked to run.

use super::{Api, fields};
use crate::{
    error::{self, RpcError},
    params::{Reason, invalid},
    table::Table,
    wire::{CommandRecord, PageOf},
};
use owl_domain::{
    conversation::{CommandOutcome, Page},
    ports::CommandFilter,
    text::ProjectName,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParams {
    /// Those of one Conversation.
    conversation_id: Option<String>,
    /// Those of one Project; it need not be registered any more.
    project: Option<String>,
    /// Those of one directory, as it was written down; it need not be valid any more.
    workdir: Option<String>,
    /// Those of which this came.
    outcome: Option<String>,
    /// 1 to 200, 50 when left out.
    limit: Option<i64>,
    /// Where the page before ended.
    cursor: Option<String>,
}

pub(super) fn add(table: &mut Table, api: &Arc<Api>) {
    let at = api.clone();
    let summary = "Lists every line that a model asked to run, run or not, newest first.";
    let errors = &[&error::NOT_FOUND, &error::CURSOR_INVALID];
    table.read("commands.list", summary, errors, move |_, given: ListParams| list(at.clone(), given));
}

async fn list(api: Arc<Api>, given: ListParams) -> Result<PageOf<CommandRecord>, RpcError> {
    let outcome = given.outcome.as_deref().map(outcome).transpose()?;
    let page = fields::page(given.limit, given.cursor)?;
    let filter = CommandFilter {
        conversation: fields::maybe_conversation(&api, given.conversation_id.as_deref()).await?,
        project: project(&api, given.project.as_deref()).await?,
        workdir: given.workdir,
        outcome,
    };
    Ok(PageOf::of(api.conversations.commands(filter, page).await?, |recorded| CommandRecord::from(&recorded)))
}

/// Reads the name of a Project that is registered, or was when something was asked to run in it.
async fn project(api: &Arc<Api>, given: Option<&str>) -> Result<Option<ProjectName>, RpcError> {
    let unknown = match api.registered(given).await {
        Err(error) if error.code == error::NOT_FOUND.code => error,
        registered => return registered,
    };
    let Some(name) = given.map(fields::project).transpose()? else { return Ok(None) };
    let filter = CommandFilter { project: Some(name.clone()), ..CommandFilter::default() };
    let recorded = api.conversations.commands(filter, Page { limit: 1, cursor: None }).await?;
    if recorded.items.is_empty() { Err(unknown) } else { Ok(Some(name)) }
}

fn outcome(given: &str) -> Result<&'static str, RpcError> {
    let known = CommandOutcome::NAMES.into_iter().find(|name| *name == given);
    known.ok_or_else(|| invalid("outcome", Reason::Value, format!("one of {}", CommandOutcome::NAMES.join(", "))))
}
