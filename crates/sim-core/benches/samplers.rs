//! How fast are times drawn, by our samplers and by those of `rand_distr`?
//!
//! Each pair draws from the same stream, and both round to nanoseconds, as a simulation needs them. The table in
//! `docs/src/performance.md` has the same pairs: `cargo bench -p iosonar-sim-core --bench samplers`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use iosonar_sim_core::{Law, Nanos, Seed};
use rand_distr::Distribution;

const MEAN: Nanos = Nanos::MILLISECOND;
/// Draws per iteration.
const DRAWS: u64 = 1_000;

/// One law, as ours and as theirs with times in nanoseconds.
fn pair(c: &mut Criterion, name: &str, ours: &Law, theirs: &impl Distribution<f64>) {
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Elements(DRAWS));
    let mut stream = Seed::new(1).stream("bench", name);
    group.bench_function("ours", |b| {
        b.iter(|| {
            (0..DRAWS).fold(0, |sum: u64, _| {
                sum ^ black_box(ours).draw(&mut stream).get()
            })
        });
    });
    group.bench_function("rand_distr", |b| {
        b.iter(|| {
            (0..DRAWS).fold(0, |sum: u64, _| {
                sum ^ Nanos::nearest(black_box(theirs).sample(&mut stream)).get()
            })
        });
    });
    group.finish();
}

fn samplers(c: &mut Criterion) {
    const VALID: &str = "the parameters are valid";
    let mean = MEAN.get() as f64;
    let exponential = rand_distr::Exp::new(1.0 / mean).expect(VALID);
    pair(c, "exponential", &Law::Exponential(MEAN), &exponential);

    let (median, sigma) = (MEAN, 0.8);
    let log_normal = rand_distr::LogNormal::new(mean.ln(), sigma).expect(VALID);
    pair(
        c,
        "log-normal",
        &Law::LogNormal { median, sigma },
        &log_normal,
    );

    for shape in [0.5, 4.0] {
        let gamma = rand_distr::Gamma::new(shape, mean / shape).expect(VALID);
        let name = format!("gamma, shape {shape}");
        pair(c, &name, &Law::Gamma { shape, mean: MEAN }, &gamma);
    }

    let (shape, scale) = (0.7, MEAN);
    let weibull = rand_distr::Weibull::new(mean, shape).expect(VALID);
    pair(c, "Weibull", &Law::Weibull { shape, scale }, &weibull);

    let (least, shape) = (MEAN, 2.5);
    let pareto = rand_distr::Pareto::new(mean, shape).expect(VALID);
    pair(c, "Pareto", &Law::Pareto { least, shape }, &pareto);
}

/// The same without rounding: the two that all others rest on.
fn standard(c: &mut Criterion) {
    let mut stream = Seed::new(1).stream("bench", "standard");
    let mut group = c.benchmark_group("standard normal, not rounded");
    group.throughput(Throughput::Elements(DRAWS));
    group.bench_function("ours", |b| {
        b.iter(|| (0..DRAWS).fold(0.0, |sum, _| sum + stream.standard_normal()));
    });
    group.bench_function("rand_distr", |b| {
        let normal = rand_distr::StandardNormal;
        b.iter(|| {
            (0..DRAWS).fold(0.0, |sum: f64, _| {
                let x: f64 = normal.sample(&mut stream);
                sum + x
            })
        });
    });
    group.finish();
}

criterion_group!(benches, samplers, standard);
criterion_main!(benches);
