//! Baseline of B1 and B4: a bare loop that reads a line and writes it back.

use std::path::Path;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::UnixListener,
};

/// Serves one connection after the other, each in a task of its own.
pub(crate) fn serve(path: &Path) {
    let listener = UnixListener::bind(path).unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (read, mut write) = stream.into_split();
                let mut read = BufReader::new(read);
                let mut line = Vec::new();
                while read.read_until(b'\n', &mut line).await.is_ok_and(|bytes| bytes > 0) {
                    if write.write_all(&line).await.is_err() {
                        return;
                    }
                    line.clear();
                }
            });
        }
    });
}
