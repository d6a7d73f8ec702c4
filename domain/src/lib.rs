//! Owl's core, in reading order. What always holds:
//!
//! - The domain names no file, socket, process, environment or clock: they are ports.
//! - Only [`gate::clear`] makes the value that the runner takes, and it runs the whole gate again.
//! - Every move of a stored thing is a compare-and-set that tells whether it won.
//! - A Turn is rows: whatever carries it on after a consent carries it on after a restart.
#![cfg_attr(not(any(test, feature = "mocks")), no_std)]
#![forbid(unsafe_code)]
#![deny(missing_docs, clippy::indexing_slicing, clippy::wildcard_enum_match_arm)]

extern crate alloc;

pub mod account;
pub mod consent;
pub mod conversation;
pub mod gate;
pub mod git_names;
pub mod ids;
pub mod job;
pub mod judge;
pub mod limits;
pub mod permissions;
pub mod ports;
pub mod project;
pub mod provider;
pub mod show;
#[cfg(test)]
mod testing;
pub mod text;
pub mod time;
pub mod turn;
