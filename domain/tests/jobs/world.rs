//! One Project, one Account and everything around a Job that a test can turn.

use crate::store::MemoryJobs;
use async_trait::async_trait;
use owl_domain::{
    account::Account,
    ids::{JobId, RunId},
    job::{AgentResult, Changes, Exit, Job, JobPorts, JobService, Run, Terms, WantedJob, brief::Brief},
    permissions::{AccountList, Reported, Subject, ToolCall, default_list::DEFAULT_LIST},
    ports::{
        AccountSettings, Accounts, AgentAtWork, AgentEvent, AgentExit, AgentExitWhy, AgentNotStarted, ArgvError,
        AtRisk, Beyond, CheckNotRun, CheckRan, Checks, Credential, CredentialSource, Driver, EndedBy, JobDiff,
        JobPlace, JobRepositories, LogError, LogLine, LogLines, MockCredentials, MockPaths, MockProjects,
        MockRepositories, NewAgent, NewPlace, PromptsOff, RemoveAccountError, RepositoryError, RunLegs, RunLogs,
        SettingsError, ShellCommand, Stop, StoreError, Survey, Terms as TermsPort, Tool, ToolError, Verdict,
        VerdictError, Verdicts, WorktreeError,
    },
    project::{FileError, Pin, Pins, Project, ProjectFile, ProjectService},
    provider::Secret,
    text::{AbsPath, AccountName, BranchName, Clipped, CommitId, ProjectName, Prompt},
    time::Timestamp,
};
use owl_testkit::{ManualClock, tokio};
use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

pub(crate) const WORKTREE: &str = "/data/worktrees/j_7";
pub(crate) const TOKEN: &str = "sk-ant-oat-000000000";

pub(crate) fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

pub(crate) fn commit() -> CommitId {
    CommitId::new("4f1c".repeat(10)).unwrap()
}

/// What a test turns, and what it looks at afterwards.
#[derive(Default)]
pub(crate) struct Knobs {
    pub(crate) terms: Terms,
    pub(crate) file_error: Option<FileError>,
    pub(crate) accounts: Vec<&'static str>,
    pub(crate) tool_error: Option<ToolError>,
    pub(crate) settings_error: Option<SettingsError>,
    pub(crate) sha256: &'static str,
    /// What each Agent does, in turn.
    pub(crate) agents: VecDeque<Vec<AgentEvent>>,
    /// Whether the next Agents change something.
    pub(crate) changes_something: bool,
    pub(crate) checks: VecDeque<CheckRan>,
    pub(crate) verdict: Option<Result<Verdict, VerdictError>>,
    pub(crate) in_the_way: bool,
    pub(crate) worktree_gone: bool,
    pub(crate) at_risk: AtRisk,
    pub(crate) beyond: Beyond,
    pub(crate) log_fails: bool,
    /// What happened, in order.
    pub(crate) told: Vec<String>,
    pub(crate) log: Vec<LogLine>,
    pub(crate) surveys: u32,
}

pub(crate) struct World {
    pub(crate) store: Arc<MemoryJobs>,
    pub(crate) knobs: Arc<Mutex<Knobs>>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) stop: Arc<Flag>,
    pub(crate) service: JobService,
}

/// A stop that a test fires.
#[derive(Default)]
pub(crate) struct Flag(AtomicBool);

