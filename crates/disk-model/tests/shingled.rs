//! Shingled drives: times that follow from the geometry alone, and what must hold of all of them.
//!
//! The drive of the tests has tracks of 100 sectors without skew, an arm that needs no time, and revolutions of 10 ms,
//! so that everything takes whole sectors of 0.1 ms.

use iosonar_device::{Access, Device, InOrder, Job, MediaWork, Observable, RequestId, Station};
use iosonar_disk_model::{
    ArmScheduler, BandCleaning, CachePlace, DiskProfile, Mechanics, PositionalDisk, Queueing,
};
use iosonar_sim_core::Seed;
use iosonar_units::{Nanos, Sector, Sectors};

const REVOLUTION_MS: f64 = 10.0;
const SECTOR_MS: f64 = 0.1;
const TRACK: u64 = 100;
const BAND_TRACKS: u64 = 10;
const BAND: u64 = TRACK * BAND_TRACKS;
/// 20 tracks, of which a fifth is more than the map holds.
const CACHE_SECTORS: u64 = 2000;
const MAP_ENTRIES: u64 = 50;
/// The command of each request.
const COMMAND_MS: f64 = 0.1;
const IDLE_MS: f64 = 1000.0;

fn profile() -> DiskProfile {
    let gigabytes = CACHE_SECTORS as f64 * 512.0 / 1e9;
    let text = format!(
        "description = 'made up'\ncylinders = 1000\nrevolution_ms = {REVOLUTION_MS:?}\ncapacity_sectors = 98000\n\
         [transfer]\noutermost_ms_per_sector = {SECTOR_MS:?}\ninnermost_ms_per_sector = {SECTOR_MS:?}\n\
         [seek]\ncurve = {{ kind = 'constant', seek_ms = 0.0 }}\n\
         [geometry]\nsurfaces = 1\nhead_switch_ms = 0.0\ntrack_skew_ms = 0.0\ncylinder_skew_ms = 0.0\n\
         zones = [{{ first_cylinder = 0, sectors_per_track = {TRACK} }}]\n\
         [cache]\nsegments = 16\nsegment_sectors = 1000\nwrite_segments = 8\nread_hits_on_written = false\n\
         [overheads]\nread_hit_after_read_ms = {COMMAND_MS:?}\nread_hit_after_write_ms = {COMMAND_MS:?}\n\
         read_miss_after_read_ms = {COMMAND_MS:?}\nread_miss_after_write_ms = {COMMAND_MS:?}\n\
         write_hit_after_read_ms = {COMMAND_MS:?}\nwrite_hit_after_write_ms = {COMMAND_MS:?}\n\
         write_miss_after_read_ms = {COMMAND_MS:?}\nwrite_miss_after_write_ms = {COMMAND_MS:?}\n\
         [shingled]\nband_tracks = {BAND_TRACKS}\nmedia_cache_gb = {gigabytes:?}\nmedia_cache_place = 'inner'\n\
         map_entries = {MAP_ENTRIES}\nmap_record_revolutions = 1\nstream_sectors = {BAND}\n\
         cleaning = 'aggressive'\nidle_ms = {IDLE_MS:?}\n"
    );
    DiskProfile::parse(&text, "made up").unwrap()
}

fn write_back() -> DiskProfile {
    let mut profile = profile();
    profile.cache.as_mut().unwrap().fast_writes = true;
    profile
}

/// A drive that has its requests one at a time.
struct Drive {
    disk: Station<PositionalDisk>,
    now: Nanos,
    requests: u64,
}

impl Drive {
    fn new(profile: &DiskProfile) -> Self {
        let mechanics = Mechanics::new(profile);
        Self {
            disk: Station::new(PositionalDisk::at_angle(
                &mechanics,
                Queueing::default(),
                0.0,
            )),
            now: Nanos::ZERO,
            requests: 0,
        }
    }

    /// The response time in milliseconds.
    fn serve(&mut self, access: Access, sector: u64, sectors: u32) -> f64 {
        let (sector, sectors) = (Sector::new(sector), Sectors::new(sectors));
        let job = Job::new(RequestId(self.requests), access, sector, sectors);
        self.requests += 1;
        let ended = self.disk.serve(job, self.now).ended();
        let response = ended - self.now;
        self.now = ended;
        response.as_millis_f64()
    }

