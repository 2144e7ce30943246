//! What do the hot paths cost?
//!
//! - the event calendar, under the hold model (pop one, schedule one), at 16 to a million events;
//! - the queueing-network layer: M/M/1 and a fork-join of four;
//! - a simulated request on RAID 5 and RAID 0;
//! - a line of a trace, read and written;
//! - a point of a sonar diagram.
//!
//! The figures of peers stand beside ours in `docs/src/performance.md`.

use std::hint::black_box;
use std::path::Path;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use iosonar::plot::{Kind, Series, Size, Sonar, render};
use iosonar::scenario::{Overrides, Simulation};
use iosonar::sim_core::network::{Arrivals, Builder, Queue, Until};
use iosonar::sim_core::{Calendar, Law, Seed};
use iosonar::trace::{Batch, Metadata, TraceReader, input, output};
use iosonar::units::Nanos;

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
        let simulation =
            Simulation::from_toml(&text, Path::new("bench.toml"), &Overrides::default())
                .expect("the scenario means something");
        group.bench_function(name, |b| {
            b.iter(|| simulation.run(1, None).expect("it runs"));
        });
    }
    group.finish();
}

fn trace(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a folder for the trace");
    let text: String = (0..200_000_u64)
        .map(|i| {
            let (t, sector) = (Nanos::from_micros(i * 137), i * 7919 % 60_000_000);
            format!(
                "{:14.9} ; {sector:12} ; {:4} ; R ; 0.0 ; 0.0\n",
                t.as_secs_f64(),
                8 << (i % 5)
            )
        })
        .collect();
    let path = dir.path().join("bench.load");
    std::fs::write(&path, &text).expect("the trace can be written");
    let mut group = c.benchmark_group("blkreplay text");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("read", |b| {
        b.iter(|| {
            let mut reader = input::open(&path).expect("it opens");
            let (mut batch, mut rows) = (Batch::default(), 0);
            while reader.next_batch(&mut batch).expect("it is whole") > 0 {
                rows += batch.len();
            }
            black_box(rows)
        });
    });
    group.bench_function("read and write", |b| {
        let out = dir.path().join("out.load");
        b.iter(|| {
            let mut reader = input::open(&path).expect("it opens");
            let mut writer = output::create(&out, &Metadata::default()).expect("it can be made");
            let mut batch = Batch::default();
            while reader.next_batch(&mut batch).expect("it is whole") > 0 {
                writer.write(&batch).expect("it can be written");
            }
            writer.finish().expect("it can be completed");
        });
    });
    group.finish();
}

fn sonar(c: &mut Criterion) {
    const POINTS: u32 = 1_000_000;
    let mut group = c.benchmark_group("sonar diagram");
    group.sample_size(10);
    group.throughput(Throughput::Elements(u64::from(POINTS)));
    group.bench_function("of a million requests, as PNG", |b| {
        b.iter(|| {
            let mut sonar = Sonar::new("bench", "time [s]", "latency");
            for i in 0..POINTS {
                let series = if i % 3 == 0 {
                    Series::Write
                } else {
                    Series::Read
                };
                let latency = 1e-4 * f64::from(1 + i.wrapping_mul(2_654_435_761) % 9973);
                sonar.push(series, f64::from(i) * 1e-3, latency);
            }
            render(&sonar, Kind::Png, Size::default()).expect("it can be drawn")
        });
    });
    group.finish();
}

criterion_group!(benches, hold, networks, simulation, trace, sonar);
criterion_main!(benches);
