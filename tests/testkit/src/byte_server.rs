//! A server on loopback that plays byte strings and pauses, and records what it was sent: for what no well-behaved
//! server would say (D17). Knows no service. Threads and blocking sockets, so that any test can use it.
#![expect(clippy::expect_used, reason = "a test's server that cannot go on has to end the test")]

use std::{
    io::{self, BufRead, BufReader, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

/// What is done with one request, in order; then the connection is closed, unless it is kept.
#[derive(Debug, Clone, Default)]
pub struct Script {
    acts: Vec<Act>,
    kept: bool,
}

#[derive(Debug, Clone)]
enum Act {
    Send(Vec<u8>),
    Pause(Duration),
    Await(Signal),
    Hold,
}

impl Script {
    /// Does nothing: the connection is closed at once.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers with a status, headers (each `name: value`) and a whole body.
    pub fn answer(status: u16, headers: &[&str], body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let mut head = format!("HTTP/1.1 {status} Said\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
        for header in headers {
            head.push_str(header);
            head.push_str("\r\n");
        }
        Self::new().send(head).send("\r\n").send(body)
    }

    /// Answers 200 with an event stream that goes on until the connection is closed: send its bytes next.
    pub fn events() -> Self {
        Self::new().send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
    }

    /// Answers 200 with an event stream in chunks of at most `size` bytes, which reach the client as they are.
    pub fn chunked(events: impl AsRef<[u8]>, size: usize) -> Self {
        Self::chunked_and_cut(events, size).send("0\r\n\r\n")
    }

    /// Answers 200 with an event stream in one chunk; the next request may come on the same connection.
    pub fn chunked_and_kept(events: impl AsRef<[u8]>) -> Self {
        let events = events.as_ref();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let script = Self::new().send(head).send(format!("{:x}\r\n", events.len())).send(events).send("\r\n0\r\n\r\n");
        Self { kept: true, ..script }
    }

    /// Likewise, but closed, and without the chunk that would end it: the client sees a broken connection.
    pub fn chunked_and_cut(events: impl AsRef<[u8]>, size: usize) -> Self {
        let mut bytes = Vec::from(
            &b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"[..],
        );
        for chunk in events.as_ref().chunks(size.max(1)) {
            bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        Self::new().send(bytes)
    }

    /// Sends bytes.
    #[must_use]
    pub fn send(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.acts.push(Act::Send(bytes.as_ref().to_vec()));
        self
    }

    /// Sends bytes one by one, each in a write of its own.
    #[must_use]
    pub fn send_one_by_one(self, bytes: impl AsRef<[u8]>) -> Self {
        bytes.as_ref().iter().fold(self, |script, byte| script.send([*byte]))
    }

    /// Does nothing for a while.
    #[must_use]
    pub fn pause(mut self, time: Duration) -> Self {
        self.acts.push(Act::Pause(time));
        self
    }

    /// Does nothing until the signal is given.
    #[must_use]
    pub fn wait_for(mut self, signal: &Signal) -> Self {
        self.acts.push(Act::Await(signal.clone()));
        self
    }

    /// Does nothing until the client has gone.
    #[must_use]
    pub fn hold(mut self) -> Self {
        self.acts.push(Act::Hold);
        self
    }
}

/// Lets a script go on.
#[derive(Debug, Clone, Default)]
pub struct Signal(Arc<(Mutex<bool>, Condvar)>);

impl Signal {
    /// Makes one that is not given yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives it, for good.
    pub fn give(&self) {
        *lock(&self.0.0) = true;
        self.0.1.notify_all();
    }

    fn wait(&self) {
        let mut given = lock(&self.0.0);
        while !*given {
            given = self.0.1.wait(given).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A request as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// `GET`, `POST`.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
}

impl Recorded {
    /// Returns a header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }

    /// Says whether these bytes are anywhere in the request.
    pub fn holds(&self, needle: &str) -> bool {
        let found = |text: &str| text.contains(needle);
        found(&self.target)
            || self.headers.iter().any(|(_, value)| found(value))
            || found(&String::from_utf8_lossy(&self.body))
    }
}

/// The server. Each request gets the next script; the last one is played for ever. Ends when it is dropped.
#[derive(Debug)]
pub struct ByteServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Chooses the script by the request; the next one of the list when there is none.
    answers: Option<Answers>,
}

struct Answers(Box<dyn Fn(&Recorded) -> Script + Send + Sync>);

impl std::fmt::Debug for Answers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Answers")
    }
}

#[derive(Debug, Default)]
struct State {
    scripts: Vec<Script>,
    recorded: Vec<Recorded>,
    connections: usize,
    over: bool,
}

impl ByteServer {
    /// Listens on a free port of loopback.
    pub fn start(scripts: impl IntoIterator<Item = Script>) -> Self {
        Self::listen(scripts.into_iter().collect(), None)
    }

    /// Listens likewise; each request gets the script that this makes of it.
    pub fn answering(answers: impl Fn(&Recorded) -> Script + Send + Sync + 'static) -> Self {
        Self::listen(Vec::new(), Some(Answers(Box::new(answers))))
    }

    fn listen(scripts: Vec<Script>, answers: Option<Answers>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
        let address = listener.local_addr().expect("the listener has an address");
        let state = State { scripts, ..State::default() };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), answers });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            while let Ok((connection, _)) = listener.accept() {
                let mut state = lock(&accepting.state);
                if state.over {
                    return;
                }
                state.connections += 1;
                drop(state);
                let shared = Arc::clone(&accepting);
                // A client may leave in the middle of a script: that ends the script.
                thread::spawn(move || shared.serve(connection).unwrap_or_default());
            }
        });
        Self { address, shared }
    }

    /// Returns its base address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Plays these scripts from the next request on.
    pub fn play(&self, scripts: impl IntoIterator<Item = Script>) {
        lock(&self.shared.state).scripts = scripts.into_iter().collect();
    }

    /// Returns the requests so far, in the order in which they came.
    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.shared.state).recorded.clone()
    }

    /// Returns the requests so far and forgets them.
    pub fn take_requests(&self) -> Vec<Recorded> {
        std::mem::take(&mut lock(&self.shared.state).recorded)
    }

    /// Returns how many connections were made.
    pub fn connections(&self) -> usize {
        lock(&self.shared.state).connections
    }

    /// Waits until there are that many requests. Blocks its thread: in an async test use `spawn_blocking`.
    pub fn wait_for_requests(&self, many: usize) {
        let mut state = lock(&self.shared.state);
        while state.recorded.len() < many {
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for ByteServer {
    fn drop(&mut self) {
        lock(&self.shared.state).over = true;
        // Wakes the thread that accepts; when it has gone already there is nobody to wake.
        drop(TcpStream::connect(self.address));
    }
}

impl Shared {
    fn serve(&self, connection: TcpStream) -> io::Result<()> {
        connection.set_nodelay(true)?;
        let mut reader = BufReader::new(connection.try_clone()?);
        while let Some(request) = read_request(&mut reader)? {
            let script = self.script_for(request);
            let mut writer = &connection;
            for act in script.acts {
                match act {
                    Act::Send(bytes) => writer.write_all(&bytes)?,
                    Act::Pause(time) => thread::sleep(time),
                    Act::Await(signal) => signal.wait(),
                    Act::Hold => {
                        io::copy(&mut reader, &mut io::sink())?;
                    }
                }
            }
            if !script.kept {
                break;
            }
        }
        connection.shutdown(Shutdown::Both)
    }

    fn script_for(&self, request: Recorded) -> Script {
        let answer = self.answers.as_ref().map(|Answers(answer)| answer(&request));
        let mut state = lock(&self.state);
        state.recorded.push(request);
        self.changed.notify_all();
        if let Some(answer) = answer {
            return answer;
        }
        match state.scripts.len() {
            0 => Script::new(),
            1 => state.scripts.first().cloned().unwrap_or_default(),
            _ => state.scripts.remove(0),
        }
    }
}

/// Reads one request; none when the client left before it said anything.
fn read_request(reader: &mut impl BufRead) -> io::Result<Option<Recorded>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers: Vec<(String, String)> = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, n)| n.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    Ok(Some(Recorded { method, target, headers, body }))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
