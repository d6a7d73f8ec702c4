//! Runs' logs as files, `RUN.jsonl`, one line each (D2, D20). Only whole lines are ever read, also while one is being
//! written and after a daemon died in the middle of one.

mod lines;

use crate::private::create_file;
use async_trait::async_trait;
use lines::written;
use owl_domain::{
    ids::RunId,
    ports::{LogError, LogLine, LogLines, RunLogs},
};
use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::watch;

/// How much is read at once on the way back to the last line's end.
const STEP: u64 = 64 * 1024;

/// Runs' logs in a directory of Owl's own.
#[derive(Debug)]
pub struct HostRunLogs {
    directory: PathBuf,
    known: Mutex<HashMap<RunId, Arc<Log>>>,
}

/// One log, as far as this daemon had to do with it.
#[derive(Debug)]
struct Log {
    path: PathBuf,
    /// One writer at a time; none until the size is known.
    writing: tokio::sync::Mutex<()>,
    /// How many bytes of whole lines there are.
    size: watch::Sender<u64>,
}

impl HostRunLogs {
    /// Takes the directory, which is there and private.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), known: Mutex::default() }
    }

    /// Returns a log with the size of its whole lines.
    async fn log(&self, run: RunId) -> Result<Arc<Log>, LogError> {
        let known = |all: &HashMap<RunId, Arc<Log>>| all.get(&run).cloned();
        if let Some(log) = known(&self.known.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(log);
        }
        let path = self.directory.join(format!("{run}.jsonl"));
        let looked_at = path.clone();
        let size = waiting(&path, move || whole_lines(&looked_at)).await?;
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Log { path, writing: tokio::sync::Mutex::new(()), size: watch::Sender::new(size) });
        Ok(Arc::clone(all.entry(run).or_insert_with(new)))
    }
}

#[async_trait]
impl RunLogs for HostRunLogs {
    async fn append(&self, run: RunId, line: LogLine) -> Result<(), LogError> {
        let log = self.log(run).await?;
        let _one_at_a_time = log.writing.lock().await;
        let (path, size) = (log.path.clone(), *log.size.borrow());
        let grown = waiting(&log.path, move || append(&path, size, &written(&line))).await?;
        log.size.send_replace(grown);
        Ok(())
    }

    async fn read(&self, run: RunId, after: u64, most_bytes: usize) -> Result<LogLines, LogError> {
        let log = self.log(run).await?;
        let (path, size) = (log.path.clone(), *log.size.borrow());
        waiting(&log.path, move || read(&path, after, size, most_bytes)).await
    }

    async fn size(&self, run: RunId) -> u64 {
        match self.log(run).await {
            Ok(log) => *log.size.borrow(),
            Err(error) => {
                tracing::warn!(%error, "the size of a log is not known");
                0
            }
        }
    }

    async fn longer_than(&self, run: RunId, size: u64) {
        let Ok(log) = self.log(run).await else { return std::future::pending().await };
        // The sender lives in `log`.
        let mut told = log.size.subscribe();
        let _longer = told.wait_for(|now| *now > size).await;
    }
}

/// Returns how many bytes of a file are whole lines; none of one that is not there.
fn whole_lines(path: &Path) -> io::Result<u64> {
    let mut file = match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        file => file?,
    };
    let mut end = file.metadata()?.len();
    let mut bytes = Vec::new();
    while end > 0 {
        let from = end.saturating_sub(STEP);
        file.seek(SeekFrom::Start(from))?;
        bytes.clear();
        (&file).take(end - from).read_to_end(&mut bytes)?;
        if let Some(at) = bytes.iter().rposition(|byte| *byte == b'\n') {
            return Ok(from + u64::try_from(at).unwrap_or(0) + 1);
        }
        end = from;
    }
    Ok(0)
}

fn open(path: &Path) -> io::Result<File> {
    let flags = nix::fcntl::OFlag::O_NOFOLLOW | nix::fcntl::OFlag::O_NONBLOCK;
    File::options().read(true).custom_flags(flags.bits()).open(path)
}

/// Writes a line behind the whole ones, in place of what is left of one that was never finished.
fn append(path: &Path, size: u64, line: &str) -> io::Result<u64> {
    let mut file = create_file(path).map_err(io::Error::other)?;
    if file.metadata()?.len() != size {
        file.set_len(size)?;
    }
    file.seek(SeekFrom::Start(size))?;
    if let Err(error) = file.write_all(line.as_bytes()) {
        // A line that is not whole is none; what cannot be taken back now is when the next one comes.
        drop(file.set_len(size));
        return Err(error);
    }
    Ok(size.saturating_add(u64::try_from(line.len()).unwrap_or(u64::MAX)))
}

fn read(path: &Path, after: u64, size: u64, most_bytes: usize) -> io::Result<LogLines> {
    let mut found = LogLines { lines: Vec::new(), next: after.min(size), size };
    if after >= size {
        return Ok(found);
    }
    let mut file = BufReader::new(open(path)?);
    let mut at = after.saturating_sub(1);
    file.seek(SeekFrom::Start(at))?;
    let mut file = file.take(size - at);
    let mut line = Vec::new();
    if after > 0 {
        // The byte before: what is behind it is the beginning of a line only when that one is a line's end.
        at += u64::try_from(file.read_until(b'\n', &mut line)?).unwrap_or(0);
    }
    let mut bytes = 0;
    while found.lines.is_empty() || bytes < most_bytes {
        line.clear();
        let length = file.read_until(b'\n', &mut line)?;
        if length == 0 {
            break;
        }
        bytes += length;
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        found.lines.push((at, String::from_utf8_lossy(&line).into_owned()));
        at += u64::try_from(length).unwrap_or(0);
    }
    found.next = at;
    Ok(found)
}

/// Does what may wait for a disk away from the threads that serve.
async fn waiting<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, LogError> {
    let failed = |reason: String| LogError { file: path.display().to_string(), reason };
    let done = tokio::task::spawn_blocking(work).await.map_err(|error| failed(error.to_string()))?;
    done.map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests;
