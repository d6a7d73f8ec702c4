//! owl-rpc: the daemon's socket, JSON-RPC in three dialects, events as cursors over stored rows (ADR-0022, D4, D7).
//! Knows no SQL and no HTTP client, and starts nothing.
#![forbid(unsafe_code)]

#[cfg(test)]
mod samples;
pub mod wire;

pub use wire::RpcEventText;
