//! B1 to B4: the transport alone, with methods of the bench's own.

use crate::{
    echo, hand_written,
    report::{Budget, Report, micros, per_second, percentile},
    runtime,
};
use async_trait::async_trait;
use owl_rpc::{Config, Directory, Feed, Limits, NoParams, Outlet, Server, Table};
use schemars::JsonSchema;
use serde::Serialize;
use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::UnixStream,
    sync::watch,
};

const EVENTS: usize = 192_000;

#[derive(Serialize, JsonSchema)]
struct Pong {
    pong: bool,
}

/// So many events of 60 bytes of text, as fast as they are taken.
struct Burst;

#[async_trait]
impl Feed for Burst {
    async fn run(self: Box<Self>, out: &mut Outlet) -> Option<String> {
        let text = "x".repeat(60);
        for seq in 1..=EVENTS {
            let event = format!("{{\"type\":\"bench.tick\",\"seq\":{seq},\"text\":\"{text}\"}}");
            out.push(i64::try_from(seq).unwrap(), &event).await.ok()?;
        }
        out.flush().await.ok()?;
        std::future::pending().await
    }
}

/// Tells each number that was published.
struct Published(watch::Receiver<u64>);

#[async_trait]
impl Feed for Published {
    async fn run(mut self: Box<Self>, out: &mut Outlet) -> Option<String> {
        loop {
            self.0.changed().await.ok()?;
            let number = *self.0.borrow_and_update();
            out.push(i64::try_from(number).unwrap(), &format!("{{\"type\":\"bench.tick\",\"seq\":{number}}}"))
                .await
                .ok()?;
            out.flush().await.ok()?;
        }
    }
}

fn table() -> Table {
    let mut table = Table::new();
    table.answer::<NoParams, Pong, _>("bench.ping", "Answers.", |_, NoParams {}| Ok(Pong { pong: true }));
    table.subscription::<NoParams, Pong, _, _>(
        ["bench.burst", "bench.event", "bench.unburst"],
        "Tells many events.",
        &[],
        |_, NoParams {}| async { Ok(Box::new(Burst) as Box<dyn Feed>) },
    );
    let (publish, _) = watch::channel(0_u64);
    let publish = Arc::new(publish);
    let publisher = publish.clone();
    table.answer::<NoParams, Pong, _>("bench.publish", "Publishes the next number.", move |_, NoParams {}| {
        publisher.send_modify(|number| *number += 1);
        Ok(Pong { pong: true })
    });
    table.subscription::<NoParams, Pong, _, _>(
        ["bench.follow", "bench.event", "bench.unfollow"],
        "Tells what is published.",
        &[],
        move |_, NoParams {}| {
            let published = Published(publish.subscribe());
            async { Ok(Box::new(published) as Box<dyn Feed>) }
        },
    );
    table
}

pub(crate) fn rows(report: &mut Report) {
    if !["B1", "B2", "B3", "B4"].iter().any(|id| report.wants(id)) {
        return;
    }
    let runtime = runtime();
    let _inside = runtime.enter();
    let dir = tempfile::tempdir_in("/tmp").unwrap();
    let at = |name: &str| dir.path().join(name);
    let config = Config { socket: at("owl.sock"), directory: Directory::Chosen, limits: Limits::default() };
    let server = Server::start(config, table()).unwrap();
    echo::serve(&at("echo.sock"));
    hand_written::serve_calls(&at("calls.sock"));
    let event = format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"bench.event\",\"params\":{{\"subscription\":\"PlLDuDNb9uwGF3Wp\",\"result\":{{\"type\":\"bench.tick\",\"seq\":100000,\"text\":\"{}\"}}}}}}\n",
        "x".repeat(60)
    );
    hand_written::serve_lines(&at("lines.sock"), event, EVENTS);

    if report.wants("B1") {
        let calls = 20_000;
        report.ratio(
            "B1",
            "line round trip, p50",
            Budget::AtMost(1.35),
            || runtime.block_on(round_trips(&at("owl.sock"), calls)).as_secs_f64(),
            || runtime.block_on(round_trips(&at("echo.sock"), calls)).as_secs_f64(),
            micros,
        );
    }
    if report.wants("B2") {
        report.ratio(
            "B2",
            "4 connections, 16 deep",
            Budget::AtLeast(0.5),
            || runtime.block_on(pipelined(&at("owl.sock"))),
            || runtime.block_on(pipelined(&at("calls.sock"))),
            per_second,
        );
    }
    if report.wants("B3") {
        report.ratio(
            "B3",
            "one subscription, events",
            Budget::AtLeast(1.5),
            || runtime.block_on(burst(&at("owl.sock"), Some("bench.burst"))),
            || runtime.block_on(burst(&at("lines.sock"), None)),
            per_second,
        );
    }
    if report.wants("B4") {
        report.ratio(
            "B4",
            "published to seen elsewhere, p50",
            Budget::AtMost(3.0),
            || runtime.block_on(published(&at("owl.sock"), 8_000)).as_secs_f64(),
            || runtime.block_on(round_trips(&at("echo.sock"), 8_000)).as_secs_f64(),
            micros,
        );
    }
    runtime.block_on(server.stop());
}

