//! What the tests of this crate share: Stops that are told, a probe program, a way to say aloud what was skipped.

pub(crate) mod probe;

use crate::{
    commands::{host_held, launch},
    kill::Bounds,
    own::OwnCommand,
    spawn::{NotStarted, Spawner},
    wall::{Guards, Measured, Rules, measure},
};
use async_trait::async_trait;
use nix::{
    fcntl::{OFlag, open},
    sys::stat::Mode,
};
use owl_domain::{
    gate::{Access, Confinement, Program, Reach, Reached},
    limits,
    ports::{Handle, Held, Progress, Ran, Running, Stop},
};
use owl_testkit::kernel::guards;
use std::{
    ffi::OsString,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::sync::watch;

/// Words, or lines.
pub(crate) type Lines = Vec<OsString>;

/// A Stop that is told by [`Flag::tell`].
#[derive(Debug)]
pub(crate) struct Flag(watch::Sender<bool>);

impl Flag {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(watch::Sender::new(false)))
    }

    pub(crate) fn tell(&self) {
        self.0.send_replace(true);
    }
}

#[async_trait]
impl Stop for Flag {
    fn is_stopped(&self) -> bool {
        *self.0.borrow()
    }

    async fn stopped(&self) {
        self.0.subscribe().wait_for(|told| *told).await.unwrap();
    }
}

/// A shell script as a program of Owl's own, with nothing in its environment but PATH.
pub(crate) fn script(text: &str, cwd: &Path) -> OwnCommand {
    OwnCommand {
        program: "/bin/sh".into(),
        argv: vec!["sh".into(), "-c".into(), text.into()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: cwd.to_owned(),
        deadline: Duration::from_secs(60),
        max_bytes: 1024 * 1024,
    }
}

/// Says whether a process exists that is not dead already.
pub(crate) fn is_alive(pid: i32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !matches!(stat.rsplit(") ").next().and_then(|rest| rest.chars().next()), Some('Z' | 'X') | None)
}

/// Waits until something holds, looking again and again; gives up after a minute.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..12_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{what}: not within a minute");
}

/// What the tests of the wall need: something that forks, and this kernel's guards.
pub(crate) struct Bench {
    pub(crate) spawner: Spawner,
    pub(crate) guards: Arc<Guards>,
    pub(crate) measured: Measured,
}

/// A command as the tests give it, past the gate.
pub(crate) struct Try {
    pub(crate) kind: Program,
    pub(crate) program: PathBuf,
    pub(crate) argv: Lines,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) reach: Reach,
}

impl Try {
    /// One of the seven with its words.
    pub(crate) fn new(kind: Program, words: &[&str], reach: Reach) -> Self {
        let argv = [kind.name()].iter().chain(words).map(Into::into).collect();
        let env = [("HOME", "/nonexistent"), ("LC_ALL", "C.UTF-8"), ("PATH", "/usr/bin:/bin")];
        let env = env.map(|(name, value)| (name.into(), value.into())).to_vec();
        Self { kind, program: PathBuf::from("/usr/bin").join(kind.name()), argv, env, reach }
    }

    /// The probe with what it is to try, one attempt a line.
    pub(crate) fn probe(what: &str, reach: Reach) -> Self {
        let env = vec![("OWL_PROBE".into(), what.into())];
        Self { kind: Program::Cat, program: probe::program(), argv: probe::argv(), env, reach }
    }
}

impl Bench {
    pub(crate) async fn new() -> Self {
        let spawner = Spawner::new();
        let (guards, measured) = measure(&spawner).await;
        Self { spawner, guards: Arc::new(guards), measured }
    }

    /// A bench whose wall stands, or none with the reason said aloud.
    pub(crate) async fn walled(test: &str) -> Option<Self> {
        let (bench, here) = (Self::new().await, guards());
        let is_taken = (bench.measured.landlock || !here.landlock) && (bench.measured.seccomp || !here.seccomp);
        assert!(is_taken, "this kernel has {here:?}, and Owl takes {:?}", bench.measured);
        if bench.measured.landlock && bench.measured.seccomp {
            return Some(bench);
        }
        eprintln!("SKIPPED {test}: this kernel lacks a guard ({:?})", bench.measured);
        None
    }

    /// The same without a wall.
    pub(crate) fn open(&self) -> Self {
        Self { spawner: self.spawner.clone(), guards: Arc::new(Guards::none()), measured: self.measured }
    }

    pub(crate) async fn hold(&self, root: &Path, what: Try) -> Result<Box<dyn Held>, NotStarted> {
        self.hold_until(root, what, limits::COMMAND_DEADLINE, Flag::new()).await
    }

    pub(crate) async fn hold_until(
        &self,
        root: &Path,
        what: Try,
        deadline: Duration,
        stop: Arc<Flag>,
    ) -> Result<Box<dyn Held>, NotStarted> {
        let Try { kind, program, argv, env, reach } = what;
        let rules = Rules { program: kind, root: handle(root), pins: None, reach };
        let forked = launch(&self.spawner, program.clone(), argv, env, rules, Arc::clone(&self.guards)).await?;
        let bounds = Bounds { deadline, grace: limits::COMMAND_GRACE };
        Ok(host_held(forked, program, stop, bounds, Confinement::Both))
    }

    pub(crate) async fn run(&self, root: &Path, what: Try) -> Ran {
        finish(self.hold(root, what).await.unwrap().release().await.unwrap()).await
    }

    /// Runs the probe and returns what it said, line by line.
    pub(crate) async fn probe(&self, root: &Path, what: &str, reach: Reach) -> Vec<String> {
        let ran = self.run(root, Try::probe(what, reach)).await;
        let said: Vec<_> = ran.stdout.head.lines().filter(|line| line.starts_with('[')).map(str::to_owned).collect();
        assert_eq!(said.len(), what.lines().count(), "{ran:?}");
        said
    }
}

/// Reads a command to its end.
pub(crate) async fn finish(mut running: Box<dyn Running>) -> Ran {
    loop {
        if let Progress::Ended(ran) = running.next().await {
            return ran;
        }
    }
}

/// Opens something as the path check does.
pub(crate) fn handle(path: &Path) -> Handle {
    let opened: OwnedFd = open(path, OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty()).unwrap();
    Handle::new(opened)
}

/// One operand that may be used like this.
pub(crate) fn reached(path: &Path, access: Access) -> Reached {
    Reached { handle: handle(path), access }
}

/// Nothing that a program may reach but itself.
pub(crate) fn nothing() -> Reach {
    Reach::Operands(Vec::new())
}

/// These files.
pub(crate) fn files(paths: &[&Path]) -> Reach {
    Reach::Operands(paths.iter().map(|path| reached(path, Access::ReadFile)).collect())
}
