//! Processes that are none. Whatever is released was allowed, and its start was stored before: each release checks it.

use super::path;
use owl_domain::{
    consent::Outcome,
    gate::{Cleared, Confinement, Program, Sandbox, Shown},
    ports::{CommandError, Commands, EndedBy, Held, Progress, Ran, Running, Stop, Stream, Wall},
    text::{AbsPath, Clipped},
};
use owl_testkit::{MemoryTurns, tokio};
use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

/// What a command does when it is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Does {
    /// Prints this and exits with 0.
    Print(String),
    /// Exits with that.
    Exit(i32),
    /// Prints this and goes on until it is told to stop.
    Hang(String),
    /// Cannot be forked.
    FailToFork,
    /// Cannot be executed.
    FailToExecute,
    /// Waits for a place until it is told to stop.
    WaitInQueue,
}

type Hook = Box<dyn FnMut() + Send>;

/// Processes that are none.
pub(crate) struct FakeCommands {
    store: Arc<MemoryTurns>,
    does: Mutex<VecDeque<Does>>,
    held: Arc<Mutex<Vec<String>>>,
    begun: Arc<Mutex<Vec<String>>>,
    dropped: Arc<AtomicU32>,
    when_held: Mutex<Option<Hook>>,
    is_elsewhere: AtomicBool,
    queued: AtomicU32,
}

impl FakeCommands {
    pub(crate) fn new(store: Arc<MemoryTurns>) -> Self {
        Self {
            store,
            does: Mutex::default(),
            held: Arc::default(),
            begun: Arc::default(),
            dropped: Arc::default(),
            when_held: Mutex::default(),
            is_elsewhere: AtomicBool::new(false),
            queued: AtomicU32::new(0),
        }
    }

    /// The next command does that; those behind the last one print `hello`.
    pub(crate) fn then(&self, does: Does) {
        self.does.lock().unwrap().push_back(does);
    }

    /// The lines that were held, in order.
    pub(crate) fn held(&self) -> Vec<String> {
        self.held.lock().unwrap().clone()
    }

    /// The lines that got to `execve`, in order.
    pub(crate) fn begun(&self) -> Vec<String> {
        self.begun.lock().unwrap().clone()
    }

    /// How many were held and dropped without having begun.
    pub(crate) fn dropped(&self) -> u32 {
        self.dropped.load(Ordering::SeqCst)
    }

    /// How many waited for a place.
    pub(crate) fn queued(&self) -> u32 {
        self.queued.load(Ordering::SeqCst)
    }

    /// Does something between a command's fork and its start.
    pub(crate) fn when_held(&self, hook: impl FnMut() + Send + 'static) {
        *self.when_held.lock().unwrap() = Some(Box::new(hook));
    }

    /// The programs are found in another directory.
    pub(crate) fn move_programs(&self) {
        self.is_elsewhere.store(true, Ordering::SeqCst);
    }
}

#[async_trait::async_trait]
impl Commands for FakeCommands {
    fn program(&self, program: Program) -> Option<AbsPath> {
        let directory = if self.is_elsewhere.load(Ordering::SeqCst) { "/usr/local/bin" } else { "/usr/bin" };
        Some(path(&format!("{directory}/{}", program.name())))
    }

    fn wall(&self) -> Wall {
        let confinement = Confinement::Both;
        Wall { sandbox: Sandbox::Auto, confinement, landlock_abi: Some(7), missing: Vec::new() }
    }

