//! owl-rpc: the daemon's socket, JSON-RPC in three dialects, events as cursors over stored rows (ADR-0022, D4, D7).
//! Knows no SQL and no HTTP client, and starts nothing.
#![forbid(unsafe_code)]

mod caller;
mod client;
mod cursor;
pub mod error;
#[cfg(test)]
mod fakes;
mod http;
mod lines;
mod live;
mod methods;
mod openrpc;
mod outlet;
mod params;
#[cfg(test)]
mod samples;
mod server;
mod socket;
mod table;
#[cfg(test)]
mod tests;
pub mod wire;

pub use caller::{Caller, Limits};
pub use client::{Client, ClientError, ConnectError, Crossed, Events, Observer};
pub use error::RpcError;
pub use live::LiveTexts;
pub use methods::{Api, Health, Report, table};
pub use outlet::{Outlet, Unsent};
pub use params::{Reason, invalid};
pub use server::{Config, Running, Server};
pub use socket::{BindError, Directory, PATH_BYTES, PathTooLong, check_length};
pub use table::{Feed, NoParams, Table};
pub use wire::RpcEventText;
