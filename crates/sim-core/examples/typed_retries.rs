//! Requests that pass a controller and a network and are tried again with some probability, composed as a type, and
//! checked against Jackson's theorem (1957): each station behaves like an M/M/1 queue with the rate of all visits.
//!
//! `cargo run --release -p iosonar-sim-core --example typed_retries`

use iosonar_sim_core::prelude::*;
use iosonar_sim_core::typed::{Feedback, Model, Open, Part, Router, Source, Station};

const AGAIN: f64 = 0.25;
const FAST: f64 = 0.6;

fn ms(mean: f64) -> Law {
    Law::Exponential(Nanos::from_millis_f64(mean))
}

/// The mean response time in milliseconds, and the utilisation of the controller.
fn simulate(seed: Seed, distance: f64) -> [f64; 2] {
    let links = [Station::new("fast", ms(0.8)), Station::new("slow", ms(1.5))];
    let route = Route::Probabilities(vec![FAST, 1.0 - FAST]);
    let attempt = Station::new("controller", ms(0.6)).then(Router::new("link", route, links));
    let way = Feedback::new("again", AGAIN, attempt);
    let model = Open::new(Source::new("requests", ms(distance)), way, "done");
    let mut network = model.build(seed).expect("the parts make a network");
    network.run(Until::Departures(5_000));
    network.measure_from_now();
    network.run(Until::Departures(50_000));
    let controller = network.station("controller").utilisation();
    [
        network.response_time("done").moments.mean() / 1e6,
        controller,
    ]
}

/// The mean number of jobs at an M/M/1 queue.
fn number(utilisation: f64) -> f64 {
    utilisation / (1.0 - utilisation)
}

pub(crate) fn main() {
    println!(
        "{:<9} {:<40} {:<7} {:<43} exact",
        "distance", "mean response time in ms", "exact", "utilisation of the controller"
    );
    for distance in [4.0, 2.0, 1.2] {
        let visits = 1.0 / (1.0 - AGAIN) / distance;
        let controller = visits * 0.6;
        let loads = [controller, visits * FAST * 0.8, visits * (1.0 - FAST) * 1.5];
        // Little's law.
        let exact = loads.map(number).iter().sum::<f64>() * distance;
        let [response, busy] =
            replicate(Seed::new(1)).until(0.01, 0.95, |seed| simulate(seed, distance));
        let (ours, share) = (response.to_string(), busy.to_string());
        println!("{distance:<9} {ours:<40} {exact:<7.4} {share:<43} {controller:.4}");
        assert!(response.reached && response.standard_errors_above(exact).abs() < 4.0);
        assert!(busy.reached && busy.standard_errors_above(controller).abs() < 4.0);
    }
}
