//! Pages of a list: keyset cursors that belong to one list and one filter, and a bound in bytes (D24).

use owl_domain::{
    conversation::{Page, PageError, Paged},
    limits,
};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// Which list is paged: its name and what it is filtered by.
pub(crate) struct List {
    seal: Sha256,
}

/// Where a page ended: the keys of its last object, in the order of the list.
pub(crate) type Keys = [i64; 2];

impl List {
    /// Names a list.
    pub(crate) fn of(name: &str) -> Self {
        Self { seal: Sha256::new() }.by(Some(name))
    }

    /// Adds something that it is filtered by. Nothing is something too.
    pub(crate) fn by(mut self, filter: Option<impl ToString>) -> Self {
        match filter.map(|filter| filter.to_string()) {
            None => self.seal.update([0]),
            Some(filter) => {
                self.seal.update([1]);
                self.seal.update(filter.len().to_le_bytes());
                self.seal.update(filter);
            }
        }
        self
    }

    /// Writes a cursor: the keys, sealed with the list.
    fn cursor(&self, keys: Keys) -> String {
        let mut seal = self.seal.clone();
        for key in keys {
            seal.update(key.to_le_bytes());
        }
        let mut cursor = String::new();
        for byte in keys.iter().flat_map(|key| key.to_be_bytes()).chain(seal.finalize().iter().copied().take(8)) {
            // NOTE: writing to a String cannot fail.
            let _infallible = write!(cursor, "{byte:02x}");
        }
        cursor
    }

    /// Reads a cursor. One that is malformed, or of another list or filter, is none of this list's.
    pub(crate) fn keys(&self, page: &Page) -> Result<Option<Keys>, PageError> {
        let Some(cursor) = &page.cursor else {
            return Ok(None);
        };
        let key = |from: usize| {
            let digits = cursor.get(from..from + 16)?;
            u64::from_str_radix(digits, 16).ok().map(u64::cast_signed)
        };
        let keys = key(0).zip(key(16)).map(|(first, second)| [first, second]);
        match keys {
            Some(keys) if self.cursor(keys) == *cursor => Ok(Some(keys)),
            _ => Err(PageError::Cursor),
        }
    }
}

/// A page that is being filled.
pub(crate) struct Filling<T> {
    items: Vec<T>,
    last: Option<Keys>,
    most: usize,
    bytes: usize,
    more: bool,
}

/// Whether a page takes more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// It does.
    Left,
    /// It is full, and there is more than it holds.
    None,
}

impl<T> Filling<T> {
    /// Begins a page.
    pub(crate) fn new(limit: u32) -> Self {
        let most = usize::try_from(limit.clamp(1, limits::PAGE_ITEMS)).unwrap_or(1);
        Self { items: Vec::new(), last: None, most, bytes: 0, more: false }
    }

    /// Adds an object of about `bytes` of JSON, unless the page is full. The first one always fits.
    pub(crate) fn add(&mut self, item: T, keys: Keys, bytes: usize) -> Room {
        let over = self.bytes + bytes > limits::PAGE_BYTES;
        if self.items.len() == self.most || (over && !self.items.is_empty()) {
            self.more = true;
            return Room::None;
        }
        self.items.push(item);
        self.last = Some(keys);
        self.bytes += bytes;
        Room::Left
    }

    /// Says whether nothing was added yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Ends the page with a cursor to the next one.
    pub(crate) fn end(self, list: &List) -> Paged<T> {
        let next = self.last.filter(|_| self.more).map(|keys| list.cursor(keys));
        Paged { items: self.items, next }
    }

    /// Ends the page, and says whether there is more than it holds.
    pub(crate) fn parts(self) -> (Vec<T>, bool) {
        (self.items, self.more)
    }
}
