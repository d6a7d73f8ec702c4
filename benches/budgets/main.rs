//! The budgets of Owl's speed, each beside something honest in the same run (D24). `cargo bench --bench budgets [ROW…]`
//! prints one table and exits 1 when a row is over its budget. Never a test: a busy machine says nothing about the code.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench stops at what cannot be, and prints what it measured"
)]

#[path = "../baseline/echo.rs"]
mod echo;
#[path = "../baseline/hand_written.rs"]
mod hand_written;
#[path = "../baseline/relay.rs"]
mod relay;
#[path = "../baseline/select.rs"]
mod select;
#[path = "../baseline/spawn.rs"]
mod spawn;

mod clients;
mod commands;
mod gate;
mod report;
mod seed;
mod start;
mod store;
mod streaming;
mod transport;

use report::Report;
use std::{path::Path, process::ExitCode};

/// The built daemon, by its release profile.
fn owl() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_owl"))
}

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let mut report = Report::new(wanted);
    transport::rows(&mut report);
    clients::rows(&mut report);
    store::rows(&mut report);
    streaming::rows(&mut report);
    gate::rows(&mut report);
    commands::rows(&mut report);
    start::rows(&mut report);
    report.print()
}

/// A runtime for the bench's own clients.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}
