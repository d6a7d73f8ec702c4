//! `providers.*` and `models.list`. A key goes in and never comes out (D18).

use super::{
    Api,
    fields::{self, ProviderName},
};
use crate::{
    error::{self, RpcError},
    params::{Name, Reason, checked, invalid, nullable},
    table::{NoParams, Table},
    wire::{Listed, Model, ModelPage, ModelSource, Provider as Told, RemovedProvider, TestedProvider},
};
use owl_domain::{
    conversation::Page,
    ports::Freshness,
    provider::{Model as Known, Provider, ProviderChange, Secret},
    text::ModelId,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ProviderParams {
    /// Which.
    provider: Name<ProviderName>,
}

/// Has no `Debug`: there is a key in it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ConfigureParams {
    /// Which.
    provider: Name<ProviderName>,
    /// The key; needed the first time, and with a `base_url` of another origin.
    api_key: Option<String>,
    /// The base address: https, or http to loopback; null is the Provider's own.
    #[serde(default, deserialize_with = "nullable")]
    #[schemars(with = "Option<String>")]
    base_url: Option<Option<String>>,
    /// The model that is used unless another is named; null for none.
    #[serde(default, deserialize_with = "nullable")]
    #[schemars(with = "Option<String>")]
    default_model: Option<Option<String>>,
    /// Models that are listed first, at most 200; null for none.
    #[serde(default, deserialize_with = "nullable")]
    #[schemars(with = "Option<Vec<String>>")]
    models: Option<Option<Vec<String>>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ModelsParams {
    /// Those of one Provider; of all that are configured when left out.
    provider: Option<Name<ProviderName>>,
    /// Part of the id or name, regardless of case.
    query: Option<String>,
    /// Whether the Providers are asked again.
    refresh: Option<bool>,
    /// 1 to 200, 50 when left out.
    limit: Option<i64>,
    /// Where the page before ended.
    cursor: Option<String>,
}

pub(super) fn add(table: &mut Table, api: &Arc<Api>) {
    let at = api.clone();
    let errors = &[&error::CREDENTIAL_STORE];
    table.read("providers.list", "Lists the three Providers.", errors, move |_, NoParams {}| {
        let api = at.clone();
        async move { Ok(Listed { items: api.providers.list().await?.into_iter().map(Told::from).collect() }) }
    });

    let at = api.clone();
    let summary = "Configures a Provider; what is left out stays as it is. The key is never told again.";
    table.change("providers.configure", summary, errors, move |_, given: ConfigureParams| configure(at.clone(), given));

    let at = api.clone();
    let summary = "Removes a Provider's key and settings.";
    let errors = &[&error::PROVIDER_NOT_CONFIGURED, &error::CREDENTIAL_STORE];
    table.change("providers.remove", summary, errors, move |_, given: ProviderParams| {
        let api = at.clone();
        async move {
            let provider = Provider::from(given.provider.0);
            if !api.providers.remove(provider).await.map_err(RpcError::configure)? {
                return Err(RpcError::not_configured(provider, format!("{provider} is not configured")));
            }
            Ok(RemovedProvider { provider: provider.name(), removed: true })
        }
    });

    let at = api.clone();
    let summary = "Makes one request that costs nothing; a failure is an answer, not an error.";
    table.change("providers.test", summary, errors, move |_, given: ProviderParams| {
        let api = at.clone();
        async move { Ok(TestedProvider::from(api.providers.test(given.provider.0.into(), api.clock.now()).await?)) }
    });

    let at = api.clone();
    let summary = "Lists models, those that the configuration names first.";
    let errors = &[&error::PROVIDER_NOT_CONFIGURED, &error::CURSOR_INVALID, &error::CREDENTIAL_STORE];
    table.read("models.list", summary, errors, move |_, given: ModelsParams| models(at.clone(), given));
}

async fn configure(api: Arc<Api>, given: ConfigureParams) -> Result<Told, RpcError> {
    let provider = Provider::from(given.provider.0);
    let key = given.api_key.map(Secret::new).transpose();
    let key = key.map_err(|error| invalid("api_key", Reason::Value, error.to_string()))?;
    let default_model = match given.default_model {
        Some(Some(id)) => Some(Some(checked("default_model", ModelId::new(id))?)),
        Some(None) => Some(None),
        None => None,
    };
    let models = match given.models {
        Some(ids) => Some(model_ids(ids.unwrap_or_default())?),
        None => None,
    };
    let change = ProviderChange { key, base_url: given.base_url, default_model, models };
    api.providers.configure(provider, change).await.map_err(RpcError::configure)?;
    Ok(Told::from(api.providers.view(provider).await?))
}

fn model_ids(ids: Vec<String>) -> Result<Vec<ModelId>, RpcError> {
    let each = ids.into_iter().enumerate();
    each.map(|(index, id)| checked(&format!("models[{index}]"), ModelId::new(id))).collect()
}

async fn models(api: Arc<Api>, given: ModelsParams) -> Result<ModelPage, RpcError> {
    let page = fields::page(given.limit, given.cursor)?;
    let fresh = if given.refresh == Some(true) { Freshness::Now } else { Freshness::LastHour };
    let query = given.query.unwrap_or_default().to_lowercase();
    let provider = given.provider.map(|Name(name)| name.into());
    let list = api.providers.models(provider, fresh).await?;
    let found = |model: &Known| {
        model.model.id.as_str().to_lowercase().contains(&query) || model.name.to_lowercase().contains(&query)
    };
    let models: Vec<Known> = list.models.into_iter().filter(found).collect();
    let (items, next_cursor) = cut(models, page, &format!("{}/{query}", provider.map_or("", Provider::name)))?;
    Ok(ModelPage {
        items: items.into_iter().map(Model::from).collect(),
        next_cursor,
        sources: list.sources.into_iter().map(ModelSource::from).collect(),
    })
}

/// Cuts one page out of a list in memory. The cursor names the last model that was given, and what was looked for.
fn cut(models: Vec<Known>, page: Page, filter: &str) -> Result<(Vec<Known>, Option<String>), RpcError> {
    let cursor_of = |model: &Known| {
        let listed = if model.listed_first { "first" } else { "rest" };
        format!("{listed} {} {} {filter}", model.model.provider, model.model.id)
    };
    let from = match &page.cursor {
        None => 0,
        Some(cursor) => match models.iter().position(|model| cursor_of(model) == *cursor) {
            Some(last) => last + 1,
            None => return Err(RpcError::cursor(None)),
        },
    };
    let most = usize::try_from(page.limit).unwrap_or(usize::MAX);
    let rest = models.len().saturating_sub(from);
    let items: Vec<Known> = models.into_iter().skip(from).take(most).collect();
    let next = items.last().filter(|_| rest > most).map(cursor_of);
    Ok((items, next))
}
