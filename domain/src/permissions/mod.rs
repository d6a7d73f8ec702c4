//! What an unattended Agent may do, what it was told of that, and what to write so that it may do more (ADR-0035, D19,
//! D20, D21). Pure: reads no file and starts nothing. Rules are the coding tool's own; Owl only foretells what it does.

mod command;
pub mod default_list;
mod denials;
mod record;
mod rule;

pub use command::{CommandLine, Part, Unsplit, harmless};
pub use denials::*;
pub use record::*;
pub use rule::*;
