//! Every object of the API as it stands on the wire, made from the domain by hand: the wire changes only on purpose
//! (D7). Nothing here decides anything.

mod account;
mod command;
mod conversation;
mod event;
mod item;
mod job;
pub(crate) mod names;
mod permissions;
mod project;
mod proposal;
mod provider;
mod run;
mod run_event;
mod stream;
mod system;
mod turn;

pub use account::*;
pub use command::*;
pub use conversation::*;
pub use event::*;
pub use item::*;
pub use job::*;
pub use permissions::*;
pub use project::*;
pub use proposal::*;
pub use provider::*;
pub use run::*;
pub(crate) use run_event::*;
pub(crate) use stream::*;
pub use system::*;
pub use turn::*;

use owl_domain::conversation::Paged;
use permissions::ignored;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use std::time::Duration;

/// A whole list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}List")]
pub struct Listed<T> {
    /// All of it.
    pub items: Vec<T>,
}

/// One page of a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub struct PageOf<T> {
    /// The objects of this page.
    pub items: Vec<T>,
    /// Goes into `cursor` of the next call; null at the end.
    pub next_cursor: Option<String>,
}

impl<T> PageOf<T> {
    /// Makes the page, each object by the same conversion.
    pub(crate) fn of<D>(page: Paged<D>, each: impl FnMut(D) -> T) -> Self {
        Self { items: page.items.into_iter().map(each).collect(), next_cursor: page.next }
    }
}

/// Fixes one property of an object's schema to one name: what tells the kinds of a choice apart.
pub(crate) fn fixed(mut schema: Schema, property: &str, name: &str) -> Schema {
    if let Some(found) = schema.pointer_mut(&format!("/properties/{property}")) {
        *found = serde_json::json!({ "const": name, "type": "string" });
    }
    schema
}

pub(crate) fn ids(id: impl ToString) -> String {
    id.to_string()
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
