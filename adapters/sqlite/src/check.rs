//! Looks whether the file is sound: a small one whole before it is used, a large one beside the daemon's work, since
//! that takes longer than a start may (D24). Changes nothing.

use crate::{
    failure::{Failure, described},
    open::{self, OpenStoreError},
};
use owl_domain::ports::StoreError;
use rusqlite::{Connection, ErrorCode, InterruptHandle};
use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex, OnceLock, PoisonError, mpsc},
    time::Duration,
};

const CHECK: &str = "PRAGMA quick_check(1)";
const SOUND: &str = "ok";
/// A walk reads each page about once: more room would only be kept by the daemon afterwards.
const LITTLE_ROOM: &str = "PRAGMA cache_size = -256";

/// Up to this size the whole file is looked at before it is used: some milliseconds.
const SMALL: u64 = 4 * 1024 * 1024;
/// How long the daemon works before a large file is looked at: its start comes first.
const AFTER: Duration = Duration::from_secs(5);

/// A check that goes on in the background. Dropping it ends it.
pub(crate) struct Watch {
    found: Arc<OnceLock<StoreError>>,
    checking: Arc<Mutex<Option<InterruptHandle>>>,
    /// Dropped, it tells a check that has not begun that it need not begin.
    waits: Mutex<Option<mpsc::Sender<()>>>,
}

impl Watch {
    /// Returns what was found to be damaged.
    pub(crate) fn found(&self) -> Option<StoreError> {
        self.found.get().cloned()
    }

    /// Ends the check, so that it keeps nothing open.
    pub(crate) fn stop(&self) {
        drop(self.waits.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(checking) = self.checking.lock().unwrap_or_else(PoisonError::into_inner).take() {
            checking.interrupt();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop();
    }
}

fn is_small(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.len() <= SMALL)
}

/// Looks at a small file whole.
pub(crate) fn small(connection: &Connection, path: &Path) -> Result<(), OpenStoreError> {
    if !is_small(path) {
        return Ok(());
    }
    let file = path.to_string_lossy();
    let found = quick(connection).map_err(|error| OpenStoreError::of(&file, &error))?;
    match found {
        None => Ok(()),
        Some(what) => Err(OpenStoreError::Damaged { file: file.into(), what }),
    }
}

fn quick(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let found: String = connection.query_row(CHECK, [], |row| row.get(0))?;
    Ok((found != SOUND).then(|| found.replace('\n', " ")))
}

/// Looks at a large file whole, later, and remembers what was found.
pub(crate) fn in_the_background(path: &Path, file: &str) -> Watch {
    let found = Arc::new(OnceLock::new());
    let checking = Arc::new(Mutex::new(None));
    let watch = Watch { found: found.clone(), checking: checking.clone(), waits: Mutex::default() };
    if is_small(path) {
        return watch;
    }
    let (stop, stopped) = mpsc::channel::<()>();
    let (path, file) = (path.to_owned(), file.to_owned());
    let check = move || {
        // Nothing is ever sent: the other end is dropped.
        if stopped.recv_timeout(AFTER) == Err(mpsc::RecvTimeoutError::Disconnected) {
            return;
        }
        if let Some(error) = look(&path, &file, &checking) {
            tracing::error!(%error, "the database is damaged");
            let _first_and_only = found.set(error);
        }
    };
    match std::thread::Builder::new().name("owl-db-check".into()).spawn(check) {
        Ok(_checks_by_itself) => *watch.waits.lock().unwrap_or_else(PoisonError::into_inner) = Some(stop),
        Err(error) => tracing::warn!(%error, "the database's soundness could not be looked at"),
    }
    watch
}

/// Looks at a file whole, and returns what is damaged. Whoever has `checking` can interrupt it.
fn look(path: &Path, file: &str, checking: &Mutex<Option<InterruptHandle>>) -> Option<StoreError> {
    let looked = open::reader(path).and_then(|connection| {
        *checking.lock().unwrap_or_else(PoisonError::into_inner) = Some(connection.get_interrupt_handle());
        connection.execute_batch(LITTLE_ROOM)?;
        Ok(quick(&connection)?)
    });
    let damage = match looked {
        Ok(found) => found?,
        Err(Failure::Sql(error)) if is_damage(&error) => described(&error),
        Err(_interrupted) => return None,
    };
    let reason = format!(
        "is damaged: {damage}; stop the daemon, keep a copy of the file, and put a sound copy in its place, or move it away to begin anew"
    );
    Some(StoreError { file: file.into(), reason })
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_in_a_large_file_is_found_and_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("owl.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("CREATE TABLE t (a TEXT); INSERT INTO t VALUES (hex(zeroblob(40000)))").unwrap();
        drop(connection);
        let checking = Mutex::default();
        assert_eq!(look(&path, "owl.db", &checking), None);
        let mut bytes = fs::read(&path).unwrap();
        bytes[4_096..8_192].fill(0x5A);
        fs::write(&path, bytes).unwrap();
        let error = look(&path, "owl.db", &checking).unwrap();
        assert!(error.to_string().starts_with("owl.db is damaged: "), "{error}");
        assert!(error.reason.contains("put a sound copy in its place"), "{error}");
    }

    #[test]
    fn a_check_that_has_not_begun_ends_with_its_watch() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("owl.db");
        fs::File::create(&path).unwrap().set_len(SMALL + 1).unwrap();
        let watch = in_the_background(&path, "owl.db");
        assert_eq!(watch.found(), None);
        watch.stop();
        while Arc::strong_count(&watch.found) > 1 {
            std::thread::yield_now();
        }
        assert_eq!(watch.found(), None);
    }
}
