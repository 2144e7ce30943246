//! A job that is split between two servers and is complete when both have done their part, checked against the formula
//! of Flatto and Hahn (1984), which Nelson and Tantawi (1988) also derive.
//!
//! `cargo run --release -p iosonar-sim-core --example fork_join`

use iosonar_sim_core::prelude::*;

const SERVICE: Nanos = Nanos::from_millis(1);

/// The mean response time in milliseconds.
fn simulate(seed: Seed, load: f64) -> f64 {
    let distance = Nanos::nearest(SERVICE.get() as f64 / load);
    let mut b = Builder::new(seed);
    let source = b.source("source", Arrivals::every(Law::Exponential(distance)));
    let (fork, join, sink) = (b.fork("fork"), b.join("join"), b.sink("sink"));
    for name in ["server/0", "server/1"] {
        let server = b.station(name, Queue::fcfs(1, Law::Exponential(SERVICE)));
        b.chain(&[fork, server, join]);
    }
    b.chain(&[source, fork]).chain(&[join, sink]);
    let mut network = b.build().expect("the nodes make a network");
    network.run(Until::Departures(5_000));
    network.measure_from_now();
    network.run(Until::Departures(30_000));
    network.response_time(sink).moments.mean() / 1e6
}

pub(crate) fn main() {
    println!("load   mean response time in ms              exact");
    for load in [0.2, 0.5, 0.8] {
        let exact = (12.0 - load) / 8.0 / (1.0 - load) * SERVICE.as_millis_f64();
        let [ours] = replicate(Seed::new(1)).until(0.02, 0.95, |seed| [simulate(seed, load)]);
        println!("{load:<6} {:<37} {exact:.4}", ours.to_string());
        assert!(ours.reached && ours.standard_errors_above(exact).abs() < 4.0);
    }
}
