//! The only crate that starts a program, and the only one with `unsafe` (ADR-0022, D13, D14).
//!
//! - [`HostCommands`] runs what the gate cleared, under the kernel's wall.
//! - [`Spawner`] runs Owl's own programs: git, an Agent, a Project's checks. It judges nothing.
//!
//! Long-lived threads make every child; nothing here opens a database, a socket or a model.

mod agents;
mod capture;
mod commands;
mod kill;
mod kin;
mod own;
mod programs;
mod spawn;
mod wall;

#[cfg(test)]
mod testing;

pub use agents::{Agent, AgentEnd, AgentLine, AgentProgress, AgentSpec};
pub use commands::HostCommands;
pub use kin::Mark;
pub use own::{OwnCommand, OwnError, OwnOutput};
pub use spawn::Spawner;
