//! Runs an Agent, and a Project's checks: long-lived programs of Owl's own that start others. Their output is pulled
//! line by line, and when they have ended, all that they started has (D22). MUST NOT know which tool it is.

use crate::{
    capture::Capture,
    kill::{Bounds, Ended, Sink, attend},
    kin::{self, Kin, Mark},
    own::{OwnCommand, OwnError},
    spawn::{Spawner, Started, bury_orphans, is_forked},
};
use nix::unistd::Pid;
use owl_domain::{
    limits,
    ports::{EndedBy, Stop, Stream},
    text::Clipped,
};
use std::{
    collections::{BTreeSet, VecDeque},
    ffi::OsString,
    mem,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{sync::Notify, task::JoinHandle};

/// How much of an Agent's output may wait for a reader; then it is not read further, and the Agent waits.
const WAITING_BYTES: usize = 1024 * 1024;
/// What is kept of an Agent's standard error: its end.
const STDERR_BYTES: usize = 4096;

/// An Agent to be started. The mark is added to `env`.
#[derive(Debug, Clone)]
pub struct AgentSpec {
    /// Its absolute path.
    pub program: PathBuf,
    /// Its words, its name first.
    pub argv: Vec<OsString>,
    /// Its environment, but for the mark.
    pub env: Vec<(OsString, OsString)>,
    /// The directory it runs in.
    pub cwd: PathBuf,
    /// What its processes are known by.
    pub mark: Mark,
    /// When its group gets SIGTERM.
    pub deadline: Duration,
    /// How long after that everything gets SIGKILL.
    pub grace: Duration,
    /// The most that is kept of one line.
    pub line_bytes: usize,
}

/// What an Agent did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentProgress {
    /// It printed a line on standard output.
    Line(AgentLine),
    /// It ended, and with it all that it started. Nothing comes after that.
    Ended(AgentEnd),
}

/// One line, without its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentLine {
    /// Its start, at most `line_bytes`.
    pub kept: Vec<u8>,
    /// How long it truly was.
    pub bytes: u64,
}

/// How an Agent or a check ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentEnd {
    /// Why it ended.
    pub ended_by: EndedBy,
    /// Its exit status, when it exited.
    pub exit_code: Option<i32>,
    /// The signal that ended it, such as `SIGKILL`.
    pub signal: Option<String>,
    /// From `execve` to its end.
    pub duration: Duration,
    /// What a check printed; nothing for an Agent, whose lines were told.
    pub stdout: Clipped,
    /// What it printed on standard error; of an Agent's the last 4 KiB.
    pub stderr: Clipped,
}

impl AgentEnd {
    fn new(ended: &Ended, stdout: Clipped, stderr: Clipped) -> Self {
        let Ended { ended_by, status, duration } = ended;
        Self {
            ended_by: *ended_by,
            exit_code: status.code(),
            signal: ended.signal(),
            duration: *duration,
            stdout,
            stderr,
        }
    }
}

impl Spawner {
    /// Starts an Agent. It ends at its deadline, when `stop` fires, or when what this returns is dropped.
    ///
    /// # Errors
    /// [`OwnError::NotStarted`]: nothing of it ran.
    pub async fn spawn_agent(&self, spec: AgentSpec, stop: Arc<dyn Stop>) -> Result<Agent, OwnError> {
        let AgentSpec { program, argv, env, cwd, mark, deadline, grace, line_bytes } = spec;
        let working = Working::begin();
        // From here on: one that began and was let go of at once may have started others.
        let left = Leftovers { mark: Some(mark.clone()) };
        let started = self.start_marked(&program, argv, env, cwd, &mark, (&*stop, deadline)).await?;
        left.ended();
        let pid = started.owned.pid;
        let told = Arc::new(Told::default());
        let mut lines = Lines {
            told: Arc::clone(&told),
            line: AgentLine::default(),
            line_bytes,
            stderr: Capture::new(0, STDERR_BYTES),
            kin: Kin::new(mark.clone()),
        };
        let task = tokio::spawn(async move {
            let ended = attend(started, Bounds { deadline, grace }, stop, &mut lines).await;
            let Lines { told, line, stderr, kin, .. } = lines;
            end_kin(kin, working).await;
            if line.bytes > 0 {
                told.add(AgentProgress::Line(line), 0);
            }
            let ended = match ended {
                Ok(ended) => AgentEnd::new(&ended, Clipped::default(), stderr.finish()),
                Err(e) => {
                    tracing::error!("it is not known how `{}` ended: {e}", program.display());
                    unknown(stderr.finish())
                }
            };
            told.add(AgentProgress::Ended(ended), 0);
        });
        Ok(Agent { pid, told, task, mark: Some(mark) })
    }

