//! Nodes with a behaviour of their own, jobs that lose patience or find no room, and probes.

use iosonar_sim_core::prelude::*;

fn ms(t: u64) -> Nanos {
    Nanos::from_millis(t)
}

fn exponential(mean: f64) -> Law {
    Law::Exponential(Nanos::from_millis_f64(mean))
}

/// `jobs` jobs at time zero at a station, with sinks for those that it serves and those that it does not.
fn crowd(queue: Queue, jobs: u32) -> (Network, [NodeId; 3]) {
    let mut b = Builder::new(Seed::new(1));
    let station = b.station("station", queue);
    let (served, unserved) = (b.sink("served"), b.sink("unserved"));
    b.chain(&[station, served]).unserved(station, unserved);
    b.population(station, jobs);
    let mut network = b.build().unwrap();
    assert_eq!(network.run(Until::End), Stopped::Drained);
    (network, [station, served, unserved])
}

fn times(network: &Network, sink: NodeId) -> (u64, Option<Nanos>, Option<Nanos>) {
    let moments = &network.response_time(sink).moments;
    (moments.count(), moments.min(), moments.max())
}

#[test]
fn waiting_jobs_leave_when_their_patience_ends_and_served_ones_stay() {
    for discipline in [
        Discipline::Fcfs,
        Discipline::Lifo,
        Discipline::Random,
        Discipline::Priority,
        Discipline::PreemptiveResume,
    ] {
        let queue = Queue::fcfs(1, ms(10)).with(discipline).patience(ms(25));
        let (network, [station, served, unserved]) = crowd(queue, 5);
        // Served from 0, 10 and 20 on; the others leave at 25.
        let name = format!("{discipline:?}");
        assert_eq!(
            times(&network, served),
            (3, Some(ms(10)), Some(ms(30))),
            "{name}"
        );
        assert_eq!(
            times(&network, unserved),
            (2, Some(ms(25)), Some(ms(25))),
            "{name}"
        );
        let station = network.station(station);
        assert_eq!((station.abandoned, station.lost), (2, 0), "{name}");
        assert_eq!(station.wait.count(), 3, "{name}");
        assert_eq!(station.number.value(), 0, "{name}");
        assert_eq!(station.busy.integral(), 30_000_000, "{name}");
    }
}

#[test]
fn a_batch_that_does_not_fill_is_abandoned() {
    let queue = Queue::fcfs(1, ms(10)).in_batches(2, 2).patience(ms(3));
    let (network, [_, served, unserved]) = crowd(queue, 3);
    assert_eq!(times(&network, served).0, 2);
    assert_eq!(times(&network, unserved), (1, Some(ms(3)), Some(ms(3))));
}

#[test]
fn an_interrupted_job_does_not_lose_patience() {
    let mut b = Builder::new(Seed::new(1));
    let queue = Queue::fcfs(1, ms(10)).with(Discipline::PreemptiveResume);
    let station = b.station("station", queue.patience(ms(5)));
    let (sink, lost) = (b.sink("sink"), b.sink("lost"));
    b.chain(&[station, sink]).unserved(station, lost);
    let later = b.delay("later", ms(2));
    b.chain(&[later, station]);
    b.population_of(station, Class(1), 1)
        .population_of(later, Class(0), 1);
    let mut network = b.build().unwrap();
    network.run(Until::End);
    assert_eq!(times(&network, sink), (2, Some(ms(12)), Some(ms(20))));
    assert_eq!(network.station(station).abandoned, 0);
}

#[test]
fn without_another_way_jobs_that_lose_patience_are_gone() {
    let mut b = Builder::new(Seed::new(1));
    let station = b.station("station", Queue::fcfs(1, ms(10)).patience(ms(5)));
    let sink = b.sink("sink");
    b.chain(&[station, sink]).population(station, 4);
    let mut network = b.build().unwrap();
    assert_eq!(network.run(Until::End), Stopped::Drained);
    assert_eq!(
        (network.departures(), network.station(station).abandoned),
        (1, 3)
    );
}

#[test]
fn who_gives_up_makes_room_for_who_is_held_back() {
    // The second station has room for two, serves for 100 ms, and those who wait there give up after 7 ms.
    let mut b = Builder::new(Seed::new(1));
    let first = b.station("first", Queue::fcfs(1, ms(1)));
    let queue = Queue::fcfs(1, ms(100)).room_for(2).patience(ms(7));
    let (second, sink) = (b.station("second", queue), b.sink("sink"));
    b.chain(&[first, second, sink]).population(first, 4);
    let mut network = b.build().unwrap();
    // They come at 1 and 2; the third is held back from 3 to 9, and the fourth, finished at 10, from then to 16.
    network.run(Until::Time(ms(20)));
    assert_eq!(network.station(second).abandoned, 2);
    assert_eq!(network.station(first).blocked.integral(), 12_000_000);
    assert_eq!(network.run(Until::End), Stopped::Drained);
    assert_eq!(
        (network.departures(), network.station(second).abandoned),
        (1, 3)
    );
}

