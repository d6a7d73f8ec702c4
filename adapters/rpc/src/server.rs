//! Accepts connections, counts them, refuses what is too much in the caller's own dialect, and ends in order (D4, D7).

use crate::{
    caller::{Caller, Dialect, Held, Limits, Phase, Shared},
    error::{RpcError, TOO_MANY_CONNECTIONS},
    http::Http,
    lines,
    socket::{self, BindError, Directory, SocketFile},
    table::Table,
};
use jsonrpsee::server::{ServerHandle, stop_channel};
use nix::sys::socket::{MsgFlags, recv};
use owl_domain::consent::Peer;
use std::{
    io,
    os::fd::AsRawFd,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, Interest},
    net::{UnixListener, UnixStream},
    sync::Semaphore,
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Where a server listens, and within which bounds.
#[derive(Debug, Clone)]
pub struct Config {
    /// The absolute path of its socket.
    pub socket: PathBuf,
    /// What is done about that path's directory.
    pub directory: Directory,
    /// Its bounds.
    pub limits: Limits,
}

/// How long the last notices of WebSockets have to get on their way.
const LAST_NOTICES: Duration = Duration::from_millis(500);
/// How long connections have to end once they are cut.
const CUT_WITHIN: Duration = Duration::from_millis(500);
/// How long a refused peer has to speak first, and again to read the refusal.
const REFUSED: Duration = Duration::from_secs(1);
/// Refusals that are told at once; beyond that a connection is closed without a word.
const REFUSALS: usize = 64;
/// How long accepting pauses when the process has no descriptor left.
const NO_DESCRIPTOR: Duration = Duration::from_millis(50);

/// A server of a table's methods.
#[derive(Debug)]
pub struct Server;

impl Server {
    /// Binds the socket and serves. What cannot be bound is told before anybody is served.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn start(config: Config, table: Table) -> Result<Running, BindError> {
        let failed = |source| BindError::Io { path: config.socket.clone(), source };
        let shared = Shared::new(config.limits.clone());
        let (stop, http_stop) = stop_channel();
        let table = table.complete();
        let http = Http::new(table.clone(), &config.limits, stop).map_err(|error| failed(io::Error::other(error)))?;
        let bound = socket::listen_at(&config.socket, config.directory)?;
        let listener = UnixListener::from_std(bound.listener).map_err(failed)?;
        let tasks = TaskTracker::new();
        let killed = CancellationToken::new();
        let accepting = Accepting {
            shared: shared.clone(),
            table,
            http,
            tasks: tasks.clone(),
            killed: killed.clone(),
            refusals: Arc::new(Semaphore::new(REFUSALS)),
            next: AtomicU32::new(1),
        };
        tasks.spawn(accepting.run(listener));
        Ok(Running { shared, tasks, killed, http_stop, file: bound.file })
    }
}

/// A server at work. Dropping it ends nothing: [`stop`](Self::stop) does.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    tasks: TaskTracker,
    killed: CancellationToken,
    http_stop: ServerHandle,
    file: SocketFile,
}

impl Running {
    /// Accepts nobody and no new call from now on; the socket's file is gone. What runs goes on, and subscribers are
    /// told of it.
    pub fn refuse(&self) {
        if self.shared.phase() == Phase::Serving {
            self.shared.go_on_to(Phase::Refusing);
            self.file.remove();
        }
    }

    /// Ends: subscribers are told, running calls are answered for a while, then whatever is left is cut.
    pub async fn stop(self) {
        self.refuse();
        self.shared.go_on_to(Phase::Closing);
        self.tasks.close();
        let orderly = async {
            let told = async {
                while self.shared.subscriptions.load(Ordering::Relaxed) > 0 {
                    sleep(Duration::from_millis(5)).await;
                }
            };
            // Notices that come later are lost: a WebSocket is then closed with its code, and clients resume.
            let _late = timeout(LAST_NOTICES, told).await;
            // The only way to fail is that nobody is left to be told.
            let _nobody = self.http_stop.stop();
            self.tasks.wait().await;
        };
        if timeout(self.shared.limits.stop, orderly).await.is_err() {
            tracing::warn!("connections were cut that had calls under way");
            self.killed.cancel();
            if timeout(CUT_WITHIN, self.tasks.wait()).await.is_err() {
                tracing::warn!("a connection did not end though it was cut");
            }
        }
    }
}

struct Accepting {
    shared: Arc<Shared>,
    table: Arc<Table>,
    http: Http,
    tasks: TaskTracker,
    killed: CancellationToken,
    refusals: Arc<Semaphore>,
    next: AtomicU32,
}

