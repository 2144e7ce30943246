//! What is no network is refused when it is built, and the error names the node to mend.

use iosonar_sim_core::network::{Arrival, BuildError};
use iosonar_sim_core::prelude::*;

fn ms(t: u64) -> Nanos {
    Nanos::from_millis(t)
}

fn poisson(class: u8) -> Arrivals {
    Arrivals::every(Law::Exponential(ms(10))).of_class(Class(class))
}

fn server() -> Queue {
    Queue::fcfs(1, Law::Exponential(ms(1)))
}

fn chances(p: &[f64]) -> Route {
    Route::Probabilities(p.to_vec())
}

fn builder() -> Builder {
    Builder::new(Seed::new(1))
}

#[track_caller]
fn refused(b: Builder) -> BuildError {
    let error = b.build().map(|_| ()).expect_err("it is no network");
    let text = error.to_string();
    assert!(text.contains(&format!("'{}'", error.node())), "{text}");
    error
}

/// Builds a network and runs it, which must not go round for ever.
#[track_caller]
fn runs(b: Builder) {
    let mut network = b.build().unwrap();
    network.run(Until::Time(ms(1_000)));
    assert!(network.events() > 50);
}

fn no_sink(source: &str, node: &str) -> BuildError {
    BuildError::NoSink {
        source: source.into(),
        node: node.into(),
    }
}

fn no_time(node: &str) -> BuildError {
    BuildError::Loop { node: node.into() }
}

#[test]
fn a_source_needs_a_way_to_a_sink() {
    let circle = |sink: bool| {
        let mut b = builder();
        let source = b.source("source", poisson(0));
        let (one, two) = (b.station("one", server()), b.station("two", server()));
        if sink {
            let (turn, done) = (b.router("turn", Route::RoundRobin), b.sink("done"));
            b.chain(&[source, one, two, turn, one]).chain(&[turn, done]);
        } else {
            b.chain(&[source, one, two, one]);
        }
        b
    };
    assert_eq!(refused(circle(false)), no_sink("source", "source"));
    runs(circle(true));
}

#[test]
fn jobs_must_not_pile_up_where_they_come_with_some_probability() {
    let with = |p: &[f64]| {
        let mut b = builder();
        let (source, sink) = (b.source("source", poisson(0)), b.sink("sink"));
        let (way, trap) = (b.router("way", chances(p)), b.station("trap", server()));
        b.chain(&[source, way, trap, trap]).chain(&[way, sink]);
        b
    };
    assert_eq!(refused(with(&[0.1, 0.9])), no_sink("source", "trap"));
    assert_eq!(refused(with(&[1.0, 0.0])), no_sink("source", "source"));
    assert_eq!(refused(with(&[1.0])), no_sink("source", "source"));
    runs(with(&[0.0, 1.0]));
}

#[test]
fn each_class_needs_a_way_of_its_own() {
    let with = |arrivals: Arrivals, routes: Vec<usize>| {
        let mut b = builder();
        let (source, sink) = (b.source("source", arrivals), b.sink("sink"));
        let way = b.router("way", Route::Classes(routes));
        let trap = b.station("trap", server());
        b.chain(&[source, way, sink]).chain(&[way, trap, trap]);
        b
    };
    runs(with(poisson(0), vec![0, 1]));
    for class in [1, 2, 255] {
        let error = refused(with(poisson(class), vec![0, 1]));
        assert_eq!(error, no_sink("source", "source"), "class {class}");
    }
    runs(with(poisson(7), vec![1, 0]));
    // Which classes an iterator has is known to its author only: it is refused if none could pass.
    let iterator = || {
        Arrivals::from_process((0..100).map(|i| Arrival {
            at: ms(i),
            class: Class(0),
            jobs: 1,
        }))
    };
    runs(with(iterator(), vec![0, 1]));
    assert_eq!(
        refused(with(iterator(), vec![1])),
        no_sink("source", "source")
    );
}

