//! A packet switch with queues at its inputs, as a node with a behaviour of its own. In each time slot every output takes
//! one of the packets for it that are at the head of a queue. The others wait, and so do the packets behind them, even
//! if their outputs are idle. Checked against the saturation throughput in table I of Karol, Hluchyj and Morgan, "Input
//! Versus Output Queueing on a Space-Division Packet Switch", IEEE Transactions on Communications 35(12), 1987.
//!
//! `cargo run --release -p iosonar-sim-core --example packet_switch`

use iosonar_sim_core::prelude::*;

const SLOT: Nanos = Nanos::from_micros(1);
const SLOTS: u64 = 20_000;

/// The packets at the heads of the input queues, by their output.
#[derive(Clone)]
struct Switch {
    heads: Vec<Vec<JobId>>,
}

impl Behaviour for Switch {
    fn start(&mut self, here: &mut Here<'_>) {
        here.schedule(SLOT, 0);
    }

    /// A packet comes to the head of its queue: only now does its output matter.
    fn arrived(&mut self, packet: JobId, here: &mut Here<'_>) {
        let output = here.stream().below(self.heads.len() as u64);
        self.heads[output as usize].push(packet);
    }

    /// A slot: each output takes one of its packets at random.
    fn happened(&mut self, _: u32, here: &mut Here<'_>) {
        for (output, heads) in self.heads.iter_mut().enumerate() {
            if !heads.is_empty() {
                let winner = here.stream().below(heads.len() as u64) as usize;
                here.send(heads.swap_remove(winner), output);
            }
        }
        here.schedule(here.now() + SLOT, 0);
    }
}

/// Packets per slot and output, if no input queue is ever empty.
fn simulate(seed: Seed, ports: u32) -> f64 {
    let mut b = Builder::new(seed);
    let heads = vec![Vec::new(); ports as usize];
    let switch = b.node("switch", Switch { heads });
    for port in 0..ports {
        // Behind each packet that leaves there is another one, which comes to the head of the queue at once.
        let lap = b.lap(&format!("output/{port}"));
        b.chain(&[switch, lap, switch]).population(switch, 1);
    }
    let mut network = b.build().expect("the nodes make a network");
    network.run(Until::Time(SLOT * 1_000));
    let before = network.departures();
    network.run(Until::Time(SLOT * (1_000 + SLOTS)));
    (network.departures() - before) as f64 / (SLOTS * u64::from(ports)) as f64
}

pub(crate) fn main() {
    println!("ports   packets per slot and output              table");
    for (ports, table) in [(2, 0.75), (3, 0.6825), (4, 0.6553), (8, 0.6184)] {
        let [ours] = replicate(Seed::new(1)).times(20, 0.95, |seed| [simulate(seed, ports)]);
        println!("{ports:>5}   {:<40} {table}", ours.to_string());
        // The table has four digits.
        assert!((ours.mean - table).abs() < 4.0 * ours.stderr + 0.5e-4);
    }
}
