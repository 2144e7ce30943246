//! Sectors that pass under the head: which are taken, one by one or many at once.

use std::cmp::Ordering;

use super::{Around, Media};
use crate::segment::State;

impl Media {
    /// Asked when a sector begins to pass.
    #[inline]
    pub(super) fn may_take(&self, around: &Around<'_>, sector: u64, now: f64) -> bool {
        let segment = &around.cache.segments[self.segment];
        let transfer = around
            .transfer
            .filter(|t| t.segment == self.segment && t.writes == self.writes);
        if self.writes {
            let (mut end, mut waits) = (segment.end, false);
            if let Some(transfer) = transfer {
                end += transfer.crossed(now);
                if around.electronics.extra.is_some() {
                    // The drive wants a few sectors of this write in hand.
                    let least = if transfer.sectors() < 45 {
                        transfer.sectors().min(10)
                    } else {
                        15
                    };
                    let least = least.min(around.electronics.cache.segment_sectors);
                    waits = sector >= transfer.begin && end - segment.start < least;
                }
            }
            return sector < end && !waits;
        }
        if segment.holds(sector) {
            return false;
        }
        if sector < segment.start {
            return around.electronics.cache.free_blocks && segment.start == segment.end;
        }
        !around.electronics.cache.reads_directly || self.has_room(around, sector, now)
    }

    /// Whether a sector that is read does not push out what is still to be sent.
    fn has_room(&self, around: &Around<'_>, sector: u64, now: f64) -> bool {
        let transfer = around
            .transfer
            .filter(|t| t.segment == self.segment && !t.writes);
        transfer.is_none_or(|transfer| {
            sector < transfer.out + transfer.crossed(now) + around.electronics.cache.segment_sectors
        })
    }

    /// Where the segment of this read, or this write, is to end.
    #[inline]
    fn goal(&self, around: &Around<'_>) -> u64 {
        let segment = &around.cache.segments[self.segment];
        match (self.writes, self.own_end) {
            (true, _) => segment.target,
            (false, Some(own_end)) => own_end,
            (false, None) => segment.limit,
        }
    }

    /// Many sectors at once. Gives whether there were any.
    #[inline]
    pub(super) fn leap(&mut self, around: &mut Around<'_>, until: f64, watched: u64) -> bool {
        if self.remaps {
            return false;
        }
        // One less than that end by then: the last one is left to the ordinary way.
        let by_time = ((until - self.origin) * self.sectors_per_ns - 1.0).min(1e15) as u64;
        let by_time = by_time.saturating_sub(self.passed);
        if by_time == 0 {
            return false;
        }
        let cache = &around.electronics.cache;
        let segment = &around.cache.segments[self.segment];
        let transfer = around
            .transfer
            .filter(|t| t.segment == self.segment && t.writes == self.writes);
        if self.takes && self.at == self.want {
            // All sectors before this one are taken, and none is the last of anything.
            let mut before = self
                .span
                .last
                .min(self.goal(around).saturating_sub(1))
                .min(watched - 1);
            if let Some((begin, _)) = self.run {
                before = before.min(begin - 1);
            }
            if self.writes {
                before = before.min(segment.end);
                if transfer.is_some() && around.electronics.extra.is_some() {
                    return false;
                }
            } else if let Some(transfer) = transfer {
                before = before.min(transfer.out + cache.segment_sectors);
            }
            let sectors = before.saturating_sub(self.at).min(by_time);
            if sectors == 0 {
                return false;
            }
            self.at += sectors;
            self.passed += sectors;
            self.want = self.at;
            let size = cache.segment_sectors;
            let segment = &mut around.cache.segments[self.segment];
            match self.writes {
                true => segment.written = self.want,
                false => segment.extend_to(self.want, size),
            }
        } else if self.is_cut {
            return false;
        } else {
            // Until the wanted sector comes round, or one that counts although it is not wanted yet.
            let track = self.span.last - self.span.first + 1;
            let frees = !self.writes && cache.free_blocks && segment.start == segment.end;
            let runs = !self.writes && (cache.immediate_reads || self.run.is_some());
            let rest = self.span.last + 1 - self.at;
            let ahead = match self.at.cmp(&self.want) {
                Ordering::Less if frees => return false,
                Ordering::Less => self.want - self.at,
                Ordering::Equal if self.takes => return false,
                _ if frees && !runs => rest,
                _ if !runs => rest + self.want - self.span.first,
                Ordering::Greater if self.at >= self.goal(around).min(self.span.last + 1) => rest,
                _ => return false,
            };
            let sectors = ahead.min(by_time);
            self.passed += sectors;
            self.at = self.span.first + (self.at - self.span.first + sectors) % track;
        }
        let begins = self.origin + self.passed as f64 * self.sector_ns;
        self.takes = self.may_take(around, self.at, begins);
        true
    }

    /// A sector has passed.
    pub(super) fn end_sector(&mut self, around: &mut Around<'_>) {
        let now = self.end_of_sector();
        self.passed += 1;
        let cache = &around.electronics.cache;
        let taken = self.takes
            && (self.writes || cache.reads_directly || self.has_room(around, self.at, now));
        if taken {
            self.take(around);
        }
        let size = cache.segment_sectors;
        let segment = &mut around.cache.segments[self.segment];
        if self.writes {
            segment.written = self.want;
            if self.want >= segment.target {
                segment.state = cache.written();
                return self.end(now);
            }
        } else {
            segment.extend_to(self.want, size);
            if self.own_end.is_some_and(|end| self.want >= end) {
                self.own_end = None;
            }
            if self.own_end.is_none() && self.want >= segment.limit {
                segment.state = State::Clean;
                return self.end(now);
            }
        }
        if self.want > self.span.last {
            return self.cross(around, now);
        }
        if self.remaps && taken && around.mechanics.geometry.placed(self.want).1 {
            return self.begin(around, self.want, now, 0.0);
        }
        if self.is_cut && self.at >= self.span.last {
            // Not taken: it comes round again.
            return self.begin(around, self.want, now, 0.0);
        }
        self.at = match self.at >= self.span.last {
            true => self.span.first,
            false => self.at + 1,
        };
        self.takes = self.may_take(around, self.at, now)
            && !(self.remaps
                && around.mechanics.geometry.placed(self.at).1
                && self.span.first != self.span.last);
    }

    /// A sector that has passed was taken.
    fn take(&mut self, around: &mut Around<'_>) {
        let immediate = around.electronics.cache.immediate_reads && !self.writes;
        let segment = &mut around.cache.segments[self.segment];
        let goal = match (self.writes, self.own_end) {
            (true, _) => segment.end,
            (false, Some(end)) => end,
            (false, None) => segment.limit,
        };
        let last = goal.min(self.span.last + 1);
        let sector = self.at;
        if sector == self.want {
            self.want = sector + 1;
            if let Some((begin, end)) = self.run
                && begin == self.want
            {
                self.want = end;
                self.run = None;
            }
        } else if !self.writes && sector < segment.start {
            (segment.start, segment.end) = (sector, sector);
            self.want = sector + 1;
        } else if let Some((begin, end)) = self.run {
            if sector < last && sector >= end {
                self.run = Some(if sector == end {
                    (begin, end + 1)
                } else {
                    (sector, sector + 1)
                });
            }
        } else if immediate && self.want < sector && sector < last {
            self.run = Some((sector, sector + 1));
        }
    }
}
