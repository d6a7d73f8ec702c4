//! Lists of models, tests of keys.

use crate::support::*;
use owl_domain::{
    ports::{Access, Catalogue, Freshness, Providers},
    provider::{Provider, ProviderSettings},
    text::ModelId,
};
use owl_providers::HttpProviders;
use owl_testkit::{ByteServer, Script};
use serde_json::{Value, json};
use std::sync::Arc;

const HOUR_MS: i64 = 3_600_000;

fn page(ids: &[&str], next: Option<&str>) -> Script {
    let data: Vec<Value> =
        ids.iter().map(|id| json!({"id": id, "display_name": id.to_uppercase(), "max_tokens": 4096})).collect();
    Script::answer(200, &[], json!({"data": data, "has_more": next.is_some(), "last_id": next}).to_string())
}

fn ids(catalogue: &Catalogue) -> Vec<&str> {
    catalogue.models.iter().map(|model| model.model.id.as_str()).collect()
}

fn with_clock() -> (Arc<ManualClock>, HttpProviders) {
    let clock = Arc::new(ManualClock::default());
    drop(providers_at(PACE));
    (Arc::clone(&clock), HttpProviders::new(VERSION, clock, PACE))
}

#[tokio::test]
async fn all_pages_are_one_list_with_the_key_in_each_request() {
    let providers = providers_at(PACE);
    let server = ByteServer::start([page(&["a", "b"], Some("b&x=1")), page(&["b", "c"], None)]);
    let listed = providers
        .models(Provider::Anthropic, access(&providers, Provider::Anthropic, &server.url()), Freshness::LastHour)
        .await;
    assert_eq!((ids(&listed), listed.stale, listed.error.clone()), (vec!["a", "b", "c"], false, None));
    let requests = server.requests();
    let targets: Vec<_> = requests.iter().map(|request| request.target.as_str()).collect();
    assert_eq!(targets, ["/v1/models?limit=1000", "/v1/models?limit=1000&after_id=b%26x%3D1"]);
    assert!(requests.iter().all(|request| request.header("x-api-key") == Some(KEY)));
}

#[tokio::test]
async fn pages_for_ever_come_to_an_end() {
    let providers = providers_at(PACE);
    // The next page always begins elsewhere.
    let server = ByteServer::start((0..40).map(|n| page(&[&format!("m{n}")], Some(&format!("m{n}")))));
    let listed = providers
        .models(Provider::Anthropic, access(&providers, Provider::Anthropic, &server.url()), Freshness::Now)
        .await;
    assert_eq!((listed.models.len(), server.requests().len()), (20, 20));
    // The next page is always the same.
    server.take_requests();
    server.play([page(&["same"], Some("same"))]);
    let listed = providers
        .models(Provider::Anthropic, access(&providers, Provider::Anthropic, &server.url()), Freshness::Now)
        .await;
    assert_eq!((listed.models.len(), server.requests().len()), (1, 2));
}

#[tokio::test]
async fn a_list_is_used_for_an_hour_and_shown_stale_when_no_newer_one_is_to_be_had() {
    let (clock, providers) = with_clock();
    let server = ByteServer::start([page(&["a"], None)]);
    let access = access(&providers, Provider::Anthropic, &server.url());
    let list = |fresh| providers.models(Provider::Anthropic, access.clone(), fresh);
    let first = list(Freshness::LastHour).await;
    clock.forward(HOUR_MS - 1);
    server.play([page(&["b"], None)]);
    assert_eq!(list(Freshness::LastHour).await, first);
    assert_eq!(server.requests().len(), 1);
    assert_eq!(ids(&list(Freshness::Now).await), ["b"]);
    clock.forward(HOUR_MS);
    server.play([Script::answer(500, &[], "{}")]);
    let stale = list(Freshness::LastHour).await;
    assert_eq!((ids(&stale), stale.stale), (vec!["b"], true));
    assert!(stale.error.as_ref().unwrap().contains("500"), "{:?}", stale.error);
    assert!(stale.fetched_at > first.fetched_at, "it says of when it is");
    server.play([page(&["c"], None)]);
    let fresh = list(Freshness::LastHour).await;
    assert_eq!((ids(&fresh), fresh.stale), (vec!["c"], false));
}

