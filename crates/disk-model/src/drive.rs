//! A drive with a buffer: commands, the media process and the bus process, which share a segment.
//!
//! ```text
//!  request ─► command overhead (depends on hit or miss, and on what the last command was)
//!               │ media process: seek ─► rotate ─► sector by sector ─► next track ... ─► read-ahead, cached write
//!               ▼                                        ▲ ▼ one sector at a time
//!             segment (a window of sectors) ◄────────────┘
//!               ▲ ▼ in chunks of what is there, at a fixed time per sector
//!  host  ◄──► bus process: delay ─► chunk ─► chunk ... ─► completion overhead ─► done
//! ```
//!
//! A service ends for the host with its completion; the media process goes on behind its back, with read-ahead or
//! the data of fast writes, until the next request comes.
//!
//! Source: DiskSim 4.0 (Bucy, Schindler, Schlosser, Ganger, CMU-PDL-08-101), whose drives were validated against
//! recordings: with one request at a time this gives its times. What happens beyond is ours, after the manuals of
//! drives with command queues: the buffer serves the host while the medium writes, several writes may wait in the
//! buffer, of which the nearest goes to the medium first, and none stays there for more than a second while others
//! go before it.

mod requests;

use iosonar_device::Access;
use iosonar_units::Nanos;

use crate::bus::Transfer;
use crate::cache::Cache;
use crate::command::Electronics;
use crate::mechanics::{Head, Mechanics};
use crate::media::{Around, Media};
use crate::segment::{Segment, State};
use crate::shingles::{Shingles, Sweep};

/// A write that waits for longer goes to the medium before nearer ones.
const LONGEST_UNWRITTEN_NS: f64 = 1e9;

/// What a drive works with: what all of its kind share, and its arm.
pub(crate) struct Machine<'a> {
    pub(crate) mechanics: &'a Mechanics,
    pub(crate) electronics: &'a Electronics,
    pub(crate) head: &'a mut Head,
}

impl<'a> Machine<'a> {
    fn around<'b>(
        &'b mut self,
        cache: &'b mut Cache,
        shingles: Option<&'b Shingles>,
        transfer: Option<&'b Transfer>,
    ) -> Around<'b>
    where
        'a: 'b,
    {
        Around {
            mechanics: self.mechanics,
            electronics: self.electronics,
            head: self.head,
            cache,
            shingles,
            transfer,
        }
    }
}

/// The state of the electronics: what the media process does, and what is in the buffer.
#[derive(Clone, Debug)]
pub(crate) struct Drive {
    pub(crate) media: Media,
    cache: Cache,
    /// 0 if the last request that was completed was a read, 1 if it was a write.
    after: usize,
    /// When the last service ended.
    served_at: f64,
    /// Up to when background work has been counted, from there on.
    idle_from: f64,
    /// How long the medium was written while no request was served.
    background_ns: f64,
    /// The translation layer, if the drive is shingled.
    pub(crate) shingles: Option<Box<Shingles>>,
}

/// How a new request finds the arm.
#[derive(Clone, Copy, Debug)]
enum Arm {
    /// It does what the request wants, or nothing.
    Ready,
    /// Read-ahead was stopped; it takes so long.
    Stopping(f64),
    /// It cannot be interrupted, and will be free then.
    Busy(f64),
}

impl Arm {
    /// When the arm may set out after a command.
    fn sets_out(self, command: f64) -> f64 {
        match self {
            Self::Ready => command,
            // Found by comparison: the two add up.
            Self::Stopping(time) => command + time,
            Self::Busy(until) => command.max(until),
        }
    }
}

/// When data began to cross the bus, and when the request was complete, in nanoseconds from its arrival.
pub(crate) struct Served {
    pub(crate) data_ns: f64,
    pub(crate) done_ns: f64,
}

impl Drive {
    pub(crate) fn new(mechanics: &Mechanics, electronics: &Electronics) -> Self {
        Self {
            media: Media::new(),
            cache: Cache::new(&electronics.cache),
            after: 0,
            served_at: 0.0,
            idle_from: 0.0,
            background_ns: 0.0,
            shingles: mechanics.bands.is_some().then(|| Box::new(Shingles::new())),
        }
    }

    /// Nothing but the media process until `now`, from where times are counted then.
    pub(crate) fn idle_until(&mut self, on: &mut Machine<'_>, now: Nanos) {
        if now == on.head.clock {
            return;
        }
        self.go_on_until(on, now);
        let passed = on.head.wind(now, on.mechanics.revolution_ns);
        self.media.rewind(passed);
        self.idle_from -= passed;
        self.served_at -= passed;
        for segment in &mut self.cache.segments {
            segment.not_before -= passed;
        }
    }

