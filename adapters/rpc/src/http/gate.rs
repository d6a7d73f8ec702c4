//! A stream that is not read while as many calls of its connection are under way as may be: what a client sends too
//! much waits in the client, not here. A client that leaves has done so only when what it sent last has begun, and at
//! once when everything was answered. The stream is cut when the server's time is over, and it is closed so that a peer which still writes can read what it was told
//! (D7).

use futures_util::task::AtomicWaker;
use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::UnixStream,
    time::{Instant, Sleep, sleep, sleep_until},
};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// What of one connection is under way.
pub(crate) struct InFlight {
    calls: AtomicUsize,
    most: usize,
    reader: AtomicWaker,
    /// Something came, or was begun, and the answer to it is not written.
    owing: AtomicBool,
    /// The answer to the last request is there, and not yet written.
    answered: AtomicBool,
}

/// One call under way.
pub(crate) struct Call(Arc<InFlight>);

impl InFlight {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            calls: AtomicUsize::new(0),
            most,
            reader: AtomicWaker::new(),
            owing: AtomicBool::new(false),
            answered: AtomicBool::new(false),
        }
    }

    pub(crate) fn begin(self: &Arc<Self>) -> Call {
        self.calls.fetch_add(1, Ordering::AcqRel);
        Call(self.clone())
    }

    /// Notes that a request begins. It may have come together with the one before, and is in nobody's bytes any more.
    pub(crate) fn asked(&self) {
        self.answered.store(false, Ordering::Release);
        self.owing.store(true, Ordering::Release);
    }

    /// Notes that the answer to a request is there.
    pub(crate) fn answered(&self) {
        self.answered.store(true, Ordering::Release);
    }

    /// Notes that everything that is there was written; says whether nothing is owed any more since then.
    fn wrote(&self) -> bool {
        let settles = self.answered.swap(false, Ordering::AcqRel);
        if settles {
            self.owing.store(false, Ordering::Release);
        }
        settles
    }

    fn is_full(&self) -> bool {
        self.calls.load(Ordering::Acquire) >= self.most
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::AcqRel);
        self.0.reader.wake();
    }
}

/// How long a peer that was answered may go on writing before it is cut.
const LINGERS: Duration = Duration::from_secs(1);

/// How long after its last bytes a client that leaves is taken to be there, while it is owed an answer. Hyper and jsonrpsee drop a call whose client
/// is gone before they first look at it, and an answer that was sent has to take effect.
const LEAVES_AFTER: Duration = Duration::from_secs(2);

/// The connection's stream.
pub(crate) struct Gated {
    stream: UnixStream,
    in_flight: Arc<InFlight>,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    lingering: Option<Pin<Box<Sleep>>>,
    /// When the client's last bytes came.
    last_bytes: Instant,
    /// Until when the end of what the client says is kept back.
    leaving: Option<Pin<Box<Sleep>>>,
}

impl Gated {
    pub(crate) fn new(stream: UnixStream, in_flight: Arc<InFlight>, cut: CancellationToken) -> Self {
        let cut = Box::pin(cut.cancelled_owned());
        Self { stream, in_flight, cut, lingering: None, last_bytes: Instant::now(), leaving: None }
    }

    /// Waits until a client that has left may be seen to be gone.
    fn poll_left(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.in_flight.owing.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        let until = self.last_bytes + LEAVES_AFTER;
        self.leaving.get_or_insert_with(|| Box::pin(sleep_until(until))).as_mut().poll(cx)
    }

    /// Takes what is written to a client that has only just left for written: nobody reads it either way.
    fn written(&self, wrote: Poll<io::Result<usize>>, length: usize) -> Poll<io::Result<usize>> {
        match wrote {
            Poll::Ready(Err(_)) if self.last_bytes.elapsed() < LEAVES_AFTER => Poll::Ready(Ok(length)),
            other => other,
        }
    }

    fn poll_cut(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        match self.cut.as_mut().poll(cx) {
            Poll::Ready(()) => Err(io::ErrorKind::ConnectionAborted.into()),
            Poll::Pending => Ok(()),
        }
    }
}

impl AsyncRead for Gated {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.poll_cut(cx)?;
        if self.in_flight.is_full() {
            self.in_flight.reader.register(cx.waker());
            // Looked at once more: a call may have ended before the waker was known.
            if self.in_flight.is_full() {
                return Poll::Pending;
            }
        }
        let before = into.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(cx, into));
        if into.filled().len() > before {
            self.last_bytes = Instant::now();
            self.in_flight.owing.store(true, Ordering::Release);
        } else {
            ready!(self.poll_left(cx));
        }
        Poll::Ready(read)
    }
}

impl AsyncWrite for Gated {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_cut(cx)?;
        let wrote = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(wrote, bytes.len())
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        if self.in_flight.wrote() && self.leaving.is_some() {
            // It left before it was answered, and is waited for no longer.
            cx.waker().wake_by_ref();
        }
        Poll::Ready(Ok(()))
    }

    /// Closing while something of the peer's is unread would turn what it was told into a broken pipe at its end.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_cut(cx)?;
        ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        let mut until = self.lingering.take().unwrap_or_else(|| Box::pin(sleep(LINGERS)));
        let mut unread = [0; 4096];
        let over = loop {
            if until.as_mut().poll(cx).is_ready() {
                break true;
            }
            let mut unread = ReadBuf::new(&mut unread);
            match Pin::new(&mut self.stream).poll_read(cx, &mut unread) {
                Poll::Ready(Ok(())) if !unread.filled().is_empty() => {}
                Poll::Ready(_) => break true,
                Poll::Pending => break false,
            }
        };
        self.lingering = Some(until);
        if over { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_cut(cx)?;
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.written(wrote, parts.iter().map(|part| part.len()).sum())
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests;