    fn write(&mut self, sector: u64, sectors: u32) -> f64 {
        self.serve(Access::Write, sector, sectors)
    }

    fn rest(&mut self, ms: f64) {
        self.now += Nanos::nearest(ms * 1e6);
    }

    fn work(&self) -> MediaWork {
        self.disk.usage().background.media
    }

    /// The work until now, with what the drive does by itself.
    fn work_by_now(mut self) -> MediaWork {
        self.disk.end_measurement(self.now);
        self.work()
    }

    /// The sector of a track under the head now.
    fn angle(&self) -> f64 {
        (self.now.as_millis_f64() / SECTOR_MS) % TRACK as f64
    }
}

fn near(seen: f64, expected: f64) {
    assert!(
        (seen - expected).abs() < 1e-4,
        "{seen}, expected {expected}"
    );
}

/// The sectors of a write: ten of them fill a track of the log.
const BLOCK: u32 = 10;

/// Where a band is written.
fn of_band(band: u64) -> u64 {
    band * BAND + 40
}

#[test]
fn an_append_costs_whole_revolutions() {
    for records in [0, 1, 3] {
        let mut profile = profile();
        profile.shingled.as_mut().unwrap().map_record_revolutions = records;
        let mut drive = Drive::new(&profile);
        drive.write(of_band(7), BLOCK);
        for band in [90, 3, 55, 20] {
            // The command comes too late for the sector behind the last, by less than a revolution.
            let expected = f64::from(1 + records) * REVOLUTION_MS + f64::from(BLOCK) * SECTOR_MS;
            near(drive.write(of_band(band), BLOCK), expected);
        }
    }
}

#[test]
fn writes_that_wait_in_the_buffer_are_appended_together() {
    let mut drive = Drive::new(&write_back());
    let writes = 45;
    for band in 0..writes {
        drive.write(of_band(band), BLOCK);
    }
    let each = drive.now.as_millis_f64() / writes as f64;
    // A sweep takes up to two revolutions and what 8 segments hold; the first has one of them.
    let most = (2.0 * REVOLUTION_MS + 8.0 * f64::from(BLOCK) * SECTOR_MS) / 7.0;
    assert!(each < most && each > most / 2.0, "{each} of {most}");
    assert_eq!(drive.work().awaited_bands, 0);
}

#[test]
fn a_full_map_slows_random_writes_down_to_the_cleaning_of_bands() {
    let mut drive = Drive::new(&profile());
    let fast = 2.0 * REVOLUTION_MS + f64::from(BLOCK) * SECTOR_MS;
    drive.write(of_band(0), BLOCK);
    // An entry must be left for one that is cut in two.
    for band in 1..MAP_ENTRIES - 1 {
        near(drive.write(of_band(band), BLOCK), fast);
    }
    assert_eq!(
        (drive.work().awaited_bands, drive.work().map_entries),
        (0, MAP_ENTRIES - 1)
    );
    // To the band, over it, to its block and back, over it again, to the end of the log: beside the tracks of the band
    // twice, two revolutions, and that of the record.
    let cleaning = (2 * BAND_TRACKS + 2) as f64 * REVOLUTION_MS;
    for band in MAP_ENTRIES - 1..90 {
        let expected = cleaning + REVOLUTION_MS + f64::from(BLOCK) * SECTOR_MS;
        near(drive.write(of_band(band), BLOCK), expected);
    }
    let work = drive.work();
    let cleaned = 90 - (MAP_ENTRIES - 1);
    assert_eq!((work.cleaned_bands, work.awaited_bands), (cleaned, cleaned));
    assert_eq!(work.map_entries, MAP_ENTRIES - 1);
    assert_eq!(work.cached_sectors, 90 * u64::from(BLOCK));
    assert_eq!(work.cleaning_reads, cleaned * (BAND + u64::from(BLOCK)));
    assert_eq!(work.cleaning_writes, cleaned * BAND);
    let amplification =
        (90 * u64::from(BLOCK) + cleaned * BAND) as f64 / (90 * u64::from(BLOCK)) as f64;
    near(work.write_amplification(), amplification);
}

