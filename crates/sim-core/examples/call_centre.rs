//! A call centre whose callers hang up when their patience ends (M/M/c+M), checked against the birth-death process that
//! is known as Erlang-A (Palm 1957).
//!
//! `cargo run --release -p iosonar-sim-core --example call_centre`

use iosonar_sim_core::prelude::*;

const CALL_EVERY: Nanos = Nanos::from_secs(20);
const TALK: Nanos = Nanos::from_secs(240);
const PATIENCE: Nanos = Nanos::from_secs(120);

/// The share of callers who hang up, and the mean number of callers, on the phone or waiting.
fn simulate(seed: Seed, agents: u32) -> [f64; 2] {
    let mut b = Builder::new(seed);
    let calls = b.source("calls", Arrivals::every(Law::Exponential(CALL_EVERY)));
    let queue = Queue::fcfs(agents, Law::Exponential(TALK)).patience(Law::Exponential(PATIENCE));
    let centre = b.station("centre", queue);
    let (served, hung_up) = (b.sink("served"), b.sink("hung up"));
    b.chain(&[calls, centre, served]).unserved(centre, hung_up);
    let mut network = b.build().expect("the nodes make a network");
    network.run(Until::Departures(2_000));
    network.measure_from_now();
    network.run(Until::Departures(20_000));
    let count = |sink| network.response_time(sink).count() as f64;
    let lost = count(hung_up) / (count(served) + count(hung_up));
    [lost, network.station(centre).number.mean()]
}

/// The same, from the stationary distribution of the number of callers.
fn exact(agents: u32) -> [f64; 2] {
    let [arrival, service, loss] = [CALL_EVERY, TALK, PATIENCE].map(|t| 1.0 / t.as_secs_f64());
    let (mut p, mut sum, mut number, mut waiting) = (1.0, 0.0, 0.0, 0.0);
    for n in 0..1_000 {
        let queue = f64::from(n) - f64::from(n.min(agents));
        sum += p;
        number += p * f64::from(n);
        waiting += p * queue;
        let next = n + 1;
        let busy = next.min(agents);
        p *= arrival / (f64::from(busy) * service + f64::from(next - busy) * loss);
    }
    [waiting / sum * loss / arrival, number / sum]
}

pub(crate) fn main() {
    println!("agents  figure            simulated                              exact");
    for agents in [10, 12, 15] {
        let simulated = replicate(Seed::new(1)).times(20, 0.95, |seed| simulate(seed, agents));
        let names = ["share that hangs up", "callers"];
        for ((name, ours), exact) in names.into_iter().zip(simulated).zip(exact(agents)) {
            println!(
                "{agents:>6}  {name:<20} {:<38} {exact:.4}",
                ours.to_string()
            );
            assert!(ours.standard_errors_above(exact).abs() < 4.0);
        }
    }
}