    /// Runs a check, or another command that may start others, to its end and theirs. `max_bytes` of it is not used:
    /// of both streams the first and the last part are kept, as of a chat's command.
    ///
    /// # Errors
    /// [`OwnError`]; a check that failed is no error.
    pub async fn run_check(&self, command: OwnCommand, mark: Mark, stop: Arc<dyn Stop>) -> Result<AgentEnd, OwnError> {
        let OwnCommand { program, argv, env, cwd, deadline, .. } = command;
        let working = Working::begin();
        let left = Leftovers { mark: Some(mark.clone()) };
        let started = self.start_marked(&program, argv, env, cwd, &mark, (&*stop, deadline)).await?;
        let mut both = Both {
            stdout: Capture::new(limits::STDOUT_HEAD_BYTES, limits::STDOUT_TAIL_BYTES),
            stderr: Capture::new(limits::STDERR_PART_BYTES, limits::STDERR_PART_BYTES),
            kin: Kin::new(mark.clone()),
        };
        let ended = attend(started, Bounds { deadline, grace: limits::COMMAND_GRACE }, stop, &mut both).await;
        left.ended();
        let Both { stdout, stderr, kin } = both;
        end_kin(kin, working).await;
        let ended = ended.map_err(|e| OwnError::Lost { program, reason: e.to_string() })?;
        Ok(AgentEnd::new(&ended, stdout.finish(), stderr.finish()))
    }

    /// Ends what Runs left running when a daemon with this data directory died. Returns the ids of those Runs.
    pub async fn end_leftovers(
        &self,
        home: String,
        is_active: impl Fn(&str) -> bool + Send + 'static,
    ) -> BTreeSet<String> {
        let ended = tokio::task::spawn_blocking(move || kin::end_leftovers(&home, is_active)).await;
        ended.unwrap_or_default()
    }

    async fn start_marked(
        &self,
        program: &Path,
        argv: Vec<OsString>,
        mut env: Vec<(OsString, OsString)>,
        cwd: PathBuf,
        mark: &Mark,
        (stop, deadline): (&dyn Stop, Duration),
    ) -> Result<Started, OwnError> {
        // What loses its parent becomes a child of the daemon, and so is found and waited for.
        #[cfg(target_os = "linux")]
        nix::sys::prctl::set_child_subreaper(true)
            .map_err(|e| OwnError::NotStarted { program: program.to_owned(), reason: e.to_string() })?;
        env.retain(|(name, _)| name != kin::RUN && name != kin::HOME);
        env.extend(mark.variables());
        Ok(self.fork_own(program, argv, env, cwd, stop, deadline).await?)
    }
}

/// How many Agents and checks are at work, or end what they started. Of the whole process, as its children are.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// One of them.
struct Working;

impl Working {
    fn begin() -> Self {
        AT_WORK.fetch_add(1, Ordering::SeqCst);
        Self
    }