impl Accepting {
    async fn run(self, listener: UnixListener) {
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.shared.reached(Phase::Refusing) => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => self.accepted(stream),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    sleep(NO_DESCRIPTOR).await;
                }
            }
        }
    }

    fn accepted(&self, stream: UnixStream) {
        let Some(peer) = served_peer(&stream) else { return };
        let killed = self.killed.clone();
        match self.shared.connect() {
            Some(place) => {
                let id = self.next.fetch_add(1, Ordering::Relaxed);
                let held = Held { _place: place, _awaited: self.tasks.token() };
                let serving = self.serve(stream, id, peer, held);
                self.tasks.spawn(async move {
                    tokio::select! {
                        () = serving => {}
                        () = killed.cancelled() => {}
                    }
                });
            }
            None => {
                let Ok(telling) = self.refusals.clone().try_acquire_owned() else { return };
                let most = self.shared.limits.connections;
                self.tasks.spawn(async move {
                    tokio::select! {
                        _ = refuse(stream, most) => {}
                        () = killed.cancelled() => {}
                    }
                    drop(telling);
                });
            }
        }
    }
}

impl Accepting {
    fn serve(&self, mut stream: UnixStream, id: u32, peer: Peer, held: Held) -> impl Future<Output = ()> + use<> {
        let (shared, table, http) = (self.shared.clone(), self.table.clone(), self.http.clone());
        let cut = self.killed.clone();
        async move {
            let first = tokio::select! {
                first = timeout(shared.limits.first_byte, dialect(&mut stream)) => first,
                () = shared.reached(Phase::Closing) => return,
            };
            if let Ok(Ok(Some(dialect))) = first {
                let caller = Arc::new(Caller { id, dialect, peer, server: shared });
                match dialect {
                    Dialect::Lines => {
                        lines::serve(stream, caller, table).await;
                        drop(held);
                    }
                    Dialect::Http => http.serve(stream, caller, held, cut).await,
                }
            }
        }
    }
}

/// Returns the peer as the kernel tells it; none when it is another user's.
fn served_peer(stream: &UnixStream) -> Option<Peer> {
    let peer = stream.peer_cred().ok()?;
    if !socket::is_served(peer.uid()) {
        tracing::warn!(uid = peer.uid(), "a connection of another user was closed");
        return None;
    }
    let program = peer.pid().and_then(program_of);
    Some(Peer { pid: peer.pid(), uid: Some(peer.uid()), program })
}

/// Returns the name of a process's program, where the system tells it.
fn program_of(pid: i32) -> Option<String> {
    let name = std::fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(String::from_utf8_lossy(name.strip_suffix(b"\n").unwrap_or(&name)).into_owned())
}

/// Takes the blanks that stand first, and says by the byte behind them how the peer speaks. None when it left.
async fn dialect(stream: &mut UnixStream) -> io::Result<Option<Dialect>> {
    let mut seen = [0; 64];
    loop {
        let length = stream
            .async_io(Interest::READABLE, || {
                Ok(recv(stream.as_raw_fd(), &mut seen, MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT)?)
            })
            .await?;
        let seen = seen.get(..length).unwrap_or_default();
        let Some(first) = seen.iter().position(|byte| !b" \t\r\n".contains(byte)) else {
            if length == 0 {
                return Ok(None);
            }
            take(stream, length).await?;
            continue;
        };
        take(stream, first).await?;
        let is_http = seen.get(first).is_some_and(u8::is_ascii_uppercase);
        return Ok(Some(if is_http { Dialect::Http } else { Dialect::Lines }));
    }
}

async fn take(stream: &mut UnixStream, blanks: usize) -> io::Result<()> {
    let mut blank = [0; 64];
    if let Some(blank) = blank.get_mut(..blanks) {
        stream.read_exact(blank).await?;
    }
    Ok(())
}

/// Tells a peer that there is no place for it, in its own dialect, and waits until it has read that.
async fn refuse(mut stream: UnixStream, most: usize) -> io::Result<()> {
    let message = format!("{most} connections are open, and no more may be; try again later");
    let error = RpcError::new(&TOO_MANY_CONNECTIONS, message, serde_json::json!({ "limit": most }));
    let body = serde_json::json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string();
    let first = timeout(REFUSED, dialect(&mut stream)).await;
    let refusal = match first {
        Ok(Ok(Some(Dialect::Http))) => format!(
            "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n{body}",
            body.len()
        ),
        Ok(Ok(Some(Dialect::Lines))) | Err(_) => format!("{body}\n"),
        Ok(Ok(None) | Err(_)) => return Ok(()),
    };
    stream.write_all(refusal.as_bytes()).await?;
    stream.shutdown().await?;
    // Closing while something of the peer's is unread would turn the refusal into a broken pipe at its end.
    let drained = async {
        let mut rest = [0; 4096];
        while stream.read(&mut rest).await? > 0 {}
        Ok::<(), io::Error>(())
    };
    timeout(REFUSED, drained).await.unwrap_or(Ok(()))
}