impl Flag {
    pub(crate) fn fire(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[async_trait]
impl Stop for Flag {
    fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    async fn stopped(&self) {
        while !self.is_stopped() {
            tokio::task::yield_now().await;
        }
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let knobs = Arc::new(Mutex::new(Knobs {
            accounts: vec!["work"],
            sha256: "aa",
            changes_something: true,
            beyond: Beyond { branch_is_there: true, worktree_is_there: true, ..Beyond::default() },
            ..Knobs::default()
        }));
        let (store, clock, stop) =
            (Arc::new(MemoryJobs::default()), Arc::new(ManualClock::default()), Arc::new(Flag::default()));
        let fake = Arc::new(Fake { knobs: knobs.clone(), store: store.clone(), stop: stop.clone() });
        let mut credentials = MockCredentials::new();
        credentials.expect_get().returning(|_| {
            let secret = Secret::new(TOKEN).unwrap();
            Ok(Some(Credential { secret, source: CredentialSource::File }))
        });
        let ports = JobPorts {
            jobs: store.clone(),
            runs: store.clone(),
            accounts: fake.clone(),
            settings: fake.clone(),
            credentials: Arc::new(credentials),
            terms: fake.clone(),
            repositories: fake.clone(),
            driver: fake.clone(),
            checks: fake.clone(),
            verdicts: fake.clone(),
            logs: fake.clone(),
            legs: fake.clone(),
            clock: clock.clone(),
            projects: Arc::new(projects(fake, clock.clone())),
        };
        Self { store, knobs, clock, stop, service: JobService::new(ports) }
    }

    pub(crate) fn turn(&self, change: impl FnOnce(&mut Knobs)) -> &Self {
        change(&mut self.knobs.lock().unwrap());
        self
    }

    pub(crate) async fn added(&self) -> JobId {
        self.service.add(wanted()).await.unwrap().job.id
    }

    /// Adds a Job, starts it and carries its Run to the end.
    pub(crate) async fn ran(&self) -> (Job, Run) {
        let id = self.added().await;
        self.start_and_run(id).await
    }

    pub(crate) async fn start_and_run(&self, id: JobId) -> (Job, Run) {
        let (_, run) = self.service.start(id, self.stop.clone()).await.unwrap();
        self.service.advance(run.id, self.stop.clone()).await.unwrap();
        self.now(id).await
    }

    pub(crate) async fn now(&self, id: JobId) -> (Job, Run) {
        let view = self.service.get(id).await.unwrap().unwrap();
        (view.job, view.runs.into_iter().next().unwrap())
    }

    pub(crate) fn told(&self) -> Vec<String> {
        self.knobs.lock().unwrap().told.clone()
    }
}

pub(crate) fn wanted() -> WantedJob {
    WantedJob {
        project: ProjectName::new("shop").unwrap(),
        prompt: Prompt::new("\nFix the failing test\nand more").unwrap(),
        account: None,
        title: None,
        once: None,
    }
}

/// An Agent that says something and ends well.
pub(crate) fn agent(events: Vec<AgentEvent>) -> Vec<AgentEvent> {
    let mut all = vec![AgentEvent::Line { text: "{}".into(), bytes: 2 }, AgentEvent::Reported(Reported::default())];
    all.extend(events);
    all.push(AgentEvent::Result(result("I am done.")));
    all.push(exit(AgentExitWhy::Itself, Exit::Code(0)));
    all
}

pub(crate) fn result(text: &str) -> AgentResult {
    AgentResult { is_error: false, subtype: "success".into(), text: Some(text.into()) }
}

pub(crate) fn exit(why: AgentExitWhy, exit: Exit) -> AgentEvent {
    AgentEvent::Ended(AgentExit { why, exit, stderr_tail: String::new(), overlong_line: None })
}

pub(crate) fn call(id: u32, line: &str) -> ToolCall {
    let (subject, input) = (Subject::Command(line.into()), format!("{{\"command\":\"{line}\"}}"));
    ToolCall { id: Some(format!("toolu_{id}")), tool: "Bash".into(), subject, input }
}

pub(crate) fn check_ran(code: i32, printed: &str) -> CheckRan {
    CheckRan {
        ended_by: EndedBy::Exit,
        exit_code: Some(code),
        signal: None,
        duration: Duration::from_secs(1),
        output: Clipped { head: printed.into(), bytes: printed.len() as u64, ..Clipped::default() },
    }
}

pub(crate) fn project() -> Project {
    let pin = |path: &str| Pin { path: self::path(path), device: 1, inode: 2 };
    Project {
        name: ProjectName::new("shop").unwrap(),
        base_branch: BranchName::new("main").unwrap(),
        pins: Pins {
            work_tree: pin("/home/u/shop"),
            git_dir: pin("/home/u/shop/.git"),
            common_dir: pin("/home/u/shop/.git"),
        },
        added_at: Timestamp::default(),
    }
}

fn projects(terms: Arc<dyn TermsPort>, clock: Arc<ManualClock>) -> ProjectService {
    let mut projects = MockProjects::new();
    projects.expect_list().returning(|| Ok(vec![project()]));
    ProjectService::new(Arc::new(projects), Arc::new(MockRepositories::new()), Arc::new(MockPaths::new()), terms, clock)
}

/// All ports around a Job but its rows.
struct Fake {
    knobs: Arc<Mutex<Knobs>>,
    store: Arc<MemoryJobs>,
    stop: Arc<Flag>,
}

impl Fake {
    fn say(&self, what: impl Into<String>) {
        self.knobs.lock().unwrap().told.push(what.into());
    }
}

#[async_trait]
impl TermsPort for Fake {
    async fn file(&self, _project: &Project) -> ProjectFile {
        ProjectFile::default()
    }

    async fn terms(&self, _project: &Project) -> Result<Terms, FileError> {
        let knobs = self.knobs.lock().unwrap();
        knobs.file_error.clone().map_or_else(|| Ok(knobs.terms.clone()), Err)
    }
}

#[async_trait]
impl Accounts for Fake {
    async fn add(&self, _account: Account) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn list(&self) -> Result<Vec<Account>, StoreError> {
        let account = |name: &&str| Account {
            name: AccountName::new(*name).unwrap(),
            directory: path("/data/accounts/work"),
            seeded_at: None,
            created_at: Timestamp::default(),
        };
        Ok(self.knobs.lock().unwrap().accounts.iter().map(account).collect())
    }

    async fn get(&self, name: AccountName) -> Result<Option<Account>, StoreError> {
        Ok(self.list().await?.into_iter().find(|account| account.name == name))
    }

    async fn seeded(&self, name: AccountName, _at: Timestamp) -> Result<(), StoreError> {
        self.say(format!("seeded {name}"));
        Ok(())
    }

    async fn remove(&self, _name: AccountName) -> Result<bool, RemoveAccountError> {
        Ok(false)
    }
}

#[async_trait]
impl AccountSettings for Fake {
    fn directory(&self, account: &AccountName) -> AbsPath {
        path(&format!("/data/accounts/{account}"))
    }

    fn file(&self, account: &AccountName) -> AbsPath {
        path(&format!("/data/accounts/{account}/settings.json"))
    }

    async fn make_directory(&self, _account: &AccountName) -> Result<(), SettingsError> {
        Ok(())
    }

    async fn is_present(&self, _account: &AccountName) -> bool {
        true
    }

    async fn read_or_seed(&self, account: &AccountName) -> Result<AccountList, SettingsError> {
        self.say("settings read or seeded");
        if let Some(error) = self.knobs.lock().unwrap().settings_error.clone() {
            return Err(error);
        }
        Ok(AccountList { seeded: true, ..AccountSettings::read(self, account).await?.unwrap() })
    }

    async fn read(&self, account: &AccountName) -> Result<Option<AccountList>, SettingsError> {
        Ok(Some(AccountList {
            name: account.clone(),
            file: AccountSettings::file(self, account),
            seeded: false,
            allow: DEFAULT_LIST.map(Into::into).to_vec(),
            deny: Vec::new(),
            ask: Vec::new(),
            default_mode: None,
            sha256: self.knobs.lock().unwrap().sha256.into(),
            ignored: Vec::new(),
        }))
    }
}

#[async_trait]
impl JobRepositories for Fake {
    async fn make(
        &self,
        _project: &Project,
        place: &NewPlace,
        _stop: Arc<dyn Stop>,
    ) -> Result<CommitId, WorktreeError> {
        if self.knobs.lock().unwrap().in_the_way {
            return Err(WorktreeError::InTheWay { what: format!("the branch {}", place.branch) });
        }
        self.say(format!("worktree made {} {}", place.worktree, place.branch));
        Ok(commit())
    }

    async fn stands(&self, _place: &JobPlace) -> bool {
        !self.knobs.lock().unwrap().worktree_gone
    }

    async fn made_at(&self, _project: &Project, _worktree: &AbsPath, _branch: &BranchName) -> Option<CommitId> {
        Some(commit())
    }

    async fn survey(&self, _place: &JobPlace) -> Result<Survey, RepositoryError> {
        let mut knobs = self.knobs.lock().unwrap();
        knobs.surveys += u32::from(knobs.changes_something);
        let changes = Changes { files: u64::from(knobs.surveys), ..Changes::default() };
        Ok(Survey { name: knobs.surveys.to_string(), changes })
    }

    async fn diff(&self, _place: &JobPlace) -> Result<JobDiff, RepositoryError> {
        Ok(JobDiff { text: "+x".into(), ..JobDiff::default() })
    }

    async fn at_risk(&self, _place: &JobPlace) -> Result<AtRisk, RepositoryError> {
        Ok(self.knobs.lock().unwrap().at_risk)
    }

    async fn beyond(&self, _place: &JobPlace) -> Result<Beyond, RepositoryError> {
        Ok(self.knobs.lock().unwrap().beyond.clone())
    }

    async fn remove_worktree(&self, place: &JobPlace) -> Result<(), RepositoryError> {
        self.say(format!("worktree removed {}", place.worktree));
        Ok(())
    }

    async fn remove_branch(&self, place: &JobPlace) -> Result<(), RepositoryError> {
        self.say(format!("branch removed {}", place.branch));
        Ok(())
    }

    fn worktree(&self, job: JobId) -> AbsPath {
        path(&format!("/data/worktrees/{job}"))
    }
}

#[async_trait]
impl Driver for Fake {
    async fn tool(&self) -> Result<Tool, ToolError> {
        self.say("tool asked");
        let error = self.knobs.lock().unwrap().tool_error.clone();
        let tool = Tool { program: path("/bin/claude"), version: "2.1.332".into(), prompts_off: PromptsOff::Flag };
        error.map_or(Ok(tool), Err)
    }

    fn argv(&self, _tool: &Tool, brief: &Brief) -> Result<Vec<String>, ArgvError> {
        let mut argv = vec!["claude".to_owned()];
        argv.extend(brief.rules.iter().cloned());
        argv.extend([brief.contract.clone(), "--".into(), brief.prompt.clone()]);
        Ok(argv)
    }

    async fn start(
        &self,
        _tool: &Tool,
        agent: NewAgent,
        _stop: Arc<dyn Stop>,
    ) -> Result<Box<dyn AgentAtWork>, AgentNotStarted> {
        self.say(format!("agent started in {} for {}", agent.worktree, agent.config_dir));
        assert!(agent.token.is_some());
        let events = self.knobs.lock().unwrap().agents.pop_front().unwrap_or_else(|| self::agent(Vec::new()));
        Ok(Box::new(FakeAgent { events: events.into(), ended: false, knobs: self.knobs.clone() }))
    }

    async fn end_leftovers(&self) -> Vec<RunId> {
        self.say("leftovers ended");
        Vec::new()
    }
}

struct FakeAgent {
    events: VecDeque<AgentEvent>,
    ended: bool,
    knobs: Arc<Mutex<Knobs>>,
}

#[async_trait]
impl AgentAtWork for FakeAgent {
    fn environment(&self) -> (Vec<String>, Vec<String>) {
        (vec!["CLAUDE_CONFIG_DIR".into()], vec!["ANTHROPIC_API_KEY".into()])
    }

    async fn next(&mut self) -> AgentEvent {
        if self.ended {
            return exit(AgentExitWhy::Stopped, Exit::Signal("SIGTERM".into()));
        }
        self.events.pop_front().unwrap()
    }

    fn end(&mut self) {
        self.knobs.lock().unwrap().told.push("agent ended by Owl".into());
        self.ended = true;
    }
}

#[async_trait]
impl Checks for Fake {
    async fn run(&self, command: ShellCommand, _stop: Arc<dyn Stop>) -> Result<CheckRan, CheckNotRun> {
        self.say(format!("ran {} in {}", command.command, command.worktree));
        Ok(self.knobs.lock().unwrap().checks.pop_front().unwrap_or_else(|| check_ran(0, "")))
    }
}

#[async_trait]
impl Verdicts for Fake {
    async fn place(&self, run: RunId) -> Result<AbsPath, VerdictError> {
        Ok(path(&format!("/state/verdicts/{run}/verdict.json")))
    }

    async fn take(&self, _run: RunId) -> Result<Verdict, VerdictError> {
        self.knobs.lock().unwrap().verdict.clone().unwrap_or(Err(VerdictError::Missing))
    }
}

#[async_trait]
impl RunLogs for Fake {
    async fn append(&self, _run: RunId, line: LogLine) -> Result<(), LogError> {
        let mut knobs = self.knobs.lock().unwrap();
        if knobs.log_fails {
            return Err(LogError { file: "r_9.jsonl".into(), reason: "no space".into() });
        }
        knobs.log.push(line);
        Ok(())
    }

    async fn read(&self, _run: RunId, _after: u64, _most_bytes: usize) -> Result<LogLines, LogError> {
        Ok(LogLines::default())
    }

    async fn size(&self, _run: RunId) -> u64 {
        0
    }

    async fn longer_than(&self, _run: RunId, _size: u64) {}
}

#[async_trait]
impl RunLegs for Fake {
    fn wake(&self, run: RunId) {
        self.say(format!("woken {run}"));
    }

    fn stop(&self, run: RunId) {
        self.say(format!("stopped {run}"));
        self.stop.fire();
    }

    /// What the leg would do once it was stopped.
    async fn idle(&self, run: RunId) {
        use owl_domain::{
            job::{RunEnding, RunStep},
            ports::Runs,
        };
        let RunStep::Close(ending) = self.store.load(run).await.unwrap().unwrap().next() else { return };
        let RunEnding { .. } = &ending;
        let _closed = self.store.close(run, ending, Timestamp::default()).await.unwrap();
    }
}

impl World {
    pub(crate) async fn permissions(&self) -> owl_domain::permissions::Permissions {
        let fake = Fake { knobs: self.knobs.clone(), store: self.store.clone(), stop: self.stop.clone() };
        let account = AccountSettings::read(&fake, &AccountName::new("work").unwrap()).await.unwrap().unwrap();
        owl_domain::permissions::Permissions {
            account,
            project: self.knobs.lock().unwrap().terms.list(),
            reported: None,
        }
    }

    pub(crate) fn clock_now(&self) -> Timestamp {
        use owl_domain::ports::Clock;
        self.clock.now()
    }

    /// From now on a hold is lost as soon as a worktree is made, as by a cancel.
    pub(crate) fn lose_holds(&self) {
        self.store.rows().loses_holds = true;
    }
}
