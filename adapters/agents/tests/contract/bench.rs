//! One coding tool in a worktree of its own, playing a scripted turn.

use async_trait::async_trait;
use owl_agents::{Bounds, ClaudeCode, Environment};
use owl_domain::{
    ids::RunId,
    job::{AgentResult, brief::Brief},
    permissions::{Reported, ToolCall, default_list::DEFAULT_LIST},
    ports::{AgentAtWork, AgentEvent, AgentExit, Driver, NewAgent, PromptsOff, Stop, Tool},
    provider::Secret,
    text::{AbsPath, AccountName},
};
use owl_process::{OwnCommand, OwnOutput, Spawner};
use owl_testkit::{Block, MessagesApi};
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};
use tempfile::TempDir;
use tokio::sync::watch;

pub(crate) const TOKEN: &str = "sk-ant-oat01-contract-test-0000000000";

/// A tool that is held to the contract.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    program: PathBuf,
    /// The version that the stub plays; none for the real tool.
    stub: Option<&'static str>,
}

/// Returns the stub as each version, then the real tools; says aloud when there is none.
pub(crate) fn subjects() -> Vec<Subject> {
    let mut all = stubs();
    let real = real();
    if real.is_empty() {
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        eprintln!("SKIPPED for the real tool: {test} (OWL_TEST_CLAUDE names none)");
    }
    all.extend(real);
    all
}

pub(crate) fn stubs() -> Vec<Subject> {
    let own = std::env::current_exe().unwrap();
    let found = own.ancestors().skip(1).map(|directory| directory.join("owl-stub-agent")).find(|path| path.is_file());
    let program = found.expect("owl-stub-agent is not built: cargo build -p owl-testkit --bin owl-stub-agent");
    ["2.1.332", "2.1.197"].map(|version| Subject { program: program.clone(), stub: Some(version) }).to_vec()
}

pub(crate) fn real() -> Vec<Subject> {
    let named = std::env::var_os("OWL_TEST_CLAUDE").unwrap_or_default();
    let all = std::env::split_paths(&named).filter(|path| !path.as_os_str().is_empty());
    all.map(|program| Subject { program, stub: None }).collect()
}

/// What is played.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    /// `permissions` of the Account's file.
    pub(crate) permissions: Value,
    /// More members of the Account's file.
    pub(crate) more: Value,
    /// The Project's rules.
    pub(crate) rules: Vec<String>,
    /// The calls, in one reply.
    pub(crate) calls: Vec<(String, Value)>,
    pub(crate) prompt: String,
    /// Whether the Account has a token.
    pub(crate) token: bool,
    /// The calls of a subagent, in one reply.
    pub(crate) of_subagent: Vec<(String, Value)>,
    /// Steps of the stub's script behind the calls.
    pub(crate) then: Vec<Value>,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            permissions: json!({ "allow": DEFAULT_LIST }),
            more: json!({}),
            rules: Vec::new(),
            calls: Vec::new(),
            of_subagent: Vec::new(),
            prompt: "Do it".into(),
            token: true,
            then: Vec::new(),
        }
    }
}

impl Scenario {
    pub(crate) fn calls(calls: &[(&str, Value)]) -> Self {
        let calls = calls.iter().map(|(tool, input)| ((*tool).to_owned(), input.clone())).collect();
        Self { calls, ..Self::default() }
    }

    pub(crate) fn allow(self, rules: &[&str]) -> Self {
        Self { permissions: json!({ "allow": rules }), ..self }
    }

    pub(crate) fn with_rules(self, rules: &[&str]) -> Self {
        Self { rules: rules.iter().map(|rule| (*rule).to_owned()).collect(), ..self }
    }
}

pub(crate) fn bash(line: &str) -> (&'static str, Value) {
    ("Bash", json!({"command": line, "description": "a command"}))
}

pub(crate) fn write(file: &str) -> (&'static str, Value) {
    ("Write", json!({"file_path": file, "content": "written\n"}))
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Ran,
    Failed,
    Denied,
}

