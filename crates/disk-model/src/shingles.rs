//! The translation layer of a drive-managed shingled drive: what is written where, and when bands are cleaned.
//!
//! ```text
//!  buffer ──► a run of writes that fills bands? ──yes──► its band, in place
//!                │ no
//!                ▼                                cleaning: read the band, gather its blocks
//!             media cache: append to the log ───► from the cache, write the band
//! ```
//!
//! - A sweep of the arm appends all that waits in the buffer, then the record of the map, which takes whole
//!   revolutions. So a write on its own, right after the last one, costs whole revolutions too.
//! - The log is a ring, and is cleaned from its oldest block on: the whole band of that block, first in, first out. Full is the
//!   ring when the oldest block would be overwritten, or the map when it might need more entries than it has. Then
//!   what waits in the buffer waits until a band is clean.
//! - A run of writes that is long enough when it comes to the beginning of a band goes on there. Where it breaks off inside
//!   a band, the rest of the band is read and written again, because the tracks overlap.
//! - Cleaning for which no request waits goes step by step (a track, or a block of the cache), and gives way between
//!   two of them. The band is held in the buffer meanwhile.
//!
//! Source: Aghayev and Desnoyers, "Skylight: A Window on Shingled Disk Operation", FAST 2015, who find a log at one place
//! of the platters, static mapping, first in, first out, and a limit on the entries of the map. What they cannot see
//! is ours: how much is appended at a time, when a run is recognised, and that the rest of a band is repaired.

use std::ops::Range;

use iosonar_device::{Access, MediaWork};

use crate::Mechanics;
use crate::bands::Bands;
use crate::extents::{Extent, Extents};
use crate::mechanics::{Head, Track};
use crate::profile::BandCleaning;

/// How many runs of writes are followed.
const RUNS: usize = 4;

/// A movement of the arm over several places, with nothing in between.
pub(crate) struct Sweep<'a> {
    pub(crate) mechanics: &'a Mechanics,
    pub(crate) bands: &'a Bands,
    pub(crate) head: &'a mut Head,
    /// How far it has come, in nanoseconds from the clock of the head.
    pub(crate) at: f64,
}

impl Sweep<'_> {
    /// The sector of the host behind the last one on the track of one.
    fn end_of_track(&self, sector: u64) -> u64 {
        let (home, _) = self.bands.home(sector);
        sector + self.mechanics.geometry.track(home).last + 1 - home
    }
}

/// Consecutive writes.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    begin: u64,
    end: u64,
    /// Whether the band that it is in is written in place.
    streams: bool,
    used: u64,
}

/// What is done next to a band.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Its sectors are read, from this one on.
    Read(u64),
    /// Its blocks in the cache, from this one on.
    Gather(usize),
    /// Its sectors are written, from this one on.
    Write(u64),
}

#[derive(Clone, Debug)]
struct Cleaning {
    band: Range<u64>,
    /// What is appended from here on stays in the cache.
    until: u64,
    step: Step,
}

/// The state of the translation layer.
#[derive(Clone, Debug)]
pub(crate) struct Shingles {
    extents: Extents,
    /// The place of the next append; places are never used again, their positions on the ring are.
    head: u64,
    runs: [Run; RUNS],
    pieces: u64,
    cleaning: Option<Cleaning>,
    /// The blocks of the band that is being cleaned.
    fragments: Vec<Extent>,
    /// What the arm did last in a sweep, up to which sector of the medium, and on which track.
    last: Option<(Access, u64, Track)>,
    /// Whether this sweep has appended something.
    appended: bool,
    work: MediaWork,
}

impl Shingles {
    pub(crate) fn new() -> Self {
        Self {
            extents: Extents::default(),
            head: 0,
            runs: [Run::default(); RUNS],
            pieces: 0,
            cleaning: None,
            fragments: Vec::new(),
            last: None,
            appended: false,
            work: MediaWork::default(),
        }
    }

    /// Where a sector of the host is on the medium, and how many follow on it there.
    #[inline]
    pub(crate) fn locate(&self, bands: &Bands, sector: u64) -> (u64, u64) {
        match self.extents.at(sector) {
            (Some(place), run) => {
                let (at, rest) = bands.of_log(place);
                (at, run.min(rest))
            }
            (None, run) => {
                let (at, rest) = bands.home(sector);
                (at, run.min(rest))
            }
        }
    }

    /// Where on the medium the next append begins.
    pub(crate) fn append_at(&self, bands: &Bands) -> u64 {
        bands.of_log(self.head).0
    }

    /// These sectors need not be kept.
    pub(crate) fn discard(&mut self, range: Range<u64>) {
        self.extents.remove(range);
    }

    /// How many sectors of the ring are taken, from the oldest block on.
    fn fill(&self) -> u64 {
        self.head - self.extents.oldest().map_or(self.head, |(place, _)| place)
    }

