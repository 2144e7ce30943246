//! What is recorded of a run, with or without events.

use iosonar_device::{Device, RequestId, Usage};
use iosonar_units::Nanos;

use super::release::Release;
use super::window::Window;
use super::{Completion, CompletionSink, RunSummary};
use crate::positioning::PositioningCounts;

/// The window, the counts so far, and what waits for the end of its instant on its way to the sink.
pub(super) struct Measurement {
    pub(super) window: Window,
    pub(super) summary: RunSummary,
    pub(super) release: Release,
    /// Whether the sink takes services.
    pub(super) takes_services: bool,
    /// What devices were used for that have failed, by device; empty if none will.
    pub(super) frozen: Vec<Option<Usage>>,
}

impl Measurement {
    pub(super) fn new(window: Window, splits: bool, takes_services: bool) -> Self {
        Self {
            window,
            summary: RunSummary {
                split: splits.then(Box::default),
                ..RunSummary::default()
            },
            release: Release::default(),
            takes_services,
            frozen: Vec::new(),
        }
    }

    /// A request arrives and makes `present` of them; gives its number. Where the measurement begins with it, the
    /// devices have to `begin` theirs, but for those that are frozen.
    #[inline]
    pub(super) fn arrive(
        &mut self,
        present: usize,
        now: Nanos,
        begin: impl FnOnce(&mut [Option<Usage>]),
    ) -> RequestId {
        let number = self.summary.requests;
        if self.window.begins_with(number) {
            self.window.begin(now);
            // Services of the warm-up may have been counted already. What response times are made of is recorded of
            // measured requests only.
            self.summary.positioning = PositioningCounts::default();
            begin(&mut self.frozen);
        }
        self.window.arrive(now);
        self.summary.requests += 1;
        self.summary.most_in_flight = self.summary.most_in_flight.max(present);
        RequestId(number)
    }

    #[inline]
    pub(super) fn complete<S: CompletionSink>(
        &mut self,
        completion: Completion,
        now: Nanos,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        self.window.complete(&completion, now);
        self.release.push(completion, now, sink)
    }

    /// Ends the window, unless it is over.
    pub(super) fn end<'a, D: Device + 'a>(
        &mut self,
        devices: impl IntoIterator<Item = &'a mut D>,
        now: Nanos,
    ) {
        if self.window.is_over() {
            return;
        }
        self.window.end(now);
        for (number, device) in devices.into_iter().enumerate() {
            let usage = self.frozen.get(number).copied().flatten();
            let usage = usage.unwrap_or_else(|| {
                device.end_measurement(now);
                device.usage()
            });
            self.summary.usage.push(usage);
        }
    }

    /// A device fails: what it was used for ends here.
    pub(super) fn freeze(&mut self, number: usize, device: &mut impl Device, now: Nanos) {
        if !self.window.is_over() {
            device.end_measurement(now);
            let usage = if self.window.is_open() {
                device.usage()
            } else {
                Usage::default()
            };
            self.frozen[number] = Some(usage);
        }
    }

    /// All requests have arrived, after more than the first ones of a closed loop (`lasted`).
    pub(super) fn end_of_load<'a, D: Device + 'a>(
        &mut self,
        devices: impl IntoIterator<Item = &'a mut D>,
        lasted: bool,
        now: Nanos,
    ) {
        if self.window.end_of_load(lasted, now) {
            self.end(devices, now);
        }
    }

    /// The summary of the run; `events` is how many there were.
    pub(super) fn finish(self, events: u64) -> RunSummary {
        let summary = RunSummary {
            window: self.window.counted(),
            events,
            ..self.summary
        };
        if summary.unserved == 0 {
            summary.assert_conservation();
        }
        summary
    }
}
