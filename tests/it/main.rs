//! One binary that drives the built `owl` over its socket. Each scenario's name is in tests/scenarios.md.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so and ends"
)]

mod architecture;
mod chat;
mod cli;
mod consent;
mod gate;
mod grants;
mod life;
mod models;
mod restart;
mod support;
