//! `events.*`.

use super::{Api, fields};
use crate::{
    cursor::InboxFeed,
    error::{self, RpcError},
    params::{Reason, invalid},
    table::{Feed, Table},
    wire::InboxEvent,
};
use owl_domain::turn::EventBody;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SubscribeParams {
    /// Everything behind this number first; from now when left out, everything with 0.
    after_seq: Option<i64>,
    /// 1 to 50 types of durable events; all when left out.
    types: Option<Vec<String>>,
}

/// Types that may be named.
const TYPES: usize = 50;

pub(super) fn add(table: &mut Table, api: &Arc<Api>) {
    let at = api.clone();
    table.subscription::<SubscribeParams, InboxEvent, _, _>(
        ["events.subscribe", "events.event", "events.unsubscribe"],
        "Follows the durable events of all Conversations and Jobs: what was since `after_seq`, then what comes.",
        &[&error::CURSOR_INVALID, &error::NEEDS_STREAM, &error::NOT_IN_BATCH],
        move |caller, given| {
            let api = at.clone();
            async move {
                let after = fields::seq("after_seq", given.after_seq)?;
                let types = given.types.map(known).transpose()?;
                let newest = api.events.newest();
                if after.is_some_and(|after| after > newest) {
                    return Err(RpcError::cursor(Some(newest)));
                }
                let feed = InboxFeed::new(caller, api.events.clone(), after.unwrap_or(newest), types);
                Ok(Box::new(feed) as Box<dyn Feed>)
            }
        },
    );
}

fn known(types: Vec<String>) -> Result<Vec<String>, RpcError> {
    if types.is_empty() || types.len() > TYPES {
        return Err(invalid("types", Reason::Length, format!("1 to {TYPES} types")));
    }
    match types.iter().position(|name| !EventBody::NAMES.contains(&name.as_str())) {
        None => Ok(types),
        Some(unknown) => {
            let expected = format!("one of {}", EventBody::NAMES.join(", "));
            Err(invalid(&format!("types[{unknown}]"), Reason::Value, expected))
        }
    }
}
