//! Adds, shows and removes Accounts. An Account's directory is made here, its `settings.json` is not: that is seeded
//! before its first Run, and is the user's from then on (ADR-0035).

use super::Account;
use crate::{
    permissions::{AccountList, default_list::DEFAULT_LIST},
    ports::{
        AccountSettings, Accounts, Clock, CredentialError, CredentialName, Credentials, RemoveAccountError,
        SettingsError, StoreError,
    },
    provider::{Secret, SecretHint},
    text::{AbsPath, AccountName},
};
use alloc::{
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

/// Keeps Accounts.
pub struct AccountService {
    accounts: Arc<dyn Accounts>,
    settings: Arc<dyn AccountSettings>,
    credentials: Arc<dyn Credentials>,
    clock: Arc<dyn Clock>,
}

/// An Account with what is known of it right now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountView {
    /// The Account.
    pub account: Account,
    /// What may be shown of its token; none when it has none, or the store could not be read.
    pub token: Option<SecretHint>,
    /// Where its settings file is, or would be.
    pub settings_file: AbsPath,
    /// Whether something is there.
    pub settings_present: bool,
}

/// An Account that was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedAccount {
    /// The Account.
    pub view: AccountView,
    /// Whether it is new; else only its token was replaced.
    pub created: bool,
}

/// What an Agent of an Account is allowed, read now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountPermissions {
    /// The Account.
    pub account: AccountName,
    /// Its settings file.
    pub file: AbsPath,
    /// What stands there.
    pub stands: Standing,
}

/// What stands where an Account's settings file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Nothing: the default would be put there.
    Nothing,
    /// A list.
    List(AccountList),
    /// Something that the tool would drop.
    Unreadable(SettingsError),
}

impl AccountPermissions {
    /// Returns what would be seeded: the default list when nothing is there, else nothing.
    #[must_use]
    pub fn would_seed(&self) -> &'static [&'static str] {
        match self.stands {
            Standing::Nothing => &DEFAULT_LIST,
            Standing::List(_) | Standing::Unreadable(_) => &[],
        }
    }

    /// Returns what differs from the default list: the rules that are more, and those that are missing.
    #[must_use]
    pub fn beside_the_default(&self) -> (Vec<String>, Vec<String>) {
        let Standing::List(list) = &self.stands else { return (Vec::new(), Vec::new()) };
        let more = list.allow.iter().filter(|rule| !DEFAULT_LIST.contains(&rule.as_str())).cloned().collect();
        let there = |rule: &&str| list.allow.iter().any(|own| own == *rule);
        let missing = DEFAULT_LIST.iter().filter(|rule| !there(rule)).map(ToString::to_string).collect();
        (more, missing)
    }
}

/// Why an Account was not added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddAccountError {
    /// One of that name is there, and no token was given to replace its own.
    #[error("the account `{}` is there already, in {}", existing.name, existing.directory)]
    Exists {
        /// Which.
        existing: Account,
    },
    /// Its directory could not be made.
    #[error(transparent)]
    Directory(#[from] SettingsError),
    /// Its token could not be stored.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why an Account was not removed. It is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DropAccountError {
    /// Jobs need it, or the store failed.
    #[error(transparent)]
    Remove(#[from] RemoveAccountError),
    /// Its token could not be removed.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AccountService {
    /// Makes it of its ports.
    pub fn new(
        accounts: Arc<dyn Accounts>,
        settings: Arc<dyn AccountSettings>,
        credentials: Arc<dyn Credentials>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { accounts, settings, credentials, clock }
    }

    /// Adds an Account with its directory; for one that is there a token replaces its own.
    ///
    /// # Errors
    /// [`AddAccountError`].
    pub async fn add(&self, name: AccountName, token: Option<Secret>) -> Result<AddedAccount, AddAccountError> {
        let existing = self.accounts.get(name.clone()).await?;
        if let (Some(existing), None) = (&existing, &token) {
            return Err(AddAccountError::Exists { existing: existing.clone() });
        }
        // The directory first and the row last: what fails in between leaves no Account without its parts.
        self.settings.make_directory(&name).await?;
        if let Some(token) = token {
            self.credentials.set(CredentialName::Account(name.clone()), token).await?;
        }
        let directory = self.settings.directory(&name);
        let new = Account { name: name.clone(), directory, seeded_at: None, created_at: self.clock.now() };
        let created = existing.is_none() && self.accounts.add(new.clone()).await?;
        let account = self.accounts.get(name).await?.unwrap_or(new);
        Ok(AddedAccount { view: self.view(account).await, created })
    }

    /// Returns all Accounts, by name.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn list(&self) -> Result<Vec<AccountView>, StoreError> {
        let mut views = Vec::new();
        for account in self.accounts.list().await? {
            views.push(self.view(account).await);
        }
        Ok(views)
    }

    /// Returns one Account; none when there is none of that name.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn get(&self, name: AccountName) -> Result<Option<AccountView>, StoreError> {
        match self.accounts.get(name).await? {
            Some(account) => Ok(Some(self.view(account).await)),
            None => Ok(None),
        }
    }

    /// Returns what an Agent of an Account is allowed, read now; none when there is none of that name. Writes nothing.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn permissions(&self, name: AccountName) -> Result<Option<AccountPermissions>, StoreError> {
        if self.accounts.get(name.clone()).await?.is_none() {
            return Ok(None);
        }
        let stands = match self.settings.read(&name).await {
            Ok(None) => Standing::Nothing,
            Ok(Some(list)) => Standing::List(list),
            Err(error) => Standing::Unreadable(error),
        };
        Ok(Some(AccountPermissions { file: self.settings.file(&name), account: name, stands }))
    }

    /// Removes an Account and its token; its directory stays, and is returned. None when there is none of that name.
    ///
    /// # Errors
    /// [`DropAccountError`].
    pub async fn remove(&self, name: AccountName) -> Result<Option<AbsPath>, DropAccountError> {
        let Some(account) = self.accounts.get(name.clone()).await? else {
            return Ok(None);
        };
        if !self.accounts.remove(name.clone()).await? {
            return Ok(None);
        }
        self.credentials.remove(CredentialName::Account(name)).await?;
        Ok(Some(account.directory))
    }

    async fn view(&self, account: Account) -> AccountView {
        let stored = self.credentials.get(CredentialName::Account(account.name.clone())).await;
        let token = stored.ok().flatten().map(|credential| credential.secret.hint());
        let settings_file = self.settings.file(&account.name);
        let settings_present = self.settings.is_present(&account.name).await;
        AccountView { account, token, settings_file, settings_present }
    }
}
