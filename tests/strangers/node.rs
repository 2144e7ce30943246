//! A node of one's own, which sends jobs to two servers in turn.

use iosonar_sim_core::prelude::*;

#[derive(Clone, Default)]
struct InTurn {
    next: usize,
}

impl Behaviour for InTurn {
    fn arrived(&mut self, job: JobId, here: &mut Here<'_>) {
        here.send(job, self.next);
        self.next = 1 - self.next;
    }
}

/// The mean response time in milliseconds.
fn simulate(seed: Seed) -> f64 {
    let mut b = Builder::new(seed);
    let arrivals = Arrivals::every(Law::Exponential(Nanos::from_micros(625)));
    let source = b.source("source", arrivals);
    let in_turn = b.node("in turn", InTurn::default());
    let sink = b.sink("sink");
    b.chain(&[source, in_turn]);
    for name in ["left", "right"] {
        let queue = Queue::fcfs(1, Law::Exponential(Nanos::MILLISECOND));
        let server = b.station(name, queue);
        b.chain(&[in_turn, server, sink]);
    }
    let mut network = b.build().expect("the nodes make a network");
    network.run(Until::Departures(1_000));
    network.measure_from_now();
    network.run(Until::Departures(10_000));
    network.response_time(sink).moments.mean() / 1e6
}

fn main() {
    let [mean] = replicate(Seed::new(7)).until(0.03, 0.95, |seed| [simulate(seed)]);
    println!(
        "response_ms {}\nresponse_ms stderr {}",
        mean.mean, mean.stderr
    );
}
