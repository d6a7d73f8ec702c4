//! The Legs port: one task per Turn that has something due, and the timer of Proposals' deadlines. That at most one leg
//! a Turn is at work is economy; what is correct, the store's compare-and-sets see to (D16).

use async_trait::async_trait;
use owl_domain::{
    ids::TurnId,
    ports::{Clock, Legs, Stop, Wakes},
    turn::ChatService,
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use tokio::{sync::Notify, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// How long to wait before a Turn that could not be saved is closed once more; the disk may have room by then.
const TRY_AGAIN: Duration = Duration::from_secs(2);
/// How long a leg that was told to stop may take: its commands get their time between SIGTERM and SIGKILL.
const UNTIL_ENDED: Duration = Duration::from_secs(5);
/// The timer looks at the clock at least this often, so that one that was set forward is noticed.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// Carries Turns on.
pub(crate) struct LegRunner {
    inner: Arc<Inner>,
}

struct Inner {
    chat: OnceLock<Arc<ChatService>>,
    legs: Mutex<HashMap<TurnId, Leg>>,
    stopping: CancellationToken,
    deadline: Notify,
    idle: Notify,
}

struct Leg {
    stop: CancellationToken,
    /// A wake that came while the leg was at work.
    again: bool,
    /// The same, for the leg itself: it may have commands at work beside which something else is due now.
    wakes: Arc<Woken>,
}

/// Wakes as the domain's `Wakes`.
#[derive(Default)]
struct Woken(Notify);

#[async_trait]
impl Wakes for Woken {
    async fn woken(&self) {
        self.0.notified().await;
    }
}

/// A token as the domain's `Stop`.
pub(crate) struct Token(pub(crate) CancellationToken);

#[async_trait]
impl Stop for Token {
    fn is_stopped(&self) -> bool {
        self.0.is_cancelled()
    }

    async fn stopped(&self) {
        self.0.cancelled().await;
    }
}

impl LegRunner {
    /// Makes one that remembers wakes until it is started.
    pub(crate) fn new() -> Self {
        Self {
            inner: Arc::new(Inner {
                chat: OnceLock::new(),
                legs: Mutex::default(),
                stopping: CancellationToken::new(),
                deadline: Notify::new(),
                idle: Notify::new(),
            }),
        }
    }

    /// Begins to carry Turns on, those that were woken before first, and to let Proposals expire.
    pub(crate) fn start(&self, chat: Arc<ChatService>, clock: Arc<dyn Clock>) -> JoinHandle<()> {
        if self.inner.chat.set(chat.clone()).is_err() {
            tracing::error!("the legs were started twice; the second start changes nothing");
        }
        let waiting: Vec<TurnId> = self.inner.legs().keys().copied().collect();
        for turn in waiting {
            tokio::spawn(run(self.inner.clone(), turn));
        }
        tokio::spawn(expire(self.inner.clone(), chat, clock))
    }

    /// Stops every leg and returns once none is at work.
    pub(crate) async fn stop(&self) {
        self.inner.stopping.cancel();
        loop {
            let idle = self.inner.idle.notified();
            if self.inner.legs().is_empty() {
                return;
            }
            idle.await;
        }
    }
}

impl Inner {
    fn legs(&self) -> MutexGuard<'_, HashMap<TurnId, Leg>> {
        self.legs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Legs for LegRunner {
    fn wake(&self, turn: TurnId) {
        if self.inner.stopping.is_cancelled() {
            return;
        }
        let mut legs = self.inner.legs();
        if let Some(leg) = legs.get_mut(&turn) {
            leg.again = true;
            leg.wakes.0.notify_one();
            return;
        }
        legs.insert(turn, Leg { stop: self.inner.stopping.child_token(), again: false, wakes: Arc::default() });
        drop(legs);
        if self.inner.chat.get().is_some() {
            tokio::spawn(run(self.inner.clone(), turn));
        }
    }

    fn stop(&self, turn: TurnId) {
        if let Some(leg) = self.inner.legs().get(&turn) {
            leg.stop.cancel();
        }
        self.wake(turn);
    }

    async fn ended(&self, turn: TurnId) {
        let ended = async {
            loop {
                let idle = self.inner.idle.notified();
                if !self.inner.legs().contains_key(&turn) {
                    return;
                }
                idle.await;
            }
        };
        if tokio::time::timeout(UNTIL_ENDED, ended).await.is_err() {
            tracing::warn!(%turn, "a turn that was told to stop has not ended yet");
        }
    }

    fn deadline(&self) {
        self.inner.deadline.notify_one();
    }
}

async fn run(inner: Arc<Inner>, turn: TurnId) {
    let Some(chat) = inner.chat.get().cloned() else {
        return;
    };
    loop {
        let (stop, wakes) = match inner.legs().get_mut(&turn) {
            Some(leg) => {
                leg.again = false;
                if leg.stop.is_cancelled() {
                    leg.stop = inner.stopping.child_token();
                }
                (leg.stop.clone(), leg.wakes.clone())
            }
            None => return,
        };
        if let Err(error) = chat.advance(turn, Arc::new(Token(stop)), &*wakes).await {
            tracing::error!(%turn, %error, "a turn could not be saved");
            give_up(&inner, &chat, turn).await;
        }
        let mut legs = inner.legs();
        let again = legs.get(&turn).is_some_and(|leg| leg.again);
        if !again || inner.stopping.is_cancelled() {
            legs.remove(&turn);
            drop(legs);
            inner.idle.notify_waiters();
            return;
        }
    }
}

/// Closes a Turn that could not be saved as soon as the store lets it. It is not carried on: the model would be asked
/// again.
async fn give_up(inner: &Inner, chat: &ChatService, turn: TurnId) {
    while let Err(error) = chat.give_up(turn).await {
        tracing::warn!(%turn, %error, "a turn that could not be saved cannot be closed yet");
        tokio::select! {
            () = inner.stopping.cancelled() => return,
            () = tokio::time::sleep(TRY_AGAIN) => {}
        }
    }
}

async fn expire(inner: Arc<Inner>, chat: Arc<ChatService>, clock: Arc<dyn Clock>) {
    loop {
        let wait = match chat.expire_due().await {
            Ok(Some(due)) => due.since(clock.now()).min(LOOK_AGAIN),
            Ok(None) => LOOK_AGAIN,
            Err(error) => {
                tracing::error!(%error, "proposals that are overdue could not be closed");
                TRY_AGAIN
            }
        };
        tokio::select! {
            () = inner.stopping.cancelled() => return,
            () = inner.deadline.notified() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
}
