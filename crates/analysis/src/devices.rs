//! How busy each device of a trace is.
//!
//! Busy means that at least one request is in flight. On a device that serves several requests at a time, a share of
//! 100 % is therefore not the limit of what it can do; the mean number in flight stands beside it.

use iosonar_units::Nanos;

use crate::sweep::Event;

/// How busy a device was between the first submission and the last completion of all devices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceBusy {
    /// Its number in the trace.
    pub device: u16,
    /// The share of the time with at least one request in flight, 0 to 1.
    pub busy: f64,
    /// Requests in flight, on average over the time.
    pub in_flight: f64,
}

/// Of a device, so far.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    in_flight: u64,
    since: Nanos,
    busy: Nanos,
    /// The integral of the requests in flight over time, in nanoseconds.
    weighted: f64,
    is_used: bool,
}

impl State {
    fn proceed(&mut self, time: Nanos) {
        if self.in_flight > 0 {
            let passed = time.saturating_sub(self.since);
            self.busy = self.busy.saturating_add(passed);
            self.weighted += self.in_flight as f64 * passed.get() as f64;
        }
        self.since = time;
    }
}

/// Measures it, event by event in the order of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeviceMeter {
    /// By number.
    states: Vec<State>,
    first: Option<Nanos>,
    last: Nanos,
}

impl DeviceMeter {
    pub(crate) fn event(&mut self, event: &Event) {
        let time = event.time();
        let (Event::Begin(flight) | Event::End(flight)) = event;
        let device = usize::from(flight.request.device);
        if self.states.len() <= device {
            self.states.resize(device + 1, State::default());
        }
        let state = &mut self.states[device];
        state.proceed(time);
        state.is_used = true;
        match event {
            Event::Begin(_) => state.in_flight += 1,
            Event::End(_) => state.in_flight -= 1,
        }
        self.first.get_or_insert(time);
        self.last = time;
    }

    pub(crate) fn finish(self) -> Vec<DeviceBusy> {
        let first = self.first.unwrap_or_default();
        let time = self.last.saturating_sub(first).get().max(1) as f64;
        let states = self.states.into_iter().zip(0..=u16::MAX);
        states
            .filter(|(state, _)| state.is_used)
            .map(|(state, device)| DeviceBusy {
                device,
                busy: state.busy.get() as f64 / time,
                in_flight: state.weighted / time,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use iosonar_trace::{Outcome, Record, Request};
    use iosonar_units::Nanos;

    use crate::{ActivityOptions, OutcomeMetrics, OutcomeSummary, Timeline};

    fn measured(requests: &[(u16, u64, u64)]) -> OutcomeSummary {
        let mut metrics = OutcomeMetrics::new(Timeline::adaptive(), ActivityOptions::default());
        for &(device, start_ms, latency_ms) in requests {
            metrics.push(&Record {
                request: Request {
                    device,
                    start: Nanos::from_millis(start_ms),
                    ..Request::default()
                },
                outcome: Outcome::done(Nanos::ZERO, Nanos::from_millis(latency_ms)),
            });
        }
        metrics.finish().unwrap()
    }

    #[test]
    fn overlapping_requests_keep_a_device_busy_once_and_another_not_at_all() {
        let outcome = measured(&[(0, 0, 10), (0, 5, 10), (3, 80, 20)]);
        let of: Vec<_> = outcome.devices.iter().map(|d| d.device).collect();
        assert_eq!(of, [0, 3]);
        let shares: Vec<_> = outcome.devices.iter().map(|d| d.busy).collect();
        assert_eq!(shares, [0.15, 0.2]);
        assert_eq!(outcome.devices[0].in_flight, 0.2);
    }

    #[test]
    fn the_busy_shares_of_windows_are_those_of_the_whole() {
        let outcome = measured(&[(0, 0, 10), (0, 5, 10), (0, 80, 20)]);
        let windows = outcome.timeline.joined(Nanos::from_millis(10));
        let busy: Vec<f64> = windows.points().map(|(_, point)| point.busy).collect();
        assert_eq!(busy[..3], [1.0, 0.5, 0.0]);
        assert_eq!(busy.iter().sum::<f64>() / 10.0, outcome.devices[0].busy);
    }

    #[test]
    fn unfinished_requests_are_those_in_flight_or_held_when_the_last_is_due() {
        // Each takes longer than the time to the next: only the first is complete by then.
        assert_eq!(
            measured(&[(0, 0, 15), (0, 10, 15), (0, 20, 15)]).unfinished,
            2
        );
        assert_eq!(measured(&[(0, 0, 1), (0, 10, 1), (0, 20, 1)]).unfinished, 1);
    }
}
