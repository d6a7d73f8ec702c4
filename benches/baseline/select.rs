//! What a bare rusqlite reads of the same rows, in a loop that somebody wrote by hand: no types, no JSON, no socket.
#![expect(clippy::disallowed_types, reason = "a baseline reads the database as bare as it can be, and only reads")]

use rusqlite::{Connection, OpenFlags, Row, ToSql, types::ValueRef};
use std::{
    path::Path,
    time::{Duration, Instant},
};

const EVENTS: &str = "SELECT seq, text FROM events WHERE conversation = ?1 ORDER BY seq";
const CONVERSATIONS: &str = "SELECT * FROM conversations WHERE archived = 0 AND (updated_at, id) < (?1, ?2)
    ORDER BY updated_at DESC, id DESC LIMIT ?3";
const ITEMS: &str = "SELECT * FROM items WHERE conversation = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3";

/// A database that is read beside the daemon.
pub(crate) struct Select(Connection);

impl Select {
    pub(crate) fn open(database: &Path) -> Self {
        Self(Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap())
    }

    /// Events of one conversation that were read per second.
    pub(crate) fn events(&self, conversation: i64) -> f64 {
        let (start, mut rows) = (Instant::now(), 0_u32);
        self.all(EVENTS, &[&conversation], |_| rows += 1);
        f64::from(rows) / start.elapsed().as_secs_f64()
    }

    /// Walks through all conversations. Returns the time of each page.
    pub(crate) fn conversations(&self, limit: u32) -> Vec<Duration> {
        let (mut took, mut last) = (Vec::new(), (i64::MAX, i64::MAX));
        loop {
            let (start, mut rows) = (Instant::now(), 0);
            self.all(CONVERSATIONS, &[&last.0.clone(), &last.1.clone(), &limit], |row| {
                last = (row.get_unwrap("updated_at"), row.get_unwrap("id"));
                rows += 1;
            });
            took.push(start.elapsed());
            if rows < limit {
                return took;
            }
        }
    }

    /// Reads the page of Items before each of these numbers. Returns the time of each.
    pub(crate) fn items(&self, conversation: i64, befores: impl Iterator<Item = u64>, limit: u32) -> Vec<Duration> {
        let page = |before: u64| {
            let start = Instant::now();
            self.all(ITEMS, &[&conversation, &i64::try_from(before).unwrap(), &limit], |_| {});
            start.elapsed()
        };
        befores.map(page).collect()
    }

    /// Reads every column of every row, as whoever uses them must.
    fn all(&self, sql: &str, params: &[&dyn ToSql], mut each: impl FnMut(&Row<'_>)) {
        let mut statement = self.0.prepare_cached(sql).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query(params).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                if let ValueRef::Text(text) = row.get_ref_unwrap(column) {
                    std::hint::black_box(std::str::from_utf8(text).unwrap());
                }
            }
            each(row);
        }
    }
}
