//! What the domain needs of the world: one file per port, with the error of each operation.

mod clock;
mod commands;
mod paths;
mod repositories;

pub use clock::*;
pub use commands::*;
pub use paths::*;
pub use repositories::*;
