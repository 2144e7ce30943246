//! Drives with a buffer: the built-in ones against DiskSim's answers, made-up ones for every rule that no real one
//! has, and what must hold of all of them.

use std::path::Path;
use std::sync::Arc;

use iosonar_device::{Access, Device, InOrder, Job, RequestId, Station};
use iosonar_disk_model::{
    ArmScheduler, Arrival, BusProfile, CacheProfile, DiskProfile, ExtraDisconnect, Geometry,
    GeometryProfile, HeadOrder, LayoutProfile, LayoutZone, Mechanics, OverheadsProfile,
    PositionalDisk, ProfileError, Queueing, ReadAhead, Requested, SeekLaw, SeekPoints, SeekProfile,
    Sparing, TransferProfile, WaterMarkOf, Zoning,
};
use iosonar_sim_core::{Seed, Stream};
use iosonar_units::{Nanos, Sector, Sectors};

fn coin(random: &mut Stream) -> bool {
    random.below(2) == 1
}

/// Often none.
fn ms(random: &mut Stream) -> f64 {
    if coin(random) { 0.0 } else { random.uniform() }
}

fn made_up_layout(random: &mut Stream, surfaces: u32) -> LayoutProfile {
    let sparing = [
        Sparing::None,
        Sparing::Tracks,
        Sparing::Track,
        Sparing::Cylinder,
        Sparing::CylinderFront,
        Sparing::Range,
        Sparing::Zone,
        Sparing::Disk,
    ][random.below(8) as usize];
    let heads = [
        HeadOrder::Ascending,
        HeadOrder::SerpentineInZone,
        HeadOrder::Serpentine,
    ][random.below(3) as usize];
    let mut zones = Vec::new();
    let mut cylinder = 0;
    for _ in 0..=random.below(3) {
        // Zones with gaps.
        let first_cylinder = cylinder + random.below(3) as u32;
        let last_cylinder = first_cylinder + 5 + random.below(20) as u32;
        cylinder = last_cylinder + 1;
        let sectors_per_track = 12 + random.below(40) as u32;
        let places = match sparing {
            Sparing::Tracks => u64::from(surfaces) * 5,
            _ => u64::from(surfaces * sectors_per_track) * 5,
        };
        let mut slips: Vec<u64> = (0..random.below(4)).map(|_| random.below(places)).collect();
        slips.sort_unstable();
        slips.dedup();
        if sparing == Sparing::None {
            slips.clear();
        }
        zones.push(LayoutZone {
            first_cylinder,
            last_cylinder,
            sectors_per_track,
            offset_sectors: random.below(7) as f64,
            track_skew_sectors: random.below(9) as f64,
            cylinder_skew_sectors: random.below(9) as f64,
            skipped_sectors: random.below(9),
            spares: (1 + random.below(4)).max(slips.len() as u64),
            remaps: (0..random.below(3))
                .map(|_| (random.below(places), random.below(places)))
                .collect(),
            slips,
        });
    }
    LayoutProfile {
        heads,
        sparing,
        range_cylinders: 1 + random.below(3) as u32,
        zones,
    }
}

fn made_up_seek(random: &mut Stream) -> SeekLaw {
    match random.below(4) {
        0 => SeekLaw::Constant {
            seek_ms: ms(random),
        },
        1 => SeekLaw::Measured {
            points: vec![(1.0, 1.2), (2.0, 0.9), (5.0, 1.5), (20.0, 3.0)],
        },
        2 => SeekLaw::ThreePoint {
            track_to_track_ms: 0.5,
            average_ms: 2.0,
            full_stroke_ms: 4.0,
        },
        _ => SeekLaw::TwoPiece {
            first_ms: vec![0.5, 0.4],
            line_from_cylinders: 9.0,
            root_ms: (0.3, 0.2),
            line_ms: (0.7, 0.01),
        },
    }
}

