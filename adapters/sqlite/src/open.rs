//! Opens `owl.db`: creates it private, refuses what is not Owl's or is damaged, migrates it, and sets it up (D2, D16).

use crate::{
    SqliteStore, check,
    database::{Database, Parts},
    failure::{Failure, described},
    migrate,
    readers::Readers,
    recent::Recent,
    sql,
    texts::Texts,
    writer::Writing,
};
use owl_domain::{ids::Seq, ports::EventText};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::{
    fs::{self, OpenOptions, Permissions},
    io,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};
use tokio::sync::watch;

const WAL: &str = "PRAGMA journal_mode = WAL";
const NEWEST: &str = "SELECT ifnull(max(seq), 0) FROM events";

/// The mode of all that holds people's texts (D2).
const PRIVATE: u32 = 0o600;
/// How long a connection waits for another one's lock before it gives up.
const BUSY: Duration = Duration::from_secs(5);
/// Statements kept ready on a connection: as many as there are in this crate, about.
const STATEMENTS: usize = 96;

/// Why the database was not opened. Nothing in it was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenStoreError {
    /// A newer Owl wrote it.
    #[error(
        "{file} was written by a newer Owl: its schema is {found}, and this Owl knows up to {known}; update Owl, or move the file away to begin anew"
    )]
    Newer {
        /// The file.
        file: String,
        /// Its schema.
        found: i64,
        /// The newest schema that is known here.
        known: i64,
    },
    /// A migration was applied to it that is not the one of that number here.
    #[error(
        "{file} was made by another build of Owl: its migration {version} ({name}) is not the one of this Owl; use the Owl that made it, or move the file away to begin anew"
    )]
    Edited {
        /// The file.
        file: String,
        /// The migration's number.
        version: i64,
        /// Its name in the file.
        name: String,
    },
    /// It is a database of something else.
    #[error("{file} is a database, but not one of Owl's; move it away, or name another data directory")]
    Foreign {
        /// The file.
        file: String,
    },
    /// It is damaged, or no database at all.
    #[error(
        "{file} is damaged: {what}; keep a copy of it, then put a sound copy in its place, or move it away to begin anew"
    )]
    Damaged {
        /// The file.
        file: String,
        /// What was found.
        what: String,
    },
    /// It may be read but not written.
    #[error("{file} cannot be written: it or its directory is read-only; make both writable for this user")]
    ReadOnly {
        /// The file.
        file: String,
    },
    /// It could not be created, opened or locked.
    #[error("{file} cannot be opened: {reason}; see that its directory exists and belongs to this user")]
    CannotOpen {
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
    /// The copy that is made before a migration could not be made, so that there was no migration.
    #[error("{file} was not brought up to date, because it could not be copied to {copy} before: {reason}")]
    NotCopied {
        /// The file.
        file: String,
        /// The copy.
        copy: String,
        /// Why.
        reason: String,
    },
    /// A migration failed; the database is as it was.
    #[error("{file} could not be brought up to date and is as it was: {reason}")]
    NotMigrated {
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
}

impl OpenStoreError {
    /// Says what a failure of SQLite means for opening a file.
    pub(crate) fn of(file: &str, error: &rusqlite::Error) -> Self {
        let file = file.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged { file, what: described(error) }
            }
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly { file },
            _ => Self::CannotOpen { file, reason: described(error) },
        }
    }
}

/// Opens the database and starts its writer.
pub(crate) fn open(path: &Path, text: Arc<dyn EventText>) -> Result<SqliteStore, OpenStoreError> {
    let file = path.to_string_lossy().into_owned();
    let cannot = |reason: String| OpenStoreError::CannotOpen { file: file.clone(), reason };
    create(path).map_err(|error| cannot(error.to_string()))?;
    let sql = |error: rusqlite::Error| OpenStoreError::of(&file, &error);
    let mut connection = writer(path).map_err(sql)?;
    check::small(&connection, path)?;
    let missing = migrate::look(&connection, path)?;
    // The first thing that is written, once it is known to be Owl's.
    let mode: String = connection.query_row(WAL, [], |row| row.get(0)).map_err(sql)?;
    if mode != "wal" {
        return Err(cannot("its file system has no shared memory, which the database's log needs".into()));
    }
    migrate::apply(&mut connection, path, &missing)?;
    let newest = Seq(connection.query_row(NEWEST, [], |row| row.get(0)).map_err(sql)?);

    let (messages, received) = mpsc::channel();
    let recent = Arc::new(Recent::new(newest));
    let (newest, newest_seen) = watch::channel(newest);
    let (texts, failed) = (Arc::new(Texts::default()), Arc::new(Mutex::new(None)));
    let writing = Writing::new(connection, text, texts.clone(), (newest, recent.clone()), file.clone(), failed.clone());
    let thread = std::thread::Builder::new().name("owl-db".into());
    // Not joined: it ends when it is closed, or when nobody is left who could send.
    let _writer = thread.spawn(move || writing.work(&received)).map_err(|error| cannot(error.to_string()))?;

    let watch = check::in_the_background(path, &file);
    let readers = Readers::new(path.to_owned());
    let database = Database::new(Parts {
        path: path.to_owned(),
        file,
        messages,
        readers,
        texts,
        newest: newest_seen,
        recent,
        failed,
    });
    Ok(SqliteStore::new(database, watch))
}

/// Creates the file so that nobody else could ever read it, or makes one private that is there; its log gets the same
/// mode from it.
fn create(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(path) {
        Ok(_file) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    let there = fs::metadata(path)?;
    let is_private = there.permissions().mode() & 0o077 == 0;
    if is_private || !there.is_file() { Ok(()) } else { fs::set_permissions(path, Permissions::from_mode(PRIVATE)) }
}

fn writer(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.execute_batch(
        "PRAGMA synchronous = NORMAL;
         PRAGMA foreign_keys = ON;
         PRAGMA secure_delete = ON;
         PRAGMA temp_store = MEMORY;
         PRAGMA journal_size_limit = 16777216;
         PRAGMA cache_size = -2048;
         PRAGMA trusted_schema = OFF;",
    )?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// Opens a connection that only reads.
pub(crate) fn reader(path: &Path) -> Result<Connection, Failure> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.execute_batch("PRAGMA temp_store = MEMORY; PRAGMA cache_size = -1024; PRAGMA trusted_schema = OFF;")?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // A connection that never asked anything holds no file open yet: a file that is gone is found here.
    let _tables: i64 = sql::sure(&connection, "SELECT count(*) FROM sqlite_schema", [], |row| row.next())?;
    Ok(connection)
}
