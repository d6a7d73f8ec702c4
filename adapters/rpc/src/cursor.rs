//! A subscription: a cursor over stored events. It reads rows behind its number, sends them, and waits for newer ones;
//! the daemon keeps no queue for it, so a slow or returning client misses nothing and costs nothing (D7).

mod chat;
mod inbox;
mod run;

pub(crate) use chat::ChatFeed;
pub(crate) use inbox::InboxFeed;
pub(crate) use run::RunFeed;

use crate::{
    caller::{Caller, Phase},
    outlet::{Outlet, Unsent},
    wire,
};
use owl_domain::{
    ids::{ConversationId, Seq},
    ports::{EventScope, Events, Standing, StoreError, StoredEvent},
};
use std::{collections::VecDeque, sync::Arc};

/// Rows that are read at once.
const ROWS: usize = 128;

/// A subscription only ever ends.
enum Never {}

/// Why a subscription ends.
enum End {
    /// The client read nothing for too long, or the store failed: it goes on from its number.
    Lagged,
    /// Its Conversation was deleted.
    Deleted,
    /// Its Run is over.
    Finished,
    /// The server stops.
    Stopping,
    /// Nobody is left to be told.
    Gone,
}

impl From<Unsent> for End {
    fn from(unsent: Unsent) -> Self {
        match unsent {
            Unsent::Stuck => Self::Lagged,
            Unsent::Gone => Self::Gone,
        }
    }
}

impl From<StoreError> for End {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "a subscription could not read its events");
        Self::Lagged
    }
}

/// Rows of one scope, in order, each once.
struct Rows {
    events: Arc<dyn Events>,
    scope: EventScope,
    /// The number of the last row that was taken.
    after: Seq,
    /// Rows that were read ahead.
    ahead: VecDeque<StoredEvent>,
}

impl Rows {
    fn new(events: Arc<dyn Events>, scope: EventScope, after: Seq) -> Self {
        Self { events, scope, after, ahead: VecDeque::new() }
    }

    /// Takes the next row that is committed; none when there is no newer one right now.
    async fn next(&mut self) -> Result<Option<StoredEvent>, StoreError> {
        if self.ahead.is_empty() && self.events.newest() > self.after {
            self.ahead = self.events.after(self.after, self.scope.clone(), ROWS).await?.into();
        }
        let row = self.ahead.pop_front();
        if let Some(row) = &row {
            self.after = row.seq;
        }
        Ok(row)
    }

    /// Takes the next row up to that number.
    async fn next_until(&mut self, last: Seq) -> Result<Option<StoredEvent>, StoreError> {
        if self.ahead.is_empty() && self.after < last {
            self.ahead = self.events.after(self.after, self.scope.clone(), ROWS).await?.into();
        }
        if self.ahead.front().is_none_or(|row| row.seq > last) {
            return Ok(None);
        }
        self.next().await
    }

    async fn standing(&self) -> Result<Standing, StoreError> {
        self.events.standing(self.scope.clone()).await
    }

    /// Returns once there may be a newer row.
    async fn newer(&self) -> Seq {
        self.events.newer_than(self.after).await
    }

    /// Says that every row up to that number was taken, though none of this scope stands there.
    fn is_at(&mut self, seq: Seq) {
        if self.ahead.is_empty() {
            self.after = self.after.max(seq);
        }
    }
}

/// Says the last thing that a subscription says.
fn last_words(end: End, conversation: Option<ConversationId>, next_after: i64) -> Option<String> {
    let conversation_id = conversation.map(wire::ids);
    let reason = match end {
        End::Gone => return None,
        End::Lagged => {
            let name = "stream.lagged";
            let lagged = wire::StreamLagged { name, conversation_id, turn_id: None, job_id: None, next_after };
            return serde_json::to_string(&lagged).ok();
        }
        End::Deleted => "deleted",
        End::Finished => "finished",
        End::Stopping => "stopping",
    };
    let name = "stream.closed";
    let closed = wire::StreamClosed { name, conversation_id, turn_id: None, job_id: None, reason, next_after };
    serde_json::to_string(&closed).ok()
}

/// Ends what is still far from up to date when the server stops; its client goes on from its number.
fn still_open(caller: &Caller) -> Result<(), End> {
    if caller.server.phase() == Phase::Closing { Err(End::Stopping) } else { Ok(()) }
}

/// Sends a transient event.
async fn tell(out: &mut Outlet, event: &impl serde::Serialize) -> Result<(), End> {
    match serde_json::to_string(event) {
        Ok(text) => Ok(out.send(&text).await?),
        Err(error) => {
            tracing::error!(%error, "an event could not be written");
            Err(End::Lagged)
        }
    }
}

#[cfg(test)]
mod tests;
