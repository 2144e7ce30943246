//! Machines that fail and wait for one of two repairers: a closed network, checked against its birth-death process.
//!
//! `cargo run --release -p iosonar-sim-core --example machine_repair`

use iosonar_sim_core::prelude::*;

const HOUR: Nanos = Nanos::from_secs(3_600);
const RUNS_H: u64 = 100;
const REPAIR_H: u64 = 20;
const REPAIRERS: u32 = 2;

/// The mean number of machines that are down, and the utilisation of the repairers.
fn simulate(seed: Seed, machines: u32) -> [f64; 2] {
    let mut b = Builder::new(seed);
    let runs = b.delay("runs", Law::Exponential(HOUR * RUNS_H));
    let queue = Queue::fcfs(REPAIRERS, Law::Exponential(HOUR * REPAIR_H));
    let repair = b.station("repair", queue);
    b.chain(&[runs, repair, runs]).population(runs, machines);
    let mut network = b.build().expect("the nodes make a network");
    network.run(Until::Time(HOUR * 5_000));
    network.measure_from_now();
    network.run(Until::Time(HOUR * 105_000));
    let repair = network.station(repair);
    [repair.number.mean(), repair.utilisation()]
}

/// The same, from the stationary distribution of the number of machines that are down.
fn exact(machines: u32) -> [f64; 2] {
    let (failure, repair) = (1.0 / RUNS_H as f64, 1.0 / REPAIR_H as f64);
    let (mut p, mut sum, mut down, mut busy) = (1.0, 0.0, 0.0, 0.0);
    for n in 0..=machines {
        sum += p;
        down += p * f64::from(n);
        busy += p * f64::from(n.min(REPAIRERS));
        let repaired = f64::from((n + 1).min(REPAIRERS)) * repair;
        p *= f64::from(machines - n) * failure / repaired;
    }
    [down / sum, busy / sum / f64::from(REPAIRERS)]
}

pub(crate) fn main() {
    println!("machines  figure              simulated                               exact");
    for machines in [4, 8, 16] {
        let simulated = replicate(Seed::new(1)).times(20, 0.95, |seed| simulate(seed, machines));
        let names = ["machines down", "repairers busy"];
        for ((name, ours), exact) in names.into_iter().zip(simulated).zip(exact(machines)) {
            println!(
                "{machines:>8}  {name:<18} {:<40} {exact:.4}",
                ours.to_string()
            );
            assert!(ours.standard_errors_above(exact).abs() < 4.0);
        }
    }
}
