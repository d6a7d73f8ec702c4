//! Jobs and Runs as a whole: the service on a store in memory, with an Agent that is scripted and a git that is none.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has to end")]

mod accounts;
mod agents;
mod moves;
mod starting;
mod store;
mod verifying;
mod world;
