//! A stream that is not read while as many calls of its connection are under way as may be: what a client sends too
//! much waits in the client, not here. It is cut when the server's time is over, and it is closed so that a peer which
//! still writes can read what it was told (D7).

use futures_util::task::AtomicWaker;
use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::UnixStream,
    time::{Sleep, sleep},
};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// How many calls of one connection are under way.
pub(crate) struct InFlight {
    calls: AtomicUsize,
    most: usize,
    reader: AtomicWaker,
}

/// One call under way.
pub(crate) struct Call(Arc<InFlight>);

impl InFlight {
    pub(crate) fn new(most: usize) -> Self {
        Self { calls: AtomicUsize::new(0), most, reader: AtomicWaker::new() }
    }

    pub(crate) fn begin(self: &Arc<Self>) -> Call {
        self.calls.fetch_add(1, Ordering::AcqRel);
        Call(self.clone())
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

/// The connection's stream.
pub(crate) struct Gated {
    stream: UnixStream,
    in_flight: Arc<InFlight>,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    lingering: Option<Pin<Box<Sleep>>>,
}

impl Gated {
    pub(crate) fn new(stream: UnixStream, in_flight: Arc<InFlight>, cut: CancellationToken) -> Self {
        Self { stream, in_flight, cut: Box::pin(cut.cancelled_owned()), lingering: None }
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
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for Gated {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_cut(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
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
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
