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

/// An event, and what the next is made from unless it is the last.
type Event = (Bytes, Option<watch::Receiver<Version>>);
type Next = Pin<Box<dyn Future<Output = Option<Event>> + Send>>;

/// What an answer holds.
pub(crate) enum Answer {
    /// All of it.
    Whole(Bytes),
    /// An event for each new version.
    Events { next: Option<Next>, viewer: Viewer },
}

impl Answer {
    /// The events for one more viewer.
    pub(crate) fn events(state: &Arc<State>) -> Self {
        Self::Events {
            next: Some(Box::pin(next(state.versions()))),
            viewer: Viewer::of(state),
        }
    }
}

/// The next event; `None` once there is no publisher.
async fn next(mut versions: watch::Receiver<Version>) -> Option<Event> {
    let event = match timeout(SIGN_OF_LIFE, versions.changed()).await {
        Ok(Ok(())) => {
            let Version { number, is_last } = *versions.borrow_and_update();
            let text = format!("data: {{\"version\":{number},\"last\":{is_last}}}\n\n");
            (text.into(), (!is_last).then_some(versions))
        }
        Ok(Err(_)) => return None,
        Err(_) => (Bytes::from_static(b":\n\n"), Some(versions)),
    };
    Some(event)
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
            Self::Events {
                next: event,
                viewer,
            } => {
                let Some(future) = event else {
                    return Poll::Ready(None);
                };
                let Some((text, versions)) = ready!(future.as_mut().poll(context)) else {
                    return Poll::Ready(None);
                };
                if versions.is_none() {
                    viewer.has_learnt();
                }
                *event = versions.map(|versions| Box::pin(next(versions)) as Next);
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
