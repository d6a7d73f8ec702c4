//! The daemon's log, on standard error. Nothing secret has a format, so nothing secret can get here (D18).

use crate::config::daemon::LogLevel;
use tracing::Level;
use tracing_subscriber::{filter::Targets, layer::SubscriberExt as _, util::SubscriberInitExt as _};

/// Begins to log. Other crates are logged from `warn` on only: what they say of a call may hold its parameters.
pub(crate) fn start(level: LogLevel) {
    let level = match level {
        LogLevel::Error => Level::ERROR,
        LogLevel::Warn => Level::WARN,
        LogLevel::Info => Level::INFO,
        LogLevel::Debug => Level::DEBUG,
        LogLevel::Trace => Level::TRACE,
    };
    let ours = [
        "owl",
        "owl_rpc",
        "owl_sqlite",
        "owl_providers",
        "owl_secrets",
        "owl_files",
        "owl_process",
        "owl_git",
        "owl_agents",
    ];
    let targets = Targets::new().with_default(Level::WARN.min(level)).with_targets(ours.map(|name| (name, level)));
    let format = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    if tracing_subscriber::registry().with(targets).with(format).try_init().is_err() {
        tracing::debug!("a log is kept already");
    }
}
