//! Drives with a buffer: times that follow from the geometry and the rules alone.
//!
//! The drive of these tests has two surfaces, tracks of 100 sectors without skew, an arm that needs no time, and
//! revolutions of 10 ms. A command takes 0.1 ms, and its bus no time, so that everything takes whole sectors of 0.1 ms.

use iosonar_device::{Access, Background, Device, Job, Mechanism, RequestId, ServiceTime, Waiting};
use iosonar_disk_model::{
    ArmScheduler, Arrival, CacheProfile, DiskProfile, ExtraDisconnect, Mechanics, OverheadsProfile,
    PositionalDisk, Queueing, ReadAhead, Requested,
};
use iosonar_sim_core::Seed;
use iosonar_units::{Nanos, Sector, Sectors};

const SECTOR_MS: f64 = 0.1;
const REVOLUTION_MS: f64 = 10.0;
const COMMAND_MS: f64 = 0.1;
const CYLINDERS: u64 = 500;
const CAPACITY: u64 = CYLINDERS * 200;

fn profile(change: impl FnOnce(&mut DiskProfile)) -> DiskProfile {
    let text = format!(
        "description = 'made up'\ncylinders = {CYLINDERS}\nrevolution_ms = {REVOLUTION_MS:?}\ncapacity_sectors = {CAPACITY}\n\
         [transfer]\noutermost_ms_per_sector = 0.1\ninnermost_ms_per_sector = 0.1\n\
         [seek]\ncurve = {{ kind = 'constant', seek_ms = 0.0 }}\n\
         [geometry]\nsurfaces = 2\nhead_switch_ms = 0.0\ntrack_skew_ms = 0.0\ncylinder_skew_ms = 0.0\n\
         zones = [{{ first_cylinder = 0, sectors_per_track = 100 }}]\n\
         [cache]\nsegments = 4\nsegment_sectors = 500\nwrite_segments = 2\n[bus]\n\
         [overheads]\nread_hit_after_read_ms = {COMMAND_MS:?}\nread_hit_after_write_ms = {COMMAND_MS:?}\n\
         read_miss_after_read_ms = {COMMAND_MS:?}\nread_miss_after_write_ms = {COMMAND_MS:?}\n\
         write_hit_after_read_ms = {COMMAND_MS:?}\nwrite_hit_after_write_ms = {COMMAND_MS:?}\n\
         write_miss_after_read_ms = {COMMAND_MS:?}\nwrite_miss_after_write_ms = {COMMAND_MS:?}\n"
    );
    let mut profile = DiskProfile::parse(&text, "made up").unwrap();
    change(&mut profile);
    profile
}

/// With another buffer.
fn with_cache(change: impl FnOnce(&mut CacheProfile)) -> DiskProfile {
    profile(|profile| change(profile.cache.as_mut().unwrap()))
}

/// A drive that has its requests one at a time.
struct Drive {
    disk: PositionalDisk,
    now: Nanos,
}

impl Drive {
    fn new(profile: &DiskProfile) -> Self {
        let mechanics = Mechanics::new(profile);
        let disk = PositionalDisk::at_angle(&mechanics, Queueing::default(), 0.0);
        let now = Nanos::ZERO;
        Self { disk, now }
    }

    fn served(&mut self, access: Access, sector: u64, sectors: u32) -> ServiceTime {
        let (sector, sectors) = (Sector::new(sector), Sectors::new(sectors));
        let job = Job::new(RequestId(0), access, sector, sectors);
        let waiting = Waiting {
            place: self.disk.place(&job),
            job,
            arrived: self.now,
        };
        let time = self.disk.serve(&waiting, self.now, 1);
        self.now += time.positioning + time.transfer;
        time
    }

    /// The response time in milliseconds.
    fn serve(&mut self, access: Access, sector: u64, sectors: u32) -> f64 {
        let time = self.served(access, sector, sectors);
        (time.positioning + time.transfer).as_millis_f64()
    }

    fn read(&mut self, sector: u64, sectors: u32) -> f64 {
        self.serve(Access::Read, sector, sectors)
    }

    fn write(&mut self, sector: u64, sectors: u32) -> f64 {
        self.serve(Access::Write, sector, sectors)
    }

    fn rest(&mut self, ms: f64) {
        self.now += Nanos::nearest(ms * 1e6);
    }

    fn rest_until(&mut self, ms: f64) {
        self.rest(ms - self.now.as_millis_f64());
    }

    /// Which sector of the tracks begins to pass now, with the part of it that has passed.
    fn angle(&self) -> f64 {
        self.now.as_millis_f64() / SECTOR_MS % 100.0
    }

    fn background(mut self) -> Background {
        self.disk.end_measurement(self.now);
        self.disk.background()
    }
}

fn near(seen: f64, expected: f64) {
    assert!(
        (seen - expected).abs() < 1e-4,
        "{seen}, expected {expected}"
    );
}