    /// Nothing but the media process until `now`.
    pub(crate) fn go_on_until(&mut self, on: &mut Machine<'_>, now: Nanos) {
        let until = now.saturating_sub(on.head.clock).get() as f64;
        while self.goes_on(on, until) {
            let written = self.media.is_writing().then(|| self.media.began());
            self.advance(on, None, until);
            if let Some(began) = written
                && self.media.is_idle()
            {
                self.count_background(began, self.media.freed_at);
            }
        }
        if self.media.is_writing() {
            self.count_background(self.media.began(), until);
        }
        self.idle_from = self.idle_from.max(until);
    }

    /// The medium was written, which counts where no request was served.
    fn count_background(&mut self, began: f64, until: f64) {
        self.background_ns += (until - began.max(self.idle_from)).max(0.0);
    }

    /// How long the medium was written while no request was served, since the last [`forget_work`](Self::forget_work).
    pub(crate) fn background(&self) -> Nanos {
        Nanos::new(self.background_ns as u64)
    }

    pub(crate) fn forget_work(&mut self) {
        self.background_ns = 0.0;
        if let Some(shingles) = &mut self.shingles {
            shingles.forget_work();
        }
    }

    fn run_alone(&mut self, on: &mut Machine<'_>, until: f64) {
        while self.goes_on(on, until) {
            self.advance(on, None, until);
        }
    }

    /// Whether the media process has a next step up to `until`; the idle arm is set to work first.
    fn goes_on(&mut self, on: &mut Machine<'_>, until: f64) -> bool {
        if self.media.is_idle()
            && !self.write_next(on, self.media.freed_at, until)
            && !self.clean_next(on, until)
        {
            return false;
        }
        self.media.next() <= until
    }

    fn advance(&mut self, on: &mut Machine<'_>, transfer: Option<&Transfer>, until: f64) {
        let watched = match transfer {
            Some(transfer) if transfer.segment == self.media.segment => {
                transfer.watched(on.electronics.cache.segment_sectors)
            }
            _ => u64::MAX,
        };
        let mut around = on.around(&mut self.cache, self.shingles.as_deref(), transfer);
        self.media.advance(&mut around, until, watched);
    }

    /// The idle arm sets out to write what waits in the buffer, at `now` or when the command allows, if that is not
    /// after `until`.
    fn write_next(&mut self, on: &mut Machine<'_>, now: f64, until: f64) -> bool {
        if self.shingles.is_some() {
            return self.sweep_next(on, now, until);
        }
        let Some(first) = self.cache.unwritten().next() else {
            return false;
        };
        // The one that has waited longest, which need not be the one that was used longest ago.
        let waits_since = |i: usize| self.cache.segments[i].not_before;
        let oldest = self.cache.unwritten().fold(first, |oldest, i| {
            if waits_since(i) < waits_since(oldest) {
                i
            } else {
                oldest
            }
        });
        let mut chosen = oldest;
        let longest = waits_since(oldest) + LONGEST_UNWRITTEN_NS;
        if self.cache.unwritten().nth(1).is_some() && now < longest {
            let mut shortest = f64::INFINITY;
            for i in self.cache.unwritten() {
                let segment = &self.cache.segments[i];
                let place = on.mechanics.geometry.place(segment.written);
                let at = now.max(segment.not_before);
                let seek = on.mechanics.seek_ns(on.head.track, &place, Access::Write);
                let there = at + seek;
                let begins = there
                    + on.head
                        .latency_ns(place.turn, there, on.mechanics.revolution_ns);
                if begins < shortest {
                    (shortest, chosen) = (begins, i);
                }
            }
        }
        let now = now.max(0.0);
        if now.max(self.cache.segments[chosen].not_before) > until {
            return false;
        }
        let mut around = on.around(&mut self.cache, self.shingles.as_deref(), None);
        self.media.write(&mut around, chosen, now);
        true
    }

    /// A sweep of the arm over what waits in the buffer of a shingled drive, at `now` or when the first command allows,
    /// if that is not after `until`. Of each segment it takes half at most: the other half is filled meanwhile.
    fn sweep_next(&mut self, on: &mut Machine<'_>, now: f64, until: f64) -> bool {
        let (Some(bands), Some(shingles)) = (&on.mechanics.bands, &mut self.shingles) else {
            return false;
        };
        let waits = |s: &Segment| s.state == State::Writing && s.end > s.written && s.swept == 0;
        let waiting = self.cache.segments.iter().filter(|s| waits(s));
        let first = waiting.map(|s| s.not_before).fold(f64::INFINITY, f64::min);
        let began = now.max(first).max(0.0);
        if began > until || first == f64::INFINITY {
            return false;
        }
        let mut sweep = Sweep {
            mechanics: on.mechanics,
            bands,
            head: on.head,
            at: began,
        };
        let half = (on.electronics.cache.segment_sectors / 2).max(1);
        // In the order of their commands, so that runs stay runs.
        while let Some(segment) = self
            .cache
            .segments
            .iter_mut()
            .filter(|s| waits(s) && s.not_before <= began)
            .min_by(|a, b| a.not_before.total_cmp(&b.not_before))
        {
            let end = segment.end.min(segment.written + half);
            segment.swept = shingles.write(&mut sweep, segment.written..end);
            if segment.swept < segment.end {
                break;
            }
        }
        shingles.end_sweep(&mut sweep);
        self.media.sweep(began, sweep.at);
        true
    }

