//! The queues of this comparison with iosonar's queueing networks.

use std::time::Instant;

use iosonar_sim_core::prelude::*;

const DISTANCE: Nanos = Nanos::from_micros(1000);

fn mm1() -> (Network, NodeId) {
    let mut b = Builder::new(Seed::new(1));
    let source = b.source("source", Arrivals::every(Law::Exponential(DISTANCE)));
    let service = Law::Exponential(Nanos::from_micros(900));
    let server = b.station("server", Queue::fcfs(1, service));
    let sink = b.sink("sink");
    b.chain(&[source, server, sink]);
    (b.build().expect("the network is complete"), sink)
}

fn fork_join() -> (Network, NodeId) {
    let mut b = Builder::new(Seed::new(1));
    let source = b.source("source", Arrivals::every(Law::Exponential(DISTANCE)));
    let (fork, join, sink) = (b.fork("fork"), b.join("join"), b.sink("sink"));
    for i in 0..4 {
        let service = Law::Exponential(Nanos::from_micros(500));
        let server = b.station(&format!("server/{i}"), Queue::fcfs(1, service));
        b.chain(&[fork, server, join]);
    }
    b.chain(&[source, fork]).chain(&[join, sink]);
    (b.build().expect("the network is complete"), sink)
}

fn main() {
    for (name, jobs, network) in [
        ("mm1", 5_000_000, mm1 as fn() -> (Network, NodeId)),
        ("fork-join", 1_000_000, fork_join),
    ] {
        let begin = Instant::now();
        let (mut network, sink) = network();
        network.run(Until::Departures(jobs));
        let seconds = begin.elapsed().as_secs_f64();
        let mean_ms = network.response_time(sink).moments.mean() / 1e6;
        println!("{name} {:.4} {mean_ms:.4}", jobs as f64 / seconds / 1e6);
    }
}
