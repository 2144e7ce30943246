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

use iosonar_device::Access;
use iosonar_units::Nanos;

use crate::bus::{First, Transfer};
use crate::cache::{Cache, Hit};
use crate::command::Electronics;
use crate::mechanics::{Head, Mechanics};
use crate::media::{Around, Media};
use crate::profile::{ReadAhead, Requested};
use crate::segment::{Segment, State};

/// A write that waits for longer goes to the medium before nearer ones.
const LONGEST_UNWRITTEN_NS: f64 = 1e9;

/// The state of the electronics: what the media process does, and what is in the buffer.
#[derive(Clone, Debug)]
pub(crate) struct Drive {
    pub(crate) media: Media,
    cache: Cache,
    /// 0 if the last request that was completed was a read, 1 if it was a write.
    after: usize,
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
    pub(crate) fn new(electronics: &Electronics) -> Self {
        Self {
            media: Media::new(),
            cache: Cache::new(&electronics.cache),
            after: 0,
        }
    }

    /// Nothing but the media process until `now`, from where times are counted then.
    pub(crate) fn idle_until(
        &mut self,
        mechanics: &Mechanics,
        electronics: &Electronics,
        head: &mut Head,
        now: Nanos,
    ) {
        if now == head.clock {
            return;
        }
        let until = (now - head.clock).get() as f64;
        self.run_alone(mechanics, electronics, head, until);
        let passed = head.wind(now, mechanics.revolution_ns);
        self.media.rewind(passed);
        for segment in &mut self.cache.segments {
            segment.not_before -= passed;
        }
    }

    fn run_alone(
        &mut self,
        mechanics: &Mechanics,
        electronics: &Electronics,
        head: &mut Head,
        until: f64,
    ) {
        loop {
            if self.media.is_idle()
                && !self.write_next(mechanics, electronics, head, self.media.freed_at, until)
            {
                return;
            }
            if self.media.next() > until {
                return;
            }
            self.advance(mechanics, electronics, head, None, until);
        }
    }

    fn advance(
        &mut self,
        mechanics: &Mechanics,
        electronics: &Electronics,
        head: &mut Head,
        transfer: Option<&Transfer>,
        until: f64,
    ) {
        let watched = match transfer {
            Some(transfer) if transfer.segment == self.media.segment => {
                transfer.watched(electronics.cache.segment_sectors)
            }
            _ => u64::MAX,
        };
        let mut around = Around {
            mechanics,
            electronics,
            head,
            cache: &mut self.cache,
            transfer,
        };
        self.media.advance(&mut around, until, watched);
    }