fn made_up_cache(random: &mut Stream) -> CacheProfile {
    let segment_sectors = 1 + random.below(60);
    let segments = 1 + random.below(6) as u32;
    CacheProfile {
        segments,
        segment_sectors,
        write_segments: 1 + random.below(u64::from(segments)) as u32,
        separate_write_segment: segments > 1 && coin(random),
        keeps_data: random.below(4) > 0,
        read_hits_on_written: coin(random),
        almost_read_hits: coin(random),
        read_ahead: [
            ReadAhead::None,
            ReadAhead::Track,
            ReadAhead::Cylinder,
            ReadAhead::Maximum,
            ReadAhead::NextTrack,
        ][random.below(5) as usize],
        minimum_read_ahead_sectors: if coin(random) {
            0
        } else {
            random.below(segment_sectors + 1)
        },
        maximum_read_ahead_sectors: if coin(random) {
            0
        } else {
            random.below(segment_sectors + 1)
        },
        requested: [
            Requested::Kept,
            Requested::PushedOut,
            Requested::DroppedWhenSent,
        ][random.below(3) as usize],
        read_ahead_on_hit: coin(random),
        stop_in_sector: coin(random),
        finish_step: coin(random),
        free_blocks: coin(random),
        immediate_reads: coin(random),
        arrival: if coin(random) {
            Arrival::AsDisksim
        } else {
            Arrival::AsDocumented
        },
        reads_directly: coin(random),
        sends_partial_hits: coin(random),
        fast_writes: coin(random),
        combine_writes: coin(random),
        writes_wait_for_medium: coin(random),
    }
}

fn made_up_overheads(random: &mut Stream) -> OverheadsProfile {
    OverheadsProfile {
        per_request_ms: ms(random),
        read_hit_after_read_ms: ms(random),
        read_hit_after_write_ms: ms(random),
        read_miss_after_read_ms: ms(random),
        read_miss_after_write_ms: ms(random),
        write_hit_after_read_ms: ms(random),
        write_hit_after_write_ms: ms(random),
        write_miss_after_read_ms: ms(random),
        write_miss_after_write_ms: ms(random),
        read_completion_ms: ms(random),
        write_completion_ms: ms(random),
        data_preparation_ms: ms(random),
        first_reselect_ms: ms(random),
        other_reselect_ms: ms(random),
        read_disconnect_after_read_ms: ms(random),
        read_disconnect_after_write_ms: ms(random),
        write_disconnect_ms: ms(random),
        minimum_write_seek_ms: ms(random),
        extra_write_disconnect: coin(random).then(|| ExtraDisconnect {
            command_ms: ms(random),
            disconnect_ms: ms(random),
            between_ms: ms(random),
            second_disconnect_ms: ms(random),
            seek_delta_ms: ms(random),
        }),
    }
}

fn made_up_bus(random: &mut Stream) -> BusProfile {
    BusProfile {
        read_ms_per_sector: ms(random) / 10.0,
        write_ms_per_sector: ms(random) / 10.0,
        hold_reads: coin(random),
        hold_writes: coin(random),
        never_disconnect: random.below(4) == 0,
        read_water_mark: [0.0, 0.3, 0.75, 1.0][random.below(4) as usize],
        write_water_mark: [0.0, 0.3, 0.75, 1.0][random.below(4) as usize],
        water_mark_of: if coin(random) {
            WaterMarkOf::Request
        } else {
            WaterMarkOf::Segment
        },
    }
}

/// A drive of a few thousand sectors, every choice of which is drawn.
fn made_up(random: &mut Stream) -> DiskProfile {
    let surfaces = 1 + random.below(4) as u32;
    let revolution_ms = 1.0 + 4.0 * random.uniform();
    let mut profile = DiskProfile {
        shingled: None,
        provenance: None,
        data_sheet: None,
        queue: None,
        name: String::new(),
        description: "made up".to_owned(),
        cylinders: 150,
        revolution_ms,
        capacity_sectors: 1000,
        transfer: TransferProfile {
            outermost_ms_per_sector: revolution_ms / 60.0,
            innermost_ms_per_sector: revolution_ms / 12.0,
            zoning: Zoning::SectorsPerTrackLinear,
        },
        seek: SeekProfile {
            read: SeekPoints::default(),
            write: SeekPoints::default(),
            curve: Some(made_up_seek(random)),
            write_settle_ms: 2.0 * random.uniform() - 1.0,
        },
        geometry: GeometryProfile {
            surfaces,
            head_switch_ms: ms(random),
            ..GeometryProfile::default()
        },
        layout: Some(made_up_layout(random, surfaces)),
        cache: Some(made_up_cache(random)),
        overheads: coin(random).then(|| made_up_overheads(random)),
        bus: Some(made_up_bus(random)),
    };
    profile.capacity_sectors = Geometry::new(&profile).capacity();
    DiskProfile::parse(&profile.to_toml(), "made up")
        .unwrap_or_else(|e| panic!("{e}\n{}", profile.to_toml()))
}

