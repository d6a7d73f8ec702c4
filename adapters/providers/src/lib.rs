//! Asks models: Anthropic and OpenRouter over HTTP, and the offline demo (D17, D18). Starts no process, knows no
//! database; what it is told by a service reaches the domain as data.

mod anthropic;
mod arguments;
mod assemble;
mod base_url;
mod catalogue;
mod cut_json;
mod demo;
mod failure;
mod http;
mod openrouter;
mod pace;
mod reply;
mod retry;
mod service;
mod sse;

pub use pace::Pace;

use async_trait::async_trait;
use catalogue::{Lists, Lookup};
use http::Http;
use owl_domain::{
    ports::{Access, BaseUrlError, Catalogue, Clock, Freshness, Providers, Reply, Stop, Tested},
    provider::{Argument, BaseUrl, Model, ModelRef, Provider, Request, TurnError, TurnErrorKind},
};
use reply::{Call, HttpReply, Unasked};
use std::sync::Arc;

/// All three Providers. The process must have installed a rustls crypto provider before the first request.
pub struct HttpProviders {
    http: Http,
    lists: Lists,
    clock: Arc<dyn Clock>,
    pace: Pace,
}

impl HttpProviders {
    /// Makes them; nothing is built or asked before the first use. `version` is Owl's: a service is told who asks.
    pub fn new(version: &'static str, clock: Arc<dyn Clock>, pace: Pace) -> Self {
        Self { http: Http::new(version, pace), lists: Lists::default(), clock, pace }
    }

    fn lookup<'a>(&'a self, service: &'static dyn service::Service, access: &'a Access) -> Lookup<'a> {
        Lookup { http: &self.http, clock: &*self.clock, pace: self.pace, service, access }
    }
}

#[async_trait]
impl Providers for HttpProviders {
    async fn ask(&self, request: Request, access: Access, stop: Arc<dyn Stop>) -> Box<dyn Reply> {
        let Some(service) = service::of(request.model.provider) else {
            return Box::new(demo::DemoReply::new(&request, stop, self.pace.demo_word));
        };
        let url = format!("{}{}", service.base(access.settings.base_url.as_ref()), service.chat_path());
        let Some(key) = access.key else {
            return Box::new(Unasked::new(not_configured(&request.model, url)));
        };
        let call = Call {
            service,
            url,
            key,
            body: service.body(&request).into(),
            tools: !request.tools.is_empty(),
            model: request.model,
        };
        Box::new(HttpReply::new(call, &self.http, Arc::clone(&self.clock), stop, self.pace))
    }

    fn arguments(&self, call: &owl_domain::provider::Call) -> Result<Vec<(String, Argument)>, String> {
        arguments::read(&call.arguments)
    }

    fn known(&self, model: &ModelRef) -> Option<Model> {
        if model.provider == Provider::Demo {
            return demo::models().into_iter().find(|known| known.model == *model);
        }
        self.lists.known(model)
    }

    async fn models(&self, provider: Provider, access: Access, fresh: Freshness) -> Catalogue {
        match service::of(provider) {
            Some(service) => self.lookup(service, &access).models(&self.lists, fresh).await,
            None => Catalogue { models: demo::models(), fetched_at: Some(self.clock.now()), stale: false, error: None },
        }
    }

    async fn test(&self, provider: Provider, access: Access) -> Tested {
        match service::of(provider) {
            Some(service) => self.lookup(service, &access).test().await,
            None => demo::tested(),
        }
    }

    fn base_url(&self, _provider: Provider, text: &str) -> Result<BaseUrl, BaseUrlError> {
        base_url::normalise(text)
    }

    fn endpoint(&self, provider: Provider, base_url: Option<BaseUrl>) -> Option<String> {
        service::of(provider).map(|service| format!("{}{}", service.base(base_url.as_ref()), service.chat_path()))
    }

    fn base(&self, provider: Provider, base_url: Option<BaseUrl>) -> Option<String> {
        service::of(provider).map(|service| service.base(base_url.as_ref()))
    }

    fn same_origin(&self, provider: Provider, one: Option<BaseUrl>, other: Option<BaseUrl>) -> bool {
        match service::of(provider) {
            Some(service) => base_url::same_origin(&service.base(one.as_ref()), &service.base(other.as_ref())),
            None => true,
        }
    }
}

fn not_configured(model: &ModelRef, url: String) -> TurnError {
    let provider = model.provider;
    TurnError {
        provider: Some(provider),
        model: Some(model.clone()),
        hint: Some(format!("`owl provider add {provider}` reads a key from standard input")),
        url: Some(url),
        ..TurnError::of(
            TurnErrorKind::ProviderNotConfigured,
            format!("{provider} has no key, so model {} cannot be asked", model.id),
        )
    }
}
