//! Simple stations take short ways through the code, unless a queue of the network is finite: the results are the same.

use iosonar_sim_core::prelude::*;

fn exponential(us: u64) -> Law {
    Law::Exponential(Nanos::from_micros(us))
}

/// What is known of a run: its hash, the statistics of all stations, and the response times.
fn known(b: Builder, stations: &[NodeId], end: NodeId, until: Until) -> String {
    let mut network = b.build().unwrap();
    network.run(until);
    network.measure_from_now();
    network.run(until);
    let stations = stations.iter().map(|&node| network.station(node));
    let stations: Vec<_> = stations.collect();
    let response = network.response_time(end);
    format!(
        "{} {} {stations:?} {response:?}",
        network.hash(),
        network.now()
    )
}

/// With queues that are unlimited, and with others whose limits are never reached.
#[track_caller]
fn same(with: impl Fn(&dyn Fn(Queue) -> Queue) -> String) {
    let simple = with(&|queue| queue);
    assert_eq!(simple, with(&|queue| queue.room_for(1_000_000)));
    assert_ne!(simple, with(&|queue| queue.room_for(2)), "limits are kept");
}

#[test]
fn of_an_open_network_with_ways_back() {
    same(|queue| {
        let mut b = Builder::new(Seed::new(1));
        let arrivals = Arrivals::every(exponential(1_000)).in_batches(BatchSize::Geometric(1.5));
        let (source, sink) = (b.source("source", arrivals), b.sink("sink"));
        let one = b.station("one", queue(Queue::fcfs(1, exponential(300))));
        // Constant times make services end when others begin.
        let two = b.station("two", queue(Queue::fcfs(1, Nanos::from_micros(300))));
        let again = b.router("again", Route::Probabilities(vec![0.2, 0.1, 0.7]));
        b.chain(&[source, one, two, again, one]);
        b.chain(&[again, two]).chain(&[again, sink]);
        // Stations that wait for room at each other would stand still.
        if queue(Queue::fcfs(1, Nanos::ZERO)) != Queue::fcfs(1, Nanos::ZERO) {
            b.unserved(one, sink).unserved(two, sink);
        }
        known(b, &[one, two], sink, Until::Departures(20_000))
    });
}

#[test]
fn of_a_closed_network_of_classes_in_which_much_happens_at_once() {
    same(|queue| {
        let mut b = Builder::new(Seed::new(2));
        let ms = |t| Nanos::from_millis(t);
        let first = b.station("first", queue(Queue::fcfs(1, ms(1))));
        let lap = b.lap("lap");
        let second = b.station("second", queue(Queue::fcfs(1, ms(2))));
        let third = b.station("third", Queue::fcfs(2, exponential(1_500)));
        b.chain(&[first, lap, second, third, first]);
        b.population(first, 2).population_of(second, Class(1), 2);
        known(b, &[first, second, third], lap, Until::Time(ms(30_000)))
    });
}

#[test]
fn of_a_fork_join() {
    same(|queue| {
        let mut b = Builder::new(Seed::new(3));
        let source = b.source("source", Arrivals::every(exponential(1_000)));
        let (fork, join, sink) = (b.fork("fork"), b.join("join"), b.sink("sink"));
        let disks = [0, 1, 2].map(|i| {
            let disk = b.station(
                &format!("disk/{i}"),
                queue(Queue::fcfs(1, exponential(700))),
            );
            b.chain(&[fork, disk, join]);
            // Parts of forked jobs cannot wait for room.
            if queue(Queue::fcfs(1, Nanos::ZERO)) != Queue::fcfs(1, Nanos::ZERO) {
                b.unserved(disk, join);
            }
            disk
        });
        b.chain(&[source, fork]).chain(&[join, sink]);
        known(b, &disks, sink, Until::Departures(20_000))
    });
}

#[test]
fn of_lines_beside_each_other_whose_events_are_too_many_for_places() {
    let line = |b: &mut Builder, i: usize| {
        let name = |what: &str| format!("{what}/{i}");
        // Constant times make much happen at once, and one line is as the calendar has them in turn.
        let distance = match i % 3 {
            0 => Law::Constant(Nanos::from_micros(500)),
            _ => exponential(500),
        };
        let source = b.source(&name("source"), Arrivals::every(distance));
        let service = match i % 2 {
            0 => Law::Constant(Nanos::from_micros(250)),
            _ => exponential(300),
        };
        let station = b.station(&name("station"), Queue::fcfs(1, service));
        let sink = b.sink(&name("sink"));
        b.chain(&[source, station, sink]);
        (station, sink)
    };
    let until = Until::Time(Nanos::from_millis(1_000));
    let known = |network: &Network, (station, sink)| {
        let (station, response) = (network.station(station), network.response_time(sink));
        format!("{station:?} {response:?}")
    };
    // Streams follow from names, so each line does what it does alone.
    let mut all = Builder::new(Seed::new(4));
    let lines: Vec<_> = (0..20).map(|i| line(&mut all, i)).collect();
    let mut all = all.build().unwrap();
    all.run(until);
    let mut departures = 0;
    for (i, &nodes) in lines.iter().enumerate() {
        let mut alone = Builder::new(Seed::new(4));
        let nodes_alone = line(&mut alone, i);
        let mut alone = alone.build().unwrap();
        alone.run(until);
        assert_eq!(known(&all, nodes), known(&alone, nodes_alone), "line {i}");
        departures += alone.departures();
    }
    assert_eq!(all.departures(), departures);
}

#[test]
fn a_network_ends_with_its_last_event() {
    let mut b = Builder::new(Seed::new(1));
    let station = b.station("station", Queue::fcfs(1, Nanos::from_micros(5)));
    let sink = b.sink("sink");
    b.chain(&[station, sink]).population(station, 2);
    let mut network = b.build().unwrap();
    assert!(network.step() && network.step());
    assert!(!network.step());
    assert_eq!((network.events(), network.departures()), (2, 2));
    assert_eq!(network.now(), Nanos::from_micros(10));
}
