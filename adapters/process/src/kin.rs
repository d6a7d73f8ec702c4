//! Finds and ends all that an Agent started, in sessions of their own too (D22). A coding tool starts its commands with
//! `setsid`, so its process group is not all of them; a mark in their environment is, also after a crash of the daemon.
//!
//! Needs /proc. Elsewhere nothing is found, and an Agent is ended by its group alone (D25).

use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, getpid},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs,
    time::Duration,
};

/// The variable that names the Run.
pub(crate) const RUN: &str = "OWL_RUN_ID";
/// The variable that names the daemon's data directory: Runs of two daemons have the same names.
pub(crate) const HOME: &str = "OWL_RUN_HOME";
/// How often what is left is looked for and killed, and how long between: what forks faster than that is left alone.
const ROUNDS: u32 = 100;
const BETWEEN: Duration = Duration::from_millis(10);

/// What tells the processes of one Run from all others. It stands in their environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The Run's id.
    pub run: String,
    /// The daemon's data directory.
    pub home: String,
}

impl Mark {
    /// The names of the variables that it sets.
    pub const NAMES: [&'static str; 2] = [RUN, HOME];

    /// Returns the variables to set.
    pub(crate) fn variables(&self) -> [(OsString, OsString); 2] {
        [(RUN.into(), self.run.clone().into()), (HOME.into(), self.home.clone().into())]
    }
}

/// A process: its number, and when it started, since numbers are used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Process {
    pid: i32,
    started: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Status {
    process: Process,
    parent: i32,
    session: i32,
    dead: bool,
}

/// The processes of one Run, as far as they were seen.
#[derive(Debug)]
pub(crate) struct Kin {
    mark: Mark,
    known: BTreeSet<Process>,
}

impl Kin {
    pub(crate) fn new(mark: Mark) -> Self {
        Self { mark, known: BTreeSet::new() }
    }

    /// Looks for the descendants of a process while it still has them, and remembers them.
    pub(crate) fn look(&mut self, ancestor: Pid) {
        let all = processes();
        if let Some(ancestor) = all.iter().find(|one| one.process.pid == ancestor.as_raw()) {
            self.known.insert(ancestor.process);
        }
        self.find(&all);
    }

    /// Kills every one of them until none is left. Blocks.
    pub(crate) fn end(&mut self) {
        for _ in 0..ROUNDS {
            let alive = self.find(&processes());
            if alive.is_empty() {
                return;
            }
            for one in alive {
                kill(Pid::from_raw(one.pid), Signal::SIGKILL).ok();
            }
            std::thread::sleep(BETWEEN);
        }
        tracing::warn!("processes of Run {} are still there", self.mark.run);
    }

    /// Returns those that live: marked, known, or descended from one that is.
    fn find(&mut self, all: &[Status]) -> Vec<Process> {
        let own = getpid().as_raw();
        let mut children: BTreeMap<i32, Vec<Process>> = BTreeMap::new();
        for one in all {
            children.entry(one.parent).or_default().push(one.process);
        }
        let there = all.iter().map(|one| one.process);
        let mut found: Vec<Process> =
            there.filter(|one| self.known.contains(one) || marks(one.pid).as_ref() == Some(&self.mark)).collect();
        let mut seen: BTreeSet<Process> = BTreeSet::new();
        while let Some(one) = found.pop() {
            if one.pid != own && seen.insert(one) {
                found.extend(children.get(&one.pid).into_iter().flatten());
            }
        }
        self.known.extend(&seen);
        all.iter().filter(|one| !one.dead && seen.contains(&one.process)).map(|one| one.process).collect()
    }
}

/// Ends what Runs left running that are not active any more, of the daemon with this data directory. Returns the Runs
/// that had left something. Blocks.
pub(crate) fn end_leftovers(home: &str, is_active: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let own = getpid().as_raw();
    let runs: BTreeSet<String> = processes()
        .into_iter()
        .filter(|one| !one.dead && one.process.pid != own)
        .filter_map(|one| marks(one.process.pid))
        .filter(|mark| mark.home == home && !is_active(&mark.run))
        .map(|mark| mark.run)
        .collect();
    for run in &runs {
        Kin::new(Mark { run: run.clone(), home: home.to_owned() }).end();
    }
    runs
}

/// Kills what became a child of this process without being forked by it, in a session of its own: it lost its parent and
/// dropped its environment with the mark. Only while no Run is at work, since nobody can tell whose it was. Blocks.
pub(crate) fn end_unmarked(is_forked: impl Fn(u32) -> bool) {
    let own = getpid().as_raw();
    for _ in 0..ROUNDS {
        let all = processes();
        let own_session = all.iter().find(|one| one.process.pid == own).map(|one| one.session);
        let is_left = |one: &&Status| {
            one.parent == own
                && !one.dead
                && Some(one.session) != own_session
                && !is_forked(one.process.pid.cast_unsigned())
                && marks(one.process.pid).is_none()
        };
        // What they started becomes a child in its turn, and is found in the next round.
        let left: Vec<_> = all.iter().filter(is_left).collect();
        if left.is_empty() {
            return;
        }
        for one in left {
            kill(Pid::from_raw(one.process.pid), Signal::SIGKILL).ok();
        }
        std::thread::sleep(BETWEEN);
    }
}

/// Returns the children of this process that are dead and not waited for.
pub(crate) fn dead_children() -> Vec<Pid> {
    let own = getpid().as_raw();
    processes().iter().filter(|one| one.dead && one.parent == own).map(|one| Pid::from_raw(one.process.pid)).collect()
}

fn processes() -> Vec<Status> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| status(entry.ok()?.file_name().to_str()?.parse().ok()?)).collect()
}

fn status(pid: i32) -> Option<Status> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything, brackets too; what follows the last one is numbers.
    let mut fields = stat.rsplit(") ").next()?.split(' ');
    let dead = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(15)?.parse().ok()?;
    Some(Status { process: Process { pid, started }, parent, session, dead })
}

/// Returns the mark in a process's environment, when there is one that may be read.
fn marks(pid: i32) -> Option<Mark> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let value = |name: &str| {
        let value = environment
            .split(|byte| *byte == 0)
            .find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        String::from_utf8(value.to_vec()).ok()
    };
    Some(Mark { run: value(RUN)?, home: value(HOME)? })
}

#[cfg(test)]
mod tests;
