//! How a request begins: the segment that it gets, and what the arm and the bus do first.

use iosonar_device::Access;

use super::{Arm, Drive, Machine};
use crate::bus::{First, Transfer};
use crate::cache::Hit;
use crate::command::Electronics;
use crate::profile::{CacheProfile, ReadAhead, Requested};
use crate::segment::{Segment, State};

/// The segment of a request.
struct Found {
    segment: usize,
    hit: Hit,
    /// When the arm was free, if there was no segment before.
    waited: Option<f64>,
}

impl Drive {
    /// The segment for a read or a write as it is now, if it can have one.
    fn find_segment(
        &self,
        cache: &CacheProfile,
        access: Access,
        span: (u64, u64),
    ) -> Option<(usize, Hit)> {
        let interruptible = !self.media.has_own_end();
        match access {
            Access::Read => self.cache.for_read(cache, span, interruptible),
            _ => self.cache.for_write(cache, span, interruptible),
        }
    }

    /// The segment for a read or a write; until there is one the arm finishes what it does.
    fn segment_for(
        &mut self,
        on: &mut Machine<'_>,
        access: Access,
        span: (u64, u64),
        t0: f64,
    ) -> Found {
        let mut waited = None;
        loop {
            if let Some((segment, hit)) = self.find_segment(&on.electronics.cache, access, span) {
                return Found {
                    segment,
                    hit,
                    waited,
                };
            }
            waited = Some(self.wait_for_segment(on, t0));
        }
    }

    pub(super) fn begin_read(
        &mut self,
        on: &mut Machine<'_>,
        (begin, end): (u64, u64),
        t0: f64,
    ) -> Transfer {
        let (mechanics, electronics) = (on.mechanics, on.electronics);
        let cache = &electronics.cache;
        let Found {
            segment,
            hit,
            waited,
        } = self.segment_for(on, Access::Read, (begin, end), t0);
        let goes_on = hit != Hit::Miss && self.media.is_reading() && self.media.segment == segment;
        // A buffer that serves the host while the medium writes needs no arm for a hit.
        let overlaps = hit == Hit::Full && self.media.is_writing() && !cache.writes_wait_for_medium;
        let keeps_bus = hit == Hit::Full && self.media.is_writing() && electronics.never_disconnect;
        let arm = match waited {
            Some(free) => Arm::Busy(free),
            _ if goes_on || overlaps || keeps_bus => Arm::Ready,
            _ => self.arm(on, t0),
        };
        let arm = match hit {
            Hit::Partial => self.finish_segment(on, segment, arm),
            _ => arm,
        };
        let written = self.cache.segments[segment].state == State::Writing;
        let limit = self.read_ahead_limit(on, segment, hit, (begin, end));
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
            let mut around = on.around(&mut self.cache, self.shingles.as_deref(), None);
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
    fn finish_segment(&mut self, on: &mut Machine<'_>, segment: usize, mut arm: Arm) -> Arm {
        while self.cache.segments[segment].state == State::Writing {
            let free = self.media.freed_at.max(0.0);
            if self.media.is_idle() {
                self.write_next(on, free, f64::INFINITY);
            }
            arm = Arm::Busy(self.finish_write(on));
        }
        arm
    }

    /// Where read-ahead is to end after a read.
    fn read_ahead_limit(
        &self,
        on: &Machine<'_>,
        segment: usize,
        hit: Hit,
        (begin, end): (u64, u64),
    ) -> u64 {
        let (mechanics, cache) = (on.mechanics, &on.electronics.cache);
        let capacity = mechanics.capacity();
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

    /// No segment is available until the arm has finished something; returns when it has. It does not write then.
    fn wait_for_segment(&mut self, on: &mut Machine<'_>, t0: f64) -> f64 {
        if self.media.is_idle() {
            let now = self.media.freed_at.max(t0);
            self.write_next(on, now, f64::INFINITY);
        }
        if self.media.is_writing() {
            return self.finish_write(on);
        }
        match self.arm(on, t0) {
            Arm::Busy(free) => free,
            Arm::Ready => t0,
            Arm::Stopping(time) => t0 + time,
        }
    }

    pub(super) fn begin_write(
        &mut self,
        on: &mut Machine<'_>,
        (begin, end): (u64, u64),
        t0: f64,
    ) -> Transfer {
        let electronics = on.electronics;
        let cache = &electronics.cache;
        let Found {
            segment,
            hit,
            waited,
        } = self.segment_for(on, Access::Write, (begin, end), t0);
        let appends = hit == Hit::Append;
        let overlaps = self.media.is_writing()
            && (!cache.writes_wait_for_medium || electronics.never_disconnect);
        let arm = match waited {
            Some(free) => Arm::Busy(free),
            _ if appends && !self.media.is_reading() => Arm::Ready,
            _ if overlaps => Arm::Ready,
            _ => self.arm(on, t0),
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
            Access::Read | Access::Write => self.find_segment(cache, access, span),
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

    /// Whether a read goes on with what the arm is reading: it needs the arm, but no positioning.
    pub(crate) fn reads_on(&self, electronics: &Electronics, span: (u64, u64)) -> bool {
        let found = self.find_segment(&electronics.cache, Access::Read, span);
        let is_read_now = |(segment, hit)| hit != Hit::Miss && segment == self.media.segment;
        self.media.is_reading() && found.is_some_and(is_read_now)
    }
}
