//! `events.subscribe`: the durable events of all Conversations and Jobs. This is the consent inbox.

use super::{End, Never, Rows, last_words, still_open, tell};
use crate::{
    caller::{Caller, Phase},
    outlet::Outlet,
    table::Feed,
    wire::StreamLive,
};
use async_trait::async_trait;
use owl_domain::{
    ids::Seq,
    ports::{EventScope, Events, StoredEvent},
};
use std::sync::Arc;

pub(crate) struct InboxFeed {
    caller: Arc<Caller>,
    rows: Rows,
    /// The events that are sent; all when none are named.
    types: Option<Vec<String>>,
}

impl InboxFeed {
    pub(crate) fn new(caller: Arc<Caller>, events: Arc<dyn Events>, after: Seq, types: Option<Vec<String>>) -> Self {
        Self { caller, rows: Rows::new(events, EventScope::All, after), types }
    }

    async fn send(&self, row: &StoredEvent, out: &mut Outlet) -> Result<(), End> {
        if self.types.as_ref().is_some_and(|types| !types.iter().any(|name| name == row.name)) {
            out.passes(row.seq.0);
            return Ok(());
        }
        Ok(out.push(row.seq.0, &row.text).await?)
    }

    async fn follow(&mut self, out: &mut Outlet) -> Result<Never, End> {
        while let Some(row) = self.rows.next().await? {
            still_open(&self.caller)?;
            self.send(&row, out).await?;
        }
        let standing = self.rows.standing().await?;
        while let Some(row) = self.rows.next_until(standing.newest).await? {
            self.send(&row, out).await?;
        }
        tell(out, &StreamLive::new(None, Some(standing.newest), &standing)).await?;
        loop {
            let last = self.caller.server.phase() == Phase::Closing;
            while let Some(row) = self.rows.next().await? {
                self.send(&row, out).await?;
            }
            out.flush().await?;
            if last {
                return Err(End::Stopping);
            }
            tokio::select! {
                _ = self.rows.newer() => {}
                () = self.caller.closing() => {}
            }
        }
    }
}

#[async_trait]
impl Feed for InboxFeed {
    async fn run(mut self: Box<Self>, out: &mut Outlet) -> Option<String> {
        out.starts_after(self.rows.after.0);
        let Err(end) = self.follow(out).await;
        last_words(end, None, out.next_after())
    }
}
