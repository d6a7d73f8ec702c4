//! What a follower of one Run's log is told. None of it has a number: the log itself is what is replayed.

use super::{RunSummary, fixed, names};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use std::borrow::Cow;

/// A line of the log.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunLine<'a> {
    /// Which event.
    #[serde(rename = "type")]
    pub(crate) name: &'static str,
    /// Which Run.
    pub(crate) run_id: &'a str,
    /// Where the line begins.
    pub(crate) offset: u64,
    /// Where the next one begins; goes into `after_offset` of the next subscription.
    pub(crate) next_offset: u64,
    /// Its text without the line feed.
    pub(crate) text: &'a str,
}

/// The Run moved.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunMoved {
    /// Which event.
    #[serde(rename = "type")]
    pub(crate) name: &'static str,
    /// How far it is now.
    pub(crate) run: RunSummary,
}

/// The subscriber is up to date (`stream.live`), or did not read (`stream.lagged`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunStands<'a> {
    /// Which event.
    #[serde(rename = "type")]
    pub(crate) name: &'static str,
    /// Which Run.
    pub(crate) run_id: &'a str,
    /// Goes into `after_offset` of the next subscription.
    pub(crate) next_offset: u64,
}

/// The subscription has ended.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunClosed<'a> {
    /// Which event.
    #[serde(rename = "type")]
    pub(crate) name: &'static str,
    /// Which Run.
    pub(crate) run_id: &'a str,
    /// Why.
    #[schemars(schema_with = "names::run_closed_reason")]
    pub(crate) reason: &'static str,
    /// Goes into `after_offset` of the next subscription.
    pub(crate) next_offset: u64,
}

/// What `run.event` carries.
pub(crate) struct RunEvent;

impl JsonSchema for RunEvent {
    fn schema_name() -> Cow<'static, str> {
        "RunEvent".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let choice = [
            fixed(RunLine::json_schema(generator), "type", "run.line"),
            fixed(RunMoved::json_schema(generator), "type", "run.changed"),
            fixed(RunStands::json_schema(generator), "type", "stream.live"),
            fixed(RunStands::json_schema(generator), "type", "stream.lagged"),
            fixed(RunClosed::json_schema(generator), "type", "stream.closed"),
        ];
        json_schema!({ "description": "What a follower of one Run is told.", "oneOf": choice })
    }
}
