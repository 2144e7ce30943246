//! Random networks of everything that a builder knows: each run is the same as ever, to the bit.
//!
//! `tests/compositions.txt` has a line for each network: its number, how many events happened, and a digest of all calls
//! of its probe in their order and of all statistics; or why it was refused. The lines were written by the code as it
//! was before stations and sources were made faster. To write them anew, if results change on purpose:
//!
//! ```sh
//! UPDATE_GOLDEN=1 cargo test -p iosonar-sim-core --test compositions
//! ```

use std::fmt::Write;

use iosonar_sim_core::network::StationStatistics;
use iosonar_sim_core::prelude::*;

const NETWORKS: u64 = 400;
const GOLDEN: &str = include_str!("compositions.txt");

/// A digest of values in their order.
#[derive(Clone, Default)]
struct Digest(u64);

impl Digest {
    fn add(&mut self, values: &[u64]) {
        for value in values {
            self.0 = (self.0 ^ value)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29);
        }
    }

    fn add_wide(&mut self, value: u128) {
        self.add(&[value as u64, (value >> 64) as u64]);
    }

    fn add_moments(&mut self, moments: &Moments) {
        self.add(&[moments.count(), moments.variance().to_bits()]);
        self.add_wide(moments.sum());
        let extremes = [moments.min(), moments.max()];
        self.add(&extremes.map(|t| t.map_or(7, Nanos::get)));
    }

    fn add_distribution(&mut self, times: &Distribution) {
        self.add_moments(&times.moments);
        let points = [0.0, 0.3, 0.5, 0.9, 0.99, 1.0];
        self.add(&points.map(|p| times.histogram.quantile(p).map_or(7, Nanos::get)));
    }

    fn add_station(&mut self, station: &StationStatistics) {
        for number in [&station.number, &station.busy, &station.blocked] {
            self.add_wide(number.integral());
            let (value, most) = (number.value(), number.most());
            self.add(&[u64::from(value), u64::from(most), number.span().get()]);
        }
        self.add_moments(&station.wait);
        self.add_moments(&station.response_time);
        self.add(&[station.lost, station.abandoned]);
        self.add(&[station.utilisation().to_bits()]);
        self.add(&[station.throughput_per_s().to_bits()]);
    }
}

impl Digest {
    fn call(&mut self, what: u64, node: NodeId, job: u64, now: Nanos) {
        let node = format!("{node:?}").bytes().map(u64::from).sum();
        self.add(&[what, node, job, now.get()]);
    }
}

impl Probe for Digest {
    fn arrived(&mut self, node: NodeId, job: u64, class: Class, number: u32, now: Nanos) {
        self.call(u64::from(class.0) << 32 | u64::from(number), node, job, now);
    }

    fn started(&mut self, node: NodeId, job: u64, now: Nanos) {
        self.call(1 << 50, node, job, now);
    }

    fn ended(&mut self, node: NodeId, job: u64, now: Nanos) {
        self.call(1 << 51, node, job, now);
    }

    fn unserved(&mut self, node: NodeId, job: u64, now: Nanos) {
        self.call(1 << 52, node, job, now);
    }

    fn departed(&mut self, node: NodeId, job: u64, response_time: Nanos, now: Nanos) {
        self.call(1 << 53 | response_time.get(), node, job, now);
    }
}

/// A node of one's own: some jobs wait for an event that others may cancel, and the rest goes on at once.
#[derive(Clone, Default)]
struct Stops(Vec<(JobId, EventId)>);

impl Behaviour for Stops {
    fn start(&mut self, here: &mut Here<'_>) {
        here.schedule(Nanos::from_micros(100), 7);
    }

    fn arrived(&mut self, job: JobId, here: &mut Here<'_>) {
        match here.number(job) % 4 {
            0 => {
                let at = here.now() + here.stream().exponential(Nanos::from_micros(300));
                let event = here.schedule(at, 1);
                self.0.push((job, event));
            }
            1 if !self.0.is_empty() => {
                let (first, event) = self.0.remove(0);
                assert!(here.cancel(event));
                here.send(first, 0);
                here.send(job, 0);
            }
            _ => here.send(job, 0),
        }
    }

    fn happened(&mut self, event: u32, here: &mut Here<'_>) {
        if event == 7 || self.0.is_empty() {
            return;
        }
        // Events come in another order than jobs: the one that waits longest goes, and so does its event.
        let (job, event) = self.0.remove(0);
        here.cancel(event);
        here.send(job, 0);
        if self.0.is_empty() {
            return;
        }
        let at = here.now() + Nanos::from_micros(50);
        self.0[0].1 = here.schedule(at, 1);
    }
}

/// A network in the making.
struct Composition {
    b: Builder,
    random: Stream,
    nodes: u32,
    stations: Vec<NodeId>,
    ends: Vec<NodeId>,
    lost: NodeId,
    custom: bool,
    finite: bool,
}