/// Places near each other, so that there are hits, overlaps and appends; some requests larger than any segment.
fn requests(random: &mut Stream, capacity: u64, count: u64) -> Vec<(Job, Nanos)> {
    let mut sector = 0;
    (0..count)
        .map(|i| {
            let sectors = match random.below(12) {
                0 => 1 + random.below(capacity.min(150)),
                _ => 1 + random.below(capacity.min(12)),
            };
            sector = match random.below(6) {
                0 => random.below(capacity),
                1 => sector,
                2 => sector.saturating_sub(random.below(20)),
                _ => sector + sectors,
            };
            sector = sector.min(capacity - sectors);
            let access = match random.below(20) {
                0 => Access::Discard,
                n if n % 2 == 0 => Access::Read,
                _ => Access::Write,
            };
            let think = match random.below(3) {
                0 => Nanos::ZERO,
                1 => Nanos::nearest(random.uniform() * 1e6),
                _ => Nanos::nearest(random.uniform() * 30e6),
            };
            let (begin, length) = (Sector::new(sector), Sectors::new(sectors as u32));
            (Job::new(RequestId(i), access, begin, length), think)
        })
        .collect()
}

/// One request at a time.
fn closed_loop(disk: PositionalDisk, requests: &[(Job, Nanos)]) -> Vec<Nanos> {
    let mut disk = Station::new(disk);
    let mut now = Nanos::ZERO;
    requests
        .iter()
        .map(|&(job, think)| {
            let response = disk.serve(job, now).ended() - now;
            now = now + response + think;
            response
        })
        .collect()
}

#[test]
fn made_up_drives_serve_every_request_and_many_sectors_at_once_change_nothing() {
    let mut random = Seed::new(23).stream("test", "drives");
    for number in 0..400 {
        let profile = made_up(&mut random);
        let mechanics = Mechanics::new(&profile);
        let requests = requests(&mut random, mechanics.geometry().capacity(), 150);
        let disk = || PositionalDisk::at_angle(&mechanics, Queueing::default(), 0.0);
        let fast = closed_loop(disk(), &requests);
        let slow = closed_loop(disk().sector_by_sector(), &requests);
        assert_eq!(fast, slow, "drive {number}:\n{}", profile.to_toml());
        let longest = fast.iter().max().unwrap();
        assert!(
            *longest < Nanos::from_secs(20),
            "drive {number}: {longest}\n{}",
            profile.to_toml()
        );
    }
}

/// Many at a time: the responses by request.
fn queued(
    mechanics: &Arc<Mechanics>,
    queueing: Queueing,
    requests: &[(Job, Nanos)],
    depth: usize,
) -> Vec<Nanos> {
    let mut disk = Station::new(PositionalDisk::at_angle(mechanics, queueing, 0.0));
    let mut responses = vec![None; requests.len()];
    let (mut next, mut now, mut busy) = (0, Nanos::ZERO, None);
    let mut waiting = 0;
    while responses.iter().any(Option::is_none) {
        while waiting < depth && next < requests.len() {
            disk.submit(requests[next].0, now);
            (next, waiting) = (next + 1, waiting + 1);
        }
        busy = busy.or_else(|| disk.start_next(now));
        now = busy.take().expect("requests wait, so one is served");
        let service = disk.complete(now, now).expect("a service ends then");
        let id = service.job.request.0 as usize;
        assert!(
            responses[id].replace(now - service.arrived).is_none(),
            "served twice"
        );
        waiting -= 1;
    }
    responses.into_iter().map(Option::unwrap).collect()
}

#[test]
fn with_a_queue_no_request_is_lost_or_starves_and_each_run_is_the_same() {
    let mut random = Seed::new(24).stream("test", "queues");
    for scheduler in [
        ArmScheduler::Fcfs,
        ArmScheduler::Sstf,
        ArmScheduler::Look,
        ArmScheduler::CLook,
        ArmScheduler::Sptf,
    ] {
        for _ in 0..30 {
            let profile = made_up(&mut random);
            let mechanics = Mechanics::new(&profile);
            let requests = requests(&mut random, mechanics.geometry().capacity(), 300);
            let queueing = Queueing {
                scheduler,
                depth: 32,
                most_wait: Nanos::from_millis(500),
            };
            let once = queued(&mechanics, queueing, &requests, 40);
            assert_eq!(once, queued(&mechanics, queueing, &requests, 40));
            // One that has waited for too long goes next; before it are those that waited for as long.
            let slowest = closed_loop(
                PositionalDisk::at_angle(&mechanics, queueing, 0.0),
                &requests,
            );
            let bound =
                Nanos::from_millis(500) + Nanos::new(41 * slowest.iter().max().unwrap().get());
            assert!(*once.iter().max().unwrap() <= bound, "{scheduler:?}");
        }
    }
}

fn built_in(name: &str) -> DiskProfile {
    DiskProfile::load(name, Path::new(".")).unwrap_or_else(|e| panic!("{e}"))
}