/// Whether a read of a sector is served at once, some time after these requests.
fn hits(profile: &DiskProfile, requests: &[(Access, u64, u32)], sector: u64) -> bool {
    let mut drive = Drive::new(profile);
    for &(access, sector, sectors) in requests {
        drive.serve(access, sector, sectors);
    }
    // Not at the place of the sector.
    drive.rest(1000.0);
    drive.rest((sector as f64 + 37.0 - drive.angle()).rem_euclid(100.0) * SECTOR_MS);
    let response = drive.read(sector, 1);
    let hit = (response - COMMAND_MS).abs() < 1e-6;
    assert!(hit || response > 2.0 * COMMAND_MS, "{response}");
    hit
}

/// Which sectors are in the buffer after a read, some time later; the others around them are not.
fn buffered(profile: &DiskProfile, begin: u64, sectors: u32, expected: std::ops::Range<u64>) {
    let read = [(Access::Read, begin, sectors)];
    let (first, end) = (expected.start, expected.end);
    if first > 0 {
        assert!(!hits(profile, &read, first - 1), "{}", first - 1);
    }
    if first < end {
        for sector in [first, first.midpoint(end), end - 1] {
            assert!(hits(profile, &read, sector), "{sector} of {expected:?}");
        }
    }
    if end < CAPACITY {
        assert!(!hits(profile, &read, end), "{end}");
    }
}

#[test]
fn a_drive_reads_ahead_to_the_end_of_the_track_the_cylinder_or_the_maximum() {
    for (read_ahead, maximum, begin, sectors, end) in [
        (ReadAhead::None, 300, 10, 10, 20),
        (ReadAhead::Maximum, 300, 10, 10, 320),
        (ReadAhead::Maximum, 300, 190, 20, 510),
        // The track, or the maximum if that comes first.
        (ReadAhead::Track, 300, 10, 10, 100),
        (ReadAhead::Track, 300, 95, 10, 200),
        (ReadAhead::Track, 30, 10, 10, 50),
        // A cylinder has two tracks.
        (ReadAhead::Cylinder, 300, 10, 10, 200),
        (ReadAhead::Cylinder, 300, 110, 10, 200),
        (ReadAhead::Cylinder, 30, 110, 10, 150),
        (ReadAhead::Cylinder, 300, 190, 20, 400),
        // The next track as well, if the request began on an earlier one.
        (ReadAhead::NextTrack, 0, 10, 10, 100),
        (ReadAhead::NextTrack, 0, 95, 10, 300),
        (ReadAhead::NextTrack, 0, 95, 5, 300),
        // No farther than the disk goes.
        (ReadAhead::Maximum, 300, CAPACITY - 30, 10, CAPACITY),
        (ReadAhead::NextTrack, 0, CAPACITY - 30, 30, CAPACITY),
    ] {
        let profile = with_cache(|cache| {
            (cache.read_ahead, cache.maximum_read_ahead_sectors) = (read_ahead, maximum);
        });
        buffered(&profile, begin, sectors, begin..end);
    }
}

#[test]
fn what_must_be_read_ahead_is_read_even_beyond_the_track() {
    for (read_ahead, maximum, minimum, end) in [
        (ReadAhead::None, 0, 5, 25),
        (ReadAhead::Track, 300, 5, 100),
        // It goes on to the end of the track that it has come to.
        (ReadAhead::Track, 300, 90, 200),
        (ReadAhead::Maximum, 300, 90, 320),
        (ReadAhead::Maximum, 30, 90, 110),
        (ReadAhead::NextTrack, 0, 90, 110),
    ] {
        let profile = with_cache(|cache| {
            (cache.read_ahead, cache.maximum_read_ahead_sectors) = (read_ahead, maximum);
            cache.minimum_read_ahead_sectors = minimum;
        });
        buffered(&profile, 10, 10, 10..end);
    }
}

#[test]
fn without_a_maximum_read_ahead_fills_the_segment() {
    for (requested, kept) in [
        // The requested sectors stay, or are pushed out by as many.
        (Requested::Kept, 10..510),
        (Requested::PushedOut, 20..520),
        (Requested::DroppedWhenSent, 20..520),
    ] {
        let profile = with_cache(|cache| {
            (cache.read_ahead, cache.requested) = (ReadAhead::Maximum, requested);
        });
        buffered(&profile, 10, 10, kept);
    }
    // More than a segment: its last 500 sectors stay.
    let profile = with_cache(|cache| cache.read_ahead = ReadAhead::Maximum);
    buffered(&profile, 10, 600, 110..610);
    // A buffer that keeps nothing.
    let nothing = with_cache(|cache| {
        (cache.read_ahead, cache.keeps_data) = (ReadAhead::Maximum, false);
    });
    buffered(&nothing, 10, 10, 15..15);
}

