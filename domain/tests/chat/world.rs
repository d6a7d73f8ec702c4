//! A daemon without a daemon: one Project, one Conversation, and everything around them that a test can turn.

mod commands;
mod files;
mod legs;

pub(crate) use commands::{Does, FakeCommands};
pub(crate) use files::{Files, Leads};
pub(crate) use legs::Woken;

use owl_domain::{
    consent::{Answer, Answered, Peer, Said as Says},
    conversation::{CommandItem, CommandOutcome, Conversation, ConversationState, Item, ItemBody},
    ids::{ConversationId, ProposalId, TurnId},
    job::JobService,
    judge::Judge,
    ports::{
        AnswerError, Clock, Commands, Credential, CredentialSource, GitHome, Live, MockConversations, MockCredentials,
        MockProjects, MockProviderConfigs, MockRepositories, MockTerms, Proposals, StoreError, Turns,
    },
    project::{Pin, Pins, Project, ProjectService, Workdir, Worktree, WorktreeKind},
    provider::{ModelRef, Provider, ProviderService, Secret, Usage},
    text::{AbsPath, BranchName, ModelId, ProjectName, Question},
    turn::{CallProgress, ChatPorts, ChatService, Ending, Message, OnConsent, Told, TurnState},
};
use owl_testkit::{
    ManualClock, MemoryTurns,
    model::{Said, ScriptedModel},
    tokio,
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// The Project's root, and the directory of the Conversation.
pub(crate) const SHOP: &str = "/home/u/shop";
/// A linked worktree of the Project.
pub(crate) const TREE: &str = "/home/u/shop-topic";
/// How long a Proposal waits.
pub(crate) const WINDOW: Duration = Duration::from_secs(60);

/// Everything of one test.
pub(crate) struct World {
    pub(crate) store: Arc<MemoryTurns>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) legs: Arc<Woken>,
    pub(crate) live: Arc<Watched>,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) commands: Arc<FakeCommands>,
    pub(crate) files: Arc<Files>,
    pub(crate) conversation: ConversationId,
    pub(crate) known: Known,
}

/// What is configured and registered; a test changes it.
#[derive(Clone)]
pub(crate) struct Known {
    /// Whether Anthropic has a key.
    pub(crate) has_key: Arc<AtomicBool>,
    /// Whether the Project is registered.
    pub(crate) is_registered: Arc<AtomicBool>,
    /// Where git's owned directory lies.
    pub(crate) owned_common_dir: Arc<Mutex<String>>,
    /// The last error that was kept of a Provider.
    pub(crate) last_error: Arc<Mutex<Option<String>>>,
    /// The Conversation's own directory and model.
    pub(crate) workdir: Option<&'static str>,
    pub(crate) model: Option<ModelRef>,
}

/// Text on its way, and whether each Item's end was told.
#[derive(Default)]
pub(crate) struct Watched(Mutex<Vec<String>>);

