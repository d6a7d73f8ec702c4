//! What this kernel's guards are worth, found out at start by a child that tries what they refuse (D13). Nothing is
//! read off a version number but the names of what an old Landlock lacks.

use super::{Confine, Filters, Guards, Ruleset, Strength};
use crate::{
    own::open_directory,
    spawn::{Failure, Launch, Spawner, Stage},
};
use nix::errno::Errno;
use owl_domain::{
    gate::{Confinement, Sandbox},
    ports::Wall,
};
use std::{error::Error, io, os::fd::OwnedFd, sync::Arc, time::Duration};
use tokio::time::sleep;

/// What a probe child found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    /// It could read a file before it was confined.
    pub(crate) read_before: bool,
    /// It still could afterwards.
    pub(crate) read_after: bool,
    /// It could open a socket.
    pub(crate) socket: bool,
    /// It could fork.
    pub(crate) fork: bool,
    /// The Landlock version it met.
    pub(crate) abi: Option<u32>,
}

impl Answer {
    pub(crate) fn encode(self) -> i32 {
        let bits = [self.read_before, self.read_after, self.socket, self.fork];
        let bits = bits.into_iter().rev().fold(0, |all, bit| all << 1 | i32::from(bit));
        let abi = self.abi.and_then(|abi| i32::try_from(abi).ok()).unwrap_or_default();
        bits | abi << 4
    }

    pub(super) fn decode(value: i32) -> Self {
        let bit = |n: i32| value & (1 << n) != 0;
        let abi = u32::try_from(value >> 4).ok().filter(|abi| *abi > 0);
        Self { read_before: bit(0), read_after: bit(1), socket: bit(2), fork: bit(3), abi }
    }
}

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Measured {
    /// The whole of Landlock held.
    pub(crate) landlock: bool,
    /// The filters held.
    pub(crate) seccomp: bool,
    /// The kernel's Landlock version.
    pub(crate) abi: Option<u32>,
}

/// How often a probe is tried that could not be made: the system may be short of something for a moment.
const TRIES: usize = 5;
const BETWEEN: Duration = Duration::from_millis(100);

/// Measures the guards, and returns those that commands are to use: whatever there is, whole or not.
pub(crate) async fn measure(spawner: &Spawner) -> (Guards, Measured) {
    let guards = Guards {
        strength: strength(),
        filters: Filters::compile().inspect_err(|e| tracing::warn!("no seccomp filter: {e}")).ok().map(Arc::new),
        standing: standing(),
    };
    measure_with(spawner, guards).await
}

/// Says how much of Landlock to ask for. Only a kernel that refuses to make any rule set has none of it: a process that
/// is short of descriptors for a moment has.
fn strength() -> Option<Strength> {
    if Ruleset::new(Strength::Whole).is_ok() {
        return Some(Strength::Whole);
    }
    match Ruleset::new(Strength::Partial) {
        Err(error) if is_lacking(&error) => {
            tracing::warn!("no Landlock: {error}");
            None
        }
        Ok(_) | Err(_) => Some(Strength::Partial),
    }
}

/// Says whether a call failed because it is not there, or not for this process.
pub(super) fn is_lacking(error: &io::Error) -> bool {
    if error.kind() == io::ErrorKind::Unsupported {
        return true;
    }
    let mut inner: Option<&(dyn Error + 'static)> = error.get_ref().map(|inner| inner as _);
    while let Some(error) = inner {
        if let Some(code) = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) {
            let errno = Errno::from_raw(code);
            return matches!(errno, Errno::ENOSYS | Errno::EOPNOTSUPP | Errno::EPERM | Errno::EINVAL);
        }
        inner = error.source();
    }
    false
}

/// Measures these guards. One that the kernel does not take is given up, and the rest measured without it. Where nothing
/// can be measured all of them are kept and none is counted: a command is bound by them, or it does not start.
pub(super) async fn measure_with(spawner: &Spawner, mut guards: Guards) -> (Guards, Measured) {
    let mut measured = Measured { landlock: false, seccomp: false, abi: None };
    let mut tries = 0;
    while guards.strength.is_some() || guards.filters.is_some() {
        let reason = match probe(spawner, &guards).await {
            Ok(Failure { stage: Stage::Probed, value }) => {
                let answer = Answer::decode(value);
                measured = Measured {
                    landlock: guards.strength == Some(Strength::Whole) && answer.read_before && !answer.read_after,
                    seccomp: guards.filters.is_some() && !answer.socket && !answer.fork,
                    abi: answer.abi,
                };
                break;
            }
            Ok(failure) => {
                match failure.stage {
                    Stage::Landlock => guards.strength = None,
                    Stage::Seccomp => guards.filters = None,
                    _ => {}
                }
                if matches!(failure.stage, Stage::Landlock | Stage::Seccomp) {
                    tracing::warn!("{failure}");
                    continue;
                }
                failure.to_string()
            }
            Err(reason) => reason.to_string(),
        };
        tries += 1;
        if tries == TRIES {
            tracing::error!("the kernel's guards could not be measured, and are counted for none: {reason}");
            break;
        }
        sleep(BETWEEN).await;
    }
    (guards, measured)
}

#[cfg(target_os = "linux")]
fn standing() -> Vec<OwnedFd> {
    super::reach::standing_directories()
}

#[cfg(not(target_os = "linux"))]
fn standing() -> Vec<OwnedFd> {
    Vec::new()
}

/// Forks a child under an empty rule set and the filters, which tries what they refuse.
async fn probe(spawner: &Spawner, guards: &Guards) -> io::Result<Failure> {
    let (strength, filters) = (guards.strength, guards.filters.clone());
    let make = move || {
        let confine = Confine { landlock: strength.map(Ruleset::new).transpose()?, filters };
        let (program, cwd) = ("/".into(), open_directory("/".as_ref())?);
        Ok(Launch { program, argv: Vec::new(), env: Vec::new(), cwd, limits: Vec::new(), confine: Some(confine) })
    };
    spawner.probe(make).await
}

/// Says what commands run under, and what is missing.
pub(crate) fn judge(sandbox: Sandbox, measured: Measured) -> Wall {
    let Measured { landlock, seccomp, abi } = measured;
    let confinement = match (sandbox, landlock, seccomp) {
        (Sandbox::Off, ..) | (_, false, false) => Confinement::Gate,
        (_, true, false) => Confinement::Landlock,
        (_, false, true) => Confinement::Seccomp,
        (_, true, true) => Confinement::Both,
    };
    let older_than = |version: u32| abi.is_some_and(|abi| abi < version);
    let missing = [
        (!landlock, "landlock"),
        (!seccomp, "seccomp"),
        (older_than(3), "truncate"),
        (older_than(4), "tcp"),
        (older_than(5), "ioctl"),
        (older_than(6), "signals"),
    ];
    let missing = missing.into_iter().filter_map(|(lacks, name)| lacks.then_some(name)).collect();
    Wall { sandbox, confinement, landlock_abi: abi, missing }
}
