//! What the tests share. Never part of what is shipped.

mod byte_server;
mod mock_server;
pub mod repo;

pub use byte_server::{ByteServer, Recorded, Script, Signal};
pub use mock_server::MockServer;
