//! The way of one subscription's events to its client. A client that reads nothing costs a bounded amount here, and is
//! told where to go on (D7).

use crate::lines::LineOutlet;
use jsonrpsee::{SubscriptionSink, core::server::SubscriptionMessage, server::SendTimeoutError};
use serde_json::value::RawValue;
use std::time::Duration;

/// Where a subscription's events go. Remembers up to which number they are on their way.
pub struct Outlet {
    way: Way,
    /// The number of the last event that is on its way for good.
    sent: i64,
    /// The number of the last event that was pushed.
    pushed: i64,
}

enum Way {
    Lines(LineOutlet),
    WebSocket { sink: SubscriptionSink, stuck: Duration },
}

/// Why an event is not on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsent {
    /// The client read nothing for too long. Its connection is still there.
    Stuck,
    /// The client is gone, or wants no more.
    Gone,
}

impl Outlet {
    pub(crate) fn lines(lines: LineOutlet) -> Self {
        Self { way: Way::Lines(lines), sent: 0, pushed: 0 }
    }

    pub(crate) fn websocket(sink: SubscriptionSink, stuck: Duration) -> Self {
        Self { way: Way::WebSocket { sink, stuck }, sent: 0, pushed: 0 }
    }

    /// Says up to which number the client has everything before the first event is pushed.
    pub fn starts_after(&mut self, seq: i64) {
        self.sent = seq;
        self.pushed = seq;
    }

    /// Returns the number after which a client goes on that was sent no more.
    pub fn next_after(&self) -> i64 {
        self.sent
    }

    /// Sends one durable event; may keep it until [`flush`](Self::flush).
    ///
    /// # Errors
    /// [`Unsent`].
    pub async fn push(&mut self, seq: i64, event: &str) -> Result<(), Unsent> {
        self.send(event).await?;
        self.passes(seq);
        Ok(())
    }

    /// Notes that an event of that number is not for this client.
    pub fn passes(&mut self, seq: i64) {
        self.pushed = seq;
        if self.is_flushed() {
            self.sent = seq;
        }
    }

    /// Sends one transient event; may keep it until [`flush`](Self::flush).
    ///
    /// # Errors
    /// [`Unsent`].
    pub async fn send(&mut self, event: &str) -> Result<(), Unsent> {
        match &mut self.way {
            Way::Lines(lines) => {
                lines.add(event);
                if lines.is_full() { self.flush().await } else { Ok(()) }
            }
            Way::WebSocket { sink, stuck } => send_message(sink, event, *stuck).await,
        }
    }

    /// Sees to it that everything pushed so far is on its way.
    ///
    /// # Errors
    /// [`Unsent`].
    pub async fn flush(&mut self) -> Result<(), Unsent> {
        // What is pushed after a flush within `send` is marked by the next one.
        let pushed = self.pushed;
        if let Way::Lines(lines) = &mut self.way {
            lines.flush().await?;
        }
        self.sent = pushed;
        Ok(())
    }

    /// Sends the last thing this subscription says, however long that takes.
    pub(crate) async fn last(self, event: &str) {
        if let Way::Lines(lines) = self.way {
            lines.last(event).await;
        }
    }

    fn is_flushed(&self) -> bool {
        match &self.way {
            Way::Lines(lines) => lines.is_empty(),
            Way::WebSocket { .. } => true,
        }
    }
}

async fn send_message(sink: &SubscriptionSink, event: &str, stuck: Duration) -> Result<(), Unsent> {
    let sent = sink.send_timeout(message(event).ok_or(Unsent::Gone)?, stuck).await;
    sent.map_err(|error| match error {
        SendTimeoutError::Timeout(_) => Unsent::Stuck,
        SendTimeoutError::Closed(_) => Unsent::Gone,
    })
}

/// Makes a message of an event's text.
pub(crate) fn message(event: &str) -> Option<SubscriptionMessage> {
    match RawValue::from_string(event.to_owned()) {
        Ok(raw) => Some(raw.into()),
        Err(error) => {
            tracing::error!(%error, "an event is not JSON");
            None
        }
    }
}
