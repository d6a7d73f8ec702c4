//! What the scenarios share: a daemon with one registered repository, and short ways to hold a conversation with it.

use owl_testkit::{Client, Daemon, Home, repo::TempRepo};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The built binary.
pub(crate) fn owl() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_owl"))
}

/// A daemon with one Project, `app`, and a client.
pub(crate) struct World {
    pub(crate) home: Home,
    pub(crate) repo: TempRepo,
    pub(crate) daemon: Daemon,
    pub(crate) client: Client,
}

impl World {
    /// Starts one whose repository holds a few files and two commits.
    pub(crate) async fn new() -> Self {
        Self::configured("").await
    }

    /// Starts one with a configuration: what stands behind `apiVersion`.
    pub(crate) async fn configured(yaml: &str) -> Self {
        let home = Home::new();
        if !yaml.is_empty() {
            home.configure(&format!("apiVersion: codingowl.dev/v1\n{yaml}"));
        }
        let repo = TempRepo::new();
        repo.commit_file("README.md", "hello\nTODO: more\n");
        repo.commit_file("src/a.txt", "one\nTODO two\n");
        let daemon = Daemon::start(owl(), &home).await;
        let mut client = daemon.connect().await;
        client.ok("projects.add", json!({ "path": repo.root(), "name": "app" })).await;
        Self { home, repo, daemon, client }
    }

    /// The workdir.
    pub(crate) fn workdir(&self) -> String {
        std::fs::canonicalize(self.repo.root()).unwrap().to_str().unwrap().to_owned()
    }

    /// Makes a conversation with the demo in the repository, watched from its beginning.
    pub(crate) async fn conversation(&mut self) -> String {
        let workdir = self.workdir();
        conversation(&mut self.client, &workdir).await
    }

    /// Kills the daemon as a crash would, starts it again and connects.
    pub(crate) async fn crash(self) -> Self {
        let Self { home, repo, daemon, client } = self;
        daemon.kill().await;
        drop(client);
        let daemon = Daemon::start(owl(), &home).await;
        let client = daemon.connect().await;
        Self { home, repo, daemon, client }
    }
}

/// Makes a conversation with the demo, watched from its beginning.
pub(crate) async fn conversation(client: &mut Client, workdir: &str) -> String {
    let made = client.ok("conversations.create", json!({ "workdir": workdir, "model": demo() })).await;
    let id = made["id"].as_str().unwrap().to_owned();
    client.ok("chat.subscribe", json!({ "conversation_id": id, "after_seq": 0 })).await;
    client.event_of("stream.live").await;
    id
}

/// The offline model.
pub(crate) fn demo() -> Value {
    json!({ "provider": "demo", "id": "tour" })
}

/// Has the model ask for command lines, by the demo's own rule.
pub(crate) async fn ask(client: &mut Client, conversation: &str, lines: &[&str]) -> Value {
    let text: Vec<String> = lines.iter().map(|line| format!("run: {line}")).collect();
    client.ok("chat.send", json!({ "conversation_id": conversation, "text": text.join("\n") })).await
}

/// Waits for the next Proposal.
pub(crate) async fn proposal(client: &mut Client) -> Value {
    client.event_of("proposal.created").await["proposal"].clone()
}

/// Allows a Proposal, once, as a client does that showed it.
pub(crate) async fn allow(client: &mut Client, proposal: &Value) -> Value {
    let params = json!({
        "proposal_id": proposal["id"], "decision": "allow", "digest": proposal["digest"],
        "conversation_id": proposal["conversation_id"],
    });
    client.ok("consent.answer", params).await
}

/// Waits until a command's Item is whole, and returns it.
pub(crate) async fn command(client: &mut Client) -> Value {
    loop {
        let event = client.event_of("item.completed").await;
        if event["item"]["kind"] == "command" {
            return event["item"].clone();
        }
    }
}

/// Everything that a conversation holds, as one page.
pub(crate) async fn items(client: &mut Client, conversation: &str) -> Vec<Value> {
    let page = client.ok("conversations.items", json!({ "conversation_id": conversation, "limit": 200 })).await;
    page["items"].as_array().unwrap().clone()
}

/// A program of the system, with what it printed; for tests of the command line and of what was left behind.
pub(crate) async fn run(program: impl AsRef<std::ffi::OsStr>, args: &[&str], home: &Home) -> Output {
    run_with_input(program, args, home, "").await
}

/// Likewise, with standard input.
pub(crate) async fn run_with_input(
    program: impl AsRef<std::ffi::OsStr>,
    args: &[&str],
    home: &Home,
    input: &str,
) -> Output {
    owl_testkit::run(program.as_ref(), args, &home.environment(), input).await
}

pub(crate) use owl_testkit::Output;

/// A file of the checked-out sources.
pub(crate) fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Makes a linked worktree beside the repository, on a branch of its name.
pub(crate) fn worktree(repo: &TempRepo, name: &str) -> PathBuf {
    let path = repo.beside(name);
    repo.git(["worktree", "add", "-q", "-b", name, path.to_str().unwrap()]);
    std::fs::canonicalize(path).unwrap()
}