#[test]
fn a_hit_starts_read_ahead_again_if_it_says_so() {
    let read_twice = [(Access::Read, 10, 10), (Access::Read, 15, 5)];
    for (on_hit, read_ahead, end) in [
        (true, ReadAhead::Maximum, 50),
        (false, ReadAhead::Maximum, 50),
        (true, ReadAhead::Track, 50),
    ] {
        let profile = with_cache(|cache| {
            (cache.read_ahead, cache.read_ahead_on_hit) = (read_ahead, on_hit);
            cache.maximum_read_ahead_sectors = 30;
        });
        assert!(hits(&profile, &read_twice, end - 1) && !hits(&profile, &read_twice, end));
    }
    // A hit that ends later moves the end of read-ahead, to where it comes only if it starts again.
    for (on_hit, read_ahead, end) in [
        (true, ReadAhead::Maximum, 80),
        (false, ReadAhead::Maximum, 50),
        (true, ReadAhead::Track, 80),
    ] {
        let profile = with_cache(|cache| {
            (cache.read_ahead, cache.read_ahead_on_hit) = (read_ahead, on_hit);
            cache.maximum_read_ahead_sectors = 30;
        });
        let mut drive = Drive::new(&profile);
        drive.read(10, 10);
        drive.rest(1000.0);
        near(drive.read(40, 10), COMMAND_MS);
        drive.rest(1000.0);
        drive.rest((end as f64 + 37.0 - drive.angle()).rem_euclid(100.0) * SECTOR_MS);
        let at_the_end = drive.disk.clone();
        near(drive.read(end - 1, 1), COMMAND_MS);
        drop(at_the_end);
        assert!(drive.read(end + 20, 1) > 2.0 * COMMAND_MS);
    }
    // At the end of a track it does not, if it ends with tracks.
    let profile = with_cache(|cache| {
        (cache.read_ahead, cache.read_ahead_on_hit) = (ReadAhead::Track, true);
        cache.maximum_read_ahead_sectors = 300;
    });
    let at_the_end = [(Access::Read, 10, 10), (Access::Read, 95, 5)];
    assert!(hits(&profile, &at_the_end, 99) && !hits(&profile, &at_the_end, 100));
}

#[test]
fn a_miss_takes_a_command_a_rotation_and_its_sectors() {
    let mut drive = Drive::new(&profile(|_| {}));
    // From sector 1 to 40, and over ten.
    near(drive.read(40, 10), 50.0 * SECTOR_MS);
    // Over the border of a track; what has just gone by comes again.
    near(drive.read(345, 60), 95.0 * SECTOR_MS + 60.0 * SECTOR_MS);
    near(drive.angle(), 5.0);
    // A hit takes the command.
    near(drive.read(350, 20), COMMAND_MS);
    near(drive.read(40, 10), COMMAND_MS);
}

#[test]
fn read_ahead_is_interrupted_at_the_end_of_a_sector_or_within_it() {
    for (stop_in_sector, minimum, finish_step, response) in [
        // Of the arm which arrives with the command; half a sector of those that are read ahead is left.
        (false, 0, false, 0.1 + 0.05),
        (true, 0, false, 0.1),
        // While the command is decoded the step ends.
        (false, 0, true, 0.1),
        // Half a sector and 9 of the 20 that must be read ahead, and the one that begins to pass then.
        (false, 20, false, 1.05),
    ] {
        let profile = with_cache(|cache| {
            (cache.read_ahead, cache.maximum_read_ahead_sectors) = (ReadAhead::Maximum, 400);
            cache.minimum_read_ahead_sectors = minimum;
            (cache.stop_in_sector, cache.finish_step) = (stop_in_sector, finish_step);
        });
        // The arm is free after `response`; the sector that passes just then is to be waited for, and is not.
        for (ahead, turns) in [(0.01, 0.0), (-0.01, 1.0)] {
            let mut drive = Drive::new(&profile);
            drive.read(40, 10);
            // It ends at 5 ms, and the next request comes at 6.05 ms, in the middle of sector 60.
            drive.rest_until(6.05);
            let free = 60.5 + response / SECTOR_MS;
            let sector = if ahead > 0.0 {
                free.ceil()
            } else {
                free.ceil() - 1.0
            };
            let rotation = sector - free + 100.0 * turns;
            let expected = response + (rotation + 1.0) * SECTOR_MS;
            near(drive.read(10_000 + sector as u64, 1), expected);
        }
    }
}

#[test]
fn reading_may_begin_at_any_sector_of_a_request() {
    for (immediate_reads, arrival, begins, response) in [
        // The command ends when sector 31 begins to pass: all around to the end of 30.
        (true, Arrival::AsDocumented, 3.0, 0.1 + REVOLUTION_MS),
        // The command ends in the middle of sector 31: from 32 on, and all around to the end of 31.
        (
            true,
            Arrival::AsDocumented,
            3.05,
            0.1 + 0.05 + REVOLUTION_MS,
        ),
        // From the first sector, 10.
        (true, Arrival::AsDisksim, 3.05, 12.95),
        (false, Arrival::AsDocumented, 3.05, 12.95),
    ] {
        let profile = with_cache(|cache| {
            (cache.immediate_reads, cache.arrival) = (immediate_reads, arrival);
        });
        let mut drive = Drive::new(&profile);
        drive.rest(begins);
        near(drive.read(10, 50), response);
        // All of it is there.
        for sector in [10, 31, 32, 59] {
            near(drive.read(sector, 1), COMMAND_MS);
        }
        // Outside of the request nothing is.
        assert!(drive.read(60, 1) > 2.0 * COMMAND_MS);
    }
}

