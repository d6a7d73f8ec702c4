//! What is known of the models, and requests that are no chat: lists of models, tests of keys (D17).

use crate::{
    failure::{Asked, Failure, What},
    http::{self, Http},
    pace::Pace,
    service::Service,
};
use owl_domain::{
    ports::{Access, Catalogue, Clock, Freshness, Tested},
    provider::{Model, ModelRef, Provider, Secret, TurnErrorKind},
    text::ModelId,
    time::Timestamp,
};
use reqwest::Response;
use std::{
    collections::{BTreeMap, HashSet},
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, timeout};

/// How long a list is used without asking again.
const KEPT: Duration = Duration::from_secs(3_600);
/// The most bytes of all pages together.
const LIST_BYTES: usize = 16 * 1024 * 1024;
/// The most bytes of the answer to a test: one model, or what is known of one key.
const TEST_BYTES: usize = 1024 * 1024;
/// The most pages.
const LIST_PAGES: usize = 20;

/// The lists that were fetched.
#[derive(Default)]
pub(crate) struct Lists(Mutex<BTreeMap<Provider, List>>);

#[derive(Clone)]
struct List {
    /// Whose list it is: with another base address it means nothing.
    base: String,
    at: Timestamp,
    models: Vec<Model>,
}

impl Lists {
    /// Returns what is known of a model.
    pub(crate) fn known(&self, model: &ModelRef) -> Option<Model> {
        let lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lists.get(&model.provider)?.models.iter().find(|known| known.model == *model).cloned()
    }

    fn of(&self, provider: Provider, base: &str) -> Option<List> {
        let lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lists.get(&provider).filter(|list| list.base == base).cloned()
    }

    fn keep(&self, provider: Provider, list: List) {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lists.insert(provider, list);
    }
}

/// Asks a service for what is no chat.
pub(crate) struct Lookup<'a> {
    pub(crate) http: &'a Http,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) pace: Pace,
    pub(crate) service: &'static dyn Service,
    pub(crate) access: &'a Access,
}

