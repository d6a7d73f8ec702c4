//! `owl.db`: Conversations, consent, Jobs and events as rows (ADR-0022, ADR-0035, D16). No network, no processes, no rules: what is due
//! and what is allowed is the domain's.
//!
//! One thread writes, each change in one transaction with its events; connections beside it read. Nobody is told of a
//! change before it is committed.

mod accounts;
mod change;
mod check;
mod conversations;
mod database;
mod events;
mod failure;
mod items;
mod jobs;
mod json;
mod keys;
mod migrate;
mod open;
mod page;
mod projects;
mod proposals;
mod provider_configs;
mod readers;
mod recent;
mod rows;
mod runs;
mod search;
mod sql;
mod texts;
mod turns;
mod writer;

pub use open::OpenStoreError;

use check::Watch;
use database::Database;
use owl_domain::ports::{
    Accounts, Conversations, EventText, Events, Grants, Jobs, Projects, Proposals, ProviderConfigs, Runs, StoreError,
    Turns,
};
use std::{path::Path, sync::Arc};

const AT_WORK: &str = concat!(
    "SELECT count(*), ifnull(sum(",
    rows::awaiting!(),
    "), 0), (SELECT count(*) FROM runs WHERE finished_at IS NULL) FROM turns t WHERE t.finished_at IS NULL"
);

/// The open database. Clones share it.
#[derive(Clone)]
pub struct SqliteStore {
    database: Database,
    projects: Arc<projects::Listed>,
    watch: Arc<Watch>,
}

/// How the database is, for `system.health`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreHealth {
    /// What is wrong and what to do; none when it reads and its last write went well.
    pub failing: Option<StoreError>,
    /// Turns at work; 0 when that could not be read.
    pub turns_running: u64,
    /// Turns that only wait for a person.
    pub turns_waiting: u64,
    /// Runs at work; 0 when that could not be read.
    pub runs_active: u64,
}

impl SqliteStore {
    /// Opens the database, which is created, migrated and looked at first. Blocks for some milliseconds; longer when a
    /// database is migrated, which is copied before. `text` writes events as clients get them.
    ///
    /// # Errors
    /// [`OpenStoreError`] says what is wrong with the file and what to do.
    pub fn open(path: &Path, text: Arc<dyn EventText>) -> Result<Self, OpenStoreError> {
        open::open(path, text)
    }

    pub(crate) fn new(database: Database, watch: Watch) -> Self {
        Self { database, projects: Arc::default(), watch: Arc::new(watch) }
    }

    /// Returns Turns as rows.
    pub fn turns(&self) -> Arc<dyn Turns> {
        Arc::new(turns::SqliteTurns(self.database.clone()))
    }

    /// Returns Proposals as rows.
    pub fn proposals(&self) -> Arc<dyn Proposals> {
        Arc::new(proposals::SqliteProposals(self.database.clone()))
    }

    /// Returns Grants as rows.
    pub fn grants(&self) -> Arc<dyn Grants> {
        Arc::new(proposals::SqliteGrants(self.database.clone()))
    }

    /// Returns Conversations as rows.
    pub fn conversations(&self) -> Arc<dyn Conversations> {
        Arc::new(conversations::SqliteConversations(self.database.clone()))
    }

    /// Returns stored events.
    pub fn events(&self) -> Arc<dyn Events> {
        Arc::new(events::SqliteEvents(self.database.clone()))
    }

    /// Returns registered Projects as rows.
    pub fn projects(&self) -> Arc<dyn Projects> {
        Arc::new(projects::SqliteProjects::new(self.database.clone(), self.projects.clone()))
    }

    /// Returns Providers' settings as rows.
    pub fn provider_configs(&self) -> Arc<dyn ProviderConfigs> {
        Arc::new(provider_configs::SqliteProviderConfigs(self.database.clone()))
    }

    /// Returns Accounts as rows.
    pub fn accounts(&self) -> Arc<dyn Accounts> {
        Arc::new(accounts::SqliteAccounts(self.database.clone()))
    }

    /// Returns Jobs as rows.
    pub fn jobs(&self) -> Arc<dyn Jobs> {
        Arc::new(jobs::SqliteJobs(self.database.clone()))
    }

    /// Returns Runs as rows.
    pub fn runs(&self) -> Arc<dyn Runs> {
        Arc::new(runs::SqliteRuns(self.database.clone()))
    }

    /// Says how the database is: what was found to be damaged, how the last write failed, whether it can be read.
    pub async fn health(&self) -> StoreHealth {
        let counted = self
            .database
            .read(|db| sql::sure(db, AT_WORK, [], |row| Ok((row.count()?, row.count()?, row.count()?))))
            .await;
        let (unfinished, turns_waiting, runs_active) = counted.as_ref().copied().unwrap_or_default();
        let failing = self.watch.found().or_else(|| self.database.failed()).or(counted.err());
        StoreHealth { failing, turns_running: unfinished - turns_waiting, turns_waiting, runs_active }
    }

    /// Closes the database: what was begun is finished, streamed text is written, later calls are refused, and the log
    /// is moved into the file.
    pub async fn close(&self) {
        self.watch.stop();
        self.database.close().await;
    }
}

#[cfg(test)]
mod tests;
