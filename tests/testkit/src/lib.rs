//! What the tests share. Never part of what is shipped.

mod byte_server;
mod clock;
mod daemon;
mod memory;
mod mock_server;
pub mod model;
pub mod repo;

pub use byte_server::{ByteServer, Recorded, Script, Signal};
pub use clock::ManualClock;
pub use daemon::{Client, Daemon, Home, Output, Seen, run};
pub use memory::MemoryTurns;
pub use mock_server::{MockServer, run_again};