#[test]
fn what_finds_no_room_goes_elsewhere_from_wherever_it_comes() {
    // Two servers without queues, the second for those that the first turns away, lose as M/M/2/2 does: by Erlang's
    // formula for an offered load of 1, a fifth. Jobs come through a delay, which cannot hold them back.
    let [lost] = replicate(Seed::new(1)).times(20, 0.95, |seed| {
        let mut b = Builder::new(seed);
        let source = b.source("source", Arrivals::every(exponential(1.0)));
        let delay = b.delay("delay", exponential(3.0));
        let one = b.station("one", Queue::fcfs(1, exponential(1.0)).room_for(1));
        let two = b.station("two", Queue::fcfs(1, exponential(1.0)).room_for(1));
        let (served, lost) = (b.sink("served"), b.sink("lost"));
        b.chain(&[source, delay, one, served]).chain(&[two, served]);
        b.unserved(one, two).unserved(two, lost);
        let mut network = b.build().unwrap();
        network.run(Until::Departures(20_000));
        let lost = network.response_time(lost).count();
        assert_eq!(network.station(two).lost, lost);
        let turned_away = network.station(one).lost;
        assert_eq!(
            turned_away,
            lost + u64::from(network.station(two).number.value())
                + network.station(two).response_time.count()
        );
        [lost as f64 / network.departures() as f64]
    });
    assert!(lost.standard_errors_above(0.2).abs() < 4.0, "{lost}");
}

#[test]
fn a_job_that_comes_back_finds_the_room_that_it_leaves() {
    // With room for one, a job that returns to its own station is never turned away.
    let mut b = Builder::new(Seed::new(1));
    let station = b.station("station", Queue::fcfs(1, ms(1)).room_for(1));
    let (lap, lost) = (b.lap("lap"), b.sink("lost"));
    b.chain(&[station, lap, station]).unserved(station, lost);
    b.population(station, 1);
    let mut network = b.build().unwrap();
    network.run(Until::Departures(100));
    assert_eq!((network.now(), network.station(station).lost), (ms(100), 0));
}

/// Sends each job to the output with the fewest jobs, and counts them.
#[derive(Clone)]
struct Shortest {
    queues: Vec<NodeId>,
    sent: u64,
    measured_from: Nanos,
}

impl Behaviour for Shortest {
    fn arrived(&mut self, job: JobId, here: &mut Here<'_>) {
        let shortest = (0..self.queues.len()).min_by_key(|&i| here.jobs_at(self.queues[i]));
        here.send(job, shortest.unwrap());
        self.sent += 1;
    }

    fn measure_from_now(&mut self, now: Nanos) {
        (self.sent, self.measured_from) = (0, now);
    }
}

fn shortest_of_two(seed: Seed, patience_ms: f64) -> (Network, [NodeId; 4]) {
    let mut b = Builder::new(seed);
    let source = b.source("source", Arrivals::every(exponential(0.625)));
    let queues = ["one", "two"].map(|name| {
        let queue = Queue::fcfs(1, exponential(1.0)).patience(exponential(patience_ms));
        b.station(name, queue)
    });
    let choice = b.node(
        "choice",
        Shortest {
            queues: queues.to_vec(),
            sent: 0,
            measured_from: Nanos::ZERO,
        },
    );
    let sink = b.sink("sink");
    b.chain(&[source, choice]);
    for queue in queues {
        b.chain(&[choice, queue, sink]).unserved(queue, sink);
    }
    (b.build().unwrap(), [choice, sink, queues[0], queues[1]])
}

#[test]
fn a_behaviour_sees_the_queues_and_joins_the_shortest() {
    let (mut network, [choice, sink, one, two]) = shortest_of_two(Seed::new(1), 1e6);
    network.run(Until::Departures(5_000));
    let begin = network.now();
    network.measure_from_now();
    network.run(Until::Departures(200_000));
    let shortest: &Shortest = network.behaviour(choice);
    assert_eq!(shortest.measured_from, begin);
    let (one, two) = (network.station(one), network.station(two));
    let count = |s: &iosonar_sim_core::network::StationStatistics| s.response_time.count();
    assert!(shortest.sent.abs_diff(count(&one) + count(&two)) < 100);
    // At 0.8 a random choice would respond in 5 ms, and one queue for both in 2.8 ms; the shortest queue lies between.
    let mean = network.response_time(sink).moments.mean() / 1e6;
    assert!((2.5..3.2).contains(&mean), "{mean}");
}

