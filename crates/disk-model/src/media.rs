//! The media process: the arm, the platter, and sector after sector between the medium and a segment.
//!
//! ```text
//! begin ──► Seeking ──► Waiting ──► Passing: sector, sector, ... last of the track ──► Seeking ...
//!                                     │ taken or not, as each begins to pass
//!                                     ▼
//!                                  segment
//! ```
//!
//! A sector that is not taken, because its data are not there yet or because there is no room, comes round again
//! with the sectors of its track. When a read has what was asked for the process goes on reading ahead; when a write
//! is on the medium it ends.
//!
//! Sector by sector would be too slow for long read-ahead: [`Media::advance`] goes over many sectors at once where
//! neither the bus nor the end of the track or of the work can interfere. The end of each sector is computed from
//! the same origin either way, so that both ways give the same times to the last bit (a test compares them).

mod passing;

use iosonar_device::Access;

use crate::bus::Transfer;
use crate::cache::Cache;
use crate::command::Electronics;
use crate::geometry::TrackSpan;
use crate::mechanics::{Head, Mechanics, ROUNDING_NS, Track};
use crate::profile::{Arrival, ReadAhead};
use crate::segment::State;
use crate::shingles::Shingles;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Seeking,
    Waiting,
    Passing,
    /// The arm writes several segments, or cleans, without a break.
    Sweeping,
}

/// What the media process works with.
pub(crate) struct Around<'a> {
    pub(crate) mechanics: &'a Mechanics,
    pub(crate) electronics: &'a Electronics,
    pub(crate) head: &'a mut Head,
    pub(crate) cache: &'a mut Cache,
    /// Where sectors are, if the drive is shingled.
    pub(crate) shingles: Option<&'a Shingles>,
    /// The request that is being served, until it is complete.
    pub(crate) transfer: Option<&'a Transfer>,
}

/// The arm and what passes under its head. Times in nanoseconds from the clock of the head.
#[derive(Clone, Debug)]
pub(crate) struct Media {
    phase: Phase,
    pub(crate) segment: usize,
    pub(crate) writes: bool,
    /// Where the request ends that is being read; none while reading ahead only.
    own_end: Option<u64>,
    /// The next sector that is wanted: the end of the segment of a read, or what is written next.
    want: u64,
    /// When the arm arrives, or the first sector begins to pass.
    time: f64,
    /// When it began, of a process that writes.
    began: f64,
    /// When the process ended last.
    pub(crate) freed_at: f64,
    target: Track,
    turn: f64,
    span: TrackSpan,
    sectors_per_track: u32,
    sector_ns: f64,
    sectors_per_ns: f64,
    /// Whether sectors of this zone lie away from their tracks.
    remaps: bool,
    /// Whether other sectors of the track lie elsewhere: the span is what follows on the wanted one.
    is_cut: bool,
    /// The first sector of the pass began at `origin`, `passed` sectors ago; `at` is passing, and is taken or not.
    origin: f64,
    passed: u64,
    at: u64,
    takes: bool,
    /// Sectors after the wanted one that are already present.
    run: Option<(u64, u64)>,
    /// Never over many sectors at once.
    pub(crate) sector_by_sector: bool,
}

impl Media {
    pub(crate) fn new() -> Self {
        Self {
            phase: Phase::Idle,
            segment: 0,
            writes: false,
            own_end: None,
            want: 0,
            time: 0.0,
            began: 0.0,
            freed_at: 0.0,
            target: Track {
                cylinder: 0,
                head: 0,
            },
            turn: 0.0,
            span: TrackSpan { first: 0, last: 0 },
            sectors_per_track: 1,
            sector_ns: 0.0,
            sectors_per_ns: 0.0,
            remaps: false,
            is_cut: false,
            origin: 0.0,
            passed: 0,
            at: 0,
            takes: false,
            run: None,
            sector_by_sector: false,
        }
    }

    /// Times are counted from `passed` ns later on.
    #[inline]
    pub(crate) fn rewind(&mut self, passed: f64) {
        self.time -= passed;
        self.origin -= passed;
        self.began -= passed;
        self.freed_at -= passed;
    }

    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// Whether data of this segment are being written.
    #[inline]
    pub(crate) fn is_writing(&self) -> bool {
        self.phase != Phase::Idle && self.writes
    }

    #[inline]
    pub(crate) fn is_reading(&self) -> bool {
        self.phase != Phase::Idle && !self.writes
    }

