//! A stream that is not read while as many calls of its connection are under way as may be: what a client sends too
//! much waits in the client, not here (D7).

use futures_util::task::AtomicWaker;
use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::UnixStream,
};

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

/// The connection's stream.
pub(crate) struct Gated {
    stream: UnixStream,
    in_flight: Arc<InFlight>,
}

impl Gated {
    pub(crate) fn new(stream: UnixStream, in_flight: Arc<InFlight>) -> Self {
        Self { stream, in_flight }
    }
}

impl AsyncRead for Gated {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
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
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
