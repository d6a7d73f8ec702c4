//! Connections that read beside the writer, each one question at a time, on threads that may block. A read that nobody
//! waits for any more ends by itself.

use crate::{failure::Failure, open};
use rusqlite::Connection;
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::Semaphore;

/// How many questions are answered at once; more wait. Two cores read no faster with more.
const AT_ONCE: usize = 4;

/// The connections that read.
pub(crate) struct Readers {
    path: PathBuf,
    places: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl Readers {
    /// Makes the pool; connections are opened when they are needed.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, places: Arc::new(Semaphore::new(AT_ONCE)), idle: Arc::default() }
    }

    /// Answers a question from one state of the database: all that it reads is of the same moment.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let place = self.places.clone().acquire_owned().await.map_err(|_| Failure::Closed)?;
        let (path, idle) = (self.path.clone(), self.idle.clone());
        let answer = tokio::task::spawn_blocking(move || {
            let pooled = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection = match pooled {
                Some(connection) => connection,
                None => open::reader(&path)?,
            };
            let answer = in_one_moment(&connection, question);
            // One that failed may be the connection's fault: the next question gets a new one.
            if answer.is_ok() {
                idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            }
            drop(place);
            answer
        });
        answer.await.unwrap_or(Err(Failure::Panicked))
    }

    /// Waits for the questions that are being answered, refuses further ones, and closes the connections.
    pub(crate) async fn close(&self) {
        let all = u32::try_from(AT_ONCE).unwrap_or(u32::MAX);
        let held = self.places.acquire_many(all).await;
        self.places.close();
        drop(held);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

fn in_one_moment<T>(
    connection: &Connection,
    question: impl FnOnce(&Connection) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let tx = connection.unchecked_transaction()?;
    let answer = question(&tx)?;
    tx.commit()?;
    Ok(answer)
}