    /// Whether what is being read was asked for, or must be read nevertheless.
    #[inline]
    pub(crate) fn has_own_end(&self) -> bool {
        self.own_end.is_some()
    }

    /// When something happens next.
    #[inline]
    pub(crate) fn next(&self) -> f64 {
        match self.phase {
            Phase::Idle => f64::INFINITY,
            Phase::Seeking | Phase::Waiting | Phase::Sweeping => self.time,
            Phase::Passing => self.end_of_sector(),
        }
    }

    /// When the process began, of one that writes.
    #[inline]
    pub(crate) fn began(&self) -> f64 {
        self.began
    }

    #[inline]
    fn end_of_sector(&self) -> f64 {
        self.origin + (self.passed + 1) as f64 * self.sector_ns
    }

    /// Begins to fill a segment from `at_ns` on.
    pub(crate) fn read(
        &mut self,
        around: &mut Around<'_>,
        segment: usize,
        own_end: Option<u64>,
        at_ns: f64,
    ) {
        let filled = &mut around.cache.segments[segment];
        filled.state = State::Reading;
        (self.segment, self.writes, self.own_end) = (segment, false, own_end);
        self.begin(around, filled_end(around.cache, segment), at_ns, 0.0);
    }

    /// A request wants more of the segment that is being read.
    pub(crate) fn read_on(&mut self, own_end: u64) {
        self.own_end = (own_end > self.want).then_some(own_end);
    }

    /// Begins to write the data of a segment, not before `now`.
    pub(crate) fn write(&mut self, around: &mut Around<'_>, segment: usize, now: f64) {
        let written = &around.cache.segments[segment];
        let (sector, at, least) = (
            written.written,
            now.max(written.not_before),
            written.minimum_seek,
        );
        (self.segment, self.writes, self.own_end) = (segment, true, None);
        self.began = at;
        self.begin(around, sector, at, least);
    }

    /// Begins a sweep of the arm, which ends at `until`.
    pub(crate) fn sweep(&mut self, began: f64, until: f64) {
        (self.writes, self.own_end) = (true, None);
        (self.began, self.time) = (began, until);
        self.phase = Phase::Sweeping;
    }

    /// What the arm has written in a sweep is on the medium.
    fn end_sweep(&mut self, around: &mut Around<'_>) {
        let written = around.electronics.cache.written();
        for segment in &mut around.cache.segments {
            if segment.swept > 0 {
                segment.written = std::mem::take(&mut segment.swept);
                if segment.written >= segment.target {
                    segment.state = written;
                }
            }
        }
        self.end(self.time);
    }

    /// The arm sets out to a sector.
    fn begin(&mut self, around: &mut Around<'_>, sector: u64, at_ns: f64, least_ns: f64) {
        let geometry = &around.mechanics.geometry;
        let bands = around.mechanics.bands.as_ref();
        let (at, run) = match bands.zip(around.shingles) {
            Some((bands, shingles)) => shingles.locate(bands, sector),
            None => (sector, u64::MAX),
        };
        self.is_cut = bands.is_some();
        let (place, remapped) = geometry.placed(at);
        let seek = around
            .mechanics
            .seek_ns(around.head.track, &place, self.access())
            .max(least_ns);
        self.span = match remapped {
            true => TrackSpan {
                first: sector,
                last: sector,
            },
            // Of a shingled drive what follows on the sector; remaps it has none.
            false if self.is_cut => TrackSpan {
                first: sector,
                last: sector + (geometry.track(at).last - at).min(run - 1),
            },
            false => geometry.track(sector),
        };
        self.remaps = geometry.has_remaps(at);
        self.target = Track::from(&place);
        self.turn = place.turn;
        self.sectors_per_track = place.sectors_per_track;
        self.sectors_per_ns = f64::from(place.sectors_per_track) / around.mechanics.revolution_ns;
        self.sector_ns = around.mechanics.revolution_ns / f64::from(place.sectors_per_track);
        (self.want, self.at, self.run) = (sector, sector, None);
        (self.phase, self.time) = (Phase::Seeking, at_ns + seek);
    }

    #[inline]
    fn access(&self) -> Access {
        match self.writes {
            true => Access::Write,
            false => Access::Read,
        }
    }

    /// Ends the process. The segment keeps what it has.
    pub(crate) fn end(&mut self, now: f64) {
        (self.phase, self.freed_at) = (Phase::Idle, now);
    }

