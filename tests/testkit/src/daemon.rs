//! A daemon as its users have it: the built binary in a home of its own, spoken to in lines over its real socket. Knows
//! nothing of the code behind it, so that it cannot repeat its mistakes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

use crate::{Contract, contract, follow::Follow};
use serde_json::{Value, json};
use std::{
    collections::{HashMap, VecDeque},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{
        UnixDatagram, UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    process::{Child, Command},
    time::timeout,
};

/// How long anything may take before a test gives up: far more than it needs, so that a busy machine fails nothing.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A home with all of Owl's directories below it.
pub struct Home {
    dir: TempDir,
}

impl Home {
    /// Makes an empty one.
    #[must_use]
    pub fn new() -> Self {
        Self { dir: tempfile::Builder::new().prefix("owl-it-").tempdir_in("/tmp").unwrap() }
    }

    /// Returns its directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Returns where the socket is.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.path().join("run/coding-owl/owl.sock")
    }

    /// Returns where the database is.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.path().join("data/coding-owl/owl.db")
    }

    /// Returns what the daemon and its clients read their places from; the whole environment they get.
    #[must_use]
    pub fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        vec![
            ("HOME", self.path().join("home")),
            ("XDG_CONFIG_HOME", self.path().join("config")),
            ("XDG_DATA_HOME", self.path().join("data")),
            ("XDG_STATE_HOME", self.path().join("state")),
            ("XDG_RUNTIME_DIR", self.path().join("run")),
            ("PATH", PathBuf::from("/usr/local/bin:/usr/bin:/bin")),
        ]
    }

    /// Writes the daemon's configuration.
    pub fn configure(&self, yaml: &str) {
        let dir = self.path().join("config/coding-owl");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("config.yaml"), yaml).unwrap();
    }
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

/// A running daemon. Killed when it is dropped.
pub struct Daemon {
    child: Child,
    socket: PathBuf,
    log: PathBuf,
}

impl Daemon {
    /// Starts one and returns once it says that it is ready.
    ///
    /// # Panics
    /// With the daemon's log, when it ends instead.
    pub async fn start(owl: &Path, home: &Home) -> Self {
        Self::start_with(owl, home, &[]).await
    }

    /// Starts one with further variables in its environment.
    ///
    /// # Panics
    /// With the daemon's log, when it ends instead.
    pub async fn start_with(owl: &Path, home: &Home, variables: &[(&str, &str)]) -> Self {
        let ready_at = home.path().join("ready.sock");
        drop(std::fs::remove_file(&ready_at));
        let ready = UnixDatagram::bind(&ready_at).unwrap();
        let log = home.path().join("daemon.log");
        let stderr = std::fs::OpenOptions::new().create(true).append(true).open(&log).unwrap();
        let mut child = Command::new(owl)
            .args(["daemon", "run"])
            .env_clear()
            .envs(home.environment())
            .env("NOTIFY_SOCKET", &ready_at)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut word = [0; 64];
        tokio::select! {
            told = timeout(PATIENCE, ready.recv(&mut word)) => { told.unwrap().unwrap(); }
            ended = child.wait() => {
                let log = std::fs::read_to_string(&log).unwrap_or_default();
                panic!("the daemon ended ({ended:?}) instead of getting ready:\n{log}");
            }
        }
        Self { child, socket: home.socket(), log }
    }

    /// Returns its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Returns what it logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Kills it as a crash would.
    pub async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// Asks it to stop and returns how it ended.
    ///
    /// # Panics
    /// When it does not end.
    pub async fn terminate(mut self) -> ExitStatus {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.pid()).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        timeout(PATIENCE, self.child.wait()).await.unwrap().unwrap()
    }

    /// Connects a client.
    pub async fn connect(&self) -> Client {
        Client::connect(&self.socket).await
    }
}

/// A client of the socket, in lines. Holds everything that it sees against the contract, unless it is told not to.
pub struct Client {
    write: OwnedWriteHalf,
    lines: tokio::io::Lines<BufReader<OwnedReadHalf>>,
    next_id: u64,
    events: VecDeque<Value>,
    contract: Option<&'static Contract>,
    following: HashMap<String, Follow>,
    /// Called with each method and its answer, and with each event.
    pub watch: Option<Watch>,
}

/// Is shown what a client sees.
pub type Watch = Box<dyn FnMut(Seen<'_>) + Send>;

/// What a client saw.
#[derive(Debug, Clone, Copy)]
pub enum Seen<'a> {
    /// A method's result.
    Result(&'a str, &'a Value),
    /// A method's error.
    Error(&'a str, &'a Value),
    /// An event of a subscription: the notification's method and the event.
    Event(&'a str, &'a Value),
}

impl Client {
    /// Connects to a socket.
    pub async fn connect(socket: &Path) -> Self {
        let (read, write) = UnixStream::connect(socket).await.unwrap().into_split();
        let lines = BufReader::new(read).lines();
        Self {
            write,
            lines,
            next_id: 1,
            events: VecDeque::new(),
            contract: Some(contract()),
            following: HashMap::new(),
            watch: None,
        }
    }

