//! The `Commands` port: what was cleared, held, released, and read to its end (ADR-0022, D13, D14). A thin layer over
//! [`launch`], which judges nothing and which nothing outside of this crate can call.

use crate::{
    capture::Capture,
    kill::{Bounds, Ended, Sink, attend},
    programs::{Executable, Programs},
    spawn::{Forked, Launch, NotStarted, Spawner, Start},
    wall::{self, Guards, Measured, Rules, judge},
};
use async_trait::async_trait;
use owl_domain::{
    gate::{Cleared, Confinement, Program, Reach, Reached, Sandbox},
    limits,
    ports::{CommandError, Commands, EndedBy, Held, Progress, Ran, Running, Stop, Stream, Wall},
    text::AbsPath,
};
use std::{
    collections::VecDeque,
    ffi::OsString,
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    task::JoinHandle,
    time::sleep,
};

/// Runs what was cleared, on this machine.
#[derive(Debug)]
pub struct HostCommands {
    spawner: Spawner,
    programs: Programs,
    guards: Arc<Guards>,
    wall: Wall,
    places: Arc<Semaphore>,
    bounds: Bounds,
}

impl HostCommands {
    /// Finds the programs, of which none may lie in one of `projects`, measures the kernel's guards, and says in the
    /// log what is missing.
    pub async fn start(spawner: Spawner, sandbox: Sandbox, projects: &[AbsPath]) -> Self {
        let (guards, measured) = wall::measure(&spawner).await;
        Self::with(spawner, Programs::find(projects), guards, measured, sandbox)
    }

    /// Returns how many commands are at work, or held.
    pub fn running(&self) -> usize {
        limits::COMMANDS_RUNNING.saturating_sub(self.places.available_permits())
    }

    fn with(spawner: Spawner, programs: Programs, guards: Guards, measured: Measured, sandbox: Sandbox) -> Self {
        let wall = judge(sandbox, measured);
        let guards = match sandbox {
            Sandbox::Off => Guards::none(),
            Sandbox::Auto | Sandbox::Required => guards,
        };
        say(&wall);
        let bounds = Bounds { deadline: limits::COMMAND_DEADLINE, grace: limits::COMMAND_GRACE };
        let places = Arc::new(Semaphore::new(limits::COMMANDS_RUNNING));
        Self { spawner, programs, guards: Arc::new(guards), wall, places, bounds }
    }

    /// Waits for a place among those that run, in turn.
    async fn place(&self, stop: &dyn Stop) -> Result<OwnedSemaphorePermit, CommandError> {
        tokio::select! {
            biased;
            () = stop.stopped() => Err(CommandError::Stopped),
            place = Arc::clone(&self.places).acquire_owned() => {
                place.map_err(|e| CommandError::NotStarted { reason: e.to_string() })
            }
        }
    }

    /// Refuses what the gate should not have cleared. It did judge; this only keeps what runs to what was found.
    fn refuse(&self, command: &Cleared) -> Result<(), CommandError> {
        let shown = command.shown();
        let refused = |reason: String| Err(CommandError::NotStarted { reason });
        if self.programs.path(shown.program) != Some(&shown.path) {
            return refused(format!("`{}` is not the {} that was found at start", shown.path, shown.program.name()));
        }
        if Path::new(shown.path.as_str()).starts_with(command.workdir().path().as_str()) {
            return refused(format!("`{}` lies in the directory it is to run in", shown.path));
        }
        if self.wall.sandbox == Sandbox::Required && self.wall.confinement != Confinement::Both {
            return refused(format!("`sandbox: required`, and this kernel lacks {}", self.wall.missing.join(", ")));
        }
        Ok(())
    }
}

/// The same descriptors, for the thread that makes the rules of them.
fn reach(command: &Cleared) -> Reach {
    match command.reach() {
        Reach::Operands(operands) => Reach::Operands(
            operands.iter().map(|one| Reached { handle: one.handle.clone(), access: one.access.clone() }).collect(),
        ),
        Reach::Git(home) => Reach::Git(home.clone()),
    }
}

