//! Where keys and tokens are kept: the macOS Keychain there, elsewhere `credentials.json`, and before nobody else's eyes
//! (D18). Knows no database, no network and no service; nothing here has a format that shows a secret.

mod environment;
mod file;
#[cfg(target_os = "macos")]
mod keychain;

pub use environment::FromEnvironment;
pub use file::FileCredentials;
#[cfg(target_os = "macos")]
pub use keychain::KeychainCredentials;

use owl_domain::ports::{CredentialError, Credentials};
use std::{path::PathBuf, sync::Arc};

/// Which store a person wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// The macOS Keychain.
    Keychain,
    /// `credentials.json`.
    File,
}

impl Default for Store {
    /// The Keychain where there is one.
    fn default() -> Self {
        if cfg!(target_os = "macos") { Self::Keychain } else { Self::File }
    }
}

/// Returns the store that is wanted; `file` is where [`Store::File`] keeps its secrets.
///
/// # Errors
/// [`CredentialError`] when this system has no such store: another one is never used in its place.
pub fn credentials(wanted: Store, file: PathBuf) -> Result<Arc<dyn Credentials>, CredentialError> {
    match wanted {
        Store::File => Ok(Arc::new(FileCredentials::new(file))),
        #[cfg(target_os = "macos")]
        Store::Keychain => Ok(Arc::new(KeychainCredentials)),
        #[cfg(not(target_os = "macos"))]
        Store::Keychain => Err(CredentialError {
            store: "keychain".into(),
            reason: "is for macOS alone; set `credentialStore: file`".into(),
        }),
    }
}
