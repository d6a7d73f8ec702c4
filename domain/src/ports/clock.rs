//! The time, and being told to stop.

use crate::time::Timestamp;
use alloc::boxed::Box;
use async_trait::async_trait;

/// Tells the time.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait Clock: Send + Sync {
    /// Returns the moment it is now.
    fn now(&self) -> Timestamp;
}

/// Being told to stop. A slow port gets one, ends early when it fires, and says so.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Stop: Send + Sync {
    /// Says whether it was told to stop.
    fn is_stopped(&self) -> bool;

    /// Returns once it is told to stop; at once when it was.
    async fn stopped(&self);
}