#[test]
fn sectors_before_the_requested_ones_may_be_kept() {
    for (free_blocks, begin) in [(true, 0), (false, 10)] {
        let profile = with_cache(|cache| cache.free_blocks = free_blocks);
        let mut drive = Drive::new(&profile);
        drive.rest(3.05);
        // The command ends in the middle of sector 31, when 10 has gone by: it passes behind 0 to 9, which do first.
        near(drive.read(10, 10), 0.1 + 88.5 * SECTOR_MS);
        for sector in [begin, 10, 19] {
            near(drive.read(sector, 1), COMMAND_MS);
        }
        assert!(begin == 0 || drive.read(begin - 1, 1) > 2.0 * COMMAND_MS);
        assert!(drive.read(20, 1) > 2.0 * COMMAND_MS);
    }
}

#[test]
fn a_fast_write_takes_its_command_and_is_written_behind_it() {
    let profile = with_cache(|cache| cache.fast_writes = true);
    let mut drive = Drive::new(&profile);
    near(drive.write(40, 10), COMMAND_MS);
    drive.rest_until(1.0);
    // It can be read from the buffer meanwhile.
    near(drive.read(40, 10), COMMAND_MS);
    drive.rest(100.0);
    // From the command to the end of sector 49, without the read in between.
    let busy = drive.background().busy;
    near(busy.as_millis_f64(), 5.0 - COMMAND_MS - COMMAND_MS);
    // On a drive whose requests wait for the medium the read does, too.
    let waits = with_cache(|cache| {
        (cache.fast_writes, cache.writes_wait_for_medium) = (true, true);
    });
    let mut drive = Drive::new(&waits);
    near(drive.write(40, 10), COMMAND_MS);
    drive.rest_until(1.0);
    near(drive.read(40, 10), 4.0);
    drive.rest(100.0);
    near(drive.background().busy.as_millis_f64(), 0.9);
}

#[test]
fn a_write_that_is_not_fast_ends_on_the_medium() {
    let mut drive = Drive::new(&profile(|_| {}));
    near(drive.write(40, 10), 50.0 * SECTOR_MS);
    near(drive.write(60, 10), 20.0 * SECTOR_MS);
    near(drive.write(60, 10), REVOLUTION_MS);
    // It can be read from the buffer, if that says so.
    near(drive.read(40, 10), COMMAND_MS);
    let mut drive = Drive::new(&with_cache(|cache| cache.read_hits_on_written = false));
    drive.write(40, 10);
    near(drive.read(40, 10), REVOLUTION_MS);
}

#[test]
fn a_write_that_finds_no_segment_waits_for_one_to_be_written() {
    for (write_segments, waits) in [(2, true), (3, false)] {
        let profile = with_cache(|cache| {
            (cache.fast_writes, cache.write_segments) = (true, write_segments);
        });
        let mut drive = Drive::new(&profile);
        near(drive.write(40, 10), COMMAND_MS);
        near(drive.write(1060, 10), COMMAND_MS);
        let third = drive.write(2080, 10);
        // The first one is on the medium at 5 ms.
        near(drive.now.as_millis_f64(), if waits { 5.0 } else { 0.3 });
        near(third, if waits { 4.8 } else { COMMAND_MS });
        drive.rest(100.0);
        // The three are written one after the other, in one turn.
        let (served, rest) = (if waits { 4.8 } else { 0.1 }, 9.0 - 0.1);
        near(drive.background().busy.as_millis_f64(), rest - 0.1 - served);
    }
}

#[test]
fn of_the_writes_that_wait_the_nearest_goes_first() {
    let profile = with_cache(|cache| {
        (cache.fast_writes, cache.segments, cache.write_segments) = (true, 8, 4);
    });
    let mut drive = Drive::new(&profile);
    // The first one is being written when the others come: in the order 20, 40, 60 of the angle, not of arrival.
    near(drive.write(10, 5), COMMAND_MS);
    for sector in [4060, 2040, 3020] {
        near(drive.write(sector, 5), COMMAND_MS);
    }
    // The fourth that waits has its segment when the first is written.
    near(drive.write(5080, 5), 1.5 - 0.4);
    for (sector, end) in [(6000, 2.5), (7000, 4.5), (8000, 6.5)] {
        drive.write(sector, 5);
        near(drive.now.as_millis_f64(), end);
    }
}

