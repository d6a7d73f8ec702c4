//! Clients' keys for `jobs.create`, in the table of all clients' keys.

use crate::{
    change::Change,
    failure::Failure,
    keys,
    sql::{self, must},
};
use owl_domain::{ids::JobId, ports::Once};
use rusqlite::{Connection, params};

const METHOD: &str = "jobs.create";
const FIND: &str = "SELECT parameters, job FROM client_keys WHERE method = ?1 AND scope = 0 AND key = ?2";
const STORE: &str = "INSERT INTO client_keys (method, scope, key, parameters, at, job) VALUES (?1, 0, ?2, ?3, ?4, ?5)";

/// What is known of a key.
pub(super) enum Known {
    /// It is new.
    New,
    /// It was used with other parameters.
    Mismatch,
    /// That call made this Job.
    Made(JobId),
}

/// Looks a key up.
pub(super) fn find(db: &Connection, once: &Once) -> Result<Known, Failure> {
    let found = sql::one(db, FIND, [METHOD, once.key.as_str()], |row| {
        if row.next::<String>()? != once.parameters {
            return Ok(Known::Mismatch);
        }
        Ok(Known::Made(row.id(JobId::new)?))
    })?;
    Ok(found.unwrap_or(Known::New))
}

/// Forgets keys that are too old to count.
pub(super) fn forget_old(change: &Change<'_>) -> Result<(), Failure> {
    keys::forget_old(change)
}

/// Stores what a call with a key made.
pub(super) fn store(change: &Change<'_>, once: &Once, job: JobId) -> Result<(), Failure> {
    let row = params![METHOD, once.key.as_str(), once.parameters, change.now_ms(), job.number()];
    must(change.db(), STORE, row, "this client_key")
}
