use super::*;
use crate::{
    ports::{Catalogue, Credential, MockCredentials, MockProviderConfigs, MockProviders},
    testing::NOON,
};
use alloc::{format, vec};
use mockall::Sequence;
use owl_testkit::tokio;

const KEY: &str = "sk-planted-0123456789";

fn key() -> Secret {
    Secret::new(KEY).unwrap()
}

fn id(text: &str) -> ModelId {
    ModelId::new(text).unwrap()
}

/// The ports, which a test tells what to expect.
#[derive(Default)]
struct Ports {
    providers: MockProviders,
    configs: MockProviderConfigs,
    credentials: MockCredentials,
}

impl Ports {
    /// Ports where these have a key, with their settings.
    fn with(keyed: Vec<(Provider, ProviderSettings)>) -> Self {
        let mut ports = Self::default();
        let names: Vec<_> = keyed.iter().map(|(provider, _)| CredentialName::Provider(*provider)).collect();
        ports.credentials.expect_get().returning(move |name| {
            let credential = Credential { secret: key(), source: CredentialSource::File };
            Ok(names.contains(&name).then_some(credential))
        });
        ports.configs.expect_get().returning(move |provider| {
            Ok(keyed.iter().find(|(known, _)| *known == provider).map(|(_, settings)| settings.clone()))
        });
        ports
    }

