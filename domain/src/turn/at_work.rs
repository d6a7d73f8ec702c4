//! The commands of a Turn that run at the same time: each begins as soon as it was allowed, whatever else runs (D16,
//! rpc.md 7.1). They are polled together by the one leg of the Turn, and end with it.

use super::stored::CallRef;
use crate::ports::StoreError;
use alloc::{boxed::Box, vec::Vec};
use core::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::{Context, Poll},
};

/// How a command left its Turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// It has its result, or waits to be run.
    GoesOn,
    /// The daemon stopped it.
    CutOff,
}

type Run<'r> = Pin<Box<dyn Future<Output = Result<Left, StoreError>> + Send + 'r>>;

/// The commands that run now.
#[derive(Default)]
pub(super) struct AtWork<'r> {
    runs: Vec<(CallRef, Run<'r>)>,
    is_cut_off: bool,
    has_ended: bool,
}

impl<'r> AtWork<'r> {
    /// Takes one more.
    pub(super) fn begin(&mut self, at: CallRef, run: impl Future<Output = Result<Left, StoreError>> + Send + 'r) {
        self.runs.push((at, Box::pin(run)));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Says whether the daemon stopped one, and none runs any more.
    pub(super) fn is_cut_off(&self) -> bool {
        self.is_cut_off && self.runs.is_empty()
    }

    /// Says whether one ended since this was last asked: rows that were read meanwhile may be older than its end.
    pub(super) fn has_ended(&mut self) -> bool {
        core::mem::take(&mut self.has_ended)
    }

    /// Says whether it is this call's command that runs.
    pub(super) fn runs(&self, at: CallRef) -> bool {
        self.runs.iter().any(|(running, _)| *running == at)
    }

    /// Lets them run until one ends, or the other future does.
    pub(super) async fn one_or(&mut self, other: impl Future<Output = ()>) -> Result<(), StoreError> {
        let mut other = pin!(other);
        poll_fn(|context| match self.poll(context) {
            Poll::Pending => other.as_mut().poll(context).map(Ok),
            ended @ Poll::Ready(_) => ended,
        })
        .await
    }

    /// Takes a step of the Turn while they run. None is ever left alone: it may hold what the step waits for.
    pub(super) async fn beside<T>(
        &mut self,
        step: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let mut step = pin!(step);
        poll_fn(|context| {
            while let Poll::Ready(ended) = self.poll(context) {
                ended?;
            }
            step.as_mut().poll(context)
        })
        .await
    }

    /// Lets them run until all have ended.
    pub(super) async fn all(&mut self) -> Result<(), StoreError> {
        while !self.is_empty() {
            poll_fn(|context| self.poll(context)).await?;
        }
        Ok(())
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StoreError>> {
        for at in 0..self.runs.len() {
            let Some((_, run)) = self.runs.get_mut(at) else { continue };
            if let Poll::Ready(left) = run.as_mut().poll(context) {
                drop(self.runs.swap_remove(at));
                self.has_ended = true;
                return Poll::Ready(left.map(|left| self.is_cut_off |= left == Left::CutOff));
            }
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::TurnId;
    use owl_testkit::tokio::{self, sync::Mutex};

    #[tokio::test]
    async fn what_runs_goes_on_while_a_step_waits_for_what_it_holds() {
        let shared = Mutex::new(());
        let held = shared.lock().await;
        let mut at_work = AtWork::default();
        let at = CallRef { turn: TurnId::new(1), reply: 0, position: 0 };
        at_work.begin(at, async move {
            tokio::task::yield_now().await;
            drop(held);
            Ok(Left::CutOff)
        });
        assert!(at_work.runs(at) && !at_work.is_cut_off());
        let step = async {
            drop(shared.lock().await);
            Ok(7)
        };
        assert_eq!(at_work.beside(step).await, Ok(7));
        assert!(at_work.is_empty() && at_work.is_cut_off());
        assert!(at_work.has_ended() && !at_work.has_ended());
    }
}
