//! What do the hot paths cost?
//!
//! - the event calendar, under the hold model (pop one, schedule one), at 16 to a million events;
//! - the queueing-network layer: M/M/1 and a fork-join of four;
//! - a drive with its buffer, one request at a time;
//! - a simulated request on RAID 5 and RAID 0, and on SSDs: block queue, flash reads, writes with cleaning;
//! - theory of an array, and mean value analysis of a closed network.
//!
//! The figures of peers stand beside ours in `docs/src/performance.md`.

use std::path::Path;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use iosonar::analytic::closed::{Demands, exact_mva};
use iosonar::device::{Access, InOrder, Job, RequestId, Station};
use iosonar::disk_model::{DiskProfile, Mechanics, PositionalDisk, Queueing};
use iosonar::scenario::{Overrides, Prepared};
use iosonar::sim_core::network::{Arrivals, Builder, Queue, Until};
use iosonar::sim_core::{Calendar, Law, Seed};
use iosonar::units::{Nanos, Sector, Sectors};

fn hold(c: &mut Criterion) {
    let mut group = c.benchmark_group("calendar: pop and schedule");
    for pending in [16, 1_000, 100_000, 1_000_000] {
        let mut delay = Seed::new(1).stream("bench", "delay");
        let mut calendar = Calendar::default();
        for i in 0..pending {
            calendar.schedule(delay.exponential(Nanos::MILLISECOND), i);
        }
        group.bench_function(BenchmarkId::from_parameter(pending), |b| {
            b.iter(|| {
                let (now, event) = calendar.pop().expect("events are pending");
                calendar.schedule(now + delay.exponential(Nanos::MILLISECOND), event);
            });
        });
    }
    group.finish();
}

fn networks(c: &mut Criterion) {
    const JOBS: u64 = 100_000;
    let exponential = |us| Law::Exponential(Nanos::from_micros(us));
    let mut group = c.benchmark_group("queueing networks, jobs");
    group.throughput(Throughput::Elements(JOBS));
    group.bench_function("M/M/1 at 0.9", |b| {
        b.iter(|| {
            let mut b = Builder::new(Seed::new(1));
            let source = b.source("source", Arrivals::every(exponential(1000)));
            let server = b.station("server", Queue::fcfs(1, exponential(900)));
            let sink = b.sink("sink");
            b.chain(&[source, server, sink]);
            b.build()
                .expect("it is a network")
                .run(Until::Departures(JOBS))
        });
    });
    group.bench_function("fork-join of four at 0.5", |b| {
        b.iter(|| {
            let mut b = Builder::new(Seed::new(1));
            let source = b.source("source", Arrivals::every(exponential(1000)));
            let (fork, join, sink) = (b.fork("fork"), b.join("join"), b.sink("sink"));
            for i in 0..4 {
                let server = b.station(&format!("server/{i}"), Queue::fcfs(1, exponential(500)));
                b.chain(&[fork, server, join]);
            }
            b.chain(&[source, fork]).chain(&[join, sink]);
            b.build()
                .expect("it is a network")
                .run(Until::Departures(JOBS))
        });
    });
    group.finish();
}

fn simulation(c: &mut Criterion) {
    const REQUESTS: u64 = 100_000;
    let mut group = c.benchmark_group("simulated requests, one thread");
    group.throughput(Throughput::Elements(REQUESTS));
    for (name, level, size, read_share) in [
        ("RAID 0, 4-block reads", "raid0", "blocks = 4", 1.0),
        (
            "RAID 5, reads of 5 blocks on average",
            "raid5",
            "geometric_mean_blocks = 5.0",
            1.0,
        ),
        (
            "RAID 5, writes of 4 blocks on average",
            "raid5",
            "geometric_mean_blocks = 4.0",
            0.0,
        ),
    ] {
        let text = format!(
            "[load]\nrequests = {REQUESTS}\narrivals = {{ poisson_per_s = 10.0 }}\nsize = {{ {size} }}\n\
             read_share = {read_share:?}\n[array]\nlevel = '{level}'\ndisks = 4\n\
             [disk]\nprofile = 'seagate-st3500630ns'\n"
        );
        let simulation = Prepared::from_toml(&text, Path::new("bench.toml"), &Overrides::default())
            .expect("the scenario means something");
        group.bench_function(name, |b| {
            b.iter(|| simulation.run(1, None).expect("it runs"));
        });
    }
    group.finish();
}