#[test]
fn a_full_ring_is_cleaned_from_its_oldest_block_on() {
    let mut profile = profile();
    profile.shingled.as_mut().unwrap().map_entries = 1000;
    let mut drive = Drive::new(&profile);
    // Ten bands fill the ring: half of a band is of no use, the other half is appended in halves of a segment.
    for band in 0..4 {
        drive.write(band * BAND + 1, 500);
    }
    assert_eq!(
        (drive.work().cache_fill, drive.work().awaited_bands),
        (CACHE_SECTORS, 0)
    );
    drive.write(of_band(50), BLOCK);
    let work = drive.work();
    assert_eq!(
        (work.awaited_bands, work.cache_fill),
        (1, CACHE_SECTORS - 500 + u64::from(BLOCK))
    );
    // The first band is at its home again, the second in the cache.
    drive.serve(Access::Read, 1, BLOCK);
    near(drive.angle(), 11.0);
    drive.serve(Access::Read, BAND + 1, BLOCK);
    near(drive.angle(), 510.0 % TRACK as f64);
}

#[test]
fn idle_time_cleans_one_band_after_the_other() {
    let mut drive = Drive::new(&profile());
    for band in 0..MAP_ENTRIES - 1 {
        drive.write(of_band(band), BLOCK);
    }
    // From the end of a band over the next one, to its block and back, over it again.
    let each = (2 * BAND_TRACKS + 1) as f64 * REVOLUTION_MS;
    drive.rest(IDLE_MS + 10.0 * each + REVOLUTION_MS);
    drive.write(of_band(60), BLOCK);
    assert_eq!(
        (drive.work().cleaned_bands, drive.work().awaited_bands),
        (10, 0)
    );
    // The rest, and that which the write broke off; with all of the map free writes are fast again.
    drive.rest(IDLE_MS + 41.0 * each);
    drive.write(of_band(61), BLOCK);
    let work = drive.work();
    assert_eq!((work.cleaned_bands, work.map_entries), (MAP_ENTRIES, 1));
    near(
        drive.write(of_band(62), BLOCK),
        2.0 * REVOLUTION_MS + f64::from(BLOCK) * SECTOR_MS,
    );
}

#[test]
fn a_request_waits_for_no_more_than_a_step_of_idle_cleaning() {
    let each = (2 * BAND_TRACKS + 1) as f64 * REVOLUTION_MS;
    for tenth in 0..40 {
        let mut drive = Drive::new(&profile());
        for band in 0..20 {
            drive.write(of_band(band), BLOCK);
        }
        drive.rest(IDLE_MS + f64::from(tenth) * 0.1 * each);
        // A revolution to the track of the step and one over it, a revolution to the sector, and the command.
        let response = drive.serve(Access::Read, of_band(70), BLOCK);
        assert!(
            response < 3.1 * REVOLUTION_MS + f64::from(BLOCK) * SECTOR_MS,
            "{response}"
        );
    }
}

#[test]
fn a_lazy_drive_cleans_only_what_a_write_waits_for() {
    let mut profile = profile();
    profile.shingled.as_mut().unwrap().cleaning = BandCleaning::Lazy;
    let mut drive = Drive::new(&profile);
    for band in 0..MAP_ENTRIES - 1 {
        drive.write(of_band(band), BLOCK);
    }
    drive.rest(1e6);
    drive.write(of_band(60), BLOCK);
    assert_eq!(
        (drive.work().cleaned_bands, drive.work().awaited_bands),
        (1, 1)
    );
}

#[test]
fn reads_find_a_block_in_the_cache_until_it_is_cleaned() {
    let mut profile = profile();
    profile.cache.as_mut().unwrap().keeps_data = false;
    let mut drive = Drive::new(&profile);
    drive.write(of_band(3), BLOCK);
    drive.write(of_band(5), BLOCK);
    // The second block of the log ends with its sector 20, its home with 50.
    drive.serve(Access::Read, of_band(5), BLOCK);
    near(drive.angle(), 20.0);
    drive.serve(Access::Read, of_band(9), BLOCK);
    near(drive.angle(), 50.0);
    drive.rest(60_000.0);
    drive.serve(Access::Read, of_band(5), BLOCK);
    near(drive.angle(), 50.0);
    assert_eq!(drive.work().cleaned_bands, 2);
}

