//! Networks as types against the same networks of nodes: everything that is known of a run is the same, to the bit.

use std::fmt::Debug;

use iosonar_sim_core::prelude::*;
use iosonar_sim_core::typed::{
    Closed, Delay, Feedback, Fork, Lap, Model, Open, Part, Router, Source, Station,
};
use proptest::prelude::*;

/// What a probe saw, in its order.
#[derive(Clone, Default, Debug, PartialEq)]
struct Calls(Vec<(u8, String, u64, u64, Nanos)>);

impl Calls {
    fn add(&mut self, what: u8, node: NodeId, job: u64, value: u64, now: Nanos) {
        self.0.push((what, format!("{node:?}"), job, value, now));
    }
}

impl Probe for Calls {
    fn arrived(&mut self, node: NodeId, job: u64, class: Class, number: u32, now: Nanos) {
        let value = u64::from(class.0) << 32 | u64::from(number);
        self.add(0, node, job, value, now);
    }

    fn started(&mut self, node: NodeId, job: u64, now: Nanos) {
        self.add(1, node, job, 0, now);
    }

    fn ended(&mut self, node: NodeId, job: u64, now: Nanos) {
        self.add(2, node, job, 0, now);
    }

    fn departed(&mut self, node: NodeId, job: u64, response_time: Nanos, now: Nanos) {
        self.add(3, node, job, response_time.get(), now);
    }
}

/// Runs a model and its nodes in the same steps.
#[track_caller]
fn assert_same<M: Model + Clone>(model: M, seed: u64, stations: &[&str], ends: &[&str]) {
    let seed = Seed::new(seed);
    let mut nodes = model
        .builder(seed)
        .build_with(Calls::default())
        .expect("the nodes make a network");
    let mut typed = model
        .build_with(seed, Calls::default())
        .expect("the model makes a network");
    for until in [
        Until::Events(700),
        Until::Departures(300),
        Until::Time(nodes.now() + Nanos::from_millis(500)),
        Until::Events(200),
    ] {
        assert_eq!(typed.run(until), nodes.run(until));
        let mut copy = typed.clone();
        assert!(copy.step());
        let typed_now = (typed.now(), typed.events(), typed.departures());
        assert_eq!(typed_now, (nodes.now(), nodes.events(), nodes.departures()));
        assert_eq!(typed.number_of_jobs(), nodes.number_of_jobs());
        assert_eq!(typed.hash(), nodes.hash());
        assert!(typed.probe() == nodes.probe(), "calls of the probe differ");
        for name in stations {
            let node = typed.node(name).expect("it is a station");
            assert_eq!(nodes.name(node), *name);
            same(&typed.station(name), &nodes.station(node));
        }
        for name in ends {
            let node = typed.node(name).expect("it is a sink or a lap");
            same(typed.response_time(name), nodes.response_time(node));
        }
        typed.measure_from_now();
        nodes.measure_from_now();
    }
}

