//! The bus process: chunks of sectors between a segment and the host.
//!
//! ```text
//! Delay ──► Chunk ──► Chunk ... ──► Completing ──► done
//!    ▲        │ nothing there, or no room
//!    │        ├──► Holding: the next sector starts the next chunk
//!    │        └──► Leaving ──► Away ──┐ the water mark is reached
//!    └────────────────────────────────┘ reselection, preparation of data
//! ```

use crate::command::Electronics;
use crate::segment::Segment;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bus {
    /// Before a chunk.
    Delay,
    Chunk,
    /// Kept until there is a sector, or room for one.
    Holding,
    /// Being left.
    Leaving,
    /// Not held.
    Away,
    /// All data have crossed; kept until they are on the medium.
    Writing,
    Completing,
    Done,
}

/// A request between its command and its completion. Times in nanoseconds from the clock of the head.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    pub(crate) segment: usize,
    pub(crate) writes: bool,
    pub(crate) begin: u64,
    end: u64,
    /// The next sector that crosses the bus.
    pub(crate) out: u64,
    bus: Bus,
    /// When the bus does something next.
    pub(crate) time: f64,
    chunk: u64,
    chunk_began: f64,
    /// When data crossed first.
    pub(crate) data_began: Option<f64>,
    sector_ns: f64,
    mark: u64,
    /// The bus is not rejoined before.
    ready_at: f64,
    /// Leaving the bus, and rejoining it for the first time and later.
    leave_ns: f64,
    reselects: [f64; 2],
    /// Whether the write is complete when its data are in the buffer.
    fast: bool,
}

/// How a request begins on the bus.
#[derive(Clone, Copy, Debug)]
pub(crate) enum First {
    /// The bus is kept, and data cross from then on.
    Data(f64),
    /// The bus is left then, and rejoined no earlier than the second time.
    Away(f64, f64),
}

impl Transfer {
    pub(crate) fn new(
        electronics: &Electronics,
        writes: bool,
        segment: usize,
        (begin, end): (u64, u64),
        leave_ns: f64,
        first: First,
    ) -> Self {
        let (bus, time, ready_at) = match first {
            First::Data(time) => (Bus::Delay, time, time),
            First::Away(left, ready_at) => (Bus::Leaving, left, ready_at),
        };
        Self {
            segment,
            writes,
            begin,
            end,
            out: begin,
            bus,
            time,
            chunk: 0,
            chunk_began: 0.0,
            data_began: None,
            sector_ns: match writes {
                true => electronics.write_ns,
                false => electronics.read_ns,
            },
            // A write that goes on must find room.
            mark: match writes {
                true => electronics
                    .mark(true, end - begin)
                    .min(electronics.cache.segment_sectors - 1),
                false => electronics.mark(false, end - begin),
            },
            ready_at,
            leave_ns,
            reselects: [electronics.first_reselect; 2],
            fast: electronics.cache.fast_writes,
        }
    }

    /// With an extra disconnection: later ones take their own times.
    pub(crate) fn with_extra(mut self, electronics: &Electronics, leave_ns: f64) -> Self {
        self.leave_ns = leave_ns;
        self.reselects[1] = electronics.other_reselect;
        self
    }

    pub(crate) fn sectors(&self) -> u64 {
        self.end - self.begin
    }

    pub(crate) fn is_done(&self) -> bool {
        self.bus == Bus::Done
    }

    /// How many sectors of the chunk on the bus have crossed it.
    #[inline]
    pub(crate) fn crossed(&self, now: f64) -> u64 {
        if self.bus != Bus::Chunk || now < self.chunk_began {
            return 0;
        }
        match self.sector_ns > 0.0 {
            true => (((now - self.chunk_began) / self.sector_ns) as u64).min(self.chunk),
            false => self.chunk,
        }
    }

