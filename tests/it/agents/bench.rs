//! A daemon whose coding tool is the stub agent, one registered repository, one Account, and scripts that a test writes.

use crate::support::{self, Output, owl};
use owl_testkit::{Client, Daemon, Home, repo::TempRepo};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Every token of these tests ends in the same four characters.
pub(crate) const TOKEN: &str = "sk-ant-oat01-of-the-account-work-7Q2x";
pub(crate) const DEFAULT_LIST: &str = include_str!("../../../schemas/default-permissions.json");

pub(crate) struct Bench {
    pub(crate) home: Home,
    pub(crate) repo: TempRepo,
    pub(crate) daemon: Daemon,
    pub(crate) client: Client,
    variables: Vec<(String, String)>,
}

/// The binary that stands in for the coding tool.
pub(crate) fn stub() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let found = own.ancestors().skip(1).map(|above| above.join("owl-stub-agent")).find(|path| path.is_file());
    found.expect("owl-stub-agent is not built: cargo build -p owl-testkit --bin owl-stub-agent")
}

impl Bench {
    /// One whose Project has no file of its own.
    pub(crate) async fn new() -> Self {
        Self::with("", &[]).await
    }

    /// One whose Project's own file says this behind its `apiVersion`; `more` is in the daemon's environment.
    pub(crate) async fn with(project: &str, more: &[(&str, &str)]) -> Self {
        Self::with_tool(&stub(), project, more).await
    }

    /// One whose coding tool is another program.
    pub(crate) async fn with_tool(tool: &Path, project: &str, more: &[(&str, &str)]) -> Self {
        Self::in_home(Home::new(), owl(), tool, project, more).await
    }

    /// One in a home that was prepared, whose daemon another program starts.
    pub(crate) async fn in_home(home: Home, program: &Path, tool: &Path, project: &str, more: &[(&str, &str)]) -> Self {
        home.configure(&format!("apiVersion: codingowl.dev/v1\nclaudePath: {}\n", tool.display()));
        let repo = TempRepo::with_commit();
        if !project.is_empty() {
            repo.commit_file(".coding-owl.yaml", format!("apiVersion: codingowl.dev/v1\n{project}"));
        }
        let at = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
        let mut variables = vec![
            ("STUB_AGENT_SCRIPT".to_owned(), at("script.json")),
            ("STUB_AGENT_RECORD".to_owned(), at("record.jsonl")),
        ];
        variables.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let daemon = start(program, &home, &variables).await;
        let mut client = daemon.connect().await;
        client.ok("projects.add", json!({ "path": repo.root(), "name": "app" })).await;
        let account = client.ok("accounts.add", json!({ "name": "work", "token": TOKEN })).await;
        assert!(!account.to_string().contains(TOKEN));
        let bench = Self { home, repo, daemon, client, variables };
        bench.script(json!([]));
        bench
    }

    /// What the next Agents do, whatever they are asked.
    pub(crate) fn script(&self, steps: Value) {
        self.scripts(json!([{ "steps": steps }]));
    }

    /// What the next Agents do, by what they are asked.
    pub(crate) fn scripts(&self, scripts: Value) {
        fs::write(self.home.path().join("script.json"), scripts.to_string()).unwrap();
    }

