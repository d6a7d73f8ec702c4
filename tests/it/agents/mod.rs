//! Unattended Agents end to end (ADR-0035): the built daemon, its socket and command line, and the strict stub agent.

pub(crate) mod bench;
mod ends;
mod grants;
mod jobs;
mod printed;
mod real;
mod seeding;
#[cfg(target_os = "linux")]
mod untouched;