/// Requests of the recordings of five drives, and the responses that DiskSim 4.0 gives.
#[test]
fn the_built_in_drives_give_disksims_responses() {
    let text = include_str!("drives.csv");
    let lines = || text.lines().filter(|line| !line.starts_with('#'));
    let rows: Vec<Vec<&str>> = lines().map(|line| line.split(',').collect()).collect();
    let (mut all, mut within) = (0, 0);
    for drive in rows
        .split(|row| row[0] == "drive")
        .skip(1)
        .zip(rows.iter().filter(|row| row[0] == "drive"))
    {
        let (rows, name) = (drive.0, drive.1[1]);
        let mut profile = built_in(name);
        profile.cache.as_mut().unwrap().arrival = Arrival::AsDisksim;
        let requests: Vec<(Job, Nanos)> = rows
            .iter()
            .map(|row| {
                let access = if row[0] == "R" {
                    Access::Read
                } else {
                    Access::Write
                };
                let (sector, sectors) = (
                    Sector::new(row[1].parse().unwrap()),
                    Sectors::new(row[2].parse().unwrap()),
                );
                let think = Nanos::nearest(row[3].parse::<f64>().unwrap() * 1e3);
                (Job::new(RequestId(0), access, sector, sectors), think)
            })
            .collect();
        let mechanics = Mechanics::new(&profile);
        let times = closed_loop(
            PositionalDisk::at_angle(&mechanics, Queueing::default(), 0.0),
            &requests,
        );
        for (row, time) in rows.iter().zip(times) {
            all += 1;
            within +=
                u32::from((time.as_millis_f64() - row[4].parse::<f64>().unwrap()).abs() <= 0.01);
        }
    }
    assert_eq!((within, all), (1500, 1500));
}

/// A modern drive of which only what matters is given.
fn modern(write_segments: u32) -> DiskProfile {
    let mut profile = built_in("seagate-st3500630ns");
    profile.cache = Some(CacheProfile {
        segments: 16,
        segment_sectors: 2048,
        write_segments,
        read_ahead: ReadAhead::Maximum,
        maximum_read_ahead_sectors: 1024,
        fast_writes: true,
        ..CacheProfile::default()
    });
    profile.bus = Some(BusProfile {
        read_ms_per_sector: 0.002,
        write_ms_per_sector: 0.002,
        ..BusProfile::default()
    });
    DiskProfile::parse(&profile.to_toml(), "modern").unwrap()
}

fn far_apart(access: Access, count: u64) -> Vec<(Job, Nanos)> {
    (0..count)
        .map(|i| {
            let sector = Sector::new(i * 7_919 * 8 * 1000 % 900_000_000);
            (
                Job::new(RequestId(i), access, sector, Sectors::new(8)),
                Nanos::ZERO,
            )
        })
        .collect()
}

#[test]
fn several_writes_wait_in_the_buffer_and_the_nearest_goes_first() {
    let mean = |write_segments| {
        let mechanics = Mechanics::new(&modern(write_segments));
        let disk = PositionalDisk::at_angle(&mechanics, Queueing::default(), 0.0);
        let times = closed_loop(disk, &far_apart(Access::Write, 400));
        times.iter().map(|t| t.as_millis_f64()).sum::<f64>() / 400.0
    };
    let (one, eight) = (mean(1), mean(8));
    assert!(eight < 0.85 * one, "{eight} against {one}");
}

#[test]
fn a_read_from_the_buffer_overtakes_those_that_need_the_arm() {
    let mechanics = Mechanics::new(&modern(4));
    let queueing = Queueing {
        scheduler: ArmScheduler::Look,
        depth: 32,
        most_wait: Nanos::MAX,
    };
    let mut disk = Station::new(PositionalDisk::at_angle(&mechanics, queueing, 0.0));
    let read = |id: u64, sector: u64| {
        Job::new(
            RequestId(id),
            Access::Read,
            Sector::new(sector),
            Sectors::new(8),
        )
    };
    disk.submit(read(0, 1000), Nanos::ZERO);
    let mut now = disk.start_next(Nanos::ZERO).unwrap();
    disk.complete(now, now);
    now += Nanos::from_millis(100);
    for (id, sector) in [(1, 500_000_000), (2, 700_000_000), (3, 1008)] {
        disk.submit(read(id, sector), now);
    }
    let end = disk.start_next(now).unwrap();
    assert_eq!(disk.complete(end, end).unwrap().job.request, RequestId(3));
    assert!(end - now < Nanos::from_micros(100), "{}", end - now);
}

