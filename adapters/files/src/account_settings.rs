//! An Account's `settings.json` (ADR-0035, D19): seeded once, when nothing is there, and from then on the user's. Nothing
//! here writes to one that exists. It is read as the coding tool reads it, which drops a whole file without a word for
//! one wrong value; what it would drop is an error here, with its place.

mod json;
mod lists;

use crate::private::{PrivateError, create_dir, sync_dir, written_beside};
use async_trait::async_trait;
use lists::{Entry, Lists, parsed};
use owl_domain::{
    permissions::{AccountList, Ignored, Rule, default_list::settings_text},
    ports::{AccountSettings, SettingsError},
    text::{AbsPath, AccountName},
};
use sha2::{Digest as _, Sha256};
use std::{
    error::Error,
    fs::{self, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// The file's name in an Account's directory.
const NAME: &str = "settings.json";
/// Far above any list that a person keeps.
const FILE_BYTES: u64 = 4 * 1024 * 1024;

/// The settings of Accounts whose directories lie side by side in one of Owl's own.
#[derive(Debug, Clone)]
pub struct HostAccountSettings {
    accounts: AbsPath,
}

impl HostAccountSettings {
    /// Takes the directory that holds the Accounts' directories; it is made when the first one is.
    pub const fn new(accounts: AbsPath) -> Self {
        Self { accounts }
    }

    fn below(&self, path: &str) -> AbsPath {
        let accounts = self.accounts.as_str().trim_end_matches('/');
        // An absolute path with more of it behind is one.
        AbsPath::new(format!("{accounts}/{path}")).unwrap_or_else(|_| self.accounts.clone())
    }
}

#[async_trait]
impl AccountSettings for HostAccountSettings {
    fn directory(&self, account: &AccountName) -> AbsPath {
        self.below(account.as_str())
    }

    fn file(&self, account: &AccountName) -> AbsPath {
        self.below(&format!("{account}/{NAME}"))
    }

    async fn make_directory(&self, account: &AccountName) -> Result<(), SettingsError> {
        let directory = self.directory(account);
        blocking(move || create_dir(Path::new(directory.as_str())).map_err(|error| unwritable(&directory, &error)))
            .await
    }

    async fn is_present(&self, account: &AccountName) -> bool {
        tokio::fs::symlink_metadata(self.file(account).as_str()).await.is_ok()
    }

    async fn read_or_seed(&self, account: &AccountName) -> Result<AccountList, SettingsError> {
        let (name, directory, file) = (account.clone(), self.directory(account), self.file(account));
        blocking(move || {
            let seeded = seed(Path::new(directory.as_str()), Path::new(file.as_str()), settings_text().as_bytes());
            let seeded = seeded.map_err(|error| unwritable(&file, &error))?;
            if seeded == Seeded::Now {
                tracing::info!(%file, "a fresh account was given the default list; from now on the file is the user's");
            }
            read(name, file, seeded)
        })
        .await
    }

    async fn read(&self, account: &AccountName) -> Result<Option<AccountList>, SettingsError> {
        let (name, file) = (account.clone(), self.file(account));
        blocking(move || match fs::symlink_metadata(file.as_str()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Ok(_) | Err(_) => read(name, file, Seeded::No).map(Some),
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SettingsError> + Send + 'static,
) -> Result<T, SettingsError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime itself is going, and this future with it.
            Err(_) => std::future::pending().await,
        },
    }
}

/// What seeding came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seeded {
    /// Owl put the file there.
    Now,
    /// Something was there, and still is, untouched.
    No,
}

/// Puts the default in place unless anything is there, a link to nothing included. Whole, private and down to the disk
/// when this returns; a reader at any moment sees no file or all of it, and of two that seed at once one does.
fn seed(directory: &Path, file: &Path, default: &[u8]) -> Result<Seeded, PrivateError> {
    create_dir(directory)?;
    match fs::symlink_metadata(file) {
        Ok(_) => return Ok(Seeded::No),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(source) => return Err(PrivateError::Failed { path: file.into(), doing: "looked at", source }),
    }
    let temporary = written_beside(file, directory, default)?;
    // By a rename that never replaces, or by a link where the system has no such rename.
    match temporary.persist_noclobber(file) {
        Ok(_) => {
            sync_dir(directory)?;
            Ok(Seeded::Now)
        }
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(Seeded::No),
        Err(error) => Err(PrivateError::Failed { path: file.into(), doing: "put in place", source: error.error }),
    }
}

/// Reads the file as the tool does; a link is followed, as the tool follows it.
fn read(name: AccountName, file: AbsPath, seeded: Seeded) -> Result<AccountList, SettingsError> {
    let bytes = bytes_of(Path::new(file.as_str())).map_err(|error| SettingsError::Unreadable {
        file: file.as_str().into(),
        key: None,
        line: None,
        column: None,
        message: format!("it cannot be read: {error}"),
    })?;
    let lossy = String::from_utf8_lossy(&bytes);
    let lists =
        parsed(lossy.strip_prefix('\u{feff}').unwrap_or(&lossy)).map_err(|wrong| SettingsError::Unreadable {
            file: file.as_str().into(),
            key: wrong.key,
            line: Some(wrong.place.line),
            column: Some(wrong.place.column),
            message: wrong.message,
        })?;
    Ok(AccountList {
        name,
        file,
        seeded: seeded == Seeded::Now,
        sha256: Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect(),
        ignored: ignored(&lists),
        allow: texts(lists.allow),
        deny: texts(lists.deny),
        ask: texts(lists.ask),
        default_mode: lists.default_mode,
    })
}

fn texts(entries: Vec<Entry>) -> Vec<String> {
    let text = |entry| match entry {
        Entry::Text(text) => Some(text),
        Entry::Other(_) => None,
    };
    entries.into_iter().filter_map(text).collect()
}

/// Names the entries that the tool skips without a word.
fn ignored(lists: &Lists) -> Vec<Ignored> {
    let why = |entry: &Entry| match entry {
        Entry::Text(rule) => Rule::read(rule).err().map(|dead| Ignored { rule: rule.clone(), why: dead.to_string() }),
        Entry::Other(json) => Some(Ignored { rule: json.clone(), why: "it is no text; the tool ignores it".into() }),
    };
    [&lists.allow, &lists.deny, &lists.ask].into_iter().flatten().filter_map(why).collect()
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

fn unwritable(file: &AbsPath, error: &PrivateError) -> SettingsError {
    let why = error.source().map(|source| format!(": {source}")).unwrap_or_default();
    SettingsError::Unwritable { file: file.as_str().into(), message: format!("{error}{why}") }
}

#[cfg(test)]
mod tests;
