//! Events as a recorder takes them from the kernel, while they happen.

use super::event::{Action, Event, Events, errno_of, op_of_event};
use super::pairing::Paired;
use crate::{Metadata, ReadOptions, StartEvent, TraceError, TraceReader};

/// What happened to a request in the block layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveAction {
    /// A bio was queued (`block_bio_queue`).
    Queue,
    /// A request was handed to the driver (`block_rq_issue`).
    Issue,
    /// The driver gave it back (`block_rq_requeue`).
    Requeue,
    /// It, or a part of it, is complete (`block_rq_complete`, `block_bio_complete`).
    Complete,
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveEvent {
    /// When, in nanoseconds of the recorder's clock.
    pub time: u64,
    /// What happened.
    pub action: LiveAction,
    /// Major and minor number of the device.
    pub device: (u32, u32),
    /// The first sector.
    pub sector: u64,
    /// How many.
    pub sectors: u32,
    /// The kernel's letters for the operation and its flags (`rwbs`), filled up with zeros.
    pub letters: [u8; 10],
    /// The error of a completion, as the kernel gives it.
    pub error: i64,
}

impl LiveEvent {
    /// The same as others see it; `None` of a command without data.
    pub(super) fn event(&self, place: u64) -> Option<Event> {
        let letters = self.letters.split(|&b| b == 0).next().unwrap_or_default();
        let (op, flags) = op_of_event(letters, self.sectors)?;
        Some(Event {
            time: self.time,
            action: match self.action {
                LiveAction::Queue => Action::Queue,
                LiveAction::Issue => Action::Issue,
                LiveAction::Requeue => Action::Requeue,
                LiveAction::Complete => Action::Complete,
            },
            device: self.device,
            sector: self.sector,
            sectors: self.sectors,
            op,
            flags,
            errno: errno_of(self.error),
            place,
        })
    }
}

/// A source of events, in the order of their times.
pub trait LiveEvents: Send {
    /// The next event, waited for; `None` at the end.
    fn next(&mut self) -> Option<LiveEvent>;

    /// Whether the next event has not come yet.
    fn would_wait(&self) -> bool;
}

struct Live<I, B> {
    events: I,
    begins: B,
    seen: u64,
    metadata: Metadata,
    clock: (u64, u64),
}

impl<I, B> Events for Live<I, B>
where
    I: LiveEvents,
    B: Fn((u32, u32)) -> LiveBegin + Send,
{
    fn begins(&self, device: (u32, u32)) -> Option<Action> {
        Some(match (self.begins)(device) {
            LiveBegin::Queue => Action::Queue,
            LiveBegin::Issue => Action::Issue,
        })
    }

    fn would_wait(&self) -> bool {
        self.events.would_wait()
    }

    fn next_event(&mut self) -> Result<Option<Event>, TraceError> {
        while let Some(live) = self.events.next() {
            self.seen += 1;
            if let Some(event) = live.event(self.seen) {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    fn metadata(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    fn wall_clock(&self) -> Option<(u64, u64)> {
        Some(self.clock)
    }
}

/// What begins a request of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveBegin {
    /// The queueing of a bio, where the driver accepts bios.
    Queue,
    /// The issue of a request, where the driver takes requests.
    Issue,
}

/// Requests out of events that come in the order of their times. `begins` says what begins the requests of a device,
/// by its major and minor number. `clock` is a time of the events' clock, and the nanoseconds since 1970 at that
/// moment.
pub fn live_reader(
    events: impl LiveEvents + 'static,
    begins: impl Fn((u32, u32)) -> LiveBegin + Send + 'static,
    clock: (u64, u64),
) -> Box<dyn TraceReader> {
    let options = ReadOptions {
        start_event: StartEvent::Issue,
        ..ReadOptions::default()
    };
    let mut metadata = Metadata::default();
    metadata.about.insert(
        "start event".to_owned(),
        "issue (D), or queue (Q) for bio-based drivers".to_owned(),
    );
    let live = Live {
        events,
        begins,
        seen: 0,
        metadata,
        clock,
    };
    Box::new(Paired::without_look_ahead(live, &options))
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use iosonar_units::Nanos;

    use super::*;
    use crate::{Batch, Op};

    struct Given(VecDeque<LiveEvent>);

    impl LiveEvents for Given {
        fn next(&mut self) -> Option<LiveEvent> {
            self.0.pop_front()
        }

        fn would_wait(&self) -> bool {
            self.0.is_empty()
        }
    }

    fn event(time: u64, action: LiveAction, device: (u32, u32), letters: &[u8]) -> LiveEvent {
        let mut padded = [0; 10];
        padded[..letters.len()].copy_from_slice(letters);
        LiveEvent {
            time,
            action,
            device,
            sector: 80,
            sectors: 8,
            letters: padded,
            error: 0,
        }
    }

    fn live(events: &[LiveEvent]) -> Live<Given, impl Fn((u32, u32)) -> LiveBegin + Send + use<>> {
        Live {
            events: Given(events.iter().copied().collect()),
            begins: |device| match device {
                (8, _) => LiveBegin::Issue,
                _ => LiveBegin::Queue,
            },
            seen: 0,
            metadata: Metadata::default(),
            clock: (100, 5_000),
        }
    }

    #[test]
    fn events_have_the_number_at_which_they_came() {
        let read = event(1, LiveAction::Issue, (8, 0), b"R");
        // A command without data is no event.
        let other = LiveEvent {
            sectors: 0,
            ..event(2, LiveAction::Issue, (8, 0), b"N")
        };
        let mut live = live(&[read, other, other, read]);
        assert!(!live.would_wait());
        let places: Vec<u64> = std::iter::from_fn(|| live.next_event().unwrap())
            .map(|event| event.place)
            .collect();
        assert_eq!(places, [1, 4]);
        assert!(live.would_wait());
        assert_eq!(live.begins((8, 16)), Some(Action::Issue));
        assert_eq!(live.begins((253, 0)), Some(Action::Queue));
        assert_eq!(live.wall_clock(), Some((100, 5_000)));
    }

    #[test]
    fn live_events_become_requests() {
        use LiveAction::{Complete, Issue, Queue};
        let (disk, mapped) = ((8, 0), (253, 0));
        let events = [
            event(200, Queue, disk, b"R"),
            event(210, Issue, disk, b"R"),
            event(220, Queue, mapped, b"WS"),
            event(250, Complete, disk, b"R"),
            event(270, Complete, mapped, b"WS"),
        ];
        let begins = |device| match device {
            (8, _) => LiveBegin::Issue,
            _ => LiveBegin::Queue,
        };
        let given = Given(events.into_iter().collect());
        let mut reader = live_reader(given, begins, (100, 5_000));
        let (mut batch, mut requests) = (Batch::default(), Vec::new());
        while reader.next_batch(&mut batch).unwrap() > 0 {
            requests.extend(batch.records().map(|record| {
                let request = record.request;
                (request.start.get(), request.op, record.outcome.latency)
            }));
        }
        let took = |ns| Some(Nanos::new(ns));
        // Time zero is that of the first event.
        assert_eq!(
            requests,
            [(10, Op::Read, took(40)), (20, Op::Write, took(50))]
        );
        let metadata = reader.metadata();
        assert_eq!(metadata.devices, ["8,0", "253,0"]);
        assert!(metadata.about.contains_key("start event"));
        // 200 of the clock was 100 ns behind the moment that is known.
        assert_eq!(metadata.origin_ns, Some(5_100));
    }
}