    async fn hold(&self, command: Cleared, stop: Arc<dyn Stop>) -> Result<Box<dyn Held>, CommandError> {
        tokio::task::yield_now().await;
        let does = self.does.lock().unwrap().pop_front().unwrap_or_else(|| Does::Print("hello\n".into()));
        if does == Does::WaitInQueue {
            self.queued.fetch_add(1, Ordering::SeqCst);
            stop.stopped().await;
            return Err(CommandError::Stopped);
        }
        if does == Does::FailToFork {
            return Err(CommandError::NotStarted { reason: "too many processes".into() });
        }
        let shown = command.shown().clone();
        let allowed = self.store.proposals().into_iter().any(|proposal| {
            let outcome = proposal.decision.map(|decision| decision.outcome);
            proposal.shown.digest == shown.digest && outcome == Some(Outcome::Allowed) && proposal.started_at.is_none()
        });
        assert!(allowed, "`{}` was held and nobody allowed it", shown.requested);
        self.held.lock().unwrap().push(shown.requested.clone());
        if let Some(hook) = self.when_held.lock().unwrap().as_mut() {
            hook();
        }
        tokio::task::yield_now().await;
        Ok(Box::new(FakeHeld {
            store: self.store.clone(),
            shown,
            does,
            stop,
            begun: self.begun.clone(),
            dropped: self.dropped.clone(),
            is_released: false,
        }))
    }
}

struct FakeHeld {
    store: Arc<MemoryTurns>,
    shown: Shown,
    does: Does,
    stop: Arc<dyn Stop>,
    begun: Arc<Mutex<Vec<String>>>,
    dropped: Arc<AtomicU32>,
    is_released: bool,
}

impl Drop for FakeHeld {
    fn drop(&mut self) {
        if !self.is_released {
            self.dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[async_trait::async_trait]
impl Held for FakeHeld {
    fn pid(&self) -> u32 {
        4311
    }

    async fn release(mut self: Box<Self>) -> Result<Box<dyn Running>, CommandError> {
        tokio::task::yield_now().await;
        let proposals = self.store.proposals();
        let of_this = || proposals.iter().filter(|proposal| proposal.shown.digest == self.shown.digest);
        let is_stored = of_this().any(|proposal| proposal.started_at.is_some());
        assert!(is_stored, "`{}` was released before its start was stored", self.shown.requested);
        self.is_released = true;
        if self.does == Does::FailToExecute {
            return Err(CommandError::NotStarted { reason: "cat could not be executed".into() });
        }
        self.begun.lock().unwrap().push(self.shown.requested.clone());
        let (prints, ended_by, exit_code) = match &self.does {
            Does::Print(text) => (text.clone(), EndedBy::Exit, Some(0)),
            Does::Exit(code) => (String::new(), EndedBy::Exit, Some(*code)),
            Does::Hang(text) => (text.clone(), EndedBy::Stopped, None),
            Does::FailToFork | Does::FailToExecute | Does::WaitInQueue => (String::new(), EndedBy::Exit, Some(126)),
        };
        let waits = matches!(self.does, Does::Hang(_)).then(|| self.stop.clone());
        Ok(Box::new(FakeRunning { tells: Some(prints.clone()), prints, ended_by, exit_code, waits }))
    }
}

struct FakeRunning {
    tells: Option<String>,
    prints: String,
    ended_by: EndedBy,
    exit_code: Option<i32>,
    waits: Option<Arc<dyn Stop>>,
}

#[async_trait::async_trait]
impl Running for FakeRunning {
    async fn next(&mut self) -> Progress {
        tokio::task::yield_now().await;
        if let Some(text) = self.tells.take().filter(|text| !text.is_empty()) {
            return Progress::Printed(Stream::Stdout, text);
        }
        if let Some(stop) = self.waits.take() {
            stop.stopped().await;
        }
        let bytes = u64::try_from(self.prints.len()).unwrap();
        let signal = (self.ended_by == EndedBy::Stopped).then(|| String::from("SIGTERM"));
        Progress::Ended(Ran {
            ended_by: self.ended_by,
            exit_code: self.exit_code,
            signal,
            duration: Duration::from_millis(9),
            stdout: Clipped { head: self.prints.clone(), bytes, ..Clipped::default() },
            stderr: Clipped::default(),
            confinement: Confinement::Both,
        })
    }
}