#[test]
fn a_read_over_a_block_in_the_cache_goes_there_and_back() {
    let mut drive = Drive::new(&profile());
    drive.write(of_band(3), BLOCK);
    drive.serve(Access::Read, of_band(80), BLOCK);
    // From the home before the block to the cache, and to the home behind it: the two ways together are a revolution.
    let begin = of_band(3) - 7;
    let before = drive.now.as_millis_f64() + COMMAND_MS;
    let wait = (33.0 - before / SECTOR_MS).rem_euclid(TRACK as f64) * SECTOR_MS;
    let expected = COMMAND_MS + wait + 24.0 * SECTOR_MS + REVOLUTION_MS;
    near(drive.serve(Access::Read, begin, 24), expected);
}

#[test]
fn a_read_goes_to_the_cache_even_for_a_single_sector() {
    for (sectors, detours) in [(1, 1.0), (0, 0.0)] {
        let mut drive = Drive::new(&profile());
        if sectors > 0 {
            drive.write(of_band(3), sectors);
        }
        drive.serve(Access::Read, of_band(80), BLOCK);
        let before = drive.now.as_millis_f64() + COMMAND_MS;
        let wait = (33.0 - before / SECTOR_MS).rem_euclid(TRACK as f64) * SECTOR_MS;
        // The sector is on the log's first track at its angle of 0, and its home between two others.
        let expected = COMMAND_MS + wait + 24.0 * SECTOR_MS + detours * REVOLUTION_MS;
        near(drive.serve(Access::Read, of_band(3) - 7, 24), expected);
    }
}

#[test]
fn a_run_streams_from_the_first_band_that_it_comes_to_when_it_is_long_enough() {
    // A run of so many sectors before the beginning of a band, which it fills; one that begins with a band is not known.
    for (before, stream_sectors, streams) in [
        (600, 600, true),
        (600, 601, false),
        (0, 1, false),
        (1, 1, true),
    ] {
        let mut profile = write_back();
        profile.shingled.as_mut().unwrap().stream_sectors = stream_sectors;
        let mut drive = Drive::new(&profile);
        let (mut at, end) = (5 * BAND - before, 6 * BAND);
        while at < end {
            let sectors = (end - at).min(100);
            drive.write(at, sectors as u32);
            at += sectors;
        }
        drive.rest(500.0);
        let work = drive.work_by_now();
        let streamed = if streams { BAND } else { 0 };
        assert_eq!(work.streamed_sectors, streamed, "{before} {stream_sectors}");
        assert_eq!(work.cached_sectors, before + BAND - streamed);
    }
}

#[test]
fn writes_that_go_on_share_an_entry_of_the_map_within_a_band() {
    let border = 4 * BAND;
    for (writes, entries) in [
        (&[(border - 20, 10), (border - 10, 10)][..], 1),
        (&[(border - 10, 10), (border, 10)], 2),
        (&[(border - 10, 20)], 2),
        (&[(border, 10), (border + 10, 10)], 1),
        // Another block lies between them in the log, or a gap on the disk.
        (&[(border, 10), (0, 10), (border + 10, 10)], 3),
        (&[(border, 10), (border + 11, 10)], 2),
    ] {
        let mut drive = Drive::new(&profile());
        for &(sector, sectors) in writes {
            drive.write(sector, sectors);
        }
        assert_eq!(drive.work().map_entries, entries, "{writes:?}");
    }
}

#[test]
fn an_append_goes_on_at_the_beginning_of_the_ring() {
    let mut profile = profile();
    profile.shingled.as_mut().unwrap().map_entries = 1000;
    let mut drive = Drive::new(&profile);
    for (band, sectors) in [(0, 500), (1, 500), (2, 500), (3, 495)] {
        drive.write(band * BAND + 1, sectors);
    }
    drive.serve(Access::Discard, 1, 500);
    // Five sectors on the last track of the ring, and five on its first one.
    drive.write(of_band(50), BLOCK);
    near(drive.angle(), 5.0);
    let work = drive.work();
    assert_eq!((work.awaited_bands, work.cache_fill), (0, 1505));
    drive.serve(Access::Read, of_band(90), BLOCK);
    drive.serve(Access::Read, of_band(50), BLOCK);
    near(drive.angle(), 5.0);
}

