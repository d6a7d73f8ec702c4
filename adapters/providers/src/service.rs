//! What differs between the services that are reached over HTTP; everything else is written once.

use crate::{anthropic::Anthropic, assemble::Decoder, base_url, openrouter::OpenRouter};
use owl_domain::provider::{BaseUrl, Model, Provider, Request, Secret};
use reqwest::{RequestBuilder, header::HeaderMap};

/// One service.
pub(crate) trait Service: Send + Sync {
    /// Returns which Provider it is.
    fn provider(&self) -> Provider;
    /// Returns its own base address.
    fn default_base(&self) -> &'static str;
    /// Returns where a chat is posted to, after the base.
    fn chat_path(&self) -> &'static str;
    /// Returns where a key is tested at no cost, after the base.
    fn test_path(&self) -> &'static str;
    /// Says whether the answer to a test is this service's; a captive portal answers 200 to everything.
    fn is_tested(&self, body: &serde_json::Value) -> bool;
    /// Puts the key into its header.
    fn with_key(&self, request: RequestBuilder, key: &Secret) -> RequestBuilder;
    /// Makes the body of a chat.
    fn body(&self, request: &Request) -> String;
    /// Returns a decoder for one reply.
    fn decoder(&self) -> Box<dyn Decoder>;
    /// Returns the service's id for a request.
    fn request_id<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str>;
    /// Returns what an answer tells of the quotas, for people.
    fn rate_limits(&self, headers: &HeaderMap) -> Option<String>;
    /// Returns where a page of models is, after the base.
    fn models_path(&self, after: Option<&str>) -> String;
    /// Reads a page of models; none when it is not one.
    fn models(&self, body: &serde_json::Value) -> Option<ModelsPage>;
}

/// One page of a service's models.
#[derive(Debug)]
pub(crate) struct ModelsPage {
    /// The models.
    pub(crate) models: Vec<Model>,
    /// After which one the next page begins; none when this is the last.
    pub(crate) next: Option<String>,
}

/// Returns the service behind a Provider; none for the demo, which is a script.
pub(crate) fn of(provider: Provider) -> Option<&'static dyn Service> {
    match provider {
        Provider::Anthropic => Some(&Anthropic),
        Provider::OpenRouter => Some(&OpenRouter),
        Provider::Demo => None,
    }
}

impl dyn Service {
    /// Returns the base address that is in force.
    pub(crate) fn base(&self, configured: Option<&BaseUrl>) -> String {
        configured.map_or_else(|| self.default_base().to_owned(), |base| base.as_str().to_owned())
    }

    /// Says whether a base address is another service's than its own.
    pub(crate) fn is_own(&self, base: &str) -> bool {
        base_url::same_origin(base, self.default_base())
    }
}
