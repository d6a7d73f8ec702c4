//! Turns and consent as a whole: the service on a store in memory, with a scripted model and processes that are none.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has to end")]

mod asking;
mod calls;
mod consent;
mod failing;
mod grants;
mod property;
mod recovery;
mod running;
mod second_pass;
mod sending;
mod world;
