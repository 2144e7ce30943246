//! A disk drive with a buffer: its electronics and its buffer besides its rotation and its arm.
//!
//! ```text
//! reads again ─► line of hits: command + sectors x bus
//!                  │ all other reads
//!                  ▼
//!                rotation: when the *first* sector passed, as the bus sends behind it
//!                  │ waits from 0 to a revolution
//!                  ▼
//!                command and seek by distance ─► buffer: candidates, request by request ─┐
//!                  ▲ where the arm really was, after read-ahead                          │
//!                  └────────────────────────────────────────────────────────────────────┘
//! ```

mod arm;

use iosonar_disk_model::{BusProfile, CacheProfile, DiskProfile, Geometry, Place, WaterMarkOf};
use iosonar_trace::Op;

use super::Observed;
use super::disk::turning;
use super::figure::{Figure, Found, Missing, Parameter};
use super::hits::{self, Line};
use super::observed::Served;
use super::policy;
use super::replica::Replica;
use super::rotation::{End, Rotation, rotation};
use super::windows::Wait;
use arm::Arm;

/// What records say about the electronics and the buffer of a drive.
#[derive(Clone, Debug)]
pub struct DriveFigures {
    /// One revolution, in milliseconds.
    pub revolution_ms: Found,
    /// A read from the buffer without its data: after a read, after a write. In milliseconds.
    pub hit_command_ms: [Figure; 2],
    /// A sector from the buffer to the host, in milliseconds.
    pub read_ms_per_sector: Figure,
    /// A read from the medium without seek, rotation and data: after a read, after a write. In milliseconds.
    pub miss_command_ms: [Figure; 2],
    /// A write without its data: after a read, after a write. In milliseconds.
    pub write_command_ms: [Figure; 2],
    /// A sector from the host to the buffer, in milliseconds.
    pub write_ms_per_sector: Figure,
    /// How much longer a write seeks than a read, in milliseconds: never known, and kept as it was.
    pub write_seek: Figure,
    /// How many segments the buffer has for reads, the one of writes included where it is theirs alone.
    pub segments: Figure,
    /// The size of each, in sectors.
    pub segment_sectors: Figure,
    /// A read's seek to the next cylinder and across all, in milliseconds.
    pub seek_ends_ms: [Figure; 2],
    /// The points of the seek curve of reads: cylinders, and milliseconds.
    pub seeks: Vec<(f64, Found)>,
}

impl DriveFigures {
    /// All of them by their keys in the profile. The seek curve is one with the errors of its widest point.
    pub fn parameters(&self) -> Vec<Parameter> {
        let of = |key, figure| Parameter { key, figure };
        let [hit, hit_after_write] = self.hit_command_ms;
        let [miss, miss_after_write] = self.miss_command_ms;
        let [write, write_after_write] = self.write_command_ms;
        vec![
            of("revolution_ms", Ok(self.revolution_ms)),
            of("overheads.read_hit_after_read_ms", hit),
            of("overheads.read_hit_after_write_ms", hit_after_write),
            of("overheads.read_miss_after_read_ms", miss),
            of("overheads.read_miss_after_write_ms", miss_after_write),
            of("overheads.write_hit_after_read_ms", write),
            of("overheads.write_hit_after_write_ms", write_after_write),
            of("bus.read_ms_per_sector", self.read_ms_per_sector),
            of("bus.write_ms_per_sector", self.write_ms_per_sector),
            of("cache.segments", self.segments),
            of("cache.segment_sectors", self.segment_sectors),
            of("seek.read.track_to_track_ms", self.seek_ends_ms[0]),
            of("seek.read.full_stroke_ms", self.seek_ends_ms[1]),
            of("seek.write", self.write_seek),
        ]
    }
}

/// A drive that was found.
pub(super) struct FoundDrive {
    pub(super) profile: DiskProfile,
    pub(super) figures: DriveFigures,
    pub(super) rotation: Rotation,
}

/// As many requests are compared one by one.
const COMPARED: usize = 8_000;
/// Below this the places of sectors do not explain the times.
const COHERENT: f64 = 0.5;
/// So far behind a request may the buffer hold what follows, in sectors.
const AHEAD: u64 = 2048;

/// Reads and writes with what is known of them.
struct Requests<'a> {
    served: &'a [Served],
    /// Whether it was served from the buffer; always so for writes that the buffer takes.
    from_buffer: Vec<bool>,
    geometry: Geometry,
    /// When the bus begins to send: with this share of a request read.
    mark: f64,
    ms_per_sector: f64,
    start: &'a DiskProfile,
}