#[test]
fn a_population_needs_no_sink() {
    let mut b = builder();
    let (think, server) = (b.think("think", ms(1)), b.station("server", server()));
    b.chain(&[think, server, think]).population(think, 3);
    runs(b);
}

#[test]
fn behaviours_are_taken_to_use_any_output() {
    #[derive(Clone)]
    struct Pass;
    impl Behaviour for Pass {
        fn arrived(&mut self, job: JobId, here: &mut Here<'_>) {
            here.send(job, 0);
        }
    }
    let with = |outputs: usize| {
        let mut b = builder();
        let (source, pass) = (b.source("source", poisson(0)), b.node("pass", Pass));
        let (sink, trap) = (b.sink("sink"), b.station("trap", server()));
        b.chain(&[source, pass]);
        for to in [sink, trap].into_iter().take(outputs) {
            b.chain(&[pass, to]);
        }
        b.chain(&[trap, trap]);
        b
    };
    runs(with(1));
    assert_eq!(refused(with(2)), no_sink("source", "trap"));
    assert_eq!(refused(with(0)), no_sink("source", "source"));
}

#[test]
fn what_is_forked_must_be_joined() {
    // The second branch goes through `queue` to the sink, the join, or in a circle.
    let with = |queue: Queue, end: Option<&str>| {
        let mut b = builder();
        let source = b.source("source", poisson(0));
        let (fork, join, sink) = (b.fork("fork"), b.join("join"), b.sink("sink"));
        let branches = [b.station("left", server()), b.station("right", queue)];
        b.chain(&[source, fork, branches[0], join, sink]);
        b.chain(&[fork, branches[1]]);
        b.chain(&[
            branches[1],
            match end {
                Some("sink") => sink,
                Some(_) => join,
                None => branches[1],
            },
        ]);
        b
    };
    runs(with(server(), Some("join")));
    let leaves = |node: &str| BuildError::LeavesFork {
        node: node.into(),
        fork: "fork".into(),
    };
    assert_eq!(refused(with(server(), Some("sink"))), leaves("sink"));
    // A part that gives up would be missing at the join.
    let impatient = server().patience(ms(1));
    assert_eq!(refused(with(impatient, Some("join"))), leaves("right"));
    assert_eq!(
        refused(with(server(), None)),
        BuildError::NoJoin {
            node: "right".into(),
            fork: "fork".into()
        }
    );
}

#[test]
fn what_is_joined_must_have_been_forked() {
    let mut b = builder();
    let (source, join, sink) = (b.source("source", poisson(0)), b.join("join"), b.sink("s"));
    b.chain(&[source, join, sink]);
    let expected = BuildError::NotForked {
        node: "join".into(),
        origin: "source".into(),
    };
    assert_eq!(refused(b), expected);
    // A job that was forked once must not be joined twice.
    let mut b = builder();
    let (source, fork, sink) = (b.source("source", poisson(0)), b.fork("f"), b.sink("s"));
    let (server, first, second) = (b.station("a", server()), b.join("first"), b.join("join"));
    b.chain(&[source, fork, server, first, second, sink]);
    assert_eq!(refused(b), expected);
}

#[test]
fn forks_may_be_nested_but_not_recursive() {
    let with = |recursive: bool| {
        let mut b = builder();
        let (source, sink) = (b.source("source", poisson(0)), b.sink("sink"));
        let (outer, inner) = (b.fork("outer"), b.fork("inner"));
        let joins = [b.join("inner join"), b.join("outer join")];
        let stations = ["a", "b", "c"].map(|name| b.station(name, server()));
        b.chain(&[source, outer, stations[0], inner]);
        b.chain(&[inner, stations[1], joins[0]]);
        b.chain(&[inner, stations[2]]);
        b.chain(&[stations[2], if recursive { outer } else { joins[0] }]);
        b.chain(&[outer, joins[1], sink])
            .chain(&[joins[0], joins[1]]);
        b
    };
    runs(with(false));
    let error = refused(with(true));
    assert!(
        matches!(
            error,
            BuildError::NoJoin { .. }
                | BuildError::LeavesFork { .. }
                | BuildError::NotForked { .. }
        ),
        "{error:?}"
    );
}