#[test]
fn what_is_discarded_needs_no_entry_and_no_cleaning() {
    let mut drive = Drive::new(&profile());
    for band in 0..3 {
        drive.write(of_band(band), BLOCK);
    }
    near(drive.serve(Access::Discard, of_band(1), BLOCK), COMMAND_MS);
    assert_eq!(drive.work().map_entries, 2);
    // Half of a block: the other half stays.
    drive.serve(Access::Discard, of_band(2) - 5, BLOCK);
    let work = drive.work();
    assert_eq!(
        (work.map_entries, work.cache_fill),
        (2, 3 * u64::from(BLOCK))
    );
    drive.serve(Access::Discard, of_band(0), BLOCK);
    // The oldest that is left begins in the middle of the last block.
    assert_eq!(drive.work().cache_fill, u64::from(BLOCK) / 2);
    drive.rest(1e5);
    let work = drive.work_by_now();
    assert_eq!((work.cleaned_bands, work.map_entries), (1, 0));
    assert_eq!(work.cleaning_reads, BAND + u64::from(BLOCK) / 2);
}

#[test]
fn a_measurement_begins_without_work_but_with_what_is_in_the_cache() {
    let mut drive = Drive::new(&profile());
    for band in 0..3 {
        drive.write(of_band(band), BLOCK);
    }
    drive.rest(1e5);
    drive.disk.measure_from(drive.now);
    assert_eq!(
        drive.work(),
        MediaWork {
            cache_sectors: CACHE_SECTORS,
            map_limit: MAP_ENTRIES,
            ..MediaWork::default()
        }
    );
    for band in 0..3 {
        drive.write(of_band(band), BLOCK);
    }
    drive.disk.measure_from(drive.now);
    let work = drive.work();
    assert_eq!(
        (work.cached_sectors, work.cache_fill, work.cache_peak),
        (0, 30, 30)
    );
    assert_eq!(
        (work.map_entries, drive.disk.usage().background.busy),
        (3, Nanos::ZERO)
    );
    drive.write(of_band(7), BLOCK);
    let work = drive.work();
    assert_eq!(
        (work.cached_sectors, work.cache_fill, work.cache_peak),
        (10, 40, 40)
    );
}

#[test]
fn distances_are_those_to_the_homes_of_sectors() {
    // 20 tracks of one surface each are the cache.
    for (place, first, last) in [
        (CachePlace::Outer, 20, 999),
        (CachePlace::Middle, 0, 999),
        (CachePlace::Inner, 0, 979),
    ] {
        let mut profile = profile();
        profile.shingled.as_mut().unwrap().media_cache_place = place;
        let drive = Drive::new(&profile);
        let capacity = Mechanics::new(&profile).capacity();
        let distance = |sector| drive.disk.distance(Sector::new(sector));
        assert_eq!(
            (distance(0), distance(99), distance(100)),
            (first, first, first + 1)
        );
        assert_eq!(distance(capacity - 1), last, "{place:?}");
    }
}

#[test]
fn a_sequential_overwrite_fills_bands_at_the_rate_of_the_medium() {
    // An arm that takes 2 ms to the next cylinder comes too late for each track.
    for (cylinder_switch_ms, turns) in [(None, 1.0), (Some(2.0), 2.0)] {
        let mut profile = write_back();
        profile.cache.as_mut().unwrap().write_segments = 1;
        profile.geometry.cylinder_switch_ms = cylinder_switch_ms;
        let mut drive = Drive::new(&profile);
        let bands = 30;
        let mut began = Nanos::ZERO;
        for write in 0..bands * BAND_TRACKS {
            if write == 4 * BAND_TRACKS {
                began = drive.now;
            }
            drive.write(write * TRACK, TRACK as u32);
        }
        let seen = (drive.now - began).as_millis_f64();
        let expected = turns * ((bands - 4) * BAND_TRACKS) as f64 * REVOLUTION_MS;
        // Tracks that are written later were in the buffer at the beginning too.
        assert!(
            (seen - expected).abs() <= 0.001 * expected,
            "{seen} {expected}"
        );
        drive.rest(10_000.0);
        let work = drive.work_by_now();
        // A run is known as one at the end of its first band.
        assert_eq!(
            (work.cached_sectors, work.streamed_sectors),
            (BAND, (bands - 1) * BAND)
        );
        assert_eq!((work.cleaned_bands, work.repair_sectors), (1, 0));
        assert_eq!(work.map_entries, 0);
    }
}

