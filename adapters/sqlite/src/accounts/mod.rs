//! Accounts as rows (ADR-0035). Their tokens and what their Agents may do are not here.

use crate::{
    change::Change,
    database::Database,
    failure::Failure,
    sql::{self, Columns, must, run, text},
};
use async_trait::async_trait;
use owl_domain::{
    account::Account,
    ids::JobId,
    ports::{Accounts, RemoveAccountError, StoreError},
    text::AccountName,
    time::Timestamp,
};
use rusqlite::params;

const ADD: &str = "INSERT INTO accounts (name, directory, seeded_at, created_at) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (name) DO NOTHING";
const LIST: &str = "SELECT name, directory, seeded_at, created_at FROM accounts ORDER BY name";
const GET: &str = "SELECT name, directory, seeded_at, created_at FROM accounts WHERE name = ?1";
const SEEDED: &str = "UPDATE accounts SET seeded_at = ?2 WHERE name = ?1";
const NEEDED_BY: &str =
    "SELECT id FROM jobs WHERE account = ?1 AND state IN ('pending', 'active', 'blocked', 'review') ORDER BY id";
const REMOVE: &str = "DELETE FROM accounts WHERE name = ?1";

/// The Accounts port over the database.
pub(crate) struct SqliteAccounts(pub(crate) Database);

#[async_trait]
impl Accounts for SqliteAccounts {
    async fn add(&self, account: Account) -> Result<bool, StoreError> {
        self.0
            .write(account.created_at, move |change| {
                let (name, directory) = (account.name.as_str(), account.directory.as_str());
                let seeded_at = account.seeded_at.map(Timestamp::millis);
                Ok(run(change.db(), ADD, params![name, directory, seeded_at, account.created_at.millis()])? > 0)
            })
            .await
    }

    async fn list(&self) -> Result<Vec<Account>, StoreError> {
        self.0.read(|db| sql::all(db, LIST, [], read)).await
    }

    async fn get(&self, name: AccountName) -> Result<Option<Account>, StoreError> {
        self.0.read(move |db| sql::one(db, GET, [name.as_str()], read)).await
    }

    async fn seeded(&self, name: AccountName, at: Timestamp) -> Result<(), StoreError> {
        let seeded = move |change: &mut Change<'_>| {
            must(change.db(), SEEDED, params![name.as_str(), at.millis()], "this account")
        };
        self.0.write(at, seeded).await
    }

    async fn remove(&self, name: AccountName) -> Result<bool, RemoveAccountError> {
        self.0.write(Timestamp::default(), move |change| remove(change, &name)).await?
    }
}

fn remove(change: &Change<'_>, name: &AccountName) -> Result<Result<bool, RemoveAccountError>, Failure> {
    let by = sql::all(change.db(), NEEDED_BY, [name.as_str()], |row| row.id(JobId::new))?;
    if !by.is_empty() {
        return Ok(Err(RemoveAccountError::InUse { by }));
    }
    Ok(Ok(run(change.db(), REMOVE, [name.as_str()])? > 0))
}

fn read(row: &mut Columns<'_>) -> Result<Account, Failure> {
    Ok(Account {
        name: text(row.next()?, AccountName::new, "an account's name")?,
        directory: row.path()?,
        seeded_at: row.maybe_time()?,
        created_at: row.time()?,
    })
}
