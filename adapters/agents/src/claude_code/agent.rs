//! One Claude Code at work: its lines become events, and it is ended when it says nothing for too long (D22).

use super::stream::Stream;
use async_trait::async_trait;
use owl_domain::{
    job::Exit,
    limits,
    ports::{AgentAtWork, AgentEvent, AgentExit, AgentExitWhy, EndedBy, Stop},
    provider::Redaction,
    text::cut_bytes,
};
use owl_process::{Agent, AgentEnd, AgentLine, AgentProgress};
use std::{borrow::Cow, collections::VecDeque, sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

/// The stop that a process is given: the caller's, or its own.
pub(super) struct Either {
    outer: Arc<dyn Stop>,
    own: watch::Sender<bool>,
}

impl Either {
    pub(super) fn new(outer: Arc<dyn Stop>) -> Arc<Self> {
        Arc::new(Self { outer, own: watch::Sender::new(false) })
    }

    fn fire(&self) {
        self.own.send_replace(true);
    }
}

#[async_trait]
impl Stop for Either {
    fn is_stopped(&self) -> bool {
        *self.own.borrow() || self.outer.is_stopped()
    }

    async fn stopped(&self) {
        let mut own = self.own.subscribe();
        tokio::select! {
            () = self.outer.stopped() => {}
            // The sender is this very one, so it is never gone.
            _ = own.wait_for(|fired| *fired) => {}
        }
    }
}

/// When an Agent is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// How long it may be at work.
    pub timeout: Duration,
    /// How long it may print nothing.
    pub silence: Duration,
}

/// What an Agent has in its environment, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) set: Vec<String>,
    pub(super) removed: Vec<String>,
}

/// Claude Code at work.
pub(super) struct ClaudeCodeAtWork {
    agent: Agent,
    stream: Stream,
    stop: Arc<Either>,
    bounds: Bounds,
    names: Names,
    redaction: Redaction,
    heard: Instant,
    silent: bool,
    overlong: Option<u64>,
    waiting: VecDeque<AgentEvent>,
}

impl ClaudeCodeAtWork {
    pub(super) fn new(
        agent: Agent,
        stream: Stream,
        stop: Arc<Either>,
        bounds: Bounds,
        names: Names,
        redaction: Redaction,
    ) -> Self {
        let (heard, waiting) = (Instant::now(), VecDeque::new());
        Self { agent, stream, stop, bounds, names, redaction, heard, silent: false, overlong: None, waiting }
    }

    fn take(&mut self, line: &AgentLine) {
        let whole = u64::try_from(line.kept.len()).is_ok_and(|kept| kept == line.bytes);
        let text = String::from_utf8_lossy(&line.kept);
        // Before it is logged or read: what a line means is made of the same bytes.
        let text = if whole { self.redaction.text(&text) } else { self.redaction.cut_text(&text) };
        let logged = String::from(cut_bytes(&text, limits::LOG_LINE_BYTES));
        self.waiting.push_back(AgentEvent::Line { text: logged, bytes: line.bytes });
        if whole {
            let read = match &text {
                Cow::Borrowed(_) => self.stream.read(&line.kept),
                Cow::Owned(redacted) => self.stream.read(redacted.as_bytes()),
            };
            self.waiting.extend(read);
        } else {
            self.overlong = self.overlong.max(Some(line.bytes));
        }
    }

    fn ended(&self, end: AgentEnd) -> AgentExit {
        let why = match end.ended_by {
            EndedBy::Exit | EndedBy::Signal => AgentExitWhy::Itself,
            EndedBy::Timeout => AgentExitWhy::Timeout(self.bounds.timeout),
            EndedBy::Stopped if self.silent => AgentExitWhy::Silence(self.bounds.silence),
            EndedBy::Stopped => AgentExitWhy::Stopped,
        };
        let exit = match end.exit_code {
            Some(code) => Exit::Code(code),
            None => Exit::Signal(end.signal.unwrap_or_else(|| "a signal".into())),
        };
        let stderr = self.redaction.clipped(end.stderr);
        let stderr = if stderr.tail.is_empty() { stderr.head } else { stderr.tail };
        AgentExit { why, exit, stderr_tail: stderr, overlong_line: self.overlong }
    }
}

#[async_trait]
impl AgentAtWork for ClaudeCodeAtWork {
    fn environment(&self) -> (Vec<String>, Vec<String>) {
        (self.names.set.clone(), self.names.removed.clone())
    }

    async fn next(&mut self) -> AgentEvent {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return event;
            }
            tokio::select! {
                progress = self.agent.next() => match progress {
                    AgentProgress::Line(line) => {
                        self.heard = Instant::now();
                        self.take(&line);
                    }
                    AgentProgress::Ended(end) => {
                        let exit = self.ended(end);
                        self.waiting.push_back(AgentEvent::Ended(exit));
                    }
                },
                () = sleep_until(self.heard + self.bounds.silence), if !self.silent && !self.stop.is_stopped() => {
                    self.silent = true;
                    self.stop.fire();
                }
            }
        }
    }

    fn end(&mut self) {
        self.stop.fire();
    }
}