/// The drive that explains the records, with the geometry of `start`.
///
/// # Errors
/// What the records lack.
pub(super) fn drive(training: &Observed, start: &DiskProfile) -> Result<FoundDrive, Missing> {
    let served = training.served();
    let waiting = served.windows(2).filter(|w| w[1].came < w[0].done).count();
    if waiting * 2 > served.len() {
        return Err(Missing::OneAtATime);
    }
    let reads = hits::of_reads(served)?;
    let writes = hits::of_writes(served);
    let mut requests = Requests {
        served,
        from_buffer: from_buffer(served, &reads, writes.as_ref()),
        geometry: Geometry::new(start),
        mark: 0.0,
        ms_per_sector: match (reads.per_sector, &start.bus) {
            (Ok(found), _) => found.value,
            (Err(_), bus) => bus.as_ref().map_or(0.0, |bus| bus.read_ms_per_sector),
        },
        start,
    };
    let rotation = requests.rotation().ok_or(Missing::Places)?;
    let mut profile = turning(start, rotation.revolution_ms, true);
    let cache = profile.cache.get_or_insert_default();
    if matches!(writes, Ok(_) | Err(Missing::Hits)) {
        cache.fast_writes = writes.is_ok();
    }
    profile.bus = Some(requests.bus(writes.as_ref().ok()));
    let replica = Replica::new(served, &rotation);
    let has_writes = training.count(Op::Write) >= Observed::FEWEST as u64 / 4;
    let mut tracks = requests.tracks_behind();
    let mut arm = Arm::of(&requests, &tracks, &rotation);
    let compared = replica.beginning(COMPARED);
    for pass in 0..2 {
        arm.set(&mut profile, &reads, writes.as_ref().ok());
        profile.cache = Some(match profile.cache.take() {
            Some(cache) if pass > 0 => policy::improve(&compared, &profile, cache, has_writes),
            first => {
                profile.cache = first;
                policy::search(&compared, &profile, has_writes)
            }
        });
        tracks.clear();
        replica.run(&profile, |_, track, _| tracks.push(track));
        arm = Arm::of(&requests, &tracks, &rotation);
    }
    arm.set(&mut profile, &reads, writes.as_ref().ok());
    let no_line = match &writes {
        Err(Missing::Hits) => Missing::SlowWrites,
        _ => Missing::Writes,
    };
    let figures = DriveFigures {
        revolution_ms: rotation_figure(&rotation, &requests),
        hit_command_ms: reads.command,
        read_ms_per_sector: reads.per_sector,
        miss_command_ms: arm.command,
        write_command_ms: writes
            .as_ref()
            .map_or([Err(no_line); 2], |line| line.command),
        write_ms_per_sector: writes.as_ref().map_or(Err(no_line), |line| line.per_sector),
        write_seek: Err(match &writes {
            Ok(_) => Missing::FastWrites,
            Err(Missing::Hits) => Missing::WriteSeek,
            Err(_) => no_line,
        }),
        segments: policy::allowed(
            &replica,
            &profile,
            |c| u64::from(c.segments),
            |c, n| c.segments = n as u32,
        ),
        segment_sectors: policy::allowed(&replica, &profile, |c| c.segment_sectors, set_segment),
        seek_ends_ms: arm.ends(&profile),
        seeks: arm.points(),
    };
    set_sizes(&mut profile, &figures, start);
    Ok(FoundDrive {
        profile,
        figures,
        rotation,
    })
}

/// The revolution; its phase is known to a part of a turn over the whole time.
fn rotation_figure(rotation: &Rotation, requests: &Requests<'_>) -> Found {
    let used = requests.ends().len() as u64;
    let time_ms = match (requests.served.first(), requests.served.last()) {
        (Some(first), Some(last)) => (last.done - first.came).as_millis_f64(),
        _ => rotation.revolution_ms,
    };
    let error = rotation.revolution_ms.powi(2) / time_ms / (used.max(1) as f64).sqrt();
    Found {
        value: rotation.revolution_ms,
        low: rotation.revolution_ms - error,
        high: rotation.revolution_ms + error,
        requests: used,
    }
}

/// Sizes of the buffer: the middle of what is allowed, or what they were.
fn set_sizes(profile: &mut DiskProfile, figures: &DriveFigures, start: &DiskProfile) {
    let Some(cache) = &mut profile.cache else {
        return;
    };
    match (figures.segment_sectors, &start.cache) {
        (Ok(found), _) => set_segment(cache, found.value as u64),
        (Err(_), Some(before)) => set_segment(cache, before.segment_sectors),
        (Err(_), None) => {}
    }
    if let (Err(_), Some(before)) = (figures.segments, &start.cache) {
        cache.segments = before.segments;
    }
    policy::fit(cache);
}

/// Read-ahead that fills a segment goes on doing so.
fn set_segment(cache: &mut CacheProfile, sectors: u64) {
    let ahead = &mut cache.maximum_read_ahead_sectors;
    *ahead = match *ahead == cache.segment_sectors {
        true => sectors,
        false => sectors.min(*ahead),
    };
    cache.segment_sectors = sectors;
}

fn from_buffer(served: &[Served], reads: &Line, writes: Result<&Line, &Missing>) -> Vec<bool> {
    let mut all = vec![false];
    all.extend(served.windows(2).map(|pair| match pair[1].op {
        Op::Write => writes.is_ok(),
        _ => hits::sample(&pair[0], &pair[1]).is_some_and(|sample| reads.holds(&sample)),
    }));
    all
}

