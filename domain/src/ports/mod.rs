//! What the domain needs of the world: one file per port, with the error of each operation.

mod clock;
mod commands;
mod credentials;
mod paths;
mod providers;
mod repositories;

pub use clock::*;
pub use commands::*;
pub use credentials::*;
pub use paths::*;
pub use providers::*;
pub use repositories::*;
