//! Nodes with a behaviour that send jobs on at once: in which order, how often, and which job an identifier means.

use iosonar_sim_core::network::BuildError;
use iosonar_sim_core::prelude::*;

fn ms(t: u64) -> Nanos {
    Nanos::from_millis(t)
}

fn exponential(mean: f64) -> Law {
    Law::Exponential(Nanos::from_millis_f64(mean))
}

/// Sends each job on at once, to its outputs in turn.
#[derive(Clone, Default)]
struct Forward(usize);

impl Behaviour for Forward {
    fn arrived(&mut self, job: JobId, here: &mut Here<'_>) {
        self.0 += 1;
        here.send(job, self.0 % here.outputs());
    }
}

/// Lets all waiting jobs pass when the third of them comes.
#[derive(Clone, Default)]
struct Threes(Vec<JobId>);

impl Behaviour for Threes {
    fn arrived(&mut self, job: JobId, here: &mut Here<'_>) {
        self.0.push(job);
        if self.0.len() == 3 {
            for (i, job) in self.0.drain(..).enumerate() {
                here.send(job, i % here.outputs());
            }
        }
    }
}

/// A digest of all calls in their order.
#[derive(Clone, Default)]
struct InOrder(u64);

impl InOrder {
    fn add(&mut self, what: u64, node: NodeId, job: u64, now: Nanos) {
        let node = format!("{node:?}")
            .bytes()
            .fold(0, |sum, b| 31 * sum + u64::from(b));
        for value in [what, node, job, now.get()] {
            self.0 = (self.0 ^ value)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29);
        }
    }
}

impl Probe for InOrder {
    fn arrived(&mut self, node: NodeId, job: u64, _: Class, number: u32, now: Nanos) {
        self.add(u64::from(number) << 8, node, job, now);
    }

    fn started(&mut self, node: NodeId, job: u64, now: Nanos) {
        self.add(1, node, job, now);
    }

    fn ended(&mut self, node: NodeId, job: u64, now: Nanos) {
        self.add(2, node, job, now);
    }

    fn unserved(&mut self, node: NodeId, job: u64, now: Nanos) {
        self.add(3, node, job, now);
    }

    fn departed(&mut self, node: NodeId, job: u64, _: Nanos, now: Nanos) {
        self.add(4, node, job, now);
    }
}

#[test]
fn what_is_sent_in_one_instant_goes_in_a_fixed_order() {
    let mut b = Builder::new(Seed::new(5));
    let arrivals = Arrivals::every(exponential(2.0)).in_batches(BatchSize::Geometric(2.5));
    let source = b.source("source", arrivals);
    let threes = b.node("threes", Threes::default());
    let (fork, join) = (b.fork("fork"), b.join("join"));
    let [first, second, after] =
        ["first", "second", "after"].map(|name| b.node(name, Forward::default()));
    let way = b.router("way", Route::Probabilities(vec![0.5, 0.5]));
    let small = b.station("small", Queue::fcfs(1, exponential(0.2)).room_for(2));
    let large = b.station("large", Queue::fcfs(2, exponential(0.3)));
    let (lap, sink) = (b.lap("lap"), b.sink("sink"));
    // Parts of jobs are forwarded and joined within one instant, beside others that take time.
    b.chain(&[source, threes, fork, first, join])
        .chain(&[first, second, way, small, join])
        .chain(&[way, large])
        .unserved(small, large);
    b.chain(&[fork, second, join]).chain(&[fork, large, join]);
    b.chain(&[join, after, sink])
        .chain(&[after, lap, threes])
        .chain(&[threes, lap]);
    let mut network = b.build_with(InOrder::default()).unwrap();
    network.run(Until::Departures(20_000));
    assert!(network.response_time(sink).count() > 5_000);
    assert_eq!(network.hash().to_string(), "547ec17493a4e900");
    assert_eq!(format!("{:016x}", network.probe().0), "56c017be8165d182");
}

/// `jobs` jobs that `nodes` forwarding nodes send to each other, through a fork if asked for.
fn ring(nodes: usize, fork: bool, jobs: u32) -> Builder {
    let mut b = Builder::new(Seed::new(1));
    let think = b.think("think", ms(10));
    let mut way = vec![think];
    way.extend((0..nodes).map(|i| b.node(&format!("node/{i}"), Forward::default())));
    if fork {
        let (fork, join) = (b.fork("fork"), b.join("join"));
        let part = b.node("part", Forward::default());
        b.chain(&[fork, join]).chain(&[fork, part]);
        b.chain(&[part, join]);
        way.extend([fork, join]);
    }
    let lap = b.lap("lap");
    way.extend([lap, way[1]]);
    b.chain(&way).population(think, jobs);
    b
}

