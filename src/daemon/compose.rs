//! Builds the adapters and the services: the one list of concrete types (D1).

use super::{
    legs::LegRunner,
    unattended::{self, Unattended},
};
use crate::config::{
    daemon::{Config, CredentialStore},
    places::Places,
    project::BaseTerms,
};
use owl_domain::{
    conversation::ConversationService,
    gate::Program,
    judge::Judge,
    ports::{Clock, Commands, Credentials, Legs, Paths, Providers, Repositories, Terms},
    project::ProjectService,
    provider::ProviderService,
    text::AbsPath,
    time::Timestamp,
    turn::{ChatPorts, ChatService},
};
use owl_files::HostPaths;
use owl_git::{GitJobs, GitRepositories};
use owl_process::{HostCommands, Spawner};
use owl_providers::{HttpProviders, Pace};
use owl_rpc::{LiveTexts, RpcEventText};
use owl_secrets::{FromEnvironment, Store};
use owl_sqlite::SqliteStore;
use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

/// The services, and what the daemon itself needs of the adapters.
pub(crate) struct Composed {
    pub(crate) store: SqliteStore,
    pub(crate) chat: Arc<ChatService>,
    pub(crate) conversations: Arc<ConversationService>,
    pub(crate) projects: Arc<ProjectService>,
    pub(crate) providers: Arc<ProviderService>,
    pub(crate) judge: Arc<Judge>,
    pub(crate) commands: Arc<HostCommands>,
    pub(crate) live: Arc<LiveTexts>,
    pub(crate) legs: Arc<LegRunner>,
    pub(crate) unattended: Unattended,
    pub(crate) clock: Arc<dyn Clock>,
}

/// Builds everything. The database is opened and migrated here; nothing is served yet.
///
/// # Errors
/// Says which file could not be used and why.
pub(crate) async fn compose(config: &Config, places: &Places) -> anyhow::Result<Composed> {
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        tracing::debug!("a crypto provider is installed already");
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let store = SqliteStore::open(&places.database(), Arc::new(RpcEventText))?;
    let spawner = Spawner::new();

    let registered = store.projects().list().await?;
    let roots: Vec<_> = registered.iter().map(|project| project.root().clone()).collect();
    let commands = Arc::new(HostCommands::start(spawner.clone(), config.sandbox, &roots).await);
    // Without a git of the system every call says that it could not be started, and commands that it is not installed.
    let git = commands.program(Program::Git).map_or_else(|| AbsPath::new("/usr/bin/git"), Ok)?;
    let state = AbsPath::new(places.state.to_string_lossy())?;
    let git = Arc::new(GitRepositories::new(spawner.clone(), &git, &state));
    let repositories: Arc<dyn Repositories> = git.clone();
    let paths: Arc<dyn Paths> = Arc::new(HostPaths::new());
    let terms: Arc<dyn Terms> = Arc::new(BaseTerms::new(repositories.clone()));
    let projects =
        ProjectService::new(store.projects(), repositories.clone(), paths.clone(), terms.clone(), clock.clone());
    let worktrees = AbsPath::new(places.worktrees().canonicalize()?.to_string_lossy())?;
    let projects = projects.keeping_out_of(own_directories(places)).with_worktrees_in(worktrees.clone());
    let projects = Arc::new(projects);
    let credentials = credentials(config, places)?;

    let asked: Arc<dyn Providers> =
        Arc::new(HttpProviders::new(env!("CARGO_PKG_VERSION"), clock.clone(), Pace::EARNEST));
    let providers = Arc::new(ProviderService::new(asked, store.provider_configs(), credentials.clone()));
    let judge = Arc::new(Judge::new(paths, repositories, commands.clone(), projects.clone()));
    let live = Arc::new(LiveTexts::new());
    let legs = Arc::new(LegRunner::new());
    let unattended = unattended::compose(
        config,
        places,
        unattended::Shared {
            store: &store,
            directory: AbsPath::new(places.accounts().to_string_lossy())?,
            spawner,
            jobs: Arc::new(GitJobs::new(git, worktrees)),
            terms,
            credentials,
            projects: projects.clone(),
            clock: clock.clone(),
        },
    );
    let ports = ChatPorts {
        turns: store.turns(),
        proposals: store.proposals(),
        grants: store.grants(),
        conversations: store.conversations(),
        commands: commands.clone(),
        live: live.clone(),
        legs: legs.clone(),
        clock: clock.clone(),
        judge: judge.clone(),
        projects: projects.clone(),
        providers: providers.clone(),
        jobs: unattended.jobs.clone(),
    };
    let chat = Arc::new(ChatService::new(ports, config.consent_window));
    let woken: Arc<dyn Legs> = legs.clone();
    let conversations = Arc::new(ConversationService::new(
        store.conversations(),
        store.turns(),
        store.proposals(),
        projects.clone(),
        woken,
        clock.clone(),
    ));
    Ok(Composed { store, chat, conversations, projects, providers, judge, commands, live, legs, unattended, clock })
}

/// Owl's own directories, resolved: no Project may hold one.
fn own_directories(places: &Places) -> Vec<AbsPath> {
    let resolved = [&places.config, &places.data, &places.state].map(|path| path.canonicalize().ok());
    resolved.into_iter().flatten().filter_map(|path| AbsPath::new(path.to_string_lossy()).ok()).collect()
}

fn credentials(config: &Config, places: &Places) -> anyhow::Result<Arc<dyn Credentials>> {
    let wanted = match config.credential_store {
        None => Store::default(),
        Some(CredentialStore::Keychain) => Store::Keychain,
        Some(CredentialStore::File) => Store::File,
    };
    let stored = owl_secrets::credentials(wanted, places.credentials())?;
    if config.providers_from_environment {
        let from = FromEnvironment::new(stored, |name| std::env::var(name).ok())?;
        return Ok(Arc::new(from));
    }
    Ok(stored)
}

/// The system's clock.
struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}
