//! The subscriptions of one line connection: begun, bounded in number, ended by name or with the connection.

use super::{
    message,
    outlet::{LineOutlet, Outgoing, Way},
};
use crate::{
    caller::Caller,
    error::RpcError,
    outlet::Outlet,
    params::{self, Reason},
    table::{Opening, Subscription, UnsubscribeParams},
};
use jsonrpsee::{
    core::traits::IdProvider,
    server::RandomStringIdProvider,
    types::{Id, SubscriptionId, error::reject_too_many_subscriptions},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

/// Letters and digits of a subscription's id.
pub(crate) const ID_LENGTH: usize = 16;

pub(super) struct Subscriptions {
    live: Live,
    most: usize,
    way: Way,
    gone: CancellationToken,
}

/// Those that live, by id: the call that ends each, and the token that does.
#[derive(Clone, Default)]
pub(super) struct Live(Arc<Mutex<HashMap<String, (&'static str, CancellationToken)>>>);

impl Live {
    fn with<T>(&self, f: impl FnOnce(&mut HashMap<String, (&'static str, CancellationToken)>) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends one; false when there is none of that id which this call ends.
    pub(super) fn end(&self, unsubscribe: &str, raw: Option<&str>) -> Result<bool, RpcError> {
        let id = subscription_of(raw)?;
        Ok(self.with(|live| match live.get(&id) {
            Some((by, ended)) if *by == unsubscribe => {
                ended.cancel();
                live.remove(&id);
                true
            }
            _ => false,
        }))
    }
}

/// Reads which subscription is meant: by name, or as the one entry of a list, as common clients send it.
pub(crate) fn subscription_of(raw: Option<&str>) -> Result<String, RpcError> {
    if let Some(list) = raw.filter(|raw| raw.trim_start().starts_with('[')) {
        return match serde_json::from_str::<[String; 1]>(list) {
            Ok([id]) => Ok(id),
            Err(_) => Err(params::invalid("subscription", Reason::Type, "a list of one subscription")),
        };
    }
    let UnsubscribeParams { subscription } = params::parse(raw, || vec!["subscription".into()])?;
    Ok(subscription)
}

impl Subscriptions {
    pub(super) fn new(most: usize, way: Way, gone: CancellationToken) -> Self {
        Self { live: Live::default(), most, way, gone }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.live.with(|live| live.is_empty())
    }

    /// Returns what is cancelled when the connection ends.
    pub(super) fn gone(&self) -> CancellationToken {
        self.gone.clone()
    }

    pub(super) fn ended_by_name(&self) -> Live {
        self.live.clone()
    }

    pub(super) fn end(&self, unsubscribe: &str, raw: Option<&str>) -> Result<bool, RpcError> {
        self.live.end(unsubscribe, raw)
    }

    /// Takes a place and lets the subscription begin: its answer comes first, its events after that.
    pub(super) fn begin(
        &self,
        subscription: &Subscription,
        opening: Opening,
        id: Id<'static>,
        caller: &Arc<Caller>,
        place: OwnedSemaphorePermit,
    ) -> Result<(), RpcError> {
        let name = match RandomStringIdProvider::new(ID_LENGTH).next_id() {
            SubscriptionId::Str(name) => name.into_owned(),
            SubscriptionId::Num(number) => number.to_string(),
        };
        let ended = self.gone.child_token();
        let entry = (subscription.unsubscribe, ended.clone());
        let taken = self.live.with(|live| {
            let room = live.len() < self.most;
            if room {
                live.insert(name.clone(), entry);
            }
            room
        });
        if !taken {
            let most = u32::try_from(self.most).unwrap_or(u32::MAX);
            return Err(RpcError::from(reject_too_many_subscriptions(most)));
        }
        let counted = caller.server.subscribe();
        let limits = &caller.server.limits;
        let limit = limits.response_bytes;
        let (way, live) = (self.way.clone(), self.live.clone());
        let outlet =
            LineOutlet::new(subscription.notification, &name, way.clone(), ended.clone(), limits.stuck_subscriber);
        tokio::spawn(async move {
            let last = tokio::select! {
                last = run(opening, id, &name, limit, place, &way, outlet) => last,
                () = ended.cancelled() => None,
            };
            live.with(|live| live.remove(&name));
            drop(counted);
            if let Some((outlet, notice)) = last {
                tokio::select! {
                    () = outlet.last(&notice) => {}
                    () = ended.cancelled() => {}
                }
            }
        });
        Ok(())
    }
}

async fn run(
    opening: Opening,
    id: Id<'static>,
    name: &str,
    limit: usize,
    place: OwnedSemaphorePermit,
    way: &Way,
    outlet: LineOutlet,
) -> Option<(Outlet, String)> {
    let opened = opening.await;
    let mut bytes = Vec::new();
    let begun = message::answer(&mut bytes, &id, limit, |out| match &opened {
        Ok(_) => serde_json::to_writer(out, name).map_err(RpcError::internal),
        Err(error) => Err(error.clone()),
    });
    bytes.push(b'\n');
    way.queue.send(Outgoing { bytes, subscription: None, place }).await.ok()?;
    let feed = opened.ok().filter(|_| begun.is_ok())?;
    let mut outlet = Outlet::lines(outlet);
    let notice = feed.run(&mut outlet).await?;
    Some((outlet, notice))
}