fn drives(c: &mut Criterion) {
    const REQUESTS: u64 = 100_000;
    let mut group = c.benchmark_group("requests to a drive with its buffer, one thread");
    group.throughput(Throughput::Elements(REQUESTS));
    for name in ["seagate-st39102lw", "quantum-atlas-10k", "hp-c2247a"] {
        let profile = DiskProfile::load(name, Path::new(".")).expect("it is built in");
        let mechanics = Mechanics::new(&profile);
        let capacity = mechanics.geometry().capacity() - 100;
        group.bench_function(name, |b| {
            b.iter(|| {
                let disk = PositionalDisk::at_angle(&mechanics, Queueing::default(), 0.0);
                let (mut disk, mut now, mut sector) = (Station::new(disk), Nanos::ZERO, 0);
                let mut random = Seed::new(1).stream("bench", "drive");
                for i in 0..REQUESTS {
                    sector = match random.below(5) {
                        0 => (sector + 8).min(capacity),
                        _ => random.below(capacity),
                    };
                    let access = if random.below(3) < 2 {
                        Access::Read
                    } else {
                        Access::Write
                    };
                    let sectors = Sectors::new(4 + random.below(20) as u32);
                    let job = Job::new(RequestId(i), access, Sector::new(sector), sectors);
                    now = disk.serve(job, now).ended() + Nanos::nearest(40e6 * random.uniform());
                }
                now
            });
        });
    }
    group.finish();
}

fn ssds(c: &mut Criterion) {
    const REQUESTS: u64 = 200_000;
    let mut group = c.benchmark_group("SSDs, requests");
    group
        .throughput(Throughput::Elements(REQUESTS))
        .sample_size(10);
    for (name, read_share, ssd) in [
        ("block queue, DRAM", 0.5, "profile = 'block-queue-gen2x4'"),
        ("NVMe, reads of flash", 1.0, "profile = 'nvme-gen4-tlc'"),
        (
            "NVMe, writes with greedy cleaning",
            0.0,
            "profile = 'nvme-gen4-tlc'\n[ssd.flash]\nblocks = 160\nprecondition = 'steady-state'",
        ),
    ] {
        let text = format!(
            "[load]\nrequests = {REQUESTS}\nclosed = {{ outstanding = 64 }}\nsize = {{ blocks = 1 }}\n\
             read_share = {read_share:?}\n[ssd]\n{ssd}\n"
        );
        let simulation = Prepared::from_toml(&text, Path::new("bench.toml"), &Overrides::default())
            .expect("the scenario means something");
        group.bench_function(name, |b| {
            b.iter(|| simulation.run(1, None).expect("it runs"));
        });
    }
    group.finish();
}

fn theory(c: &mut Criterion) {
    let mut group = c.benchmark_group("theory");
    for name in ["figure-4-read", "figure-8-small-write", "figure-7-fcfs"] {
        let path = format!("examples/zoned-raid/{name}.toml");
        let simulation = Prepared::read(Path::new(&path), &Overrides::default());
        let simulation = simulation.expect("the example is there");
        group.bench_function(name, |b| b.iter(|| simulation.theory()));
    }
    let demands = Demands::new((1..=12).map(f64::from).collect(), 0.0).expect("they are above 0");
    group.bench_function("mean value analysis, 12 stations, 1 000 jobs", |b| {
        b.iter(|| exact_mva(&demands, 1_000));
    });
    group.finish();
}

criterion_group!(benches, hold, networks, simulation, drives, ssds, theory);
criterion_main!(benches);
