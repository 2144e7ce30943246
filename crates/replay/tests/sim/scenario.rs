//! What a simulation does: a load for each disk, options of the replay, and what goes wrong, all from one seed.

use std::num::NonZeroU32;

use iosonar_trace::{Flags, Op, Request};
use iosonar_units::{Nanos, Sector, Sectors};

use super::random::Random;
use crate::verify::{Verification, Verify};
use crate::{
    Conflicts, Data, Durability, EngineKind, Options, Pacing, RingOptions, Strong, Style, TaskWork,
    Writes,
};

/// What a device does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// It fails with this error, and may have done a part.
    Errno(i32),
    /// It moves only this share of its bytes, in thousandths.
    Short(u32),
    /// It is never complete.
    Never,
    /// A write that is forgotten, or a read that returns zeros, without an error.
    Lost,
}

/// A request, and what a device does with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned {
    pub(crate) request: Request,
    /// In nanoseconds.
    pub(crate) takes: u64,
    pub(crate) fault: Fault,
}

#[derive(Clone, Debug)]
pub(crate) struct DiskPlan {
    pub(crate) sectors: u64,
    pub(crate) block: u64,
    pub(crate) write_through: bool,
    pub(crate) is_block_device: bool,
    pub(crate) requests: Vec<Planned>,
    /// How many rows the reader of the load returns at a time, and how long it takes for these, in nanoseconds.
    pub(crate) batches: Vec<(usize, u64)>,
    /// Before this row the reader fails.
    pub(crate) cut: Option<usize>,
    pub(crate) is_stream: bool,
}

/// What one seed does.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    /// The seed of the order of threads, of times, and of what is not planned.
    pub(crate) schedule: u64,
    pub(crate) options: Options,
    pub(crate) disks: Vec<DiskPlan>,
    /// Of a thousand steps, this number are followed by a time without the processor of at most `longest_stall`.
    pub(crate) stalls: u32,
    pub(crate) longest_stall: u64,
    pub(crate) late_wakes: u32,
    /// Of a thousand system calls, this number fail for a moment or do only a part.
    pub(crate) refusals: u32,
    /// Of a thousand sleeps, this number end early.
    pub(crate) early_wakes: u32,
    /// What a kernel cannot do: single issuers, cooperation, registered memory.
    pub(crate) old_kernel: [bool; 3],
    pub(crate) may_be_prioritised: bool,
    /// Whether other threads want the processors.
    pub(crate) rivals: bool,
    /// The file of records takes no more bytes than this.
    pub(crate) records_room: Option<usize>,
    pub(crate) durable_records: bool,
    /// The logs of tables take no more bytes than this.
    pub(crate) log_room: Option<usize>,
    /// When it is asked to stop, in nanoseconds from the beginning.
    pub(crate) stops: Vec<u64>,
    pub(crate) clock_steps: Vec<(u64, i64)>,
    pub(crate) crashes: Vec<u64>,
    /// The thread that panics, and in which step.
    pub(crate) panic: Option<(usize, u64)>,
}

const ENGINES: [EngineKind; 7] = [
    EngineKind::IoUring,
    EngineKind::IoUring,
    EngineKind::IoUring,
    EngineKind::IoUring,
    EngineKind::Sync,
    EngineKind::Threads,
    EngineKind::Dry,
];

const ERRORS: [i32; 7] = [
    libc::EIO,
    libc::EIO,
    libc::ENOSPC,
    libc::EAGAIN,
    libc::EINVAL,
    libc::ENODEV,
    libc::ETIMEDOUT,
];

impl Scenario {
    /// That of a seed.
    pub(crate) fn of(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let disks = if random.chance(250) {
            random.between(2, 4)
        } else {
            1
        };
        let length = random.magnitude(80_000_000);
        let faulty = random.chance(400);
        let mut options = options(&mut random);
        let disks: Vec<_> = (0..disks)
            .map(|_| disk(&mut random, &options, length, faulty))
            .collect();
        if random.chance(300) {
            options.threads = NonZeroU32::new(random.between(2, 4) as u32);
        }
        let mut scenario = Self {
            schedule: random.next(),
            options,
            disks,
            stalls: random.one_of(&[0, 0, 1, 5, 30]),
            longest_stall: random.one_of(&[1_000, 1_000_000, 100_000_000, 5_000_000_000]),
            late_wakes: random.one_of(&[0, 10, 100]),
            refusals: random.one_of(&[0, 0, 20, 200]),
            early_wakes: random.one_of(&[0, 20, 200]),
            old_kernel: std::array::from_fn(|_| random.chance(100)),
            may_be_prioritised: random.chance(500),
            rivals: random.chance(400),
            records_room: None,
            durable_records: random.chance(300),
            log_room: None,
            stops: Vec::new(),
            clock_steps: Vec::new(),
            crashes: Vec::new(),
            panic: None,
        };
        scenario.plan_accidents(&mut random, length);
        scenario
    }

