//! The simulation kernel without any storage: a web server, its database, and users who think.
//!
//! `cargo run --release --example queueing_network`

use iosonar::sim_core::network::{Builder, Discipline, Queue, Route, Until};
use iosonar::sim_core::{Law, Seed};
use iosonar::units::Nanos;

fn main() {
    let ms = Nanos::from_millis;
    println!("users   response time   p99          processor   database");
    for users in [10, 50, 100, 150] {
        let mut b = Builder::new(Seed::new(1));
        let think = b.think("think", Law::Exponential(ms(2_000)));
        // The processor is shared by all requests; law and mean of the service are free.
        let cpu = b.station(
            "processor",
            Queue::fcfs(2, Law::Exponential(ms(20))).with(Discipline::ProcessorSharing),
        );
        let bursty = Law::HyperExponential(vec![(0.9, ms(5)), (0.1, ms(60))]);
        let database = b.station("database", Queue::fcfs(1, bursty));
        let (again, lap) = (
            b.router("again", Route::Probabilities(vec![0.6, 0.4])),
            b.lap("response"),
        );
        b.chain(&[think, cpu, again, database, cpu]);
        b.chain(&[again, lap, think]).population(think, users);
        let mut network = b.build().expect("it is a network");
        network.run(Until::Time(ms(100_000)));
        network.measure_from_now();
        network.run(Until::Departures(200_000));
        let times = network.response_time(lap);
        println!(
            "{users:>5}   {:>10.1} ms   {:<10}   {:>7.1} %   {:>6.1} %",
            times.moments.mean() / 1e6,
            times
                .histogram
                .quantile(0.99)
                .unwrap_or_default()
                .to_string(),
            100.0 * network.station(cpu).utilisation(),
            100.0 * network.station(database).utilisation()
        );
    }
}
