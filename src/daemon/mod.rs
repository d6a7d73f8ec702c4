//! The daemon: composed here, and only here (D1, D4).

mod about;
pub(crate) mod compose;
pub(crate) mod legs;
pub(crate) mod lifecycle;
pub(crate) mod run_legs;
pub(crate) mod telemetry;
mod unattended;
