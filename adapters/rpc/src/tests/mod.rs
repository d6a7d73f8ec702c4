//! A real server on a real socket, with a module of methods that has no store: what is tested is the transport.

mod batches;
mod ends;
mod http;
mod lines;
mod refusals;
mod rules;
mod streams;
mod websocket;

use crate::{Caller, Config, Directory, Feed, Limits, NoParams, Outlet, RpcError, Running, Server, Table, Unsent};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    sync::{Semaphore, watch},
    time::timeout,
};

/// Nothing here takes that long; a test that waits longer has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) async fn soon<T>(what: &str, wanted: impl Future<Output = T>) -> T {
    match timeout(PATIENCE, wanted).await {
        Ok(come) => come,
        Err(_) => panic!("waited in vain for {what}"),
    }
}

/// What the test module's methods did.
#[derive(Default)]
pub(crate) struct Seen {
    /// Calls that change something and have begun, and such that have ended.
    pub(crate) begun: watch::Sender<usize>,
    pub(crate) ended: watch::Sender<usize>,
    /// Events that were taken from the test's feed.
    pub(crate) fed: AtomicUsize,
}

/// A server with the test module.
pub(crate) struct Serving {
    pub(crate) running: Running,
    pub(crate) socket: PathBuf,
    pub(crate) seen: Arc<Seen>,
    /// Lets calls of `test.hold` and `test.change` go on.
    pub(crate) go: Arc<Semaphore>,
    _directory: tempfile::TempDir,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EchoParams {
    text: String,
    number: Option<i64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BigParams {
    bytes: usize,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FeedParams {
    /// How many events there are in all.
    events: i64,
    /// How many bytes of text each has.
    bytes: usize,
    after: Option<i64>,
}

struct TestFeed {
    params: FeedParams,
    caller: Arc<Caller>,
    seen: Arc<Seen>,
}

#[async_trait]
impl Feed for TestFeed {
    async fn run(self: Box<Self>, out: &mut Outlet) -> Option<String> {
        let after = self.params.after.unwrap_or_default();
        out.starts_after(after);
        let text = "x".repeat(self.params.bytes);
        for seq in after + 1..=self.params.events {
            self.seen.fed.fetch_add(1, Ordering::Relaxed);
            match out.push(seq, &json!({ "type": "test", "seq": seq, "text": text }).to_string()).await {
                Ok(()) => {}
                Err(Unsent::Gone) => return None,
                Err(Unsent::Stuck) => {
                    return Some(json!({ "type": "stream.lagged", "next_after": out.next_after() }).to_string());
                }
            }
        }
        out.flush().await.ok()?;
        self.caller.closing().await;
        Some(json!({ "type": "stream.closed", "next_after": out.next_after() }).to_string())
    }
}

fn module(seen: &Arc<Seen>, go: &Arc<Semaphore>) -> Table {
    let mut table = Table::new();
    table.answer("test.nothing", "Answers at once.", |_, NoParams {}| Ok(true));
    table.answer("test.echo", "Answers what it got.", |_, given: EchoParams| Ok(given));
    table.answer("test.big", "Answers that many bytes.", |_, given: BigParams| Ok("x".repeat(given.bytes)));
    table.answer("test.peer", "Answers who calls.", |caller, NoParams {}| {
        let peer = caller.peer();
        Ok((peer.pid, peer.uid, peer.program.clone()))
    });
    table.answer("test.counts", "Answers what is open.", |caller, NoParams {}| {
        Ok((caller.connections(), caller.subscriptions()))
    });
    table.read("test.panics", "Panics.", &[], |_, NoParams {}| async {
        tokio::task::yield_now().await;
        assert!(std::hint::black_box(false), "on purpose");
        Ok(true)
    });
    let waits = go.clone();
    table.read("test.hold", "Answers when it is let.", &[], move |_, NoParams {}| {
        let waits = waits.clone();
        async move {
            waits.acquire().await.map_err(RpcError::internal)?.forget();
            Ok("held")
        }
    });
    let (seen_change, waits) = (seen.clone(), go.clone());
    table.change("test.change", "Changes something when it is let.", &[], move |_, NoParams {}| {
        let (seen, waits) = (seen_change.clone(), waits.clone());
        async move {
            seen.begun.send_modify(|begun| *begun += 1);
            waits.acquire().await.map_err(RpcError::internal)?.forget();
            seen.ended.send_modify(|ended| *ended += 1);
            Ok("changed")
        }
    });
    let seen = seen.clone();
    table.subscription::<FeedParams, Value, _, _>(
        ["test.subscribe", "test.event", "test.unsubscribe"],
        "Sends events.",
        &[],
        move |caller, params| {
            let seen = seen.clone();
            async move {
                if params.events < 0 {
                    return Err(RpcError::not_found("feed", params.events));
                }
                Ok(Box::new(TestFeed { params, caller, seen }) as Box<dyn Feed>)
            }
        },
    );
    table
}

impl Serving {
    pub(crate) fn start() -> Self {
        Self::within(Limits::default())
    }

    pub(crate) fn within(limits: Limits) -> Self {
        let (seen, go) = (Arc::new(Seen::default()), Arc::new(Semaphore::new(0)));
        let table = module(&seen, &go);
        Self::with(limits, table, seen, go)
    }

    pub(crate) fn of(table: Table) -> Self {
        Self::with(Limits::default(), table, Arc::default(), Arc::new(Semaphore::new(0)))
    }

    fn with(limits: Limits, table: Table, seen: Arc<Seen>, go: Arc<Semaphore>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("owl.sock");
        let config = Config { socket: socket.clone(), directory: Directory::Chosen, limits };
        let running = Server::start(config, table).unwrap();
        Self { running, socket, seen, go, _directory: directory }
    }

    pub(crate) async fn connect(&self) -> Peer {
        Peer { stream: soon("a connection", UnixStream::connect(&self.socket)).await.unwrap(), held: Vec::new() }
    }

    /// Waits until that many calls that change something have begun.
    pub(crate) async fn begun(&self, calls: usize) {
        soon("a call to begin", self.seen.begun.subscribe().wait_for(|begun| *begun >= calls)).await.unwrap();
    }

    pub(crate) async fn ended(&self, calls: usize) {
        soon("a call to end", self.seen.ended.subscribe().wait_for(|ended| *ended >= calls)).await.unwrap();
    }

    /// Waits until a feed has begun.
    pub(crate) async fn fed(&self) {
        soon("a feed to begin", async {
            while self.seen.fed.load(Ordering::Relaxed) == 0 {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// Waits until as many connections and subscriptions are open; the connection that asks is one of them.
    pub(crate) async fn counts(&self, connections: usize, subscriptions: usize) {
        let mut asking = self.connect().await;
        soon("connections and subscriptions to end", async {
            while asking.call("test.counts", json!({})).await["result"] != json!([connections, subscriptions]) {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

/// The other end of a connection, byte by byte.
pub(crate) struct Peer {
    pub(crate) stream: UnixStream,
    held: Vec<u8>,
}

impl Peer {
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        soon("room to write", self.stream.write_all(bytes.as_ref())).await.unwrap();
    }

    pub(crate) async fn line(&mut self, line: impl AsRef<[u8]>) {
        self.send([line.as_ref(), b"\n"].concat()).await;
    }

    /// Returns the next line as it came; none at the end.
    pub(crate) async fn next_line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.held.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.held.drain(..=end).collect();
                return Some(String::from_utf8(line).unwrap().trim_end().to_owned());
            }
            let read = soon("a line", self.stream.read_buf(&mut self.held)).await;
            // A peer that was cut with bytes unread is told so by the kernel; here that is the end too.
            if read.unwrap_or(0) == 0 {
                return None;
            }
        }
    }

    pub(crate) async fn next(&mut self) -> Value {
        let line = self.next_line().await.expect("the connection ended");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"))
    }

    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        self.line(request(1, method, params)).await;
        self.next().await
    }

    /// Shows that the connection still works.
    pub(crate) async fn still_works(&mut self) {
        let answer = self.call("test.nothing", json!({})).await;
        assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": 1, "result": true }));
    }

    /// Reads everything that still comes.
    pub(crate) async fn rest(&mut self) -> String {
        let mut rest = std::mem::take(&mut self.held);
        let _cut = soon("the end", self.stream.read_to_end(&mut rest)).await;
        String::from_utf8(rest).unwrap()
    }
}

pub(crate) fn request(id: impl Into<Value>, method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params }).to_string()
}

pub(crate) fn protocol_error(id: Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}
