//! Who is to be carried on, and who was told to stop.

use owl_domain::{
    ids::TurnId,
    ports::{Legs, Stop, Wakes},
};
use owl_testkit::tokio::sync::{Notify, watch};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex},
};

/// Remembers wakes, and fires the stop of a leg that is told to.
#[derive(Default)]
pub(crate) struct Woken {
    woken: Mutex<VecDeque<TurnId>>,
    stops: Mutex<BTreeMap<TurnId, Arc<Flag>>>,
    at_work: Mutex<Arc<Notify>>,
}

impl Woken {
    pub(crate) fn pop(&self) -> Option<TurnId> {
        self.woken.lock().unwrap().pop_front()
    }

    pub(crate) fn forget(&self) {
        self.woken.lock().unwrap().clear();
    }

    pub(crate) fn begin(&self, turn: TurnId) -> Arc<Flag> {
        let stop = Arc::new(Flag::default());
        self.stops.lock().unwrap().insert(turn, stop.clone());
        // A leg reads the rows when it begins: what woke it is no news.
        *self.at_work.lock().unwrap() = Arc::default();
        stop
    }

    /// The daemon stops: every leg is told to.
    pub(crate) fn stop_all(&self) {
        for stop in self.stops.lock().unwrap().values() {
            stop.fire();
        }
    }
}

#[async_trait::async_trait]
impl Legs for Woken {
    fn wake(&self, turn: TurnId) {
        self.woken.lock().unwrap().push_back(turn);
        self.at_work.lock().unwrap().notify_one();
    }

    fn stop(&self, turn: TurnId) {
        if let Some(stop) = self.stops.lock().unwrap().get(&turn) {
            stop.fire();
        }
        self.wake(turn);
    }

    async fn ended(&self, _turn: TurnId) {}

    fn deadline(&self) {}
}

/// There is one Turn at work at a time.
#[async_trait::async_trait]
impl Wakes for Woken {
    async fn woken(&self) {
        let at_work = self.at_work.lock().unwrap().clone();
        at_work.notified().await;
    }
}

/// A stop that a test fires.
pub(crate) struct Flag(watch::Sender<bool>);

impl Default for Flag {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Flag {
    pub(crate) fn fire(&self) {
        self.0.send_replace(true);
    }
}

#[async_trait::async_trait]
impl Stop for Flag {
    fn is_stopped(&self) -> bool {
        *self.0.borrow()
    }

    async fn stopped(&self) {
        let mut seen = self.0.subscribe();
        let _fired_or_gone = seen.wait_for(|fired| *fired).await;
    }
}