fn say(wall: &Wall) {
    let missing = wall.missing.join(", ");
    match wall.sandbox {
        Sandbox::Off => tracing::warn!("`sandbox: off`: commands run without the kernel's guards"),
        Sandbox::Auto | Sandbox::Required if missing.is_empty() => {}
        Sandbox::Auto => tracing::warn!("this kernel lacks {missing}: commands run under {}", wall.confinement.name()),
        Sandbox::Required => tracing::warn!("this kernel lacks {missing}"),
    }
}

#[async_trait]
impl Commands for HostCommands {
    fn program(&self, program: Program) -> Option<AbsPath> {
        self.programs.path(program).cloned()
    }

    fn wall(&self) -> Wall {
        self.wall.clone()
    }

    async fn hold(&self, command: Cleared, stop: Arc<dyn Stop>) -> Result<Box<dyn Held>, CommandError> {
        self.refuse(&command)?;
        let not_started = |reason: String| CommandError::NotStarted { reason };
        let place = self.place(&*stop).await?;
        let program = PathBuf::from(command.shown().path.as_str());
        let argv = command.shown().argv.iter().map(OsString::from).collect();
        let env = command.shown().env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let rules = Rules {
            program: command.shown().program,
            root: command.root().clone(),
            pins: Some(command.workdir().pins.clone()),
            reach: reach(&command),
        };
        let (bounds, confinement) = (self.bounds, self.wall.confinement);
        let forked = tokio::select! {
            biased;
            () = stop.stopped() => return Err(CommandError::Stopped),
            forked = launch(&self.spawner, program.clone(), argv, env, rules, Arc::clone(&self.guards)) => forked,
            () = sleep(bounds.deadline) => {
                return Err(not_started(format!("it did not begin within {} s", bounds.deadline.as_secs())));
            }
        };
        let forked = forked.map_err(|e| not_started(e.to_string()))?;
        Ok(Box::new(HostHeld { forked, program, stop, place: Some(place), bounds, confinement }))
    }
}

/// Forks a program that holds, under `wall`, with what `rules` let it reach. Judges nothing.
pub(crate) async fn launch(
    spawner: &Spawner,
    program: PathBuf,
    argv: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    rules: Rules,
    wall: Arc<Guards>,
) -> Result<Forked, NotStarted> {
    let path = program.clone();
    let make = move || {
        let root = rules.root.get::<OwnedFd>().ok_or_else(|| io::Error::other("its directory is not open"))?;
        let cwd = root.try_clone()?;
        let confine = wall.confine(&Executable::read(&path)?, &rules)?;
        let limits = wall::limits(rules.program);
        Ok(Launch { program: path, argv, env, cwd, limits, confine: Some(confine) })
    };
    spawner.fork(&program, Start::Held, make).await
}

/// What [`Commands::hold`] returns, for the tests of [`launch`].
#[cfg(test)]
pub(crate) fn host_held(
    forked: Forked,
    program: PathBuf,
    stop: Arc<dyn Stop>,
    bounds: Bounds,
    confinement: Confinement,
) -> Box<dyn Held> {
    Box::new(HostHeld { forked, program, stop, place: None, bounds, confinement })
}

/// A command that has been forked and is confined before it begins. Dropped, it never begins.
struct HostHeld {
    forked: Forked,
    program: PathBuf,
    stop: Arc<dyn Stop>,
    /// Its place among those that run; a test may do without.
    place: Option<OwnedSemaphorePermit>,
    bounds: Bounds,
    confinement: Confinement,
}

#[async_trait]
impl Held for HostHeld {
    fn pid(&self) -> u32 {
        self.forked.pid().as_raw().cast_unsigned()
    }