#[tokio::test]
async fn a_list_of_another_address_is_not_used() {
    let providers = providers_at(PACE);
    let (one, other) = (ByteServer::start([page(&["a"], None)]), ByteServer::start([Script::answer(500, &[], "{}")]));
    let list = |server: &ByteServer| {
        providers.models(
            Provider::Anthropic,
            access(&providers, Provider::Anthropic, &server.url()),
            Freshness::LastHour,
        )
    };
    assert_eq!(ids(&list(&one).await), ["a"]);
    let elsewhere = list(&other).await;
    assert_eq!((ids(&elsewhere), elsewhere.fetched_at, elsewhere.stale), (vec![], None, true));
}

#[tokio::test]
async fn the_models_of_the_configuration_come_first_known_or_not() {
    let providers = providers_at(PACE);
    let server = ByteServer::start([page(&["a", "b", "c"], None)]);
    let reach = access(&providers, Provider::Anthropic, &server.url());
    let models = ["mine", "c"].map(|id| ModelId::new(id).unwrap()).to_vec();
    let access = Access { settings: ProviderSettings { models, ..reach.settings }, ..reach };
    let listed = providers.models(Provider::Anthropic, access.clone(), Freshness::Now).await;
    assert_eq!(ids(&listed), ["mine", "c", "a", "b"]);
    let first: Vec<_> = listed.models.iter().map(|model| (model.listed_first, model.tools)).collect();
    assert_eq!(first, [(true, None), (true, Some(true)), (false, Some(true)), (false, Some(true))]);
    server.play([Script::answer(500, &[], "{}")]);
    let nothing_known = Access { key: None, ..access };
    let listed = providers_at(PACE).models(Provider::Anthropic, nothing_known, Freshness::Now).await;
    assert_eq!((ids(&listed), listed.stale), (vec!["mine", "c"], true));
    assert!(listed.error.unwrap().contains("owl provider add"));
}

#[tokio::test]
async fn two_providers_may_offer_one_model() {
    let providers = providers_at(PACE);
    let both = json!({"data": [{"id": "shared", "supported_parameters": ["reasoning"]}]}).to_string();
    let server = ByteServer::start([Script::answer(200, &[], both)]);
    for (provider, tools) in [(Provider::Anthropic, Some(true)), (Provider::OpenRouter, Some(false))] {
        let access = access(&providers, provider, &server.url());
        assert_eq!(ids(&providers.models(provider, access, Freshness::Now).await), ["shared"]);
        let id = ModelId::new("shared").unwrap();
        let known = providers.known(&owl_domain::provider::ModelRef { provider, id }).unwrap();
        assert_eq!((known.model.provider, known.tools), (provider, tools));
    }
    assert_eq!(providers.known(&model(Provider::Anthropic)), None);
}

#[tokio::test]
async fn a_list_that_is_none_or_too_long_is_an_error() {
    let providers = providers_at(PACE);
    let long = format!("{{\"data\":[],\"x\":\"{}\"}}", "x".repeat(17 * 1024 * 1024));
    for (script, word) in [
        (Script::answer(200, &[], "<html>"), "no list"),
        (Script::answer(200, &[], "{\"data\":7}"), "no list"),
        (Script::answer(200, &[], long), "16 MiB"),
        (Script::new(), "could not be reached"),
    ] {
        let server = ByteServer::start([script]);
        let listed = providers
            .models(Provider::OpenRouter, access(&providers, Provider::OpenRouter, &server.url()), Freshness::Now)
            .await;
        let error = listed.error.unwrap();
        assert!(error.contains(word) && error.contains("openrouter") && error.contains(&server.url()), "{error}");
    }
}

/// The answer to a test of a key that works.
fn accepted(provider: Provider) -> Script {
    match provider {
        Provider::Anthropic | Provider::Demo => page(&["a"], Some("a")),
        Provider::OpenRouter => Script::answer(200, &[], json!({"data": {"label": "sk-or"}}).to_string()),
    }
}