impl Lookup<'_> {
    /// Returns the models, from the last hour or anew; an older list is marked when a new one cannot be had.
    pub(crate) async fn models(&self, lists: &Lists, fresh: Freshness) -> Catalogue {
        let provider = self.service.provider();
        let base = self.service.base(self.access.settings.base_url.as_ref());
        let older = lists.of(provider, &base);
        if let (Freshness::LastHour, Some(list)) = (fresh, &older)
            && self.clock.now().since(list.at) < KEPT
        {
            return self.catalogue(Some(list), None);
        }
        match self.fetch(&base).await {
            Ok(models) => {
                let list = List { base, at: self.clock.now(), models };
                lists.keep(provider, list.clone());
                self.catalogue(Some(&list), None)
            }
            Err(error) => self.catalogue(older.as_ref(), Some(error)),
        }
    }

    /// Makes one request that costs nothing.
    pub(crate) async fn test(&self) -> Tested {
        let begun = Instant::now();
        let base = self.service.base(self.access.settings.base_url.as_ref());
        let path = self.service.test_path();
        let tested = |ok, status, message| Tested { ok, status, duration: begun.elapsed(), message, models: None };
        let Some(key) = &self.access.key else {
            return tested(false, None, no_key(self.service.provider()));
        };
        match self.get(&base, path, key).await {
            Ok(response) => {
                let status = response.status().as_u16();
                let (provider, at) = (self.service.provider(), address(&base, path));
                let body = http::read(response, TEST_BYTES, self.pace.lookup).await;
                let body = body.and_then(|body| serde_json::from_slice(&body).ok());
                if body.is_some_and(|body| self.service.is_tested(&body)) {
                    return tested(true, Some(status), format!("{provider} accepted the key at {at}"));
                }
                let hint = "is the base address right, and does no portal or proxy answer in its place?";
                let message = format!("{provider} at {at}: the answer is none of {provider}'s; {hint}");
                tested(false, Some(status), message)
            }
            Err(failure) => {
                let (status, message) = told(failure);
                tested(false, status, message)
            }
        }
    }

    async fn fetch(&self, base: &str) -> Result<Vec<Model>, String> {
        let Some(key) = &self.access.key else { return Err(no_key(self.service.provider())) };
        let (mut models, mut seen, mut bytes, mut after) = (Vec::new(), HashSet::new(), 0, None);
        for _ in 0..LIST_PAGES {
            let path = self.service.models_path(after.as_deref());
            let odd = |what: &str| format!("{} at {}: {what}", self.service.provider(), address(base, &path));
            let response = self.get(base, &path, key).await.map_err(|failure| told(failure).1)?;
            let body = http::read(response, LIST_BYTES - bytes, self.pace.lookup)
                .await
                .ok_or_else(|| odd("the list of models broke off or is longer than 16 MiB"))?;
            bytes += body.len();
            let page = serde_json::from_slice(&body).ok().and_then(|body| self.service.models(&body));
            let page = page.ok_or_else(|| odd("the answer is no list of models"))?;
            models.extend(page.models.into_iter().filter(|model| seen.insert(model.model.id.clone())));
            match page.next {
                Some(next) if after.as_ref() != Some(&next) => after = Some(next),
                Some(_) | None => return Ok(models),
            }
        }
        Ok(models)
    }

    async fn get(&self, base: &str, path: &str, key: &Secret) -> Result<Response, Failure> {
        let url = format!("{base}{path}");
        let shown = address(base, path);
        let asked = Asked { service: self.service, model: None, url: &shown, key: Some(key), tools: false };
        let client = self.http.client().map_err(|why| asked.impossible(&why))?;
        let request = self.service.with_key(client.get(url), key);
        match timeout(self.pace.lookup, request.send()).await {
            Ok(Ok(response)) if response.status().is_success() => Ok(response),
            Ok(Ok(response)) => Err(asked.refused(&http::refusal(response, Some(key), self.pace.lookup).await)),
            Ok(Err(error)) => Err(asked.unreachable(&http::causes(&error))),
            Err(_) => Err(asked.unreachable(&format!("no answer within {} ms", self.pace.lookup.as_millis()))),
        }
    }

    /// Puts the models that the settings name in front, known or not.
    fn catalogue(&self, list: Option<&List>, error: Option<String>) -> Catalogue {
        let known = list.map(|list| list.models.as_slice()).unwrap_or_default();
        let named = &self.access.settings.models;
        let first = named.iter().map(|id| {
            let known = known.iter().find(|model| model.model.id == *id).cloned();
            let model = known.unwrap_or_else(|| unknown(self.service.provider(), id));
            Model { listed_first: true, ..model }
        });
        let rest = known.iter().filter(|model| !named.contains(&model.model.id)).cloned();
        Catalogue {
            models: first.chain(rest).collect(),
            fetched_at: list.map(|list| list.at),
            stale: error.is_some(),
            error,
        }
    }
}

fn unknown(provider: Provider, id: &ModelId) -> Model {
    Model {
        model: ModelRef { provider, id: id.clone() },
        name: id.as_str().to_owned(),
        context_tokens: None,
        max_output_tokens: None,
        tools: None,
        reasoning: None,
        price: None,
        listed_first: true,
    }
}

/// Returns the address for people: without its query.
fn address(base: &str, path: &str) -> String {
    format!("{base}{}", path.split('?').next().unwrap_or(path))
}

fn no_key(provider: Provider) -> String {
    format!("{provider} has no key: `owl provider add {provider}` reads one from standard input")
}

/// Returns status and words of a failure; a model that is not found means here that the address is wrong.
fn told(failure: Failure) -> (Option<u16>, String) {
    match failure.what {
        What::ContextFull => (None, failure.said),
        What::Error(error) => {
            let hint = match error.kind {
                TurnErrorKind::ModelNotFound => Some("is the base address right?".to_owned()),
                _ => error.hint,
            };
            let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            (error.status, format!("{}{hint}", error.message))
        }
    }
}
