//! Lists come in pages: keyset cursors, never offsets.

use crate::ports::StoreError;
use alloc::{string::String, vec::Vec};

/// Which page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// How many at most, 1 to [`PAGE_ITEMS`](crate::limits::PAGE_ITEMS).
    pub limit: u32,
    /// Where the page before ended; opaque to all but the store.
    pub cursor: Option<String>,
}

/// One page of a list. It ends early at [`PAGE_BYTES`](crate::limits::PAGE_BYTES) and holds at least one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paged<T> {
    /// The objects.
    pub items: Vec<T>,
    /// Where the next page begins; none at the end.
    pub next: Option<String>,
}

/// Why a page could not be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// The cursor is none, or of another list or filter.
    #[error("the cursor is not one of this list")]
    Cursor,
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}