    /// Up to where the media process may come before the bus has to be asked.
    #[inline]
    pub(crate) fn watched(&self, size: u64) -> u64 {
        match (self.bus, self.writes) {
            (Bus::Holding, false) => self.out + 1,
            (Bus::Away, false) => (self.out + self.mark.max(1)).min(self.end),
            (Bus::Holding, true) => (self.out + 1).saturating_sub(size),
            (Bus::Away, true) if self.out < self.end => self.out.saturating_sub(self.mark),
            (Bus::Away | Bus::Writing, true) => self.end,
            _ => u64::MAX,
        }
        .max(1)
    }

    /// The media process has gone on: is that enough?
    pub(crate) fn wake(&mut self, electronics: &Electronics, segment: &Segment, now: f64) {
        let size = electronics.cache.segment_sectors;
        let there = segment.end;
        match self.bus {
            Bus::Holding => {
                let goes_on = match self.writes {
                    true => self.out - segment.written.min(self.out) < size,
                    false => there > self.out,
                };
                if goes_on {
                    self.begin_chunk(electronics, segment, now);
                }
            }
            Bus::Away if now >= self.ready_at => {
                if self.writes && self.out == self.end {
                    if segment.written >= self.end {
                        let rejoined = now + self.reselect();
                        self.complete(electronics, rejoined);
                    }
                    return;
                }
                let enough = match self.writes {
                    true => self.out - segment.written.min(self.out) <= self.mark,
                    false => there >= self.end || there >= self.out + self.mark.max(1),
                };
                if enough {
                    let delay = self.reselect() + electronics.data_preparation;
                    (self.bus, self.time) = (Bus::Delay, now + delay);
                }
            }
            Bus::Writing if segment.written >= self.end => self.complete(electronics, now),
            _ => {}
        }
    }

    fn reselect(&mut self) -> f64 {
        let later = self.reselects[1];
        std::mem::replace(&mut self.reselects[0], later)
    }

    fn begin_chunk(&mut self, electronics: &Electronics, segment: &Segment, now: f64) {
        let size = electronics.cache.segment_sectors;
        let sectors = match self.writes {
            true => {
                let unwritten = self.out - segment.written.min(self.out);
                size.saturating_sub(unwritten).min(self.end - self.out)
            }
            false => segment.end.min(self.end).saturating_sub(self.out),
        };
        if sectors > 0 {
            self.data_began.get_or_insert(now);
            (self.chunk, self.chunk_began) = (sectors, now);
            (self.bus, self.time) = (Bus::Chunk, now + sectors as f64 * self.sector_ns);
            return;
        }
        let holds = match self.writes {
            true => electronics.hold_writes,
            false => electronics.hold_reads,
        };
        if holds || electronics.never_disconnect {
            (self.bus, self.time) = (Bus::Holding, f64::INFINITY);
        } else {
            (self.bus, self.time) = (Bus::Leaving, now + self.leave_ns);
            self.ready_at = self.time;
        }
    }

    fn complete(&mut self, electronics: &Electronics, at: f64) {
        let overhead = match self.writes {
            true => electronics.write_completion,
            false => electronics.read_completion,
        };
        (self.bus, self.time) = (Bus::Completing, at + overhead);
    }

