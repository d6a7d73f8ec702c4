//! A request's body that counts what came. jsonrpsee tells a body that is too long from one that could not be read only
//! where its length was announced; here it is known of one that came in chunks, too (D7).

use http_body::{Body, Frame, SizeHint};
use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

/// How many bytes of a body have come.
#[derive(Clone, Default)]
pub(crate) struct Came(Arc<AtomicUsize>);

impl Came {
    pub(crate) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// A body as it comes, counted.
pub(crate) struct Counted<B> {
    body: B,
    came: Came,
}

impl<B> Counted<B> {
    pub(crate) fn new(body: B, came: Came) -> Self {
        Self { body, came }
    }
}

impl<B: Body + Unpin> Body for Counted<B>
where
    B::Data: AsRef<[u8]>,
{
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let Some(data) = frame.data_ref()
        {
            self.came.0.fetch_add(data.as_ref().len(), Ordering::Relaxed);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