    /// What was done since the last [`forget_work`](Self::forget_work), with the cache as it is now.
    pub(crate) fn work(&self, bands: &Bands) -> MediaWork {
        MediaWork {
            cache_sectors: bands.cache_sectors(),
            cache_fill: self.fill(),
            cache_peak: self.work.cache_peak.max(self.fill()),
            map_limit: bands.map_entries as u64,
            map_entries: self.extents.len() as u64,
            ..self.work
        }
    }

    pub(crate) fn forget_work(&mut self) {
        self.work = MediaWork {
            cache_peak: self.fill(),
            ..MediaWork::default()
        };
    }

    /// The arm goes to sectors of the medium and passes over them.
    fn pass(&mut self, sweep: &mut Sweep<'_>, access: Access, sector: u64, sectors: u64) {
        let Sweep {
            mechanics, head, ..
        } = sweep;
        let place = mechanics.geometry.place(sector);
        let seek = match self.last == Some((access, sector, head.track)) {
            true => mechanics.crossing_ns(head.track, &place, access),
            false => mechanics.seek_ns(head.track, &place, access),
        };
        let there = sweep.at + seek;
        let begins = there + head.latency_ns(place.turn, there, mechanics.revolution_ns);
        sweep.at = mechanics.pass(head, access, (sector, place), sectors as u32, begins);
        self.last = Some((access, sector + sectors, head.track));
    }

    /// Passes over sectors of the log, on the ring.
    fn pass_log(&mut self, sweep: &mut Sweep<'_>, access: Access, place: u64, sectors: u64) {
        let (at, rest) = sweep.bands.of_log(place);
        let here = sectors.min(rest);
        self.pass(sweep, access, at, here);
        if here < sectors {
            let (at, _) = sweep.bands.of_log(place + here);
            self.pass(sweep, access, at, sectors - here);
        }
    }

    /// Passes over sectors of a band, in place.
    fn pass_band(&mut self, sweep: &mut Sweep<'_>, access: Access, sectors: Range<u64>) {
        let (at, _) = sweep.bands.home(sectors.start);
        self.pass(sweep, access, at, sectors.end - sectors.start);
    }

    /// Writes sectors to their bands, or to the cache. Gives up to where: not to the end if the cache is full, and
    /// this sweep has written to it.
    pub(crate) fn write(&mut self, sweep: &mut Sweep<'_>, piece: Range<u64>) -> u64 {
        let run = self.run(sweep, piece.start);
        let mut at = piece.start;
        while at < piece.end {
            let band = sweep.bands.band(sweep.mechanics, at);
            let of = &mut self.runs[run];
            if at == band.start {
                of.streams = at - of.begin >= sweep.bands.stream_sectors;
            }
            let (streams, end) = (of.streams, piece.end.min(band.end));
            if streams {
                self.stream(sweep, at..end);
            } else if !self.append(sweep, at..end, at != band.start) {
                break;
            }
            at = end;
            self.runs[run].end = at;
        }
        at
    }

    /// The run that goes on with this sector, or a new one in place of that which was used longest ago.
    fn run(&mut self, sweep: &mut Sweep<'_>, begin: u64) -> usize {
        self.pieces += 1;
        let goes_on = |run: &Run| run.used > 0 && run.end == begin;
        let known = self.runs.iter().position(goes_on);
        let oldest = (0..RUNS).min_by_key(|&i| self.runs[i].used);
        let chosen = known.or(oldest).expect("there are runs");
        if known.is_none() {
            self.close(sweep, chosen);
            self.runs[chosen] = Run {
                begin,
                end: begin,
                ..Run::default()
            };
        }
        self.runs[chosen].used = self.pieces;
        chosen
    }

    /// Whether a run has broken off inside a band that it writes in place.
    fn is_open(&self, mechanics: &Mechanics, bands: &Bands, run: usize) -> bool {
        let run = &self.runs[run];
        run.streams && run.end < bands.capacity && bands.band(mechanics, run.end).start != run.end
    }

    /// A run will not go on: what it leaves of its band is read and written again.
    fn close(&mut self, sweep: &mut Sweep<'_>, run: usize) {
        if self.is_open(sweep.mechanics, sweep.bands, run) {
            let from = self.runs[run].end;
            let rest = from..sweep.bands.band(sweep.mechanics, from).end;
            let sectors = rest.end - rest.start;
            self.pass_band(sweep, Access::Read, rest.clone());
            self.pass_band(sweep, Access::Write, rest);
            self.work.repair_sectors += sectors;
        }
        self.runs[run].streams = false;
    }

    fn stream(&mut self, sweep: &mut Sweep<'_>, sectors: Range<u64>) {
        // What is being cleaned is overwritten.
        if self
            .cleaning
            .as_ref()
            .is_some_and(|c| c.band.contains(&sectors.start))
        {
            self.cleaning = None;
        }
        self.work.streamed_sectors += sectors.end - sectors.start;
        self.extents.remove(sectors.clone());
        self.pass_band(sweep, Access::Write, sectors);
    }