    /// Interrupts read-ahead at `now`: gives the instant at which the arm is free.
    pub(crate) fn stop(&mut self, around: &mut Around<'_>, now: f64) -> f64 {
        let at = match self.phase {
            Phase::Idle => return now,
            Phase::Seeking => {
                around.head.track = self.target;
                self.time.max(now)
            }
            Phase::Sweeping => unreachable!("a sweep is not interrupted"),
            _ if around.electronics.cache.stop_in_sector => now,
            Phase::Waiting => self.time.max(now),
            Phase::Passing => self.end_of_sector(),
        };
        let segment = &mut around.cache.segments[self.segment];
        segment.state = match around.electronics.cache.keeps_data {
            true => State::Clean,
            false => State::Empty,
        };
        self.end(at);
        at
    }

    /// What happens next happens; or the same with many sectors, none of which ends after `until`, nor moves the
    /// wanted sector as far as `watched`.
    pub(crate) fn advance(&mut self, around: &mut Around<'_>, until: f64, watched: u64) {
        match self.phase {
            Phase::Idle => {}
            Phase::Seeking => self.arrive(around),
            Phase::Waiting => {
                (self.phase, self.origin, self.passed) = (Phase::Passing, self.time, 0);
                self.takes = self.may_take(around, self.at, self.time);
            }
            Phase::Passing => {
                if self.sector_by_sector || !self.leap(around, until, watched) {
                    self.end_sector(around);
                }
            }
            Phase::Sweeping => self.end_sweep(around),
        }
    }

    /// The arm is over the track: when does which sector begin to pass?
    fn arrive(&mut self, around: &mut Around<'_>) {
        around.head.track = self.target;
        let latency = around
            .head
            .latency_ns(self.turn, self.time, around.mechanics.revolution_ns)
            .max(0.0);
        self.phase = Phase::Waiting;
        let cache = &around.electronics.cache;
        let anywhere = !self.writes
            && !self.is_cut
            && cache.arrival == Arrival::AsDocumented
            && (cache.immediate_reads || (cache.free_blocks && self.want != self.span.first));
        if anywhere && latency > 0.0 {
            // How many sectors ago the wanted one began to pass: less than a turn.
            let gone = f64::from(self.sectors_per_track) - latency * self.sectors_per_ns;
            let (first, last) = (self.span.first, self.span.last);
            // A sector that begins just then is not too late by rounding.
            let behind = (gone - ROUNDING_NS * self.sectors_per_ns).ceil();
            let place = f64::from(self.sectors_per_track) * self.turn_on_track(around);
            let rest = f64::from(self.sectors_per_track) - 1.0 - place.round();
            if gone < ((last - first) as f64).min(rest) {
                let sector = self.want + behind as u64;
                if sector <= last {
                    self.at = sector;
                    self.time += ((behind - gone) * self.sector_ns).max(0.0);
                    return;
                }
            }
        }
        self.time += latency;
    }

    /// Where on its track the wanted sector lies, as a share of it.
    fn turn_on_track(&self, around: &Around<'_>) -> f64 {
        let place = around.mechanics.geometry.place(self.want);
        f64::from(place.sector) / f64::from(place.sectors_per_track)
    }

    /// The track is over: the next one, unless read-ahead ends with this one.
    fn cross(&mut self, around: &mut Around<'_>, now: f64) {
        if !self.writes && self.own_end.is_none() {
            let ends = match around.electronics.cache.read_ahead {
                ReadAhead::Track => true,
                ReadAhead::Cylinder => {
                    let place = around.mechanics.geometry.place(self.want);
                    place.cylinder != self.target.cylinder
                }
                _ => false,
            };
            if ends {
                around.cache.segments[self.segment].state = State::Clean;
                return self.end(now);
            }
        }
        self.begin(around, self.want, now, 0.0);
    }

    /// When the last step was, of a process that has begun.
    #[inline]
    pub(crate) fn came_to(&self) -> f64 {
        match self.phase {
            Phase::Passing => self.origin + self.passed as f64 * self.sector_ns,
            Phase::Idle => self.freed_at,
            Phase::Seeking | Phase::Waiting | Phase::Sweeping => f64::NEG_INFINITY,
        }
    }
}

fn filled_end(cache: &Cache, segment: usize) -> u64 {
    cache.segments[segment].end
}
