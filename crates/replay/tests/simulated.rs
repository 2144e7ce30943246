//! Replays on devices that are computed: any latency, any fault, and nobody's data.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use iosonar_replay::verify::{Kind, Verification, Verify};
use iosonar_replay::{
    AccessKind, Conflicts, Control, EndedEarly, EngineKind, Load, Options, Progress, ReplayError,
    SimulatedDevice, StopRequest, Strong, Summary, Target, Writes, replay,
};
use iosonar_trace::Reading;
use iosonar_units::{Bytes, Nanos, Sector, Sectors};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// Every fourth write is forgotten.
    Lost,
    /// Of every fourth write only the first half arrives.
    Torn,
    /// Every fourth write lands eight sectors further on.
    Misplaced,
    /// Every fourth read shows zeros.
    Zeros,
    /// Every fourth read has a bit flipped.
    Flipped,
    /// Every fourth request fails with this error.
    Errno(i32),
    /// From the hundredth request on nothing works.
    Gone,
}

/// One request as the device saw it.
#[derive(Clone, Copy, Debug)]
struct Seen {
    kind: AccessKind,
    sector: u64,
    sectors: u32,
}

#[derive(Default)]
struct Log {
    /// In the order of submission.
    submitted: Vec<Seen>,
    /// Pairs that were in flight at once and overlapped, by their numbers in `submitted`.
    together: Vec<(usize, usize)>,
}

/// A device with contents, whose requests take between 5 and 300 us.
struct Device {
    fault: Fault,
    random: u64,
    flying: HashMap<u32, (Seen, Nanos, usize)>,
    contents: HashMap<u64, [u8; 512]>,
    requests: u64,
    writes: u64,
    log: Arc<Mutex<Log>>,
}

impl Device {
    fn new(fault: Fault) -> (Self, Arc<Mutex<Log>>) {
        let log = Arc::new(Mutex::new(Log::default()));
        let device = Self {
            fault,
            random: 88_172_645_463_325_252,
            flying: HashMap::new(),
            contents: HashMap::new(),
            requests: 0,
            writes: 0,
            log: Arc::clone(&log),
        };
        (device, log)
    }
}

impl SimulatedDevice for Device {
    fn submit(&mut self, id: u32, kind: AccessKind, sector: Sector, sectors: Sectors, now: Nanos) {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let seen = Seen {
            kind,
            sector: sector.get(),
            sectors: sectors.get(),
        };
        let mut log = self.log.lock().unwrap();
        let number = log.submitted.len();
        for (other, _, other_number) in self.flying.values() {
            let overlap = other.sector < seen.sector + u64::from(seen.sectors)
                && seen.sector < other.sector + u64::from(other.sectors);
            if overlap {
                log.together.push((*other_number, number));
            }
        }
        log.submitted.push(seen);
        let at = now + Nanos::from_micros(5 + self.random % 295);
        assert!(
            self.flying.insert(id, (seen, at, number)).is_none(),
            "a slot is used twice"
        );
    }

    fn next_completion(&self) -> Option<Nanos> {
        self.flying.values().map(|(_, at, _)| *at).min()
    }

    fn complete(&mut self, now: Nanos) -> Option<(u32, Nanos)> {
        let next = self
            .flying
            .iter()
            .map(|(id, (_, at, _))| (*at, *id))
            .min()?;
        (next.0 <= now).then(|| {
            self.flying.remove(&next.1);
            (next.1, next.0)
        })
    }

    fn data(&mut self, _: u32, kind: AccessKind, sector: Sector, data: &mut [u8]) -> i32 {
        self.requests += 1;
        let fourth = self.requests.is_multiple_of(4);
        match self.fault {
            Fault::Errno(errno) if fourth => return -errno,
            Fault::Gone if self.requests > 100 => return -19,
            _ => {}
        }
        match kind {
            AccessKind::Flush => return 0,
            AccessKind::Read => {
                for (sector, data) in (sector.get()..).zip(data.chunks_mut(512)) {
                    let held = self.contents.get(&sector);
                    data.copy_from_slice(held.unwrap_or(&[0x77; 512]));
                }
                match self.fault {
                    Fault::Zeros if fourth => data.fill(0),
                    Fault::Flipped if fourth => data[100] ^= 1,
                    _ => {}
                }
            }
            AccessKind::Write { .. } => {
                self.writes += 1;
                let fourth = self.writes.is_multiple_of(4);
                let (shift, share) = match self.fault {
                    Fault::Lost if fourth => return data.len() as i32,
                    Fault::Misplaced if fourth => (8, 1),
                    Fault::Torn if fourth => (0, 2),
                    _ => (0, 1),
                };
                let arriving = data.len() / 512 / share * 512;
                for (sector, data) in (sector.get() + shift..).zip(data[..arriving].chunks(512)) {
                    self.contents.insert(sector, data.try_into().unwrap());
                }
            }
            AccessKind::Discard | AccessKind::WriteZeroes => {}
        }
        data.len() as i32
    }
}

