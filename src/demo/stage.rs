//! The demo's client: shows each line that crosses the socket as it is, with captions between.

use crate::cli::{Failed, Out};
use anyhow::{Context as _, anyhow};
use owl_domain::show::visible;
use serde_json::{Value, json};
use std::{collections::VecDeque, path::Path};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
};

/// A connection whose lines are printed.
pub(super) struct Stage<'o> {
    write: OwnedWriteHalf,
    lines: Lines<BufReader<OwnedReadHalf>>,
    next_id: u64,
    /// Events that came while an answer was waited for.
    events: VecDeque<Value>,
    last_seq: i64,
    out: &'o mut Out,
}

impl<'o> Stage<'o> {
    pub(super) async fn connect(socket: &Path, out: &'o mut Out) -> Result<Self, Failed> {
        let (write, lines) = open(socket).await?;
        Ok(Self { write, lines, next_id: 1, events: VecDeque::new(), last_seq: 0, out })
    }

    /// Drops the connection and makes another.
    pub(super) async fn reconnect(&mut self, socket: &Path) -> Result<(), Failed> {
        let (write, lines) = open(socket).await?;
        self.write = write;
        self.lines = lines;
        self.events.clear();
        Ok(())
    }

    /// Prints a caption.
    pub(super) fn say(&mut self, caption: &str) -> Result<(), Failed> {
        say(self.out, caption)
    }

    /// Returns the number of the last event that came.
    pub(super) fn last_seq(&self) -> i64 {
        self.last_seq
    }

    /// Makes a call and returns its result.
    pub(super) async fn call(&mut self, method: &str, params: Value) -> Result<Value, Failed> {
        match self.try_call(method, params).await? {
            Ok(result) => Ok(result),
            Err(error) => Err(Failed::Refused(format!("{method}: {}", error["message"].as_str().unwrap_or_default()))),
        }
    }

    /// Makes a call and returns its result, or the error object.
    pub(super) async fn try_call(&mut self, method: &str, params: Value) -> Result<Result<Value, Value>, Failed> {
        let id = self.next_id;
        self.next_id += 1;
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string();
        crossed(self.out, "→", "sent", &line)?;
        let sent = self.write.write_all(format!("{line}\n").as_bytes()).await;
        sent.context("the daemon closed the connection").map_err(Failed::Broken)?;
        loop {
            let mut message = self.message().await?;
            if message["id"] == json!(id) {
                if let Some(error) = message.get_mut("error") {
                    return Ok(Err(error.take()));
                }
                return Ok(Ok(message["result"].take()));
            }
            self.events.push_back(message["params"]["result"].take());
        }
    }

    /// Returns the next event of that type; those before it have been shown.
    pub(super) async fn until(&mut self, name: &str) -> Result<Value, Failed> {
        loop {
            let event = match self.events.pop_front() {
                Some(event) => event,
                None => self.message().await?["params"]["result"].take(),
            };
            if let Some(seq) = event["seq"].as_i64() {
                self.last_seq = seq;
            }
            if event["type"] == name {
                return Ok(event);
            }
        }
    }

    async fn message(&mut self) -> Result<Value, Failed> {
        let line = self.lines.next_line().await.context("the socket").map_err(Failed::Broken)?;
        let line = line.ok_or_else(|| Failed::Broken(anyhow!("the daemon closed the connection")))?;
        crossed(self.out, "←", "received", &line)?;
        serde_json::from_str(&line).context("the daemon's line is no JSON").map_err(Failed::Broken)
    }
}

async fn open(socket: &Path) -> Result<(OwnedWriteHalf, Lines<BufReader<OwnedReadHalf>>), Failed> {
    let stream = UnixStream::connect(socket).await;
    let (read, write) = stream.context("the demo's own socket").map_err(Failed::Broken)?.into_split();
    Ok((write, BufReader::new(read).lines()))
}

/// Prints a caption.
pub(super) fn say(out: &mut Out, caption: &str) -> Result<(), Failed> {
    if out.is_json() {
        return out.line(&json!({ "caption": caption }).to_string());
    }
    out.line("")?;
    out.line(caption)
}

/// Prints a line as it crossed the socket. JSON escapes controls itself; what is invisible beside them is shown for a
/// person, and left as it is with `--json`.
fn crossed(out: &mut Out, arrow: &str, direction: &str, line: &str) -> Result<(), Failed> {
    if out.is_json() {
        return out.line(&format!("{{\"{direction}\":{line}}}"));
    }
    out.line(&format!("{arrow} {}", visible(line)))
}