#[test]
fn a_loop_without_time_is_refused_only_if_jobs_cannot_leave_it() {
    // A population that goes round `lap` with the first probability.
    let with = |p: &[f64]| {
        let mut b = builder();
        let (again, lap) = (b.router("again", chances(p)), b.lap("lap"));
        let think = b.think("think", Law::Exponential(ms(1)));
        b.chain(&[think, again, lap, again])
            .chain(&[again, think])
            .population(think, 2);
        b
    };
    runs(with(&[0.9, 0.1]));
    runs(with(&[0.0, 1.0]));
    assert_eq!(refused(with(&[1.0, 0.0])), no_time("again"));
    assert_eq!(refused(with(&[1.0])), no_time("again"));
    // In turn, every output is taken some time.
    let mut b = builder();
    let (turn, source, sink) = (
        b.router("turn", Route::RoundRobin),
        b.source("source", poisson(0)),
        b.sink("sink"),
    );
    b.chain(&[source, turn, turn]).chain(&[turn, sink]);
    runs(b);
}

#[test]
fn a_loop_without_time_may_be_one_for_one_class_only() {
    let with = |class: u8| {
        let mut b = builder();
        let way = b.router("way", Route::Classes(vec![0, 1]));
        let (lap, think) = (b.lap("lap"), b.think("think", ms(1)));
        b.chain(&[think, way, lap, way]).chain(&[way, think]);
        b.population_of(think, Class(class), 1);
        b
    };
    assert_eq!(refused(with(0)), no_time("way"));
    runs(with(1));
    // The same with a service that takes no time for one class.
    let with = |class: u8| {
        let mut b = builder();
        let queue = server().service_of(Class(3), Nanos::ZERO);
        let (server, lap) = (b.station("server", queue), b.lap("lap"));
        b.chain(&[server, lap, server]);
        b.population_of(server, Class(class), 1);
        b
    };
    assert_eq!(refused(with(3)), no_time("server"));
    runs(with(2));
}

#[test]
fn services_and_delays_of_no_time_are_no_time() {
    for law in [
        Law::Constant(Nanos::ZERO),
        Law::Table(vec![(1.0, Nanos::ZERO)]),
        Law::Exponential(Nanos::ZERO),
    ] {
        let mut b = builder();
        let (delay, server) = (
            b.delay("delay", law.clone()),
            b.station("server", Queue::fcfs(2, law)),
        );
        b.chain(&[delay, server, delay]).population(server, 1);
        assert_eq!(refused(b), no_time("delay"));
    }
    let mut b = builder();
    let rarely = Law::Table(vec![(0.9, Nanos::ZERO), (0.1, ms(1))]);
    let delay = b.delay("delay", rarely);
    b.chain(&[delay, delay]).population(delay, 1);
    runs(b);
}

#[test]
fn a_fork_on_a_loop_takes_the_time_of_its_branches() {
    let with = |time: Nanos| {
        let mut b = builder();
        let (fork, join) = (b.fork("fork"), b.join("join"));
        let delay = b.delay("delay", time);
        b.chain(&[fork, delay, join]).chain(&[fork, join, fork]);
        b.population(fork, 1);
        b
    };
    runs(with(ms(1)));
    assert_eq!(refused(with(Nanos::ZERO)), no_time("fork"));
}

