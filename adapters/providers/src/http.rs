//! The one HTTP client: no redirect, no proxy, no cookies, so that a key goes where it was meant to go and nowhere else
//! (D17, D18). Knows no service.

use crate::{cut_json, pace::Pace, sse::Body};
use futures_util::StreamExt;
use owl_domain::{provider::Secret, text::cut_bytes};
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
    let (bytes, came) = start(response, most, within).await;
    (came == Came::Whole).then_some(bytes)
}

/// How much of a body came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Came {
    Whole,
    Start,
}

/// Reads the first `most` bytes of a body, as far as they come in time.
async fn start(response: Response, most: usize, within: Duration) -> (Vec<u8>, Came) {
    let mut body = body(response);
    let mut bytes = Vec::new();
    let read = async {
        while let Some(chunk) = body.next().await {
            let Ok(chunk) = chunk else { return Came::Start };
            let room = most - bytes.len();
            bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() > room {
                return Came::Start;
            }
        }
        Came::Whole
    };
    let came = timeout(within, read).await.unwrap_or(Came::Start);
    (bytes, came)
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

/// Reads an answer that is no success. A body that is no JSON, such as a proxy's page, tells nothing; one that is longer
/// than what is read of it tells what stands in its start.
pub(crate) async fn refusal(response: Response, key: Option<&Secret>, within: Duration) -> Refusal {
    let status = response.status().as_u16();
    let location = response
        .headers()
        .get(LOCATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|target| response.url().join(target).ok())
        .map(|target| scrub(&target.origin().ascii_serialization(), key));
    let (bytes, came) = start(response, ERROR_BODY_BYTES, within).await;
    let json: serde_json::Value = match came {
        Came::Whole => serde_json::from_slice(&bytes).unwrap_or_default(),
        Came::Start => cut_json::read(&bytes),
    };
    let error = &json["error"];
    let word = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) if came == Came::Start => Some(scrub_start(text, key)),
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

/// Likewise, for a text that may have been cut within the key.
fn scrub_start(text: &str, key: Option<&Secret>) -> String {
    let text = scrub(text, key);
    let key = key.map(Secret::expose).unwrap_or_default();
    let half = (1..key.len()).rev().find_map(|most| text.strip_suffix(cut_bytes(key, most)));
    half.unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_key_at_the_end_of_a_text_that_was_cut_is_not_shown() {
        let key = Secret::new("sk-planted-0123").unwrap();
        for (text, shown) in [
            ("bad key sk-planted-01", "bad key "),
            ("bad key sk-planted-0123", "bad key [key]"),
            ("sk-planted-0123 and s", "[key] and "),
            ("no key", "no key"),
        ] {
            assert_eq!(scrub_start(text, Some(&key)), shown);
        }
        assert_eq!(scrub_start("bad", None), "bad");
    }
}
