//! The one HTTP client: no redirect, no proxy, no cookies, so that a key goes where it was meant to go and nowhere else
//! (D17, D18). Knows no service.

use crate::{pace::Pace, sse::Body};
use futures_util::StreamExt;
use owl_domain::provider::Secret;
use reqwest::{
    Response,
    header::{HeaderValue, LOCATION},
    redirect::Policy,
};
use std::{error::Error, sync::OnceLock, time::Duration};
use tokio::time::timeout;

/// How much of an error's body is read.
const ERROR_BODY_BYTES: usize = 64 * 1024;

/// A client that is built when it is first needed: that takes milliseconds, which a start should not.
pub(crate) struct Http {
    client: OnceLock<Result<reqwest::Client, String>>,
    connect: Duration,
    version: &'static str,
}

impl Http {
    pub(crate) fn new(version: &'static str, pace: Pace) -> Self {
        Self { client: OnceLock::new(), connect: pace.connect, version }
    }

    /// Returns the client.
    ///
    /// # Errors
    /// Why it could not be built: the system's certificates cannot be read.
    pub(crate) fn client(&self) -> Result<reqwest::Client, String> {
        let build = || {
            reqwest::Client::builder()
                .redirect(Policy::none())
                .no_proxy()
                .referer(false)
                .connect_timeout(self.connect)
                .user_agent(format!("coding-owl/{}", self.version))
                .build()
                .map_err(|error| causes(&error))
        };
        self.client.get_or_init(build).clone()
    }
}

/// Returns a header value that is never shown.
pub(crate) fn sensitive(text: &str) -> HeaderValue {
    // A `Secret` is printable ASCII, so this always is a value; an empty one would be refused by the service.
    let mut value = HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static(""));
    value.set_sensitive(true);
    value
}

/// Returns what is behind an error, in one line and without an address: that may hold what nobody should see.
pub(crate) fn causes(error: &reqwest::Error) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !words.iter().any(|word| word.contains(&text)) {
            words.push(text);
        }
        source = cause.source();
    }
    if words.is_empty() { "the request could not be made".into() } else { words.join(": ") }
}

/// Returns the body of an answer as it comes.
pub(crate) fn body(response: Response) -> Body {
    Box::pin(response.bytes_stream().map(|chunk| chunk.map_err(|error| causes(&error))))
}

/// Reads a body of at most `most` bytes; none when it is longer, breaks, or is not there in time.
pub(crate) async fn read(response: Response, most: usize, within: Duration) -> Option<Vec<u8>> {
    let mut body = body(response);
    let read = async {
        let mut bytes = Vec::new();
        while let Some(chunk) = body.next().await {
            let chunk = chunk.ok()?;
            if bytes.len() + chunk.len() > most {
                return None;
            }
            bytes.extend_from_slice(&chunk);
        }
        Some(bytes)
    };
    timeout(within, read).await.ok().flatten()
}

/// An answer that is no success, read and without the key.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The service's word for the error, and what it says; both none when the body was not its JSON.
    pub(crate) code: Option<String>,
    pub(crate) message: Option<String>,
    /// The whole body, for what only a part of it tells.
    pub(crate) body: String,
    /// Where a redirect would have led: its host.
    pub(crate) location: Option<String>,
}

/// Reads an answer that is no success. A body that is no JSON, such as a proxy's page, tells nothing.
pub(crate) async fn refusal(response: Response, key: Option<&Secret>, within: Duration) -> Refusal {
    let status = response.status().as_u16();
    let location = response
        .headers()
        .get(LOCATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|target| response.url().join(target).ok())
        .map(|target| scrub(&target.origin().ascii_serialization(), key));
    let bytes = read(response, ERROR_BODY_BYTES, within).await.unwrap_or_default();
    let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let error = &json["error"];
    let word = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => Some(scrub(text, key)),
        serde_json::Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    Refusal {
        status,
        code: word(&error["type"]).or_else(|| word(&error["code"])),
        message: word(&error["message"]).or_else(|| word(error)).or_else(|| word(&json["message"])),
        body: scrub(&json.to_string(), key),
        location,
    }
}

/// Replaces the key wherever it stands: some proxies echo it.
pub(crate) fn scrub(text: &str, key: Option<&Secret>) -> String {
    match key {
        Some(key) => text.replace(key.expose(), "[key]"),
        None => text.to_owned(),
    }
}
