//! A production line without room between its stages: a stage whose successor is at work keeps its finished part, and is
//! blocked. The first stage never runs out of parts. Checked against the throughput of Hunt, "Sequential Arrays of
//! Waiting Lines", Operations Research 4(6), 1956: 2/3 for two stages and 22/39 for three.
//!
//! `cargo run --release -p iosonar-sim-core --example pipeline`

use iosonar_sim_core::prelude::*;

const STAGE: Nanos = Nanos::from_secs(1);

/// Parts per second, and the share of time that the first stage is blocked.
fn simulate(seed: Seed, stages: u32) -> [f64; 2] {
    let mut b = Builder::new(seed);
    let work = Law::Exponential(STAGE);
    let first = b.station("stage/0", Queue::fcfs(1, work.clone()));
    let mut line = vec![first];
    for stage in 1..stages {
        // Room for the part at work, and for no other.
        let queue = Queue::fcfs(1, work.clone()).room_for(1);
        line.push(b.station(&format!("stage/{stage}"), queue));
    }
    // What leaves the line makes place for a new part.
    let last = line[line.len() - 1];
    let finished = b.lap("finished");
    line.extend([finished, first]);
    b.chain(&line).population(first, stages + 1);
    let mut network = b.build().expect("the nodes make a network");
    network.run(Until::Departures(1_000));
    network.measure_from_now();
    network.run(Until::Departures(20_000));
    let (first, last) = (network.station(first), network.station(last));
    [last.throughput_per_s(), first.blocked.mean()]
}

pub(crate) fn main() {
    println!("stages  figure                 simulated                                exact");
    for (stages, throughput) in [(2, 2.0 / 3.0), (3, 22.0 / 39.0)] {
        let simulated = replicate(Seed::new(1)).times(20, 0.95, |seed| simulate(seed, stages));
        // When it is not blocked, the first stage finishes one part per second on average.
        let rows = [
            ("parts per second", throughput),
            ("blocked", 1.0 - throughput),
        ];
        for ((name, exact), ours) in rows.into_iter().zip(simulated) {
            println!(
                "{stages:>6}  {name:<21}  {:<40} {exact:.5}",
                ours.to_string()
            );
            assert!(ours.standard_errors_above(exact).abs() < 4.0);
        }
    }
}