#[track_caller]
fn same(one: &impl Debug, other: &impl Debug) {
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

/// Times in microseconds: constant ones let much happen at once.
fn law() -> impl Strategy<Value = Law> {
    let us = Nanos::from_micros;
    prop_oneof![
        4 => (1..1_000_u64).prop_map(move |t| Law::Exponential(us(t))),
        3 => (1..10_u64).prop_map(move |t| Law::Constant(us(100 * t))),
        1 => (1..1_000_u64).prop_map(move |t| Law::Uniform(us(0), us(2 * t))),
        1 => (1..1_000_u64).prop_map(move |t| Law::Erlang { phases: 2, mean: us(t) }),
        1 => (1..1_000_u64).prop_map(move |t| Law::Exponential(us(t)).truncated(us(0), us(3 * t))),
    ]
}

type Laws = [Law; 6];

fn laws() -> impl Strategy<Value = Laws> {
    [law(), law(), law(), law(), law(), law()]
}

fn station(name: &str, law: &Law) -> Station {
    Station::new(name, law.clone())
}

fn source(law: &Law) -> Source {
    Source::new("source", law.clone())
}

fn chance(p: f64) -> Route {
    Route::Probabilities(vec![p, 1.0 - p])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn one_station([a, b, ..] in laws(), seed: u64, class in 0..3_u8) {
        let source = source(&a).of_class(Class(class));
        assert_same(Open::new(source, station("one", &b), "sink"), seed, &["one"], &["sink"]);
    }

    #[test]
    fn stations_delays_and_laps_in_a_row([a, b, c, d, e, _] in laws(), seed: u64) {
        let way = station("one", &b)
            .then(Delay::new("delay", c))
            .then(Lap::new("lap"))
            .then(station("two", &d).then(station("three", &e)))
            .then(Lap::new("end"));
        let model = Open::new(source(&a), way, "sink");
        assert_same(model, seed, &["one", "two", "three"], &["lap", "end", "sink"]);
    }

    #[test]
    fn a_fork_of_equal_branches([a, b, c, d, ..] in laws(), seed: u64) {
        let branches = [("one", &b), ("two", &c), ("three", &d)].map(|(name, law)| station(name, law));
        let model = Open::new(source(&a), Fork::new("fork", "join", branches), "sink");
        assert_same(model, seed, &["one", "two", "three"], &["sink"]);
    }

    #[test]
    fn equal_branches_of_several_parts([a, b, c, d, e, _] in laws(), seed: u64, p in 0.0..1.0_f64) {
        let branch = |i: usize, laws: [&Law; 2]| {
            station(["one", "three"][i], laws[0]).then(station(["two", "four"][i], laws[1]))
        };
        let branches = [branch(0, [&b, &c]), branch(1, [&d, &e])];
        let stations = ["one", "two", "three", "four"];
        let fork = Fork::new("fork", "join", branches.clone());
        assert_same(Open::new(source(&a), fork, "sink"), seed, &stations, &["sink"]);
        let router = Router::new("router", chance(p), branches);
        assert_same(Open::new(source(&a), router, "sink"), seed, &stations, &["sink"]);
    }

    #[test]
    fn forks_within_forks([a, b, c, d, e, f] in laws(), seed: u64, p in 0.0..1.0_f64) {
        let inner = Fork::new("inner", "inner join", (station("one", &b), Lap::new("at once")));
        let choice = Router::new("router", chance(p), [station("two", &c), station("three", &d)]);
        let branches = (
            inner.then(station("four", &e)),
            Delay::new("delay", f),
            choice,
            Lap::new("straight through"),
        );
        let model = Open::new(source(&a), Fork::new("fork", "join", branches), "sink");
        let laps = ["at once", "straight through", "sink"];
        assert_same(model, seed, &["one", "two", "three", "four"], &laps);
    }

    #[test]
    fn only_parts_that_take_no_time([a, ..] in laws(), seed: u64) {
        let branches = [Lap::new("one"), Lap::new("two")];
        let way = Fork::new("fork", "join", branches).then(Lap::new("lap"));
        assert_same(Open::new(source(&a), way, "sink"), seed, &[], &["one", "two", "lap", "sink"]);
    }

    #[test]
    fn routers_of_all_kinds([a, b, c, d, e, f] in laws(), seed: u64, p in 0.0..1.0_f64, class in 0..3_u8) {
        let turns = Router::new("turns", Route::RoundRobin, (station("one", &b), Lap::new("two")));
        let by_class = Router::new(
            "classes",
            Route::Classes(vec![0, 2, 1]),
            (station("three", &c), Delay::new("four", d), turns),
        );
        let by_chance = Router::new("chance", chance(p), (by_class, station("five", &e)));
        let way = by_chance.then(station("six", &f));
        let source = source(&a).of_class(Class(class));
        let stations = ["one", "three", "five", "six"];
        assert_same(Open::new(source, way, "sink"), seed, &stations, &["two", "sink"]);
    }

    #[test]
    fn ways_back([a, b, c, d, ..] in laws(), seed: u64, p in 0.0..0.9_f64, q in 0.0..0.9_f64) {
        let inner = Feedback::new("inner", p, station("one", &b));
        let fork = Fork::new("fork", "join", (station("two", &c), Lap::new("lap")));
        let way = Feedback::new("outer", q, inner.then(fork)).then(Delay::new("delay", d));
        assert_same(Open::new(source(&a), way, "sink"), seed, &["one", "two"], &["lap", "sink"]);
    }

    #[test]
    fn closed_chains([a, b, c, d, e, _] in laws(), seed: u64, p in 0.0..0.9_f64, jobs in 1..8_u32) {
        let visits = station("cpu", &b).then(Router::new(
            "disks",
            Route::RoundRobin,
            [("one", &c), ("two", &d)].map(|(name, law)| station(name, law)),
        ));
        let way = Delay::think("think", a)
            .then(Feedback::new("again", p, visits))
            .then(Lap::new("lap"))
            .then(station("after", &e));
        assert_same(Closed::new(way, jobs), seed, &["cpu", "one", "two", "after"], &["lap"]);
    }

    #[test]
    fn a_closed_chain_that_begins_with_a_lap([a, b, ..] in laws(), seed: u64, jobs in 1..5_u32) {
        let way = Lap::new("lap").then(Fork::new("fork", "join", [("one", &a), ("two", &b)].map(|(name, law)| station(name, law))));
        assert_same(Closed::new(way, jobs), seed, &["one", "two"], &["lap"]);
    }
}

#[test]
fn what_makes_no_network_is_refused() {
    let ms = Law::Exponential(Nanos::MILLISECOND);
    let source = || Source::new("source", ms.clone());
    let error = |message: Result<(), _>| {
        let error: iosonar_sim_core::network::BuildError = message.unwrap_err();
        error.to_string()
    };
    let twice = station("one", &ms).then(station("one", &ms));
    let built = Open::new(source(), twice, "sink").build(Seed::new(1));
    assert!(error(built.map(|_| ())).starts_with("two nodes have the name 'one'"));
    let endless = Closed::new(Lap::new("lap"), 1).build(Seed::new(1));
    assert!(error(endless.map(|_| ())).contains("on a loop that takes no time"));
    let back = Feedback::new("back", 1.5, station("one", &ms));
    let built = Open::new(source(), back, "sink").build(Seed::new(1));
    assert!(error(built.map(|_| ())).contains("probabilities"));
}

#[test]
fn a_closed_chain_without_jobs_has_nothing_to_do() {
    let way = station("one", &Law::Exponential(Nanos::MILLISECOND));
    let mut network = Closed::new(way, 0).build(Seed::new(1)).unwrap();
    assert_eq!(network.run(Until::Departures(1)), Stopped::Drained);
    assert!(!network.step());
}

#[test]
#[should_panic(expected = "no station is called 'two'")]
fn statistics_are_those_of_stations_that_exist() {
    let ms = Law::Exponential(Nanos::MILLISECOND);
    let model = Open::new(
        Source::new("source", ms.clone()),
        station("one", &ms),
        "sink",
    );
    model.build(Seed::new(1)).unwrap().station("two");
}