#[tokio::test]
async fn a_test_believes_no_answer_but_the_services_own() {
    let pace = owl_providers::Pace { lookup: std::time::Duration::from_millis(300), ..PACE };
    let providers = providers_at(pace);
    let long = format!("{{\"data\":[],\"x\":\"{}\"}}", "x".repeat(17 * 1024 * 1024));
    let for_ever = Script::new().send("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"data\":").hold();
    for provider in BOTH {
        for script in [
            Script::answer(200, &["content-type: text/html"], "<html>Accept the terms of this hotel</html>"),
            Script::answer(200, &[], ""),
            Script::answer(200, &[], "{\"data\":7}"),
            Script::answer(204, &[], ""),
            Script::answer(200, &[], &long),
            for_ever.clone(),
        ] {
            let server = ByteServer::start([script]);
            let tested = providers.test(provider, access(&providers, provider, &server.url())).await;
            assert_eq!((tested.ok, tested.status.is_some()), (false, true), "{tested:?}");
            assert!(tested.message.contains(&server.url()) && tested.message.contains("base address"), "{tested:?}");
            assert!(!tested.message.contains("hotel"), "{tested:?}");
        }
    }
}

#[tokio::test]
async fn a_test_is_one_request_that_costs_nothing() {
    let providers = providers_at(PACE);
    for (provider, target) in [(Provider::Anthropic, "/v1/models?limit=1"), (Provider::OpenRouter, "/v1/key")] {
        let server = ByteServer::start([accepted(provider)]);
        let reach = access(&providers, provider, &server.url());
        let tested = providers.test(provider, reach.clone()).await;
        assert_eq!((tested.ok, tested.status), (true, Some(200)));
        let requests = server.take_requests();
        assert_eq!(
            requests.iter().map(|r| (r.method.as_str(), r.target.as_str())).collect::<Vec<_>>(),
            [("GET", target)]
        );

        server.play([Script::answer(401, &[], json!({"error": {"message": "bad key"}}).to_string())]);
        let tested = providers.test(provider, reach.clone()).await;
        assert_eq!((tested.ok, tested.status), (false, Some(401)));
        for word in [provider.name(), "bad key", &server.url(), "owl provider add"] {
            assert!(tested.message.contains(word), "{word} is not in {}", tested.message);
        }
        assert!(!tested.message.contains("limit=1"), "an address is told without its query");
        server.play([Script::answer(503, &[], "{}")]);
        server.take_requests();
        assert!(!providers.test(provider, reach.clone()).await.ok);
        assert_eq!(server.requests().len(), 1, "a test is not tried again");
        let keyless = providers.test(provider, Access { key: None, ..reach }).await;
        assert!(!keyless.ok && keyless.message.contains("owl provider add"));
    }
}

#[tokio::test]
async fn the_demo_is_always_there() {
    let providers = providers_at(PACE);
    let access = || Access { settings: ProviderSettings::default(), key: None };
    let listed = providers.models(Provider::Demo, access(), Freshness::Now).await;
    assert_eq!((ids(&listed), listed.stale), (vec!["tour"], false));
    assert_eq!(listed.models[0].name, "Demo (a script, not a model)");
    assert_eq!(providers.known(&listed.models[0].model), Some(listed.models[0].clone()));
    assert!(providers.test(Provider::Demo, access()).await.ok);
    assert_eq!((providers.endpoint(Provider::Demo, None), providers.base(Provider::Demo, None)), (None, None));
    let came = all_of(providers.ask(question(Provider::Demo), access(), ManualStop::new()).await).await;
    assert!(came.text().starts_with("I am the demo provider: a script, not a model."));
}

#[tokio::test]
async fn addresses_are_told_as_they_are_called() {
    let providers = providers_at(PACE);
    let endpoint = |provider, base: Option<&str>| {
        providers.endpoint(provider, base.map(|b| providers.base_url(provider, b).unwrap())).unwrap()
    };
    assert_eq!(endpoint(Provider::Anthropic, None), "https://api.anthropic.com/v1/messages");
    assert_eq!(endpoint(Provider::OpenRouter, None), "https://openrouter.ai/api/v1/chat/completions");
    assert_eq!(
        endpoint(Provider::OpenRouter, Some("https://openrouter.ai/")),
        "https://openrouter.ai/api/v1/chat/completions"
    );
    assert_eq!(endpoint(Provider::Anthropic, Some("http://127.0.0.1:9/v1/")), "http://127.0.0.1:9/v1/messages");
    let base = |text: &str| Some(providers.base_url(Provider::OpenRouter, text).unwrap());
    assert!(providers.same_origin(Provider::OpenRouter, None, base("https://openrouter.ai/api/v1")));
    assert!(!providers.same_origin(Provider::OpenRouter, None, base("https://example.com")));
    assert!(!providers.same_origin(Provider::OpenRouter, base("http://127.0.0.1:9"), base("http://127.0.0.1:8")));
}