/// What was seen of a Run.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) lines: Vec<Value>,
    pub(crate) events: Vec<AgentEvent>,
    pub(crate) exit: AgentExit,
    pub(crate) prompts_off: PromptsOff,
}

impl Seen {
    /// Returns what became of each call, in order.
    pub(crate) fn calls(&self) -> Vec<Call> {
        let denied: HashSet<&str> = self.denied().iter().filter_map(|call| call.id.as_deref()).collect();
        let blocks = |kind: &'static str| {
            let lines = self.lines.iter().filter(move |line| line["type"] == kind);
            lines.flat_map(|line| line["message"]["content"].as_array().into_iter().flatten())
        };
        let failed = |id: &str| {
            blocks("user").any(|block| block["tool_use_id"] == id && block["is_error"].as_bool() == Some(true))
        };
        let calls = blocks("assistant").filter(|block| block["type"] == "tool_use");
        calls
            .map(|block| {
                let id = block["id"].as_str().unwrap();
                if denied.contains(id) {
                    assert!(failed(id), "a denied call has an error as its result");
                    Call::Denied
                } else if failed(id) {
                    Call::Failed
                } else {
                    Call::Ran
                }
            })
            .collect()
    }

    pub(crate) fn denied(&self) -> Vec<&ToolCall> {
        let events = self.events.iter();
        events.filter_map(|event| if let AgentEvent::Denied(call) = event { Some(call) } else { None }).collect()
    }

    pub(crate) fn result(&self) -> Option<&AgentResult> {
        let mut events = self.events.iter().rev();
        events.find_map(|event| if let AgentEvent::Result(result) = event { Some(result) } else { None })
    }

    pub(crate) fn reported(&self) -> &Reported {
        let mut events = self.events.iter();
        events.find_map(|event| if let AgentEvent::Reported(said) = event { Some(said) } else { None }).unwrap()
    }
}

/// A stop that a test fires.
pub(crate) struct Flag(watch::Sender<bool>);

impl Flag {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(watch::Sender::new(false)))
    }

    pub(crate) fn fire(&self) {
        self.0.send_replace(true);
    }
}

#[async_trait]
impl Stop for Flag {
    fn is_stopped(&self) -> bool {
        *self.0.borrow()
    }

    async fn stopped(&self) {
        self.0.subscribe().wait_for(|fired| *fired).await.unwrap();
    }
}

pub(crate) struct Bench {
    pub(crate) subject: Subject,
    pub(crate) home: TempDir,
    worktree: PathBuf,
    spawner: Spawner,
    driver: ClaudeCode,
    /// Two Runs at once have two marks.
    runs: AtomicI64,
}

impl Bench {
    pub(crate) async fn new(subject: &Subject) -> Self {
        Self::with(subject, &[]).await
    }

    /// One whose daemon has more variables in its environment.
    pub(crate) async fn with(subject: &Subject, planted: &[(&str, &str)]) -> Self {
        let long = Duration::from_secs(120);
        Self::bounded(subject, planted, Bounds { timeout: long, silence: long }).await
    }

