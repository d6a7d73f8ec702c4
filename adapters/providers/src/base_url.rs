//! Base addresses: what a person wrote -> the one form in force (D18). Pure; asks nobody.

use owl_domain::{ports::BaseUrlError, provider::BaseUrl};
use reqwest::Url;
use std::net::Ipv4Addr;

/// The longest address that is taken, in bytes.
const MOST_BYTES: usize = 2_048;
/// Ends of addresses that are an endpoint and no base.
const ENDPOINTS: [&str; 4] = ["/chat/completions", "/completions", "/messages", "/models"];

/// Normalises a base address: blanks, trailing `/` and a trailing `/v1` come off, so that each spelling reaches the
/// same endpoint.
///
/// # Errors
/// [`BaseUrlError`] says what would be right.
pub(crate) fn normalise(text: &str) -> Result<BaseUrl, BaseUrlError> {
    let text = text.trim();
    if text.len() > MOST_BYTES {
        return refuse(format!("an address of at most {MOST_BYTES} bytes"));
    }
    let Ok(url) = Url::parse(text) else {
        return refuse("an address such as https://api.example.com".into());
    };
    match url.scheme() {
        "https" => {}
        "http" if is_loopback(&url) => {}
        "http" => {
            return refuse(
                "https; http is for localhost, 127.0.0.0/8 and [::1] alone, because a key would travel in the clear"
                    .into(),
            );
        }
        _ => return refuse("an address that begins with https://".into()),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("an address without user or password; the key is given apart".into());
    }
    if url.query().is_some() {
        return refuse("an address without a query".into());
    }
    if url.fragment().is_some() {
        return refuse("an address without a fragment".into());
    }
    let path = url.path().trim_end_matches('/');
    if let Some(base) = ENDPOINTS.iter().find_map(|end| path.strip_suffix(end)) {
        return refuse(format!("the base address, without the endpoint: {}", joined(&url, base)));
    }
    Ok(BaseUrl::normalised(joined(&url, path)))
}

/// Says whether two addresses have the same scheme, host and port; addresses that cannot be read have not.
pub(crate) fn same_origin(one: &str, other: &str) -> bool {
    match (Url::parse(one), Url::parse(other)) {
        (Ok(one), Ok(other)) => one.origin() == other.origin(),
        _ => false,
    }
}

fn joined(url: &Url, path: &str) -> String {
    // OpenRouter answers under /api; its site, which answers with pages, under everything else.
    if url.host_str() == Some("openrouter.ai") {
        return "https://openrouter.ai/api".into();
    }
    let path = path.strip_suffix("/v1").unwrap_or(path).trim_end_matches('/');
    format!("{}{path}", url.origin().ascii_serialization())
}

fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    host == "localhost" || host == "[::1]" || host.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
}

fn refuse<T>(expected: String) -> Result<T, BaseUrlError> {
    Err(BaseUrlError { expected })
}

#[cfg(test)]
mod tests;