struct Scratch(tempfile::TempDir);

impl Scratch {
    fn load(text: &str) -> (Self, PathBuf) {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = dir.path().join("x.load");
        std::fs::write(&path, text).unwrap();
        (Self(dir), path)
    }
}

/// Reads and writes of 8 to 24 sectors that often overlap, `n` of them, 20 us apart.
fn overlapping(n: u64, span_sectors: u64) -> String {
    let mut random = 1_u64;
    (0..n)
        .map(|i| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let at = |bits: u32| random >> bits;
            let op = if at(60) % 2 == 0 { 'R' } else { 'W' };
            let (sector, sectors) = (at(33) % span_sectors, 1 + at(50) % 24);
            format!("{:.9} ; {sector} ; {sectors} ; {op}\n", i as f64 * 20e-6)
        })
        .collect()
}

fn go(load: &Path, device: Device, options: &Options) -> Result<Summary, ReplayError> {
    let load = Load::scanned(load, &Reading::default(), options.writes)?;
    let target = Target::imaginary(Bytes::new(1 << 20), Bytes::new(512));
    replay(
        &[load],
        &[target],
        vec![Box::new(device)],
        options,
        None,
        Control {
            stop: &StopRequest::default(),
            progress: &Progress::default(),
        },
    )
}

fn simulated() -> Options {
    Options {
        engine: EngineKind::Simulate,
        writes: Writes::Do,
        start_grace: Nanos::from_millis(10),
        ..Options::default()
    }
}

#[test]
fn no_mode_lets_requests_meet_that_must_not_and_none_is_lost() {
    let is_write = |seen: &Seen| matches!(seen.kind, AccessKind::Write { .. });
    for (mode, name, _) in Conflicts::ALL {
        for strong in [Strong::Writes, Strong::ButReads, Strong::Every] {
            let (_scratch, load) = Scratch::load(&overlapping(3000, 400));
            let (device, log) = Device::new(Fault::None);
            let options = Options {
                conflicts: mode,
                strong,
                max_dropped: 1.0,
                ..simulated()
            };
            let summary = go(&load, device, &options).unwrap();
            let log = log.lock().unwrap();
            assert_eq!(
                summary.completed + summary.dropped,
                3000,
                "{name} {strong:?}"
            );
            assert_eq!(log.submitted.len() as u64, summary.completed, "each once");
            let forbidden = |(a, b): &&(usize, usize)| {
                let (a, b) = (&log.submitted[*a], &log.submitted[*b]);
                match strong {
                    Strong::Writes => is_write(a) && is_write(b),
                    Strong::ButReads => is_write(a) || is_write(b),
                    Strong::Every => true,
                }
            };
            let met = log.together.iter().filter(forbidden).count();
            if mode == Conflicts::Allow {
                assert!(met > 100, "the load is no test otherwise");
                assert_eq!((summary.dropped, summary.pushed_back), (0, 0));
            } else {
                assert_eq!(met, 0, "{name} {strong:?}");
                let told = summary.dropped + summary.pushed_back + summary.ordered_waits;
                assert!(told > 100, "{name} {strong:?}");
            }
        }
    }
}

#[test]
fn many_more_requests_than_places_come_through_in_every_mode() {
    for (mode, name, _) in Conflicts::ALL {
        let (_scratch, load) = Scratch::load(&overlapping(2000, 300));
        let (device, _log) = Device::new(Fault::None);
        let options = Options {
            conflicts: mode,
            in_flight: 3,
            in_flight_total: Some(4),
            bottleneck: Some(5),
            max_dropped: 1.0,
            ..simulated()
        };
        let summary = go(&load, device, &options).unwrap();
        assert_eq!(summary.completed + summary.dropped, 2000, "{name}");
        assert!(summary.most_in_flight() <= 4, "{name}");
    }
}

fn verified(level: Verify, fault: Fault, mode: Conflicts) -> Summary {
    let (_scratch, load) = Scratch::load(&overlapping(3000, 300));
    let (device, _log) = Device::new(fault);
    let options = Options {
        conflicts: mode,
        verification: Verification {
            level,
            ..Verification::default()
        },
        ..simulated()
    };
    go(&load, device, &options).unwrap()
}

#[test]
fn a_good_device_has_no_fault_in_any_mode() {
    for (mode, name, _) in Conflicts::ALL {
        for level in [Verify::Reads, Verify::Paranoid] {
            let summary = verified(level, Fault::None, mode);
            let findings = &summary.targets[0].findings;
            assert_eq!(
                findings.faults(),
                0,
                "{name} {level:?}: {:?}",
                findings.ranges().next()
            );
            assert!(findings.checked > 5_000, "{name}: {}", findings.checked);
            assert!(summary.is_verified && summary.verify_failed == 0);
        }
    }
}