    /// What each stub was started with.
    pub(crate) fn records(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.home.path().join("record.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.home.path().join("data/coding-owl")
    }

    pub(crate) fn settings(&self) -> PathBuf {
        self.data().join("accounts/work/settings.json")
    }

    pub(crate) async fn add(&mut self, prompt: &str) -> String {
        let job = self.client.ok("jobs.create", json!({ "project": "app", "prompt": prompt })).await;
        job["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn start(&mut self, job: &str) -> String {
        let started = self.client.ok("jobs.start", json!({ "job_id": job })).await;
        assert_eq!(started["job"]["state"], "active");
        started["run"]["id"].as_str().unwrap().to_owned()
    }

    /// Follows a Run to its end, and returns its Job and itself.
    pub(crate) async fn finished(&mut self, job: &str, run: &str) -> (Value, Value) {
        let mut follower = self.daemon.connect().await;
        follower.ok("runs.subscribe", json!({ "run_id": run })).await;
        assert_eq!(follower.event_of("stream.closed").await["reason"], "finished");
        let job = self.client.ok("jobs.get", json!({ "job_id": job, "diff": true })).await;
        let run = self.client.ok("runs.get", json!({ "run_id": run })).await;
        (job, run)
    }

    /// Adds a Job, starts it and follows it to its end.
    pub(crate) async fn ran(&mut self, prompt: &str) -> (Value, Value) {
        let job = self.add(prompt).await;
        let run = self.start(&job).await;
        self.finished(&job, &run).await
    }

    /// Another attempt of a Job.
    pub(crate) async fn again(&mut self, job: &Value) -> (Value, Value) {
        let job = job["id"].as_str().unwrap().to_owned();
        let run = self.start(&job).await;
        self.finished(&job, &run).await
    }

    /// The log's lines, as JSON where they are.
    pub(crate) async fn log(&mut self, run: &Value) -> Vec<Value> {
        let (mut lines, mut next) = (Vec::new(), json!(0));
        loop {
            let ask = json!({ "run_id": run["id"], "after_offset": next, "max_bytes": 1_048_576 });
            let page = self.client.ok("runs.log", ask).await;
            let text = |line: &Value| line["text"].as_str().unwrap().to_owned();
            lines.extend(page["lines"].as_array().unwrap().iter().map(text));
            next = page["next_offset"].clone();
            if next == page["size"] {
                return lines.into_iter().map(|line| serde_json::from_str(&line).unwrap_or(json!(line))).collect();
            }
        }
    }

    /// Kills the daemon as a crash would, and starts it again.
    pub(crate) async fn crash(self) -> Self {
        let Self { home, repo, daemon, client, variables } = self;
        daemon.kill().await;
        drop(client);
        let daemon = start(owl(), &home, &variables).await;
        let client = daemon.connect().await;
        Self { home, repo, daemon, client, variables }
    }

    /// Has the daemon stop as a service manager does, and starts it again.
    pub(crate) async fn stop_and_start(self) -> Self {
        let Self { home, repo, daemon, client, variables } = self;
        assert_eq!(daemon.terminate().await.code(), Some(0));
        drop(client);
        let daemon = start(owl(), &home, &variables).await;
        let client = daemon.connect().await;
        Self { home, repo, daemon, client, variables }
    }

    pub(crate) async fn owl(&self, args: &[&str]) -> Output {
        support::run(owl(), args, &self.home).await
    }

    /// What a person sees of a Job.
    pub(crate) async fn shown(&self, job: &Value) -> String {
        let output = self.owl(&["jobs", "show", job["id"].as_str().unwrap()]).await;
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        output.stdout
    }
}

async fn start(program: &Path, home: &Home, variables: &[(String, String)]) -> Daemon {
    let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    Daemon::start_with(program, home, &variables).await
}

/// A call of a tool in a script.
pub(crate) fn call(tool: &str, input: Value) -> Value {
    json!({ "call": { "tool": tool, "input": input } })
}

/// A command in a script.
pub(crate) fn bash(line: &str) -> Value {
    call("Bash", json!({ "command": line }))
}

/// A file that is written in a script.
pub(crate) fn write(path: &str, content: &str) -> Value {
    call("Write", json!({ "file_path": path, "content": content }))
}

/// Says whether a process is there and no zombie.
pub(crate) fn is_alive(pid: i64) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
    !state.is_empty() && !state.starts_with('Z')
}

/// Waits until a file is there, and returns what it holds.
pub(crate) async fn appears(path: &Path) -> String {
    let there = async {
        loop {
            match fs::read_to_string(path) {
                Ok(text) if !text.is_empty() => return text,
                _ => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
            }
        }
    };
    let waited = tokio::time::timeout(std::time::Duration::from_secs(60), there).await;
    waited.unwrap_or_else(|_| panic!("{} does not appear", path.display()))
}
