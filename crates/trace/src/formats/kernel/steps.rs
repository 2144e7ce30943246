//! Requests as they begin and end, each step at its moment.
//!
//! A trace has requests in the order in which they began, so a request that takes long holds up those behind it. Who
//! watches a device wants each completion when it happens, and the requests in flight above all when one of them hangs.
//! Memory is bounded by the number in flight, not by what passed since the oldest of them began.

use iosonar_units::Nanos;

use super::event::{Action, Event};
use super::live::{LiveBegin, LiveEvent};
use super::pending::{Completed, Pending};
use crate::{Op, Record, Request};

/// What happened to a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LiveStep {
    /// It began.
    Begun(Request),
    /// It is complete, with its latency.
    Completed(Record),
    /// The driver gave it back: it will begin again.
    Withdrawn(Request),
    /// It may be complete: events were lost, or there are too many in flight.
    GivenUp(Request),
    /// Something was completed that was not seen to begin.
    Unmatched,
}

/// Requests in flight, made of events that come in the order of their times.
pub struct LiveRequests {
    pending: Pending,
    /// The time that counts as zero, on the events' clock.
    zero: u64,
    most: usize,
    in_flight: usize,
    seen: u64,
}

/// No more requests than this are in flight: the oldest of more have lost their completions.
const MOST: usize = 1 << 18;
/// Ended requests that wait behind one in flight before they are dropped.
const SPARE: usize = 4096;

impl LiveRequests {
    /// None so far. Times of requests count from `zero`, a time of the events' clock.
    pub fn new(zero: u64) -> Self {
        Self {
            pending: Pending::stepwise(),
            zero,
            most: MOST,
            in_flight: 0,
            seen: 0,
        }
    }

    /// How many are in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// That which has been in flight longest.
    pub fn oldest(&self) -> Option<&Request> {
        self.pending.oldest()
    }

    /// Reports what an event did. `device` is the number that requests get, `begins` says what begins those of this
    /// device.
    pub fn take(
        &mut self,
        event: &LiveEvent,
        device: u16,
        begins: LiveBegin,
        mut report: impl FnMut(LiveStep),
    ) {
        self.seen += 1;
        let Some(event) = event.event(self.seen) else {
            return;
        };
        let time = Nanos::new(event.time.saturating_sub(self.zero));
        let first = match begins {
            LiveBegin::Queue => Action::Queue,
            LiveBegin::Issue => Action::Issue,
        };
        match event.action {
            action if action == first => self.begin(&event, time, device, &mut report),
            Action::Requeue => {
                let begins_with_issue = first == Action::Issue;
                self.pending.requeue(&event, device, begins_with_issue);
            }
            Action::Complete => {
                let completed = self.pending.complete(&event, time, device);
                // The kernel flushes of its own accord.
                if matches!(completed, Completed::Nothing) && event.op != Op::Flush {
                    report(LiveStep::Unmatched);
                }
            }
            _ => {}
        }
        for step in self.pending.take_steps() {
            self.in_flight -= 1;
            report(step);
        }
        while self.pending.pop(false).is_some() {}
        if self.pending.len() > 2 * self.in_flight + SPARE {
            self.pending.compact();
        }
    }

    fn begin(
        &mut self,
        event: &Event,
        time: Nanos,
        device: u16,
        report: &mut impl FnMut(LiveStep),
    ) {
        if self.in_flight == self.most {
            self.give_up_oldest(report);
        }
        let request = self.pending.begin_live(event, time, device);
        self.in_flight += 1;
        report(LiveStep::Begun(request));
    }

    fn give_up_oldest(&mut self, report: &mut impl FnMut(LiveStep)) {
        while let Some((slot, done)) = self.pending.pop(true) {
            if !done {
                self.in_flight -= 1;
                report(LiveStep::GivenUp(slot.record.request));
                return;
            }
        }
    }

