//! OpenRouter chat completions. Only this folder knows its JSON.

mod calls;
mod models;
mod reasoning;
mod request;
mod stream;

use crate::{
    assemble::Decoder,
    service::{ModelsPage, Service},
};
use owl_domain::provider::{Provider, Request, Secret};
use reqwest::{
    RequestBuilder,
    header::{AUTHORIZATION, HeaderMap},
};

/// The service.
pub(crate) struct OpenRouter;

impl Service for OpenRouter {
    fn provider(&self) -> Provider {
        Provider::OpenRouter
    }

    fn default_base(&self) -> &'static str {
        "https://openrouter.ai/api"
    }

    fn chat_path(&self) -> &'static str {
        "/v1/chat/completions"
    }

    fn test_path(&self) -> &'static str {
        "/v1/key"
    }

    fn is_tested(&self, body: &serde_json::Value) -> bool {
        body["data"].is_object()
    }

    fn with_key(&self, request: RequestBuilder, key: &Secret) -> RequestBuilder {
        request.header(AUTHORIZATION, crate::http::sensitive(&format!("Bearer {}", key.expose())))
    }

    fn body(&self, request: &Request) -> String {
        request::body(request).to_string()
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::<stream::OpenRouterStream>::default()
    }

    fn request_id<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        headers.get("x-generation-id")?.to_str().ok()
    }

    fn rate_limits(&self, _headers: &HeaderMap) -> Option<String> {
        None
    }

    fn models_path(&self, _after: Option<&str>) -> String {
        "/v1/models".into()
    }

    fn models(&self, body: &serde_json::Value) -> Option<ModelsPage> {
        models::page(body)
    }
}
