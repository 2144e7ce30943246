//! The queueing-network layer against loops that are written for the one model.

use std::collections::VecDeque;
use std::hint::black_box;

use iosonar_sim_core::network::{Arrivals, Builder, Queue, Until};
use iosonar_sim_core::typed::{Fork, Model, Open, Source, Station};
use iosonar_sim_core::{Calendar, CompletionHash, Law, Seed, Stream};
use iosonar_stats::{Distribution, Moments, TimeWeighted};
use iosonar_units::Nanos;

use crate::best_ns;
use crate::figure::{Figure, Group, Note};

const JOBS: u64 = 500_000;
const SERVICE: Nanos = Nanos::from_micros(900);
const DISTANCE: Nanos = Nanos::from_micros(1000);
const BRANCHES: usize = 4;
const BRANCH_SERVICE: Nanos = Nanos::from_micros(500);

fn streams() -> (Stream, Stream) {
    let seed = Seed::new(1);
    (
        seed.stream("source", "arrival"),
        seed.stream("server", "service"),
    )
}

/// M/M/1 with two variables for the two events to come.
fn mm1_bare() -> u64 {
    let (mut arrival, mut service) = streams();
    let mut queue = VecDeque::new();
    let (mut arrives, mut departs) = (arrival.exponential(DISTANCE).get(), u64::MAX);
    let (mut done, mut sum) = (0, 0);
    while done < JOBS {
        if arrives <= departs {
            queue.push_back(arrives);
            if queue.len() == 1 {
                departs = arrives + service.exponential(SERVICE).get();
            }
            arrives += arrival.exponential(DISTANCE).get();
        } else {
            sum += departs - queue.pop_front().unwrap_or(departs);
            done += 1;
            departs = if queue.is_empty() {
                u64::MAX
            } else {
                departs + service.exponential(SERVICE).get()
            };
        }
    }
    sum
}

/// M/M/1 with an event calendar.
fn mm1_events() -> u64 {
    let (mut arrival, mut service) = streams();
    let mut queue = VecDeque::new();
    let mut calendar = Calendar::<bool>::default();
    let (mut done, mut sum) = (0, 0);
    calendar.schedule(arrival.exponential(DISTANCE), true);
    while done < JOBS {
        let Some((now, arrives)) = calendar.pop() else {
            break;
        };
        if arrives {
            queue.push_back(now);
            if queue.len() == 1 {
                calendar.schedule(now + service.exponential(SERVICE), false);
            }
            calendar.schedule(now + arrival.exponential(DISTANCE), true);
        } else {
            sum += (now - queue.pop_front().unwrap_or(now)).get();
            done += 1;
            if !queue.is_empty() {
                calendar.schedule(now + service.exponential(SERVICE), false);
            }
        }
    }
    sum
}

/// The same, with all that the network layer keeps: wait, response time, number and utilisation of the
/// station, the distribution of response times, the hash of all services.
fn mm1_events_with_statistics() -> u64 {
    let (mut arrival, mut service) = streams();
    let mut queue = VecDeque::new();
    let mut calendar = Calendar::<bool>::default();
    let (mut number, mut busy) = (TimeWeighted::default(), TimeWeighted::default());
    let (mut wait, mut at_station) = (Moments::default(), Moments::default());
    let (mut response, mut hash) = (Distribution::default(), CompletionHash::default());
    let (mut done, mut started) = (0, Nanos::ZERO);
    calendar.schedule(arrival.exponential(DISTANCE), true);
    while done < JOBS {
        let Some((now, arrives)) = calendar.pop() else {
            break;
        };
        let mut starts = None;
        if arrives {
            number.increase(now);
            queue.push_back(now);
            if queue.len() == 1 {
                starts = Some(now);
            }
            calendar.schedule(now + arrival.exponential(DISTANCE), true);
        } else {
            let came = queue.pop_front().unwrap_or(now);
            hash.add(done, 0, started, now);
            number.decrease(now);
            busy.decrease(now);
            at_station.push(now - came);
            response.push(now - came);
            done += 1;
            starts = queue.front().copied();
        }
        if let Some(came) = starts {
            started = now;
            wait.push(now - came);
            busy.increase(now);
            calendar.schedule(now + service.exponential(SERVICE), false);
        }
    }
    black_box((number, busy, wait, at_station, hash));
    response.count()
}

fn mm1_network() -> u64 {
    let mut b = Builder::new(Seed::new(1));
    let source = b.source("source", Arrivals::every(Law::Exponential(DISTANCE)));
    let server = b.station("server", Queue::fcfs(1, Law::Exponential(SERVICE)));
    let sink = b.sink("sink");
    b.chain(&[source, server, sink]);
    b.build().map_or(0, |mut network| {
        network.run(Until::Departures(JOBS));
        network.departures()
    })
}

/// Runs a network that is a type.
fn typed(model: impl Model) -> u64 {
    model.build(Seed::new(1)).map_or(0, |mut network| {
        network.run(Until::Departures(JOBS));
        network.departures()
    })
}

fn mm1_typed() -> u64 {
    let source = Source::new("source", Law::Exponential(DISTANCE));
    let server = Station::new("server", Law::Exponential(SERVICE));
    typed(Open::new(source, server, "sink"))
}