#[test]
fn a_write_goes_on_with_the_one_that_waits() {
    let profile = with_cache(|cache| {
        (cache.fast_writes, cache.write_segments) = (true, 1);
    });
    let mut drive = Drive::new(&profile);
    near(drive.write(40, 10), COMMAND_MS);
    near(drive.write(50, 10), COMMAND_MS);
    // One that does not waits for both.
    near(drive.write(80, 10), 6.0 - 0.2);
    let apart = with_cache(|cache| {
        (cache.fast_writes, cache.write_segments) = (true, 1);
        cache.combine_writes = false;
    });
    let mut drive = Drive::new(&apart);
    near(drive.write(40, 10), COMMAND_MS);
    // The next one waits; a sector between them is time enough to follow.
    near(drive.write(51, 10), 5.0 - 0.1);
    near(drive.write(80, 10), 6.1 - 5.0);
}

#[test]
fn a_drive_that_keeps_the_bus_takes_data_while_the_arm_is_busy() {
    for (never_disconnect, response) in [(true, COMMAND_MS), (false, 3.0)] {
        let profile = profile(|profile| {
            let cache = profile.cache.as_mut().unwrap();
            (cache.fast_writes, cache.minimum_read_ahead_sectors) = (true, 30);
            profile.bus.as_mut().unwrap().never_disconnect = never_disconnect;
        });
        let mut drive = Drive::new(&profile);
        // 30 sectors are read ahead in any case; until then the bus is left, and rejoined then.
        near(drive.read(40, 10), 5.0);
        near(drive.write(2000, 10), response);
    }
}

#[test]
fn an_extra_disconnection_comes_between_the_command_and_the_data() {
    let profile = profile(|profile| {
        let cache = profile.cache.as_mut().unwrap();
        (cache.fast_writes, cache.segments, cache.write_segments) = (true, 1, 1);
        let overheads = profile.overheads.as_mut().unwrap();
        overheads.first_reselect_ms = 0.7;
        overheads.data_preparation_ms = 0.05;
        overheads.write_completion_ms = 0.03;
        overheads.extra_write_disconnect = Some(ExtraDisconnect {
            command_ms: 0.2,
            disconnect_ms: 0.3,
            between_ms: 0.5,
            second_disconnect_ms: 0.0,
            seek_delta_ms: 0.0,
        });
    });
    let mut drive = Drive::new(&profile);
    // The first one has none: no write came before.
    near(drive.write(40, 10), 0.1 + 0.05 + 0.03);
    drive.rest(1000.0);
    near(drive.write(2040, 10), 0.2 + 0.3 + 0.5 + 0.7 + 0.05 + 0.03);
    drive.rest(1000.0);
    // Nor has one that goes on, or comes after a read.
    near(drive.write(2050, 10), 0.1 + 0.05 + 0.03);
    drive.rest(1000.0);
    drive.read(9000, 10);
    drive.rest(1000.0);
    near(drive.write(40, 10), 0.1 + 0.05 + 0.03);
}

#[test]
fn a_drive_with_an_extra_disconnection_wants_some_sectors_of_a_write_in_hand() {
    for (extra, sectors, first, in_time) in [
        // Two sectors cross the bus while one passes, from 0.1 ms on. Ten are there at 0.6 ms, 15 at 0.85.
        (true, 44, 5, false),
        (true, 44, 7, true),
        (true, 45, 8, false),
        (true, 45, 9, true),
        // No more than the write has.
        (true, 4, 2, false),
        (true, 4, 4, true),
        (false, 44, 2, true),
    ] {
        let profile = profile(|profile| {
            profile.bus.as_mut().unwrap().write_ms_per_sector = 0.05;
            let overheads = profile.overheads.as_mut().unwrap();
            overheads.extra_write_disconnect = extra.then(ExtraDisconnect::default);
        });
        let turn = if in_time { 0.0 } else { REVOLUTION_MS };
        let expected = (first + u64::from(sectors)) as f64 * SECTOR_MS + turn;
        near(Drive::new(&profile).write(first, sectors), expected);
    }
}

#[test]
fn a_read_that_is_larger_than_its_segment_waits_until_sectors_have_been_sent() {
    for (reads_directly, response) in [
        // A sector takes 0.21 ms on the bus, in chunks of what is there: from 4.1 ms 1, from 4.31 2, from 4.73 4, from 5.57
        // 8, from 7.25 17, up to 10.82 ms. At 7.6 ms 56 of the sectors from 40 on have been sent, so there is no room
        // for 76, which comes again at 17.6 ms: chunks of 1, 2, 4 and 7 follow from 17.7 ms on.
        (true, 17.7 + 14.0 * 0.21),
        // At the end of sector 77 there is none for it.
        (false, 17.8 + 13.0 * 0.21),
    ] {
        let profile = profile(|profile| {
            profile.bus.as_mut().unwrap().read_ms_per_sector = 0.21;
            let cache = profile.cache.as_mut().unwrap();
            (cache.segment_sectors, cache.reads_directly) = (20, reads_directly);
        });
        near(Drive::new(&profile).read(40, 50), response);
    }
}

