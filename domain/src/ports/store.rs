//! What every port of rows shares.

use alloc::string::String;

/// The store could not be read or written. Nothing was done; the log has the details.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file} {reason}")]
pub struct StoreError {
    /// The file.
    pub file: String,
    /// What happened and what to do.
    pub reason: String,
}

/// Whether a compare-and-set won.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Moved {
    /// The row was as expected, and was changed.
    Won,
    /// It was not; nothing was changed. Whoever lost reads it again.
    Lost,
}

/// A call that is done once, however often it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    /// The client's name for it.
    pub key: crate::text::ClientKey,
    /// A digest over the other parameters.
    pub parameters: String,
}
