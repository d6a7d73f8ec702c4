//! Anthropic Messages. Only this folder knows its JSON.

mod models;
mod request;
mod stream;

use crate::{
    assemble::Decoder,
    service::{ModelsPage, Service},
};
use owl_domain::provider::{Provider, Request, Secret};
use reqwest::{RequestBuilder, header::HeaderMap};

/// The service.
pub(crate) struct Anthropic;

impl Service for Anthropic {
    fn provider(&self) -> Provider {
        Provider::Anthropic
    }

    fn default_base(&self) -> &'static str {
        "https://api.anthropic.com"
    }

    fn chat_path(&self) -> &'static str {
        "/v1/messages"
    }

    fn test_path(&self) -> &'static str {
        "/v1/models?limit=1"
    }

    fn is_tested(&self, body: &serde_json::Value) -> bool {
        models::page(body).is_some()
    }

    fn with_key(&self, request: RequestBuilder, key: &Secret) -> RequestBuilder {
        request.header("x-api-key", crate::http::sensitive(key.expose())).header("anthropic-version", "2023-06-01")
    }

    fn body(&self, request: &Request) -> String {
        request::body(request).to_string()
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::<stream::AnthropicStream>::default()
    }

    fn request_id<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        headers.get("request-id")?.to_str().ok()
    }

    fn rate_limits(&self, headers: &HeaderMap) -> Option<String> {
        let header = |kind, part| headers.get(format!("anthropic-ratelimit-{kind}-{part}"))?.to_str().ok();
        let told: Vec<String> = ["requests", "tokens", "input-tokens", "output-tokens"]
            .into_iter()
            .filter_map(|kind| {
                let (left, limit) = (header(kind, "remaining")?, header(kind, "limit")?);
                let reset = header(kind, "reset").map(|at| format!(" until {at}")).unwrap_or_default();
                Some(format!("{left} of {limit} {} left{reset}", kind.replace('-', " ")))
            })
            .collect();
        if told.is_empty() { None } else { Some(told.join(", ")) }
    }

    fn models_path(&self, after: Option<&str>) -> String {
        match after {
            None => "/v1/models?limit=1000".into(),
            Some(id) => {
                let id: String = reqwest::Url::parse_with_params("http://localhost", [("after_id", id)])
                    .ok()
                    .and_then(|url| url.query().map(str::to_owned))
                    .unwrap_or_default();
                format!("/v1/models?limit=1000&{id}")
            }
        }
    }

    fn models(&self, body: &serde_json::Value) -> Option<ModelsPage> {
        models::page(body)
    }
}