    /// Whether the ring and the map have room for sectors, which may cut an entry of the map in two.
    fn has_room(&self, bands: &Bands, sectors: u64) -> bool {
        self.extents.len() + 2 <= bands.map_entries
            && self.fill() + sectors <= bands.cache_sectors()
    }

    fn append(&mut self, sweep: &mut Sweep<'_>, sectors: Range<u64>, joins: bool) -> bool {
        let n = sectors.end - sectors.start;
        while !self.has_room(sweep.bands, n) {
            if self.appended {
                return false;
            }
            self.clean_band(sweep);
        }
        let place = self.head;
        self.pass_log(sweep, Access::Write, place, n);
        self.head += n;
        let extent = Extent {
            first: sectors.start,
            sectors: n,
            place,
        };
        self.extents.insert(extent, joins);
        self.work.cached_sectors += n;
        self.work.cache_peak = self.work.cache_peak.max(self.fill());
        self.appended = true;
        true
    }

    /// The pieces of a sweep are written: now the record of the map.
    pub(crate) fn end_sweep(&mut self, sweep: &mut Sweep<'_>) {
        if std::mem::take(&mut self.appended) {
            sweep.at += sweep.bands.record_ns;
        }
    }

    /// The band of the oldest block, without a break: a write waits for it.
    fn clean_band(&mut self, sweep: &mut Sweep<'_>) {
        self.work.awaited_bands += 1;
        self.begin_cleaning(sweep);
        while self.cleaning.is_some() {
            self.clean_step(sweep);
        }
    }

    /// Whether there is something to clean while no request comes.
    pub(crate) fn wants_cleaning(&self, mechanics: &Mechanics, bands: &Bands) -> bool {
        bands.cleaning == BandCleaning::Aggressive
            && (self.extents.len() > 0 || (0..RUNS).any(|run| self.is_open(mechanics, bands, run)))
    }

    /// The next step of cleaning while no request comes.
    pub(crate) fn clean_in_idle_time(&mut self, sweep: &mut Sweep<'_>) {
        for run in 0..RUNS {
            if self.is_open(sweep.mechanics, sweep.bands, run) {
                return self.close(sweep, run);
            }
        }
        self.begin_cleaning(sweep);
        self.clean_step(sweep);
    }

    /// The band of the oldest block is to be cleaned, unless one is being cleaned.
    fn begin_cleaning(&mut self, sweep: &Sweep<'_>) {
        if self.cleaning.is_none() {
            let (_, first) = self.extents.oldest().expect("a block is in the cache");
            let band = sweep.bands.band(sweep.mechanics, first);
            self.cleaning = Some(Cleaning {
                step: Step::Read(band.start),
                until: self.head,
                band,
            });
        }
    }

    fn clean_step(&mut self, sweep: &mut Sweep<'_>) {
        let Some(Cleaning { band, until, step }) = self.cleaning.take() else {
            return;
        };
        let next = match step {
            Step::Read(at) => {
                let end = sweep.end_of_track(at).min(band.end);
                self.work.cleaning_reads += end - at;
                self.pass_band(sweep, Access::Read, at..end);
                if end < band.end {
                    Step::Read(end)
                } else {
                    self.find_fragments(&band, until);
                    Step::Gather(0)
                }
            }
            Step::Gather(i) => {
                if let Some(&Extent { place, sectors, .. }) = self.fragments.get(i) {
                    self.work.cleaning_reads += sectors;
                    self.pass_log(sweep, Access::Read, place, sectors);
                }
                match i + 1 < self.fragments.len() {
                    true => Step::Gather(i + 1),
                    false => Step::Write(band.start),
                }
            }
            Step::Write(at) => {
                let end = sweep.end_of_track(at).min(band.end);
                self.work.cleaning_writes += end - at;
                self.pass_band(sweep, Access::Write, at..end);
                if end == band.end {
                    return self.end_cleaning(&band, until);
                }
                Step::Write(end)
            }
        };
        self.cleaning = Some(Cleaning {
            band,
            until,
            step: next,
        });
    }

    /// The blocks of a band that were in the cache when its cleaning began, in the order of the log.
    fn find_fragments(&mut self, band: &Range<u64>, until: u64) {
        self.fragments.clear();
        let all = self.extents.within(band.clone());
        self.fragments.extend(all.filter(|e| e.place < until));
        self.fragments.sort_unstable_by_key(|extent| extent.place);
    }

    fn end_cleaning(&mut self, band: &Range<u64>, until: u64) {
        // Some may have been overwritten since they were gathered.
        self.find_fragments(band, until);
        for extent in &self.fragments {
            let range = extent.first..extent.first + extent.sectors;
            self.extents.remove(range);
        }
        self.work.cleaned_bands += 1;
    }
}