    fn plan_accidents(&mut self, random: &mut Random, length: u64) {
        let grace = self.options.start_grace.get();
        let any_time = |random: &mut Random| random.below(grace + 2 * length + 1_000_000);
        if random.chance(100) {
            self.records_room = Some(random.magnitude(20_000) as usize);
        }
        if random.chance(100) {
            self.log_room = Some(random.magnitude(8_000) as usize);
        }
        if random.chance(150) {
            self.stops.push(any_time(random));
            if random.chance(500) {
                self.stops
                    .push(self.stops[0] + random.magnitude(1_000_000_000));
            }
        }
        // Without being asked twice, the replay waits for requests that are never complete.
        if self.has_never() {
            let end = grace + 2 * length + 2_000_000_000;
            self.stops.extend([end, end + 1_000_000_000]);
        }
        for _ in 0..random.one_of(&[0, 0, 0, 1, 3]) {
            let by = random.magnitude(200_000_000) as i64;
            let by = if random.chance(500) { by } else { -by };
            self.clock_steps.push((any_time(random), by));
        }
        if random.chance(400) {
            self.crashes = (0..random.between(1, 4))
                .map(|_| any_time(random))
                .collect();
        }
        if random.chance(60) {
            self.panic = Some((random.between(1, 7) as usize, random.magnitude(3_000)));
        }
        if random.chance(100) {
            let at = 1_700_000_000_000_000_000 + random.below(100_000_000);
            self.options.begin_at = Some(Nanos::new(at));
        }
    }

    pub(crate) fn has_never(&self) -> bool {
        self.faults().any(|fault| fault == Fault::Never)
    }

    /// Whether a device may lose data without an error.
    pub(crate) fn has_lies(&self) -> bool {
        self.faults().any(|fault| fault == Fault::Lost)
    }

    pub(crate) fn faults(&self) -> impl Iterator<Item = Fault> + '_ {
        let requests = self.disks.iter().flat_map(|disk| &disk.requests);
        requests.map(|planned| planned.fault)
    }
}

fn options(random: &mut Random) -> Options {
    let engine = random.one_of(&ENGINES);
    let modes = Conflicts::ALL.map(|(mode, ..)| mode);
    let level = random.one_of(&[
        Verify::Off,
        Verify::Off,
        Verify::Reads,
        Verify::Final,
        Verify::Paranoid,
    ]);
    // What was never read is not verified.
    let level = if engine == EngineKind::Dry {
        Verify::Off
    } else {
        level
    };
    let keeps = random.chance(400);
    let verification = Verification {
        level,
        tag: random.chance(200),
        keep_tables: keeps.then(|| super::LOG.into()),
        durable_tables: keeps && random.chance(500),
        ..Verification::default()
    };
    let most = random.one_of(&[1, 2, 4, 8, 16]);
    Options {
        writes: if random.chance(850) {
            Writes::Do
        } else {
            Writes::Skip
        },
        in_flight: most,
        in_flight_total: random.chance(300).then(|| random.magnitude(24) as u32),
        bottleneck: random.chance(300).then(|| random.magnitude(40) as u32),
        engine,
        ring: RingOptions {
            submission_thread: random.chance(150),
            poll_completions: random.chance(100),
            task_work: random.one_of(&[
                TaskWork::Interrupt,
                TaskWork::Cooperative,
                TaskWork::Cooperative,
                TaskWork::Deferred,
            ]),
            plain_buffers: random.chance(300),
        },
        threads: NonZeroU32::new(1),
        pacing: Pacing {
            style: random.one_of(&[
                Style::SleepThenSpin,
                Style::SleepThenSpin,
                Style::Sleep,
                Style::Spin,
            ]),
            ..Pacing::default()
        },
        start_grace: Nanos::new(random.magnitude(20_000_000)),
        max_runtime: random
            .chance(100)
            .then(|| Nanos::new(random.magnitude(100_000_000))),
        warmup: Nanos::new(random.one_of(&[0, 0, 1_000_000])),
        conflicts: random.one_of(&modes),
        strong: random.one_of(&[Strong::Writes, Strong::ButReads, Strong::Every]),
        max_dropped: 1.0,
        data: random.one_of(&[
            Data::Zero,
            Data::Random {
                compressible_percent: 0,
            },
            Data::Random {
                compressible_percent: 50,
            },
        ]),
        sync: random.one_of(&[Durability::None, Durability::None, Durability::Data]),
        verification,
        max_errors: random.one_of(&[0, 3, u64::MAX, u64::MAX]),
        ..Options::default()
    }
}

