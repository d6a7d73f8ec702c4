//! What the tests share. Never part of what is shipped.

mod byte_server;
mod clock;
mod daemon;
mod follow;
pub mod kernel;
mod memory;
mod messages_api;
mod mock_server;
pub mod model;
mod older_kernel;
mod program;
pub mod repo;
mod running;
mod schema;
mod small_disk;
mod strict;

pub use byte_server::{ByteServer, Recorded, Script, Signal};
pub use clock::ManualClock;
pub use daemon::{Client, Daemon, Home, Seen, Watch};
pub use memory::MemoryTurns;
pub use messages_api::{ApiRequest, Block, MessagesApi, SUBAGENT};
pub use mock_server::{MockServer, run_again};
pub use older_kernel::older_kernel;
pub use program::{Output, run, run_in};
pub use running::Running;
pub use schema::{Contract, contract};
pub use small_disk::SmallDisk;
pub use strict::StrictModel;
/// The runtime of all tests: the domain itself names none.
pub use tokio;
