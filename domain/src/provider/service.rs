//! Configures Providers and hands out how to reach one. A key goes in and never comes out (D18).

use super::{BaseUrl, LastError, Model, ModelRef, Provider, ProviderSettings, Secret, SecretHint};
use crate::{
    limits,
    ports::{
        Access, BaseUrlError, CredentialError, CredentialName, CredentialSource, Credentials, Freshness,
        ProviderConfigs, Providers, StoreError, Tested,
    },
    text::ModelId,
    time::Timestamp,
};
use alloc::{string::String, sync::Arc, vec::Vec};

/// Configures Providers.
pub struct ProviderService {
    providers: Arc<dyn Providers>,
    configs: Arc<dyn ProviderConfigs>,
    credentials: Arc<dyn Credentials>,
}

/// A Provider as it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderView {
    /// Which.
    pub provider: Provider,
    /// Whether it can be asked.
    pub configured: bool,
    /// The base address in force; none for the demo.
    pub base_url: Option<String>,
    /// The exact address a chat is posted to; none for the demo.
    pub endpoint: Option<String>,
    /// What may be shown of the key, and where it came from.
    pub key: Option<(CredentialSource, SecretHint)>,
    /// The model that is used unless another is named.
    pub default_model: Option<ModelId>,
    /// Models that are listed first.
    pub models: Vec<ModelId>,
    /// Its last error.
    pub last_error: Option<LastError>,
}

/// What is to be configured; an outer none is left as it is, an inner one goes back to the Provider's own.
#[derive(Debug, Clone, Default)]
pub struct ProviderChange {
    /// The key.
    pub key: Option<Secret>,
    /// The base address as it was given.
    pub base_url: Option<Option<String>>,
    /// The default model.
    pub default_model: Option<Option<ModelId>>,
    /// The models that are listed first.
    pub models: Option<Vec<ModelId>>,
}

/// Why a Provider was not configured. Nothing was stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigureError {
    /// The demo needs nothing.
    #[error("the demo provider cannot be configured")]
    Demo,
    /// The first time a key is needed.
    #[error("a key is needed the first time")]
    KeyMissing,
    /// The base address is refused.
    #[error(transparent)]
    BaseUrl(#[from] BaseUrlError),
    /// A base address of another origin came without a key: a stored one could be sent somewhere else.
    #[error("a base address with another origin must come with the key in the same call")]
    KeyForOrigin,
    /// More models than are kept.
    #[error("at most {} models", limits::MODELS_PER_PROVIDER)]
    TooManyModels,
    /// The credential store failed.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a Provider cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// It has no key.
    #[error("{provider} is not configured; give it a key with `owl provider add {provider}`")]
    NotConfigured {
        /// Which.
        provider: Provider,
    },
    /// The credential store failed.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The models of all Providers that were asked about, and how each list came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelList {
    /// The models: those the configurations name first, then by Provider and id.
    pub models: Vec<Model>,
    /// One per Provider.
    pub sources: Vec<ModelSource>,
}

/// How one Provider's list came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSource {
    /// Whose.
    pub provider: Provider,
    /// When it was last asked with success.
    pub fetched_at: Option<Timestamp>,
    /// Whether a newer list could not be had.
    pub stale: bool,
    /// Why.
    pub error: Option<String>,
}

impl ProviderService {
    /// Makes the service of its ports.
    pub fn new(
        providers: Arc<dyn Providers>,
        configs: Arc<dyn ProviderConfigs>,
        credentials: Arc<dyn Credentials>,
    ) -> Self {
        Self { providers, configs, credentials }
    }

    /// Returns the port that asks.
    pub fn port(&self) -> &Arc<dyn Providers> {
        &self.providers
    }

