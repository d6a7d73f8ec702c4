//! Accounts: added with their directory, shown without their token, removed when nothing needs them.

use owl_domain::{
    account::{Account, AccountService, AddAccountError, Standing},
    ids::JobId,
    permissions::{AccountList, default_list::DEFAULT_LIST},
    ports::{
        Credential, CredentialName, CredentialSource, MockAccountSettings, MockAccounts, MockCredentials,
        RemoveAccountError, SettingsError,
    },
    provider::Secret,
    text::{AbsPath, AccountName},
    time::Timestamp,
};
use owl_testkit::{ManualClock, tokio};
use std::sync::Arc;

fn name() -> AccountName {
    AccountName::new("work").unwrap()
}

fn account() -> Account {
    let directory = AbsPath::new("/data/accounts/work").unwrap();
    Account { name: name(), directory, seeded_at: None, created_at: Timestamp::default() }
}

fn settings() -> MockAccountSettings {
    let mut settings = MockAccountSettings::new();
    settings.expect_directory().returning(|_| AbsPath::new("/data/accounts/work").unwrap());
    settings.expect_file().returning(|_| AbsPath::new("/data/accounts/work/settings.json").unwrap());
    settings.expect_is_present().returning(|_| false);
    settings
}

fn service(accounts: MockAccounts, settings: MockAccountSettings, credentials: MockCredentials) -> AccountService {
    AccountService::new(Arc::new(accounts), Arc::new(settings), Arc::new(credentials), Arc::new(ManualClock::default()))
}

fn there() -> MockAccounts {
    let mut accounts = MockAccounts::new();
    accounts.expect_get().returning(|_| Ok(Some(account())));
    accounts
}

#[tokio::test]
async fn an_account_gets_a_directory_and_no_settings_file() {
    let mut accounts = MockAccounts::new();
    accounts.expect_get().returning(|_| Ok(None));
    accounts.expect_add().times(1).returning(|_| Ok(true));
    let mut settings = settings();
    settings.expect_make_directory().times(1).returning(|_| Ok(()));
    settings.expect_read_or_seed().never();
    let mut credentials = MockCredentials::new();
    credentials.expect_set().never();
    credentials.expect_get().returning(|_| Ok(None));
    let added = service(accounts, settings, credentials).add(name(), None).await.unwrap();
    assert!(added.created && added.view.token.is_none() && !added.view.settings_present);
}

#[tokio::test]
async fn a_token_replaces_the_one_before_and_without_one_the_name_is_taken() {
    let mut settings_of = settings();
    settings_of.expect_make_directory().returning(|_| Ok(()));
    let mut credentials = MockCredentials::new();
    credentials
        .expect_set()
        .times(1)
        .withf(|whose, token| *whose == CredentialName::Account(name()) && token.expose() == "sk-ant-oat-1234567890")
        .returning(|_, _| Ok(()));
    credentials.expect_get().returning(|_| {
        let secret = Secret::new("sk-ant-oat-1234567890").unwrap();
        Ok(Some(Credential { secret, source: CredentialSource::File }))
    });
    let mut accounts = there();
    accounts.expect_add().never();
    let service = service(accounts, settings_of, credentials);
    let token = Secret::new("sk-ant-oat-1234567890").unwrap();
    let added = service.add(name(), Some(token)).await.unwrap();
    assert!(!added.created);
    assert_eq!(added.view.token.unwrap().last4.as_deref(), Some("7890"));
    let again = service.add(name(), None).await.unwrap_err();
    assert_eq!(again, AddAccountError::Exists { existing: account() });
}

#[tokio::test]
async fn what_an_agent_is_allowed_is_read_and_nothing_is_written() {
    let mut settings_of = settings();
    settings_of.expect_read().times(1).returning(|_| Ok(None));
    settings_of.expect_read_or_seed().never();
    settings_of.expect_make_directory().never();
    let fresh = service(there(), settings_of, MockCredentials::new()).permissions(name()).await.unwrap().unwrap();
    assert_eq!(fresh.would_seed(), DEFAULT_LIST);

    let mut settings_of = settings();
    settings_of.expect_read().returning(|_| {
        Ok(Some(AccountList {
            name: name(),
            file: AbsPath::new("/data/accounts/work/settings.json").unwrap(),
            seeded: false,
            allow: DEFAULT_LIST[1..].iter().map(ToString::to_string).chain(["Bash(just:*)".into()]).collect(),
            deny: Vec::new(),
            ask: Vec::new(),
            default_mode: None,
            sha256: "aa".into(),
            ignored: Vec::new(),
        }))
    });
    let own = service(there(), settings_of, MockCredentials::new()).permissions(name()).await.unwrap().unwrap();
    assert_eq!(own.would_seed(), [""; 0]);
    assert_eq!(own.beside_the_default(), (vec!["Bash(just:*)".into()], vec!["Edit".into()]));

    let unreadable = SettingsError::Unreadable {
        file: "/data/accounts/work/settings.json".into(),
        key: None,
        line: Some(1),
        column: Some(1),
        message: "it is empty".into(),
    };
    let mut settings_of = settings();
    let error = unreadable.clone();
    settings_of.expect_read().returning(move |_| Err(error.clone()));
    let broken = service(there(), settings_of, MockCredentials::new()).permissions(name()).await.unwrap().unwrap();
    assert_eq!(broken.stands, Standing::Unreadable(unreadable));
}

#[tokio::test]
async fn an_account_that_a_job_needs_keeps_its_token() {
    let mut accounts = there();
    accounts.expect_remove().returning(|_| Err(RemoveAccountError::InUse { by: vec![JobId::new(7)] }));
    let mut credentials = MockCredentials::new();
    credentials.expect_remove().never();
    assert!(service(accounts, settings(), credentials).remove(name()).await.is_err());

    let mut accounts = there();
    accounts.expect_remove().returning(|_| Ok(true));
    let mut credentials = MockCredentials::new();
    credentials.expect_remove().times(1).returning(|_| Ok(()));
    let kept = service(accounts, settings(), credentials).remove(name()).await.unwrap();
    assert_eq!(kept, Some(AbsPath::new("/data/accounts/work").unwrap()));
}