    fn service(self) -> ProviderService {
        ProviderService::new(Arc::new(self.providers), Arc::new(self.configs), Arc::new(self.credentials))
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn default_model(text: &str) -> ProviderSettings {
    ProviderSettings { default_model: Some(id(text)), ..ProviderSettings::default() }
}

#[test]
fn the_first_time_a_key_is_needed_and_nothing_is_stored_without() {
    let mut ports = Ports::with(vec![]);
    ports.credentials.expect_set().never();
    ports.configs.expect_set().never();
    let change = ProviderChange { default_model: Some(Some(id("m"))), ..ProviderChange::default() };
    let configured = block_on(ports.service().configure(Provider::Anthropic, change));
    assert_eq!(configured, Err(ConfigureError::KeyMissing));
}

#[test]
fn the_demo_is_always_there_and_cannot_be_configured() {
    let mut ports = Ports::with(vec![]);
    ports.credentials.expect_remove().never();
    let service = ports.service();
    let change = ProviderChange { key: Some(key()), ..ProviderChange::default() };
    assert_eq!(block_on(service.configure(Provider::Demo, change)), Err(ConfigureError::Demo));
    assert_eq!(block_on(service.remove(Provider::Demo)), Err(ConfigureError::Demo));
    assert!(block_on(service.access(Provider::Demo)).unwrap().key.is_none());
}

#[test]
fn a_stored_key_is_never_pointed_at_another_origin() {
    for same in [true, false] {
        let mut ports = Ports::with(vec![(Provider::Anthropic, ProviderSettings::default())]);
        ports.providers.expect_base_url().returning(|_, text| Ok(BaseUrl::normalised(text)));
        ports.providers.expect_same_origin().returning(move |_, _, _| same);
        ports.credentials.expect_set().never();
        ports.configs.expect_set().times(usize::from(same)).returning(|_, _| Ok(()));
        ports.configs.expect_set_last_error().returning(|_, _| Ok(()));
        let base_url = Some(Some("https://elsewhere.example".into()));
        let change = ProviderChange { base_url, ..ProviderChange::default() };
        let configured = block_on(ports.service().configure(Provider::Anthropic, change));
        assert_eq!(configured, if same { Ok(()) } else { Err(ConfigureError::KeyForOrigin) });
    }
}

#[test]
fn the_key_is_stored_before_the_settings_that_point_it_somewhere() {
    let mut ports = Ports::with(vec![(Provider::Anthropic, ProviderSettings::default())]);
    let mut order = Sequence::new();
    ports.providers.expect_base_url().returning(|_, text| Ok(BaseUrl::normalised(text)));
    ports.providers.expect_same_origin().returning(|_, _, _| false);
    ports.credentials.expect_set().times(1).in_sequence(&mut order).returning(|_, _| Ok(()));
    ports.configs.expect_set().times(1).in_sequence(&mut order).returning(|_, _| Ok(()));
    ports.configs.expect_set_last_error().times(1).withf(|_, error| error.is_none()).returning(|_, _| Ok(()));
    let base_url = Some(Some("https://elsewhere.example".into()));
    let change = ProviderChange { key: Some(key()), base_url, ..ProviderChange::default() };
    assert_eq!(block_on(ports.service().configure(Provider::Anthropic, change)), Ok(()));
}

#[test]
fn a_key_that_could_not_be_stored_changes_no_settings() {
    let mut ports = Ports::with(vec![]);
    let refused = || CredentialError { store: "credentials.json".into(), reason: "could not be written".into() };
    ports.credentials.expect_set().returning(move |_, _| Err(refused()));
    ports.configs.expect_set().never();
    let change = ProviderChange { key: Some(key()), ..ProviderChange::default() };
    let configured = block_on(ports.service().configure(Provider::OpenRouter, change));
    assert_eq!(configured, Err(ConfigureError::Credential(refused())));
}

#[test]
fn what_is_not_named_stays_and_what_is_taken_back_goes() {
    let before = ProviderSettings {
        base_url: Some(BaseUrl::normalised("https://one.example")),
        default_model: Some(id("one")),
        models: vec![id("a")],
    };
    for (change, after) in [
        (
            ProviderChange { models: Some(vec![id("b")]), ..ProviderChange::default() },
            ProviderSettings { models: vec![id("b")], ..before.clone() },
        ),
        (
            ProviderChange { default_model: Some(None), ..ProviderChange::default() },
            ProviderSettings { default_model: None, ..before.clone() },
        ),
        (ProviderChange::default(), before.clone()),
    ] {
        let mut ports = Ports::with(vec![(Provider::Anthropic, before.clone())]);
        ports.configs.expect_set().times(1).withf(move |_, settings| *settings == after).returning(|_, _| Ok(()));
        ports.configs.expect_set_last_error().returning(|_, _| Ok(()));
        assert_eq!(block_on(ports.service().configure(Provider::Anthropic, change)), Ok(()));
    }
}

#[test]
fn more_models_than_are_kept_are_refused() {
    let models = vec![id("m"); limits::MODELS_PER_PROVIDER + 1];
    let mut ports = Ports::with(vec![(Provider::Anthropic, ProviderSettings::default())]);
    ports.configs.expect_set().never();
    let change = ProviderChange { models: Some(models), ..ProviderChange::default() };
    let configured = block_on(ports.service().configure(Provider::Anthropic, change));
    assert_eq!(configured, Err(ConfigureError::TooManyModels));
}

#[test]
fn a_model_is_chosen_only_where_there_is_one_choice() {
    let anthropic = (Provider::Anthropic, default_model("claude-x"));
    let openrouter = (Provider::OpenRouter, default_model("some/model"));
    let chosen = |keyed| block_on(Ports::with(keyed).service().default_model()).unwrap();
    assert_eq!(chosen(vec![anthropic.clone()]), Some(ModelRef { provider: Provider::Anthropic, id: id("claude-x") }));
    assert_eq!(chosen(vec![anthropic, openrouter]), None);
    assert_eq!(chosen(vec![]), None);
    assert_eq!(chosen(vec![(Provider::Anthropic, ProviderSettings::default())]), None);
}

#[test]
fn a_failure_of_the_credential_store_is_not_taken_for_a_missing_key() {
    let mut ports = Ports::default();
    let failed = || CredentialError { store: "keychain".into(), reason: "is locked".into() };
    ports.configs.expect_get().returning(|_| Ok(None));
    ports.credentials.expect_get().returning(move |_| Err(failed()));
    let service = ports.service();
    assert_eq!(block_on(service.access(Provider::Anthropic)).err(), Some(AccessError::Credential(failed())));
    assert_eq!(block_on(service.configured()).err(), Some(AccessError::Credential(failed())));
}

#[test]
fn only_what_may_be_shown_of_a_key_is_told() {
    let mut ports = Ports::with(vec![(Provider::Anthropic, ProviderSettings::default())]);
    ports.providers.expect_base().returning(|_, _| None);
    ports.providers.expect_endpoint().returning(|_, _| None);
    ports.configs.expect_last_error().returning(|_| Ok(None));
    let views = block_on(ports.service().list()).unwrap();
    let configured: Vec<_> = views.iter().map(|view| (view.provider, view.configured)).collect();
    assert_eq!(configured, [(Provider::Anthropic, true), (Provider::OpenRouter, false), (Provider::Demo, true)]);
    let last4: Vec<_> = views.iter().filter_map(|view| view.key.as_ref()?.1.last4.as_deref()).collect();
    assert_eq!(last4, ["6789"]);
    let told =
        format!("{views:?} {:?} {:?}", key(), Access { settings: ProviderSettings::default(), key: Some(key()) });
    assert!(!told.contains("planted"), "{told}");
}

#[test]
fn a_secret_is_bounded_printable_and_shown_only_when_long_enough() {
    for text in ["", "   ", "a b", "ü", "a\nb", &"x".repeat(limits::API_KEY_BYTES + 1)] {
        assert!(Secret::new(text).is_err(), "{text:?}");
    }
    assert_eq!(Secret::new(format!(" {KEY}\n")).unwrap().expose(), KEY);
    assert_eq!(Secret::new("elevenchars").unwrap().hint().last4, None);
    assert_eq!(Secret::new("twelve-chars").unwrap().hint().last4.as_deref(), Some("hars"));
    // The SHA-256 of "abc" is a published test vector.
    assert_eq!(Secret::new("abc").unwrap().hint().fingerprint, "sha256:ba7816bf8f01");
}

#[test]
fn the_last_error_is_kept_and_written_only_when_it_changes() {
    let error = || LastError { at: NOON, status: Some(401), message: "no".into() };
    let mut ports = Ports::default();
    ports.configs.expect_last_error().times(1).returning(|_| Ok(None));
    ports.configs.expect_set_last_error().never();
    assert_eq!(block_on(ports.service().told(Provider::Anthropic, None)), Ok(()));

    for told in [None, Some(error())] {
        let mut ports = Ports::default();
        ports.configs.expect_last_error().returning(move |_| Ok(Some(error())));
        let expected = told.clone();
        let is_told = move |_: &Provider, error: &Option<LastError>| *error == expected;
        ports.configs.expect_set_last_error().times(1).withf(is_told).returning(|_, _| Ok(()));
        assert_eq!(block_on(ports.service().told(Provider::Anthropic, told)), Ok(()));
    }
}

#[test]
fn removing_takes_key_and_settings() {
    for (had_key, had_settings) in [(true, true), (true, false), (false, true), (false, false)] {
        let keyed = if had_key { vec![(Provider::Anthropic, ProviderSettings::default())] } else { vec![] };
        let mut ports = Ports::with(keyed);
        ports.credentials.expect_remove().times(1).returning(|_| Ok(()));
        ports.configs.expect_remove().times(1).returning(move |_| Ok(had_settings));
        assert_eq!(block_on(ports.service().remove(Provider::Anthropic)), Ok(had_key || had_settings));
    }
}

fn model(provider: Provider, text: &str, listed_first: bool) -> Model {
    Model {
        model: ModelRef { provider, id: id(text) },
        name: text.into(),
        context_tokens: None,
        max_output_tokens: None,
        tools: None,
        reasoning: None,
        price: None,
        listed_first,
    }
}

#[test]
fn models_that_a_person_named_come_first_and_a_failing_source_is_told() {
    let mut ports = Ports::with(vec![
        (Provider::Anthropic, ProviderSettings::default()),
        (Provider::OpenRouter, ProviderSettings::default()),
    ]);
    ports.providers.expect_models().times(3).returning(|provider, _, _| match provider {
        Provider::OpenRouter => Catalogue {
            models: vec![model(provider, "z", true), model(provider, "b", false), model(provider, "a", false)],
            fetched_at: Some(NOON),
            stale: true,
            error: Some("cannot be reached".into()),
        },
        Provider::Anthropic | Provider::Demo => {
            Catalogue { models: vec![model(provider, "m", false)], fetched_at: None, stale: false, error: None }
        }
    });
    let list = block_on(ports.service().models(None, Freshness::LastHour)).unwrap();
    let ids: Vec<_> = list.models.iter().map(|model| model.model.id.as_str()).collect();
    assert_eq!(ids, ["z", "m", "a", "b", "m"]);
    let sources: Vec<_> = list.sources.iter().map(|source| (source.provider, source.stale)).collect();
    assert_eq!(sources, [(Provider::Anthropic, false), (Provider::OpenRouter, true), (Provider::Demo, false)]);
}

#[test]
fn a_provider_without_a_key_is_left_out_unless_it_is_named() {
    let mut ports = Ports::with(vec![]);
    let empty = || Catalogue { models: vec![], fetched_at: None, stale: false, error: None };
    ports.providers.expect_models().times(1).returning(move |_, _, _| empty());
    let service = ports.service();
    assert_eq!(block_on(service.models(None, Freshness::Now)).unwrap().sources.len(), 1, "the demo");
    let provider = Provider::Anthropic;
    let named = block_on(service.models(Some(provider), Freshness::Now));
    assert_eq!(named, Err(AccessError::NotConfigured { provider }));
}

#[test]
fn a_test_of_a_key_keeps_what_came_of_it() {
    for ok in [true, false] {
        let mut ports = Ports::with(vec![(Provider::Anthropic, ProviderSettings::default())]);
        ports.providers.expect_test().returning(move |_, _| Tested {
            ok,
            status: Some(if ok { 200 } else { 401 }),
            duration: core::time::Duration::from_millis(5),
            message: "said".into(),
            models: None,
        });
        let before = LastError { at: NOON, status: None, message: "before".into() };
        ports.configs.expect_last_error().returning(move |_| Ok(Some(before.clone())));
        let kept = move |_: &Provider, error: &Option<LastError>| error.is_none() == ok;
        ports.configs.expect_set_last_error().times(1).withf(kept).returning(|_, _| Ok(()));
        assert_eq!(block_on(ports.service().test(Provider::Anthropic, NOON)).unwrap().ok, ok);
    }
}
