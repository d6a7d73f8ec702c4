//! The migrations of `migrations/`, embedded: a newer or edited history is refused in plain words, and a database that
//! holds rows is copied before it is changed.

use crate::{failure::described, open::OpenStoreError};
use refinery::error::Kind;
use rusqlite::{Connection, OptionalExtension as _};
use std::{
    fs, io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

mod embedded {
    refinery::embed_migrations!("../../migrations");
}

const HISTORY: &str = "SELECT version, name, checksum FROM refinery_schema_history ORDER BY version";
const HAS_HISTORY: &str = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'refinery_schema_history'";
const HAS_ANYTHING: &str = "SELECT 1 FROM sqlite_schema LIMIT 1";

/// What stands between a database's name and the schema it had when it was copied.
const COPY: &str = ".before-schema-";

struct Applied {
    version: i64,
    name: String,
    checksum: String,
}

/// What a database lacks.
pub(crate) enum Missing {
    /// Nothing: it is current.
    Nothing,
    /// Every migration: it is new.
    Everything,
    /// What came after this schema.
    After(i64),
}

/// Looks at a database's history, and refuses one that is not this Owl's. Writes nothing.
pub(crate) fn look(connection: &Connection, path: &Path) -> Result<Missing, OpenStoreError> {
    let file = path.to_string_lossy().into_owned();
    let applied = history(connection).map_err(|error| OpenStoreError::of(&file, &error))?;
    let Some(applied) = applied else {
        return Err(OpenStoreError::Foreign { file });
    };
    let runner = embedded::migrations::runner();
    let known = runner.get_migrations();
    let newest_known = known.iter().map(|migration| i64::from(migration.version())).max().unwrap_or(0);
    let found = applied.iter().map(|applied| applied.version).max().unwrap_or(0);
    if found > newest_known {
        return Err(OpenStoreError::Newer { file, found, known: newest_known });
    }
    for one in &applied {
        let same = known.iter().any(|migration| {
            i64::from(migration.version()) == one.version
                && migration.name() == one.name
                && migration.checksum().to_string() == one.checksum
        });
        if !same {
            return Err(OpenStoreError::Edited { file, version: one.version, name: one.name.clone() });
        }
    }
    Ok(match applied.len() {
        0 => Missing::Everything,
        all if all == known.len() => Missing::Nothing,
        _ => Missing::After(found),
    })
}

/// Applies what is missing, all of it or nothing. What holds rows is copied before.
pub(crate) fn apply(connection: &mut Connection, path: &Path, missing: &Missing) -> Result<(), OpenStoreError> {
    match missing {
        Missing::Nothing => return Ok(()),
        Missing::Everything => {}
        Missing::After(schema) => copy(connection, path, *schema)?,
    }
    let not = |reason: String| OpenStoreError::NotMigrated { file: path.to_string_lossy().into_owned(), reason };
    let sql = |error: rusqlite::Error| not(described(&error));
    // A migration may rebuild a table, which looks like a deletion to its children.
    connection.pragma_update(None, "foreign_keys", false).map_err(sql)?;
    let runner = embedded::migrations::runner().set_grouped(true);
    let done = runner.run(connection).map_err(|error| not(reason(&error)));
    connection.pragma_update(None, "foreign_keys", true).map_err(sql)?;
    done.map(drop)
}

fn reason(error: &refinery::Error) -> String {
    match error.kind() {
        Kind::Connection(what, source) => match source.downcast_ref::<rusqlite::Error>() {
            Some(error) => format!("{what}: {}", described(error)),
            None => what.clone(),
        },
        other => other.to_string(),
    }
}

/// Returns what was applied: nothing to a new file; none when the file is somebody else's.
fn history(connection: &Connection) -> rusqlite::Result<Option<Vec<Applied>>> {
    let has = |sql: &str| connection.query_row(sql, [], |_| Ok(())).optional().map(|found| found.is_some());
    if !has(HAS_HISTORY)? {
        return Ok((!has(HAS_ANYTHING)?).then(Vec::new));
    }
    let mut statement = connection.prepare(HISTORY)?;
    let rows = statement
        .query_map([], |row| Ok(Applied { version: row.get(0)?, name: row.get(1)?, checksum: row.get(2)? }))?;
    rows.collect::<rusqlite::Result<_>>().map(Some)
}

/// Copies the database beside itself, whole or not at all.
fn copy(connection: &Connection, path: &Path, schema: i64) -> Result<(), OpenStoreError> {
    let copy = beside(path, &format!("{COPY}{schema}"));
    let unfinished = beside(path, ".copying");
    let not = |reason: String| OpenStoreError::NotCopied {
        file: path.to_string_lossy().into_owned(),
        copy: copy.to_string_lossy().into_owned(),
        reason,
    };
    let io = |error: io::Error| not(error.to_string());
    remove(&unfinished).map_err(io)?;
    // Made beforehand, so that nobody else could ever read it: SQLite takes an empty file.
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished).map_err(io)?;
    connection.execute("VACUUM INTO ?1", [unfinished.to_string_lossy()]).map_err(|error| not(described(&error)))?;
    fs::File::open(&unfinished).and_then(|file| file.sync_all()).map_err(io)?;
    fs::rename(&unfinished, &copy).map_err(io)
}

/// Removes the copies: they hold what has been deleted since.
pub(crate) fn remove_copies(path: &Path) -> io::Result<()> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(());
    };
    let start = format!("{}{COPY}", name.to_string_lossy());
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(&start) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the migrations: number, name and checksum.
#[cfg(test)]
pub(crate) fn known() -> Vec<(i64, String, String)> {
    let runner = embedded::migrations::runner();
    let one = |migration: &refinery::Migration| {
        (i64::from(migration.version()), migration.name().to_owned(), migration.checksum().to_string())
    };
    runner.get_migrations().iter().map(one).collect()
}

/// Makes a database as an older Owl left it.
#[cfg(test)]
pub(crate) fn create_at(path: &Path, schema: i32) {
    let mut connection = Connection::open(path).unwrap();
    let runner = embedded::migrations::runner().set_target(refinery::Target::Version(schema));
    runner.run(&mut connection).unwrap();
}
