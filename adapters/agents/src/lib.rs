//! owl-agents: how a coding tool is operated, and a Project's own shell commands (ADR-0035, D20-D22). Starts everything
//! through owl-process; knows no database, no socket and no Account's rules, which the tool reads itself.
#![forbid(unsafe_code)]

mod checks;
mod claude_code;
mod environment;
mod verdicts;

pub use checks::ShellChecks;
pub use claude_code::{Bounds, ClaudeCode};
pub use environment::Environment;
pub use verdicts::VerdictFiles;
