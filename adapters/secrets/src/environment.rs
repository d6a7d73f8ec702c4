//! Keys from the daemon's environment, for those who say so in the configuration (D18). They are taken once, at the
//! start; a key that was stored goes first.

use async_trait::async_trait;
use owl_domain::{
    ports::{Credential, CredentialError, CredentialName, CredentialSource, Credentials},
    provider::{Provider, Secret},
};
use std::sync::Arc;

/// A store, with the environment behind it.
pub struct FromEnvironment {
    stored: Arc<dyn Credentials>,
    taken: Vec<(Provider, Secret)>,
}

impl FromEnvironment {
    /// Takes the keys that `variable` knows, once; an empty one counts as none. Make this only when the configuration
    /// says so.
    ///
    /// # Errors
    /// [`CredentialError`] when a variable holds what is no key; its value is not in the error.
    pub fn new(
        stored: Arc<dyn Credentials>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, CredentialError> {
        let mut taken = Vec::new();
        for provider in Provider::ALL {
            let Some(name) = variable_of(provider) else { continue };
            let Some(value) = variable(name).filter(|value| !value.trim().is_empty()) else { continue };
            let key = Secret::new(value)
                .map_err(|wrong| CredentialError { store: name.into(), reason: format!("holds no key: {wrong}") })?;
            taken.push((provider, key));
        }
        Ok(Self { stored, taken })
    }
}

/// Returns the variable that holds a Provider's key.
fn variable_of(provider: Provider) -> Option<&'static str> {
    match provider {
        Provider::Anthropic => Some("ANTHROPIC_API_KEY"),
        Provider::OpenRouter => Some("OPENROUTER_API_KEY"),
        Provider::Demo => None,
    }
}

#[async_trait]
impl Credentials for FromEnvironment {
    async fn get(&self, name: CredentialName) -> Result<Option<Credential>, CredentialError> {
        if let Some(stored) = self.stored.get(name.clone()).await? {
            return Ok(Some(stored));
        }
        let CredentialName::Provider(provider) = name else { return Ok(None) };
        let taken = self.taken.iter().find(|(known, _)| *known == provider);
        Ok(taken.map(|(_, key)| Credential { secret: key.clone(), source: CredentialSource::Environment }))
    }

    async fn set(&self, name: CredentialName, secret: Secret) -> Result<(), CredentialError> {
        self.stored.set(name, secret).await
    }

    async fn remove(&self, name: CredentialName) -> Result<(), CredentialError> {
        self.stored.remove(name).await
    }

    fn store(&self) -> &'static str {
        self.stored.store()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileCredentials;
    use owl_domain::text::AccountName;

    const STORED: &str = "sk-stored-0123456789";
    const TAKEN: &str = "sk-environment-0123456789";

    fn store() -> (tempfile::TempDir, Arc<dyn Credentials>) {
        let home = tempfile::tempdir().unwrap();
        let file = FileCredentials::new(home.path().join("credentials.json"));
        (home, Arc::new(file))
    }

    fn variables(name: &str) -> Option<String> {
        match name {
            "ANTHROPIC_API_KEY" => Some(format!(" {TAKEN}\n")),
            "OPENROUTER_API_KEY" => Some("  ".into()),
            _ => None,
        }
    }

    async fn got(credentials: &dyn Credentials, name: CredentialName) -> Option<(String, CredentialSource)> {
        credentials.get(name).await.unwrap().map(|got| (got.secret.expose().to_owned(), got.source))
    }

    #[tokio::test]
    async fn a_stored_key_goes_before_one_of_the_environment() {
        let (_home, stored) = store();
        let credentials = FromEnvironment::new(stored, variables).unwrap();
        let name = || CredentialName::Provider(Provider::Anthropic);
        assert_eq!(got(&credentials, name()).await, Some((TAKEN.into(), CredentialSource::Environment)));
        credentials.set(name(), Secret::new(STORED).unwrap()).await.unwrap();
        assert_eq!(got(&credentials, name()).await, Some((STORED.into(), CredentialSource::File)));
        credentials.remove(name()).await.unwrap();
        assert_eq!(got(&credentials, name()).await, Some((TAKEN.into(), CredentialSource::Environment)));
        assert_eq!(credentials.store(), "file");
    }

    #[tokio::test]
    async fn an_empty_variable_and_an_account_have_none() {
        let (_home, stored) = store();
        let credentials = FromEnvironment::new(stored, variables).unwrap();
        assert_eq!(got(&credentials, CredentialName::Provider(Provider::OpenRouter)).await, None);
        assert_eq!(got(&credentials, CredentialName::Provider(Provider::Demo)).await, None);
        assert_eq!(got(&credentials, CredentialName::Account(AccountName::new("work").unwrap())).await, None);
    }

    #[tokio::test]
    async fn variables_are_read_once_at_the_start() {
        let (_home, stored) = store();
        let reads = std::cell::Cell::new(0);
        let credentials = FromEnvironment::new(stored, |name| {
            reads.set(reads.get() + 1);
            variables(name)
        })
        .unwrap();
        for _ in 0..3 {
            got(&credentials, CredentialName::Provider(Provider::Anthropic)).await.unwrap();
        }
        assert_eq!(reads.get(), 2);
    }

    #[test]
    fn what_is_no_key_is_refused_without_being_shown() {
        let (_home, stored) = store();
        let Err(error) = FromEnvironment::new(stored, |_| Some("two words".into())) else { panic!("it was taken") };
        assert_eq!(error.store, "ANTHROPIC_API_KEY");
        assert!(!error.to_string().contains("two words"), "{error}");
    }
}
