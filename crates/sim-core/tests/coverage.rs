//! Do 95 % confidence intervals cover the truth in 95 % of the runs?
//!
//! A thousand runs of M/M/1 at 0.8, each with its interval for the mean, the median and the 99 %
//! quantile, from sections of the run and from replications. With a true coverage of 95 % the share
//! that covers has a standard deviation of 0.7 %.

use iosonar_sim_core::Seed;
use iosonar_stats::{Distribution, Estimate, Sections, mean_of, quantile_of};
use iosonar_units::Nanos;

const MEAN_SERVICE: Nanos = Nanos::from_micros(800);
const MEAN_DISTANCE: Nanos = Nanos::from_micros(1000);
const RUNS: u64 = 1000;

/// Response times of M/M/1 by Lindley's recursion, from a steady state: an arrival finds nobody with
/// probability 0.2, else an exponential amount of work with the mean 1 / (mu - lambda).
fn run(seed: Seed, jobs: u64, mut sink: impl FnMut(Nanos)) {
    let mut arrival = seed.stream("source", "arrival");
    let mut service = seed.stream("server", "service");
    let steady = Nanos::from_micros(4000);
    let mut wait = if arrival.chance(0.2) {
        Nanos::ZERO
    } else {
        arrival.exponential(steady)
    };
    for _ in 0..jobs {
        let response = wait + service.exponential(MEAN_SERVICE);
        sink(response);
        wait = response.saturating_sub(arrival.exponential(MEAN_DISTANCE));
    }
}

/// Mean, median and 99 % quantile: the response time is exponential with the mean 4 ms.
fn covered(whole: &Distribution, sections: &[Distribution]) -> [bool; 3] {
    let exact = [4e6, 4e6 * 2.0_f64.ln(), 4e6 * 100.0_f64.ln()];
    let ours: [Estimate; 3] = [
        mean_of(whole, sections),
        quantile_of(whole, sections, 0.5),
        quantile_of(whole, sections, 0.99),
    ];
    [0, 1, 2].map(|i| (ours[i].mean - exact[i]).abs() <= ours[i].half_width_95())
}

fn assert_coverage(interval: impl Fn(Seed) -> [bool; 3] + Sync) {
    let count = |range: std::ops::Range<u64>| {
        let mut counts = [0_u64; 3];
        for number in range {
            let hits = interval(Seed::new(number + 1));
            (0..3).for_each(|i| counts[i] += u64::from(hits[i]));
        }
        counts
    };
    let (a, b) = std::thread::scope(|scope| {
        let half = scope.spawn(|| count(0..RUNS / 2));
        (count(RUNS / 2..RUNS), half.join().unwrap())
    });
    let shares = [0, 1, 2].map(|i| (a[i] + b[i]) as f64 / RUNS as f64);
    println!(
        "mean {}, median {}, p99 {}",
        shares[0], shares[1], shares[2]
    );
    assert!(
        shares.iter().all(|share| (0.93..=0.97).contains(share)),
        "{shares:?}"
    );
}

#[test]
fn sections_of_one_run_cover() {
    assert_coverage(|seed| {
        let mut sections = Sections::of_a_run();
        run(seed, 400_000, |t| sections.push(t));
        covered(&sections.whole(), &sections.independent())
    });
}

#[test]
fn replications_cover() {
    assert_coverage(|seed| {
        let mut sections = Sections::of_replications();
        for number in 0..20 {
            let mut replication = Distribution::default();
            run(seed.replication(number), 20_000, |t| replication.push(t));
            sections.push_replication(&replication);
        }
        covered(&sections.whole(), &sections.independent())
    });
}