#[test]
fn every_kind_of_fault_is_found_and_named() {
    for (fault, kinds) in [
        (
            Fault::Lost,
            &[Kind::Older, Kind::Untagged, Kind::Misplaced][..],
        ),
        (Fault::Torn, &[Kind::Torn, Kind::Older]),
        (Fault::Misplaced, &[Kind::Misplaced]),
        (Fault::Zeros, &[Kind::Zeros]),
        (Fault::Flipped, &[Kind::Damaged]),
    ] {
        for level in [Verify::Reads, Verify::Paranoid] {
            let summary = verified(level, fault, Conflicts::Partial);
            let found = kinds.iter().any(|kind| summary.faults_of(*kind) > 0);
            assert!(
                found,
                "{fault:?} {level:?}: {:?}",
                summary.targets[0].findings.counts
            );
            assert!(summary.verify_failed > 0 && summary.is_flagged());
        }
    }
}

#[test]
fn errors_are_counted_and_those_beyond_the_bound_end_the_replay() {
    let (_scratch, load) = Scratch::load(&overlapping(400, 100_000));
    let (device, _log) = Device::new(Fault::Errno(5));
    let borne = Options {
        max_errors: 1000,
        ..simulated()
    };
    let summary = go(&load, device, &borne).unwrap();
    assert_eq!((summary.completed, summary.errors), (300, 100));
    assert_eq!(summary.first_errno, Some(5));
    assert!(summary.is_flagged() && summary.early.is_none());
    assert_eq!(
        summary.times.reads.latency.count() + summary.times.writes.latency.count(),
        300
    );

    let (device, _log) = Device::new(Fault::Errno(5));
    let summary = go(&load, device, &simulated()).unwrap();
    assert_eq!(summary.early, Some(EndedEarly::Errors));
    assert!(summary.missed > 300, "{}", summary.missed);
}

#[test]
fn a_device_that_goes_away_ends_the_replay_with_what_was_measured() {
    let (_scratch, load) = Scratch::load(&overlapping(3000, 100_000));
    let (device, _log) = Device::new(Fault::Gone);
    let options = Options {
        max_errors: u64::MAX,
        ..simulated()
    };
    let summary = go(&load, device, &options).unwrap();
    assert_eq!(summary.early, Some(EndedEarly::DeviceGone));
    assert_eq!(summary.completed, 100);
    assert!(summary.missed > 2000);
}

#[test]
fn an_overloaded_replay_can_be_ended_by_time() {
    let (_scratch, load) = Scratch::load(&overlapping(30_000, 100_000));
    let (device, _log) = Device::new(Fault::None);
    let options = Options {
        in_flight: 1,
        max_runtime: Some(Nanos::from_millis(300)),
        ..simulated()
    };
    let summary = go(&load, device, &options).unwrap();
    assert_eq!(summary.early, Some(EndedEarly::Runtime));
    assert!(summary.completed > 100 && summary.missed > 10_000);
    assert_eq!(summary.completed + summary.missed, 30_000);
}

#[test]
fn several_targets_have_their_own_load_and_one_clock() {
    let (_a, first) = Scratch::load(&overlapping(500, 1000));
    let (_b, second) = Scratch::load(&overlapping(300, 1000));
    let options = simulated();
    let load = |path| Load::scanned(path, &Reading::default(), options.writes).unwrap();
    let target = || Target::imaginary(Bytes::new(1 << 20), Bytes::new(512));
    let ((a, first_log), (b, second_log)) = (Device::new(Fault::None), Device::new(Fault::None));
    let summary = replay(
        &[load(&first), load(&second)],
        &[target(), target()],
        vec![Box::new(a), Box::new(b)],
        &options,
        None,
        Control {
            stop: &StopRequest::default(),
            progress: &Progress::default(),
        },
    )
    .unwrap();
    assert_eq!(summary.completed, 800);
    let counts = [first_log, second_log].map(|log| log.lock().unwrap().submitted.len());
    assert_eq!(counts, [500, 300]);
    assert_eq!(summary.targets.len(), 2);
}

#[test]
fn a_load_from_a_pipe_is_checked_as_it_comes() {
    let (scratch, load) = Scratch::load(&overlapping(500, 1000));
    let pipe = scratch.0.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no named pipe can be made here");
        return;
    }
    for (writes, fits) in [(Writes::Do, true), (Writes::Refuse, false)] {
        let (device, _log) = Device::new(Fault::None);
        let options = Options {
            writes,
            ..simulated()
        };
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                // A reader that refuses a row hangs up.
                let _ = std::fs::write(&pipe, std::fs::read(&load).unwrap());
            });
            go(&pipe, device, &options)
        });
        match outcome {
            Ok(summary) => assert!(fits && summary.completed == 500, "{summary:?}"),
            Err(e) => assert!(!fits && e.to_string().contains("writes"), "{e}"),
        }
    }
}