#[test]
fn without_its_tables_a_drive_is_the_disk_that_it_was() {
    let plain = built_in("seagate-st3500630ns");
    let mut laid_out = plain.clone();
    let geometry = Geometry::new(&plain);
    // The same tracks as a layout: one zone, whose skews are those of the geometry.
    let sectors = geometry.place(0).sectors_per_track;
    laid_out.geometry.zones = vec![iosonar_disk_model::ZoneProfile {
        first_cylinder: 0,
        sectors_per_track: sectors,
    }];
    let one_zone = laid_out.clone();
    let skew = f64::from(sectors) * 0.8 / 8.33;
    laid_out.layout = Some(LayoutProfile {
        range_cylinders: 1,
        zones: vec![LayoutZone {
            first_cylinder: 0,
            last_cylinder: plain.cylinders - 1,
            sectors_per_track: sectors,
            track_skew_sectors: skew,
            cylinder_skew_sectors: skew,
            ..LayoutZone::default()
        }],
        ..LayoutProfile::default()
    });
    let times = |profile: &DiskProfile| {
        let mut random = Seed::new(25).stream("test", "plain");
        let mechanics = Mechanics::new(profile);
        let requests = requests(&mut random, mechanics.geometry().capacity(), 2000);
        closed_loop(
            PositionalDisk::at_angle(&mechanics, Queueing::default(), 0.3),
            &requests,
        )
    };
    for (a, b) in times(&one_zone).into_iter().zip(times(&laid_out)) {
        // A skew in sectors and one in milliseconds differ by rounding.
        assert!(a.get().abs_diff(b.get()) <= 10, "{a} {b}");
    }
}

#[test]
fn slips_beyond_the_spares_of_a_unit_are_refused_with_file_and_line() {
    let layout = |sparing: &str, spares: u64, slips: &str| {
        format!(
            "description = 'x'\ncylinders = 20\nrevolution_ms = 10.0\ncapacity_sectors = 1000\n\
             [transfer]\noutermost_ms_per_sector = 0.5\ninnermost_ms_per_sector = 0.5\n\
             [seek]\ncurve = {{ kind = 'constant', seek_ms = 1.0 }}\n\
             [geometry]\nsurfaces = 2\nhead_switch_ms = 0.0\ntrack_skew_ms = 0.0\ncylinder_skew_ms = 0.0\n\
             [layout]\nsparing = '{sparing}'\nrange_cylinders = 2\n\
             [[layout.zones]]\nfirst_cylinder = 0\nlast_cylinder = 3\nsectors_per_track = 20\n\
             [[layout.zones]]\nfirst_cylinder = 5\nlast_cylinder = 9\nsectors_per_track = 20\n\
             spares = {spares}\nslips = {slips}\n"
        )
    };
    for (sparing, spares, fits, beyond) in [
        ("none", 0, "[3, 24, 159]", ""),
        ("disk", 0, "[3, 24]", ""),
        ("track", 2, "[3, 4, 27, 30]", "[3, 4, 5]"),
        ("cylinder", 2, "[3, 24, 43]", "[3, 24, 25]"),
        ("cylinder-front", 1, "[3, 43]", "[3, 20]"),
        ("zone", 3, "[3, 24, 150]", "[3, 24, 150, 151]"),
        ("tracks", 1, "[3]", "[3, 5]"),
        // Two ranges of two cylinders, and one that has no spares.
        ("range", 1, "[3, 83]", "[3, 163]"),
    ] {
        let text = layout(sparing, spares, fits);
        // How much the zones hold is said where it is refused.
        let held = match DiskProfile::parse(&text, "x.toml") {
            Err(ProfileError::Capacity { held, .. }) => held,
            other => panic!("{sparing}: {other:?}"),
        };
        let text = text.replace("= 1000", &format!("= {held}"));
        let profile =
            DiskProfile::parse(&text, "x.toml").unwrap_or_else(|e| panic!("{sparing}: {e}"));
        let geometry = Geometry::new(&profile);
        let mut places: Vec<_> = (0..geometry.capacity())
            .map(|sector| geometry.place(sector))
            .map(|place| (place.cylinder, place.head, place.sector))
            .collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len() as u64, geometry.capacity(), "{sparing}");
        assert!(
            places
                .iter()
                .all(|&(cylinder, ..)| cylinder < 4 || (5..10).contains(&cylinder))
        );
        if beyond.is_empty() {
            continue;
        }
        let message = DiskProfile::parse(&layout(sparing, spares, beyond), "x.toml")
            .unwrap_err()
            .to_string();
        let slips = beyond.split(',').count();
        let expected = format!(
            "x.toml:27: 'layout.zones.slips' is {slips}, expected no more slips than spares"
        );
        assert!(message.starts_with(&expected), "{sparing}: {message}");
    }
}
