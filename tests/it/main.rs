//! One binary that drives the built `owl` over its socket. Each scenario's name is in tests/scenarios.md.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so and ends"
)]

mod agents;
mod architecture;
mod as_git;
mod chat;
mod cli;
mod confinement;
mod connections;
mod consent;
mod crashes;
mod dialects;
mod examples;
mod following;
mod full_disk;
mod gate;
mod grants;
mod hostile;
mod life;
mod limits;
mod lines;
mod models;
mod packaging;
mod race;
mod races;
mod replay;
mod restart;
mod schema;
mod shown;
mod support;
mod tour;
mod wire;
mod work;
