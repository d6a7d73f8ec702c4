//! The line dialect: one task per connection reads, answers and writes. Answers that need no waiting are written
//! straight into the connection's one buffer, which goes out in one write when no whole line is left to read (D7).

mod batch;
mod message;
mod outlet;
mod reader;
mod subscriptions;

pub(crate) use message::is_readable;
pub(crate) use outlet::LineOutlet;
pub(crate) use subscriptions::{ID_LENGTH, subscription_of};

use crate::{
    caller::{Caller, Phase},
    error::RpcError,
    table::{Answering, Handler, Stands, Table},
};
use futures_util::FutureExt;
use jsonrpsee::types::{ErrorCode, Id, Request, error::reject_too_big_request};
use message::Message;
use outlet::{CHUNKS, Outgoing, Progress, Way};
use reader::{Line, LineReader};
use std::{sync::Arc, time::Duration};
use subscriptions::Subscriptions;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::{MissedTickBehavior, interval},
};
use tokio_util::sync::{CancellationToken, DropGuard};

/// While this much waits to be written, nothing more is read or taken.
const FULL: usize = 256 * 1024;
/// Answers to lines that came together go out together, up to this size.
const TOGETHER: usize = 64 * 1024;
/// How often a peer that closed its side of writing is looked at, to see whether it is gone.
const LOOKED_AT: Duration = Duration::from_millis(250);

/// Serves one connection until its peer is gone or the server closes.
pub(crate) async fn serve(mut stream: UnixStream, caller: Arc<Caller>, table: Arc<Table>) {
    let limits = caller.server.limits.clone();
    let (queue, mut inbox) = mpsc::channel(limits.queue_messages_per_connection);
    let progress = Arc::new(Progress::new());
    let way = Way { queue, chunks: Arc::new(Semaphore::new(CHUNKS)), progress: progress.clone() };
    let gone = CancellationToken::new();
    let mut connection = Connection {
        subscriptions: Subscriptions::new(limits.subscriptions_per_connection, way.clone(), gone.clone()),
        calls: Arc::new(Semaphore::new(limits.calls_in_flight_per_connection)),
        most_calls: limits.calls_in_flight_per_connection,
        way,
        out: Vec::new(),
        written: 0,
        caller,
        table,
        _gone: gone.drop_guard(),
    };
    let server = connection.caller.server.clone();
    let mut lines = LineReader::new(limits.request_bytes);
    let mut read_all = false;
    let mut look = interval(LOOKED_AT);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut read, mut write) = stream.split();
    let closes = server.reached(Phase::Closing);
    tokio::pin!(closes);
    loop {
        connection.answer_lines(&mut lines, read_all);
        while connection.waiting() < FULL
            && let Ok(outgoing) = inbox.try_recv()
        {
            connection.take(outgoing);
        }
        let closing = server.phase() == Phase::Closing;
        if (read_all || closing) && connection.is_idle() {
            break;
        }
        let room = connection.waiting() < FULL;
        let may_read = !read_all && room && connection.calls.available_permits() > 0;
        // Not biased: a peer that takes events as fast as they come is read all the same.
        tokio::select! {
            wrote = write.write(connection.unwritten()), if connection.waiting() > 0 => match wrote {
                Ok(bytes) if bytes > 0 => {
                    connection.wrote(bytes);
                    progress.made();
                }
                _ => break,
            },
            came = read.read_buf(lines.space()), if may_read => match came {
                Ok(bytes) => read_all = bytes == 0,
                Err(_) => break,
            },
            Some(outgoing) = inbox.recv(), if room => connection.take(outgoing),
            () = &mut closes, if !closing => {}
            _ = look.tick(), if read_all => {
                if is_gone(read.as_ref()) {
                    break;
                }
            }
        }
    }
}

/// Says whether a peer that closed its side of writing has closed the other one too.
fn is_gone(stream: &UnixStream) -> bool {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd;
    let mut polled = [PollFd::new(stream.as_fd(), PollFlags::empty())];
    let ended = PollFlags::POLLHUP | PollFlags::POLLERR;
    match poll(&mut polled, PollTimeout::ZERO) {
        Ok(_) => polled.iter().any(|polled| polled.revents().is_some_and(|found| found.intersects(ended))),
        Err(_) => false,
    }
}

struct Connection {
    caller: Arc<Caller>,
    table: Arc<Table>,
    subscriptions: Subscriptions,
    calls: Arc<Semaphore>,
    most_calls: usize,
    way: Way,
    /// What is to be written; `written` bytes of it have been.
    out: Vec<u8>,
    written: usize,
    /// Ends whatever still works for this connection when it ends.
    _gone: DropGuard,
}

impl Connection {
    fn waiting(&self) -> usize {
        self.out.len() - self.written
    }

    fn unwritten(&self) -> &[u8] {
        self.out.get(self.written..).unwrap_or_default()
    }

    fn wrote(&mut self, bytes: usize) {
        self.written += bytes;
        if self.written == self.out.len() {
            self.out.clear();
            self.written = 0;
            if self.out.capacity() > TOGETHER {
                self.out = Vec::new();
            }
        } else if self.written > FULL {
            self.out.drain(..self.written);
            self.written = 0;
        }
    }

    /// Says whether nothing is left to answer, to tell or to write.
    fn is_idle(&self) -> bool {
        self.waiting() == 0 && self.calls.available_permits() == self.most_calls && self.subscriptions.is_empty()
    }

    fn take(&mut self, outgoing: Outgoing) {
        let Outgoing { bytes, subscription, place } = outgoing;
        if !subscription.is_some_and(|ended| ended.is_cancelled()) {
            self.out.extend_from_slice(&bytes);
        }
        drop(place);
    }

