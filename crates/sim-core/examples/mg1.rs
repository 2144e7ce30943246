//! M/G/1: Poisson arrivals and one server with service times of any law, checked against the formula of Pollaczek and
//! Khinchine.
//!
//! `cargo run --release -p iosonar-sim-core --example mg1`

use iosonar_sim_core::prelude::*;
use rand_distr::Triangular;

const LOAD: f64 = 0.7;
const SERVICE: Nanos = Nanos::from_millis(10);

/// The mean wait in milliseconds.
fn simulate(seed: Seed, service: &Law) -> f64 {
    let distance = Nanos::nearest(SERVICE.get() as f64 / LOAD);
    let mut b = Builder::new(seed);
    let source = b.source("source", Arrivals::every(Law::Exponential(distance)));
    let server = b.station("server", Queue::fcfs(1, service.clone()));
    let sink = b.sink("sink");
    b.chain(&[source, server, sink]);
    let mut network = b.build().expect("the nodes make a network");
    network.run(Until::Departures(2_000));
    network.measure_from_now();
    network.run(Until::Departures(20_000));
    network.station(server).wait.mean() / 1e6
}

pub(crate) fn main() {
    // With a variance of 300 / 18.
    let triangular = Triangular::new(0.0, 20.0, 10.0).expect("the mode lies between the bounds");
    // Most jobs are quick; the others take one of two slow ways.
    let branches = vec![
        (0.8, Nanos::from_millis(5)),
        (0.1, Nanos::from_millis(20)),
        (0.1, Nanos::from_millis(40)),
    ];
    let erlang = Law::Erlang {
        phases: 4,
        mean: SERVICE,
    };
    // A check of 2 ms, and in a fifth of all cases 40 ms of work.
    let function = Law::from_fn(|stream| match stream.chance(0.2) {
        true => Nanos::from_millis(42),
        false => Nanos::from_millis(2),
    });
    // Each law has the mean of 10 ms; the squared coefficient of variation is its variance by the square of the mean.
    let laws = [
        ("constant", Law::Constant(SERVICE), 0.0),
        ("Erlang, 4 phases", erlang, 0.25),
        ("exponential", Law::Exponential(SERVICE), 1.0),
        ("hyperexponential", Law::HyperExponential(branches), 3.4),
        ("log-normal", Law::log_normal(SERVICE, 1.5), 2.25),
        (
            "rand_distr",
            Law::sampled(Nanos::MILLISECOND, triangular),
            1.0 / 6.0,
        ),
        ("function", function, 2.56),
    ];
    println!("service            mean wait in ms                          exact");
    for (name, law, variation) in laws {
        let exact = LOAD / (1.0 - LOAD) * f64::midpoint(1.0, variation) * SERVICE.as_millis_f64();
        let [wait] = replicate(Seed::new(1)).until(0.03, 0.95, |seed| [simulate(seed, &law)]);
        println!("{name:<18} {:<40} {exact:.3}", wait.to_string());
        assert!(wait.reached && wait.standard_errors_above(exact).abs() < 4.0);
    }
}