    /// Returns which credential store is in use.
    pub fn credential_store(&self) -> &'static str {
        self.credentials.store()
    }

    /// Returns how to reach a Provider.
    ///
    /// # Errors
    /// [`AccessError`].
    pub async fn access(&self, provider: Provider) -> Result<Access, AccessError> {
        let settings = self.configs.get(provider).await?;
        if provider == Provider::Demo {
            return Ok(Access { settings: ProviderSettings::default(), key: None });
        }
        let credential = self.credentials.get(CredentialName::Provider(provider)).await?;
        let Some(credential) = credential else {
            return Err(AccessError::NotConfigured { provider });
        };
        Ok(Access { settings: settings.unwrap_or_default(), key: Some(credential.secret) })
    }

    /// Returns the Providers that can be asked, but for the demo, which always can.
    ///
    /// # Errors
    /// [`AccessError`] but for `NotConfigured`.
    pub async fn configured(&self) -> Result<Vec<(Provider, ProviderSettings)>, AccessError> {
        let mut configured = Vec::new();
        for provider in [Provider::Anthropic, Provider::OpenRouter] {
            match self.access(provider).await {
                Ok(access) => configured.push((provider, access.settings)),
                Err(AccessError::NotConfigured { .. }) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(configured)
    }

    /// Returns one Provider as it is told.
    ///
    /// # Errors
    /// [`AccessError`].
    pub async fn view(&self, provider: Provider) -> Result<ProviderView, AccessError> {
        let settings = self.configs.get(provider).await?.unwrap_or_default();
        let credential = match provider {
            Provider::Demo => None,
            Provider::Anthropic | Provider::OpenRouter => {
                self.credentials.get(CredentialName::Provider(provider)).await?
            }
        };
        let key = credential.map(|credential| (credential.source, credential.secret.hint()));
        Ok(ProviderView {
            provider,
            configured: provider == Provider::Demo || key.is_some(),
            base_url: self.providers.base(provider, settings.base_url.clone()),
            endpoint: self.providers.endpoint(provider, settings.base_url),
            key,
            default_model: settings.default_model,
            models: settings.models,
            last_error: self.configs.last_error(provider).await?,
        })
    }

    /// Returns all three, in their order.
    ///
    /// # Errors
    /// [`AccessError`].
    pub async fn list(&self) -> Result<Vec<ProviderView>, AccessError> {
        let mut views = Vec::new();
        for provider in Provider::ALL {
            views.push(self.view(provider).await?);
        }
        Ok(views)
    }

    /// Configures one. The key is stored first: settings never point a key that is not there, or not yet there, at an
    /// address.
    ///
    /// # Errors
    /// [`ConfigureError`]: nothing was stored.
    pub async fn configure(&self, provider: Provider, change: ProviderChange) -> Result<(), ConfigureError> {
        if provider == Provider::Demo {
            return Err(ConfigureError::Demo);
        }
        let name = CredentialName::Provider(provider);
        let has_key = self.credentials.get(name.clone()).await?.is_some();
        if !has_key && change.key.is_none() {
            return Err(ConfigureError::KeyMissing);
        }
        let before = self.configs.get(provider).await?.unwrap_or_default();
        let mut settings = before.clone();
        if let Some(base_url) = change.base_url {
            settings.base_url = match base_url {
                None => None,
                Some(text) => Some(self.providers.base_url(provider, &text)?),
            };
            let same = self.same_origin(provider, before.base_url, settings.base_url.clone());
            if !same && change.key.is_none() {
                return Err(ConfigureError::KeyForOrigin);
            }
        }
        if let Some(default_model) = change.default_model {
            settings.default_model = default_model;
        }
        if let Some(models) = change.models {
            if models.len() > limits::MODELS_PER_PROVIDER {
                return Err(ConfigureError::TooManyModels);
            }
            settings.models = models;
        }
        if let Some(key) = change.key {
            self.credentials.set(name, key).await?;
        }
        self.configs.set(provider, settings).await?;
        self.configs.set_last_error(provider, None).await?;
        Ok(())
    }

    fn same_origin(&self, provider: Provider, one: Option<BaseUrl>, other: Option<BaseUrl>) -> bool {
        self.providers.same_origin(provider, one, other)
    }

    /// Removes a Provider's key and settings. False when there were none.
    ///
    /// # Errors
    /// [`ConfigureError`].
    pub async fn remove(&self, provider: Provider) -> Result<bool, ConfigureError> {
        if provider == Provider::Demo {
            return Err(ConfigureError::Demo);
        }
        let name = CredentialName::Provider(provider);
        let had_key = self.credentials.get(name.clone()).await?.is_some();
        self.credentials.remove(name).await?;
        let had_settings = self.configs.remove(provider).await?;
        Ok(had_key || had_settings)
    }

    /// Makes one request that costs nothing, and keeps what came of it.
    ///
    /// # Errors
    /// [`AccessError`].
    pub async fn test(&self, provider: Provider, now: Timestamp) -> Result<Tested, AccessError> {
        let access = self.access(provider).await?;
        let tested = self.providers.test(provider, access).await;
        let error = (!tested.ok).then(|| LastError { at: now, status: tested.status, message: tested.message.clone() });
        self.told(provider, error).await?;
        Ok(tested)
    }

    /// Keeps a Provider's last error, or that all is well again; writes nothing when that is known.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn told(&self, provider: Provider, error: Option<LastError>) -> Result<(), StoreError> {
        if error.is_none() && self.configs.last_error(provider).await?.is_none() {
            return Ok(());
        }
        self.configs.set_last_error(provider, error).await
    }

    /// Returns the models of one Provider, or of all that can be asked. One that cannot be reached is told in `sources`.
    ///
    /// # Errors
    /// [`AccessError`]; `NotConfigured` only for a Provider that was named.
    pub async fn models(&self, provider: Option<Provider>, fresh: Freshness) -> Result<ModelList, AccessError> {
        let mut list = ModelList { models: Vec::new(), sources: Vec::new() };
        for one in Provider::ALL.into_iter().filter(|one| provider.is_none_or(|named| named == *one)) {
            let access = match self.access(one).await {
                Ok(access) => access,
                Err(AccessError::NotConfigured { .. }) if provider.is_none() => continue,
                Err(other) => return Err(other),
            };
            let catalogue = self.providers.models(one, access, fresh).await;
            list.models.extend(catalogue.models);
            list.sources.push(ModelSource {
                provider: one,
                fetched_at: catalogue.fetched_at,
                stale: catalogue.stale,
                error: catalogue.error,
            });
        }
        list.models.sort_by(|a, b| b.listed_first.cmp(&a.listed_first).then_with(|| a.model.cmp(&b.model)));
        Ok(list)
    }

    /// Returns the model that a Turn asks when none is named: the default of the only Provider that is configured.
    ///
    /// # Errors
    /// [`AccessError`].
    pub async fn default_model(&self) -> Result<Option<ModelRef>, AccessError> {
        let configured = self.configured().await?;
        let [(provider, settings)] = configured.as_slice() else {
            return Ok(None);
        };
        Ok(settings.default_model.clone().map(|id| ModelRef { provider: *provider, id }))
    }
}

#[cfg(test)]
mod tests;