#[test]
fn full_queues_must_not_send_jobs_to_each_other() {
    let with = |out: bool| {
        let mut b = builder();
        let (source, sink) = (b.source("source", poisson(0)), b.sink("sink"));
        let one = b.station("one", server().room_for(1));
        let two = b.station("two", server().room_for(2));
        b.chain(&[source, one, sink]).chain(&[two, sink]);
        b.unserved(one, two)
            .unserved(two, if out { sink } else { one });
        b
    };
    runs(with(true));
    assert_eq!(refused(with(false)), no_time("one"));
    // Without patience at all, a job would come back at the same instant.
    let with = |patience: Nanos| {
        let mut b = builder();
        let (source, sink) = (b.source("source", poisson(0)), b.sink("sink"));
        let one = b.station("one", server().patience(patience));
        b.chain(&[source, one, sink]).unserved(one, one);
        b
    };
    runs(with(ms(1)));
    assert_eq!(refused(with(Nanos::ZERO)), no_time("one"));
}

#[test]
fn a_full_queue_must_not_send_jobs_round_through_one_that_takes_no_time() {
    // `at once` is never full, and sends its jobs back to the full queue.
    let with = |service: Nanos| {
        let mut b = builder();
        let (source, sink) = (b.source("source", poisson(0)), b.sink("sink"));
        let full = b.station("full", server().room_for(1));
        let at_once = b.station("at once", Queue::fcfs(1, service).room_for(1));
        b.chain(&[source, full, sink]).chain(&[at_once, full]);
        b.unserved(full, at_once).unserved(at_once, sink);
        b
    };
    runs(with(ms(1)));
    assert_eq!(refused(with(Nanos::ZERO)), no_time("full"));
    // What is forked needs no time if the only branch that takes some is behind a full queue.
    let with = |elsewhere: Nanos| {
        let mut b = builder();
        let (fork, join) = (b.fork("fork"), b.join("join"));
        let full = b.station("full", server().room_for(1));
        let behind = b.station("behind", server());
        let elsewhere = b.delay("elsewhere", elsewhere);
        b.chain(&[fork, full, behind, join, fork]);
        b.chain(&[elsewhere, join]).unserved(full, elsewhere);
        b.population(fork, 2);
        b
    };
    runs(with(ms(1)));
    assert_eq!(refused(with(Nanos::ZERO)), no_time("fork"));
}

#[test]
fn no_class_of_a_process_of_ones_own_may_go_round_for_ever() {
    // Full queues send jobs of class 1 to each other.
    let with = |routes: Vec<usize>| {
        let mut b = builder();
        let arrivals = Arrivals::from_process((0..100).map(|i| Arrival {
            at: ms(i),
            class: Class(1),
            jobs: 1,
        }));
        let (source, sink) = (b.source("source", arrivals), b.sink("sink"));
        let one = b.station("one", server().room_for(1));
        let two = b.station("two", server().room_for(1));
        let way = b.router("way", Route::Classes(routes));
        b.chain(&[source, one, sink]).chain(&[two, sink]);
        b.chain(&[way, sink]).chain(&[way, two]);
        b.unserved(one, way).unserved(two, one);
        b
    };
    runs(with(vec![0]));
    assert_eq!(refused(with(vec![0, 1])), no_time("one"));
}

#[test]
fn a_population_must_fit_into_the_queues_that_it_comes_to_at_once() {
    let with = |route: Route, jobs: [u32; 2], lap: bool| {
        let mut b = builder();
        let (way, done) = (b.router("way", route), b.lap("done"));
        let begin = match lap {
            true => b.lap("begin"),
            false => way,
        };
        if lap {
            b.chain(&[begin, way]);
        }
        let (one, two) = (
            b.station("one", server().room_for(3)),
            b.station("two", server().room_for(3)),
        );
        b.chain(&[way, one, done, one]).chain(&[way, two, two]);
        b.population(begin, jobs[0]).population(one, jobs[1]);
        b
    };
    let full = |node: &str| BuildError::Population { node: node.into() };
    for lap in [false, true] {
        let in_turn = |jobs| with(Route::RoundRobin, jobs, lap);
        runs(in_turn([6, 0]));
        assert_eq!(refused(in_turn([7, 0])), full("one"));
        runs(in_turn([4, 1]));
        assert_eq!(refused(in_turn([4, 2])), full("one"));
        // What is left to chance must fit in any case.
        let by_chance = |jobs| with(chances(&[0.5, 0.5]), jobs, lap);
        runs(by_chance([3, 0]));
        assert_eq!(refused(by_chance([4, 0])), full("one"));
        assert_eq!(refused(by_chance([3, 1])), full("one"));
        let second = |jobs| with(chances(&[0.0, 1.0]), jobs, lap);
        runs(second([3, 3]));
        assert_eq!(refused(second([4, 0])), full("two"));
    }
}

