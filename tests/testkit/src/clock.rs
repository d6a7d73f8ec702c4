//! A clock that stands still until a test moves it.

use owl_domain::{ports::Clock, time::Timestamp};
use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

/// A clock that stands still until a test moves it. Begins at noon of the first day of December 2026, in UTC.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl Default for ManualClock {
    fn default() -> Self {
        Self(AtomicI64::new(1_796_126_400_000))
    }
}

impl ManualClock {
    /// Moves it on.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}
