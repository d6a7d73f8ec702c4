//! Keys and tokens (D18).

use crate::limits;
use alloc::string::String;
use core::fmt;
use secrecy::{ExposeSecret, SecretString};

/// A key or a token. Has no `Display`, and its `Debug` tells nothing (D18).
#[derive(Clone)]
pub struct Secret(SecretString);

/// Why a text is no key or token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("1 to {} printable ASCII characters without blanks", limits::API_KEY_BYTES)]
pub struct SecretError;

impl Secret {
    /// Takes a key or token; blanks around it are taken off.
    ///
    /// # Errors
    /// [`SecretError`] when it is empty, too long, or could not stand in a header. The text is in no error.
    pub fn new(text: impl Into<String>) -> Result<Self, SecretError> {
        let whole: SecretString = text.into().into();
        let trimmed = whole.expose_secret().trim();
        let fits = !trimmed.is_empty() && trimmed.len() <= limits::API_KEY_BYTES;
        if !fits || !trimmed.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(SecretError);
        }
        Ok(Self(String::from(trimmed).into()))
    }

    /// Returns the secret itself, for the one header or the one store it is meant for.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// Returns what may be shown of it.
    pub fn hint(&self) -> SecretHint {
        use sha2::{Digest, Sha256};
        let text = self.expose();
        let last4 = if text.len() < 12 { None } else { text.get(text.len() - 4..).map(String::from) };
        let mut fingerprint = String::from("sha256:");
        let digest = Sha256::digest(text.as_bytes());
        fingerprint.extend(digest.iter().take(6).map(|byte| alloc::format!("{byte:02x}")));
        SecretHint { last4, fingerprint }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// All that is shown of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretHint {
    /// Its last four characters; none when it has fewer than twelve.
    pub last4: Option<String>,
    /// `sha256:` and the first twelve hex digits.
    pub fingerprint: String,
}
