//! The adapter against a server that plays bytes: what goes over the wire, and what never does (D17, D18).

mod catalogue;
mod cut;
mod errors;
mod keys;
mod retries;
mod support;
mod third_party;
mod whole;