#[test]
fn a_copy_of_a_network_with_behaviours_and_patience_goes_on_as_the_original() {
    let (mut whole, nodes) = shortest_of_two(Seed::new(5), 50.0);
    whole.run(Until::Events(30_000));
    let (mut pieces, _) = shortest_of_two(Seed::new(5), 50.0);
    pieces.run(Until::Events(10_000));
    let mut copy = pieces.clone();
    pieces.run(Until::Events(1_000));
    copy.run(Until::Events(20_000));
    assert_eq!((copy.now(), copy.hash()), (whole.now(), whole.hash()));
    let sent = |network: &Network| network.behaviour::<Shortest>(nodes[0]).sent;
    assert_eq!(sent(&copy), sent(&whole));
    assert!(sent(&pieces) < sent(&whole));
    let abandoned = whole.station(nodes[2]).abandoned;
    assert!(abandoned > 0, "the test is of patience, too");
}

/// Keeps each job for a time of its own, drawn from the node's stream, unless the next job comes sooner.
#[derive(Clone, Default)]
struct Overtaken {
    job: Option<(JobId, EventId)>,
    events: Vec<u32>,
}

impl Behaviour for Overtaken {
    fn arrived(&mut self, job: JobId, here: &mut Here<'_>) {
        assert_eq!((here.since(job), here.outputs()), (here.now(), 2));
        if let Some((before, event)) = self.job.take() {
            assert!(here.cancel(event));
            here.send(before, 1);
        }
        let stay = here.stream().exponential(ms(2));
        let number = here.number(job) as u32;
        let event = here.schedule(here.now() + stay, number);
        self.job = Some((job, event));
    }

    fn happened(&mut self, event: u32, here: &mut Here<'_>) {
        let (job, _) = self.job.take().unwrap();
        assert_eq!(here.number(job), u64::from(event));
        self.events.push(event);
        here.send(job, 0);
    }
}

#[test]
fn events_of_a_behaviour_happen_unless_they_are_cancelled() {
    let mut b = Builder::new(Seed::new(1));
    let source = b.source("source", Arrivals::every(exponential(1.0)));
    let node = b.node("node", Overtaken::default());
    let (stayed, overtaken) = (b.sink("stayed"), b.sink("overtaken"));
    b.chain(&[source, node, stayed]).chain(&[node, overtaken]);
    let mut network = b.build().unwrap();
    network.run(Until::Departures(100_000));
    let count = |sink| network.response_time(sink).count();
    let events = &network.behaviour::<Overtaken>(node).events;
    assert_eq!(events.len() as u64, count(stayed));
    assert_eq!(count(stayed) + count(overtaken), 100_000);
    // The stay ends first with probability (1/2) / (1/2 + 1).
    let share = count(stayed) as f64 / 1e5;
    assert!((share - 1.0 / 3.0).abs() < 4.0 * (2.0 / 9.0 / 1e5_f64).sqrt());
}

#[derive(Clone)]
struct Twice;

impl Behaviour for Twice {
    fn arrived(&mut self, job: JobId, here: &mut Here<'_>) {
        here.send(job, 0);
        here.send(job, 0);
    }
}

#[derive(Clone)]
struct Beyond;

impl Behaviour for Beyond {
    fn arrived(&mut self, job: JobId, here: &mut Here<'_>) {
        here.send(job, here.outputs());
    }
}

fn with_behaviour(behaviour: impl Behaviour) -> (Network, NodeId) {
    let mut b = Builder::new(Seed::new(1));
    let source = b.source("source", Arrivals::every(ms(1)));
    let (node, sink) = (b.node("mine", behaviour), b.sink("sink"));
    b.chain(&[source, node, sink]);
    (b.build().unwrap(), node)
}

#[test]
#[should_panic(expected = "node 'mine' does not have this job, or has sent it on")]
fn a_job_is_sent_once() {
    with_behaviour(Twice).0.run(Until::Events(1));
}

#[test]
#[should_panic(expected = "node 'mine' sends a job to output 1, but has 1")]
fn a_job_is_sent_to_an_output_that_exists() {
    with_behaviour(Beyond).0.run(Until::Events(1));
}

#[test]
#[should_panic(expected = "the behaviour of node 'mine' is not of type")]
fn a_behaviour_has_one_type() {
    let (network, node) = with_behaviour(Beyond);
    network.behaviour::<Twice>(node);
}

#[derive(Clone, Default)]
struct Counts {
    arrived: u64,
    started: u64,
    ended: u64,
    unserved: u64,
    departed: u64,
}

impl Probe for Counts {
    fn arrived(&mut self, _: NodeId, _: u64, _: Class, _: u32, _: Nanos) {
        self.arrived += 1;
    }

