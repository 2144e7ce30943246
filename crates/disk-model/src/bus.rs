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
