//! The macOS Keychain, in this process: a secret that went through another program would stand in its argv (D18).

use async_trait::async_trait;
use owl_domain::{
    ports::{Credential, CredentialError, CredentialName, CredentialSource, Credentials},
    provider::Secret,
};
use security_framework::{
    base::Error,
    passwords::{delete_generic_password, get_generic_password, set_generic_password},
};
use tokio::task::spawn_blocking;

/// The name under which Owl's entries stand.
const SERVICE: &str = "coding-owl";
/// The Keychain's word for "there is no such entry" (`errSecItemNotFound`).
const NOT_FOUND: i32 = -25_300;

/// The login Keychain of the user that the daemon runs as.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeychainCredentials;

#[async_trait]
impl Credentials for KeychainCredentials {
    async fn get(&self, name: CredentialName) -> Result<Option<Credential>, CredentialError> {
        let bytes = match blocking(move || get_generic_password(SERVICE, &entry(&name))).await? {
            Ok(bytes) => bytes,
            Err(error) if error.code() == NOT_FOUND => return Ok(None),
            Err(error) => return Err(failed("could not be read", &error)),
        };
        let secret = String::from_utf8(bytes).ok().and_then(|text| Secret::new(text).ok());
        let secret =
            secret.ok_or_else(|| keychain("holds an entry that is no key; remove it and store the key anew"))?;
        Ok(Some(Credential { secret, source: CredentialSource::Keychain }))
    }

    async fn set(&self, name: CredentialName, secret: Secret) -> Result<(), CredentialError> {
        blocking(move || set_generic_password(SERVICE, &entry(&name), secret.expose().as_bytes()))
            .await?
            .map_err(|error| failed("could not be written; what was stored before is still in force", &error))
    }

    async fn remove(&self, name: CredentialName) -> Result<(), CredentialError> {
        match blocking(move || delete_generic_password(SERVICE, &entry(&name))).await? {
            Err(error) if error.code() != NOT_FOUND => Err(failed("could not be written", &error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn store(&self) -> &'static str {
        "keychain"
    }
}

fn entry(name: &CredentialName) -> String {
    match name {
        CredentialName::Provider(provider) => format!("provider/{provider}"),
        CredentialName::Account(account) => format!("account/{account}"),
    }
}

/// Runs what may wait for the user's password away from the threads that serve connections.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, CredentialError> {
    spawn_blocking(work).await.map_err(|_| keychain("could not be asked; the daemon is stopping"))
}

fn failed(what: &str, error: &Error) -> CredentialError {
    keychain(&format!("{what}: {error}; unlock it, or set `credentialStore: file`"))
}

fn keychain(reason: &str) -> CredentialError {
    CredentialError { store: "keychain".into(), reason: reason.into() }
}
