//! Service times of rand_distr, of a function, and of a law of one's own; and a stream as a generator for rand_distr.

use iosonar_sim_core::prelude::*;
use rand::Rng;
use rand_distr::{Distribution, Gamma, Normal};

/// The sum of four exponential times.
struct FourPhases(Nanos);

impl Distribution<f64> for FourPhases {
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        let phase = |rng: &mut R| -> f64 { rand_distr::Exp1.sample(rng) };
        let sum: f64 = (0..4).map(|_| phase(rng)).sum();
        sum / 4.0 * self.0.get() as f64
    }
}

/// The mean wait in milliseconds at half the capacity of a server that takes 10 ms on average.
fn wait(seed: Seed, service: &Law) -> f64 {
    let mut b = Builder::new(seed);
    let arrivals = Arrivals::every(Law::Exponential(Nanos::from_millis(20)));
    let source = b.source("source", arrivals);
    let server = b.station("server", Queue::fcfs(1, service.clone()));
    let sink = b.sink("sink");
    b.chain(&[source, server, sink]);
    let mut network = b.build().expect("the nodes make a network");
    network.run(Until::Departures(1_000));
    network.measure_from_now();
    network.run(Until::Departures(10_000));
    network.station(server).wait.mean() / 1e6
}

fn main() {
    let gamma = Gamma::new(2.0, 5.0).expect("both are positive");
    let laws = [
        ("gamma", Law::sampled(Nanos::MILLISECOND, gamma)),
        // From nothing to 20 ms.
        (
            "function",
            Law::from_fn(|stream| Nanos::new(stream.below(20_000_001))),
        ),
        (
            "own",
            Law::sampled(Nanos::new(1), FourPhases(Nanos::from_millis(10))),
        ),
    ];
    for (name, law) in laws {
        let [mean] = replicate(Seed::new(7)).until(0.03, 0.95, |seed| [wait(seed, &law)]);
        println!("{name} {}\n{name} stderr {}", mean.mean, mean.stderr);
    }
    let mut stream = Seed::new(7).stream("values", "normal");
    let normal = Normal::new(3.0, 2.0).expect("the deviation is positive");
    let sum: f64 = (0..10_000).map(|_| normal.sample(&mut stream)).sum();
    println!("normal {}", sum / 1e4);
}
