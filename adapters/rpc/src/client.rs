//! The line dialect from the other side, for the CLI, the demo and tests. Knows no method; waits for no longer than its
//! caller does (D5, D7).

use crate::{
    error::RpcError,
    socket::{PathTooLong, check_length},
};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{mpsc, oneshot},
    task::JoinHandle,
};

/// Which way a line crossed the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crossed {
    /// From this client.
    Sent,
    /// From the daemon.
    Received,
}

/// Is shown each line that crosses the socket, without its end, in the order in which they do.
pub type Observer = Arc<dyn Fn(Crossed, &str) + Send + Sync>;

/// Why there is no connection.
#[derive(Debug)]
pub enum ConnectError {
    /// The path does not fit into a socket's address.
    TooLong(PathTooLong),
    /// No daemon listens there.
    NoDaemon(PathBuf),
    /// The kernel refused.
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl std::fmt::Display for ConnectError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |path: &Path| owl_domain::show::visible(&path.to_string_lossy());
        match self {
            Self::TooLong(too_long) => too_long.fmt(f),
            Self::NoDaemon(path) => write!(f, "no daemon listens at {}", shown(path)),
            Self::Io { path, .. } => write!(f, "{} cannot be connected to", shown(path)),
        }
    }
}

impl ConnectError {
    /// Says whether there is simply no daemon.
    pub const fn is_no_daemon(&self) -> bool {
        matches!(self, Self::NoDaemon(_))
    }
}

impl std::error::Error for ConnectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::TooLong(_) | Self::NoDaemon(_) => None,
        }
    }
}

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientError {
    /// The daemon said no.
    Rpc(RpcError),
    /// The connection ended first. Whether the call did what it should is not known.
    Closed,
}

impl std::fmt::Display for ClientError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rpc(error) => error.fmt(f),
            Self::Closed => f.write_str("the connection to the daemon ended before its answer"),
        }
    }
}

impl std::error::Error for ClientError {}

/// Events of one subscription that wait for their reader. While they do, the connection is not read.
const EVENTS: usize = 1024;
/// A line from the daemon is at most this long: one answer and its envelope.
const LINE_BYTES: u64 = 16 * 1024 * 1024;

/// One connection. Calls may be under way at once; each gets its own answer.
pub struct Client {
    write: tokio::sync::Mutex<OwnedWriteHalf>,
    waiting: Arc<Mutex<Waiting>>,
    next: AtomicU64,
    observer: Option<Observer>,
    reading: JoinHandle<()>,
}

/// Events of one subscription, in their order.
#[derive(Debug)]
pub struct Events {
    id: String,
    events: mpsc::Receiver<Value>,
}

impl Events {
    /// Returns the subscription's id, which the call that ends it takes.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the next event; none when the subscription or the connection has ended.
    pub async fn next(&mut self) -> Option<Value> {
        self.events.recv().await
    }
}

#[derive(Default)]
struct Waiting {
    calls: HashMap<u64, Answer>,
    subscriptions: HashMap<String, mpsc::Sender<Value>>,
    closed: bool,
}

enum Answer {
    Call(oneshot::Sender<Result<Value, RpcError>>),
    Subscription(oneshot::Sender<Result<Events, RpcError>>),
}