    /// Gives up all requests in flight: events were lost, perhaps those of their completions. A later request for the
    /// same sectors would be taken for one of them.
    pub fn give_up(&mut self, mut report: impl FnMut(LiveStep)) {
        while self.in_flight > 0 {
            self.give_up_oldest(&mut report);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LiveAction;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn event(time: u64, action: LiveAction, sector: u64, sectors: u32, op: u8) -> LiveEvent {
        LiveEvent {
            time,
            action,
            device: (8, 0),
            sector,
            sectors,
            letters: [op, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            error: 0,
        }
    }

    fn steps(requests: &mut LiveRequests, event: &LiveEvent) -> Vec<LiveStep> {
        let mut steps = Vec::new();
        requests.take(event, 0, LiveBegin::Issue, |step| steps.push(step));
        steps
    }

    #[test]
    fn a_request_that_hangs_holds_up_no_other_and_takes_no_more_memory() {
        let mut requests = LiveRequests::new(1000);
        steps(&mut requests, &event(1000, LiveAction::Issue, 8, 8, b'R'));
        for i in 0..100_000_u64 {
            let (time, sector) = (2000 + 10 * i, 1000 + i % 500 * 8);
            steps(
                &mut requests,
                &event(time, LiveAction::Issue, sector, 8, b'W'),
            );
            let ended = steps(
                &mut requests,
                &event(time + 7, LiveAction::Complete, sector, 8, b'W'),
            );
            let [LiveStep::Completed(record)] = ended[..] else {
                panic!("{ended:?}");
            };
            assert_eq!(record.outcome.latency, Some(Nanos::new(7)));
            assert_eq!(record.request.start, Nanos::new(time - 1000));
            assert_eq!(requests.in_flight(), 1);
            assert!(requests.pending.len() <= SPARE + 3);
        }
        assert_eq!(requests.oldest().unwrap().start, Nanos::ZERO);
        let ended = steps(
            &mut requests,
            &event(9_000_000, LiveAction::Complete, 8, 8, b'R'),
        );
        let [LiveStep::Completed(record)] = ended[..] else {
            panic!("{ended:?}");
        };
        assert_eq!(record.outcome.latency, Some(Nanos::new(8_999_000)));
        assert_eq!((requests.in_flight(), requests.pending.len()), (0, 0));
    }

    #[test]
    fn requests_that_ended_behind_one_in_flight_are_dropped_when_they_are_too_many() {
        let mut requests = LiveRequests::new(0);
        for hangs in 0..3 {
            steps(&mut requests, &event(0, LiveAction::Issue, hangs, 1, b'R'));
        }
        // Up to two for each in flight and some more wait with them.
        let most = 2 * 3 + SPARE;
        for ended in 1..=most {
            steps(&mut requests, &event(1, LiveAction::Issue, 8, 8, b'R'));
            // While it is in flight, two more may wait.
            assert_eq!(requests.pending.len(), 3 + ended);
            steps(&mut requests, &event(2, LiveAction::Complete, 8, 8, b'R'));
            let waiting = requests.pending.len();
            let expected = if 3 + ended > most { 3 } else { 3 + ended };
            assert_eq!(waiting, expected);
            if waiting == 3 {
                return;
            }
        }
        panic!("none was dropped");
    }

    #[test]
    fn a_completion_without_its_beginning_is_none_of_a_request() {
        let mut requests = LiveRequests::new(0);
        let ended = steps(&mut requests, &event(5, LiveAction::Complete, 8, 8, b'R'));
        assert_eq!(ended, [LiveStep::Unmatched]);
        // Commands without data, and the kernel's own flushes, are no requests.
        for (sectors, op) in [(0, b'N'), (0, b'F')] {
            let other = event(6, LiveAction::Complete, 0, sectors, op);
            assert_eq!(steps(&mut requests, &other), []);
        }
        assert_eq!(requests.in_flight(), 0);
    }

    #[test]
    fn what_was_given_up_is_taken_for_no_later_request() {
        let mut requests = LiveRequests::new(0);
        steps(&mut requests, &event(1, LiveAction::Issue, 8, 8, b'R'));
        let mut given_up = 0;
        requests.give_up(|step| given_up += u64::from(matches!(step, LiveStep::GivenUp(_))));
        assert_eq!((given_up, requests.in_flight()), (1, 0));
        steps(&mut requests, &event(100, LiveAction::Issue, 8, 8, b'R'));
        let ended = steps(&mut requests, &event(103, LiveAction::Complete, 8, 8, b'R'));
        let [LiveStep::Completed(record)] = ended[..] else {
            panic!("{ended:?}");
        };
        assert_eq!(record.outcome.latency, Some(Nanos::new(3)));
    }

    #[test]
    fn of_too_many_in_flight_the_oldest_are_given_up() {
        let mut requests = LiveRequests {
            most: 3,
            ..LiveRequests::new(0)
        };
        let given_up: Vec<LiveStep> = (0..5)
            .flat_map(|i| {
                let event = event(i, LiveAction::Issue, 8 * i, 8, b'W');
                steps(&mut requests, &event)
            })
            .filter(|step| matches!(step, LiveStep::GivenUp(_)))
            .collect();
        let LiveStep::GivenUp(last) = given_up[1] else {
            panic!()
        };
        assert_eq!((given_up.len(), last.start), (2, Nanos::new(1)));
        assert_eq!(requests.in_flight(), 3);
    }

    proptest! {
        /// Requests for random places, of which some are given back, against a table of them.
        #[test]
        fn each_request_begins_once_and_ends_at_most_once(
            choices in prop::collection::vec((0_u64..40, 0_u8..8), 1..400),
        ) {
            let mut requests = LiveRequests::new(0);
            let mut open: HashMap<u64, u64> = HashMap::new();
            for (time, (place, choice)) in (1..).zip(choices) {
                let sector = 8 * place;
                let (action, expected) = match (open.get(&place), choice) {
                    (None, 0..6) => (LiveAction::Issue, "begun"),
                    (None, _) => (LiveAction::Complete, "unmatched"),
                    (Some(_), 7) => (LiveAction::Requeue, "withdrawn"),
                    (Some(_), _) => (LiveAction::Complete, "completed"),
                };
                let steps = steps(&mut requests, &event(time, action, sector, 8, b'R'));
                let [step] = steps[..] else { panic!("{steps:?}") };
                let seen = match step {
                    LiveStep::Begun(_) => { open.insert(place, time); "begun" }
                    LiveStep::Completed(record) => {
                        let begun = open.remove(&place).unwrap();
                        prop_assert_eq!(record.request.start, Nanos::new(begun));
                        prop_assert_eq!(record.outcome.latency, Some(Nanos::new(time - begun)));
                        "completed"
                    }
                    LiveStep::Withdrawn(_) => { open.remove(&place); "withdrawn" }
                    LiveStep::GivenUp(_) => "given up",
                    LiveStep::Unmatched => "unmatched",
                };
                prop_assert_eq!(seen, expected);
                prop_assert_eq!(requests.in_flight(), open.len());
                let oldest = requests.oldest().map(|of| of.start.get());
                prop_assert_eq!(oldest, open.values().min().copied());
            }
        }
    }
}
