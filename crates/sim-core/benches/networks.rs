//! What does an event of a queueing network cost, by what its nodes do?
//!
//! Each iteration runs [`EVENTS`] events of a network that has been warmed up; the throughput is in events. Names of
//! groups are the questions. `cargo bench -p iosonar-sim-core --bench networks`

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use iosonar_sim_core::network::Probe;
use iosonar_sim_core::prelude::*;
use iosonar_sim_core::typed::{
    Closed, Delay, Feedback, Fork, Lap, Model, Open, Part, Source, Station,
};

const EVENTS: u64 = 10_000;
const WARM_UP: u64 = 50_000;

fn exponential(us: u64) -> Law {
    Law::Exponential(Nanos::from_micros(us))
}

fn poisson(us: u64) -> Arrivals {
    Arrivals::every(exponential(us))
}

/// A group of benchmarks, each of which takes the same number of events.
fn group<'a>(c: &'a mut Criterion, question: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = c.benchmark_group(question);
    group.throughput(Throughput::Elements(EVENTS));
    group
}

fn nodes(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, b: Builder) {
    let mut network = b.build().expect("the nodes make a network");
    network.run(Until::Events(WARM_UP));
    group.bench_function(name, |b| b.iter(|| network.run(Until::Events(EVENTS))));
}

fn typed(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, model: impl Model) {
    let mut network = model.build(Seed::new(1)).expect("the parts make a network");
    network.run(Until::Events(WARM_UP));
    group.bench_function(name, |b| b.iter(|| network.run(Until::Events(EVENTS))));
}

/// A source, stations in a row, a sink.
fn row(stations: usize, arrivals: Arrivals, queue: &Queue) -> Builder {
    let mut b = Builder::new(Seed::new(1));
    let mut way = vec![b.source("source", arrivals)];
    way.extend((0..stations).map(|i| b.station(&format!("server/{i}"), queue.clone())));
    way.push(b.sink("sink"));
    b.chain(&way);
    b
}

fn fork_join() -> Builder {
    let mut b = Builder::new(Seed::new(1));
    let source = b.source("source", poisson(1_000));
    let (fork, join, sink) = (b.fork("fork"), b.join("join"), b.sink("sink"));
    for i in 0..4 {
        let server = b.station(&format!("server/{i}"), Queue::fcfs(1, exponential(500)));
        b.chain(&[fork, server, join]);
    }
    b.chain(&[source, fork]).chain(&[join, sink]);
    b
}

fn feedback() -> Builder {
    let mut b = Builder::new(Seed::new(1));
    let source = b.source("source", poisson(1_000));
    let server = b.station("server", Queue::fcfs(1, exponential(400)));
    let again = b.router("again", Route::Probabilities(vec![0.5, 0.5]));
    let sink = b.sink("sink");
    b.chain(&[source, server, again, server])
        .chain(&[again, sink]);
    b
}

fn closed() -> Builder {
    let mut b = Builder::new(Seed::new(1));
    let think = b.think("think", exponential(10_000));
    let cpu = b.station("cpu", Queue::fcfs(1, exponential(900)));
    let disk = b.station("disk", Queue::fcfs(1, exponential(1_000)));
    let lap = b.lap("lap");
    b.chain(&[think, cpu, disk, lap, think])
        .population(think, 10);
    b
}

/// How much faster are networks that are types?
fn nodes_and_types(c: &mut Criterion) {
    let source = || Source::new("source", exponential(1_000));
    let mut mm1 = group(c, "M/M/1 at 0.9: as nodes or as a type?");
    nodes(
        &mut mm1,
        "nodes",
        row(1, poisson(1_000), &Queue::fcfs(1, exponential(900))),
    );
    let server = Station::new("server", exponential(900));
    typed(&mut mm1, "type", Open::new(source(), server, "sink"));
    mm1.finish();

    let mut fork = group(c, "fork-join of four at 0.5: as nodes or as a type?");
    nodes(&mut fork, "nodes", fork_join());
    let servers = [0, 1, 2, 3].map(|i| Station::new(format!("server/{i}"), exponential(500)));
    let way = Fork::new("fork", "join", servers);
    typed(&mut fork, "type", Open::new(source(), way, "sink"));
    fork.finish();

    let mut back = group(c, "a way back: as nodes or as a type?");
    nodes(&mut back, "nodes", feedback());
    let way = Feedback::new("again", 0.5, Station::new("server", exponential(400)));
    typed(&mut back, "type", Open::new(source(), way, "sink"));
    back.finish();

    let mut chain = group(c, "a closed chain of ten jobs: as nodes or as a type?");
    nodes(&mut chain, "nodes", closed());
    let way = Delay::think("think", exponential(10_000))
        .then(Station::new("cpu", exponential(900)))
        .then(Station::new("disk", exponential(1_000)))
        .then(Lap::new("lap"));
    typed(&mut chain, "type", Closed::new(way, 10));
    chain.finish();
}