const PING: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"bench.ping\"}\n";

async fn round_trips(path: &Path, calls: usize) -> Duration {
    let (read, mut write) = UnixStream::connect(path).await.unwrap().into_split();
    let mut read = BufReader::new(read);
    let mut line = Vec::new();
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        line.clear();
        let start = Instant::now();
        write.write_all(PING).await.unwrap();
        read.read_until(b'\n', &mut line).await.unwrap();
        times.push(start.elapsed());
    }
    percentile(times, 50)
}

async fn pipelined(path: &Path) -> f64 {
    const CONNECTIONS: usize = 4;
    const DEPTH: usize = 16;
    const TURNS: usize = 3_000;
    let start = Instant::now();
    let clients = (0..CONNECTIONS).map(|_| {
        let path = path.to_owned();
        tokio::spawn(async move {
            let mut stream = UnixStream::connect(path).await.unwrap();
            let calls = PING.repeat(DEPTH);
            let mut buffer = Vec::with_capacity(64 * 1024);
            for _ in 0..TURNS {
                stream.write_all(&calls).await.unwrap();
                let mut answers = 0;
                while answers < DEPTH {
                    buffer.clear();
                    assert!(stream.read_buf(&mut buffer).await.unwrap() > 0);
                    answers += buffer.iter().filter(|byte| **byte == b'\n').count();
                }
            }
        })
    });
    let clients: Vec<_> = clients.collect();
    for client in clients {
        client.await.unwrap();
    }
    let calls: u32 = (CONNECTIONS * DEPTH * TURNS).try_into().unwrap();
    f64::from(calls) / start.elapsed().as_secs_f64()
}

async fn burst(path: &Path, method: Option<&str>) -> f64 {
    let mut stream = UnixStream::connect(path).await.unwrap();
    if let Some(method) = method {
        let call = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\"}}\n");
        stream.write_all(call.as_bytes()).await.unwrap();
    }
    let wanted = EVENTS + usize::from(method.is_some());
    let mut buffer = vec![0; 256 * 1024];
    let start = Instant::now();
    let mut lines = 0;
    while lines < wanted {
        let bytes = stream.read(&mut buffer).await.unwrap();
        assert!(bytes > 0, "ended after {lines}");
        lines += buffer[..bytes].iter().filter(|byte| **byte == b'\n').count();
    }
    let events: u32 = EVENTS.try_into().unwrap();
    f64::from(events) / start.elapsed().as_secs_f64()
}

async fn published(path: &Path, times: usize) -> Duration {
    let (read, mut write) = UnixStream::connect(path).await.unwrap().into_split();
    let mut follower = BufReader::new(read).lines();
    write.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"bench.follow\"}\n").await.unwrap();
    follower.next_line().await.unwrap();
    let (read, mut publish) = UnixStream::connect(path).await.unwrap().into_split();
    let mut answers = BufReader::new(read).lines();
    let mut took = Vec::with_capacity(times);
    for _ in 0..times {
        let start = Instant::now();
        publish.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"bench.publish\"}\n").await.unwrap();
        follower.next_line().await.unwrap();
        took.push(start.elapsed());
        answers.next_line().await.unwrap();
    }
    percentile(took, 50)
}