    /// The next step of cleaning, when no request has come for long enough by `until`.
    fn clean_next(&mut self, on: &mut Machine<'_>, until: f64) -> bool {
        let (Some(bands), Some(shingles)) = (&on.mechanics.bands, &mut self.shingles) else {
            return false;
        };
        let began = self.media.freed_at.max(self.served_at + bands.idle_ns);
        if began > until || !shingles.wants_cleaning(on.mechanics, bands) {
            return false;
        }
        let mut sweep = Sweep {
            mechanics: on.mechanics,
            bands,
            head: on.head,
            at: began.max(0.0),
        };
        shingles.clean_in_idle_time(&mut sweep);
        self.media.sweep(began, sweep.at);
        true
    }

    /// Goes on until the arm has written what it is writing, and gives that instant.
    fn finish_write(&mut self, on: &mut Machine<'_>) -> f64 {
        while self.media.is_writing() {
            self.advance(on, None, f64::INFINITY);
        }
        self.media.freed_at
    }

    /// Serves a request that arrives now, at time 0, for the sectors from `begin` up to `end`.
    pub(crate) fn serve(
        &mut self,
        on: &mut Machine<'_>,
        access: Access,
        (begin, end): (u64, u64),
    ) -> Served {
        assert_ne!(access, Access::Flush, "arrays send flushes to SSDs only");
        let writes = access != Access::Read;
        let electronics = on.electronics;
        let t0 = electronics.per_request;
        if t0 > 0.0 {
            self.run_alone(on, t0);
        }
        if access == Access::Discard {
            // Data that are not needed any more: the command only.
            self.cache.outdate(None, begin, end);
            if let Some(shingles) = &mut self.shingles {
                shingles.discard(begin..end);
            }
            let done_ns = t0 + electronics.write[self.after] + electronics.write_completion;
            self.after = 1;
            self.served(done_ns);
            return Served {
                data_ns: done_ns,
                done_ns,
            };
        }
        let mut transfer = match writes {
            false => self.begin_read(on, (begin, end), t0),
            true => self.begin_write(on, (begin, end), t0),
        };
        let mut now = t0;
        loop {
            if self.media.is_idle() {
                let free = self.media.freed_at.max(now);
                self.write_next(on, free, f64::INFINITY);
            }
            let next = self.media.next();
            if next <= transfer.time {
                assert!(next < f64::INFINITY, "a request waits for nothing");
                now = next;
                self.advance(on, Some(&transfer), transfer.time);
                // The instant that the media process has come to is that of its last step.
                let at = self.media.came_to().max(now);
                now = at;
                transfer.wake(electronics, &self.cache.segments[transfer.segment], now);
            } else {
                now = transfer.time;
                transfer.step(electronics, &mut self.cache.segments[transfer.segment]);
                if transfer.is_done() {
                    break;
                }
            }
        }
        self.after = usize::from(writes);
        self.served(now);
        if !electronics.cache.keeps_data {
            self.forget(transfer.segment, now);
        }
        Served {
            data_ns: transfer.data_began.unwrap_or(now),
            done_ns: now,
        }
    }

    /// A service has ended, for the host at whole nanoseconds.
    fn served(&mut self, now: f64) {
        self.idle_from = Nanos::nearest(now).get() as f64;
        self.served_at = self.idle_from;
    }

    /// A buffer that keeps nothing forgets what a complete request leaves.
    fn forget(&mut self, segment: usize, now: f64) {
        let state = &mut self.cache.segments[segment].state;
        match state {
            State::Reading => {
                *state = State::Empty;
                self.media.end(now);
            }
            State::Clean => *state = State::Empty,
            State::Empty | State::Writing => {}
        }
    }

    /// What the arm does when a request comes that does not go on with it.
    fn arm(&mut self, on: &mut Machine<'_>, t0: f64) -> Arm {
        if self.media.is_writing() {
            return Arm::Busy(self.finish_write(on));
        }
        if !self.media.is_reading() {
            return Arm::Ready;
        }
        // What must be read ahead is read.
        let mut at = t0;
        while self.media.is_reading() && self.media.has_own_end() {
            at = self.media.next();
            self.advance(on, None, f64::INFINITY);
            at = at.max(self.media.came_to());
        }
        if self.media.is_idle() {
            return Arm::Busy(at);
        }
        let mut around = on.around(&mut self.cache, self.shingles.as_deref(), None);
        let stopped = self.media.stop(&mut around, at);
        if at > t0 || on.electronics.cache.finish_step {
            return Arm::Busy(stopped.max(at));
        }
        Arm::Stopping(stopped - t0)
    }
}
