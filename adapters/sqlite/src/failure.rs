//! What can go wrong with the database, in words for people: what happened and what to do. Details go to the log; no
//! stored text does.

use owl_domain::ports::StoreError;
use rusqlite::ErrorCode;

/// Why a change was not made or a question not answered. Whatever it was, nothing was stored.
#[derive(Debug)]
pub(crate) enum Failure {
    /// SQLite's own.
    Sql(rusqlite::Error),
    /// A row holds what this Owl cannot read.
    Unreadable {
        /// Which kind of value.
        what: &'static str,
    },
    /// What was to be changed is not there, or is closed.
    Gone {
        /// What.
        what: &'static str,
    },
    /// The store was closed.
    Closed,
    /// A defect: the closure panicked. Its transaction was rolled back.
    Panicked,
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl Failure {
    /// Logs it, and says it in words.
    pub(crate) fn told(self, file: &str) -> StoreError {
        let error = StoreError { file: file.into(), reason: self.reason() };
        match self {
            Self::Sql(source) => tracing::error!(%error, source = %described(&source), "the database failed"),
            // Both happen: a Turn goes on while its Conversation is deleted, a client asks while the daemon stops.
            Self::Closed | Self::Gone { .. } => tracing::debug!(%error, "the database was not changed"),
            Self::Unreadable { .. } | Self::Panicked => tracing::error!(%error, "the database failed"),
        }
        error
    }

    /// Says whether the file is at fault, and not what it was asked for.
    pub(crate) fn is_the_files(&self) -> bool {
        matches!(self, Self::Sql(_) | Self::Unreadable { .. })
    }

    fn reason(&self) -> String {
        match self {
            Self::Sql(error) => sql_reason(error),
            Self::Unreadable { what } => format!(
                "holds {what} that this Owl cannot read; use the Owl that wrote it, or put a sound copy in its place"
            ),
            Self::Gone { what } => format!("does not hold {what} any more"),
            Self::Closed => "is closed: the daemon is stopping".into(),
            Self::Panicked => "was not changed: this is a defect in Owl, and the daemon's log tells more".into(),
        }
    }
}

fn code(error: &rusqlite::Error) -> Option<ErrorCode> {
    error.sqlite_error_code()
}

/// SQLite's own words and its extended code. Never the statement's values: they are people's texts.
pub(crate) fn described(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(failure, message) => {
            format!("{} (SQLite code {})", message.as_deref().unwrap_or("no message"), failure.extended_code)
        }
        other => other.to_string(),
    }
}

fn sql_reason(error: &rusqlite::Error) -> String {
    let reason = match code(error) {
        Some(ErrorCode::DiskFull) => "could not be written: the disk is full; free some space, then try again",
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            "could not be written: it or its directory is read-only; make both writable for this user, then try again"
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            "is damaged; stop the daemon, keep a copy of the file, and put a sound copy in its place, or move it away to begin anew"
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
            "is locked by another program; end that program, then try again"
        }
        Some(ErrorCode::CannotOpen) => {
            "could not be opened; see that it and its directory exist and belong to this user"
        }
        Some(ErrorCode::SystemIoFailure) => {
            "could not be read or written: the disk or its file system failed; see the system's log, then try again"
        }
        Some(ErrorCode::OutOfMemory) => "could not be read: there is not enough memory",
        _ => return format!("could not be read or written: {}", described(error)),
    };
    reason.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OpenStoreError;
    use rusqlite::ffi;

    fn failed(code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some("no words for people".into()))
    }

    #[test]
    fn each_failure_says_what_happened_and_what_to_do() {
        for (code, words) in [
            (ffi::SQLITE_FULL, "the disk is full; free some space"),
            (ffi::SQLITE_READONLY, "read-only; make both writable"),
            (ffi::SQLITE_READONLY_DIRECTORY, "read-only; make both writable"),
            (ffi::SQLITE_CORRUPT, "is damaged; stop the daemon"),
            (ffi::SQLITE_NOTADB, "is damaged; stop the daemon"),
            (ffi::SQLITE_BUSY, "is locked by another program; end that program"),
            (ffi::SQLITE_CANTOPEN, "could not be opened; see that it and its directory exist"),
            (ffi::SQLITE_IOERR_WRITE, "the disk or its file system failed"),
            (ffi::SQLITE_NOMEM, "there is not enough memory"),
            (ffi::SQLITE_CONSTRAINT, "could not be read or written: no words for people (SQLite code 19)"),
        ] {
            let error = Failure::Sql(failed(code)).told("/data/owl.db");
            assert!(error.to_string().starts_with("/data/owl.db ") && error.reason.contains(words), "{error}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_told_by_its_cause() {
        let of = |code| OpenStoreError::of("/data/owl.db", &failed(code)).to_string();
        assert!(of(ffi::SQLITE_READONLY).contains("is read-only; make both writable"));
        assert!(of(ffi::SQLITE_CORRUPT).contains("is damaged: "));
        assert!(of(ffi::SQLITE_CANTOPEN).contains("cannot be opened: "));
    }
}
