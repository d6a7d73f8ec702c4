use super::*;

fn becomes(text: &str, base: &str) {
    assert_eq!(normalise(text).map(|b| b.as_str().to_owned()), Ok(base.to_owned()), "{text}");
}

fn refused(text: &str, word: &str) {
    let expected = normalise(text).expect_err(text).expected;
    assert!(expected.contains(word), "{text}: {expected}");
}

#[test]
fn every_spelling_of_a_base_becomes_the_same_one() {
    for text in [
        "http://127.0.0.1:9",
        "http://127.0.0.1:9/",
        "http://127.0.0.1:9/v1",
        " http://127.0.0.1:9/v1/ ",
        "http://127.0.0.1:9/V1",
        "http://127.1:9//",
    ] {
        becomes(text, "http://127.0.0.1:9");
    }
    becomes("https://api.anthropic.com/v1", "https://api.anthropic.com");
    becomes("HTTPS://Example.COM:443/some/where/v1/", "https://example.com/some/where");
    becomes("http://localhost:8080/api", "http://localhost:8080/api");
    becomes("http://[::1]:8080/", "http://[::1]:8080");
    becomes("http://127.9.9.9", "http://127.9.9.9");
}

#[test]
fn openrouters_own_host_always_leads_to_its_api() {
    for text in [
        "https://openrouter.ai",
        "https://openrouter.ai/api/v1",
        "https://OPENROUTER.ai/anything/",
        "https://openrouter.ai./v1",
    ] {
        becomes(text, "https://openrouter.ai/api");
    }
}

#[test]
fn plain_http_is_for_loopback_alone() {
    refused("http://example.com", "https");
    refused("http://openrouter.ai", "https");
    refused("http://128.0.0.1", "https");
    refused("http://127.0.0.1.example.com", "https");
    refused("http://localhost.example.com", "https");
    refused("http://[::2]", "https");
    refused("http://0.0.0.0:80", "https");
}

#[test]
fn what_is_no_base_address_is_refused_with_what_would_be_right() {
    refused("", "https://");
    refused("api.anthropic.com", "https://");
    refused("localhost:8080", "https://");
    refused("ftp://example.com", "https://");
    refused("unix:/run/x", "https://");
    refused("https://me@example.com", "user");
    refused("https://me:pw@example.com", "user");
    refused("https://:pw@example.com", "user");
    refused("https://example.com?key=1", "query");
    refused("https://example.com/?", "query");
    refused("https://example.com#x", "fragment");
    refused(&format!("https://example.com/{}", "x".repeat(MOST_BYTES)), "bytes");
}

#[test]
fn a_pasted_endpoint_is_refused_with_the_base_to_write_instead() {
    refused("https://api.anthropic.com/v1/messages", "endpoint: https://api.anthropic.com");
    refused("https://openrouter.ai/api/v1/chat/completions/", "endpoint: https://openrouter.ai/api");
    refused("http://127.0.0.1:9/x/v1/completions", "endpoint: http://127.0.0.1:9/x");
    refused("https://example.com/v1/models", "endpoint: https://example.com");
    for text in ["/v1/messages/v1", "/v1/messages/v1/", "/v1/MESSAGES", "/V1/Messages", "/v1//messages//"] {
        let expected = normalise(&format!("https://example.com/x{text}")).expect_err(text).expected;
        assert!(expected.ends_with("endpoint: https://example.com/x"), "{text}: {expected}");
    }
    refused("https://openrouter.ai./api/v1/Chat/Completions", "endpoint: https://openrouter.ai/api");
    becomes("https://example.com/mymessages", "https://example.com/mymessages");
}

#[test]
fn an_origin_is_scheme_host_and_port() {
    assert!(same_origin("https://example.com", "https://example.com:443/api"));
    assert!(!same_origin("https://example.com", "https://example.com:444"));
    assert!(!same_origin("http://127.0.0.1:9", "http://localhost:9"));
    assert!(!same_origin("https://example.com", "http://example.com"));
    assert!(!same_origin("nonsense", "nonsense"));
}