#[test]
fn a_run_that_breaks_off_leaves_a_band_to_be_repaired() {
    let mut drive = Drive::new(&write_back());
    let tracks = 4 * BAND_TRACKS + 3;
    for write in 0..tracks {
        drive.write(write * TRACK, TRACK as u32);
    }
    drive.rest(10_000.0);
    let work = drive.work_by_now();
    assert_eq!(work.streamed_sectors, (tracks - BAND_TRACKS) * TRACK);
    assert_eq!(work.repair_sectors, (BAND_TRACKS - 3) * TRACK);
}

#[test]
fn what_the_medium_does_for_no_request_is_background() {
    let mut drive = Drive::new(&profile());
    for band in 0..20 {
        drive.write(of_band(band), BLOCK);
    }
    let served = drive.now;
    drive.rest(1e6);
    drive.disk.has_come_to(drive.now);
    drive.disk.end_measurement(drive.now);
    let usage = drive.disk.usage();
    assert_eq!(usage.busy, served);
    // To the first band there is less than a revolution.
    let each = (2 * BAND_TRACKS + 1) as f64 * REVOLUTION_MS;
    let beyond = usage.background.busy.as_millis_f64() - 20.0 * each;
    assert!((0.0..REVOLUTION_MS).contains(&beyond), "{beyond}");
}

#[test]
fn destaging_counts_as_background_up_to_the_next_service() {
    let mut profile = write_back();
    profile.shingled = None;
    let mut drive = Drive::new(&profile);
    let response = drive.write(of_band(3), BLOCK);
    near(response, COMMAND_MS);
    drive.rest(100.0);
    drive.disk.has_come_to(drive.now);
    drive.disk.end_measurement(drive.now);
    let usage = drive.disk.usage();
    near(usage.busy.as_millis_f64(), COMMAND_MS);
    // The arm sets out after the command and arrives at sector 40 of the first turn.
    near(
        usage.background.busy.as_millis_f64(),
        50.0 * SECTOR_MS - COMMAND_MS,
    );
}

#[test]
fn sectors_are_conserved_and_runs_repeat() {
    for seed in 0..24 {
        let run = || {
            let mut random = Seed::new(seed).stream("test", "shingled");
            let mut profile = if seed % 3 == 0 {
                profile()
            } else {
                write_back()
            };
            let shingled = profile.shingled.as_mut().unwrap();
            let places = [CachePlace::Outer, CachePlace::Middle, CachePlace::Inner];
            shingled.media_cache_place = places[random.below(3) as usize];
            shingled.band_tracks = 1 + random.below(13) as u32;
            shingled.stream_sectors = 1 + random.below(1500);
            let capacity = Mechanics::new(&profile).capacity();
            let mut drive = Drive::new(&profile);
            let (mut written, mut next) = (0, 0);
            for _ in 0..1500 {
                let longest = if random.below(9) == 0 { 1400 } else { 60 };
                let sectors = 1 + random.below(longest);
                if random.below(3) > 0 || next + sectors > capacity {
                    next = random.below(capacity - sectors);
                }
                if random.below(3) == 0 {
                    drive.serve(Access::Read, next, sectors as u32);
                } else {
                    written += sectors;
                    drive.write(next, sectors as u32);
                }
                next += sectors;
                if random.below(50) == 0 {
                    drive.rest(random.below(5000) as f64);
                }
            }
            drive.rest(1e7);
            let ended = drive.now;
            let work = drive.work_by_now();
            assert_eq!(work.host_sectors(), written, "{seed}");
            assert_eq!((work.map_entries, work.cache_fill), (0, 0), "{seed}");
            assert!(work.cleaning_reads >= work.cleaning_writes, "{seed}");
            assert!(work.cache_peak <= work.cache_sectors, "{seed}");
            (ended, work)
        };
        assert_eq!(run(), run(), "{seed}");
    }
}