#[test]
fn a_population_that_finds_no_room_goes_where_unserved_jobs_go() {
    let mut b = builder();
    let (way, lost) = (b.router("way", Route::RoundRobin), b.lap("lost"));
    let small = b.station("small", Queue::fcfs(1, ms(1)).room_for(2));
    let rest = b.think("rest", ms(10));
    b.chain(&[way, small, rest]).chain(&[lost, rest, small]);
    b.unserved(small, lost);
    b.population(way, 2).population(small, 2);
    let mut network = b.build().unwrap();
    let number = |network: &Network| network.station(small).number.value();
    assert_eq!((number(&network), network.station(small).lost), (2, 2));
    assert_eq!(network.response_time(lost).count(), 2);
    network.run(Until::Time(ms(1_000)));
    assert!(number(&network) <= 2);
}

#[test]
fn what_cannot_wait_must_not_come_to_a_finite_queue() {
    let with = |p: &[f64], unserved: bool| {
        let mut b = builder();
        let (source, sink) = (b.source("source", poisson(0)), b.sink("sink"));
        let (delay, way) = (b.delay("delay", ms(1)), b.router("way", chances(p)));
        let small = b.station("small", server().room_for(1));
        b.chain(&[source, delay, way, small, sink])
            .chain(&[way, sink]);
        if unserved {
            b.unserved(small, sink);
        }
        b
    };
    let expected = |node: &str, kind| BuildError::CannotWait {
        node: node.into(),
        kind,
        queue: "small".into(),
    };
    assert_eq!(
        refused(with(&[0.5, 0.5], false)),
        expected("delay", "delay")
    );
    runs(with(&[0.5, 0.5], true));
    runs(with(&[0.0, 1.0], false));
    // A job that loses patience has nothing to wait on.
    let mut b = builder();
    let (source, sink) = (b.source("source", poisson(0)), b.sink("sink"));
    let first = b.station("first", server().patience(ms(1)));
    let small = b.station("small", server().room_for(1));
    b.chain(&[source, first, sink]).chain(&[small, sink]);
    b.unserved(first, small);
    let kind = "the path of jobs that lose patience at";
    assert_eq!(refused(b), expected("first", kind));
}

#[test]
fn what_finds_no_room_may_come_to_another_finite_queue() {
    // Who finds no room in either waits where it comes from, but who has lost patience has left.
    let with = |queue: Queue| {
        let mut b = builder();
        let (source, first) = (b.source("source", poisson(0)), b.station("first", server()));
        let one = b.station("one", queue.room_for(1));
        let two = b.station("two", server().room_for(1));
        let sink = b.sink("sink");
        b.chain(&[source, first, one, sink]).chain(&[two, sink]);
        b.unserved(one, two);
        b
    };
    runs(with(server()));
    assert!(matches!(
        refused(with(server().patience(ms(5)))),
        BuildError::CannotWait { node, queue, .. } if node == "one" && queue == "two"
    ));
}

