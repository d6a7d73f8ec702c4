//! `system.info` and `system.health`.

use super::Api;
use crate::{
    table::{NoParams, Table},
    wire,
};
use async_trait::async_trait;
use std::sync::Arc;

/// Tells how the daemon is right now.
#[async_trait]
pub trait Health: Send + Sync {
    /// Returns what can be said without waiting for anything that is stuck.
    async fn report(&self) -> Report;
}

/// How the daemon is right now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// What is wrong with the database; none when it answers.
    pub database_failing: Option<String>,
    /// How long the daemon has been up.
    pub uptime_ms: u64,
    /// Turns at work.
    pub turns_running: u64,
    /// Turns that wait for a person.
    pub turns_waiting: u64,
    /// Commands at work.
    pub commands_running: u64,
    /// Runs at work.
    pub runs_active: u64,
}

pub(super) fn add(table: &mut Table, api: &Arc<Api>) {
    let info = api.clone();
    table.answer(
        "system.info",
        "Returns what the daemon is: versions, limits, where things lie.",
        move |_, NoParams {}| Ok(info.system.clone()),
    );
    let health = api.clone();
    table.read("system.health", "Returns how the daemon is.", &[], move |caller, NoParams {}| {
        let api = health.clone();
        async move {
            let report = api.health.report().await;
            let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
            Ok(wire::Health {
                ok: report.database_failing.is_none(),
                database: if report.database_failing.is_none() { "ok" } else { "failing" },
                message: report.database_failing,
                uptime_ms: report.uptime_ms,
                last_seq: api.events.newest().0,
                connections: count(caller.connections()),
                subscriptions: count(caller.subscriptions()),
                turns_running: report.turns_running,
                turns_waiting: report.turns_waiting,
                commands_running: report.commands_running,
                runs_active: report.runs_active,
            })
        }
    });
}
