//! What a person configured for a Provider, as rows. Its key is never here (D18).

use crate::{
    database::Database,
    failure::Failure,
    json,
    sql::{self, Columns, must, run, text},
};
use async_trait::async_trait;
use owl_domain::{
    ports::{ProviderConfigs, StoreError},
    provider::{BaseUrl, LastError, Provider, ProviderSettings},
    text::ModelId,
    time::Timestamp,
};
use rusqlite::params;

const GET: &str = "SELECT base_url, default_model, models FROM providers WHERE provider = ?1";
const SET: &str = "INSERT INTO providers (provider, base_url, default_model, models) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (provider) DO UPDATE SET base_url = ?2, default_model = ?3, models = ?4";
const REMOVE: &str = "DELETE FROM providers WHERE provider = ?1";
const LAST_ERROR: &str = "SELECT at, status, message FROM provider_errors WHERE provider = ?1";
const SET_ERROR: &str = "INSERT INTO provider_errors (provider, at, status, message) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (provider) DO UPDATE SET at = ?2, status = ?3, message = ?4";
const REMOVE_ERROR: &str = "DELETE FROM provider_errors WHERE provider = ?1";

/// The `ProviderConfigs` port over the database.
pub(crate) struct SqliteProviderConfigs(pub(crate) Database);

#[async_trait]
impl ProviderConfigs for SqliteProviderConfigs {
    async fn get(&self, provider: Provider) -> Result<Option<ProviderSettings>, StoreError> {
        self.0.read(move |db| sql::one(db, GET, [provider.name()], read_settings)).await
    }

    async fn set(&self, provider: Provider, settings: ProviderSettings) -> Result<(), StoreError> {
        self.0
            .write(Timestamp::default(), move |change| {
                let row = params![
                    provider.name(),
                    settings.base_url.as_ref().map(BaseUrl::as_str),
                    settings.default_model.as_ref().map(ModelId::as_str),
                    json::write_texts(settings.models.iter().map(ModelId::as_str)),
                ];
                must(change.db(), SET, row, "this provider")
            })
            .await
    }

    async fn remove(&self, provider: Provider) -> Result<bool, StoreError> {
        self.0
            .write(Timestamp::default(), move |change| {
                let _its_last = run(change.db(), REMOVE_ERROR, [provider.name()])?;
                Ok(run(change.db(), REMOVE, [provider.name()])? > 0)
            })
            .await
    }

    async fn last_error(&self, provider: Provider) -> Result<Option<LastError>, StoreError> {
        self.0.read(move |db| sql::one(db, LAST_ERROR, [provider.name()], read_error)).await
    }

    async fn set_last_error(&self, provider: Provider, error: Option<LastError>) -> Result<(), StoreError> {
        // Told after each reply: most of the time there was none before either.
        if error.is_none() && self.last_error(provider).await?.is_none() {
            return Ok(());
        }
        self.0
            .write(Timestamp::default(), move |change| match &error {
                None => run(change.db(), REMOVE_ERROR, [provider.name()]).map(drop),
                Some(error) => {
                    let row = params![provider.name(), error.at.millis(), error.status, error.message];
                    must(change.db(), SET_ERROR, row, "this provider's last error")
                }
            })
            .await
    }
}

fn read_settings(row: &mut Columns<'_>) -> Result<ProviderSettings, Failure> {
    const MODELS: &str = "a list of models";
    let base_url = row.next::<Option<String>>()?.map(BaseUrl::normalised);
    let default_model = row.maybe_model()?;
    let models = json::read_texts(&row.next::<String>()?, MODELS)?;
    let models = models.into_iter().map(|model| text(model, ModelId::new, MODELS)).collect::<Result<_, _>>()?;
    Ok(ProviderSettings { base_url, default_model, models })
}

fn read_error(row: &mut Columns<'_>) -> Result<LastError, Failure> {
    Ok(LastError { at: row.time()?, status: row.next()?, message: row.next()? })
}