#[test]
fn ways_for_unserved_jobs_need_a_reason() {
    let mut b = builder();
    let (source, sink) = (b.source("source", poisson(0)), b.sink("sink"));
    let all = b.station("all", server());
    b.chain(&[source, all, sink]).unserved(all, sink);
    assert_eq!(
        refused(b),
        BuildError::ServesAll {
            node: "all".into(),
            kind: "station"
        }
    );
    let mut b = builder();
    let (source, sink) = (b.source("source", poisson(0)), b.sink("sink"));
    let small = b.station("small", server().room_for(1));
    b.chain(&[source, small, sink]).unserved(small, source);
    let error = refused(b);
    assert!(matches!(&error, BuildError::IntoSource { node } if node == "source"));
    let mut b = builder();
    let shared = Queue::fcfs(1, ms(1)).with(Discipline::ProcessorSharing);
    let shared = b.station("shared", shared.patience(ms(1)));
    b.chain(&[shared, shared]).population(shared, 1);
    let error = refused(b);
    assert!(matches!(&error, BuildError::Station { node, .. } if node == "shared"));
}

#[test]
fn other_errors_name_their_node_too() {
    let mut b = builder();
    b.sink("a");
    b.sink("a");
    assert_eq!(refused(b), BuildError::Name { node: "a".into() });
    let mut b = builder();
    b.station("open", server());
    assert!(matches!(
        refused(b),
        BuildError::Outputs { node, seen: 0, .. } if node == "open"
    ));
    let mut b = builder();
    let (way, sink) = (b.router("way", chances(&[0.5, 0.5])), b.sink("sink"));
    b.chain(&[way, sink]);
    assert!(matches!(refused(b), BuildError::Output { node, .. } if node == "way"));
    let mut b = builder();
    let (way, sink) = (b.router("way", chances(&[0.5])), b.sink("sink"));
    b.chain(&[way, sink]);
    assert!(matches!(refused(b), BuildError::Law { node, .. } if node == "way"));
    // Outputs by class are counted from 0 as well, and there is one at least.
    for (of_classes, seen) in [(vec![0, 2], 2), (vec![], 0)] {
        let mut b = builder();
        let way = b.router("way", Route::Classes(of_classes));
        let (one, two) = (b.sink("one"), b.sink("two"));
        b.chain(&[way, one]).chain(&[way, two]);
        let node = "way".into();
        let outputs = 2;
        assert_eq!(
            refused(b),
            BuildError::Output {
                node,
                seen,
                outputs
            }
        );
    }
    // Jobs come from a source, not to it.
    let mut b = builder();
    let (source, sink) = (b.source("source", poisson(0)), b.sink("sink"));
    b.chain(&[source, sink]).population(source, 1);
    let node = "source".into();
    assert_eq!(refused(b), BuildError::IntoSource { node });
    // Together, two populations do not fit.
    let mut b = builder();
    let small = b.station("small", server().room_for(3));
    b.chain(&[small, small]);
    b.population_of(small, Class(0), 2)
        .population_of(small, Class(1), 2);
    assert!(matches!(refused(b), BuildError::Station { node, .. } if node == "small"));
}

#[test]
fn laws_are_refused_wherever_they_are_and_say_why() {
    let wrong = || Law::Uniform(ms(2), ms(1));
    let with = |place: usize| {
        let law = |of: usize| {
            if of == place {
                wrong()
            } else {
                Law::Constant(ms(1))
            }
        };
        let mut b = builder();
        let source = b.source("0", Arrivals::every(law(0)));
        let delay = b.delay("1", law(1));
        let station = b.station("2", Queue::fcfs(1, law(2)).service_of(Class(1), law(3)));
        let sink = b.sink("sink");
        b.chain(&[source, delay, station, sink]);
        b
    };
    for (place, name) in [(0, "0"), (1, "1"), (2, "2"), (3, "2")] {
        let error = refused(with(place));
        let source = wrong().check().unwrap_err();
        let why = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(why, source.to_string());
        let node = name.into();
        assert_eq!(error, BuildError::Law { node, source });
    }
    assert!(with(4).build().is_ok());
    // Other errors come from nothing else.
    assert!(std::error::Error::source(&no_time("0")).is_none());
}
