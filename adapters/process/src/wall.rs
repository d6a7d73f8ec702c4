//! The second wall: what the kernel lets a command do, whatever the gate let through (ADR-0022, D13). Rule set and
//! filters are made in the daemon and applied by the child; measured once at start with that same code. MUST NOT look
//! at an argument list: this wall knows descriptors and system calls only.

mod filters;
mod measure;
#[cfg(target_os = "linux")]
mod reach;
mod ruleset;

use crate::{
    programs::Executable,
    spawn::{Failure, Limit, Stage},
};
use filters::Filters;
pub(crate) use measure::{Answer, Measured, judge, measure};
use nix::{
    errno::Errno,
    sys::resource::{Resource, getrlimit},
};
use owl_domain::{
    gate::{Program, Reach},
    ports::Handle,
    project::Pins,
};
use ruleset::Ruleset;
use std::{io, os::fd::OwnedFd, sync::Arc};

/// The address space of a program other than git.
const MEMORY_BYTES: u64 = 1 << 30;
/// The address space of git, which maps whole packs.
const GIT_MEMORY_BYTES: u64 = 8 << 30;
/// What git may allocate: packs are mapped from their files and do not count, a pattern that grows without end does.
const GIT_DATA_BYTES: u64 = 1 << 30;
/// Processor time after which a program gets SIGXCPU.
const CPU_SECONDS: u64 = 20;
/// Descriptors that a program may have.
const OPEN_FILES: u64 = 256;

/// The guards that this kernel has, ready to be used for each command.
#[derive(Debug)]
pub(crate) struct Guards {
    /// Whether every right up to TCP is demanded, or what there is is used.
    strength: Option<Strength>,
    filters: Option<Arc<Filters>>,
    standing: Vec<OwnedFd>,
}

/// How much of Landlock is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strength {
    /// All up to TCP, or it is an error.
    Whole,
    /// What the kernel knows.
    Partial,
}

/// What one command may reach.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Which of the seven it is, for what it reads beside its operands.
    pub(crate) program: Program,
    /// The directory it runs in.
    pub(crate) root: Handle,
    /// What the directories must still be.
    pub(crate) pins: Option<Pins>,
    /// What its operands lead to.
    pub(crate) reach: Reach,
}

impl Guards {
    /// No guard at all, for `sandbox: off` and for the gate's own tests.
    pub(crate) fn none() -> Self {
        Self { strength: None, filters: None, standing: Vec::new() }
    }

    /// Makes what confines one command. Opens and lists directories, so it belongs on a thread that may block.
    pub(crate) fn confine(&self, executable: &Executable, rules: &Rules) -> io::Result<Confine> {
        Ok(Confine { landlock: self.landlock(executable, rules)?, filters: self.filters.clone() })
    }

    #[cfg(target_os = "linux")]
    fn landlock(&self, executable: &Executable, rules: &Rules) -> io::Result<Option<Ruleset>> {
        let Some(strength) = self.strength else { return Ok(None) };
        let mut set = Ruleset::new(strength)?;
        self.standing.iter().try_for_each(|directory| set.allow(directory, ruleset::Right::Read))?;
        reach::allow_program(&mut set, executable, rules.program)?;
        reach::allow(&mut set, rules)?;
        Ok(Some(set))
    }

    #[cfg(not(target_os = "linux"))]
    fn landlock(&self, _: &Executable, _: &Rules) -> io::Result<Option<Ruleset>> {
        Ok(None)
    }
}

/// A child's confinement, to be applied before `execve`.
#[derive(Debug)]
pub(crate) struct Confine {
    landlock: Option<Ruleset>,
    filters: Option<Arc<Filters>>,
}

impl Confine {
    /// Puts the calling thread behind Landlock for ever, and returns the version of it that the kernel has. Runs in the
    /// child: system calls on ready data only.
    pub(crate) fn restrict(&self) -> Result<Option<u32>, Failure> {
        match &self.landlock {
            None => Ok(None),
            Some(set) => set.restrict_self().map_err(|()| Stage::Landlock.failed(Errno::last())),
        }
    }

    /// Puts it behind the filters, likewise. They come last: they refuse what the steps before them may need.
    pub(crate) fn filter(&self) -> Result<(), Failure> {
        match &self.filters {
            None => Ok(()),
            Some(filters) => filters.apply().map_err(|_| Stage::Seccomp.failed(Errno::last())),
        }
    }
}

/// Returns the limits that a command runs under, with a wall or without (D14). None is above what Owl itself may.
pub(crate) fn limits(program: Program) -> Vec<Limit> {
    let (memory, data) = match program {
        Program::Git => (GIT_MEMORY_BYTES, GIT_DATA_BYTES),
        Program::Cat | Program::Grep | Program::Head | Program::Ls | Program::Tail | Program::Wc => {
            (MEMORY_BYTES, MEMORY_BYTES)
        }
    };
    [
        (Resource::RLIMIT_FSIZE, 0, 0),
        (Resource::RLIMIT_CORE, 0, 0),
        // One second more until SIGKILL, so that the signal that people see names the reason.
        (Resource::RLIMIT_CPU, CPU_SECONDS, CPU_SECONDS + 1),
        (Resource::RLIMIT_NOFILE, OPEN_FILES, OPEN_FILES),
        (Resource::RLIMIT_AS, memory, memory),
        (Resource::RLIMIT_DATA, data, data),
    ]
    .into_iter()
    // Elsewhere these count what a program only reserves.
    .filter(|(resource, ..)| {
        cfg!(target_os = "linux") || !matches!(resource, Resource::RLIMIT_AS | Resource::RLIMIT_DATA)
    })
    .map(|(resource, soft, hard)| {
        let most = getrlimit(resource).map_or(hard, |(_, most)| most);
        Limit { resource, soft: soft.min(most), hard: hard.min(most) }
    })
    .collect()
}

#[cfg(test)]
mod tests;
