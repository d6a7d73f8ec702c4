//! The methods of the API over ports that a test scripts: events in memory, everything else a mock.

use crate::{Api, Health, LiveTexts, Report, RpcEventText, samples, wire};
use async_trait::async_trait;
use owl_domain::{
    account::AccountService,
    conversation::{ConversationService, ConversationState, Paged},
    gate::Confinement,
    ids::{ItemId, Seq},
    job::{JobPorts, JobService},
    judge::Judge,
    ports::*,
    project::ProjectService,
    provider::ProviderService,
    time::Timestamp,
    turn::{About, ChatPorts, ChatService, Event, EventBody},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::sync::watch;

/// Events as a store would keep them.
pub(crate) struct MemoryEvents {
    rows: Mutex<Vec<StoredEvent>>,
    newest: watch::Sender<i64>,
    standing: Mutex<Standing>,
    /// Runs once, right after a standing was taken: what another connection does in that moment.
    pub(crate) after_standing: Mutex<Option<Then>>,
}

type Then = Box<dyn FnOnce(&MemoryEvents) + Send>;

impl MemoryEvents {
    pub(crate) fn new() -> Arc<Self> {
        let standing = Standing {
            newest: Seq(0),
            state: Some(ConversationState::Running),
            turn: Some(samples::TURN),
            pending: Vec::new(),
            pending_total: 0,
        };
        Arc::new(Self {
            rows: Mutex::default(),
            newest: watch::Sender::new(0),
            standing: Mutex::new(standing),
            after_standing: Mutex::default(),
        })
    }

    /// Stores an event and tells of it.
    pub(crate) fn store(&self, event: &Event) {
        let item = match &event.body {
            EventBody::ItemStarted(item) | EventBody::ItemCompleted(item) => Some(item.id),
            _ => None,
        };
        let row = StoredEvent {
            seq: event.seq,
            about: event.about,
            name: event.body.name(),
            item,
            text: RpcEventText.encode(event),
        };
        self.rows.lock().unwrap().push(row);
        self.newest.send_replace(event.seq.0);
    }

    pub(crate) fn wait_with(&self, pending: Vec<owl_domain::consent::Proposal>) {
        let mut standing = self.standing.lock().unwrap();
        standing.pending_total = pending.len() as u64;
        standing.pending = pending;
    }
}

#[async_trait]
impl Events for MemoryEvents {
    fn newest(&self) -> Seq {
        Seq(*self.newest.borrow())
    }

    async fn newer_than(&self, seq: Seq) -> Seq {
        Seq(*self.newest.subscribe().wait_for(|newest| *newest > seq.0).await.unwrap())
    }

    async fn after(&self, seq: Seq, scope: EventScope, most: usize) -> Result<Vec<StoredEvent>, StoreError> {
        let in_scope = |row: &&StoredEvent| match (&scope, row.about) {
            (EventScope::All, _) => true,
            (EventScope::Conversation(id), About::Conversation(about, _)) => about == *id,
            (EventScope::Conversation(_), About::Job(_)) => false,
        };
        let rows = self.rows.lock().unwrap();
        Ok(rows.iter().filter(|row| row.seq > seq).filter(in_scope).take(most).cloned().collect())
    }

    async fn standing(&self, _: EventScope) -> Result<Standing, StoreError> {
        let standing = Standing { newest: self.newest(), ..self.standing.lock().unwrap().clone() };
        if let Some(then) = self.after_standing.lock().unwrap().take() {
            then(self);
        }
        Ok(standing)
    }
}

/// The ports that a test may script. There is one Conversation.
pub(crate) struct Ports {
    pub(crate) events: Arc<MemoryEvents>,
    pub(crate) live: Arc<LiveTexts>,
    pub(crate) conversations: MockConversations,
    pub(crate) turns: MockTurns,
    pub(crate) proposals: MockProposals,
    pub(crate) grants: MockGrants,
    pub(crate) projects: MockProjects,
    pub(crate) providers: MockProviders,
    pub(crate) configs: MockProviderConfigs,
    pub(crate) credentials: MockCredentials,
    pub(crate) legs: MockLegs,
    pub(crate) jobs: MockJobs,
    pub(crate) runs: MockRuns,
    pub(crate) logs: MockRunLogs,
    pub(crate) accounts: MockAccounts,
    pub(crate) settings: MockAccountSettings,
}

impl Ports {
    pub(crate) fn new() -> Self {
        let mut conversations = MockConversations::new();
        conversations.expect_get().returning(|id| Ok((id == samples::CHAT).then(samples::conversation)));
        let mut turns = MockTurns::new();
        turns.expect_newest().returning(|_| Ok(None));
        let mut proposals = MockProposals::new();
        proposals.expect_list().returning(|_, _| Ok(Paged { items: Vec::new(), next: None }));
        let mut projects = MockProjects::new();
        projects.expect_list().returning(|| Ok(Vec::new()));
        let mut legs = MockLegs::new();
        legs.expect_wake().return_const(());
        Self {
            events: MemoryEvents::new(),
            live: Arc::new(LiveTexts::new()),
            conversations,
            turns,
            proposals,
            grants: MockGrants::new(),
            projects,
            providers: MockProviders::new(),
            configs: MockProviderConfigs::new(),
            credentials: MockCredentials::new(),
            legs,
            jobs: MockJobs::new(),
            runs: MockRuns::new(),
            logs: MockRunLogs::new(),
            accounts: MockAccounts::new(),
            settings: MockAccountSettings::new(),
        }
    }

    /// Has the store say that these Items are open.
    pub(crate) fn open_items(&mut self, items: Vec<owl_domain::conversation::Item>) {
        self.conversations.expect_items().returning(move |_, _, _| Ok(Items { items: items.clone(), has_more: false }));
    }

    pub(crate) fn api(self) -> Arc<Api> {
        let mut clock = MockClock::new();
        clock.expect_now().returning(|| samples::at("2026-11-30T21:04:05.000Z"));
        let clock: Arc<dyn Clock> = Arc::new(clock);
        let paths = MockPaths::new();
        let (paths, repositories) = (Arc::new(paths), Arc::new(MockRepositories::new()));
        let projects = Arc::new(ProjectService::new(
            Arc::new(self.projects),
            repositories.clone(),
            paths.clone(),
            Arc::new(MockTerms::new()),
            clock.clone(),
        ));
        let commands = Arc::new(MockCommands::new());
        let judge = Arc::new(Judge::new(paths, repositories, commands.clone(), projects.clone()));
        let providers = Arc::new(ProviderService::new(
            Arc::new(self.providers),
            Arc::new(self.configs),
            Arc::new(self.credentials),
        ));
        let logs: Arc<dyn RunLogs> = Arc::new(self.logs);
        let jobs = Arc::new(JobService::new(JobPorts {
            jobs: Arc::new(self.jobs),
            runs: Arc::new(self.runs),
            logs: logs.clone(),
            ..JobPorts::mocked(projects.clone(), clock.clone())
        }));
        let accounts = Arc::new(AccountService::new(
            Arc::new(self.accounts),
            Arc::new(self.settings),
            Arc::new(MockCredentials::new()),
            clock.clone(),
        ));
        let (turns, proposals): (Arc<dyn Turns>, Arc<dyn Proposals>) = (Arc::new(self.turns), Arc::new(self.proposals));
        let (stored, legs): (Arc<dyn Conversations>, Arc<dyn Legs>) =
            (Arc::new(self.conversations), Arc::new(self.legs));
        let chat = ChatPorts {
            turns: turns.clone(),
            proposals: proposals.clone(),
            grants: Arc::new(self.grants),
            conversations: stored.clone(),
            commands,
            live: self.live.clone(),
            legs: legs.clone(),
            clock: clock.clone(),
            judge: judge.clone(),
            projects: projects.clone(),
            providers: providers.clone(),
            jobs: jobs.clone(),
        };
        Arc::new(Api {
            chat: Arc::new(ChatService::new(chat, Duration::from_secs(3600))),
            conversations: Arc::new(ConversationService::new(
                stored,
                turns,
                proposals,
                projects.clone(),
                legs,
                clock.clone(),
            )),
            projects,
            providers,
            accounts,
            jobs,
            logs,
            stop: Arc::new(Never),
            judge,
            events: self.events,
            live: self.live,
            clock,
            system: system(),
            health: Arc::new(Well),
        })
    }
}

/// Nothing stops a test's calls.
struct Never;

#[async_trait]
impl Stop for Never {
    fn is_stopped(&self) -> bool {
        false
    }

    async fn stopped(&self) {
        std::future::pending::<()>().await;
    }
}

struct Well;

#[async_trait]
impl Health for Well {
    async fn report(&self) -> Report {
        Report { uptime_ms: 5, ..Report::default() }
    }
}

fn system() -> wire::System {
    wire::System {
        name: "coding-owl",
        version: "0.1.0".into(),
        api: "1.0",
        instance: "k3v9q0x2".into(),
        pid: 4100,
        started_at: Timestamp::from_millis(0).to_string(),
        features: vec!["lines"],
        confinement: wire::SystemConfinement { kind: Confinement::Both.name(), landlock_abi: Some(7), missing: vec![] },
        sandbox: "auto",
        credential_store: "file",
        programs: BTreeMap::new(),
        paths: wire::SystemPaths {
            socket: String::new(),
            config: String::new(),
            data: String::new(),
            state: String::new(),
            database: String::new(),
            logs: String::new(),
        },
        limits: BTreeMap::new(),
    }
}

/// An assistant's Item that has begun, and the event that says so.
pub(crate) fn begun(item: i64, seq: i64) -> Event {
    samples::event(seq, EventBody::ItemStarted(samples::item(item, seq, false, samples::assistant("", false))))
}

/// The event that says that an assistant's Item is whole.
pub(crate) fn whole(item: i64, first: i64, seq: i64, text: &str) -> Event {
    samples::event(seq, EventBody::ItemCompleted(samples::item(item, first, true, samples::assistant(text, true))))
}

pub(crate) const fn item(id: i64) -> ItemId {
    ItemId::new(id)
}