    /// Holds nothing that it sees against the contract any more: for measuring, where this client's time would count.
    pub fn unchecked(&mut self) {
        self.contract = None;
    }

    /// Sends bytes as they are.
    pub async fn send_raw(&mut self, bytes: &[u8]) {
        self.write.write_all(bytes).await.unwrap();
    }

    /// Ends what this client says; it still hears.
    pub async fn half_close(&mut self) {
        self.write.shutdown().await.unwrap();
    }

    /// Returns the next line as it came; none when the daemon closed the connection.
    pub async fn line(&mut self) -> Option<String> {
        timeout(PATIENCE, self.lines.next_line()).await.unwrap_or_else(|_| panic!("nothing came")).unwrap_or(None)
    }

    /// Makes a call: its result, or its error object.
    pub async fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let answer = self.attempt(method, params).await;
        answer.unwrap_or_else(|| panic!("the daemon closed instead of answering {method}"))
    }

    /// Makes a call to a daemon that may be killed; none when the connection ended before its answer.
    pub async fn attempt(&mut self, method: &str, params: Value) -> Option<Result<Value, Value>> {
        let id = self.next_id;
        self.next_id += 1;
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.write.write_all(format!("{line}\n").as_bytes()).await.ok()?;
        loop {
            let mut message = self.message().await?;
            if message["id"] != json!(id) {
                self.keep(message);
                continue;
            }
            if let Some(error) = message.get_mut("error") {
                let error = error.take();
                self.saw(Seen::Error(method, &error));
                return Some(Err(error));
            }
            let members: Vec<&String> = message.as_object().unwrap().keys().collect();
            assert_eq!(members, ["id", "jsonrpc", "result"], "{method}");
            let result = message["result"].take();
            self.saw(Seen::Result(method, &result));
            if let Some(Err(wrong)) = self.contract.map(|contract| contract.check_params(method, &params)) {
                panic!("{method} {params}: {wrong}");
            }
            if method.ends_with(".subscribe") {
                self.following.insert(result.as_str().unwrap().to_owned(), Follow::new(&params));
            }
            return Some(Ok(result));
        }
    }

    /// Makes a call that must go well.
    pub async fn ok(&mut self, method: &str, params: Value) -> Value {
        let shown = params.to_string();
        self.call(method, params).await.unwrap_or_else(|error| panic!("{method} {shown}: {error}"))
    }

    /// Makes a call that must fail, and returns its error object.
    pub async fn err(&mut self, method: &str, params: Value) -> Value {
        match self.call(method, params).await {
            Err(error) => error,
            Ok(result) => panic!("{method} should have failed and answered {result}"),
        }
    }

    /// Returns the next event of any subscription.
    pub async fn event(&mut self) -> Value {
        self.next_event().await.unwrap_or_else(|| panic!("the daemon closed instead of telling an event"))
    }

    /// Returns the next event from a daemon that may be killed; none when the connection ended.
    pub async fn next_event(&mut self) -> Option<Value> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let message = self.message().await?;
            self.keep(message);
        }
    }

    /// Returns the next event of a type; those before it are dropped.
    pub async fn event_of(&mut self, name: &str) -> Value {
        let mut before = Vec::new();
        loop {
            let Ok(event) = timeout(PATIENCE, self.event()).await else { panic!("no {name} came, but {before:?}") };
            if event["type"] == name {
                return event;
            }
            before.push(event["type"].to_string());
        }
    }

    /// Returns all events up to and with the first of a type.
    pub async fn events_until(&mut self, name: &str) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let event = self.event().await;
            let last = event["type"] == name;
            events.push(event);
            if last {
                return events;
            }
        }
    }

    /// Returns the next whole message; a killed daemon may leave the beginning of one.
    async fn message(&mut self) -> Option<Value> {
        let line = self.line().await?;
        match serde_json::from_str(&line) {
            Ok(message) => Some(message),
            Err(_) if self.line().await.is_none() => None,
            Err(error) => panic!("{error}: {line}"),
        }
    }

    fn keep(&mut self, mut message: Value) {
        let Some(method) = message["method"].as_str().map(str::to_owned) else {
            panic!("neither the answer nor an event: {message}");
        };
        let event = message["params"]["result"].take();
        self.saw(Seen::Event(&method, &event));
        let subscription = message["params"]["subscription"].as_str().unwrap_or_default();
        let Some(following) = self.following.get_mut(subscription) else {
            panic!("an event of no subscription of this client: {message}");
        };
        if let Err(wrong) = following.take(&event) {
            panic!("{wrong}: {event}");
        }
        self.events.push_back(event);
    }

    fn saw(&mut self, seen: Seen<'_>) {
        if let Some(Err(wrong)) = self.contract.map(|contract| contract.check(seen)) {
            panic!("{wrong}: {seen:?}");
        }
        if let Some(watch) = &mut self.watch {
            watch(seen);
        }
    }
}
