//! Runs' logs: what the Agent printed, one JSON line each, and what Owl did beside it (D2, D20).

use crate::{ids::RunId, text::Clipped};
use alloc::{boxed::Box, string::String, vec::Vec};
use async_trait::async_trait;

/// Keeps logs as files. A line over [`LOG_LINE_BYTES`](crate::limits::LOG_LINE_BYTES) is cut when it is written and ends
/// in `…[N bytes cut]`.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait RunLogs: Send + Sync {
    /// Appends a line, and wakes whoever follows.
    ///
    /// # Errors
    /// [`LogError`]; then the log holds only whole lines.
    async fn append(&self, run: RunId, line: LogLine) -> Result<(), LogError>;

    /// Returns complete lines from a byte offset on, from the next line on when it is in the middle of one, until about
    /// `most_bytes`; at least one when there is one.
    ///
    /// # Errors
    /// [`LogError`]. A log that was never begun is empty and no error.
    async fn read(&self, run: RunId, after: u64, most_bytes: usize) -> Result<LogLines, LogError>;

    /// Returns how many bytes of whole lines there are.
    async fn size(&self, run: RunId) -> u64;

    /// Returns once the log is longer than that; what a caller does for other reasons it does beside this.
    async fn longer_than(&self, run: RunId, size: u64);
}

/// One line of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogLine {
    /// A line as the Agent printed it, and how many bytes it truly had.
    Agent {
        /// Its text.
        text: String,
        /// Its true length.
        bytes: u64,
    },
    /// Something of Owl's own, written as an object of type `owl`.
    Owl(LogNote),
}

/// What Owl notes in a Run's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogNote {
    /// An Agent is started.
    Started {
        /// Which: `agent` or `verifier`.
        who: &'static str,
        /// What it is started with.
        argv: Vec<String>,
        /// Names of variables that are set for it; no values.
        set: Vec<String>,
        /// Names of the daemon's variables that are kept from it.
        removed: Vec<String>,
    },
    /// A shell command of the Project's file was run.
    Ran {
        /// What for: `setup`, or the name of the check.
        name: String,
        /// The command.
        command: String,
        /// How it ended, in words.
        how: String,
        /// What it printed.
        output: Clipped,
    },
    /// Something a person may want to know.
    Said {
        /// What.
        text: String,
    },
}

/// Lines of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogLines {
    /// Each line with the offset that it begins at, without its line feed.
    pub lines: Vec<(u64, String)>,
    /// Where the next line begins, or will.
    pub next: u64,
    /// How many bytes of whole lines there are.
    pub size: u64,
}

/// Why a log could not be written or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {reason}")]
pub struct LogError {
    /// The file.
    pub file: String,
    /// What happened.
    pub reason: String,
}
