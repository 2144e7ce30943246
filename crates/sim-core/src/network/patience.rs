//! The patience of jobs that wait at a station.

use iosonar_units::Nanos;

use super::context::{Context, Event};
use crate::{EventId, EventPriority, Law, Stream};

/// What is known of the patience of waiting jobs.
#[derive(Clone)]
pub(super) struct Patience {
    pub(super) law: Law,
    pub(super) stream: Stream,
    /// The node of the events that end it.
    pub(super) node: u32,
    /// These events, by job.
    pub(super) ends: Vec<Option<EventId>>,
}

impl Patience {
    #[cold]
    pub(super) fn begin<P>(&mut self, job: u32, now: Nanos, context: &mut Context<P>) {
        let end = now.saturating_add(self.law.draw(&mut self.stream));
        let event = Event::end(self.node, job);
        let id =
            context
                .agenda
                .calendar()
                .schedule_cancellable(end, EventPriority::default(), event);
        let job = job as usize;
        if self.ends.len() <= job {
            self.ends.resize(job + 1, None);
        }
        self.ends[job] = Some(id);
    }

    /// The job waits no longer. Gives back the event to cancel.
    pub(super) fn end(&mut self, job: u32) -> Option<EventId> {
        self.ends.get_mut(job as usize)?.take()
    }
}
