//! Baseline of B15: a loop that reads a Provider's stream and writes each delta as a line onto a Unix socket, and nothing
//! more: no client library, no event parser, no database.

use serde_json::Value;
use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpStream},
    os::unix::net::UnixStream,
    thread,
};

/// Asks the server, and returns the end of the socket on which each delta's text comes as a line.
pub(crate) fn start(server: SocketAddr) -> BufReader<UnixStream> {
    let (mut into, out) = UnixStream::pair().unwrap();
    thread::spawn(move || {
        let mut provider = TcpStream::connect(server).unwrap();
        provider.write_all(b"POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n").unwrap();
        for line in BufReader::new(provider).lines() {
            let line = line.unwrap();
            let Some(data) = line.strip_prefix("data: ") else { continue };
            let event: Value = serde_json::from_str(data).unwrap();
            if let Some(text) = event["delta"]["text"].as_str() {
                into.write_all(format!("{text}\n").as_bytes()).unwrap();
            }
        }
    });
    BufReader::new(out)
}