impl Watched {
    pub(crate) fn seen(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Live for Watched {
    fn open(&self, _: ConversationId, _: TurnId, item: owl_domain::ids::ItemId) {
        self.0.lock().unwrap().push(format!("open {item}"));
    }

    fn append(&self, item: owl_domain::ids::ItemId, part: owl_domain::conversation::Part, text: &str) {
        self.0.lock().unwrap().push(format!("{} of {item}: {text}", part.name()));
    }

    fn close(&self, item: owl_domain::ids::ItemId) {
        self.0.lock().unwrap().push(format!("close {item}"));
    }
}

pub(crate) fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

pub(crate) fn demo() -> ModelRef {
    ModelRef { provider: Provider::Demo, id: ModelId::new("tour").unwrap() }
}

pub(crate) fn anthropic() -> ModelRef {
    ModelRef { provider: Provider::Anthropic, id: ModelId::new("claude-x").unwrap() }
}

pub(crate) fn peer(program: &str) -> Peer {
    Peer { pid: Some(4242), uid: Some(1000), program: Some(program.into()) }
}

fn pin(text: &str) -> Pin {
    Pin { path: path(text), device: 1, inode: u64::try_from(text.len()).unwrap() }
}

fn pins(root: &str) -> Pins {
    let common = pin("/home/u/shop/.git");
    Pins { work_tree: pin(root), git_dir: common.clone(), common_dir: common }
}

pub(crate) fn project() -> Project {
    Project {
        name: ProjectName::new("shop").unwrap(),
        base_branch: BranchName::new("main").unwrap(),
        pins: pins(SHOP),
        added_at: ManualClock::default().now(),
    }
}

fn workdir(root: &str) -> Workdir {
    Workdir { project: ProjectName::new("shop").unwrap(), pins: pins(root) }
}

fn worktree(root: &str, kind: WorktreeKind) -> Worktree {
    Worktree {
        workdir: workdir(root),
        kind,
        branch: Some(BranchName::new("topic").unwrap()),
        head: None,
        locked: false,
    }
}

impl World {
    /// A model that gives these replies, one a round.
    pub(crate) fn new(script: Vec<Vec<Said>>) -> Self {
        Self::with_model(ScriptedModel::with(script))
    }

    pub(crate) fn with_model(model: ScriptedModel) -> Self {
        let store = Arc::new(MemoryTurns::default());
        Self {
            conversation: store.conversation(),
            commands: Arc::new(FakeCommands::new(store.clone())),
            store,
            clock: Arc::default(),
            legs: Arc::default(),
            live: Arc::default(),
            model: Arc::new(model),
            files: Arc::default(),
            known: Known {
                has_key: Arc::new(AtomicBool::new(true)),
                is_registered: Arc::new(AtomicBool::new(true)),
                owned_common_dir: Arc::new(Mutex::new("/home/u/.local/state/coding-owl/git/shop".into())),
                last_error: Arc::default(),
                workdir: Some(SHOP),
                model: Some(demo()),
            },
        }
    }

    /// A new service on what is stored: what a daemon has after a restart.
    pub(crate) fn service(&self) -> ChatService {
        self.service_with(self.commands.clone(), self.store.clone())
    }

    pub(crate) fn service_with(&self, commands: Arc<dyn Commands>, proposals: Arc<dyn Proposals>) -> ChatService {
        let projects = self.projects();
        let repositories = Arc::new(self.repositories());
        let judge = Judge::new(self.files.clone(), repositories, commands.clone(), projects.clone());
        let ports = ChatPorts {
            turns: self.store.clone(),
            proposals,
            grants: self.store.clone(),
            conversations: Arc::new(self.conversations()),
            commands,
            live: self.live.clone(),
            legs: self.legs.clone(),
            clock: self.clock.clone(),
            judge: Arc::new(judge),
            jobs: Arc::new(JobService::mocked(projects.clone(), self.clock.clone())),
            projects,
            providers: Arc::new(self.providers()),
        };
        ChatService::new(ports, WINDOW)
    }

    fn projects(&self) -> Arc<ProjectService> {
        let mut projects = MockProjects::new();
        let known = self.known.clone();
        projects.expect_list().returning(move || Ok(known.registered()));
        let known = self.known.clone();
        projects.expect_get().returning(move |name| Ok(known.registered().into_iter().find(|p| p.name == name)));
        let repositories = Arc::new(self.repositories());
        let terms = Arc::new(MockTerms::new());
        Arc::new(ProjectService::new(Arc::new(projects), repositories, self.files.clone(), terms, self.clock.clone()))
    }

    fn repositories(&self) -> MockRepositories {
        let mut repositories = MockRepositories::new();
        repositories
            .expect_worktrees()
            .returning(|_| Ok(vec![worktree(SHOP, WorktreeKind::Root), worktree(TREE, WorktreeKind::Linked)]));
        repositories.expect_workdirs().returning(|_| vec![workdir(SHOP), workdir(TREE)]);
        let known = self.known.clone();
        repositories.expect_home().returning(move |workdir, _| {
            Ok(GitHome {
                git_dir: path("/home/u/shop/.git"),
                work_tree: workdir.path().clone(),
                real_common_dir: path("/home/u/shop/.git"),
                owned_common_dir: path(&known.owned_common_dir.lock().unwrap()),
                index: path("/repo/index"),
                lenders: Vec::new(),
                readable: Vec::new(),
                settings: Vec::new(),
            })
        });
        repositories
    }

    fn conversations(&self) -> MockConversations {
        let mut conversations = MockConversations::new();
        let (known, ours) = (self.known.clone(), self.conversation);
        let now = self.clock.now();
        conversations.expect_get().returning(move |id| {
            Ok((id == ours || id.number() == 2).then(|| Conversation {
                id,
                title: String::new(),
                workdir: known.workdir.map(path),
                project: None,
                model: known.model.clone(),
                state: ConversationState::Idle,
                archived: false,
                version: 1,
                created_at: now,
                updated_at: now,
                last_seq: None,
                item_count: 0,
                pending_count: 0,
                usage: Usage::default(),
            }))
        });
        conversations
    }

    fn providers(&self) -> ProviderService {
        let mut configs = MockProviderConfigs::new();
        configs.expect_get().returning(|_| Ok(None));
        let known = self.known.clone();
        configs.expect_last_error().returning(move |_| {
            let message = known.last_error.lock().unwrap().clone();
            Ok(message.map(|message| owl_domain::provider::LastError {
                at: owl_domain::time::Timestamp::default(),
                status: None,
                message,
            }))
        });
        let known = self.known.clone();
        configs.expect_set_last_error().returning(move |_, error| {
            *known.last_error.lock().unwrap() = error.map(|error| error.message);
            Ok(())
        });
        let mut credentials = MockCredentials::new();
        let known = self.known.clone();
        credentials.expect_get().returning(move |name| {
            let is_ours = name == owl_domain::ports::CredentialName::Provider(Provider::Anthropic);
            let secret = || Secret::new("sk-planted-0123456789").unwrap();
            let has_key = is_ours && known.has_key.load(Ordering::SeqCst);
            Ok(has_key.then(|| Credential { secret: secret(), source: CredentialSource::File }))
        });
        ProviderService::new(self.model.clone(), Arc::new(configs), Arc::new(credentials))
    }

    pub(crate) fn message(&self, text: &str) -> Message {
        Message {
            conversation: self.conversation,
            text: Question::new(text).unwrap(),
            workdir: None,
            model: None,
            on_consent: OnConsent::Ask,
            from: peer("owl-desktop"),
            once: None,
        }
    }

    /// Sends a question and carries it on as far as it goes.
    pub(crate) async fn ask(&self) -> TurnId {
        self.send(self.message("Any TODOs left?")).await
    }

    pub(crate) async fn send(&self, message: Message) -> TurnId {
        let begun = self.service().send(message).await.unwrap();
        self.go_on().await;
        begun.turn
    }

    /// Carries on whatever was woken, by a new service each time.
    pub(crate) async fn go_on(&self) {
        while let Some(turn) = self.legs.pop() {
            self.leg(turn).await.unwrap();
        }
    }

    /// One leg of a Turn.
    pub(crate) async fn leg(&self, turn: TurnId) -> Result<(), StoreError> {
        let stop = self.legs.begin(turn);
        self.service().advance(turn, stop, &*self.legs).await
    }

    /// Answers a Proposal, the first of which is 1, and carries on what that woke.
    pub(crate) async fn answer(&self, proposal: i64, verdict: Says) -> Result<Answered, AnswerError> {
        let answered = self.service().answer(answer(proposal, verdict), peer("owl-desktop")).await;
        self.go_on().await;
        answered
    }

    pub(crate) async fn allow(&self, proposal: i64) {
        assert!(self.answer(proposal, Says::AllowOnce).await.unwrap().won);
    }

    /// What a daemon does when it starts on what a killed one left.
    pub(crate) async fn restart(&self) {
        self.store.kill();
        self.legs.forget();
        self.service().recover().await.unwrap();
        self.go_on().await;
    }

    pub(crate) fn ending(&self, turn: TurnId) -> Option<Ending> {
        match self.store.turn(turn).unwrap().state {
            TurnState::Finished(ended) => Some(ended.ending),
            TurnState::Running | TurnState::AwaitingConsent => None,
        }
    }

    /// The kind of error a Turn ended with.
    pub(crate) fn error(&self, turn: TurnId) -> owl_domain::provider::TurnError {
        match self.ending(turn) {
            Some(Ending::Error(error)) => error,
            other => panic!("{other:?} is no error"),
        }
    }

    pub(crate) fn items(&self, turn: TurnId) -> Vec<Item> {
        self.store.items(turn)
    }

    /// The command Items of a Turn in order.
    pub(crate) fn command_items(&self, turn: TurnId) -> Vec<CommandItem> {
        let commands = self.items(turn).into_iter().filter_map(|item| match item.body {
            ItemBody::Command(command) => Some(*command),
            ItemBody::User { .. } | ItemBody::Assistant { .. } | ItemBody::Lookup(_) => None,
        });
        commands.collect()
    }

    /// What came of each command, `open` for those that are.
    pub(crate) fn outcomes(&self, turn: TurnId) -> Vec<&'static str> {
        let commands = self.command_items(turn).into_iter();
        commands.map(|command| command.outcome.map_or("open", |outcome| outcome.name())).collect()
    }

    /// The Denial of a command that was denied.
    pub(crate) fn denial(&self, turn: TurnId, at: usize) -> owl_domain::gate::Denial {
        match self.command_items(turn).remove(at).outcome {
            Some(CommandOutcome::GateDenied(denial)) => denial,
            other => panic!("{other:?} is no denial"),
        }
    }

    /// What the model was told of each call, in order; none for those that have no result.
    pub(crate) fn told(&self, turn: TurnId) -> Vec<Option<Told>> {
        let calls = self.store.stored(turn).unwrap().replies.into_iter().flat_map(|reply| reply.calls);
        let told = calls.map(|call| match call.progress {
            CallProgress::Told(told) => Some(told),
            CallProgress::Unjudged | CallProgress::Proposed(_) | CallProgress::Closed(_) => None,
        });
        told.collect()
    }

    /// What the model was told of the call at that place.
    pub(crate) fn told_at(&self, turn: TurnId, at: usize) -> String {
        self.told(turn).remove(at).expect("the call has a result").text
    }

    /// Nothing was forked, so nothing can have run.
    pub(crate) fn assert_nothing_held(&self) {
        assert_eq!(self.commands.held(), Vec::<String>::new());
    }

    /// Whether any event of that name was told.
    pub(crate) fn was_told(&self, name: &str) -> bool {
        self.store.event_names().contains(&name)
    }
}

impl Known {
    fn registered(&self) -> Vec<Project> {
        if self.is_registered.load(Ordering::SeqCst) { vec![project()] } else { Vec::new() }
    }
}

pub(crate) fn answer(proposal: i64, verdict: Says) -> Answer {
    Answer { proposal: ProposalId::new(proposal), verdict, digest: None, conversation: None }
}

/// Lets other tasks go on until something holds.
pub(crate) async fn until(holds: impl Fn() -> bool) {
    for _ in 0..10_000 {
        if holds() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("what was waited for did not come");
}

/// Asserts that the port of Turns is what the world uses, for tests that need it directly.
pub(crate) fn turns(world: &World) -> Arc<dyn Turns> {
    world.store.clone()
}
