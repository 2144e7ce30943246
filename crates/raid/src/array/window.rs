//! The measurement: a window of time in which the load is present.
//!
//! ```text
//!  warm-up           the window                       draining
//! ──────────────┬────────────────────────────────┬───────────────► time
//!               t0                               t1
//! ```
//!
//! - t0 is the arrival of the first request after the warm-up;
//! - t1 is the end of the load: the last arrival, or, in a closed loop, the first completion that no other request
//!   follows on. From then on the system only drains.
//!
//! Rates are completions within the window by its length, whenever those requests arrived; averages over time
//! (utilisations, queue lengths, the number in the system) are integrals over the window by its length. So work that
//! was there at t0 or is still there at t1 does not distort them, nor does the end of a closed loop.
//!
//! Response times are those of the requests that arrive in the window; in a closed loop, of those that are completed
//! in it, since what is completed later has seen a system that drains.
//!
//! A load of no length (a single batch, a closed loop of no more requests than users), or one that ends before
//! anything is completed, has no such window: it is measured until its last completion.
//!
//! Little's law over a window of length T is exact with its edges: the integral of the number in the system, L T, is
//! the sum of the measured response times, plus what requests that were not measured spent in the window, less what
//! measured ones spent outside. In a steady state the edges cancel on average, and L = X W; where the queue only
//! grows they do not, and no law says they should.

use iosonar_trace::Op;
use iosonar_units::Nanos;

use super::Completion;

/// What was counted in the window of the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeasuredWindow {
    /// Its beginning.
    pub from: Nanos,
    /// Its end.
    pub until: Nanos,
    /// Requests in the system just before it began.
    pub present_at_start: u64,
    /// Requests that arrived in it.
    pub arrived: u64,
    /// Requests that were completed in it, of all kinds and whenever they arrived.
    pub completed: u64,
    /// Requests in the system when it ended.
    pub present_at_end: u64,
    /// Sectors of complete or arriving writes that were in the cache, and not on the disks yet, when it began.
    pub dirty_at_start: u64,
    /// Sectors that entered the cache in it.
    pub cached: u64,
    /// Sectors in the cache that were not on the disks yet when it ended.
    pub dirty_at_end: u64,
    /// By how many sectors their number fell in it at most, below the highest one before.
    pub deepest_fall: u64,
    /// The reads and writes among the completed ones that did not fail.
    pub served: u64,
    /// Their sectors.
    pub sectors: u64,
    /// The sum, over the arrivals, of the number of others that each found in the system.
    pub found: u64,
    /// The integral of the number of requests in the system, in nanoseconds.
    pub requests_time: u128,
    /// The sum of the measured response times of reads and writes, in nanoseconds.
    pub measured_time: u128,
    /// The same of flushes, discards and failed requests, which are in no distribution.
    pub other_time: u128,
    /// What requests that were not measured spent in the window, less what measured ones spent outside it. With the
    /// two sums above it makes up `requests_time`.
    pub edge_time: i128,
}