    /// The idle arm sets out to write what waits in the buffer, at `now` or when the command allows, if that is not
    /// after `until`.
    fn write_next(
        &mut self,
        mechanics: &Mechanics,
        electronics: &Electronics,
        head: &mut Head,
        now: f64,
        until: f64,
    ) -> bool {
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
                let place = mechanics.geometry.place(segment.written);
                let at = now.max(segment.not_before);
                let seek = mechanics.seek_ns(head.track, &place, Access::Write);
                let there = at + seek;
                let begins = there + head.latency_ns(place.turn, there, mechanics.revolution_ns);
                if begins < shortest {
                    (shortest, chosen) = (begins, i);
                }
            }
        }
        let now = now.max(0.0);
        if now.max(self.cache.segments[chosen].not_before) > until {
            return false;
        }
        let mut around = Around {
            mechanics,
            electronics,
            head,
            cache: &mut self.cache,
            transfer: None,
        };
        self.media.write(&mut around, chosen, now);
        true
    }

    /// Goes on until the arm has written what it is writing, and gives that instant.
    fn finish_write(
        &mut self,
        mechanics: &Mechanics,
        electronics: &Electronics,
        head: &mut Head,
    ) -> f64 {
        while self.media.is_writing() {
            self.advance(mechanics, electronics, head, None, f64::INFINITY);
        }
        self.media.freed_at
    }

    /// Serves a request that arrives now, at time 0, for the sectors from `begin` up to `end`.
    pub(crate) fn serve(
        &mut self,
        mechanics: &Mechanics,
        electronics: &Electronics,
        head: &mut Head,
        access: Access,
        (begin, end): (u64, u64),
    ) -> Served {
        assert_ne!(access, Access::Flush, "arrays send flushes to SSDs only");
        let writes = access != Access::Read;
        let t0 = electronics.per_request;
        if t0 > 0.0 {
            self.run_alone(mechanics, electronics, head, t0);
        }
        if access == Access::Discard {
            // Data that are not needed any more: the command only.
            self.cache.outdate(None, begin, end);
            let done_ns = t0 + electronics.write[self.after] + electronics.write_completion;
            self.after = 1;
            return Served {
                data_ns: done_ns,
                done_ns,
            };
        }
        let mut transfer = match writes {
            false => self.begin_read(mechanics, electronics, head, (begin, end), t0),
            true => self.begin_write(mechanics, electronics, head, (begin, end), t0),
        };
        let mut now = t0;
        loop {
            if self.media.is_idle() {
                let free = self.media.freed_at.max(now);
                self.write_next(mechanics, electronics, head, free, f64::INFINITY);
            }
            let next = self.media.next();
            if next <= transfer.time {
                assert!(next < f64::INFINITY, "a request waits for nothing");
                now = next;
                self.advance(mechanics, electronics, head, Some(&transfer), transfer.time);
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
        if !electronics.cache.keeps_data {
            self.forget(transfer.segment, now);
        }
        Served {
            data_ns: transfer.data_began.unwrap_or(now),
            done_ns: now,
        }
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
    fn arm(
        &mut self,
        mechanics: &Mechanics,
        electronics: &Electronics,
        head: &mut Head,
        t0: f64,
    ) -> Arm {
        if self.media.is_writing() {
            return Arm::Busy(self.finish_write(mechanics, electronics, head));
        }
        if !self.media.is_reading() {
            return Arm::Ready;
        }
        // What must be read ahead is read.
        let mut at = t0;
        while self.media.is_reading() && self.media.has_own_end() {
            at = self.media.next();
            self.advance(mechanics, electronics, head, None, f64::INFINITY);
            at = at.max(self.media.came_to());
        }
        if self.media.is_idle() {
            return Arm::Busy(at);
        }
        let mut around = Around {
            mechanics,
            electronics,
            head,
            cache: &mut self.cache,
            transfer: None,
        };
        let stopped = self.media.stop(&mut around, at);
        if at > t0 || electronics.cache.finish_step {
            return Arm::Busy(stopped.max(at));
        }
        Arm::Stopping(stopped - t0)
    }

    /// Whether the read-ahead that is under way may be interrupted for a request.
    fn is_interruptible(&self) -> bool {
        !self.media.has_own_end()
    }

    fn begin_read(
        &mut self,
        mechanics: &Mechanics,
        electronics: &Electronics,
        head: &mut Head,
        (begin, end): (u64, u64),
        t0: f64,
    ) -> Transfer {
        let cache = &electronics.cache;
        let mut waited = None;
        let (segment, hit) = loop {
            let interruptible = self.is_interruptible();
            if let Some(found) = self.cache.for_read(cache, (begin, end), interruptible) {
                break found;
            }
            waited = Some(self.wait_for_segment(mechanics, electronics, head, t0));
        };
        let goes_on = hit != Hit::Miss && self.media.is_reading() && self.media.segment == segment;
        // A buffer that serves the host while the medium writes needs no arm for a hit.
        let overlaps = hit == Hit::Full && self.media.is_writing() && !cache.writes_wait_for_medium;
        let keeps_bus = hit == Hit::Full && self.media.is_writing() && electronics.never_disconnect;
        let arm = match waited {
            Some(free) if !self.media.is_writing() => Arm::Busy(free),
            _ if goes_on || overlaps || keeps_bus => Arm::Ready,
            _ => self.arm(mechanics, electronics, head, t0),
        };
        let arm = match hit {
            Hit::Partial => self.finish_segment(mechanics, electronics, head, segment, arm),
            _ => arm,
        };
        let written = self.cache.segments[segment].state == State::Writing;
        let limit = self.read_ahead_limit(mechanics, electronics, segment, hit, (begin, end));
        let assigned = &mut self.cache.segments[segment];
        if hit == Hit::Miss {
            (assigned.start, assigned.end, assigned.limit) = (begin, begin, 0);
            assigned.state = State::Clean;
        }
        assigned.limit = assigned.limit.max(limit);
        let (there, limit) = (assigned.end, assigned.limit);
        self.cache.assign(segment, false);
        let miss = t0 + electronics.read_miss[self.after];
        let least = (end + cache.minimum_read_ahead_sectors).min(limit);
        // Read-ahead that ended with the track does not go on with the next one.
        let reads_ahead = || {
            let over = || mechanics.geometry.track(there).first == there;
            cache.read_ahead_on_hit
                && there < limit
                && !(cache.read_ahead == ReadAhead::Track && over())
        };
        if goes_on {
            self.media.read_on(least);
        } else if end > there || (!written && self.media.is_idle() && reads_ahead()) {
            let own_end = (least > there).then_some(least);
            let mut around = Around {
                mechanics,
                electronics,
                head,
                cache: &mut self.cache,
                transfer: None,
            };
            self.media
                .read(&mut around, segment, own_end, arm.sets_out(miss));
        }
        let enough = match hit {
            Hit::Full => true,
            Hit::Partial => {
                let mark = electronics.mark(false, end - begin).min(end - begin);
                cache.sends_partial_hits || there.saturating_sub(begin) >= mark
            }
            Hit::Miss | Hit::Append => false,
        };
        let leave = electronics.read_disconnect[self.after];
        let first = match (arm, enough) {
            _ if electronics.never_disconnect => {
                let command = match hit {
                    Hit::Miss => electronics.read_miss,
                    _ => electronics.read_hit,
                };
                First::Data(t0 + command[self.after] + electronics.data_preparation)
            }
            (Arm::Busy(free), _) => First::Away(miss + leave, free),
            (_, true) => {
                First::Data(t0 + electronics.read_hit[self.after] + electronics.data_preparation)
            }
            (_, false) => First::Away(miss + leave, 0.0),
        };
        Transfer::new(electronics, false, segment, (begin, end), leave, first)
    }

    /// What is read behind data that wait in the buffer is read when these are on the medium.
    fn finish_segment(
        &mut self,
        mechanics: &Mechanics,
        electronics: &Electronics,
        head: &mut Head,
        segment: usize,
        mut arm: Arm,
    ) -> Arm {
        while self.cache.segments[segment].state == State::Writing {
            let free = self.media.freed_at.max(0.0);
            if self.media.is_idle() {
                self.write_next(mechanics, electronics, head, free, f64::INFINITY);
            }
            arm = Arm::Busy(self.finish_write(mechanics, electronics, head));
        }
        arm
    }

    /// Where read-ahead is to end after a read.
    fn read_ahead_limit(
        &self,
        mechanics: &Mechanics,
        electronics: &Electronics,
        segment: usize,
        hit: Hit,
        (begin, end): (u64, u64),
    ) -> u64 {
        let cache = &electronics.cache;
        let capacity = mechanics.geometry.capacity();
        let least = end + cache.minimum_read_ahead_sectors;
        let limit = match cache.read_ahead {
            _ if !cache.keeps_data => end,
            ReadAhead::None => least,
            ReadAhead::Track | ReadAhead::Cylinder | ReadAhead::Maximum => {
                match cache.maximum_read_ahead_sectors {
                    0 => match cache.requested {
                        Requested::Kept if begin + cache.segment_sectors >= least => {
                            begin + cache.segment_sectors
                        }
                        Requested::Kept => least,
                        _ => end + cache.segment_sectors,
                    },
                    most => (end + most).max(least),
                }
            }
            ReadAhead::NextTrack if end >= capacity => end,
            ReadAhead::NextTrack => {
                let start = match hit {
                    Hit::Miss => begin,
                    _ => self.cache.segments[segment].start,
                };
                let track = mechanics.geometry.track(end);
                match start >= track.first {
                    true => track.last + 1,
                    false => track.last + 1 + mechanics.geometry.sectors_per_track(begin),
                }
                .max(least)
            }
        };
        limit.min(capacity).max(end)
    }

    /// No segment can be had: the arm has to finish something first. Gives when it has.
    fn wait_for_segment(
        &mut self,
        mechanics: &Mechanics,
        electronics: &Electronics,
        head: &mut Head,
        t0: f64,
    ) -> f64 {
        if self.media.is_idle() {
            let now = self.media.freed_at.max(t0);
            self.write_next(mechanics, electronics, head, now, f64::INFINITY);
        }
        if self.media.is_writing() {
            return self.finish_write(mechanics, electronics, head);
        }
        match self.arm(mechanics, electronics, head, t0) {
            Arm::Busy(free) => free,
            Arm::Ready => t0,
            Arm::Stopping(time) => t0 + time,
        }
    }

    fn begin_write(
        &mut self,
        mechanics: &Mechanics,
        electronics: &Electronics,
        head: &mut Head,
        (begin, end): (u64, u64),
        t0: f64,
    ) -> Transfer {
        let cache = &electronics.cache;
        let mut waited = None;
        let (segment, hit) = loop {
            let interruptible = self.is_interruptible();
            if let Some(found) = self.cache.for_write(cache, (begin, end), interruptible) {
                break found;
            }
            waited = Some(self.wait_for_segment(mechanics, electronics, head, t0));
        };
        let appends = hit == Hit::Append;
        let overlaps = self.media.is_writing()
            && (!cache.writes_wait_for_medium || electronics.never_disconnect);
        let arm = match waited {
            Some(free) if !self.media.is_writing() => Arm::Busy(free),
            _ if appends && !self.media.is_reading() => Arm::Ready,
            _ if overlaps => Arm::Ready,
            _ => self.arm(mechanics, electronics, head, t0),
        };
        let command = t0 + electronics.write[self.after];
        let latest = self.cache.is_latest(segment);
        let assigned = &mut self.cache.segments[segment];
        let follows = latest && assigned.last_was_write == Some(true) && begin != assigned.end;
        let extra = electronics
            .extra
            .filter(|_| follows && !appends && !matches!(arm, Arm::Busy(_)));
        if !appends {
            *assigned = Segment {
                state: State::Writing,
                start: begin,
                end: begin,
                written: begin,
                not_before: arm.sets_out(match extra {
                    Some(extra) => t0 + extra.command + extra.seek_delta,
                    None => command,
                }),
                minimum_seek: electronics.minimum_write_seek,
                ..*assigned
            };
        }
        assigned.target = end;
        assigned.limit = 0;
        self.cache.assign(segment, true);
        self.cache.outdate(Some(segment), begin, end);
        let leave = electronics.write_disconnect;
        let first = match (arm, &extra) {
            (Arm::Busy(free), _) if !electronics.never_disconnect => {
                First::Away(command + leave, free)
            }
            (_, Some(extra)) => {
                let left = t0 + extra.command + extra.disconnect;
                First::Away(left, left + extra.between)
            }
            _ => First::Data(command + electronics.data_preparation),
        };
        let transfer = Transfer::new(electronics, true, segment, (begin, end), leave, first);
        match extra {
            Some(extra) => transfer.with_extra(electronics, extra.second_disconnect),
            None => transfer,
        }
    }

    /// Whether the buffer serves a request without the arm: nothing moves.
    pub(crate) fn takes_at_once(
        &self,
        electronics: &Electronics,
        access: Access,
        span: (u64, u64),
    ) -> bool {
        let cache = &electronics.cache;
        let found = match access {
            Access::Read => self.cache.for_read(cache, span, self.is_interruptible()),
            Access::Write => self.cache.for_write(cache, span, self.is_interruptible()),
            Access::Discard => return true,
            Access::Flush => return false,
        };
        let waits = self.media.is_writing() && cache.writes_wait_for_medium;
        match found {
            Some((_, Hit::Append)) => cache.fast_writes,
            Some((_, Hit::Full)) => !waits,
            Some(_) => access == Access::Write && cache.fast_writes && !waits,
            None => false,
        }
    }
}
