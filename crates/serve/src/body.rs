//! What an answer holds: a file, or a stream of events.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::state::{State, Version, Viewer};

/// Without news a viewer gets a sign of life this often: so one that has vanished is noticed.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

type Next = Pin<Box<dyn Future<Output = Option<(Bytes, watch::Receiver<Version>)>> + Send>>;

/// What an answer holds.
pub(crate) enum Answer {
    /// All of it.
    Whole(Bytes),
    /// An event for each new version.
    Events { next: Next, _viewer: Viewer },
}

impl Answer {
    /// The events for one more viewer.
    pub(crate) fn events(state: &Arc<State>) -> Self {
        Self::Events {
            next: Box::pin(next(state.versions())),
            _viewer: Viewer::of(state),
        }
    }
}

/// The next event; `None` after the last.
async fn next(mut versions: watch::Receiver<Version>) -> Option<(Bytes, watch::Receiver<Version>)> {
    let text = match timeout(SIGN_OF_LIFE, versions.changed()).await {
        Ok(Ok(())) => {
            let Version { number, is_last } = *versions.borrow_and_update();
            format!("data: {{\"version\":{number},\"last\":{is_last}}}\n\n")
        }
        Ok(Err(_)) => return None,
        Err(_) => ":\n\n".to_owned(),
    };
    Some((text.into(), versions))
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Events { next: event, .. } => {
                let Some((text, versions)) = ready!(event.as_mut().poll(context)) else {
                    return Poll::Ready(None);
                };
                *event = Box::pin(next(versions));
                Poll::Ready(Some(Ok(Frame::data(text))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Events { .. } => SizeHint::default(),
        }
    }
}
