//! What the domain needs of the world: one file per port, with the error of each operation.

mod clock;
mod commands;
mod conversations;
mod credentials;
mod events;
mod paths;
mod projects;
mod proposals;
mod providers;
mod repositories;
mod store;
mod terms;
mod turns;

pub use clock::*;
pub use commands::*;
pub use conversations::*;
pub use credentials::*;
pub use events::*;
pub use paths::*;
pub use projects::*;
pub use proposals::*;
pub use providers::*;
pub use repositories::*;
pub use store::*;
pub use terms::*;
pub use turns::*;