    fn started(&mut self, _: NodeId, _: u64, _: Nanos) {
        self.started += 1;
    }

    fn ended(&mut self, _: NodeId, _: u64, _: Nanos) {
        self.ended += 1;
    }

    fn unserved(&mut self, _: NodeId, _: u64, _: Nanos) {
        self.unserved += 1;
    }

    fn departed(&mut self, _: NodeId, _: u64, _: Nanos, _: Nanos) {
        self.departed += 1;
    }
}

#[test]
fn probes_see_what_happens_and_do_not_change_it() {
    let build = || {
        let mut b = Builder::new(Seed::new(3));
        let source = b.source("source", Arrivals::every(exponential(1.0)));
        let queue = Queue::fcfs(1, exponential(1.0))
            .room_for(3)
            .patience(exponential(1.0));
        let (station, sink) = (b.station("station", queue), b.sink("sink"));
        let node = b.node("node", Overtaken::default());
        b.chain(&[source, station, node, sink]).chain(&[node, sink]);
        (b, station)
    };
    let (b, station) = build();
    let mut plain = b.build().unwrap();
    plain.run(Until::Time(ms(10_000)));
    let mut kept = Counts::default();
    let mut watched = build()
        .0
        .build_with((&mut kept, Counts::default()))
        .unwrap();
    watched.run(Until::Time(ms(10_000)));
    assert_eq!(watched.hash(), plain.hash());
    assert_eq!(watched.name(station), "station");
    let own = watched.probe_mut().1.clone();
    let s = plain.station(station);
    assert!(s.lost > 100 && s.abandoned > 100);
    assert_eq!(own.unserved, s.lost + s.abandoned);
    assert_eq!(own.started, s.wait.count());
    assert_eq!(own.departed, plain.departures());
    assert!(own.arrived > own.started && own.ended > own.departed);
    drop(watched);
    let all = |c: &Counts| [c.arrived, c.started, c.ended, c.unserved, c.departed];
    assert_eq!(all(&kept), all(&own));
}

#[test]
fn a_network_with_extensions_is_the_same_on_every_machine() {
    let (mut network, _) = shortest_of_two(Seed::new(9), 50.0);
    network.run(Until::Events(50_000));
    assert_eq!(network.hash().to_string(), "a0ca589ebf75b3c8");
}

/// Keeps jobs.
#[derive(Clone)]
struct Keeps;

impl Behaviour for Keeps {
    fn arrived(&mut self, _: JobId, _: &mut Here<'_>) {}
}

/// Keeps each job until the next one comes, and looks around then.
#[derive(Clone)]
struct Looks {
    job: Option<JobId>,
    at: Vec<NodeId>,
    seen: Vec<(Class, Vec<u32>)>,
}

impl Behaviour for Looks {
    fn arrived(&mut self, job: JobId, here: &mut Here<'_>) {
        let jobs = self.at.iter().map(|&node| here.jobs_at(node));
        self.seen.push((here.class(job), jobs.collect()));
        if let Some(before) = self.job.replace(job) {
            here.send(before, 0);
        }
    }
}

#[test]
fn a_behaviour_sees_how_many_jobs_are_at_other_nodes_and_at_its_own() {
    let mut b = Builder::new(Seed::new(1));
    let keeps = b.node("keeps", Keeps);
    let simple = b.station("simple", Queue::fcfs(1, ms(100)));
    let other = b.station("other", Queue::fcfs(2, ms(100)));
    // The nodes are numbered in their order, and this one is the next.
    let mut of_itself = Builder::new(Seed::new(1));
    let own = ["keeps", "simple", "other", "looks"].map(|name| of_itself.sink(name))[3];
    let looks = Looks {
        job: None,
        at: vec![keeps, simple, other, own],
        seen: Vec::new(),
    };
    let looks = b.node("looks", looks);
    assert_eq!(looks, own);
    let source = b.source("source", Arrivals::every(ms(1)).of_class(Class(2)));
    let turns = b.router("turns", Route::RoundRobin);
    let sink = b.sink("sink");
    b.chain(&[source, looks, turns, simple, sink]);
    b.chain(&[turns, other, sink]).chain(&[keeps, sink]);
    b.population(keeps, 3);
    let mut network = b.build().unwrap();
    network.run(Until::Time(ms(7)));
    let seen = &network.behaviour::<Looks>(looks).seen;
    // Of those before the last one, each other one has gone to either station.
    let expected = [
        [3, 0, 0, 1],
        [3, 0, 0, 2],
        [3, 1, 0, 2],
        [3, 1, 1, 2],
        [3, 2, 1, 2],
        [3, 2, 2, 2],
        [3, 3, 2, 2],
    ];
    let expected = expected.map(|jobs| (Class(2), jobs.to_vec()));
    assert_eq!(seen[..], expected);
}