fn disk(random: &mut Random, options: &Options, length: u64, faulty: bool) -> DiskPlan {
    let block = random.one_of(&[1, 1, 1, 8]);
    let blocks = random.one_of(&[8, 24, 64]);
    let n = random.magnitude(160);
    // Few places, so that requests meet; none twice, so that the device knows each by its place.
    let mut places = std::collections::HashSet::new();
    let slow = random.magnitude((length / 2).max(100_000));
    let longest = if block == 8 { 2 } else { 12 };
    let mut starts: Vec<u64> = (0..n).map(|_| random.below(length)).collect();
    if random.chance(200) {
        starts.iter_mut().for_each(|start| *start /= 1000);
    }
    starts.sort_unstable();
    // No two are the same, so that each record is known by its start.
    for (start, later) in starts.iter_mut().zip(0..) {
        *start += later;
    }
    let mut requests = Vec::new();
    for start in starts {
        let op = random.one_of(&[
            Op::Read,
            Op::Read,
            Op::Read,
            Op::Write,
            Op::Write,
            Op::Write,
            Op::Write,
            Op::Flush,
            Op::Discard,
            Op::WriteZeroes,
        ]);
        let sectors = random.between(1, longest + 1);
        let sector = random.below(blocks);
        let (sector, sectors) = match op {
            Op::Flush => (0, 0),
            _ if sector + sectors > blocks || !places.insert((sector, sectors)) => continue,
            _ => (sector * block, sectors * block),
        };
        let fua = op == Op::Write && random.chance(150);
        requests.push(Planned {
            request: Request {
                start: Nanos::new(start),
                sector: Sector::new(sector),
                sectors: Sectors::new(sectors as u32),
                op,
                flags: if fua { Flags::FUA } else { Flags::default() },
                ..Request::default()
            },
            takes: random.magnitude(slow),
            fault: if faulty {
                fault(random, options)
            } else {
                Fault::None
            },
        });
    }
    let batches = batches(random, requests.len());
    DiskPlan {
        sectors: blocks * block,
        block,
        write_through: random.chance(200),
        is_block_device: random.chance(400),
        cut: random
            .chance(60)
            .then(|| random.below(requests.len() as u64 + 1) as usize),
        requests,
        batches,
        is_stream: random.chance(100),
    }
}

/// How the rows of a load come: how many at a time, and after which time.
fn batches(random: &mut Random, all: usize) -> Vec<(usize, u64)> {
    let mut batches = Vec::new();
    let mut rows = 0;
    let pause = random.one_of(&[0, 0, 1_000_000, 100_000_000]);
    let most = random.one_of(&[1, 5, 100]);
    while rows < all {
        let batch = random.magnitude(most) as usize;
        let wait = if random.chance(200) {
            random.below(pause + 1)
        } else {
            0
        };
        batches.push((batch.min(all - rows), wait));
        rows += batch;
    }
    batches
}

fn fault(random: &mut Random, options: &Options) -> Fault {
    match random.below(100) {
        0..6 => Fault::Errno(random.one_of(&ERRORS)),
        6..9 => Fault::Short(random.below(1000) as u32),
        9 if options.engine == EngineKind::IoUring => Fault::Never,
        10..12 => Fault::Lost,
        _ => Fault::None,
    }
}
