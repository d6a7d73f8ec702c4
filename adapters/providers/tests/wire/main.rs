//! The adapter against a server that plays bytes: what goes over the wire, and what never does (D17, D18).
#![expect(clippy::unwrap_used, clippy::panic, reason = "these are tests and their helpers")]

mod catalogue;
mod cut;
mod errors;
mod keys;
mod long;
mod retries;
mod support;
mod third_party;
mod whole;