fn branch_streams() -> (Stream, Vec<Stream>) {
    let seed = Seed::new(1);
    let branch = |i: usize| seed.stream(&format!("server/{i}"), "service");
    (
        seed.stream("source", "arrival"),
        (0..BRANCHES).map(branch).collect(),
    )
}

/// Fork-join with an event calendar.
fn fork_join_events() -> u64 {
    let (mut arrival, mut services) = branch_streams();
    let mut queues: Vec<VecDeque<u64>> = vec![VecDeque::new(); BRANCHES];
    // Requests that are not complete: when they came and how many parts are left.
    let (mut open, mut first, mut next) = (VecDeque::<(Nanos, usize)>::new(), 0, 0);
    let mut calendar = Calendar::<u32>::default();
    let (mut done, mut sum) = (0, 0);
    calendar.schedule(arrival.exponential(DISTANCE), BRANCHES as u32);
    while done < JOBS {
        let Some((now, event)) = calendar.pop() else {
            break;
        };
        let branch = event as usize;
        if branch == BRANCHES {
            open.push_back((now, BRANCHES));
            for (i, queue) in queues.iter_mut().enumerate() {
                queue.push_back(next);
                if queue.len() == 1 {
                    let service = services[i].exponential(BRANCH_SERVICE);
                    calendar.schedule(now + service, i as u32);
                }
            }
            next += 1;
            calendar.schedule(now + arrival.exponential(DISTANCE), event);
            continue;
        }
        let request = queues[branch].pop_front().unwrap_or(first);
        let (came, left) = &mut open[(request - first) as usize];
        *left -= 1;
        if *left == 0 {
            sum += (now - *came).get();
            done += 1;
        }
        while open.front().is_some_and(|(_, left)| *left == 0) {
            open.pop_front();
            first += 1;
        }
        if !queues[branch].is_empty() {
            let service = services[branch].exponential(BRANCH_SERVICE);
            calendar.schedule(now + service, event);
        }
    }
    sum
}

/// Fork-join by recursion: start = max(arrival, end of the job before).
fn fork_join_recursion() -> u64 {
    let (mut arrival, mut services) = branch_streams();
    let mut free = [0; BRANCHES];
    let (mut now, mut sum) = (0, 0);
    for _ in 0..JOBS {
        now += arrival.exponential(DISTANCE).get();
        let mut last = now;
        for (free, service) in free.iter_mut().zip(&mut services) {
            *free = now.max(*free) + service.exponential(BRANCH_SERVICE).get();
            last = last.max(*free);
        }
        sum += last - now;
    }
    sum
}

fn fork_join_network() -> u64 {
    let mut b = Builder::new(Seed::new(1));
    let source = b.source("source", Arrivals::every(Law::Exponential(DISTANCE)));
    let (fork, join, sink) = (b.fork("fork"), b.join("join"), b.sink("sink"));
    for i in 0..BRANCHES {
        let queue = Queue::fcfs(1, Law::Exponential(BRANCH_SERVICE));
        let server = b.station(&format!("server/{i}"), queue);
        b.chain(&[fork, server, join]);
    }
    b.chain(&[source, fork]).chain(&[join, sink]);
    b.build().map_or(0, |mut network| {
        network.run(Until::Departures(JOBS));
        network.departures()
    })
}

fn fork_join_typed() -> u64 {
    let source = Source::new("source", Law::Exponential(DISTANCE));
    let server = |i| Station::new(format!("server/{i}"), Law::Exponential(BRANCH_SERVICE));
    let servers: [Station; BRANCHES] = std::array::from_fn(server);
    typed(Open::new(
        source,
        Fork::new("fork", "join", servers),
        "sink",
    ))
}

/// Millions per second.
fn millions(per_job: u64, work: fn() -> u64) -> f64 {
    1e3 / best_ns(per_job * JOBS, || {
        black_box(work());
    })
}

pub(crate) fn measure() -> Vec<Figure> {
    const EVENTS: &str = "M events/s";
    const JOBS: &str = "M jobs/s";
    let bare = millions(2, mm1_bare);
    let events = millions(2, mm1_events);
    let full = millions(2, mm1_events_with_statistics);
    let recursion = millions(1, fork_join_recursion);
    let fork_events = millions(1, fork_join_events);
    let server = |case, value| Figure::new(Group::SingleServer, case, EVENTS, value);
    let fork = |case, value| Figure::new(Group::ForkJoin, case, JOBS, value);
    let of_server = |figure: Figure| {
        let with_statistics = Some(figure.value / full);
        let plain = figure.value / events;
        figure.with(Note::OfEventLoop {
            plain,
            with_statistics,
        })
    };
    let of_fork = |figure: Figure| {
        let plain = figure.value / fork_events;
        figure.with(Note::OfEventLoop {
            plain,
            with_statistics: None,
        })
    };
    vec![
        server("a loop with two variables", bare),
        server("an event loop with the calendar", events),
        server("an event loop with all statistics", full),
        of_server(server("the network layer", millions(2, mm1_network))),
        of_server(server("a network as a type", millions(2, mm1_typed))),
        fork("a recursion without events", recursion),
        fork("an event loop with the calendar", fork_events),
        of_fork(fork("the network layer", millions(1, fork_join_network))),
        of_fork(fork("a network as a type", millions(1, fork_join_typed))),
    ]
}
