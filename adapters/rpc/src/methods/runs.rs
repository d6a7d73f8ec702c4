//! `runs.*`.

use super::{Api, fields, jobs::told};
use crate::{
    caller::Caller,
    cursor::RunFeed,
    error::{self, RpcError},
    params::within,
    table::{Feed, Table},
    wire::{RunEvent, RunLog, RunLogLine},
};
use owl_domain::{
    ids::RunId,
    job::{Run, RunState},
    ports::LogError,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunParams {
    /// Its id.
    run_id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LogParams {
    /// Which Run.
    run_id: String,
    /// Where to go on, in bytes; the beginning when left out.
    after_offset: Option<i64>,
    /// 1 to 1048576, 262144 when left out; at least one line comes.
    max_bytes: Option<i64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SubscribeParams {
    /// Which Run.
    run_id: String,
    /// Where to go on, in bytes; the beginning when left out.
    after_offset: Option<i64>,
}

const LOG_BYTES: i64 = 262_144;
const LOG_BYTES_MOST: i64 = 1_048_576;

pub(super) fn add(table: &mut Table, api: &Arc<Api>) {
    let at = api.clone();
    table.read("runs.get", "Returns one Run.", &[&error::NOT_FOUND], move |_, given: RunParams| {
        let api = at.clone();
        async move {
            let run = run(&api, &given.run_id).await?;
            Ok(told(&api, &run).await)
        }
    });

    let at = api.clone();
    let summary = "Returns complete lines of a Run's log.";
    table.read("runs.log", summary, &[&error::NOT_FOUND], move |_, given: LogParams| log(at.clone(), given));

    let at = api.clone();
    table.subscription::<SubscribeParams, RunEvent, _, _>(
        ["runs.subscribe", "run.event", "runs.unsubscribe"],
        "Follows one Run: the lines of its log behind `after_offset`, then what comes, until it is over.",
        &[&error::NOT_FOUND, &error::NEEDS_STREAM, &error::NOT_IN_BATCH],
        move |caller, given| subscribe(at.clone(), caller, given),
    );
}

async fn run(api: &Arc<Api>, text: &str) -> Result<Run, RpcError> {
    let id: RunId = fields::id("run", text)?;
    api.jobs.run(id).await?.ok_or_else(|| RpcError::not_found("run", text))
}

async fn log(api: Arc<Api>, given: LogParams) -> Result<RunLog, RpcError> {
    let after = offset(given.after_offset)?;
    let most = within("max_bytes", given.max_bytes.unwrap_or(LOG_BYTES), 1, LOG_BYTES_MOST)?;
    // The state first: what is told as finished has nothing to come.
    let run = run(&api, &given.run_id).await?;
    let found = api.logs.read(run.id, after, usize::try_from(most).unwrap_or(1)).await?;
    let lines = found.lines.into_iter().map(|(offset, text)| RunLogLine { offset, text }).collect();
    let finished = matches!(run.state, RunState::Finished(_));
    Ok(RunLog { run_id: given.run_id, lines, next_offset: found.next, size: found.size, finished })
}

fn offset(given: Option<i64>) -> Result<u64, RpcError> {
    let offset = within("after_offset", given.unwrap_or(0), 0, i64::MAX)?;
    Ok(u64::try_from(offset).unwrap_or(0))
}

async fn subscribe(api: Arc<Api>, caller: Arc<Caller>, given: SubscribeParams) -> Result<Box<dyn Feed>, RpcError> {
    let after = offset(given.after_offset)?;
    // The number first: what happens between the two is told again and changes nothing.
    let newest = api.events.newest();
    let run = run(&api, &given.run_id).await?;
    let events = (api.events.clone(), newest);
    Ok(Box::new(RunFeed::new(caller, events, api.jobs.clone(), api.logs.clone(), run, after)))
}

impl From<LogError> for RpcError {
    fn from(error: LogError) -> Self {
        Self::new(&error::STORAGE, error.to_string(), serde_json::json!({ "file": error.file }))
    }
}