#[test]
fn nodes_that_forward_to_each_other_for_ever_are_named() {
    for (nodes, fork, names) in [
        (1, false, "'node/0'"),
        (2, false, "'node/0', 'node/1'"),
        (1, true, "'node/0', 'part'"),
        (
            20,
            false,
            "'node/0', 'node/1', 'node/2', 'node/3', 'node/4', 'node/5', 'node/6', 'node/7' and others",
        ),
    ] {
        for until in [
            Until::Time(ms(1_000)),
            Until::End,
            Until::Departures(u64::MAX),
        ] {
            let mut network = ring(nodes, fork, 3).build().unwrap();
            assert_eq!(
                network.run(until),
                Stopped::Stuck {
                    jobs: network.number_of_jobs()
                }
            );
            let endless = network
                .endless_loop()
                .expect("it goes round for ever")
                .clone();
            let text = endless.to_string();
            assert!(text.contains(&format!(": {names}.")), "{text}");
            assert!(text.contains("at 10 ms") && text.contains("job "), "{text}");
            // It stays so.
            assert!(!network.step());
            assert_eq!(network.now(), ms(10));
        }
    }
}

#[test]
fn a_loop_at_time_zero_is_refused() {
    let mut b = Builder::new(Seed::new(1));
    let [one, two] = ["one", "two"].map(|name| b.node(name, Forward::default()));
    b.chain(&[one, two, one]).population(two, 1);
    let error = b.build().map(|_| ()).unwrap_err();
    assert_eq!(error, BuildError::Loop { node: "one".into() });
}

/// Sends a job round a number of times, then on.
#[derive(Clone)]
struct Rounds {
    rounds: u32,
    done: u32,
}

impl Behaviour for Rounds {
    fn arrived(&mut self, job: JobId, here: &mut Here<'_>) {
        self.done += 1;
        let on = self.done > self.rounds;
        if on {
            self.done = 0;
        }
        here.send(job, usize::from(on));
    }
}

#[test]
fn a_long_way_through_nodes_that_forward_needs_no_deep_stack() {
    let mut b = Builder::new(Seed::new(1));
    let source = b.source("source", Arrivals::every(ms(1)));
    let (rounds, done) = (200_000, 0);
    let (node, lap, sink) = (
        b.node("node", Rounds { rounds, done }),
        b.lap("lap"),
        b.sink("sink"),
    );
    b.chain(&[source, node, lap, node]).chain(&[node, sink]);
    let mut network = b.build().unwrap();
    assert_eq!(network.run(Until::Time(ms(20))), Stopped::AsTold);
    assert!(network.endless_loop().is_none());
    assert_eq!(network.response_time(sink).count(), 20);
    assert_eq!(network.response_time(lap).count(), 20 * 200_000);
}

/// Lets each job go after 1 ms, and then asks for the number of the first job of all.
#[derive(Clone, Default)]
struct Remembers {
    first: Option<JobId>,
    here: Vec<JobId>,
}

impl Behaviour for Remembers {
    fn arrived(&mut self, job: JobId, here: &mut Here<'_>) {
        let first = *self.first.get_or_insert(job);
        assert_eq!(
            here.number(job) == 0,
            job == first,
            "an identifier means one job"
        );
        self.here.push(job);
        here.schedule(here.now() + ms(1), 0);
        let _ = here.number(first);
    }

    fn happened(&mut self, _: u32, here: &mut Here<'_>) {
        let job = self.here.remove(0);
        here.send(job, 0);
    }
}

#[test]
#[should_panic(expected = "node 'node' does not have this job, or has sent it on")]
fn an_old_identifier_does_not_mean_a_new_job() {
    let mut b = Builder::new(Seed::new(1));
    // The second job comes after the first has left, and has its place in memory.
    let source = b.source("source", Arrivals::every(ms(5)));
    let (node, sink) = (b.node("node", Remembers::default()), b.sink("sink"));
    b.chain(&[source, node, sink]);
    b.build().unwrap().run(Until::Departures(5));
}