impl MeasuredWindow {
    /// How long it was.
    pub fn length(&self) -> Nanos {
        self.until - self.from
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Before,
    Open,
    Over,
}

/// The window while a run goes on.
#[derive(Clone, Debug)]
pub(super) struct Window {
    warmup: u64,
    /// Whether requests follow on completions, so that only completions within the window are measured.
    closed: bool,
    state: State,
    /// Whether the load has ended, and the window goes on to the last completion.
    extended: bool,
    present: u64,
    /// Sectors in the cache that are not on the disks.
    dirty: u64,
    /// The most of them in the window so far.
    most_dirty: u64,
    since: Nanos,
    counted: MeasuredWindow,
}

impl Window {
    pub(super) fn new(warmup: u64, closed: bool) -> Self {
        Self {
            warmup,
            closed,
            state: State::Before,
            extended: false,
            present: 0,
            dirty: 0,
            most_dirty: 0,
            since: Nanos::ZERO,
            counted: MeasuredWindow::default(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    pub(super) fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// Whether the response time of a request is measured that is completed, or partly served, now.
    #[inline]
    pub(super) fn measures(&self, id: u64) -> bool {
        if self.closed && !self.extended {
            self.is_open()
        } else {
            id >= self.warmup
        }
    }

    /// Whether the window begins with the arrival of this request.
    #[inline]
    pub(super) fn begins_with(&self, id: u64) -> bool {
        id == self.warmup
    }

    pub(super) fn begin(&mut self, now: Nanos) {
        assert_eq!(self.state, State::Before, "a run has one window");
        self.pass(now);
        self.state = State::Open;
        self.most_dirty = self.dirty;
        self.counted = MeasuredWindow {
            from: now,
            until: now,
            present_at_start: self.present,
            dirty_at_start: self.dirty,
            ..MeasuredWindow::default()
        };
    }

    #[inline]
    fn pass(&mut self, now: Nanos) {
        self.counted.requests_time +=
            u128::from(self.present) * u128::from((now - self.since).get());
        self.since = now;
    }

    #[inline]
    pub(super) fn arrive(&mut self, now: Nanos) {
        if self.is_open() {
            self.pass(now);
            self.counted.arrived += 1;
            self.counted.found += self.present;
        }
        self.present += 1;
    }

    /// Sectors enter the cache.
    #[inline]
    pub(super) fn cache(&mut self, sectors: u64) {
        self.dirty += sectors;
        if self.is_open() {
            self.counted.cached += sectors;
            self.most_dirty = self.most_dirty.max(self.dirty);
        }
    }

    /// Sectors of the cache are on the disks.
    #[inline]
    pub(super) fn destage(&mut self, sectors: u64) {
        self.dirty -= sectors;
        if self.is_open() {
            let fall = self.most_dirty - self.dirty;
            self.counted.deepest_fall = self.counted.deepest_fall.max(fall);
        }
    }

    /// A request is completed; `completion` says whether it is [measured](Self::measures).
    #[inline]
    pub(super) fn complete(&mut self, completion: &Completion, now: Nanos) {
        let is_timed = !matches!(completion.request.op, Op::Flush | Op::Discard);
        let served = is_timed && !completion.failed;
        if self.is_open() {
            self.pass(now);
            self.counted.completed += 1;
            if served {
                self.counted.served += 1;
                self.counted.sectors += u64::from(completion.request.sectors.get());
            }
        }
        self.present -= 1;
        let counted = &mut self.counted;
        let response = u128::from(completion.response_time.get());
        let arrived = now - completion.response_time;
        if completion.measured {
            if served {
                counted.measured_time += response;
            } else {
                counted.other_time += response;
            }
            // The usual case: all of it in the window.
            if self.state == State::Open && arrived >= counted.from {
                return;
            }
            counted.edge_time -= response as i128;
        }
        let end = match self.state {
            State::Before => return,
            State::Open => now,
            State::Over => now.min(counted.until),
        };
        let inside = end.saturating_sub(arrived.max(counted.from));
        counted.edge_time += i128::from(inside.get());
    }

    /// The load has ended, after more than its first requests (`lasted`). Says whether the window ends with it.
    pub(super) fn end_of_load(&mut self, lasted: bool, now: Nanos) -> bool {
        let measurable =
            lasted && self.is_open() && now > self.counted.from && self.counted.served > 0;
        self.extended |= !measurable && !self.is_over();
        measurable
    }

    pub(super) fn end(&mut self, now: Nanos) {
        if self.is_open() {
            self.pass(now);
        }
        self.counted.until = now;
        self.counted.present_at_end = self.present;
        self.counted.dirty_at_end = self.dirty;
        self.state = State::Over;
    }

    /// What was counted, when all requests are completed.
    pub(super) fn counted(&self) -> MeasuredWindow {
        self.counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_device::RequestId;
    use iosonar_trace::Request;
    use iosonar_units::Sectors;

    fn completion(id: u64, arrived: u64, now: u64, measured: bool) -> Completion {
        let request = Request {
            start: Nanos::new(arrived),
            sectors: Sectors::new(8),
            op: Op::Read,
            ..Request::default()
        };
        Completion {
            id: RequestId(id),
            request,
            response_time: Nanos::new(now - arrived),
            measured,
            failed: false,
        }
    }

    /// Requests with their arrivals and completions, in the order of time.
    fn run(window: &mut Window, requests: &[(u64, u64)], end_of_load: u64) -> MeasuredWindow {
        let lasted = end_of_load > requests[0].0;
        let mut events: Vec<(u64, u8, usize)> = Vec::new();
        for (i, &(arrived, completed)) in requests.iter().enumerate() {
            events.push((completed, 0, i));
            events.push((arrived, 1, i));
        }
        events.push((end_of_load, 2, 0));
        events.sort_unstable();
        let last = events[events.len() - 1].0;
        for (at, kind, i) in events {
            let now = Nanos::new(at);
            match kind {
                0 => {
                    let measured = window.measures(i as u64);
                    let done = completion(i as u64, requests[i].0, at, measured);
                    window.complete(&done, now);
                }
                1 => {
                    if window.begins_with(i as u64) {
                        window.begin(now);
                    }
                    window.arrive(now);
                }
                _ => {
                    if window.end_of_load(lasted, now) {
                        window.end(now);
                    }
                }
            }
        }
        if !window.is_over() {
            window.end(Nanos::new(last));
        }
        let counted = window.counted();
        assert_eq!(
            counted.requests_time as i128,
            (counted.measured_time + counted.other_time) as i128 + counted.edge_time,
            "Little's law with its edges"
        );
        assert_eq!(
            counted.present_at_start + counted.arrived,
            counted.completed + counted.present_at_end
        );
        counted
    }

    #[test]
    fn completions_in_the_window_count_whenever_the_requests_arrived() {
        let requests = [(0, 25), (5, 45), (10, 30), (20, 60), (40, 70)];
        let mut open = Window::new(2, false);
        let counted = run(&mut open, &requests, 40);
        assert_eq!((counted.from.get(), counted.until.get()), (10, 40));
        assert_eq!((counted.present_at_start, counted.present_at_end), (2, 3));
        assert_eq!(
            (counted.arrived, counted.completed, counted.served),
            (3, 2, 2)
        );
        // 15 + 30 of the warm-up, 20 of the third, 20 and 0 of the others.
        assert_eq!(counted.requests_time, 85);
        // The response times of the three that arrived in the window.
        assert_eq!(counted.measured_time, 20 + 40 + 30);
    }

    #[test]
    fn a_closed_loop_is_not_measured_while_it_drains() {
        let requests = [(0, 10), (0, 20), (10, 30), (20, 40), (30, 50)];
        let mut closed = Window::new(0, true);
        // The completion at 40 is the first that no request follows on.
        let counted = run(&mut closed, &requests, 40);
        assert_eq!(counted.until.get(), 40);
        // Two users all the time, a completion every 10.
        assert_eq!((counted.requests_time, counted.served), (80, 4));
        assert_eq!(counted.measured_time, 10 + 20 + 20 + 20);
    }

    #[test]
    fn a_load_of_no_length_is_measured_to_its_last_completion() {
        for closed in [false, true] {
            let mut batch = Window::new(0, closed);
            let counted = run(&mut batch, &[(5, 15), (5, 25), (5, 35)], 5);
            assert_eq!((counted.from.get(), counted.until.get()), (5, 35));
            assert_eq!((counted.served, counted.measured_time), (3, 60));
            assert_eq!(counted.edge_time, 0);
        }
    }

    #[test]
    fn the_cache_is_counted_from_the_beginning_of_the_window_to_its_end() {
        let mut window = Window::new(1, false);
        // 30 come and 10 go before it.
        window.arrive(Nanos::new(1));
        window.cache(20);
        window.cache(10);
        window.destage(10);
        window.begin(Nanos::new(5));
        // 20, 50, 35, 40, 10, 60.
        window.cache(30);
        window.destage(15);
        window.cache(5);
        window.destage(30);
        window.cache(50);
        window.end(Nanos::new(9));
        let counted = window.counted();
        assert_eq!((counted.dirty_at_start, counted.dirty_at_end), (20, 60));
        assert_eq!(counted.cached, 85);
        assert_eq!(counted.deepest_fall, 40, "from 50 to 10");
        assert_eq!(counted.length(), Nanos::new(4));
        // After it nothing counts.
        window.destage(60);
        window.cache(1);
        assert_eq!(window.counted(), counted);
    }

    #[test]
    fn a_window_ends_with_its_load_only_if_that_lasted_and_something_was_served_in_it() {
        let (start, later) = (Nanos::new(10), Nanos::new(20));
        let served = |at: Nanos| {
            let mut window = Window::new(0, false);
            window.begin(start);
            window.arrive(start);
            window.arrive(start);
            window.complete(&completion(0, 10, at.get(), true), at);
            window
        };
        assert!(served(later).end_of_load(true, later));
        assert!(!served(later).end_of_load(false, later), "a batch");
        assert!(!served(start).end_of_load(true, start), "of no length");
        let mut unserved = Window::new(0, false);
        unserved.begin(start);
        unserved.arrive(start);
        assert!(!unserved.end_of_load(true, later), "nothing is served");
        let mut before = Window::new(5, false);
        before.arrive(start);
        assert!(!before.end_of_load(true, later), "it has not begun");
        assert!(!before.is_open() && !before.is_over());
        // A window that goes on after the load of a closed loop measures what is completed then, if it is not over.
        for (extends, measures) in [(false, [false, true]), (true, [true, true])] {
            let mut closed = Window::new(1, true);
            assert!(!closed.measures(1), "it has not begun");
            closed.begin(start);
            assert!(closed.measures(0) && closed.measures(1));
            closed.arrive(start);
            closed.complete(&completion(0, 10, 20, true), later);
            if extends {
                closed.end_of_load(true, later);
                closed.end(later);
                closed.end_of_load(false, later);
                assert!(!closed.measures(1), "it was over");
            } else {
                closed.end_of_load(false, later);
                assert_eq!([0, 1].map(|id| closed.measures(id)), measures);
            }
        }
    }

    #[test]
    fn flushes_discards_and_failed_requests_take_time_but_are_not_served() {
        let mut window = Window::new(0, false);
        let at = |ns| Nanos::new(ns);
        window.begin(at(0));
        (0..5).for_each(|_| window.arrive(at(0)));
        for op in [Op::Read, Op::Flush, Op::Discard, Op::WriteZeroes, Op::Read] {
            let fails = window.counted.completed == 4;
            let mut done = completion(0, 0, 0, true);
            done.request.op = op;
            done.failed = fails;
            done.response_time = at(10);
            window.complete(&done, at(10));
        }
        let counted = window.counted();
        assert_eq!((counted.completed, counted.served), (5, 2));
        assert_eq!(counted.sectors, 16);
        assert_eq!((counted.measured_time, counted.other_time), (20, 30));
    }
}