    async fn release(self: Box<Self>) -> Result<Box<dyn Running>, CommandError> {
        let Self { forked, program, stop, place, bounds, confinement } = *self;
        if stop.is_stopped() {
            return Err(CommandError::Stopped);
        }
        let stopped = async {
            tokio::select! {
                () = stop.stopped() => {}
                () = sleep(bounds.deadline) => {}
            }
        };
        let released = forked.release(&program, stopped).await;
        let started = released.map_err(|e| match stop.is_stopped() {
            true => CommandError::Stopped,
            false => CommandError::NotStarted { reason: e.to_string() },
        })?;
        let told = Arc::new(Told::default());
        let mut telling = Telling::new(Arc::clone(&told), confinement);
        // A task of its own, so that output is drained and the deadline kept however slowly somebody listens.
        let task = tokio::spawn(async move {
            let ended = attend(started, bounds, stop, &mut telling).await;
            drop(place);
            match ended {
                Ok(ended) => telling.end(&ended),
                Err(e) => tracing::error!("it is not known how `{}` ended: {e}", program.display()),
            }
        });
        Ok(Box::new(HostRunning { told, task }))
    }
}

/// A command at work. Dropped, its group is killed.
#[derive(Debug)]
struct HostRunning {
    told: Arc<Told>,
    task: JoinHandle<()>,
}

#[async_trait]
impl Running for HostRunning {
    async fn next(&mut self) -> Progress {
        loop {
            if let Some(progress) = self.told.take() {
                return progress;
            }
            self.told.changed.notified().await;
        }
    }
}

impl Drop for HostRunning {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What happened and was not asked for yet: at most the first parts of both streams, and the end.
#[derive(Debug, Default)]
struct Told {
    progress: Mutex<VecDeque<Progress>>,
    changed: Notify,
}

impl Told {
    fn take(&self) -> Option<Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    fn add(&self, progress: Progress) {
        let mut waiting = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        match (waiting.back_mut(), progress) {
            (Some(Progress::Printed(last, text)), Progress::Printed(stream, more)) if *last == stream => {
                text.push_str(&more);
            }
            (_, progress) => waiting.push_back(progress),
        }
        drop(waiting);
        self.changed.notify_one();
    }
}

/// Bounds a command's output and tells it. However it is let go of, an end is told.
struct Telling {
    told: Arc<Told>,
    stdout: Capture,
    stderr: Capture,
    /// The end as far as it is known.
    ran: Option<Ran>,
}

impl Telling {
    fn new(told: Arc<Told>, confinement: Confinement) -> Self {
        let unknown = Ran {
            ended_by: EndedBy::Signal,
            exit_code: None,
            signal: None,
            duration: Duration::ZERO,
            stdout: Default::default(),
            stderr: Default::default(),
            confinement,
        };
        Self {
            told,
            stdout: Capture::new(limits::STDOUT_HEAD_BYTES, limits::STDOUT_TAIL_BYTES),
            stderr: Capture::new(limits::STDERR_PART_BYTES, limits::STDERR_PART_BYTES),
            ran: Some(unknown),
        }
    }

    fn end(mut self, ended: &Ended) {
        if let Some(ran) = &mut self.ran {
            ran.ended_by = ended.ended_by;
            ran.exit_code = ended.status.code();
            ran.signal = ended.signal();
            ran.duration = ended.duration;
        }
    }
}

impl Sink for Telling {
    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        let capture = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let text = capture.take(bytes);
        if !text.is_empty() {
            self.told.add(Progress::Printed(stream, text));
        }
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        let Some(mut ran) = self.ran.take() else { return };
        let nothing = || Capture::new(0, 0);
        ran.stdout = std::mem::replace(&mut self.stdout, nothing()).finish();
        ran.stderr = std::mem::replace(&mut self.stderr, nothing()).finish();
        self.told.add(Progress::Ended(ran));
    }
}

#[cfg(test)]
mod tests;
