//! What one line connection has to write: answers, and events in chunks. Both hold a place until they are written down,
//! so that a client which reads nothing costs no more than its places.

use crate::outlet::Unsent;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

/// Whole lines that wait to be written.
pub(super) struct Outgoing {
    pub(super) bytes: Vec<u8>,
    /// The subscription they belong to; what waits of one that was ended is not written.
    pub(super) subscription: Option<CancellationToken>,
    /// The place they take.
    pub(super) place: OwnedSemaphorePermit,
}

/// Chunks of events of one connection that wait at once, whatever number of subscriptions it has.
pub(super) const CHUNKS: usize = 2;
/// A chunk is full at this size, or with one larger event.
const CHUNK_BYTES: usize = 64 * 1024;
/// A chunk is full with this many events.
const CHUNK_EVENTS: usize = 128;

/// The way of one subscription's events on a line connection: up to 128 of them in one chunk.
pub(crate) struct LineOutlet {
    head: String,
    chunk: Vec<u8>,
    events: usize,
    to: Way,
    ended: CancellationToken,
    stuck: Duration,
}

/// What all subscriptions of one connection share.
#[derive(Clone)]
pub(super) struct Way {
    pub(super) queue: mpsc::Sender<Outgoing>,
    pub(super) chunks: Arc<Semaphore>,
    pub(super) progress: Arc<Progress>,
}

/// When the peer last took something.
pub(super) struct Progress {
    since: Instant,
    last_ms: AtomicU64,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), last_ms: AtomicU64::new(0) }
    }

    pub(super) fn made(&self) {
        self.last_ms.store(self.now_ms(), Ordering::Relaxed);
    }

    fn none_for(&self) -> Duration {
        Duration::from_millis(self.now_ms().saturating_sub(self.last_ms.load(Ordering::Relaxed)))
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl LineOutlet {
    pub(super) fn new(notification: &str, id: &str, to: Way, ended: CancellationToken, stuck: Duration) -> Self {
        // Both are Owl's own words: letters, digits and a point.
        let head = format!(r#"{{"jsonrpc":"2.0","method":"{notification}","params":{{"subscription":"{id}","result":"#);
        Self { head, chunk: Vec::new(), events: 0, to, ended, stuck }
    }

    pub(crate) fn add(&mut self, event: &str) {
        self.chunk.extend_from_slice(self.head.as_bytes());
        self.chunk.extend_from_slice(event.as_bytes());
        self.chunk.extend_from_slice(b"}}\n");
        self.events += 1;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.events >= CHUNK_EVENTS || self.chunk.len() >= CHUNK_BYTES
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events == 0
    }

    /// Hands on what was added. Waits for a place for as long as the peer reads at all.
    pub(crate) async fn flush(&mut self) -> Result<(), Unsent> {
        if self.is_empty() {
            return Ok(());
        }
        let place = loop {
            match timeout(self.stuck, self.to.chunks.clone().acquire_owned()).await {
                Ok(place) => break place.map_err(|_| Unsent::Gone)?,
                Err(_) if self.to.progress.none_for() >= self.stuck => return Err(Unsent::Stuck),
                // It reads slowly, and that is its right.
                Err(_) => {}
            }
        };
        self.hand_on(place).await
    }

    /// Hands on one last event without a deadline. Whatever was added before and not handed on is dropped.
    pub(crate) async fn last(mut self, event: &str) {
        self.chunk.clear();
        self.events = 0;
        self.add(event);
        if let Ok(place) = self.to.chunks.clone().acquire_owned().await {
            // The peer may be gone by now, and then nobody is left to tell.
            let _gone = self.hand_on(place).await;
        }
    }

    async fn hand_on(&mut self, place: OwnedSemaphorePermit) -> Result<(), Unsent> {
        let bytes = std::mem::take(&mut self.chunk);
        self.events = 0;
        let outgoing = Outgoing { bytes, subscription: Some(self.ended.clone()), place };
        self.to.queue.send(outgoing).await.map_err(|_| Unsent::Gone)
    }
}

#[cfg(test)]
mod tests;
