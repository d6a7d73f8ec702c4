//! What Owl relies on of Claude Code, held against the stub agent always and against the real tool when `OWL_TEST_CLAUDE`
//! names its binary, or several separated by colons (D23). Everything starts from the Driver's own command line and
//! environment; the real tool talks to a scripted Messages API on loopback.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has to end")]
#![expect(clippy::print_stderr, reason = "what is skipped is said aloud")]

mod bench;
mod denials;
mod ending;
mod lists;
mod secrets;
mod settings;
mod stream;
mod words;
mod worktree;