impl Client {
    /// Connects to the daemon at that path.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect(path: &Path) -> Result<Self, ConnectError> {
        Self::open(path, None).await
    }

    /// Connects, and shows every line that crosses.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect_observed(path: &Path, observer: Observer) -> Result<Self, ConnectError> {
        Self::open(path, Some(observer)).await
    }

    async fn open(path: &Path, observer: Option<Observer>) -> Result<Self, ConnectError> {
        check_length(path).map_err(ConnectError::TooLong)?;
        let stream = UnixStream::connect(path).await.map_err(|source| match source.kind() {
            // Reset: the daemon closed its socket while this client stood in line for it.
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => {
                ConnectError::NoDaemon(path.into())
            }
            _ => ConnectError::Io { path: path.into(), source },
        })?;
        let (read, write) = stream.into_split();
        let waiting = Arc::new(Mutex::new(Waiting::default()));
        let reading = tokio::spawn(read_lines(read, waiting.clone(), observer.clone()));
        Ok(Self { write: tokio::sync::Mutex::new(write), waiting, next: AtomicU64::new(1), observer, reading })
    }

    /// Calls a method and waits for its result.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, ClientError> {
        let (told, answer) = oneshot::channel();
        self.send(method, params, Answer::Call(told)).await?;
        answer.await.map_err(|_| ClientError::Closed)?.map_err(ClientError::Rpc)
    }

    /// Calls a method that begins a subscription. Its events must be read, or calls on this connection wait behind them.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn subscribe(&self, method: &str, params: Value) -> Result<Events, ClientError> {
        let (told, answer) = oneshot::channel();
        self.send(method, params, Answer::Subscription(told)).await?;
        answer.await.map_err(|_| ClientError::Closed)?.map_err(ClientError::Rpc)
    }

    async fn send(&self, method: &str, params: Value, answer: Answer) -> Result<(), ClientError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string();
        {
            let mut waiting = lock(&self.waiting);
            if waiting.closed {
                return Err(ClientError::Closed);
            }
            waiting.calls.insert(id, answer);
        }
        let mut write = self.write.lock().await;
        if let Some(observer) = &self.observer {
            observer(Crossed::Sent, &line);
        }
        line.push('\n');
        if write.write_all(line.as_bytes()).await.is_err() {
            lock(&self.waiting).calls.remove(&id);
            return Err(ClientError::Closed);
        }
        Ok(())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

fn lock(waiting: &Mutex<Waiting>) -> std::sync::MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn read_lines(read: OwnedReadHalf, waiting: Arc<Mutex<Waiting>>, observer: Option<Observer>) {
    let mut read = BufReader::new(read);
    let mut line = Vec::new();
    loop {
        line.clear();
        let came = (&mut read).take(LINE_BYTES).read_until(b'\n', &mut line).await;
        if !matches!(came, Ok(bytes) if bytes > 0) || !line.ends_with(b"\n") {
            break;
        }
        let text = String::from_utf8_lossy(line.trim_ascii_end());
        if let Some(observer) = &observer {
            observer(Crossed::Received, &text);
        }
        let Ok(message) = serde_json::from_str::<Value>(&text) else { break };
        if let Some((to, event)) = received(&waiting, message) {
            // A reader that dropped its events has no use for this one.
            let _unread = to.send(event).await;
        }
    }
    let mut waiting = lock(&waiting);
    waiting.closed = true;
    waiting.calls.clear();
    waiting.subscriptions.clear();
}

/// Hands on an answer; returns an event and where it goes.
fn received(waiting: &Mutex<Waiting>, mut message: Value) -> Option<(mpsc::Sender<Value>, Value)> {
    let mut waiting = lock(waiting);
    if let Some(id) = message.get("id").and_then(Value::as_u64) {
        let result = match message.get_mut("error") {
            Some(error) => Err(serde_json::from_value(error.take()).unwrap_or_else(RpcError::internal)),
            None => Ok(message.get_mut("result").map(Value::take).unwrap_or_default()),
        };
        match waiting.calls.remove(&id)? {
            // Whoever dropped a call in between does not miss its answer.
            Answer::Call(told) => drop(told.send(result)),
            Answer::Subscription(told) => {
                let begun = result.map(|id| {
                    let id = id.as_str().unwrap_or_default().to_owned();
                    let (to, events) = mpsc::channel(EVENTS);
                    waiting.subscriptions.insert(id.clone(), to);
                    Events { id, events }
                });
                drop(told.send(begun));
            }
        }
        return None;
    }
    let params = message.get_mut("params")?;
    let subscription = params.get("subscription")?.as_str()?.to_owned();
    let event = params.get_mut("result")?.take();
    let to = waiting.subscriptions.get(&subscription)?.clone();
    let ends = matches!(event.get("type").and_then(Value::as_str), Some("stream.closed" | "stream.lagged"));
    if ends {
        waiting.subscriptions.remove(&subscription);
    }
    Some((to, event))
}

#[cfg(test)]
mod tests;
