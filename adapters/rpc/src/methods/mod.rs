//! The methods of the API, one file per noun: parse, call the service, map the error. No rule of Owl's is here (D7).

mod accounts;
mod chat;
mod commands;
mod consent;
mod conversations;
mod events;
mod export;
mod fields;
mod jobs;
mod policy;
mod projects;
mod providers;
mod runs;
mod system;

pub use system::{Health, Report};

use crate::{error::RpcError, live::LiveTexts, table::Table, wire::System};
use owl_domain::{
    account::AccountService,
    conversation::ConversationService,
    job::JobService,
    judge::Judge,
    ports::{Clock, Events, RunLogs, Stop},
    project::ProjectService,
    provider::ProviderService,
    text::ProjectName,
    turn::ChatService,
};
use std::sync::Arc;

/// What the methods call.
pub struct Api {
    /// Sends, answers, waits.
    pub chat: Arc<ChatService>,
    /// Conversations and the record of commands.
    pub conversations: Arc<ConversationService>,
    /// Projects and workdirs.
    pub projects: Arc<ProjectService>,
    /// Providers and their models.
    pub providers: Arc<ProviderService>,
    /// Accounts and what their Agents are allowed.
    pub accounts: Arc<AccountService>,
    /// Jobs and Runs.
    pub jobs: Arc<JobService>,
    /// Runs' logs.
    pub logs: Arc<dyn RunLogs>,
    /// Ends what a call does that takes long when the daemon stops.
    pub stop: Arc<dyn Stop>,
    /// The gate with its facts.
    pub judge: Arc<Judge>,
    /// Stored events.
    pub events: Arc<dyn Events>,
    /// Text on its way.
    pub live: Arc<LiveTexts>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// What the daemon is.
    pub system: System,
    /// How the daemon is.
    pub health: Arc<dyn Health>,
}

impl Api {
    /// Reads the name of a Project that a list is about; `not_found` when no such Project is registered.
    async fn registered(&self, name: Option<&str>) -> Result<Option<ProjectName>, RpcError> {
        let Some(name) = name.map(fields::project).transpose()? else {
            return Ok(None);
        };
        let known = self.projects.registered().await?.iter().any(|project| project.name == name);
        if known { Ok(Some(name)) } else { Err(RpcError::not_found("project", &name)) }
    }
}

/// Returns the table of all methods.
pub fn table(api: &Arc<Api>) -> Table {
    let mut table = Table::new();
    system::add(&mut table, api);
    projects::add(&mut table, api);
    conversations::add(&mut table, api);
    export::add(&mut table, api);
    chat::add(&mut table, api);
    events::add(&mut table, api);
    consent::add(&mut table, api);
    policy::add(&mut table, api);
    commands::add(&mut table, api);
    providers::add(&mut table, api);
    accounts::add(&mut table, api);
    jobs::add(&mut table, api);
    runs::add(&mut table, api);
    table
}

#[cfg(test)]
mod tests;
