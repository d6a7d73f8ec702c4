//! An Account's `settings.json` (ADR-0035, D19): seeded once, when nothing is there, and from then on the user's. Nothing
//! here writes to one that exists. It is read as the coding tool reads it, which drops a whole file without a word for
//! one wrong value; what it would drop is an error here, with its place.

mod json;

use crate::private::{PrivateError, create_dir, sync_dir, written_beside};
use json::Place;
use owl_domain::project::FileError;
use std::{
    fs::{self, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

/// The file's name in an Account's directory.
const NAME: &str = "settings.json";
/// Far above any list that a person keeps.
const FILE_BYTES: u64 = 4 * 1024 * 1024;
/// The modes that the tool knows.
const MODES: [&str; 6] = ["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"];

/// What seeding came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seeded {
    /// Owl put the file there.
    Now,
    /// Something was there, and still is, untouched.
    No,
}

/// What an Account's file says of permissions, as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccountSettings {
    /// What is allowed.
    pub allow: Vec<Entry>,
    /// What is asked, and so denied where nobody can be.
    pub ask: Vec<Entry>,
    /// What is denied.
    pub deny: Vec<Entry>,
    /// The mode that it sets.
    pub default_mode: Option<String>,
    /// The file's bytes.
    pub bytes: Vec<u8>,
}

/// One entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A text, which may be a rule.
    Text(String),
    /// Something else, as JSON; the tool skips it.
    Other(String),
}

/// Returns where the file of an Account's directory is.
#[must_use]
pub fn settings_file(directory: &Path) -> PathBuf {
    directory.join(NAME)
}

/// Puts the default in place unless anything is there, a link to nothing included. Whole, private and down to the disk
/// when this returns; a reader at any moment sees no file or all of it, and of two that seed at once one does.
///
/// # Errors
/// [`PrivateError`] when it could not be put there: then no Agent may be started.
pub fn seed(directory: &Path, default: &[u8]) -> Result<Seeded, PrivateError> {
    create_dir(directory)?;
    let file = settings_file(directory);
    match fs::symlink_metadata(&file) {
        Ok(_) => return Ok(Seeded::No),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(source) => return Err(PrivateError::Failed { path: file, doing: "looked at", source }),
    }
    let temporary = written_beside(&file, directory, default)?;
    // By a rename that never replaces, or by a link where the system has no such rename.
    match temporary.persist_noclobber(&file) {
        Ok(_) => {
            sync_dir(directory)?;
            Ok(Seeded::Now)
        }
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(Seeded::No),
        Err(error) => Err(PrivateError::Failed { path: file, doing: "put in place", source: error.error }),
    }
}

/// Reads an Account's file as the tool does; a link is followed, as the tool follows it.
///
/// # Errors
/// [`FileError`] where the tool would ignore the file without a word: then no Agent may be started.
pub fn read(directory: &Path) -> Result<AccountSettings, FileError> {
    let file = settings_file(directory);
    let refused =
        |message: String| FileError { file: file.display().to_string(), key: None, line: None, column: None, message };
    let bytes = bytes_of(&file).map_err(|error| refused(format!("it cannot be read: {error}")))?;
    let lossy = String::from_utf8_lossy(&bytes);
    let text = lossy.strip_prefix('\u{feff}').unwrap_or(&lossy);
    match parsed(text) {
        Ok(settings) => Ok(AccountSettings { bytes: bytes.clone(), ..settings }),
        Err(wrong) => {
            let Place { line, column } = wrong.place;
            Err(FileError { key: wrong.key, line: Some(line), column: Some(column), ..refused(wrong.message) })
        }
    }
}

fn bytes_of(file: &Path) -> io::Result<Vec<u8>> {
    let flags = nix::fcntl::OFlag::O_NONBLOCK.bits();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(file)?;
    if !opened.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    if opened.take(FILE_BYTES + 1).read_to_end(&mut bytes)? as u64 > FILE_BYTES {
        return Err(io::Error::other(format!("it has more than {FILE_BYTES} bytes")));
    }
    Ok(bytes)
}

/// What the tool would drop the whole file for.
#[derive(Debug)]
struct Wrong {
    place: Place,
    key: Option<String>,
    message: String,
}

fn parsed(text: &str) -> Result<AccountSettings, Wrong> {
    if text.trim().is_empty() {
        let message = "it is empty, and the tool would ignore it; write {} to allow nothing".into();
        return Err(Wrong { place: Place { line: 1, column: 1 }, key: None, message });
    }
    let whole = json::Value::whole(text)?;
    let root = whole.object("the file")?;
    for key in ["model", "apiKeyHelper"] {
        if let Some(value) = root.get(key).filter(|value| !value.is_text()) {
            return Err(value.wrong(key, "a text"));
        }
    }
    for key in ["env", "hooks"] {
        if let Some(value) = root.get(key).filter(|value| !value.is_object()) {
            return Err(value.wrong(key, "an object"));
        }
    }
    let Some(permissions) = root.get("permissions") else {
        return Ok(AccountSettings::default());
    };
    let permissions = permissions.object("permissions")?;
    let list = |name: &str| match permissions.get(name) {
        None => Ok(Vec::new()),
        Some(value) => {
            let entries = value.list(&format!("permissions.{name}"))?;
            Ok(entries
                .iter()
                .map(|entry| entry.text().map_or_else(|| Entry::Other(entry.json()), Entry::Text))
                .collect())
        }
    };
    list("additionalDirectories")?;
    let default_mode = match permissions.get("defaultMode") {
        None => None,
        Some(value) => match value.text() {
            Some(mode) if MODES.contains(&mode.as_str()) => Some(mode),
            Some(_) | None => {
                return Err(value.wrong("permissions.defaultMode", &format!("one of {}", MODES.join(", "))));
            }
        },
    };
    Ok(AccountSettings {
        allow: list("allow")?,
        ask: list("ask")?,
        deny: list("deny")?,
        default_mode,
        bytes: Vec::new(),
    })
}

#[cfg(test)]
mod tests;
