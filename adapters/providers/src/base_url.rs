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
    // Whoever pastes an endpoint may have put `/v1` behind it, as one does behind a base.
    let path = without_v1(url.path());
    if let Some(base) = ENDPOINTS.iter().find_map(|end| strip(path, end)) {
        return refuse(format!("the base address, without the endpoint: {}", joined(&url, base)));
    }
    Ok(BaseUrl::normalised(joined(&url, url.path())))
}

/// Says whether two addresses have the same scheme, host and port; addresses that cannot be read have not.
pub(crate) fn same_origin(one: &str, other: &str) -> bool {
    match (Url::parse(one), Url::parse(other)) {
        (Ok(one), Ok(other)) => one.origin() == other.origin(),
        _ => false,
    }
}

fn joined(url: &Url, path: &str) -> String {
    // OpenRouter answers under /api; its site, which answers with pages, under everything else. A dot at a name's end
    // means the same host.
    if url.host_str().is_some_and(|host| host.strip_suffix('.').unwrap_or(host) == "openrouter.ai") {
        return "https://openrouter.ai/api".into();
    }
    format!("{}{}", url.origin().ascii_serialization(), without_v1(path))
}

/// Returns a path without slashes and without `/v1` at its end.
fn without_v1(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    strip(path, "/v1").unwrap_or(path).trim_end_matches('/')
}

/// Takes the end off a path that ends so, in any case.
fn strip<'p>(path: &'p str, end: &str) -> Option<&'p str> {
    let (start, found) = path.split_at_checked(path.len().checked_sub(end.len())?)?;
    found.eq_ignore_ascii_case(end).then_some(start)
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
