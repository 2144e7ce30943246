//! How long do pictures take?

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use iosonar::plot::{Axis, Chart, Cloud, Colour, Format, Kind, Mark, Size, Theme, Unit, render};
use iosonar::report::{Arrange, CATALOGUE, Look, LookOptions, Measured, find, needs_of};
use iosonar::trace::{Op, Outcome, Record, Request};
use iosonar::units::{Nanos, Sector, Sectors};

fn records(n: u64) -> impl Iterator<Item = Record> {
    (0..n).map(|i| {
        let noise = i.wrapping_mul(2_654_435_761) % 1_000_003;
        let op = if i % 3 == 0 { Op::Write } else { Op::Read };
        let (start, sector) = (Nanos::from_micros(i * 50), Sector::new(noise * 8));
        let sectors = Sectors::new(8);
        let request = Request {
            start,
            sector,
            sectors,
            op,
            ..Request::default()
        };
        let outcome = Outcome::done(Nanos::new(noise / 500), Nanos::new(80_000 + noise));
        Record { request, outcome }
    })
}

fn measured(n: u64, names: &[&str]) -> Measured {
    let needs = needs_of(names.iter().filter_map(|name| find(name)));
    let mut look = Look::new("bench", needs, &LookOptions::default());
    records(n).for_each(|record| look.add(&record));
    look.finish()
}

fn cloud(c: &mut Criterion) {
    const POINTS: u32 = 1_000_000;
    let mut group = c.benchmark_group("cloud");
    group.sample_size(10);
    group.throughput(Throughput::Elements(u64::from(POINTS)));
    group.bench_function("of a million points, as PNG", |b| {
        b.iter(|| {
            let (x, y) = (Axis::time("time"), Axis::log("latency", Unit::Seconds));
            let kind = |colour| Kind {
                name: "points".to_owned(),
                label: "points".to_owned(),
                colour,
            };
            let kinds = vec![kind(Colour::Read), kind(Colour::Write)];
            let mut cloud = Cloud::new(x.grid(), y.grid(), kinds);
            for i in 0..POINTS {
                let latency = 1e-4 * f64::from(1 + i.wrapping_mul(2_654_435_761) % 9973);
                cloud.push(u8::from(i % 3 == 0), f64::from(i) * 1e-3, latency);
            }
            cloud.settle();
            let marks = vec![Mark::Cloud(cloud)];
            let chart = Chart {
                x,
                y,
                marks,
                ..Chart::default()
            };
            render(&[&chart], Format::Png, Size::default(), Theme::Light).expect("it can be drawn")
        });
    });
    group.finish();
}

fn sets(c: &mut Criterion) {
    const RECORDS: u64 = 269_007;
    let mut group = c.benchmark_group("of 269 007 records");
    group.sample_size(10);
    group.throughput(Throughput::Elements(RECORDS));
    let all: Vec<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
    group.bench_function("sonar diagram: measuring", |b| {
        b.iter(|| measured(RECORDS, &["sonar"]));
    });
    group.bench_function("complete set: measuring", |b| {
        b.iter(|| measured(RECORDS, &all));
    });
    let inputs = [measured(RECORDS, &all)];
    group.bench_function("complete set: drawing, one thread", |b| {
        b.iter(|| {
            let charts = CATALOGUE
                .iter()
                .flat_map(|entry| entry.charts(&inputs, Arrange::default()));
            charts
                .map(|chart| {
                    let png = render(&[&chart], Format::Png, Size::default(), Theme::Light);
                    png.expect("it can be drawn").len()
                })
                .sum::<usize>()
        });
    });
    group.finish();
}

criterion_group!(benches, cloud, sets);
criterion_main!(benches);