#[test]
fn a_part_of_a_read_is_sent_at_once_if_it_is_large_enough_or_any_part_may_be() {
    for (sends_partial_hits, share, begins, ends) in [
        // Five sectors of 20 are there: they are sent after the command. The mark is at each five sectors more.
        (false, 0.25, COMMAND_MS, 3.5 + 0.05),
        // Six are not, until sector 20 has passed. Of 20 two are left after three marks.
        (false, 0.3, 2.1, 3.5 + 0.02),
        // Five, and two marks.
        (true, 0.3, COMMAND_MS, 3.5 + 0.03),
    ] {
        let profile = profile(|profile| {
            let bus = profile.bus.as_mut().unwrap();
            (bus.read_ms_per_sector, bus.read_water_mark) = (0.01, share);
            profile.cache.as_mut().unwrap().sends_partial_hits = sends_partial_hits;
        });
        let mut drive = Drive::new(&profile);
        drive.read(10, 10);
        drive.rest_until(10.0);
        let time = drive.served(Access::Read, 15, 20);
        near(time.positioning.as_millis_f64(), begins);
        // What is left crosses the bus when sector 34 has passed.
        near(drive.now.as_millis_f64(), 10.0 + ends);
        near(time.pace.0 * 20.0, time.transfer.get() as f64);
    }
}

#[test]
fn a_buffer_that_keeps_nothing_uses_its_segments_in_turn() {
    // Of one segment two writes follow on each other in the same one.
    for (segments, turn) in [(2, 0.0), (1, REVOLUTION_MS)] {
        let profile = profile(|profile| {
            let cache = profile.cache.as_mut().unwrap();
            (cache.segments, cache.write_segments, cache.keeps_data) = (segments, 1, false);
            let overheads = profile.overheads.as_mut().unwrap();
            // The arm of a write with an extra disconnection sets out 0.1 ms later.
            overheads.extra_write_disconnect = Some(ExtraDisconnect {
                command_ms: 0.2,
                ..ExtraDisconnect::default()
            });
        });
        let mut drive = Drive::new(&profile);
        for read in 0..u64::from(segments) {
            drive.read(1000 * read, 10);
        }
        drive.write(5000, 10);
        drive.rest_until(100.05);
        // The command ends at 100.15 ms, just before sector 2.
        near(drive.write(9002, 10), 1.15 + turn);
    }
}

#[test]
fn no_write_waits_in_the_buffer_for_more_than_a_second_while_others_go_before_it() {
    for appends in [false, true] {
        let profile = with_cache(|cache| {
            (cache.fast_writes, cache.segments, cache.write_segments) = (true, 4, 3);
        });
        let mut drive = Drive::new(&profile);
        // Writes from sector 10 of a track to its end: when one is on the medium the next one begins before 15.
        drive.write(10_010, 90);
        near(drive.write(15, 1), COMMAND_MS);
        let mut late = None;
        for write in 1..150 {
            let began = drive.now.as_millis_f64();
            let response = drive.write(10_010 + 100 * 7 * write, 90);
            // Each waits for the one before the last, a turn; until the one at 15 is written in between.
            if write > 2 && (response - REVOLUTION_MS).abs() > 0.3 {
                late.get_or_insert(began);
            }
            // It waits since the first of its sectors came, even if it was used later than others.
            if appends && write < 90 {
                near(drive.write(15 + write, 1), COMMAND_MS);
            }
        }
        let late = late.expect("one that waits for the write at 15");
        assert!((990.0..1030.0).contains(&late), "{late}");
    }
}

/// Which of two requests is next, a while after a write of sectors 40 to 49.
fn next(profile: &DiskProfile, ms: f64, second: (Access, u64, u32)) -> usize {
    let mechanics = Mechanics::new(profile);
    let queueing = Queueing {
        scheduler: ArmScheduler::Look,
        ..Queueing::default()
    };
    let disk = PositionalDisk::at_angle(&mechanics, queueing, 0.0);
    let mut drive = Drive {
        disk,
        now: Nanos::ZERO,
    };
    drive.write(40, 10);
    drive.rest_until(ms);
    // The first one is a read on the cylinder of the arm, which it needs.
    let waiting = |&(access, sector, sectors): &(Access, u64, u32)| {
        let (sector, sectors) = (Sector::new(sector), Sectors::new(sectors));
        let job = Job::new(RequestId(0), access, sector, sectors);
        Waiting {
            place: drive.disk.place(&job),
            job,
            arrived: drive.now,
        }
    };
    let queue = [(Access::Read, 60, 8), second]
        .iter()
        .map(waiting)
        .collect();
    drive.disk.next(&queue, drive.now)
}

