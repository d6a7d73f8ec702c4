//! The `RunLegs` port: one task per Run that is carried on. That at most one leg a Run is at work is economy; that no Agent
//! is started twice, the store's compare-and-sets see to (D22).

use super::legs::Token;
use async_trait::async_trait;
use owl_domain::{
    ids::RunId,
    job::JobService,
    ports::{RunLegs, Stop},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// How long to wait before a Run that could not be saved is closed once more; the disk may have room by then.
const TRY_AGAIN: Duration = Duration::from_secs(2);

/// Carries Runs on.
pub(crate) struct RunLegRunner {
    inner: Arc<Inner>,
}

struct Inner {
    jobs: OnceLock<Arc<JobService>>,
    legs: Mutex<HashMap<RunId, Leg>>,
    stopping: CancellationToken,
    idle: Notify,
}

struct Leg {
    stop: CancellationToken,
    /// A wake that came while the leg was at work.
    again: bool,
}

impl RunLegRunner {
    /// Makes one that carries nothing on before it has its service.
    pub(crate) fn new() -> Self {
        Self {
            inner: Arc::new(Inner {
                jobs: OnceLock::new(),
                legs: Mutex::default(),
                stopping: CancellationToken::new(),
                idle: Notify::new(),
            }),
        }
    }

    /// Gives it the service, before anybody is served.
    pub(crate) fn start(&self, jobs: Arc<JobService>) {
        if self.inner.jobs.set(jobs).is_err() {
            tracing::error!("the legs of runs were started twice; the second start changes nothing");
        }
    }

    /// Returns what fires when the daemon stops, for what is long and no Run yet.
    pub(crate) fn stopping(&self) -> Arc<dyn Stop> {
        Arc::new(Token(self.inner.stopping.clone()))
    }

    /// Stops every leg, with the Agent or check that it waits for, and returns once none is at work.
    pub(crate) async fn stop(&self) {
        self.inner.stopping.cancel();
        self.inner.until(HashMap::is_empty).await;
    }
}

impl Inner {
    fn legs(&self) -> MutexGuard<'_, HashMap<RunId, Leg>> {
        self.legs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns once the legs are as they are waited for.
    async fn until(&self, holds: impl Fn(&HashMap<RunId, Leg>) -> bool) {
        loop {
            let mut idle = std::pin::pin!(self.idle.notified());
            // From here on no end is missed, also one that comes before it is awaited.
            idle.as_mut().enable();
            if holds(&self.legs()) {
                return;
            }
            idle.await;
        }
    }
}

#[async_trait]
impl RunLegs for RunLegRunner {
    fn wake(&self, run: RunId) {
        let mut legs = self.inner.legs();
        if let Some(leg) = legs.get_mut(&run) {
            leg.again = true;
            return;
        }
        // Also when the daemon is stopping: then its first step is to close the Run as interrupted.
        legs.insert(run, Leg { stop: self.inner.stopping.child_token(), again: false });
        drop(legs);
        tokio::spawn(carry_on(self.inner.clone(), run));
    }

    fn stop(&self, run: RunId) {
        if let Some(leg) = self.inner.legs().get(&run) {
            leg.stop.cancel();
        }
        self.wake(run);
    }

    async fn idle(&self, run: RunId) {
        self.inner.until(|legs| !legs.contains_key(&run)).await;
    }
}

async fn carry_on(inner: Arc<Inner>, run: RunId) {
    // Whatever happens in between, whoever waits for this leg is told that it is gone.
    let mut gone = Gone { inner: inner.clone(), run, is_listed: true };
    let Some(jobs) = inner.jobs.get().cloned() else {
        tracing::error!(%run, "a run was woken before there was a service");
        return;
    };
    loop {
        let stop = match inner.legs().get_mut(&run) {
            Some(leg) => {
                leg.again = false;
                if leg.stop.is_cancelled() && !inner.stopping.is_cancelled() {
                    // It was told to stop and woken: what is stored by now says that it was cancelled.
                    leg.stop = inner.stopping.child_token();
                }
                leg.stop.clone()
            }
            None => return,
        };
        if let Err(error) = jobs.advance(run, Arc::new(Token(stop))).await {
            tracing::error!(%run, %error, "a run could not be saved");
            give_up(&inner, &jobs, run).await;
        }
        let mut legs = inner.legs();
        let again = legs.get(&run).is_some_and(|leg| leg.again);
        if !again || inner.stopping.is_cancelled() {
            legs.remove(&run);
            // From the next moment on another leg may stand there.
            gone.is_listed = false;
            return;
        }
    }
}

/// Tells that a leg is gone, and takes it out of the list when it panicked.
struct Gone {
    inner: Arc<Inner>,
    run: RunId,
    is_listed: bool,
}

impl Drop for Gone {
    fn drop(&mut self) {
        if self.is_listed {
            self.inner.legs().remove(&self.run);
        }
        self.inner.idle.notify_waiters();
    }
}

/// Closes a Run that could not be saved as soon as the store lets it.
async fn give_up(inner: &Inner, jobs: &JobService, run: RunId) {
    while let Err(error) = jobs.give_up(run).await {
        tracing::warn!(%run, %error, "a run that could not be saved cannot be closed yet");
        tokio::select! {
            () = inner.stopping.cancelled() => return,
            () = tokio::time::sleep(TRY_AGAIN) => {}
        }
    }
}
