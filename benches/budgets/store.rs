//! B7 to B9: replay and pages from a large database, through the daemon, beside the bare `SELECT` of the same rows.

use crate::{
    owl,
    report::{Report, per_second, percentile},
    runtime, seed,
    select::Select,
};
use owl_testkit::{Client, Daemon, Home};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
};

pub(crate) fn rows(report: &mut Report) {
    if !["B7", "B8", "B9", "B16", "B17"].iter().any(|id| report.wants(id)) {
        return;
    }
    let runtime = runtime();
    runtime.block_on(async {
        let home = Home::new();
        let long = seed::fill(&home).await;
        let daemon = Daemon::start(owl(), &home).await;
        let mut client = daemon.connect().await;
        client.unchecked();
        let bare = Select::open(&home.database());
        let id: i64 = long.trim_start_matches("c_").parse().unwrap();
        let beside = |took| format!("SELECT {:.1?}", percentile(took, 99));
        if report.wants("B7") {
            let (mut rates, mut selects) = (Vec::new(), Vec::new());
            for _ in 0..5 {
                rates.push(replay(&home, &long).await);
                selects.push(bare.events(id));
            }
            let (rate, select) = (middle(rates), format!("SELECT {}", per_second(middle(selects))));
            report.number(
                "B7",
                "replay from the database",
                rate >= 300_000.0,
                &per_second(rate),
                &select,
                ">= 300 k/s",
            );
        }
        if report.wants("B8") {
            for limit in [50, 200] {
                let took = percentile(conversations(&mut client, limit).await, 99);
                let what = format!("conversations.list, {limit} a page, p99");
                report.time("B8", &what, took, Duration::from_millis(5), &beside(bare.conversations(limit)));
            }
        }
        if report.wants("B9") {
            let newest = client.ok("system.health", json!({})).await["last_seq"].as_u64().unwrap();
            for limit in [50, 200] {
                let took = percentile(items(&mut client, &long, newest, limit).await, 99);
                let what = format!("conversations.items, {limit} a page, p99");
                let select = beside(bare.items(id, places(newest), limit));
                report.time("B9", &what, took, Duration::from_millis(5), &select);
            }
        }
        daemon.terminate().await;
        crate::start::with_database(report, &home).await;
    });
}

/// Replays the long conversation to a client that counts lines; events per second.
async fn replay(home: &Home, long: &str) -> f64 {
    let mut stream = UnixStream::connect(home.socket()).await.unwrap();
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "chat.subscribe", "params": { "conversation_id": long, "after_seq": 0 } });
    let start = Instant::now();
    stream.write_all(format!("{call}\n").as_bytes()).await.unwrap();
    let mut buffer = vec![0; 256 * 1024];
    let mut lines = 0_u32;
    let mut tail = Vec::new();
    loop {
        let bytes = stream.read(&mut buffer).await.unwrap();
        assert!(bytes > 0, "ended after {lines}");
        lines += u32::try_from(buffer[..bytes].iter().filter(|byte| **byte == b'\n').count()).unwrap();
        tail.extend_from_slice(&buffer[bytes.saturating_sub(512)..bytes]);
        if tail.windows(13).any(|part| part == b"\"stream.live\"") {
            return f64::from(lines) / start.elapsed().as_secs_f64();
        }
        let keep = tail.len().saturating_sub(512);
        tail.drain(..keep);
    }
}

async fn conversations(client: &mut Client, limit: u32) -> Vec<Duration> {
    let mut took = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let mut params = json!({ "limit": limit });
        if !cursor.is_null() {
            params["cursor"] = cursor;
        }
        let start = Instant::now();
        let page = client.ok("conversations.list", params).await;
        took.push(start.elapsed());
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            return took;
        }
    }
}

async fn items(client: &mut Client, long: &str, newest: u64, limit: u32) -> Vec<Duration> {
    let mut took = Vec::new();
    for before in places(newest) {
        let start = Instant::now();
        client
            .ok("conversations.items", json!({ "conversation_id": long, "before_seq": before, "limit": limit }))
            .await;
        took.push(start.elapsed());
    }
    took
}

/// A fixed walk over all places, in an order that no cache foresees.
fn places(newest: u64) -> impl Iterator<Item = u64> {
    let step =
        |place: &u64| Some(place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
    let places = std::iter::successors(step(&1), step).take(400);
    places.map(move |place| 20_000 + place % newest.saturating_sub(20_000).max(1))
}

fn middle(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}