#[test]
fn what_the_buffer_serves_alone_goes_before_what_needs_the_arm() {
    let profile = |fast_writes: bool, writes_wait_for_medium: bool| {
        with_cache(|cache| {
            (cache.fast_writes, cache.writes_wait_for_medium) =
                (fast_writes, writes_wait_for_medium);
        })
    };
    let new = (Access::Write, 50_000, 8);
    let append = (Access::Write, 50, 8);
    let hit = (Access::Read, 42, 4);
    let part = (Access::Read, 45, 50);
    let discard = (Access::Discard, 50_000, 8);
    // At 1 ms a fast write is on its way to the medium, at 50 ms it is there.
    for (fast_writes, waits, ms, second, chosen) in [
        (true, false, 1.0, new, 1),
        (true, false, 50.0, new, 1),
        (true, true, 1.0, new, 0),
        (true, true, 50.0, new, 1),
        (false, false, 50.0, new, 0),
        (true, true, 1.0, append, 1),
        (true, false, 1.0, append, 1),
        (true, false, 1.0, hit, 1),
        (true, true, 1.0, hit, 0),
        (true, true, 50.0, hit, 1),
        (false, true, 50.0, hit, 1),
        (true, false, 50.0, part, 0),
        (true, true, 1.0, discard, 1),
        (false, false, 50.0, discard, 1),
    ] {
        let seen = next(&profile(fast_writes, waits), ms, second);
        assert_eq!(seen, chosen, "{fast_writes} {waits} {ms} {second:?}");
    }
    // A write that finds no segment waits, even if it would be fast.
    let full = with_cache(|cache| {
        (cache.fast_writes, cache.write_segments) = (true, 1);
    });
    assert_eq!((next(&full, 1.0, new), next(&full, 50.0, new)), (0, 1));
}

/// A drive of which each overhead is another one.
fn with_overheads(never_disconnect: bool) -> DiskProfile {
    profile(|profile| {
        let cache = profile.cache.as_mut().unwrap();
        (cache.fast_writes, cache.segments) = (true, 8);
        profile.bus.as_mut().unwrap().never_disconnect = never_disconnect;
        profile.overheads = Some(OverheadsProfile {
            per_request_ms: 0.011,
            read_hit_after_read_ms: 0.02,
            read_hit_after_write_ms: 0.03,
            read_miss_after_read_ms: 0.05,
            read_miss_after_write_ms: 0.07,
            write_hit_after_read_ms: 0.11,
            write_hit_after_write_ms: 0.13,
            read_completion_ms: 0.017,
            write_completion_ms: 0.019,
            data_preparation_ms: 0.0023,
            first_reselect_ms: 0.0029,
            read_disconnect_after_read_ms: 0.0031,
            read_disconnect_after_write_ms: 0.0037,
            write_disconnect_ms: 0.0041,
            ..OverheadsProfile::default()
        });
    })
}

#[test]
fn each_overhead_counts_once() {
    for never_disconnect in [false, true] {
        let mut drive = Drive::new(&with_overheads(never_disconnect));
        let mut at = 0.0;
        // In the middle of sector 5 of a turn, a while after the request before.
        let mut serve = |access, sector, begins: f64, ends: f64| {
            at += 100.0;
            drive.rest_until(at + 0.55);
            let time = drive.served(access, sector, 1);
            near(time.positioning.as_millis_f64(), begins);
            near(drive.now.as_millis_f64() - (at + 0.55), ends);
        };
        let (request, prepared) = (0.011, 0.0023);
        let (read, write) = (Access::Read, Access::Write);
        // A miss is there when its sector has passed; the bus is kept until then, or rejoined.
        let miss = |sector: f64| {
            let passed = (sector + 1.0) * SECTOR_MS - 0.55;
            let begins = passed
                + if never_disconnect {
                    0.0
                } else {
                    0.0029 + prepared
                };
            (begins, begins + 0.017)
        };
        let hit = |command: f64| {
            let begins = request + command + prepared;
            (begins, begins + 0.017)
        };
        let written = |command: f64| {
            let begins = request + command + prepared;
            (begins, begins + 0.019)
        };
        for (access, sector, (begins, ends)) in [
            (read, 50, miss(50.0)),
            (read, 50, hit(0.02)),
            // The command ends just after sector 6 has begun.
            (read, 20_006, miss(106.0)),
            (write, 3050, written(0.11)),
            (write, 4050, written(0.13)),
            (read, 50, hit(0.03)),
            (write, 5050, written(0.11)),
            (read, 6050, miss(50.0)),
        ] {
            serve(access, sector, begins, ends);
        }
    }
}

#[test]
fn the_arm_sets_out_with_the_command_of_a_miss() {
    // The commands end 0.061 ms after the request, or 0.081 ms if a write came before.
    for (after, rests, in_time) in [
        (Access::Read, 0.53, true),
        (Access::Read, 0.55, false),
        (Access::Write, 0.51, true),
        (Access::Write, 0.53, false),
    ] {
        let mut drive = Drive::new(&with_overheads(true));
        drive.serve(after, 3000, 1);
        drive.rest_until(100.0 + rests);
        drive.read(1006, 1);
        let turn = if in_time { 0.0 } else { REVOLUTION_MS };
        near(drive.now.as_millis_f64(), 100.7 + turn + 0.017);
    }
}

