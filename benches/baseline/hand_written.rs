//! Baselines of B2 and B3: a hand-written loop that parses and answers, and one that writes a line per event.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::path::Path;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixListener,
};

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    method: &'a str,
}

/// Answers each complete line of a read, all in one write.
pub(crate) fn serve_calls(path: &Path) {
    let listener = UnixListener::bind(path).unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut buffer, mut answers) = (Vec::with_capacity(64 * 1024), Vec::new());
                while stream.read_buf(&mut buffer).await.is_ok_and(|bytes| bytes > 0) {
                    let end = buffer.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                    for line in buffer[..end].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                        let call: Call<'_> = serde_json::from_slice(line).unwrap();
                        assert_eq!(call.method, "bench.ping");
                        answers.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
                        answers.extend_from_slice(call.id.get().as_bytes());
                        answers.extend_from_slice(b",\"result\":{\"pong\":true}}\n");
                    }
                    buffer.drain(..end);
                    if stream.write_all(&answers).await.is_err() {
                        return;
                    }
                    answers.clear();
                }
            });
        }
    });
}

/// Writes the same line so many times to whoever connects, one write each.
pub(crate) fn serve_lines(path: &Path, line: String, times: usize) {
    let listener = UnixListener::bind(path).unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let line = line.clone();
            tokio::spawn(async move {
                for _ in 0..times {
                    if stream.write_all(line.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
}
