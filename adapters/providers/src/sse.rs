//! Server-sent events with their bounds: sse-stream splits, this file counts and keeps the time (D17). Knows no JSON.

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use sse_stream::SseByteStream;
use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, Sleep, sleep, timeout};

/// The most bytes between two empty lines. sse-stream caps nothing, and a line without an end would fill the memory.
pub(crate) const EVENT_BYTES: usize = 8 * 1024 * 1024;
/// The most bytes of one reply.
pub(crate) const REPLY_BYTES: usize = 64 * 1024 * 1024;

/// How long a body may take from the end sign to its end.
const DRAINED_WITHIN: Duration = Duration::from_secs(2);

/// Why no further event comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReadFault {
    /// The body ended.
    Ended,
    /// The connection broke.
    Broken(String),
    /// Nothing came for this long.
    Stalled(Duration),
    /// The reply was still going on after this long.
    TooLong(Duration),
    /// One event, or all of them, are over their bound.
    TooBig(&'static str),
    /// A line is not UTF-8.
    NotUtf8,
}

impl fmt::Display for ReadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => f.write_str("the stream ended before its end sign"),
            Self::Broken(why) => write!(f, "the stream broke before its end sign: {why}"),
            Self::Stalled(after) => write!(f, "the stream fell silent for {} ms", after.as_millis()),
            Self::TooLong(after) => write!(f, "the reply was not at its end after {} s", after.as_secs()),
            Self::TooBig(what) => f.write_str(what),
            Self::NotUtf8 => f.write_str("the stream is not UTF-8"),
        }
    }
}

impl std::error::Error for ReadFault {}

/// The body of an answer, as it comes.
pub(crate) type Body = Pin<Box<dyn Stream<Item = Result<Bytes, String>> + Send>>;

/// The events of a stream, pulled one by one.
pub(crate) struct Events(SseByteStream<Bounded>);

impl Events {
    /// Reads events from a body whose silences are at most `idle` and that is at its end after `whole`.
    pub(crate) fn new(body: Body, idle: Duration, whole: Duration) -> Self {
        Self(SseByteStream::new(Bounded {
            body,
            idle,
            whole,
            silence: Box::pin(sleep(idle.min(whole))),
            end: Instant::now() + whole,
            in_event: 0,
            in_reply: 0,
            line_is_empty: true,
            after_cr: false,
        }))
    }

    /// Returns the data of the next event that has any; its lines are joined by LF.
    ///
    /// # Errors
    /// [`ReadFault`] says why there is no further one.
    pub(crate) async fn next(&mut self) -> Result<String, ReadFault> {
        loop {
            match self.0.next().await {
                Some(Ok(event)) => match event.data {
                    Some(data) if !data.is_empty() => return Ok(data),
                    // A block of comments or of fields that mean nothing here.
                    Some(_) | None => {}
                },
                Some(Err(sse_stream::Error::Body(fault))) => {
                    return Err(match fault.downcast::<ReadFault>() {
                        Ok(fault) => *fault,
                        Err(other) => ReadFault::Broken(other.to_string()),
                    });
                }
                Some(Err(_)) => return Err(ReadFault::NotUtf8),
                None => return Err(ReadFault::Ended),
            }
        }
    }
}

impl Events {
    /// Reads what is left after the end sign, for a moment: only a body at its end gives its connection back, and the
    /// next request is spared a handshake.
    pub(crate) async fn drain(mut self) {
        let to_the_end = async { while self.next().await.is_ok() {} };
        // A service that keeps its stream open loses the connection, and nothing else.
        timeout(DRAINED_WITHIN, to_the_end).await.unwrap_or_default();
    }
}

/// Counts bytes and keeps the time in front of the splitter.
struct Bounded {
    body: Body,
    idle: Duration,
    whole: Duration,
    silence: Pin<Box<Sleep>>,
    end: Instant,
    in_event: usize,
    in_reply: usize,
    line_is_empty: bool,
    after_cr: bool,
}

impl Bounded {
    /// Counts a chunk; lines end with CR, LF or both, and an empty one ends an event.
    fn admit(&mut self, chunk: &[u8]) -> Result<(), ReadFault> {
        self.in_reply = self.in_reply.saturating_add(chunk.len());
        if self.in_reply > REPLY_BYTES {
            return Err(ReadFault::TooBig("the reply is longer than 64 MiB"));
        }
        for byte in chunk {
            self.in_event += 1;
            match byte {
                b'\n' if self.after_cr => self.after_cr = false,
                b'\n' | b'\r' => {
                    if self.line_is_empty {
                        self.in_event = 0;
                    }
                    self.line_is_empty = true;
                    self.after_cr = *byte == b'\r';
                }
                _ => {
                    self.line_is_empty = false;
                    self.after_cr = false;
                    if self.in_event > EVENT_BYTES {
                        return Err(ReadFault::TooBig("one event of the stream is longer than 8 MiB"));
                    }
                }
            }
        }
        Ok(())
    }
}

impl Stream for Bounded {
    type Item = Result<Bytes, ReadFault>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.body.poll_next_unpin(cx) {
            Poll::Ready(Some(Ok(chunk))) => {
                let now = Instant::now();
                if now >= self.end {
                    return Poll::Ready(Some(Err(ReadFault::TooLong(self.whole))));
                }
                let until = (now + self.idle).min(self.end);
                self.silence.as_mut().reset(until);
                Poll::Ready(Some(self.admit(&chunk).map(|()| chunk)))
            }
            Poll::Ready(Some(Err(why))) => Poll::Ready(Some(Err(ReadFault::Broken(why)))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => match self.silence.as_mut().poll(cx) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(()) if Instant::now() >= self.end => Poll::Ready(Some(Err(ReadFault::TooLong(self.whole)))),
                Poll::Ready(()) => Poll::Ready(Some(Err(ReadFault::Stalled(self.idle)))),
            },
        }
    }
}

#[cfg(test)]
mod tests;
