//! The handle that all ports share: changes go to the one writer, questions to the readers.

use crate::{
    change::Change,
    failure::Failure,
    readers::Readers,
    recent::Recent,
    texts::{Due, Texts},
    writer::{Message, Writing},
};
use owl_domain::{conversation::Part, ids::ItemId, ids::Seq, ports::StoreError, time::Timestamp};
use rusqlite::Connection;
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, mpsc},
};
use tokio::sync::{Semaphore, oneshot, watch};

/// How many changes wait for the writer at once; whoever comes later waits before it.
const WAITING: usize = 256;

/// The open database.
#[derive(Clone)]
pub(crate) struct Database {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    file: String,
    messages: mpsc::Sender<Message>,
    room: Arc<Semaphore>,
    readers: Readers,
    texts: Arc<Texts>,
    newest: watch::Receiver<Seq>,
    recent: Arc<Recent>,
    failed: Arc<Mutex<Option<StoreError>>>,
}

/// The parts of a database that was opened.
pub(crate) struct Parts {
    /// The file.
    pub(crate) path: PathBuf,
    /// The file, for errors.
    pub(crate) file: String,
    /// Where the writer listens.
    pub(crate) messages: mpsc::Sender<Message>,
    /// The connections that read.
    pub(crate) readers: Readers,
    /// Text that waits.
    pub(crate) texts: Arc<Texts>,
    /// The newest event that is committed.
    pub(crate) newest: watch::Receiver<Seq>,
    /// The newest events, in memory.
    pub(crate) recent: Arc<Recent>,
    /// How the last write failed, or what was found to be damaged.
    pub(crate) failed: Arc<Mutex<Option<StoreError>>>,
}

impl Database {
    /// Puts the parts together.
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts { path, file, messages, readers, texts, newest, recent, failed } = parts;
        let room = Arc::new(Semaphore::new(WAITING));
        Self { inner: Arc::new(Inner { path, file, messages, room, readers, texts, newest, recent, failed }) }
    }

    /// Returns where the file is.
    pub(crate) fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Makes one change. Whoever waits for it may leave: it is made all the same.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        now: Timestamp,
        change: impl FnOnce(&mut Change<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.work(move |writing| writing.change(now, change)).await
    }

    /// Has the writer do something that is more than one change.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Writing) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let inner = &self.inner;
        let closed = || Failure::Closed.told(&inner.file);
        let room = inner.room.clone().acquire_owned().await.map_err(|_| closed())?;
        let (answer, answered) = oneshot::channel();
        let job = Box::new(move |writing: &mut Writing| {
            let done = work(writing);
            drop(room);
            // Whoever asked may have left.
            drop(answer.send(done));
        });
        inner.messages.send(Message::Do(job)).map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }

    /// Answers a question from one state of the database.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.inner.readers.read(question).await.map_err(|failure| failure.told(&self.inner.file))
    }

    /// Adds text to an open Item, in memory. Never waits.
    pub(crate) fn append(&self, item: ItemId, part: Part, text: &str) {
        let due = self.inner.texts.add(item, part, text);
        if due != Due::Known && self.inner.messages.send(Message::Text(due)).is_err() {
            tracing::debug!("text came after the database was closed");
        }
    }

    /// Takes away the text of an Item that is closed.
    pub(crate) fn forget(&self, item: ItemId) {
        self.inner.texts.forget(item);
    }

    /// Returns the newest event that is committed, and waits for newer ones.
    pub(crate) fn newest(&self) -> watch::Receiver<Seq> {
        self.inner.newest.clone()
    }

    /// Returns the newest events, as far as they are in memory.
    pub(crate) fn recent(&self) -> &Recent {
        &self.inner.recent
    }

    /// Returns how the last write failed, if it did.
    pub(crate) fn failed(&self) -> Option<StoreError> {
        self.inner.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Finishes what was begun, refuses what comes later, and closes the file with nothing left in its log.
    pub(crate) async fn close(&self) {
        self.inner.room.close();
        self.inner.readers.close().await;
        let (closed, is_closed) = oneshot::channel();
        if self.inner.messages.send(Message::Close(closed)).is_ok() && is_closed.await.is_err() {
            tracing::debug!("the database was closed before");
        }
    }
}
