//! The daemon's life: config, lock, open and migrate, recover, bind, wake, serve; then all of it in reverse (D4).

use super::{
    about,
    compose::{self, Composed},
    telemetry,
};
use crate::config::{
    daemon::{self, Config},
    places::Places,
};
use anyhow::Context as _;
use async_trait::async_trait;
use owl_domain::{
    ports::Freshness,
    provider::{Provider, ProviderService},
};
use owl_files::DataLock;
use owl_process::HostCommands;
use owl_rpc::{Api, Directory, Health, Report, Server};
use owl_sqlite::SqliteStore;
use std::{
    os::unix::net::UnixDatagram,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    signal::unix::{SignalKind, signal},
    task::JoinHandle,
    time::{timeout, timeout_at},
};

/// The whole stop takes less than five seconds (D4): legs with the commands and Agents that they run get most of it, and
/// calls that run get what is left. An Agent gets its SIGKILL after three of them.
const STOP_WITHIN: Duration = Duration::from_millis(4_500);
const LEGS_WITHIN: Duration = Duration::from_secs(4);

/// Runs the daemon in the foreground until it is told to stop.
///
/// # Errors
/// Says which file or directory could not be used and why; nothing listens then.
pub(crate) async fn run(places: Places) -> anyhow::Result<()> {
    let config = daemon::load(&places.config_file())?;
    telemetry::start(config.log_level);
    // Before anything that takes time, so that no signal is lost.
    let mut terminate = signal(SignalKind::terminate()).context("SIGTERM cannot be waited for")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("SIGINT cannot be waited for")?;
    let running = Running::start(&config, places).await?;
    notify_ready();
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("stopping");
    tokio::select! {
        () = running.stop() => {}
        // A second signal means: now.
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// A daemon that serves.
pub(crate) struct Running {
    composed: Composed,
    server: owl_rpc::Running,
    timer: JoinHandle<()>,
    _lock: DataLock,
}

impl Running {
    /// Starts one: everything is valid, recovered and carried on before the socket exists.
    ///
    /// # Errors
    /// Says what could not be used and why; nothing listens then.
    pub(crate) async fn start(config: &Config, places: Places) -> anyhow::Result<Self> {
        owl_rpc::check_length(&places.socket)?;
        for directory in
            [&places.data, &places.state, &places.logs(), &places.git(), &places.accounts(), &places.worktrees()]
        {
            owl_files::create_dir(directory)?;
        }
        let lock = DataLock::take(&places.lock())?;
        let composed = compose::compose(config, &places).await?;
        composed.chat.recover().await?;
        composed.unattended.jobs.recover().await?;
        let api = Arc::new(api(&composed, config, &places));
        let listening = owl_rpc::Config {
            socket: places.socket.clone(),
            directory: if places.socket_is_chosen { Directory::Chosen } else { Directory::Own },
            limits: owl_rpc::Limits { connections: about::connections(), ..owl_rpc::Limits::default() },
        };
        let server = Server::start(listening, owl_rpc::table(&api))?;
        composed.unattended.legs.start(composed.unattended.jobs.clone());
        let timer = composed.legs.start(composed.chat.clone(), composed.clock.clone());
        tokio::spawn(learn_models(composed.providers.clone()));
        tracing::info!(socket = %places.socket.display(), "listening");
        Ok(Self { composed, server, timer, _lock: lock })
    }

    /// Stops: nobody is served any more, what runs is ended, what waits is left as it is.
    pub(crate) async fn stop(self) {
        self.server.refuse();
        let deadline = tokio::time::Instant::now() + STOP_WITHIN;
        // Subscribers see how their Turns and Runs ended before they are told that the daemon stops.
        let (turns, runs) = (self.composed.legs.stop(), self.composed.unattended.legs.stop());
        let ended = timeout(LEGS_WITHIN, async { tokio::join!(turns, runs) }).await.is_ok();
        let told = timeout_at(deadline, self.server.stop()).await.is_ok();
        if !ended || !told {
            tracing::warn!("something did not end in time; it is told as interrupted after the next start");
        }
        self.timer.abort();
        self.composed.store.close().await;
    }
}

/// Tells how the daemon is, as far as the socket does not know it.
struct DaemonHealth {
    store: SqliteStore,
    commands: Arc<HostCommands>,
    started: Instant,
}

#[async_trait]
impl Health for DaemonHealth {
    async fn report(&self) -> Report {
        let store = self.store.health().await;
        Report {
            database_failing: store.failing.map(|error| error.to_string()),
            uptime_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            turns_running: store.turns_running,
            turns_waiting: store.turns_waiting,
            commands_running: u64::try_from(self.commands.running()).unwrap_or(u64::MAX),
            runs_active: store.runs_active,
        }
    }
}

fn api(composed: &Composed, config: &Config, places: &Places) -> Api {
    let health =
        DaemonHealth { store: composed.store.clone(), commands: composed.commands.clone(), started: Instant::now() };
    Api {
        chat: composed.chat.clone(),
        conversations: composed.conversations.clone(),
        projects: composed.projects.clone(),
        providers: composed.providers.clone(),
        accounts: composed.unattended.accounts.clone(),
        jobs: composed.unattended.jobs.clone(),
        logs: composed.unattended.logs.clone(),
        stop: composed.unattended.legs.stopping(),
        judge: composed.judge.clone(),
        events: composed.store.events(),
        live: composed.live.clone(),
        clock: composed.clock.clone(),
        system: about::system(composed, config, places),
        health: Arc::new(health),
    }
}

/// Asks OpenRouter, when it has a key, for its catalogue: only that tells which models cannot call tools. Nobody waits for
/// it; until it is there tools are offered.
async fn learn_models(providers: Arc<ProviderService>) {
    if providers.access(Provider::OpenRouter).await.is_ok()
        && let Err(error) = providers.models(Some(Provider::OpenRouter), Freshness::LastHour).await
    {
        tracing::warn!(%error, "the catalogue of models could not be read");
    }
}

/// Tells systemd that the socket is there, when it asks for that (`Type=notify`).
fn notify_ready() {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    let told = UnixDatagram::unbound().and_then(|from| {
        // A name that begins with @ is an abstract one.
        #[cfg(target_os = "linux")]
        if let Some(name) = socket.as_encoded_bytes().strip_prefix(b"@") {
            use std::os::linux::net::SocketAddrExt as _;
            let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
            return from.send_to_addr(b"READY=1", &address);
        }
        from.send_to(b"READY=1", &socket)
    });
    if let Err(error) = told {
        tracing::warn!(%error, "the service manager could not be told that the daemon is ready");
    }
}