    /// Ends what nobody can be told to have started, when this is the only one.
    fn end_unmarked(&self) {
        if AT_WORK.load(Ordering::SeqCst) == 1 {
            kin::end_unmarked(is_forked);
        }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        AT_WORK.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn end_kin(mut kin: Kin, working: Working) {
    let end = move || {
        kin.end();
        working.end_unmarked();
        bury_orphans();
    };
    if let Err(e) = tokio::task::spawn_blocking(end).await {
        tracing::error!("what an Agent started could not be ended: {e}");
    }
}

fn unknown(stderr: Clipped) -> AgentEnd {
    let (ended_by, stdout) = (EndedBy::Signal, Clipped::default());
    AgentEnd { ended_by, exit_code: None, signal: None, duration: Duration::ZERO, stdout, stderr }
}

/// An Agent at work. Dropped before its end was told, it is killed with all that it started.
#[derive(Debug)]
pub struct Agent {
    pid: Pid,
    told: Arc<Told>,
    task: JoinHandle<()>,
    mark: Option<Mark>,
}

impl Agent {
    /// Returns its process id.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw().cast_unsigned()
    }

    /// Returns the next thing it did. The last one is [`AgentProgress::Ended`]; MUST NOT be called after that.
    pub async fn next(&mut self) -> AgentProgress {
        loop {
            if let Some(progress) = self.told.take() {
                if matches!(progress, AgentProgress::Ended(_)) {
                    self.mark = None;
                }
                return progress;
            }
            self.told.changed.notified().await;
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.task.abort();
        drop(Leftovers { mark: self.mark.take() });
    }
}

/// Ends what is marked when it is dropped, on a thread of its own: whoever drops it may be serving.
struct Leftovers {
    mark: Option<Mark>,
}

impl Leftovers {
    /// It ended as it should; there is nothing left to do here.
    fn ended(mut self) {
        self.mark = None;
    }
}

impl Drop for Leftovers {
    fn drop(&mut self) {
        let Some(mark) = self.mark.take() else { return };
        let working = Working::begin();
        let end = move || {
            Kin::new(mark).end();
            working.end_unmarked();
            bury_orphans();
        };
        if let Err(e) = std::thread::Builder::new().name("owl-leftovers".into()).spawn(end) {
            tracing::error!("what an Agent started could not be ended: {e}");
        }
    }
}

#[derive(Debug, Default)]
struct Told {
    waiting: Mutex<Waiting>,
    changed: Notify,
    room: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Waiting {
    progress: VecDeque<AgentProgress>,
    bytes: usize,
}

impl Told {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<AgentProgress> {
        let mut waiting = self.lock();
        let progress = waiting.progress.pop_front()?;
        if let AgentProgress::Line(line) = &progress {
            waiting.bytes = waiting.bytes.saturating_sub(line.kept.len());
        }
        drop(waiting);
        self.room.notify_one();
        Some(progress)
    }

    fn add(&self, progress: AgentProgress, bytes: usize) {
        let mut waiting = self.lock();
        waiting.bytes += bytes;
        waiting.progress.push_back(progress);
        drop(waiting);
        self.changed.notify_one();
    }
}

/// Cuts standard output into lines.
struct Lines {
    told: Arc<Told>,
    line: AgentLine,
    line_bytes: usize,
    stderr: Capture,
    kin: Kin,
}

impl Sink for Lines {
    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        if stream == Stream::Stderr {
            self.stderr.take(bytes);
            return;
        }
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            let room = self.line_bytes.saturating_sub(self.line.kept.len()).min(text.len());
            self.line.kept.extend_from_slice(text.get(..room).unwrap_or_default());
            self.line.bytes += text.len() as u64;
            if ends {
                let line = mem::take(&mut self.line);
                let bytes = line.kept.len();
                self.told.add(AgentProgress::Line(line), bytes);
            }
        }
    }

    fn full(&self) -> Option<Arc<Notify>> {
        (self.told.lock().bytes >= WAITING_BYTES).then(|| Arc::clone(&self.told.room))
    }

    fn ending(&mut self, pid: Pid) {
        self.kin.look(pid);
    }
}

/// Keeps the ends of both streams.
struct Both {
    stdout: Capture,
    stderr: Capture,
    kin: Kin,
}

impl Sink for Both {
    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        match stream {
            Stream::Stdout => self.stdout.take(bytes),
            Stream::Stderr => self.stderr.take(bytes),
        };
    }

    fn ending(&mut self, pid: Pid) {
        self.kin.look(pid);
    }
}

#[cfg(test)]
mod tests;
