//! B5 and B6: a client that sleeps on a long backlog, and many clients at once.

use crate::{
    owl,
    report::{Report, percentile},
    runtime, seed,
    start::resident_kib,
};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use owl_testkit::{Daemon, Home, repo::TempRepo};
use serde_json::{Value, json};
use std::{
    path::Path,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    task::JoinSet,
    time::{interval, sleep},
};

const BACKLOG_MIB: usize = 200;
const SLEEPS: Duration = Duration::from_secs(15);
const IDLE: usize = 1_000;
const LIVE: usize = 200;
const EVENTS: usize = 10_000;

pub(crate) fn rows(report: &mut Report) {
    if report.wants("B5") {
        runtime().block_on(sleeper(report));
    }
    if report.wants("B6") {
        runtime().block_on(crowd(report));
    }
}

/// A connection whose lines are read one by one, or not at all.
struct Raw {
    lines: BufReader<OwnedReadHalf>,
    write: OwnedWriteHalf,
}

impl Raw {
    async fn connect(socket: &Path) -> Self {
        let (read, write) = UnixStream::connect(socket).await.unwrap().into_split();
        Self { lines: BufReader::new(read), write }
    }

    async fn send(&mut self, method: &str, params: Value) {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.write.write_all(format!("{call}\n").as_bytes()).await.unwrap();
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        let bytes = self.lines.read_line(&mut line).await.unwrap();
        assert!(bytes > 0, "the daemon cut a connection");
        line
    }

    async fn call(&mut self, method: &str, params: Value) -> Value {
        self.send(method, params).await;
        let answer: Value = serde_json::from_str(&self.line().await).unwrap();
        answer["result"].clone()
    }

    /// Reads a subscription's events from a position until it is up to date, subscribing anew where it had been too slow.
    /// Returns the numbers of the durable ones.
    async fn all(&mut self, conversation: &str) -> Vec<i64> {
        let mut numbers = Vec::new();
        loop {
            let line = self.line().await;
            if line.contains("\"type\":\"stream.live\"") {
                return numbers;
            }
            if line.contains("\"type\":\"stream.lagged\"") {
                let after = numbers.last().copied().unwrap_or(0);
                self.send("chat.subscribe", json!({ "conversation_id": conversation, "after_seq": after })).await;
            } else if let Some(number) = number(&line) {
                numbers.push(number);
            }
        }
    }
}

/// Reads an event's number without reading the event.
fn number(line: &str) -> Option<i64> {
    let (_, rest) = line.split_once("\"seq\":")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

async fn sleeper(report: &mut Report) {
    let home = Home::new();
    let long = seed::backlog(&home, BACKLOG_MIB).await;
    let daemon = Daemon::start(owl(), &home).await;
    let params = json!({ "conversation_id": long, "after_seq": 0 });
    let before = resident_kib(daemon.pid());
    let mut sleeper = Raw::connect(&home.socket()).await;
    sleeper.send("chat.subscribe", params.clone()).await;
    let mut awake = Raw::connect(&home.socket()).await;
    let pid = daemon.pid();
    let watching = tokio::spawn(async move {
        let (begun, mut most) = (Instant::now(), 0.0_f64);
        while begun.elapsed() < SLEEPS {
            most = most.max(resident_kib(pid));
            sleep(Duration::from_millis(20)).await;
        }
        most
    });
    awake.send("chat.subscribe", params).await;
    let whole = awake.all(&long).await;
    let grown = (watching.await.unwrap() - before) / 1024.0;
    let late = sleeper.all(&long).await;
    assert_eq!(late.len(), whole.len(), "the sleeper gets everything");
    assert_eq!(late, whole, "and in order");
    let beside = format!("{} events, {BACKLOG_MIB} MiB", whole.len());
    report.number("B5", "growth under one that sleeps", grown < 8.0, &format!("{grown:.1} MiB"), &beside, "< 8 MiB");
    daemon.terminate().await;
}

async fn crowd(report: &mut Report) {
    // Each client has a descriptor here too.
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, hard.min(8_192), hard).unwrap();
    let (home, repo) = (Home::new(), TempRepo::with_commit());
    let daemon = Daemon::start(owl(), &home).await;
    let mut client = Raw::connect(&home.socket()).await;
    let project = client.call("projects.add", json!({ "path": repo.root() })).await;
    let made = client.call("conversations.create", json!({ "workdir": project["path"] })).await;
    let before = resident_kib(daemon.pid());
    let mut idle = Vec::new();
    for _ in 0..IDLE {
        let mut one = Raw::connect(&home.socket()).await;
        one.call("system.health", json!({})).await;
        idle.push(one);
    }
    let each = (resident_kib(daemon.pid()) - before) / f64::from(u32::try_from(IDLE).unwrap());
    let mut following = JoinSet::new();
    for _ in 0..LIVE {
        let mut one = Raw::connect(&home.socket()).await;
        one.call("chat.subscribe", json!({ "conversation_id": made["id"] })).await;
        while !one.line().await.contains("\"type\":\"stream.live\"") {}
        following.spawn(async move {
            let mut last = 0;
            for _ in 0..EVENTS {
                let now = number(&one.line().await).unwrap();
                assert!(now > last, "{now} came behind {last}");
                last = now;
            }
            last
        });
    }
    let socket = home.socket();
    let asking = tokio::spawn(async move {
        let mut asker = Raw::connect(&socket).await;
        let (mut took, mut each) = (Vec::new(), interval(Duration::from_millis(100)));
        loop {
            each.tick().await;
            let start = Instant::now();
            asker.call("system.health", json!({})).await;
            took.push(start.elapsed());
            if took.len() == 100 {
                return took;
            }
        }
    });
    let mut each_millisecond = interval(Duration::from_millis(1));
    for title in 0..EVENTS {
        each_millisecond.tick().await;
        let params = json!({ "conversation_id": made["id"], "title": title.to_string() });
        client.call("conversations.update", params).await;
    }
    let mut lasts: Vec<i64> = Vec::new();
    while let Some(last) = following.join_next().await {
        lasts.push(last.unwrap());
    }
    lasts.dedup();
    assert_eq!(lasts.len(), 1, "all of them came to the same event");
    let slow = percentile(asking.await.unwrap(), 99);
    let beside = format!("{IDLE} idle, {LIVE} follow {EVENTS} events");
    report.time("B6", "system.health among many, p99", slow, Duration::from_millis(20), &beside);
    report.number("B6", "resident per idle connection", each <= 32.0, &format!("{each:.1} KiB"), &beside, "<= 32 KiB");
    drop(idle);
    daemon.terminate().await;
}