    fn answer_lines(&mut self, lines: &mut LineReader, read_all: bool) {
        while self.waiting() < TOGETHER {
            let Ok(place) = self.calls.clone().try_acquire_owned() else {
                return;
            };
            let line = match lines.next() {
                Some(line) => line,
                None if read_all => match lines.rest() {
                    Some(line) => line,
                    None => return,
                },
                None => return,
            };
            match line {
                Line::TooLong => {
                    let limit = u32::try_from(self.caller.server.limits.request_bytes).unwrap_or(u32::MAX);
                    self.refuse(&Id::Null, &RpcError::from(reject_too_big_request(limit)));
                }
                Line::Whole(line) => match std::str::from_utf8(line) {
                    Ok(text) => self.message(text.trim_ascii(), place),
                    Err(_) => self.refuse(&Id::Null, &RpcError::protocol(ErrorCode::ParseError)),
                },
            }
        }
    }

    fn message(&mut self, text: &str, place: OwnedSemaphorePermit) {
        match text.as_bytes().first() {
            None => {}
            Some(b'[') => {
                let (table, caller) = (self.table.clone(), self.caller.clone());
                let batch = batch::answer(table, caller, self.subscriptions.ended_by_name(), text.to_owned());
                self.later(batch.boxed(), place);
            }
            Some(_) => match message::read(text) {
                Message::Call(request) => self.call(&request, place),
                Message::Notification => {}
                Message::Refused(id, code) => self.refuse(&id, &RpcError::protocol(code)),
            },
        }
    }

    fn call(&mut self, request: &Request<'_>, place: OwnedSemaphorePermit) {
        let told = Told::begin(&self.caller, request);
        let params = request.params.as_deref().map(serde_json::value::RawValue::get);
        let limit = self.caller.server.limits.response_bytes;
        let table = self.table.clone();
        match table.route(&self.caller, &request.method, Stands::Alone) {
            Err(error) => {
                told.end(Err(error.code));
                self.refuse(&request.id, &error);
            }
            Ok(Handler::AtOnce(handler)) => {
                let outcome =
                    message::answer(&mut self.out, &request.id, limit, |out| handler(&self.caller, params, out));
                self.out.push(b'\n');
                told.end(outcome);
            }
            Ok(Handler::Unsubscribe) => {
                let ended = self.subscriptions.end(&request.method, params);
                let outcome = message::answer(&mut self.out, &request.id, limit, |out| {
                    out.extend_from_slice(if ended? { b"true" } else { b"false" });
                    Ok(())
                });
                self.out.push(b'\n');
                told.end(outcome);
            }
            Ok(Handler::Later(handler)) => match handler(&self.caller, params) {
                Ok(answering) => {
                    self.later(whole(answering, request.id.clone().into_owned(), limit, told).boxed(), place);
                }
                Err(error) => {
                    told.end(Err(error.code));
                    self.refuse(&request.id, &error);
                }
            },
            Ok(Handler::Subscribe(subscription)) => {
                let opening = (subscription.open)(&self.caller, params);
                let begun = opening.and_then(|opening| {
                    self.subscriptions.begin(
                        subscription,
                        opening,
                        request.id.clone().into_owned(),
                        &self.caller,
                        place,
                    )
                });
                told.end(begun.as_ref().map(|_| ()).map_err(|error| error.code));
                if let Err(error) = begun {
                    self.refuse(&request.id, &error);
                }
            }
        }
    }

    /// Waits for an answer without holding up the lines behind it. Most are ready when asked once.
    fn later(&mut self, mut answering: futures_util::future::BoxFuture<'static, Vec<u8>>, place: OwnedSemaphorePermit) {
        if let Some(bytes) = answering.as_mut().now_or_never() {
            self.out.extend_from_slice(&bytes);
            return;
        }
        let queue = self.way.queue.clone();
        let gone = self.subscriptions.gone();
        tokio::spawn(async move {
            let bytes = tokio::select! {
                bytes = answering => bytes,
                () = gone.cancelled() => return,
            };
            // A peer that left in between does not miss its answer.
            let _unread = queue.send(Outgoing { bytes, subscription: None, place }).await;
        });
    }

    fn refuse(&mut self, id: &Id<'_>, error: &RpcError) {
        message::refuse(&mut self.out, id, error);
        self.out.push(b'\n');
    }
}

/// Makes the whole line of an answer.
async fn whole(answering: Answering, id: Id<'static>, limit: usize, told: Told) -> Vec<u8> {
    let result = answering.await;
    let mut line = Vec::new();
    let outcome = message::answer(&mut line, &id, limit, |out| {
        out.extend_from_slice(&result?);
        Ok(())
    });
    line.push(b'\n');
    told.end(outcome);
    line
}

/// Tells the log of one call: who, which method, how long and what came of it. Never what it said: there may be a key
/// in it.
pub(crate) struct Told(Option<(u32, String, std::time::Instant)>);

impl Told {
    pub(crate) fn begin(caller: &Caller, request: &Request<'_>) -> Self {
        let wanted = tracing::enabled!(tracing::Level::DEBUG);
        Self(wanted.then(|| (caller.id, request.method.to_string(), std::time::Instant::now())))
    }

    pub(crate) fn end(self, outcome: Result<(), i32>) {
        if let Some((connection, method, since)) = self.0 {
            let error = outcome.err();
            tracing::debug!(connection, method, took = ?since.elapsed(), error, "a call was answered");
        }
    }
}
