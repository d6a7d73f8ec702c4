//! The three dialects by hand, byte for byte: what no library is asked to put right. Also clients that leave at once.

use serde_json::{Value, value::RawValue};
use std::path::Path;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::UnixStream,
};

/// How a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Lines,
    Http,
    WebSocket,
}

impl Dialect {
    pub(crate) const ALL: [Self; 3] = [Self::Lines, Self::Http, Self::WebSocket];
}

/// One connection in one dialect.
pub(crate) struct Wire {
    dialect: Dialect,
    stream: BufReader<UnixStream>,
}

/// `result` or `error` of an answer, byte for byte, and its id.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) id: String,
    pub(crate) outcome: String,
}

/// The example of RFC 6455, and what the server must make of it.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
/// Far more than anything needs.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);
/// Masks need not be secret here.
const MASK: [u8; 4] = [7, 77, 177, 27];

impl Wire {
    /// Connects, with the handshake where there is one.
    pub(crate) async fn connect(socket: &Path, dialect: Dialect) -> Self {
        let stream = UnixStream::connect(socket).await.unwrap();
        let mut wire = Self { dialect, stream: BufReader::new(stream) };
        if dialect == Dialect::WebSocket {
            let upgrade = format!(
                "GET / HTTP/1.1\r\nhost: owl\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
                 sec-websocket-version: 13\r\nsec-websocket-key: {KEY}\r\n\r\n"
            );
            wire.stream.write_all(upgrade.as_bytes()).await.unwrap();
            let (status, headers) = wire.head().await.unwrap();
            assert_eq!(status, 101);
            assert_eq!(header(&headers, "sec-websocket-accept"), Some(ACCEPT));
        }
        wire
    }

    /// Sends one message.
    pub(crate) async fn say(&mut self, message: &str) {
        self.stream.write_all(&framed(self.dialect, message)).await.unwrap();
    }

    /// Sends bytes as they are.
    pub(crate) async fn say_raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// Ends what this client says; it still hears.
    pub(crate) async fn half_close(&mut self) {
        self.stream.shutdown().await.unwrap();
    }

    /// Returns the next message; none when the daemon closed.
    pub(crate) async fn hear(&mut self) -> Option<String> {
        let heard = tokio::time::timeout(PATIENCE, self.next()).await;
        heard.unwrap_or_else(|_| panic!("nothing came"))
    }

    async fn next(&mut self) -> Option<String> {
        match self.dialect {
            Dialect::Lines => {
                let mut line = String::new();
                let read = self.stream.read_line(&mut line).await.unwrap();
                (read > 0).then(|| line.trim_end_matches('\n').to_owned())
            }
            Dialect::Http => {
                let (status, body) = self.hear_http().await?;
                assert_eq!(status, 200, "{body}");
                Some(body)
            }
            Dialect::WebSocket => self.frame().await,
        }
    }

    /// Returns the next answer of HTTP: its status and its body.
    pub(crate) async fn hear_http(&mut self) -> Option<(u16, String)> {
        let (status, headers) = self.head().await?;
        let length = header(&headers, "content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await.unwrap();
        Some((status, String::from_utf8(body).unwrap()))
    }

    /// Sends one message and returns what is said to it.
    pub(crate) async fn ask(&mut self, message: &str) -> String {
        self.say(message).await;
        self.hear().await.unwrap_or_else(|| panic!("closed instead of answering {message}"))
    }

    /// Makes a call and returns its answer as it came.
    pub(crate) async fn call(&mut self, method: &str, params: &str) -> Answer {
        let said = self.ask(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)).await;
        answer(&said)
    }

    async fn head(&mut self) -> Option<(u16, Vec<String>)> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line).await.unwrap() == 0 {
                return None;
            }
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let status = lines.remove(0).split(' ').nth(1).unwrap().parse().unwrap();
        Some((status, lines))
    }

    async fn frame(&mut self) -> Option<String> {
        loop {
            let first = self.stream.read_u8().await.ok()?;
            let short = self.stream.read_u8().await.unwrap();
            let length = match short {
                126 => u64::from(self.stream.read_u16().await.unwrap()),
                127 => self.stream.read_u64().await.unwrap(),
                short => u64::from(short),
            };
            let mut body = vec![0; usize::try_from(length).unwrap()];
            self.stream.read_exact(&mut body).await.unwrap();
            match first {
                0x81 => return Some(String::from_utf8(body).unwrap()),
                0x88 => return None,
                0x89 | 0x8a => {}
                other => panic!("a frame that nobody expects: {other:#x}"),
            }
        }
    }
}

/// Makes the bytes of one message.
fn framed(dialect: Dialect, message: &str) -> Vec<u8> {
    match dialect {
        Dialect::Lines => format!("{message}\n").into_bytes(),
        Dialect::Http => post("application/json", message).into_bytes(),
        Dialect::WebSocket => {
            let mut frame = vec![0x81];
            match message.len() {
                length @ 0..126 => frame.push(0x80 | u8::try_from(length).unwrap()),
                length @ 126..0x1_0000 => {
                    frame.push(0x80 | 126);
                    frame.extend_from_slice(&u16::try_from(length).unwrap().to_be_bytes());
                }
                length => {
                    frame.push(0x80 | 127);
                    frame.extend_from_slice(&u64::try_from(length).unwrap().to_be_bytes());
                }
            }
            frame.extend_from_slice(&MASK);
            frame.extend(message.bytes().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
            frame
        }
    }
}

/// A POST with a body.
pub(crate) fn post(content_type: &str, body: &str) -> String {
    let length = body.len();
    format!("POST / HTTP/1.1\r\nhost: owl\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\r\n{body}")
}

fn header<'h>(headers: &'h [String], name: &str) -> Option<&'h str> {
    let named = headers.iter().filter_map(|line| line.split_once(':'));
    named.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
}

/// Takes an answer apart without changing a byte of what it says.
pub(crate) fn answer(said: &str) -> Answer {
    let members: std::collections::BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(said).unwrap_or_else(|error| panic!("{error}: {said}"));
    let names: Vec<&str> = members.keys().map(String::as_str).collect();
    let (outcome, rest) = match names.as_slice() {
        ["error", "id", "jsonrpc"] => ("error", &members["error"]),
        ["id", "jsonrpc", "result"] => ("result", &members["result"]),
        _ => panic!("no answer: {said}"),
    };
    assert_eq!(members["jsonrpc"].get(), "\"2.0\"");
    Answer { id: members["id"].get().to_owned(), outcome: format!("{outcome} {}", rest.get()) }
}

/// Takes a batch's answers apart.
pub(crate) fn answers(said: &str) -> Vec<Answer> {
    let entries: Vec<Box<RawValue>> = serde_json::from_str(said).unwrap_or_else(|error| panic!("{error}: {said}"));
    entries.iter().map(|entry| answer(entry.get())).collect()
}

impl Answer {
    /// Returns the result or the error.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(self.outcome.split_once(' ').unwrap().1).unwrap()
    }

    /// Returns the error's code; none of a result.
    pub(crate) fn code(&self) -> Option<i64> {
        self.value()["code"].as_i64().filter(|_| self.outcome.starts_with("error "))
    }
}