#[test]
fn with_a_queue_no_request_is_lost_or_starves() {
    const REQUESTS: u64 = 3000;
    let run = || {
        let mechanics = Mechanics::new(&write_back());
        let queueing = Queueing {
            scheduler: ArmScheduler::Sptf,
            depth: 32,
            most_wait: ArmScheduler::Sptf.most_wait(),
        };
        let disk = PositionalDisk::at_angle(&mechanics, queueing, 0.0);
        let mut disk = Station::new(disk);
        let mut random = Seed::new(3).stream("test", "queue");
        let (mut submitted, mut now) = (0, Nanos::ZERO);
        let (mut longest, mut slowest) = (Nanos::ZERO, Nanos::ZERO);
        let mut served = vec![0; REQUESTS as usize];
        while served.iter().sum::<u64>() < REQUESTS {
            while submitted < REQUESTS && disk.occupancy().waiting < 32 {
                let access = match random.below(2) {
                    0 => Access::Read,
                    _ => Access::Write,
                };
                let sectors = 1 + random.below(100);
                let sector = random.below(mechanics.capacity() - sectors);
                let (sector, sectors) = (Sector::new(sector), Sectors::new(sectors as u32));
                disk.submit(Job::new(RequestId(submitted), access, sector, sectors), now);
                submitted += 1;
            }
            now = disk.start_next(now).expect("jobs wait");
            let service = disk.complete(now, now).expect("a job is served");
            served[service.job.request.0 as usize] += 1;
            longest = longest.max(service.started - service.arrived);
            slowest = slowest.max(service.ended() - service.started);
        }
        assert!(served.iter().all(|&times| times == 1));
        disk.end_measurement(now);
        (now, longest, slowest, disk.usage())
    };
    let (ended, longest, slowest, usage) = run();
    assert_eq!((ended, longest, slowest, usage), run());
    // Those that have waited for two seconds go in the order of their arrival: 32 at most.
    let bound = 2.0 + 32.0 * slowest.as_secs_f64();
    assert!(longest.as_secs_f64() < bound, "{longest} {slowest}");
    assert!(usage.background.media.awaited_bands > 0 && usage.worked() <= ended);
}

#[test]
fn what_makes_no_shingled_drive_is_refused_with_its_key() {
    let text = profile().to_toml();
    for (from, to, complaint) in [
        (
            "band_tracks = 10",
            "band_tracks = 0",
            "'shingled.band_tracks' is 0",
        ),
        (
            "map_entries = 50",
            "map_entries = 3",
            "'shingled.map_entries' is 3, expected 4",
        ),
        (
            "stream_sectors = 1000",
            "stream_sectors = 0",
            "'shingled.stream_sectors' is 0",
        ),
        (
            "media_cache_gb = 0.001024",
            "media_cache_gb = 0.0005",
            "at least two buffer segments",
        ),
        (
            "media_cache_gb = 0.001024",
            "media_cache_gb = 1.0",
            "less than the capacity",
        ),
        (
            "idle_ms = 1000.0",
            "idle_ms = -1.0",
            "'shingled.idle_ms' is -1",
        ),
        (
            "cleaning = \"aggressive\"",
            "cleaning = \"eager\"",
            "is \"eager\"",
        ),
    ] {
        assert!(text.contains(from), "{from}\n{text}");
        let message = DiskProfile::parse(&text.replace(from, to), "x.toml")
            .unwrap_err()
            .to_string();
        assert!(
            message.starts_with("x.toml:") && message.contains(complaint),
            "{message}"
        );
    }
    let mut bare = profile();
    (bare.cache, bare.overheads) = (None, None);
    let message = DiskProfile::parse(&bare.to_toml(), "x.toml")
        .unwrap_err()
        .to_string();
    assert!(message.contains("a [cache] table as well"), "{message}");
}
