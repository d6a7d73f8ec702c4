//! What every port of rows shares.

use alloc::{format, string::String};
use sha2::{Digest as _, Sha256};

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

impl Once {
    /// Binds a key to the other parameters, given in the one form that they have when they are written down.
    pub fn new(key: crate::text::ClientKey, parameters: &str) -> Self {
        let mut digest = String::new();
        for byte in Sha256::digest(parameters.as_bytes()) {
            digest.push_str(&format!("{byte:02x}"));
        }
        Self { key, parameters: digest }
    }
}