    /// What the bus does next happens.
    pub(crate) fn step(&mut self, electronics: &Electronics, segment: &mut Segment) {
        let now = self.time;
        match self.bus {
            Bus::Delay => self.begin_chunk(electronics, segment, now),
            Bus::Chunk => {
                self.out += self.chunk;
                self.chunk = 0;
                if self.writes {
                    segment.extend_to(self.out, electronics.cache.segment_sectors);
                } else if electronics.cache.requested == crate::profile::Requested::DroppedWhenSent
                {
                    segment.start = segment.start.max(self.out.min(segment.end));
                }
                if self.out < self.end {
                    self.begin_chunk(electronics, segment, now);
                } else if self.fast || !self.writes {
                    self.complete(electronics, now);
                } else if electronics.never_disconnect {
                    (self.bus, self.time) = (Bus::Writing, f64::INFINITY);
                    self.wake(electronics, segment, now);
                } else {
                    (self.bus, self.time) = (Bus::Leaving, now + self.leave_ns);
                    self.ready_at = self.time;
                }
            }
            Bus::Leaving | Bus::Away => {
                self.bus = Bus::Away;
                // If it is too early the bus is asked again.
                self.time = match now < self.ready_at {
                    true => self.ready_at,
                    false => f64::INFINITY,
                };
                self.wake(electronics, segment, now);
            }
            Bus::Completing => self.bus = Bus::Done,
            Bus::Holding | Bus::Writing | Bus::Done => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::tests::electronics as changed;
    use crate::{BusProfile, CacheProfile, OverheadsProfile, Requested};

    /// A sector takes 1 µs when it is read and 2 µs when it is written; segments have 100 sectors.
    fn electronics(change: impl FnOnce(&mut BusProfile, &mut CacheProfile)) -> Electronics {
        changed(|profile| {
            profile.overheads = Some(OverheadsProfile {
                read_completion_ms: 0.01,
                write_completion_ms: 0.02,
                data_preparation_ms: 0.003,
                first_reselect_ms: 0.004,
                other_reselect_ms: 0.005,
                ..OverheadsProfile::default()
            });
            let bus = profile.bus.as_mut().unwrap();
            (bus.read_ms_per_sector, bus.write_ms_per_sector) = (0.001, 0.002);
            change(bus, profile.cache.as_mut().unwrap());
        })
    }

    fn near(seen: f64, expected: f64) {
        let same = seen == expected || (seen - expected).abs() < 1e-6;
        assert!(same, "{seen}, not {expected}");
    }

    fn holding(start: u64, end: u64) -> Segment {
        Segment {
            start,
            end,
            ..Segment::default()
        }
    }

    /// The sectors 10 up to 30, from 1000 ns on; the bus is left in 700 ns.
    fn transfer(electronics: &Electronics, writes: bool) -> Transfer {
        Transfer::new(electronics, writes, 0, (10, 30), 700.0, First::Data(1000.0))
    }

    /// Does what comes next, and expects it at this time.
    fn step(transfer: &mut Transfer, electronics: &Electronics, segment: &mut Segment, at: f64) {
        near(transfer.time, at);
        transfer.step(electronics, segment);
    }

    #[test]
    fn what_is_there_crosses_the_bus_sector_by_sector() {
        let electronics = electronics(|_, _| {});
        let mut segment = holding(10, 30);
        let mut read = transfer(&electronics, false);
        assert_eq!(
            (read.sectors(), read.crossed(5000.0), read.watched(100)),
            (20, 0, u64::MAX)
        );
        step(&mut read, &electronics, &mut segment, 1000.0);
        assert_eq!((read.bus, read.data_began), (Bus::Chunk, Some(1000.0)));
        for (now, crossed) in [
            (0.0, 0),
            (1000.0, 0),
            (1999.0, 0),
            (2000.0, 1),
            (20_500.0, 19),
            (99_000.0, 20),
        ] {
            assert_eq!(read.crossed(now), crossed, "{now}");
        }
        step(&mut read, &electronics, &mut segment, 21_000.0);
        assert_eq!(
            (read.out, read.crossed(99_000.0), read.bus),
            (30, 0, Bus::Completing)
        );
        assert_eq!((segment.start, segment.end), (10, 30));
        step(&mut read, &electronics, &mut segment, 31_000.0);
        assert!(read.is_done());
    }

    #[test]
    fn on_a_bus_without_a_time_all_sectors_cross_at_once() {
        let electronics = electronics(|bus, _| bus.read_ms_per_sector = 0.0);
        let mut read = transfer(&electronics, false);
        step(&mut read, &electronics, &mut holding(10, 25), 1000.0);
        assert_eq!([999.0, 1000.0].map(|now| read.crossed(now)), [0, 15]);
    }

    #[test]
    fn a_read_leaves_the_bus_where_nothing_is_there_and_comes_back_at_the_water_mark() {
        let electronics = electronics(|bus, _| bus.read_water_mark = 0.25);
        let mut segment = holding(10, 12);
        let mut read = transfer(&electronics, false);
        step(&mut read, &electronics, &mut segment, 1000.0);
        // Two sectors, and the disconnection.
        step(&mut read, &electronics, &mut segment, 3000.0);
        assert_eq!(read.bus, Bus::Leaving);
        // Until it has left nothing happens.
        segment.end = 17;
        read.wake(&electronics, &segment, 3500.0);
        assert_eq!(read.bus, Bus::Leaving);
        segment.end = 16;
        step(&mut read, &electronics, &mut segment, 3700.0);
        // Five sectors more than those that have crossed: a quarter of the request.
        assert_eq!(
            (read.bus, read.time, read.watched(100)),
            (Bus::Away, f64::INFINITY, 17)
        );
        read.wake(&electronics, &segment, 6000.0);
        assert_eq!(read.bus, Bus::Away);
        segment.end = 17;
        read.wake(&electronics, &segment, 6000.0);
        // Reselection and the preparation of data.
        step(&mut read, &electronics, &mut segment, 13_000.0);
        assert_eq!((read.bus, read.data_began), (Bus::Chunk, Some(1000.0)));
        segment.end = 28;
        step(&mut read, &electronics, &mut segment, 18_000.0);
        // What has come meanwhile crosses at once, without the mark.
        step(&mut read, &electronics, &mut segment, 29_000.0);
        assert_eq!((read.bus, read.out), (Bus::Leaving, 28));
        step(&mut read, &electronics, &mut segment, 29_700.0);
        // The end is enough.
        assert_eq!(read.watched(100), 30);
        segment.end = 30;
        read.wake(&electronics, &segment, 40_000.0);
        step(&mut read, &electronics, &mut segment, 47_000.0);
        step(&mut read, &electronics, &mut segment, 49_000.0);
        step(&mut read, &electronics, &mut segment, 59_000.0);
        assert!(read.is_done());
    }

    #[test]
    fn a_read_that_holds_the_bus_goes_on_with_the_next_sector() {
        for never_disconnect in [false, true] {
            let electronics = electronics(|bus, cache| {
                (bus.hold_reads, bus.never_disconnect) = (!never_disconnect, never_disconnect);
                cache.requested = Requested::DroppedWhenSent;
            });
            let mut segment = holding(10, 15);
            let mut read = transfer(&electronics, false);
            step(&mut read, &electronics, &mut segment, 1000.0);
            step(&mut read, &electronics, &mut segment, 6000.0);
            assert_eq!(
                (read.bus, read.time, read.watched(100)),
                (Bus::Holding, f64::INFINITY, 16)
            );
            // What has been sent is dropped.
            assert_eq!((segment.start, segment.end), (15, 15));
            read.wake(&electronics, &segment, 8000.0);
            assert_eq!(read.bus, Bus::Holding);
            segment.end = 16;
            read.wake(&electronics, &segment, 9000.0);
            near(read.time, 10_000.0);
            assert_eq!(read.bus, Bus::Chunk);
        }
    }

    #[test]
    fn a_write_fills_its_segment_and_waits_for_room() {
        for hold_writes in [false, true] {
            let electronics = electronics(|bus, cache| {
                (bus.hold_writes, bus.write_water_mark) = (hold_writes, 0.5);
                cache.segment_sectors = 8;
            });
            // Of eight sectors, 20 in all.
            let mut segment = holding(10, 10);
            segment.written = 10;
            let mut write = transfer(&electronics, true);
            step(&mut write, &electronics, &mut segment, 1000.0);
            step(&mut write, &electronics, &mut segment, 17_000.0);
            assert_eq!((segment.start, segment.end, write.out), (10, 18, 18));
            if hold_writes {
                // One sector less is enough.
                assert_eq!((write.bus, write.watched(8)), (Bus::Holding, 11));
                write.wake(&electronics, &segment, 18_000.0);
                assert_eq!(write.bus, Bus::Holding);
                segment.written = 11;
                write.wake(&electronics, &segment, 20_000.0);
                step(&mut write, &electronics, &mut segment, 22_000.0);
                assert_eq!(
                    (segment.start, segment.end, write.bus),
                    (11, 19, Bus::Holding)
                );
                continue;
            }
            step(&mut write, &electronics, &mut segment, 17_700.0);
            // Half of a segment may be left.
            assert_eq!((write.bus, write.watched(8)), (Bus::Away, 14));
            segment.written = 13;
            write.wake(&electronics, &segment, 18_000.0);
            assert_eq!(write.bus, Bus::Away);
            segment.written = 14;
            write.wake(&electronics, &segment, 18_000.0);
            step(&mut write, &electronics, &mut segment, 25_000.0);
            // Four sectors, two of which are written meanwhile; six more, and then the last two.
            segment.written = 16;
            step(&mut write, &electronics, &mut segment, 33_000.0);
            assert_eq!((write.out, write.bus), (22, Bus::Chunk));
            segment.written = 30;
            step(&mut write, &electronics, &mut segment, 37_000.0);
            step(&mut write, &electronics, &mut segment, 49_000.0);
            // All data have crossed; they are on the medium, too, when the bus has been left.
            assert_eq!((write.out, write.bus), (30, Bus::Leaving));
            step(&mut write, &electronics, &mut segment, 49_700.0);
            // Rejoined, and complete.
            step(
                &mut write,
                &electronics,
                &mut segment,
                49_700.0 + 4000.0 + 20_000.0,
            );
            assert!(write.is_done());
        }
    }

    #[test]
    fn a_write_is_complete_when_its_data_are_in_the_buffer_or_on_the_medium() {
        for (fast_writes, never_disconnect) in
            [(true, false), (true, true), (false, true), (false, false)]
        {
            let electronics = electronics(|bus, cache| {
                (bus.never_disconnect, cache.fast_writes) = (never_disconnect, fast_writes);
            });
            let mut segment = holding(10, 10);
            segment.written = 10;
            let mut write = transfer(&electronics, true);
            step(&mut write, &electronics, &mut segment, 1000.0);
            step(&mut write, &electronics, &mut segment, 41_000.0);
            if fast_writes {
                step(&mut write, &electronics, &mut segment, 61_000.0);
                assert!(write.is_done());
                continue;
            }
            if !never_disconnect {
                step(&mut write, &electronics, &mut segment, 41_700.0);
            }
            let waits = if never_disconnect {
                Bus::Writing
            } else {
                Bus::Away
            };
            segment.written = 29;
            write.wake(&electronics, &segment, 50_000.0);
            assert_eq!(
                (write.bus, write.time, write.watched(100)),
                (waits, f64::INFINITY, 30)
            );
            segment.written = 30;
            write.wake(&electronics, &segment, 60_000.0);
            let rejoins = if never_disconnect { 0.0 } else { 4000.0 };
            step(&mut write, &electronics, &mut segment, 80_000.0 + rejoins);
            assert!(write.is_done());
        }
    }

    #[test]
    fn the_bus_is_not_rejoined_before_the_arm_is_free_and_later_in_a_time_of_its_own() {
        let electronics = electronics(|_, _| {});
        let mut segment = holding(10, 10);
        segment.written = 10;
        let away = First::Away(2000.0, 5000.0);
        let write = Transfer::new(&electronics, true, 0, (10, 30), 700.0, away);
        let mut write = write.with_extra(&electronics, 900.0);
        step(&mut write, &electronics, &mut segment, 2000.0);
        write.wake(&electronics, &segment, 4000.0);
        assert_eq!(write.bus, Bus::Away);
        step(&mut write, &electronics, &mut segment, 5000.0);
        step(
            &mut write,
            &electronics,
            &mut segment,
            5000.0 + 4000.0 + 3000.0,
        );
        assert_eq!(write.data_began, Some(12_000.0));
        step(&mut write, &electronics, &mut segment, 52_000.0);
        // It leaves the bus in the time of the second disconnection.
        segment.written = 30;
        step(&mut write, &electronics, &mut segment, 52_900.0);
        step(
            &mut write,
            &electronics,
            &mut segment,
            52_900.0 + 5000.0 + 20_000.0,
        );
        assert!(write.is_done());
    }
}
