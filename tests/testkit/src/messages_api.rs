//! A Messages API on loopback that plays a script, so that a real coding tool runs offline (D23): which turn is played is
//! told by how many assistant messages a request holds. It records what it was sent. Knows nothing of Owl.

#![expect(clippy::expect_used, reason = "a test's server that cannot go on has to end the test")]

use serde_json::{Value, json};
use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

/// One part of a scripted reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Words.
    Text(String),
    /// A call of one of the tool's own tools; its id is `toolu_TURN_PLACE`.
    Call {
        /// Which tool.
        tool: String,
        /// Its input.
        input: Value,
    },
}

/// A request that came for a reply.
#[derive(Debug, Clone)]
pub struct ApiRequest {
    /// Header names in lower case, with their values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
}

impl ApiRequest {
    /// Returns a header's value.
    pub fn header(&self, wanted: &str) -> Option<&str> {
        self.headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
    }
}

/// The server. It ends with the test that holds it.
#[derive(Debug)]
pub struct MessagesApi {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<ApiRequest>>>,
}

impl MessagesApi {
    /// Starts one that plays these turns, and after them says that it is done.
    ///
    /// # Panics
    /// When no port can be had.
    pub fn start(turns: Vec<Vec<Block>>) -> Self {
        Self::start_with_subagent(turns, Vec::new())
    }

    /// Starts one that plays other turns to a subagent: to whoever is first asked [`SUBAGENT`].
    ///
    /// # Panics
    /// When no port can be had.
    pub fn start_with_subagent(turns: Vec<Vec<Block>>, of_subagent: Vec<Vec<Block>>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port on loopback");
        let address = listener.local_addr().expect("an address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (turns, all) = (Arc::new(Script { turns, of_subagent }), requests.clone());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (turns, all) = (turns.clone(), all.clone());
                // A client that goes away in the middle is its own affair.
                thread::spawn(move || serve(stream, &turns, &all).unwrap_or_default());
            }
        });
        Self { address, requests }
    }

    /// Returns its address as a base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests that came for a reply.
    pub fn requests(&self) -> Vec<ApiRequest> {
        lock(&self.requests).clone()
    }
}

/// What a subagent's prompt holds, and no other.
pub const SUBAGENT: &str = "You are the subagent of this test";

struct Script {
    turns: Vec<Vec<Block>>,
    of_subagent: Vec<Vec<Block>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(stream: TcpStream, script: &Script, all: &Mutex<Vec<ApiRequest>>) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let request = ApiRequest { headers, body: Value::Null };
    let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let asks = first.starts_with("POST") && first.contains("/v1/messages") && !first.contains("count_tokens");
    let (kind, answer) = if asks {
        let answer = reply(&body, script, lock(all).len());
        lock(all).push(ApiRequest { body, ..request });
        ("text/event-stream", answer)
    } else {
        ("application/json", "{}".into())
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        answer.len()
    );
    let mut stream = stream;
    stream.write_all(head.as_bytes())?;
    if !first.starts_with("HEAD") {
        stream.write_all(answer.as_bytes())?;
    }
    stream.shutdown(Shutdown::Write)
}

fn reply(request: &Value, script: &Script, number: usize) -> String {
    let messages = request["messages"].as_array().map_or(&[] as &[Value], Vec::as_slice);
    // Only its first message tells: the main agent's call stands in a later one.
    let is_subagent = messages.first().is_some_and(|first| first.to_string().contains(SUBAGENT));
    let (turns, whose) = if is_subagent { (&script.of_subagent, "s") } else { (&script.turns, "") };
    let turn = messages.iter().filter(|message| message["role"] == "assistant").count();
    let has_tools = request["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let done = vec![Block::Text("done".into())];
    let blocks = if has_tools { turns.get(turn).unwrap_or(&done) } else { &done };
    let calls = blocks.iter().any(|block| matches!(block, Block::Call { .. }));
    let mut text = String::new();
    let mut event = |name: &str, mut data: Value| {
        data["type"] = json!(name);
        text.push_str("event: ");
        text.push_str(name);
        text.push_str("\ndata: ");
        text.push_str(&data.to_string());
        text.push_str("\n\n");
    };
    // Replies of one id would be merged into one message.
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    event(
        "message_start",
        json!({"message": {"id": format!("msg_{number}"), "type": "message", "role": "assistant",
        "model": request["model"], "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage}}),
    );
    for (index, block) in blocks.iter().enumerate() {
        let (start, delta) = match block {
            Block::Text(words) => (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": words})),
            Block::Call { tool, input } => (
                json!({"type": "tool_use", "id": format!("toolu_{whose}{turn}_{index}"), "name": tool, "input": {}}),
                json!({"type": "input_json_delta", "partial_json": input.to_string()}),
            ),
        };
        event("content_block_start", json!({"index": index, "content_block": start}));
        event("content_block_delta", json!({"index": index, "delta": delta}));
        event("content_block_stop", json!({"index": index}));
    }
    let stop = if calls { "tool_use" } else { "end_turn" };
    event(
        "message_delta",
        json!({"delta": {"stop_reason": stop, "stop_sequence": null}, "usage": {"output_tokens": 1}}),
    );
    event("message_stop", json!({}));
    text
}
