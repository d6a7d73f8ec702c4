//! Builds what Agents need: Accounts, Jobs, their Driver and whoever carries Runs on (ADR-0035).

use super::run_legs::RunLegRunner;
use crate::config::{daemon::Config, places::Places};
use owl_agents::{Bounds, ClaudeCode, Environment, ShellChecks, VerdictFiles};
use owl_domain::{
    account::AccountService,
    job::{JobPorts, JobService},
    ports::{AccountSettings, Clock, Credentials, JobRepositories, RunLogs, Terms},
    project::ProjectService,
    text::AbsPath,
};
use owl_files::{HostAccountSettings, HostRunLogs};
use owl_process::Spawner;
use owl_sqlite::SqliteStore;
use std::sync::Arc;

/// The services of Agents, and what the daemon itself needs of them.
pub(crate) struct Unattended {
    pub(crate) accounts: Arc<AccountService>,
    pub(crate) jobs: Arc<JobService>,
    pub(crate) logs: Arc<dyn RunLogs>,
    pub(crate) legs: Arc<RunLegRunner>,
}

/// What Agents share with the rest of the daemon.
pub(super) struct Shared<'a> {
    pub(super) store: &'a SqliteStore,
    /// Where Accounts' directories are.
    pub(super) directory: AbsPath,
    pub(super) spawner: Spawner,
    pub(super) jobs: Arc<dyn JobRepositories>,
    pub(super) terms: Arc<dyn Terms>,
    pub(super) credentials: Arc<dyn Credentials>,
    pub(super) projects: Arc<ProjectService>,
    pub(super) clock: Arc<dyn Clock>,
}

/// Builds it. Starts nothing.
pub(super) fn compose(config: &Config, places: &Places, shared: Shared<'_>) -> Unattended {
    let Shared { store, directory, spawner, jobs, terms, credentials, projects, clock } = shared;
    let settings: Arc<dyn AccountSettings> = Arc::new(HostAccountSettings::new(directory));
    let logs: Arc<dyn RunLogs> = Arc::new(HostRunLogs::new(places.logs()));
    let legs = Arc::new(RunLegRunner::new());
    let environment = Environment::of(std::env::vars_os());
    // What is started is marked with the data directory: there is one daemon of each.
    let home = places.data.to_string_lossy().into_owned();
    let bounds = Bounds { timeout: config.runs_timeout, silence: config.runs_silence };
    let claude_path = config.claude_path.clone();
    let driver = ClaudeCode::new(spawner.clone(), claude_path, environment.clone(), home.clone(), bounds);
    let accounts = AccountService::new(store.accounts(), settings.clone(), credentials.clone(), clock.clone());
    let jobs = JobService::new(JobPorts {
        jobs: store.jobs(),
        runs: store.runs(),
        accounts: store.accounts(),
        settings,
        credentials,
        terms,
        repositories: jobs,
        driver: Arc::new(driver),
        checks: Arc::new(ShellChecks::new(spawner, environment, home)),
        verdicts: Arc::new(VerdictFiles::new(places.verdicts())),
        logs: logs.clone(),
        legs: legs.clone(),
        clock,
        projects,
    });
    Unattended { accounts: Arc::new(accounts), jobs: Arc::new(jobs), logs, legs }
}