    /// One whose Agents are ended after a time.
    pub(crate) async fn bounded(subject: &Subject, planted: &[(&str, &str)], bounds: Bounds) -> Self {
        let (home, spawner) = (TempDir::new().unwrap(), Spawner::new());
        let worktree = home.path().canonicalize().unwrap().join("worktree");
        fs::create_dir(&worktree).unwrap();
        repository(&spawner, &worktree).await;
        fs::create_dir(home.path().join("account")).unwrap();
        let variables = Self::variables(subject, &home).into_iter();
        let variables = variables.chain(planted.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        let driver = ClaudeCode::new(
            spawner.clone(),
            Some(subject.program.clone()),
            Environment::of(
                variables.map(|(name, value): (String, String)| (OsString::from(name), OsString::from(value))),
            ),
            home.path().to_str().unwrap(),
            bounds,
        );
        Self { subject: subject.clone(), home, worktree, spawner, driver, runs: AtomicI64::new(9) }
    }

    fn variables(subject: &Subject, home: &TempDir) -> Vec<(String, String)> {
        let at = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
        let mut variables: Vec<(String, String)> =
            vec![("PATH".into(), "/usr/bin:/bin".into()), ("HOME".into(), at("")), ("LANG".into(), "C.UTF-8".into())];
        if let Some(version) = subject.stub {
            variables.push(("STUB_AGENT_VERSION".into(), version.into()));
            variables.push(("STUB_AGENT_SCRIPT".into(), at("script.json")));
            variables.push(("STUB_AGENT_RECORD".into(), at("record.jsonl")));
        }
        variables
    }

    pub(crate) fn is_stub(&self) -> bool {
        self.subject.stub.is_some()
    }

    pub(crate) fn worktree(&self) -> &Path {
        &self.worktree
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.home.path().join("account")
    }

    pub(crate) fn put(&self, file: &str, content: impl AsRef<[u8]>) {
        let file = self.worktree.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }

    pub(crate) async fn tool(&self) -> Tool {
        self.driver.tool().await.unwrap()
    }

    pub(crate) fn brief(&self, scenario: &Scenario) -> Brief {
        Brief {
            account: AccountName::new("work").unwrap(),
            prompt: scenario.prompt.clone(),
            contract: "Nobody can answer.".into(),
            worktree: AbsPath::new(self.worktree().to_str().unwrap()).unwrap(),
            rules: scenario.rules.clone(),
        }
    }

    /// Writes the Account's file and the script, and starts what the real tool talks to.
    pub(crate) fn prepare(&self, scenario: &Scenario) -> MessagesApi {
        let call = |(tool, input): &(String, Value)| Block::Call { tool: tool.clone(), input: input.clone() };
        let turns = |calls: &[(String, Value)]| {
            if calls.is_empty() { Vec::new() } else { vec![calls.iter().map(call).collect()] }
        };
        let api = MessagesApi::start_with_subagent(turns(&scenario.calls), turns(&scenario.of_subagent));
        let mut settings = scenario.more.clone();
        settings["permissions"] = scenario.permissions.clone();
        if !self.is_stub() {
            settings["env"] = json!({"ANTHROPIC_BASE_URL": api.url(), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"});
        }
        fs::write(self.config().join("settings.json"), settings.to_string()).unwrap();
        self.script(scenario);
        api
    }

    fn script(&self, scenario: &Scenario) {
        let calls = scenario.calls.iter().map(|(tool, input)| json!({"call": {"tool": tool, "input": input}}));
        let steps: Vec<Value> = calls.chain(scenario.then.iter().cloned()).collect();
        fs::write(self.home.path().join("script.json"), json!([{ "steps": steps }]).to_string()).unwrap();
    }

    pub(crate) async fn start(&self, scenario: &Scenario, stop: Arc<dyn Stop>) -> Box<dyn AgentAtWork> {
        let tool = self.tool().await;
        let argv = self.driver.argv(&tool, &self.brief(scenario)).unwrap();
        let agent = NewAgent {
            run: RunId::new(self.runs.fetch_add(1, Ordering::Relaxed)),
            argv,
            config_dir: AbsPath::new(self.config().to_str().unwrap()).unwrap(),
            token: scenario.token.then(|| Secret::new(TOKEN).unwrap()),
            worktree: AbsPath::new(self.worktree().to_str().unwrap()).unwrap(),
        };
        self.driver.start(&tool, agent, stop).await.unwrap()
    }

    /// Plays a scenario to its end, with the Driver's own command line and environment.
    pub(crate) async fn play(&self, scenario: &Scenario) -> Seen {
        self.play_with_api(scenario).await.0
    }

    pub(crate) async fn play_with_api(&self, scenario: &Scenario) -> (Seen, MessagesApi) {
        let api = self.prepare(scenario);
        let agent = self.start(scenario, Flag::new()).await;
        (self.watch(agent).await, api)
    }

    pub(crate) async fn watch(&self, mut agent: Box<dyn AgentAtWork>) -> Seen {
        let prompts_off = self.tool().await.prompts_off;
        let (mut lines, mut events) = (Vec::new(), Vec::new());
        loop {
            match agent.next().await {
                AgentEvent::Line { text, .. } => lines.extend(serde_json::from_str::<Value>(&text).ok()),
                AgentEvent::Ended(exit) => return Seen { lines, events, exit, prompts_off },
                event => events.push(event),
            }
        }
    }

    /// Starts the tool with words and variables that the Driver would not give it. The real tool gets a key and the
    /// address of its API by the environment.
    pub(crate) async fn bare(&self, words: &[String], api: &MessagesApi) -> OwnOutput {
        let mut env = Self::variables(&self.subject, &self.home);
        env.push(("CLAUDE_CONFIG_DIR".into(), self.config().to_str().unwrap().into()));
        env.push(("ANTHROPIC_API_KEY".into(), "fake".into()));
        env.push(("ANTHROPIC_BASE_URL".into(), api.url()));
        env.push(("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC".into(), "1".into()));
        env.push(("DISABLE_AUTOUPDATER".into(), "1".into()));
        let command = OwnCommand {
            program: self.subject.program.clone(),
            argv: [OsString::from("claude")].into_iter().chain(words.iter().map(Into::into)).collect(),
            env: env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            cwd: self.worktree().into(),
            deadline: Duration::from_secs(120),
            max_bytes: 16 * 1024 * 1024,
        };
        self.spawner.run_own(command, Flag::new()).await.unwrap()
    }

    /// Runs a shell command as somebody else than the Driver would.
    pub(crate) async fn shell(&self, script: &str, env: Vec<(OsString, OsString)>) -> OwnOutput {
        let command = OwnCommand {
            program: "/bin/sh".into(),
            argv: vec!["sh".into(), "-c".into(), script.into()],
            env: env.into_iter().chain([("PATH".into(), "/usr/bin:/bin".into())]).collect(),
            cwd: self.worktree.clone(),
            deadline: Duration::from_secs(60),
            max_bytes: 64 * 1024,
        };
        self.spawner.run_own(command, Flag::new()).await.unwrap()
    }

    pub(crate) async fn end_leftovers(&self) -> Vec<RunId> {
        self.driver.end_leftovers().await
    }

    /// Returns the Driver's own words for a scenario.
    pub(crate) async fn words(&self, scenario: &Scenario) -> Vec<String> {
        let tool = self.tool().await;
        self.driver.argv(&tool, &self.brief(scenario)).unwrap().split_off(1)
    }

    /// Returns what the stub was started with, start by start.
    pub(crate) fn records(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.home.path().join("record.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Makes a small repository. By the spawner: whatever else this process starts is waited for when an Agent has ended.
async fn repository(spawner: &Spawner, worktree: &Path) {
    let script = "git init -q -b main . && git config user.name Test && git config user.email test@example.com && \
                  printf 'x:\\n\\t@echo made > made.txt\\n' > Makefile && printf '#!/bin/sh\\necho ran\\n' > run.sh && chmod +x run.sh && \
                  mkdir src && echo a > src/a.txt && echo 'a small repository' > README.md && git add -A && git commit -q -m first";
    let command = OwnCommand {
        program: "/bin/sh".into(),
        argv: vec!["sh".into(), "-c".into(), script.into()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into()), ("HOME".into(), worktree.into())],
        cwd: worktree.into(),
        deadline: Duration::from_secs(60),
        max_bytes: 64 * 1024,
    };
    let output = spawner.run_own(command, Flag::new()).await.unwrap();
    assert!(output.succeeded(), "{output:?}");
}

/// Reads the events of a tool that was started bare.
pub(crate) fn lines_of(output: &OwnOutput) -> Vec<Value> {
    String::from_utf8_lossy(&output.stdout).lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Returns the tools of the calls that were denied, as the last result lines list them.
pub(crate) fn denied_tools(lines: &[Value]) -> Vec<String> {
    let results = lines.iter().filter(|line| line["type"] == "result");
    let denials = results.flat_map(|line| line["permission_denials"].as_array().into_iter().flatten());
    denials.map(|denial| denial["tool_name"].as_str().unwrap().to_owned()).collect()
}