#[test]
fn a_discard_takes_its_command_and_its_data_are_forgotten() {
    let mut drive = Drive::new(&profile(|_| {}));
    drive.read(40, 10);
    drive.read(1040, 10);
    drive.rest(3.3);
    near(drive.serve(Access::Discard, 45, 1), COMMAND_MS);
    near(drive.read(1040, 10), COMMAND_MS);
    assert!(drive.read(40, 10) > 2.0 * COMMAND_MS);
}

#[test]
fn what_happens_while_nobody_looks_is_the_same_as_with_a_look_at_the_arm() {
    let mut random = Seed::new(7).stream("test", "looks");
    for number in 0..60 {
        let coins = random.below(1 << 10);
        let coin = |bit: u32| coins >> bit & 1 == 1;
        let mut profile = with_cache(|cache| {
            (cache.segments, cache.segment_sectors) = (1 + random.below(5) as u32, 50);
            cache.write_segments = 1 + random.below(u64::from(cache.segments)) as u32;
            cache.read_ahead = [ReadAhead::Maximum, ReadAhead::NextTrack][usize::from(coin(0))];
            cache.maximum_read_ahead_sectors = if coin(1) { 40 } else { 0 };
            cache.minimum_read_ahead_sectors = if coin(2) { 20 } else { 0 };
            (cache.fast_writes, cache.combine_writes) = (number % 4 > 0, coin(3));
            (cache.writes_wait_for_medium, cache.stop_in_sector) = (coin(4), coin(5));
            (cache.read_ahead_on_hit, cache.finish_step) = (coin(6), coin(7));
        });
        // Data that come when a sector begins to pass, in the order that rounding gives, would make turns of a difference.
        profile.overheads.as_mut().unwrap().first_reselect_ms = 0.03;
        let (mut plain, mut watched) = (Drive::new(&profile), Drive::new(&profile));
        let mut sector = 0;
        for request in 0..100 {
            let sectors = 1 + random.below(20);
            sector = match random.below(3) {
                0 => random.below(CAPACITY - 20),
                1 => sector,
                _ => (sector + sectors).min(CAPACITY - 20),
            };
            let access = [Access::Read, Access::Write][random.below(2) as usize];
            // At a quarter of a sector, or two or three.
            let (began, looks) = (plain.now.get() / 1000, random.below(4));
            let sectors_on = 1 + random.below(4) * random.below(50);
            let now = (began / 100 + sectors_on) * 100 + 25 * (1 + random.below(3));
            plain.now = Nanos::from_micros(now);
            for look in 0..looks {
                let at = began + (now - began) * look / looks;
                watched.disk.track_at(Nanos::from_micros(at));
            }
            watched.now = plain.now;
            let response = plain.serve(access, sector, sectors as u32);
            let seen = watched.serve(access, sector, sectors as u32);
            assert_eq!(response, seen, "drive {number}, request {request}");
        }
        plain.rest(500.0);
        watched.now = plain.now;
        watched.disk.track_at(watched.now);
        let busy = |drive: Drive| drive.background().busy.as_millis_f64();
        near(busy(watched), busy(plain));
    }
}

#[test]
fn the_arm_follows_read_ahead_over_the_tracks() {
    let profile = with_cache(|cache| {
        (cache.read_ahead, cache.maximum_read_ahead_sectors) = (ReadAhead::Maximum, 400);
    });
    let mut drive = Drive::new(&profile);
    near(drive.read(40, 10), 5.0);
    // Track by track, until sector 449 has been read.
    for (ms, track) in [
        (9.9, (0, 0)),
        (10.1, (0, 1)),
        (20.1, (1, 0)),
        (40.1, (2, 0)),
        (500.0, (2, 0)),
    ] {
        assert_eq!(drive.disk.track_at(Nanos::nearest(ms * 1e6)), track, "{ms}");
    }
}

#[test]
fn the_measurement_forgets_what_was_written_before_it() {
    let profile = with_cache(|cache| cache.fast_writes = true);
    let mut drive = Drive::new(&profile);
    drive.write(40, 10);
    drive.rest_until(3.0);
    // Two milliseconds are left of the first, and all of the second one.
    drive.disk.measure_from(drive.now);
    drive.rest_until(100.0);
    drive.write(40, 10);
    drive.rest(100.0);
    near(drive.background().busy.as_millis_f64(), 2.0 + 4.9);
}

#[test]
fn the_station_of_a_drive_measures_its_background() {
    let mechanics = Mechanics::new(&with_cache(|cache| cache.fast_writes = true));
    let disk = PositionalDisk::at_angle(&mechanics, Queueing::default(), 0.0);
    let mut disk = iosonar_device::Station::new(disk);
    let job = Job::new(
        RequestId(0),
        Access::Write,
        Sector::new(40),
        Sectors::new(10),
    );
    disk.submit(job, Nanos::ZERO);
    let ended = disk.start_next(Nanos::ZERO).unwrap();
    disk.complete(ended, ended).unwrap();
    disk.measure_from(Nanos::from_millis(50));
    disk.end_measurement(Nanos::from_millis(100));
    assert_eq!(disk.usage().background, Background::default());
}