impl Composition {
    fn name(&mut self, kind: &str) -> String {
        self.nodes += 1;
        format!("{kind}/{}", self.nodes)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    fn law(&mut self, us: u64) -> Law {
        let mean = Nanos::from_micros(us);
        match self.below(16) {
            0..7 => Law::Exponential(mean),
            // Multiples of a time let events happen at once.
            7..11 => Law::Constant(Nanos::from_micros(us.next_multiple_of(100))),
            11 => Law::Uniform(Nanos::ZERO, mean + mean),
            12 => Law::Erlang { phases: 3, mean },
            13 => Law::HyperExponential(vec![
                (0.9, Nanos::from_micros(us / 2)),
                (0.1, Nanos::from_micros(us * 5)),
            ]),
            14 => Law::Table(vec![(0.5, Nanos::ZERO), (0.5, mean + mean)]),
            _ if self.below(2) == 0 => Law::from_fn(move |stream| stream.exponential(mean)),
            _ => Law::Exponential(mean).truncated(Nanos::ZERO, mean + mean),
        }
    }

    /// A queue, and whether jobs may leave it without being served.
    fn queue(&mut self, forked: bool) -> (Queue, bool) {
        let servers = [1, 1, 1, 1, 2, 5][self.below(6) as usize];
        let mean = 500 + self.below(400);
        let mut queue = Queue::fcfs(servers, self.law(mean * u64::from(servers)));
        if self.below(2) == 0 {
            return (queue, false);
        }
        let mut leaves = false;
        let discipline = match self.below(8) {
            0 => Discipline::Lifo,
            1 => Discipline::Random,
            2 => Discipline::Priority,
            3 => Discipline::PreemptiveResume,
            4 => Discipline::ProcessorSharing,
            _ => Discipline::Fcfs,
        };
        let shares = matches!(
            discipline,
            Discipline::PreemptiveResume | Discipline::ProcessorSharing
        );
        queue = queue.with(discipline);
        if self.below(4) == 0 {
            let law = self.law(mean);
            queue = queue.service_of(Class(1), law);
        }
        if self.below(4) == 0 {
            queue = queue.ranks(vec![3, 1, 2]);
        }
        if self.below(5) == 0 && !shares {
            queue = queue.in_batches(1 + self.below(2) as u32, 3);
        }
        if self.below(4) == 0 && !forked && discipline != Discipline::ProcessorSharing {
            let law = self.law(2_000);
            queue = queue.patience(law);
            leaves = true;
        }
        if self.finite && self.below(2) == 0 && !forked {
            queue = queue.room_for(3 + self.below(8) as u32);
            leaves = true;
        }
        (queue, leaves)
    }

    fn after(&mut self, before: &[NodeId], node: NodeId) -> Vec<NodeId> {
        for &from in before {
            self.b.chain(&[from, node]);
        }
        vec![node]
    }

    fn station(&mut self, before: &[NodeId], forked: bool) -> Vec<NodeId> {
        let name = self.name("station");
        let (queue, leaves) = self.queue(forked);
        let station = self.b.station(&name, queue);
        self.stations.push(station);
        if leaves && self.below(3) > 0 {
            self.b.unserved(station, self.lost);
        }
        self.after(before, station)
    }

    /// One to three nodes in a row behind others; the last ones.
    fn way(&mut self, before: &[NodeId], depth: u32, forked: bool) -> Vec<NodeId> {
        let mut last = before.to_vec();
        for _ in 0..=self.below(3) {
            last = self.part(&last, depth, forked);
        }
        last
    }

    fn part(&mut self, before: &[NodeId], depth: u32, forked: bool) -> Vec<NodeId> {
        match self.below(if depth > 0 { 11 } else { 8 }) {
            0..5 => self.station(before, forked),
            5 => {
                let (name, law) = (self.name("delay"), self.law(700));
                let delay = self.b.delay(&name, law);
                self.after(before, delay)
            }
            6 if self.custom => {
                let name = self.name("stops");
                let node = self.b.node(&name, Stops::default());
                self.after(before, node)
            }
            6 | 7 => {
                let name = self.name("lap");
                let lap = self.b.lap(&name);
                self.ends.push(lap);
                self.after(before, lap)
            }
            8 => {
                let name = self.name("router");
                let route = match self.below(3) {
                    0 => Route::RoundRobin,
                    1 => Route::Classes(vec![1, 0]),
                    _ => Route::Probabilities(vec![0.25, 0.75]),
                };
                let router = self.b.router(&name, route);
                self.after(before, router);
                let mut ends = self.way(&[router], depth - 1, forked);
                ends.extend(self.way(&[router], depth - 1, forked));
                ends
            }
            9 => {
                let (fork, join) = (self.name("fork"), self.name("join"));
                let (fork, join) = (self.b.fork(&fork), self.b.join(&join));
                self.after(before, fork);
                for _ in 0..2 + self.below(2) {
                    let ends = self.way(&[fork], depth - 1, true);
                    self.after(&ends, join);
                }
                vec![join]
            }
            _ => {
                let (first, name) = (self.station(before, forked), self.name("again"));
                let ends = self.way(&first, depth - 1, forked);
                let again = self.b.router(&name, Route::Probabilities(vec![0.2, 0.8]));
                self.after(&ends, again);
                self.b.chain(&[again, first[0]]);
                vec![again]
            }
        }
    }

    fn source(&mut self) -> NodeId {
        let name = self.name("source");
        let class = Class(self.below(3) as u8);
        let (distance, kind) = (self.law(1_500), self.below(8));
        let us = |t| Law::Exponential(Nanos::from_micros(t));
        let phase = |distance: Option<u64>, sojourn| Phase {
            distance: distance.map(Nanos::from_micros),
            sojourn: Nanos::from_micros(sojourn),
        };
        let mut arrivals = match kind {
            0 => Arrivals::on_off(us(5_000), us(3_000), us(900)),
            1 => Arrivals::modulated(vec![phase(Some(500), 2_000), phase(None, 5_000)]),
            2 => Arrivals::from_process((0..3_000_u64).map(|i| Arrival {
                at: Nanos::from_micros(1_700 * (i / 2)),
                class: Class((i % 2) as u8),
                jobs: 1 + (i % 3) as u32 / 2,
            })),
            _ => Arrivals::every(distance),
        };
        if self.below(4) == 0 {
            arrivals = arrivals.in_batches(BatchSize::Geometric(1.3));
        }
        self.b.source(&name, arrivals.of_class(class))
    }

    fn close(&mut self) {
        let think = self
            .b
            .think("think", Law::Exponential(Nanos::from_micros(5_000)));
        let ends = self.way(&[think], 1, false);
        let lap = self.b.lap("response");
        self.ends.push(lap);
        self.after(&ends, lap);
        self.b.chain(&[lap, think]);
        self.b.population(think, 3).population_of(lap, Class(1), 2);
    }
}

fn composed(number: u64) -> Composition {
    let seed = Seed::new(number);
    let mut b = Builder::new(seed);
    let lost = b.sink("lost");
    let mut random = seed.stream("composition", "");
    let (custom, finite) = (random.below(3) == 0, random.below(3) == 0);
    let mut made = Composition {
        b,
        random,
        nodes: 0,
        stations: Vec::new(),
        ends: vec![lost],
        lost,
        custom,
        finite,
    };
    let (open, closed) =
        [(1, false), (1, true), (2, false), (0, true), (3, false)][made.below(5) as usize];
    let sources: Vec<NodeId> = (0..open).map(|_| made.source()).collect();
    if open > 0 {
        let depth = made.below(3) as u32;
        let mut ends = made.way(&sources, depth, false);
        // More nodes with an event of their own than most networks have.
        for _ in 0..if number % 20 == 7 { 20 } else { 0 } {
            ends = made.station(&ends, false);
        }
        let sink = made.b.sink("sink");
        made.ends.push(sink);
        made.after(&ends, sink);
    }
    if closed {
        made.close();
    }
    made
}

/// The line of a network.
fn line(number: u64) -> String {
    let Composition {
        b, stations, ends, ..
    } = composed(number);
    let mut network = match b.build_with(Digest::default()) {
        Ok(network) => network,
        Err(error) => return format!("{number} {error}"),
    };
    let mut statistics = Digest::default();
    for until in [
        Until::Events(2_000),
        Until::Time(Nanos::from_micros(3_000_100)),
        Until::Departures(3_000),
    ] {
        let stopped = network.run(until);
        let jobs = network.number_of_jobs() as u64;
        statistics.add(&[u64::from(stopped == Stopped::AsTold), jobs]);
        statistics.add(&[network.now().get(), network.departures()]);
        for &station in &stations {
            statistics.add_station(&network.station(station));
        }
        for &end in &ends {
            statistics.add_distribution(network.response_time(end));
            for class in (0..3).map(Class) {
                if let Some(times) = network.response_time_of(end, class) {
                    statistics.add_distribution(times);
                }
            }
        }
        // A copy goes on in the place of the original.
        network = network.clone();
        network.measure_from_now();
    }
    let (events, hash, calls) = (network.events(), network.hash(), network.probe().0);
    format!(
        "{number} {events} {hash} {calls:016x} {:016x}",
        statistics.0
    )
}

#[test]
fn every_composition_runs_as_it_always_did() {
    let lines = (0..NETWORKS).map(line);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let mut text = String::new();
        lines.for_each(|line| writeln!(text, "{line}").expect("memory can be written to"));
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/compositions.txt");
        std::fs::write(path, text).expect("the file can be written");
        return;
    }
    let mut expected = GOLDEN.lines();
    let different: Vec<String> = lines
        .filter(|line| expected.next() != Some(line.as_str()))
        .collect();
    assert!(
        different.is_empty(),
        "{} of {NETWORKS} differ: {different:#?}",
        different.len()
    );
    assert_eq!(expected.next(), None);
}

#[test]
fn most_compositions_make_a_network() {
    let refused = GOLDEN.lines().filter(|line| line.contains('\'')).count();
    assert!(refused < NETWORKS as usize / 4, "{refused} are refused");
}
