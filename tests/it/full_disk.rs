//! A disk that is full, through the whole daemon: what could not be stored is told as that, nothing half is left, and with
//! room again everything goes on (D16, D19). Skipped aloud where no disk can be mounted.

use crate::{
    agents::bench::{Bench, DEFAULT_LIST, stub, write},
    support::{demo, owl},
    work::{Held, question, replayed},
};
use owl_testkit::{Client, Daemon, Home, SmallDisk, repo::TempRepo};
use serde_json::{Value, json};
use std::{fs, time::Duration};
use tokio::time::{sleep, timeout};

#[tokio::test]
async fn an_account_that_cannot_be_seeded_refuses_the_run_and_is_seeded_once_there_is_room() {
    let home = Home::new();
    let Some(disk) = SmallDisk::prepare(owl(), &home, "data/coding-owl/accounts", 1).await else { return };
    let mut bench = Bench::in_home(home, &disk.program, &stub(), "", &[]).await;
    let pid = bench.daemon.pid();
    let settings = disk.seen(pid, &bench.settings());
    bench.script(json!([write("a.txt", "a\n")]));
    let job = bench.add("Write a").await;
    disk.fill(pid);
    for _ in 0..2 {
        let refused = bench.client.err("jobs.start", json!({ "job_id": job })).await;
        let data = &refused["data"];
        assert_eq!(
            (&data["kind"], &data["reason"], &data["file"]),
            (&json!("cannot_start"), &json!("settings_unwritable"), &json!(bench.settings())),
            "{refused}"
        );
        assert!(refused["message"].as_str().unwrap().contains("No space left on device"), "{refused}");
        assert_eq!(fs::read_dir(settings.parent().unwrap()).unwrap().count(), 0, "no half of a file is left");
        let job = bench.client.ok("jobs.get", json!({ "job_id": job })).await;
        assert_eq!((&job["state"], &job["runs_total"], &job["worktree"]), (&json!("pending"), &json!(0), &Value::Null));
    }
    assert_eq!(bench.records(), Vec::<Value>::new(), "no Agent was started");
    assert_eq!(bench.repo.git(["branch", "--list", "owl/*"]), "");

    disk.empty(pid);
    let run = bench.start(&job).await;
    let (job, run) = bench.finished(&job, &run).await;
    assert_eq!((&job["state"], &run["permissions"]["account"]["seeded"]), (&json!("review"), &json!(true)));
    assert_eq!(fs::read_to_string(&settings).unwrap(), DEFAULT_LIST);
}

/// A conversation with the demo on a small disk, and all that its client holds of it.
struct Talk {
    disk: SmallDisk,
    /// Kept, as is the repository: the disk is in it.
    _home: Home,
    _repo: TempRepo,
    daemon: Daemon,
    client: Client,
    id: String,
    told: Held,
}

impl Talk {
    async fn begin() -> Option<Self> {
        let (home, repo) = (Home::new(), TempRepo::with_commit());
        let disk = SmallDisk::prepare(owl(), &home, "data", 4).await?;
        let daemon = Daemon::start(&disk.program, &home).await;
        let mut client = daemon.connect().await;
        let project = client.ok("projects.add", json!({ "path": repo.root() })).await;
        let made = client.ok("conversations.create", json!({ "workdir": project["path"], "model": demo() })).await;
        let id = made["id"].as_str().unwrap().to_owned();
        client.ok("chat.subscribe", json!({ "conversation_id": id, "after_seq": 0 })).await;
        Some(Self { disk, _home: home, _repo: repo, daemon, client, id, told: Held::default() })
    }

    fn fill(&self) {
        self.disk.fill(self.daemon.pid());
    }

    fn empty(&self) {
        self.disk.empty(self.daemon.pid());
    }

    /// Takes events up to and with the first of a type, and returns that.
    async fn until(&mut self, name: &str) -> Value {
        loop {
            let event = self.client.event().await;
            self.told.take(event.clone());
            if event["type"] == name {
                return event;
            }
        }
    }

    /// Waits until the daemon's log says something.
    async fn logged(&self, what: &str) {
        let said = async {
            while !self.daemon.log().contains(what) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(60), said).await.unwrap_or_else(|_| panic!("{what}: {}", self.daemon.log()));
    }

    /// Everything that was told is stored, in that order, and nothing else.
    async fn is_stored(&self) {
        assert_eq!(replayed(&self.daemon, &self.id).await, self.told.events);
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_stored_decides_nothing_and_can_be_given_again() {
    let Some(mut talk) = Talk::begin().await else { return };
    question(&mut talk.client, &talk.id, "slowly\nrun: wc -c README.md").await;
    talk.until("item.delta").await;
    talk.fill();
    let refused = talk.client.err("conversations.create", json!({})).await;
    assert_eq!(refused["data"]["kind"], "storage", "{refused}");
    talk.empty();
    // The text waited for room, and nothing of it is missing.
    let proposal = talk.until("proposal.created").await["proposal"].clone();
    talk.fill();
    let answer = json!({ "proposal_id": proposal["id"], "decision": "allow" });
    for _ in 0..2 {
        let refused = talk.client.err("consent.answer", answer.clone()).await;
        assert_eq!((&refused["code"], &refused["data"]["kind"]), (&json!(1014), &json!("storage")), "{refused}");
        assert!(refused["message"].as_str().unwrap().contains("the disk is full"), "{refused}");
    }
    let health = talk.client.ok("system.health", json!({})).await;
    assert_eq!(
        (&health["ok"], &health["database"], &health["turns_waiting"]),
        (&json!(false), &json!("failing"), &json!(1))
    );
    let stands = talk.client.ok("consent.get", json!({ "proposal_id": proposal["id"] })).await;
    assert_eq!((&stands["state"], &stands["decided_by"]), (&json!("pending"), &Value::Null));
    talk.empty();
    assert_eq!(talk.client.ok("consent.answer", answer).await["won"], true);
    let ran = talk.until("command.finished").await;
    assert_eq!(ran["exit_code"], 0, "{ran}");
    assert_eq!(talk.until("turn.finished").await["turn"]["stop_reason"], "end_turn");
    assert_eq!(talk.client.ok("system.health", json!({})).await["ok"], true);
    talk.is_stored().await;
}

#[tokio::test]
async fn a_turn_that_cannot_be_stored_ends_saying_so_once_there_is_room() {
    let Some(mut talk) = Talk::begin().await else { return };
    question(&mut talk.client, &talk.id, "slowly").await;
    talk.until("item.delta").await;
    talk.fill();
    talk.logged("cannot be closed yet").await;
    let health = talk.client.ok("system.health", json!({})).await;
    assert_eq!((&health["database"], &health["turns_running"]), (&json!("failing"), &json!(1)));
    talk.empty();
    let turn = talk.until("turn.finished").await["turn"].clone();
    assert_eq!((&turn["stop_reason"], &turn["error"]["kind"]), (&json!("error"), &json!("storage")));
    talk.is_stored().await;

    question(&mut talk.client, &talk.id, "Still there?").await;
    assert_eq!(talk.until("turn.finished").await["turn"]["stop_reason"], "end_turn");
    talk.is_stored().await;
}
