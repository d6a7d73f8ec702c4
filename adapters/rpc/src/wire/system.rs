//! The daemon itself: what it is, where it keeps things, how it is.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What the daemon is.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct System {
    /// Always `coding-owl`.
    pub name: &'static str,
    /// Owl's version.
    pub version: String,
    /// The API's version: fields and types may be added under the same major.
    pub api: &'static str,
    /// New at each start.
    pub instance: String,
    /// The daemon's process.
    pub pid: u32,
    /// When it started.
    pub started_at: String,
    /// What this daemon can do.
    pub features: Vec<&'static str>,
    /// What commands run under.
    pub confinement: SystemConfinement,
    /// What the configuration asks of the kernel: `auto`, `required` or `off`.
    pub sandbox: &'static str,
    /// `keychain` or `file`.
    pub credential_store: &'static str,
    /// Where each program was found; null when not in a trusted directory.
    pub programs: BTreeMap<&'static str, Option<String>>,
    /// Where things lie.
    pub paths: SystemPaths,
    /// Every limit as it is in force.
    pub limits: BTreeMap<&'static str, u64>,
}

/// What the kernel's guards are.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SystemConfinement {
    /// What commands run under.
    #[schemars(schema_with = "super::names::confinement")]
    pub kind: &'static str,
    /// The kernel's Landlock version.
    pub landlock_abi: Option<u32>,
    /// What the kernel does not offer.
    pub missing: Vec<&'static str>,
}

/// Where things lie.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SystemPaths {
    /// The socket.
    pub socket: String,
    /// The configuration file.
    pub config: String,
    /// The data directory.
    pub data: String,
    /// The state directory.
    pub state: String,
    /// The database.
    pub database: String,
    /// The logs of Runs.
    pub logs: String,
}

/// How the daemon is.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Health {
    /// Whether all is well.
    pub ok: bool,
    /// `ok` or `failing`.
    pub database: &'static str,
    /// What is wrong.
    pub message: Option<String>,
    /// How long it has been up.
    pub uptime_ms: u64,
    /// The number of the newest event.
    pub last_seq: i64,
    /// Connections that are open.
    pub connections: u64,
    /// Subscriptions that live.
    pub subscriptions: u64,
    /// Turns at work.
    pub turns_running: u64,
    /// Turns that wait for a person.
    pub turns_waiting: u64,
    /// Commands at work.
    pub commands_running: u64,
    /// Runs at work.
    pub runs_active: u64,
}