impl Requests<'_> {
    /// The bus; what is not known stays as it was.
    fn bus(&self, writes: Option<&Line>) -> BusProfile {
        let before = self.start.bus.clone().unwrap_or_default();
        let write = writes.and_then(|line| line.per_sector.ok());
        BusProfile {
            read_ms_per_sector: self.ms_per_sector,
            write_ms_per_sector: write.map_or(before.write_ms_per_sector, |found| found.value),
            read_water_mark: self.mark,
            water_mark_of: WaterMarkOf::Request,
            ..before
        }
    }

    /// The place of a request that lies on one track, and was served from the medium.
    fn on_one_track(&self, i: usize) -> Option<Place> {
        let served = &self.served[i];
        let last = served.sector + u64::from(served.sectors) - 1;
        if self.from_buffer[i] || last >= self.geometry.capacity() {
            return None;
        }
        let (first, last) = (
            self.geometry.place(served.sector),
            self.geometry.place(last),
        );
        ((first.cylinder, first.head) == (last.cylinder, last.head)).then_some(first)
    }

    /// From the first sector's beginning to the end of the transfer: turns of the platter, and milliseconds besides.
    fn transfer(&self, served: &Served, place: &Place) -> (f64, f64) {
        let sectors = f64::from(served.sectors);
        let turn = 1.0 / f64::from(place.sectors_per_track);
        let sector_ms = turn * self.start.revolution_ms;
        if served.op == Op::Write {
            return (sectors * turn, 0.0);
        }
        let begun = (sectors * self.mark).floor().max(1.0);
        let behind_first = begun * sector_ms + sectors * self.ms_per_sector;
        let behind_last = sectors * sector_ms + self.ms_per_sector;
        match behind_first >= behind_last {
            true => (begun * turn, sectors * self.ms_per_sector),
            false => (sectors * turn, self.ms_per_sector),
        }
    }

    fn ends(&self) -> Vec<End> {
        let end = |i: usize| {
            let place = self.on_one_track(i)?;
            let (turns, ms) = self.transfer(&self.served[i], &place);
            (self.served[i].op == Op::Read).then(|| End {
                at_ms: self.served[i].done.as_millis_f64() - ms,
                turn: place.turn + turns,
            })
        };
        (0..self.served.len()).filter_map(end).collect()
    }

    /// The rotation that reads from the medium agree on, with the water mark that they agree on best.
    fn rotation(&mut self) -> Option<Rotation> {
        let mut best: Option<(f64, Rotation)> = None;
        for mark in [0.0, 0.25, 0.5, 0.75, 1.0] {
            self.mark = mark;
            let found = rotation(&self.ends());
            if let Some(found) =
                found.filter(|f| best.is_none_or(|(_, b)| f.coherence > b.coherence + 1e-3))
            {
                best = Some((mark, found));
            }
        }
        let (mark, rotation) = best?;
        self.mark = mark;
        (rotation.coherence >= COHERENT).then_some(rotation)
    }

    /// The tracks that the requests before ended on.
    fn tracks_behind(&self) -> Vec<(u32, u32)> {
        let mut tracks = vec![(0, 0)];
        tracks.extend(self.served.windows(2).map(|pair| {
            let last = pair[0].sector + u64::from(pair[0].sectors) - 1;
            let place = self.geometry.place(last.min(self.geometry.capacity() - 1));
            (place.cylinder, place.head)
        }));
        tracks
    }

    /// Whether the buffer may hold the beginning of a request.
    fn may_be_held(&self, i: usize) -> bool {
        let sector = self.served[i].sector;
        self.served[i.saturating_sub(64)..i]
            .iter()
            .any(|s| (s.sector..s.sector + u64::from(s.sectors) + AHEAD).contains(&sector))
    }

    /// What reads that found the arm at rest say about it.
    fn waits(&self, tracks: &[(u32, u32)], rotation: &Rotation) -> Vec<Wait> {
        let rest_ms = 2.0 * rotation.revolution_ms;
        let wait = |i: usize| {
            let (before, now) = (&self.served[i - 1], &self.served[i]);
            let rested = now.came.get() as f64 - before.done.get() as f64 >= rest_ms * 1e6;
            if !rested || now.op != Op::Read || self.may_be_held(i) {
                return None;
            }
            let place = self.on_one_track(i)?;
            let (turns, ms) = self.transfer(now, &place);
            let transfer = turns * rotation.revolution_ms + ms;
            let (cylinder, head) = tracks[i];
            Some(Wait {
                cylinders: cylinder.abs_diff(place.cylinder),
                other_head: head != place.head,
                ms: (now.done - now.came).as_millis_f64() - transfer,
                after: usize::from(before.op == Op::Write),
            })
        };
        (1..self.served.len()).filter_map(wait).collect()
    }
}
