//! B10 and B15: what a streamed reply costs the daemon, and how much later than the Provider's bytes its client has them.

use crate::{
    owl, relay,
    report::{Report, percentile},
    runtime,
};
use owl_testkit::{Client, Daemon, Home, repo::TempRepo};
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

/// The clock of processes in `/proc`, ticks a second.
const TICKS: f64 = 100.0;

pub(crate) fn rows(report: &mut Report) {
    if report.wants("B15") {
        let (origin, pace) = (Instant::now(), Pace { deltas: 2_000, at_once: 1, every: Duration::from_millis(5) });
        let server = pace.serve(origin);
        let bare: Vec<Duration> =
            relay::start(server).lines().map(|line| origin.elapsed().saturating_sub(stamped(&line.unwrap()))).collect();
        let ours = runtime().block_on(streamed(server, origin)).late;
        assert_eq!(bare.len(), pace.deltas, "every delta was relayed");
        let (ours, bare) = (percentile(ours, 50), percentile(bare, 50));
        let beside = format!("a bare relay {bare:.1?}");
        report.time(
            "B15",
            "added to the Provider's bytes, p50",
            ours.saturating_sub(bare),
            Duration::from_micros(300),
            &beside,
        );
    }
    if report.wants("B10") {
        // Six seconds: beyond 256 KiB a reply is ended.
        let pace = Pace { deltas: 12_000, at_once: 20, every: Duration::from_millis(10) };
        let origin = Instant::now();
        let told = runtime().block_on(streamed(pace.serve(origin), origin));
        let share = told.cpu.as_secs_f64() / told.took.as_secs_f64();
        let number = format!("{:.1} %", share * 100.0);
        let beside = format!("{} deltas in {:.1?}", pace.deltas, told.took);
        report.number("B10", "of one core, 2 000 deltas a second", share < 0.25, &number, &beside, "< 25 %");
    }
}

/// How a server of Anthropic's wire speaks: each delta is twenty bytes that tell when it was sent.
#[derive(Clone, Copy)]
struct Pace {
    deltas: usize,
    at_once: usize,
    every: Duration,
}

impl Pace {
    fn serve(self, origin: Instant) -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for connection in listener.incoming() {
                let connection = connection.unwrap();
                thread::spawn(move || self.reply(connection, origin));
            }
        });
        address
    }

    fn reply(self, mut to: TcpStream, origin: Instant) {
        to.set_nodelay(true).unwrap();
        let mut from = BufReader::new(to.try_clone().unwrap());
        let (mut line, mut length) = (String::new(), 0);
        while from.read_line(&mut line).unwrap() > 2 {
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            line.clear();
        }
        from.read_exact(&mut vec![0; length]).unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let message = json!({ "id": "m", "model": "m", "usage": { "input_tokens": 1, "output_tokens": 1 } });
        let begins = [
            json!({ "type": "message_start", "message": message }),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        ];
        to.write_all(format!("{head}{}", events(&begins)).as_bytes()).unwrap();
        let begun = Instant::now();
        for round in 0..self.deltas / self.at_once {
            let due = begun + self.every * u32::try_from(round).unwrap();
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let delta = |_| {
                let text = format!("{:019} ", origin.elapsed().as_nanos());
                json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } })
            };
            let deltas: Vec<Value> = (0..self.at_once).map(delta).collect();
            to.write_all(events(&deltas).as_bytes()).unwrap();
        }
        let ends = [
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 9 } }),
            json!({ "type": "message_stop" }),
        ];
        to.write_all(events(&ends).as_bytes()).unwrap();
    }
}

fn events(of: &[Value]) -> String {
    of.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect()
}

/// Reads the last whole stamp of some text.
fn stamped(text: &str) -> Duration {
    Duration::from_nanos(text.trim_end().rsplit(' ').next().unwrap().parse().unwrap())
}

struct Told {
    late: Vec<Duration>,
    cpu: Duration,
    took: Duration,
}

/// Asks the server through a daemon, and says how late each event came and what the daemon spent on all of them.
async fn streamed(server: SocketAddr, origin: Instant) -> Told {
    let (home, repo) = (Home::new(), TempRepo::with_commit());
    let daemon = Daemon::start(owl(), &home).await;
    let mut client = daemon.connect().await;
    client.unchecked();
    let conversation = prepare(&mut client, server, &repo).await;
    let (before, begun) = (spent(daemon.pid()), Instant::now());
    client.ok("chat.send", json!({ "conversation_id": conversation, "text": "Go" })).await;
    let mut late = Vec::new();
    let mut came = String::new();
    loop {
        let event = client.event().await;
        match event["type"].as_str() {
            Some("item.delta") => {
                let text = event["text"].as_str().unwrap();
                came.push_str(text);
                late.push(origin.elapsed().saturating_sub(stamped(&came[..came.len() / 20 * 20])));
            }
            Some("turn.finished") => {
                assert_eq!(event["turn"]["stop_reason"], "end_turn", "the whole reply came");
                break;
            }
            _ => {}
        }
    }
    let told = Told { late, cpu: spent(daemon.pid()) - before, took: begun.elapsed() };
    daemon.terminate().await;
    told
}

async fn prepare(client: &mut Client, server: SocketAddr, repo: &TempRepo) -> Value {
    let provider = json!({ "provider": "anthropic", "api_key": "bench", "base_url": format!("http://{server}"), "default_model": "m" });
    client.ok("providers.configure", provider).await;
    let project = client.ok("projects.add", json!({ "path": repo.root() })).await;
    let model = json!({ "provider": "anthropic", "id": "m" });
    let made = client.ok("conversations.create", json!({ "workdir": project["path"], "model": model })).await;
    client.ok("chat.subscribe", json!({ "conversation_id": made["id"] })).await;
    client.event_of("stream.live").await;
    made["id"].clone()
}

/// The CPU time of a process, its own and the kernel's on its behalf.
fn spent(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    Duration::from_secs_f64(fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / TICKS)
}
