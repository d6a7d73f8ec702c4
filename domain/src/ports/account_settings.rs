//! An Account's configuration directory and the `settings.json` in it: seeded once, then the user's (ADR-0035, D19).

use crate::{permissions::AccountList, text::AbsPath, text::AccountName};
use alloc::{boxed::Box, string::String};
use async_trait::async_trait;

/// Seeds and reads Accounts' settings files. MUST NOT ever write to one that exists, whatever it is.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait AccountSettings: Send + Sync {
    /// Returns where an Account's directory is, or would be.
    fn directory(&self, account: &AccountName) -> AbsPath;

    /// Returns where its settings file is, or would be.
    fn file(&self, account: &AccountName) -> AbsPath;

    /// Makes the directory, private, unless it is there. Makes no file in it.
    ///
    /// # Errors
    /// [`SettingsError::Unwritable`].
    async fn make_directory(&self, account: &AccountName) -> Result<(), SettingsError>;

    /// Says whether something stands where the settings file is, a link itself.
    async fn is_present(&self, account: &AccountName) -> bool;

    /// Puts the default in place when nothing is there, whole and lasting, and reads what is there then, as the tool
    /// reads it.
    ///
    /// # Errors
    /// [`SettingsError`]: no Agent may be started.
    async fn read_or_seed(&self, account: &AccountName) -> Result<AccountList, SettingsError>;

    /// Reads what is there; none when nothing is. Writes nothing.
    ///
    /// # Errors
    /// [`SettingsError::Unreadable`].
    async fn read(&self, account: &AccountName) -> Result<Option<AccountList>, SettingsError>;
}

/// Why an Account's list is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The tool would drop the file without a word, or it cannot be read at all.
    #[error("{file}: {message}")]
    Unreadable {
        /// The file.
        file: String,
        /// The key, when it is about one.
        key: Option<String>,
        /// The line, from 1.
        line: Option<u64>,
        /// The column, from 1.
        column: Option<u64>,
        /// What is wrong and what to do.
        message: String,
    },
    /// The directory, or the default in it, could not be made.
    #[error("{file}: {message}")]
    Unwritable {
        /// The file.
        file: String,
        /// Why, and what to do.
        message: String,
    },
}
