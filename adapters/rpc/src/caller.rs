//! Who calls, over which connection of which server, and how far that server still is from its end.

use owl_domain::{consent::Peer, limits};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::watch;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// How the peer speaks; its first byte said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// One JSON value per line.
    Lines,
    /// HTTP requests, or a WebSocket that began as one.
    Http,
}

/// One connection, and the peer at its other end.
#[derive(Debug)]
pub struct Caller {
    pub(crate) id: u32,
    pub(crate) dialect: Dialect,
    pub(crate) peer: Peer,
    pub(crate) server: Arc<Shared>,
}

impl Caller {
    /// Returns the peer, as the kernel told it when it connected.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Returns how many connections are open, this one included.
    pub fn connections(&self) -> usize {
        self.server.connections.load(Ordering::Relaxed)
    }

    /// Returns how many subscriptions live.
    pub fn subscriptions(&self) -> usize {
        self.server.subscriptions.load(Ordering::Relaxed)
    }

    /// Returns once the server closes what is open. What waits without doing anything ends then.
    pub async fn closing(&self) {
        self.server.reached(Phase::Closing).await;
    }
}

/// The bounds of the transport, by their names on the wire.
#[derive(Debug, Clone)]
pub struct Limits {
    /// One line, body or message from a client, in bytes.
    pub request_bytes: usize,
    /// One answer, in bytes.
    pub response_bytes: usize,
    /// Calls in one batch.
    pub batch_entries: usize,
    /// Connections at once.
    pub connections: usize,
    /// Subscriptions of one connection.
    pub subscriptions_per_connection: usize,
    /// Calls of one connection under way.
    pub calls_in_flight_per_connection: usize,
    /// Answers and events of one connection that wait to be written.
    pub queue_messages_per_connection: usize,
    /// How long a subscriber may read nothing.
    pub stuck_subscriber: Duration,
    /// How long a connection may be silent before its first byte.
    pub first_byte: Duration,
    /// How long calls that run are answered after the server was told to stop.
    pub stop: Duration,
}

/// Within the 5 s in which the whole daemon stops.
const STOP: Duration = Duration::from_secs(4);

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_bytes: limits::REQUEST_BYTES,
            response_bytes: limits::RESPONSE_BYTES,
            batch_entries: limits::BATCH_ENTRIES,
            connections: limits::CONNECTIONS,
            subscriptions_per_connection: limits::SUBSCRIPTIONS_PER_CONNECTION,
            calls_in_flight_per_connection: limits::CALLS_IN_FLIGHT_PER_CONNECTION,
            queue_messages_per_connection: limits::QUEUE_MESSAGES_PER_CONNECTION,
            stuck_subscriber: limits::STUCK_SUBSCRIBER,
            first_byte: limits::FIRST_BYTE,
            stop: STOP,
        }
    }
}

/// How far a server is. It only ever goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Everybody is served.
    Serving,
    /// Nobody new is accepted, and no new call; what runs goes on.
    Refusing,
    /// Subscriptions are told and end, and so does what only waits.
    Closing,
}

/// What all connections of one server share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) limits: Limits,
    phase: watch::Sender<Phase>,
    pub(crate) connections: AtomicUsize,
    pub(crate) subscriptions: AtomicUsize,
}

impl Shared {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        let phase = watch::Sender::new(Phase::Serving);
        Arc::new(Self { limits, phase, connections: AtomicUsize::new(0), subscriptions: AtomicUsize::new(0) })
    }

    pub(crate) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    pub(crate) fn go_on_to(&self, next: Phase) {
        self.phase.send_if_modified(|now| {
            let goes = *now < next;
            *now = next.max(*now);
            goes
        });
    }

    pub(crate) async fn reached(&self, phase: Phase) {
        let mut seen = self.phase.subscribe();
        // The sender is in `self`, so waiting cannot fail.
        let _reached = seen.wait_for(|now| *now >= phase).await;
    }

    /// Takes one of the places for connections; none when all are taken.
    pub(crate) fn connect(self: &Arc<Self>) -> Option<Place> {
        let most = self.limits.connections;
        let taken = self
            .connections
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open| (open < most).then_some(open + 1))
            .is_ok();
        taken.then(|| Place { shared: self.clone(), counted: |shared| &shared.connections })
    }

    /// Counts a subscription for as long as the place is held.
    pub(crate) fn subscribe(self: &Arc<Self>) -> Place {
        self.subscriptions.fetch_add(1, Ordering::Relaxed);
        Place { shared: self.clone(), counted: |shared| &shared.subscriptions }
    }
}

/// One that is counted for as long as it is held.
pub(crate) struct Place {
    shared: Arc<Shared>,
    counted: fn(&Shared) -> &AtomicUsize,
}

impl Drop for Place {
    fn drop(&mut self) {
        (self.counted)(&self.shared).fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a connection holds for as long as it is open.
pub(crate) struct Held {
    /// Its place among the connections.
    pub(crate) _place: Place,
    /// What the server waits for when it ends.
    pub(crate) _awaited: TaskTrackerToken,
}
