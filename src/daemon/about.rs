//! What the daemon says of itself: `system.info`, with every limit as it is in force.

use super::compose::Composed;
use crate::config::{daemon::Config, places::Places};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use owl_domain::{
    gate::{Program, Sandbox},
    limits,
    ports::Commands as _,
};
use owl_rpc::wire::{System, SystemConfinement, SystemPaths};
use std::{collections::BTreeMap, path::Path, time::Duration};

/// Descriptors that are left for everything but connections: files, pipes of commands, the database.
const OTHER_FILES: u64 = 512;

/// Returns how many connections may be open: as many as rpc's limit, less where the process may not open that many
/// files. Raises the process's own limit as far as it may.
pub(super) fn connections() -> usize {
    let wanted = u64::try_from(limits::CONNECTIONS).unwrap_or(u64::MAX).saturating_add(OTHER_FILES);
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return limits::CONNECTIONS;
    };
    let raised = wanted.min(hard);
    let files = if soft < raised && setrlimit(Resource::RLIMIT_NOFILE, raised, hard).is_ok() { raised } else { soft };
    let connections = limits::CONNECTIONS.min(usize::try_from(files.saturating_sub(OTHER_FILES).max(16)).unwrap_or(16));
    if connections < limits::CONNECTIONS {
        tracing::warn!(connections, "fewer connections than usual: the process may not open more files");
    }
    connections
}

pub(super) fn system(composed: &Composed, config: &Config, places: &Places) -> System {
    let wall = composed.commands.wall();
    let programs =
        Program::ALL.map(|program| (program.name(), composed.commands.program(program).map(|path| path.to_string())));
    System {
        name: "coding-owl",
        version: env!("CARGO_PKG_VERSION").into(),
        api: "1.0",
        instance: uuid::Uuid::new_v4().simple().to_string(),
        pid: std::process::id(),
        started_at: composed.clock.now().to_string(),
        features: vec!["lines", "http", "websocket", "subscriptions", "consent", "jobs"],
        confinement: SystemConfinement {
            kind: wall.confinement.name(),
            landlock_abi: wall.landlock_abi,
            missing: wall.missing,
        },
        sandbox: match wall.sandbox {
            Sandbox::Auto => "auto",
            Sandbox::Required => "required",
            Sandbox::Off => "off",
        },
        credential_store: composed.providers.credential_store(),
        programs: BTreeMap::from(programs),
        paths: paths(places),
        limits: in_force(config),
    }
}

fn paths(places: &Places) -> SystemPaths {
    let told = |path: &Path| path.display().to_string();
    SystemPaths {
        socket: told(&places.socket),
        config: told(&places.config_file()),
        data: told(&places.data),
        state: told(&places.state),
        database: told(&places.database()),
        logs: told(&places.logs()),
    }
}

fn in_force(config: &Config) -> BTreeMap<&'static str, u64> {
    let size = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    BTreeMap::from([
        ("request_bytes", size(limits::REQUEST_BYTES)),
        ("response_bytes", size(limits::RESPONSE_BYTES)),
        ("batch_entries", size(limits::BATCH_ENTRIES)),
        ("connections", size(connections())),
        ("subscriptions_per_connection", size(limits::SUBSCRIPTIONS_PER_CONNECTION)),
        ("calls_in_flight_per_connection", size(limits::CALLS_IN_FLIGHT_PER_CONNECTION)),
        ("queue_messages_per_connection", size(limits::QUEUE_MESSAGES_PER_CONNECTION)),
        ("stuck_subscriber_ms", millis(limits::STUCK_SUBSCRIBER)),
        ("first_byte_ms", millis(limits::FIRST_BYTE)),
        ("text_bytes", size(limits::TEXT_BYTES)),
        ("prompt_bytes", size(limits::PROMPT_BYTES)),
        ("title_chars", size(limits::TITLE_CHARS)),
        ("reason_bytes", size(limits::REASON_BYTES)),
        ("search_chars", size(limits::SEARCH_CHARS)),
        ("client_key_chars", size(limits::CLIENT_KEY_CHARS)),
        ("api_key_bytes", size(limits::API_KEY_BYTES)),
        ("models_per_provider", size(limits::MODELS_PER_PROVIDER)),
        ("command_bytes", size(limits::COMMAND_BYTES)),
        ("command_words", size(limits::COMMAND_WORDS)),
        ("command_ms", millis(limits::COMMAND_DEADLINE)),
        ("commands_running", size(limits::COMMANDS_RUNNING)),
        ("stdout_bytes", size(limits::STDOUT_HEAD_BYTES + limits::STDOUT_TAIL_BYTES)),
        ("stderr_bytes", size(2 * limits::STDERR_PART_BYTES)),
        ("consent_window_ms", millis(config.consent_window)),
        ("proposals_pending_per_conversation", size(limits::PROPOSALS_PENDING)),
        ("calls_per_reply", size(limits::CALLS_PER_REPLY)),
        ("rounds_per_turn", limits::ROUNDS_PER_TURN.into()),
        ("reply_text_bytes", size(limits::REPLY_TEXT_BYTES)),
        ("page_items", limits::PAGE_ITEMS.into()),
        ("page_bytes", size(limits::PAGE_BYTES)),
        ("runs_active", size(limits::RUNS_ACTIVE)),
        ("wait_ms", millis(limits::WAIT)),
    ])
}
