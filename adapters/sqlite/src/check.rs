//! Looks whether the file is sound: a small one whole before it is used, a large one beside the daemon's work, since
//! that takes longer than a start may (D24). Changes nothing.

use crate::{
    failure::{Failure, described},
    open::{self, OpenStoreError},
};
use owl_domain::ports::StoreError;
use rusqlite::{Connection, InterruptHandle};
use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex, OnceLock, PoisonError, mpsc},
    time::Duration,
};

const CHECK: &str = "PRAGMA quick_check(1)";
const SOUND: &str = "ok";

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
        let checked = open::reader(&path).and_then(|connection| {
            *checking.lock().unwrap_or_else(PoisonError::into_inner) = Some(connection.get_interrupt_handle());
            Ok(quick(&connection)?)
        });
        let damage = match checked {
            Ok(None) => return tracing::debug!(%file, "the database is sound"),
            Ok(Some(what)) => what,
            Err(failure) if failure.is_damage() => match &failure {
                Failure::Sql(error) => described(error),
                _ => String::new(),
            },
            Err(_interrupted) => return,
        };
        let reason = format!(
            "is damaged: {damage}; stop the daemon, keep a copy of the file, and put a sound copy in its place, or move it away to begin anew"
        );
        let error = StoreError { file, reason };
        tracing::error!(%error, "the database is damaged");
        let _first_and_only = found.set(error);
    };
    match std::thread::Builder::new().name("owl-db-check".into()).spawn(check) {
        Ok(_checks_by_itself) => *watch.waits.lock().unwrap_or_else(PoisonError::into_inner) = Some(stop),
        Err(error) => tracing::warn!(%error, "the database's soundness could not be looked at"),
    }
    watch
}
