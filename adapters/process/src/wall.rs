//! The kernel's wall (D13).

use crate::spawn::Failure;

/// A child's confinement, ready to be applied between fork and `execve`.
#[derive(Debug)]
pub(crate) struct Confine {}

impl Confine {
    pub(crate) fn apply(&mut self) -> Result<(), Failure> {
        Ok(())
    }
    pub(crate) fn landlock_abi(&self) -> Option<u32> {
        None
    }
}

/// What a probe child found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) read_before: bool,
    pub(crate) read_after: bool,
    pub(crate) socket: bool,
    pub(crate) fork: bool,
    pub(crate) abi: Option<u32>,
}

impl Answer {
    pub(crate) fn encode(self) -> i32 {
        0
    }
}
