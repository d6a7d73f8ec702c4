//! Accounts as they are told. A token never is (D18).

use super::{Ignored, ignored};
use owl_domain::{
    account::{AccountPermissions, AccountView, AddedAccount, Standing},
    ports::SettingsError,
    provider::SecretHint,
};
use schemars::JsonSchema;
use serde::Serialize;

/// A subscription with its own configuration directory of the coding tool.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Account {
    /// Its unique name.
    pub name: String,
    /// Its configuration directory.
    pub dir: String,
    /// What may be told of its token.
    pub token: Token,
    /// Its settings file, or where that would be.
    pub settings_file: String,
    /// Whether something is there.
    pub settings_present: bool,
    /// When Owl last created that file.
    pub seeded_at: Option<String>,
    /// When it was added.
    pub created_at: String,
}

/// What may be told of an Account's token.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Token {
    /// Whether there is one.
    pub set: bool,
    /// Its last four characters, when it has at least twelve.
    pub last4: Option<String>,
    /// The beginning of its SHA-256.
    pub fingerprint: Option<String>,
}

impl From<Option<SecretHint>> for Token {
    fn from(hint: Option<SecretHint>) -> Self {
        match hint {
            Some(hint) => Self { set: true, last4: hint.last4, fingerprint: Some(hint.fingerprint) },
            None => Self { set: false, last4: None, fingerprint: None },
        }
    }
}

impl From<AccountView> for Account {
    fn from(view: AccountView) -> Self {
        Self {
            name: view.account.name.to_string(),
            dir: view.account.directory.to_string(),
            token: view.token.into(),
            settings_file: view.settings_file.to_string(),
            settings_present: view.settings_present,
            seeded_at: view.account.seeded_at.map(super::ids),
            created_at: view.account.created_at.to_string(),
        }
    }
}

/// An Account that was added, or whose token was replaced.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AddedAccountAnswer {
    /// The Account.
    #[serde(flatten)]
    pub account: Account,
    /// Whether it is new; else only its token was replaced.
    pub created: bool,
}

impl From<AddedAccount> for AddedAccountAnswer {
    fn from(added: AddedAccount) -> Self {
        Self { account: added.view.into(), created: added.created }
    }
}

/// What an Agent of an Account is allowed, read now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PermissionsNow {
    /// The Account.
    pub account: String,
    /// Its settings file, or where that would be.
    pub file: String,
    /// Whether something is there.
    pub present: bool,
    /// The SHA-256 of the file's bytes.
    pub sha256: Option<String>,
    /// What passes, in the file's order.
    pub allow: Vec<String>,
    /// What never passes.
    pub deny: Vec<String>,
    /// What would be asked about, and so does not pass.
    pub ask: Vec<String>,
    /// The mode that the file asks for; it is honoured.
    pub default_mode: Option<String>,
    /// Entries that the tool does not honour.
    pub ignored: Vec<Ignored>,
    /// Why the tool would drop the file; then the lists are empty.
    pub error: Option<SettingsFault>,
    /// The default list when the file is absent.
    pub would_seed: Vec<String>,
}

/// Why the tool would drop a settings file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SettingsFault {
    /// The line, from 1.
    pub line: Option<u64>,
    /// The column, from 1.
    pub column: Option<u64>,
    /// What is wrong and what to do.
    pub message: String,
}

impl From<SettingsError> for SettingsFault {
    fn from(error: SettingsError) -> Self {
        match error {
            SettingsError::Unreadable { line, column, message, .. } => Self { line, column, message },
            SettingsError::Unwritable { message, .. } => Self { line: None, column: None, message },
        }
    }
}

impl From<AccountPermissions> for PermissionsNow {
    fn from(found: AccountPermissions) -> Self {
        let would_seed = found.would_seed().iter().map(ToString::to_string).collect();
        let nothing = Self {
            account: found.account.to_string(),
            file: found.file.to_string(),
            present: !matches!(found.stands, Standing::Nothing),
            sha256: None,
            allow: Vec::new(),
            deny: Vec::new(),
            ask: Vec::new(),
            default_mode: None,
            ignored: Vec::new(),
            error: None,
            would_seed,
        };
        match found.stands {
            Standing::Nothing => nothing,
            Standing::Unreadable(error) => Self { error: Some(error.into()), ..nothing },
            Standing::List(list) => Self {
                sha256: Some(list.sha256),
                allow: list.allow,
                deny: list.deny,
                ask: list.ask,
                default_mode: list.default_mode,
                ignored: ignored(&list.ignored),
                ..nothing
            },
        }
    }
}

/// An Account that was removed with its token. Its directory was not.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RemovedAccount {
    /// Its name.
    pub account: String,
    /// Always true.
    pub removed: bool,
    /// The directory, which stays.
    pub kept_dir: String,
}