/// Up to how many nodes is it fast to look at the times of all?
fn numbers_of_stations(c: &mut Criterion) {
    let mut group = group(c, "how does the number of stations in a row matter?");
    for stations in [1, 4, 8, 15, 20, 40] {
        let queue = Queue::fcfs(1, exponential(800));
        let b = row(stations, poisson(1_000), &queue);
        nodes(&mut group, &stations.to_string(), b);
    }
    group.finish();
}

/// What does each discipline cost, at 0.85 with two classes?
fn disciplines(c: &mut Criterion) {
    let mut group = group(c, "what does a discipline cost, with two classes?");
    for discipline in [
        Discipline::Fcfs,
        Discipline::Lifo,
        Discipline::Random,
        Discipline::Priority,
        Discipline::PreemptiveResume,
        Discipline::ProcessorSharing,
    ] {
        let mut b = Builder::new(Seed::new(1));
        let first = b.source("first", poisson(2_000));
        let second = b.source("second", poisson(2_000).of_class(Class(1)));
        let queue = Queue::fcfs(1, exponential(800)).service_of(Class(1), exponential(900));
        let server = b.station("server", queue.with(discipline));
        let sink = b.sink("sink");
        b.chain(&[first, server, sink]).chain(&[second, server]);
        nodes(&mut group, &format!("{discipline:?}"), b);
    }
    group.finish();
}

/// A node of one's own that sends each job on at once.
#[derive(Clone)]
struct Forward;

impl Behaviour for Forward {
    fn arrived(&mut self, job: JobId, here: &mut Here<'_>) {
        here.send(job, 0);
    }
}

/// What do other things cost than one server with an unlimited queue?
fn extras(c: &mut Criterion) {
    let simple = Queue::fcfs(1, exponential(800));
    let mut group = group(c, "what does more than a simple station cost?");
    let one = |queue: Queue| row(1, poisson(1_000), &queue);
    nodes(&mut group, "a simple station", one(simple.clone()));
    nodes(
        &mut group,
        "ten servers",
        one(Queue::fcfs(10, exponential(8_000))),
    );
    let constant = Queue::fcfs(1, Nanos::from_micros(800));
    nodes(
        &mut group,
        "events at the same time",
        row(3, poisson(1_000), &constant),
    );
    let blocking = Queue::fcfs(1, exponential(700)).room_for(5);
    nodes(&mut group, "blocking", row(4, poisson(1_000), &blocking));
    let patience = Queue::fcfs(2, exponential(1_900)).patience(exponential(2_000));
    nodes(&mut group, "patience", one(patience));
    let batches = poisson(1_500).in_batches(BatchSize::Geometric(1.5));
    nodes(&mut group, "batches", row(1, batches, &simple));

    let mut b = Builder::new(Seed::new(1));
    let source = b.source("source", poisson(1_000));
    let delay = b.delay("delay", exponential(50_000));
    let sink = b.sink("sink");
    b.chain(&[source, delay, sink]);
    nodes(&mut group, "a delay of fifty jobs", b);

    let mut b = Builder::new(Seed::new(1));
    let source = b.source("source", poisson(1_000));
    let (own, server) = (b.node("own", Forward), b.station("server", simple));
    let sink = b.sink("sink");
    b.chain(&[source, own, server, sink]);
    nodes(&mut group, "a node of one's own", b);
    group.finish();
}

/// What does a probe cost that counts arrivals?
fn probes(c: &mut Criterion) {
    #[derive(Default)]
    struct Count(u64);

    impl Probe for Count {
        fn arrived(&mut self, _: NodeId, _: u64, _: Class, _: u32, _: Nanos) {
            self.0 += 1;
        }
    }

    let mut group = group(c, "what does a probe cost?");
    let b = || row(1, poisson(1_000), &Queue::fcfs(1, exponential(800)));
    nodes(&mut group, "none", b());
    let watched = b().build_with(Count::default());
    let mut network = watched.expect("the nodes make a network");
    network.run(Until::Events(WARM_UP));
    group.bench_function("one that counts", |b| {
        b.iter(|| network.run(Until::Events(EVENTS)));
    });
    assert!(network.probe().0 > 0);
    group.finish();
}

criterion_group!(
    benches,
    nodes_and_types,
    numbers_of_stations,
    disciplines,
    extras,
    probes
);
criterion_main!(benches);
