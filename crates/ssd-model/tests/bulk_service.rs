//! The block queue with the profile `abstract` against the bulk-service queue.

mod bench;

use bench::{Load, job, parameters};
use iosonar_device::Access;
use iosonar_sim_core::Seed;
use iosonar_ssd_model::{AnySsd, Stage};
use iosonar_stats::Estimate;
use iosonar_units::Nanos;

/// a, b, load, mean response, busy: anchors/ssd.md, "Bulk service M/M^[a,b]/1", times in units of the mean service.
const ANCHORS: [(u32, u32, f64, f64, f64); 36] = [
    (1, 1, 0.3, 1.428_571, 0.300_000),
    (1, 1, 0.5, 2.000_000, 0.500_000),
    (1, 1, 0.8, 5.000_000, 0.800_000),
    (1, 1, 0.95, 20.000_000, 0.950_000),
    (1, 2, 0.3, 1.619_643, 0.509_318),
    (1, 2, 0.5, 2.170_820, 0.723_607),
    (1, 2, 0.8, 4.534_993, 0.919_618),
    (1, 2, 0.95, 15.822_722, 0.982_566),
    (1, 4, 0.3, 1.827_519, 0.737_873),
    (1, 4, 0.5, 2.268_433, 0.885_454),
    (1, 4, 0.8, 4.180_619, 0.973_445),
    (1, 4, 0.95, 13.561_406, 0.994_657),
    (1, 8, 0.3, 1.966_984, 0.896_009),
    (1, 8, 0.5, 2.291_677, 0.962_233),
    (1, 8, 0.8, 3.956_710, 0.992_275),
    (1, 8, 0.95, 12.383_502, 0.998_501),
    (1, 16, 0.3, 2.024_981, 0.966_913),
    (1, 16, 0.5, 2.284_171, 0.989_141),
    (1, 16, 0.8, 3.830_205, 0.997_910),
    (1, 16, 0.95, 11.782_193, 0.999_601),
    (2, 2, 0.3, 2.049_946, 0.300_000),
    (2, 2, 0.5, 2.118_034, 0.500_000),
    (2, 2, 0.8, 4.156_480, 0.800_000),
    (2, 2, 0.95, 15.348_883, 0.950_000),
    (4, 4, 0.3, 2.371_493, 0.300_000),
    (4, 4, 0.5, 2.182_523, 0.500_000),
    (4, 4, 0.8, 3.736_134, 0.800_000),
    (4, 4, 0.95, 13.023_619, 0.950_000),
    (8, 8, 0.3, 2.537_545, 0.300_000),
    (8, 8, 0.5, 2.217_375, 0.500_000),
    (8, 8, 0.8, 3.526_604, 0.800_000),
    (8, 8, 0.95, 11.861_118, 0.950_000),
    (16, 16, 0.3, 2.622_555, 0.300_000),
    (16, 16, 0.5, 2.235_769, 0.500_000),
    (16, 16, 0.8, 3.422_070, 0.800_000),
    (16, 16, 0.95, 11.279_915, 0.950_000),
];

#[test]
fn dynamic_and_static_blocks_are_the_bulk_service_queue() {
    const SERVICE_NS: f64 = 100_000.0;
    let mut beyond = Vec::new();
    let mut squares = 0.0;
    for (a, b, load, response, busy) in ANCHORS {
        let dispatch = if a == 1 { "dynamic" } else { "static" };
        let changes = format!("[block_queue]\nblock = {b}\ndispatch = \"{dispatch}\"");
        let p = parameters("abstract", &changes);
        let rate_per_ns = load * f64::from(b) / SERVICE_NS;
        // The nearer to saturation, the longer the memory of the queue.
        let requests = (4_000.0 * f64::from(b).sqrt() / (1.0 - load).powi(2)).min(120_000.0) as u64;
        let (mut means, mut busies) = (Vec::new(), Vec::new());
        for seed in 1..=8 {
            let seed = Seed::new(seed);
            let mut gaps = seed.stream("source", "arrival");
            let out = Load {
                threads: 0,
                requests: requests + requests / 4,
                warmup: requests / 4,
                job: &mut |n| job(n, Access::Read, n * 8 % 4096, 8),
                arrivals: Some(&mut || gaps.exponential(Nanos::nearest(1.0 / rate_per_ns))),
            }
            .run_on(AnySsd::new(&p, &seed, "ssd/0").unwrap());
            means.push(out.mean_response_ns(requests as usize / 4) / SERVICE_NS);
            // Every block that was sent was one service.
            let blocks: u64 = out.report.block_sizes.iter().sum();
            let span = out.report.measured.get() as f64;
            busies.push(blocks as f64 * SERVICE_NS / span);
            assert!(
                out.mean_stage_ns(Stage::Fetch) < 1.0,
                "nothing else takes time"
            );
        }
        let (mean, busy_mean) = (
            Estimate::from_independent(&means),
            Estimate::from_independent(&busies),
        );
        for (name, estimate, expected) in [("response", mean, response), ("busy", busy_mean, busy)]
        {
            let deviation = (estimate.mean - expected) / estimate.stderr;
            println!(
                "a {a} b {b} rho {load}: {name} {:.5} ({:.5}), {expected}: {deviation:.2}",
                estimate.mean, estimate.stderr
            );
            squares += if name == "response" {
                deviation * deviation
            } else {
                0.0
            };
            if deviation.abs() > 3.0 {
                beyond.push((a, b, load, name, deviation));
            }
        }
    }
    // Of 72 rows with 7 degrees of freedom each one or two lie beyond 3 standard errors by chance, and none
    // beyond 7; the sum of 36 squared deviations, each with mean 7/5, lies below 110 in all but 0.1 %.
    assert!(
        beyond.len() <= 3 && beyond.iter().all(|row| row.4.abs() < 7.0),
        "{beyond:?}"
    );
    assert!(squares < 110.0, "sum of squares {squares}");
}
