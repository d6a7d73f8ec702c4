//! The one thread that writes. Changes are done one after the other in the order in which they were sent, each in its
//! own transaction; between them streamed text is written, many pieces at a time. Nothing else writes to the database.

use crate::{
    change::Change,
    failure::Failure,
    recent::Recent,
    sql,
    texts::{Due, Texts},
};
use owl_domain::{
    ids::{ItemId, Seq},
    limits,
    ports::{EventText, StoreError},
    time::Timestamp,
};
use rusqlite::{Connection, params};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};
use tokio::sync::{oneshot, watch};

/// Text of an Item that is closed, or gone, is dropped here: only an open Item grows.
const CHUNK: &str = "INSERT INTO chunks (item, part, text)
    SELECT id, ?2, ?3 FROM items WHERE id = ?1 AND completed_at IS NULL";
const CHECKPOINT: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

/// How long streamed text waits after it could not be written, so that a full disk is not hammered.
const AFTER_A_FAILURE: Duration = Duration::from_secs(1);

/// Work for the writer.
pub(crate) type Job = Box<dyn FnOnce(&mut Writing) + Send>;

/// What the writer is told.
pub(crate) enum Message {
    /// Do this.
    Do(Job),
    /// Streamed text waits.
    Text(Due),
    /// Write what waits, empty the log, end, and tell when that is done.
    Close(oneshot::Sender<()>),
}

/// The writer's side of the database.
pub(crate) struct Writing {
    connection: Connection,
    text: Arc<dyn EventText>,
    texts: Arc<Texts>,
    newest: watch::Sender<Seq>,
    recent: Arc<Recent>,
    file: String,
    failed: Arc<Mutex<Option<StoreError>>>,
    log_to_empty: bool,
}

impl Writing {
    /// Takes the connection that writes. `failed` gets the last write's failure, if it failed.
    pub(crate) fn new(
        connection: Connection,
        text: Arc<dyn EventText>,
        texts: Arc<Texts>,
        (newest, recent): (watch::Sender<Seq>, Arc<Recent>),
        file: String,
        failed: Arc<Mutex<Option<StoreError>>>,
    ) -> Self {
        Self { connection, text, texts, newest, recent, file, failed, log_to_empty: false }
    }

    /// Makes one change, and only then tells of it.
    pub(crate) fn change<T>(
        &mut self,
        now: Timestamp,
        change: impl FnOnce(&mut Change<'_>) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        let (connection, text, texts) = (&mut self.connection, &*self.text, &*self.texts);
        // A panic must not end the thread that all writes go through; its transaction is rolled back on the way out.
        let changed = catch_unwind(AssertUnwindSafe(|| {
            let mut under_way = Change::begin(connection, text, texts, now)?;
            let done = change(&mut under_way)?;
            Ok((done, under_way.commit()?))
        }));
        let changed = changed.unwrap_or(Err(Failure::Panicked));
        let is_the_files = changed.as_ref().err().is_some_and(Failure::is_the_files);
        let changed = changed.map_err(|failure| failure.told(&self.file));
        let failed = if is_the_files { changed.as_ref().err().cloned() } else { None };
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = failed;
        let (done, told) = changed?;
        if let Some(newest) = told.last().map(|event| event.seq) {
            self.recent.add(told);
            self.newest.send_if_modified(|known| {
                let newer = newest > *known;
                *known = newest.max(*known);
                newer
            });
        }
        Ok(done)
    }

    /// Takes away the text of Items that are gone.
    pub(crate) fn forget(&self, items: &[ItemId]) {
        for item in items {
            self.texts.forget(*item);
        }
    }

    /// Moves the log into the database and empties its file, so that nothing of what was deleted is left in it.
    pub(crate) fn empty_log(&mut self) -> Result<(), StoreError> {
        let busy = self.connection.query_row(CHECKPOINT, [], |row| row.get::<_, i64>(0));
        match busy {
            Ok(busy) => {
                // A reader that outlasts the busy timeout: tried again after the next message.
                self.log_to_empty = busy != 0;
                Ok(())
            }
            Err(error) => Err(Failure::from(error).told(&self.file)),
        }
    }

    /// Writes what waits. Returns what is due then: text may have come meanwhile.
    fn write_texts(&mut self) -> Result<Due, StoreError> {
        let waiting = self.texts.waiting();
        if waiting.is_empty() {
            return Ok(Due::Known);
        }
        // No event: the moment does not matter.
        self.change(Timestamp::default(), |change| {
            for (item, part, text) in &waiting {
                let _grows = sql::run(change.db(), CHUNK, params![item.number(), part.name(), text])?;
            }
            Ok(())
        })?;
        Ok(self.texts.written(&waiting))
    }

    /// Works until it is closed, or nobody is left who could send.
    pub(crate) fn work(mut self, messages: &Receiver<Message>) {
        let mut due: Option<Instant> = None;
        loop {
            let message = match due {
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => messages.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            match message {
                Ok(Message::Do(job)) => job(&mut self),
                Ok(Message::Text(Due::Now)) => due = Some(Instant::now()),
                Ok(Message::Text(Due::Soon | Due::Known)) => {
                    due.get_or_insert_with(|| Instant::now() + limits::TEXT_WRITTEN_EVERY);
                }
                Ok(Message::Close(closed)) => {
                    self.end();
                    // Whoever asked may have left.
                    let _nobody_waits = closed.send(());
                    return;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.end(),
            }
            if self.log_to_empty && self.empty_log().is_err() {
                self.log_to_empty = false;
            }
            if due.is_some_and(|at| at <= Instant::now()) {
                due = match self.write_texts() {
                    Ok(Due::Known) => None,
                    Ok(Due::Soon | Due::Now) => Some(Instant::now() + limits::TEXT_WRITTEN_EVERY),
                    Err(_told_in_the_log) => Some(Instant::now() + AFTER_A_FAILURE),
                };
            }
        }
    }

    fn end(mut self) {
        let written = self.write_texts().and_then(|_all_of_it| self.empty_log());
        let closed = self.connection.close().map_err(|(_, error)| Failure::from(error).told(&self.file));
        if let Err(error) = written.and(closed) {
            tracing::error!(%error, "the database was not closed cleanly; nothing that was stored is lost");
        }
    }
}
