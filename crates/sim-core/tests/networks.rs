//! Networks against exact results of queueing theory.
//!
//! Each row is estimated from 32 independent replications with seeds fixed beforehand. Of the rows of
//! a test none may be off by more than 4 standard errors (for Student's t with 31 degrees of freedom
//! one row in 2 700 is), and their mean square must be what chance gives.

use iosonar_sim_core::network::{
    Arrivals, BatchSize, Builder, Class, Discipline, NodeId, Phase, Queue, Route, Stopped, Until,
};
use iosonar_sim_core::{Law, Network, Seed};
use iosonar_stats::Estimate;
use iosonar_units::Nanos;
use rand_distr::Distribution;

const REPLICATIONS: u64 = 32;

/// A millisecond is the unit of all times here.
fn unit(t: f64) -> Nanos {
    Nanos::from_millis_f64(t)
}

fn exponential(mean: f64) -> Law {
    Law::Exponential(unit(mean))
}

fn poisson(rate: f64) -> Arrivals {
    Arrivals::every(exponential(1.0 / rate))
}

struct Row {
    name: String,
    exact: f64,
    ours: Estimate,
}

/// Runs replications; each gives as many figures as there are exact values.
fn rows<const N: usize>(
    name: &str,
    seed: u64,
    exact: [f64; N],
    run: impl Fn(Seed) -> [f64; N],
) -> Vec<Row> {
    let runs: Vec<[f64; N]> = (0..REPLICATIONS)
        .map(|r| run(Seed::new(seed).replication(r)))
        .collect();
    let row = |i: usize| {
        let values: Vec<f64> = runs.iter().map(|values| values[i]).collect();
        Row {
            name: format!("{name}, figure {i}"),
            exact: exact[i],
            ours: Estimate::from_independent(&values),
        }
    };
    (0..N).map(row).collect()
}

fn assert_agreement(rows: Vec<Row>) {
    let n = rows.len() as f64;
    let mut squares = 0.0;
    for Row { name, exact, ours } in rows {
        let off = (ours.mean - exact) / ours.stderr;
        println!(
            "{name}: {:.5} ({:.5}), exactly {exact:.5}: {off:+.2}",
            ours.mean, ours.stderr
        );
        assert!(
            off.abs() < 4.0,
            "{name}: {} is {off} standard errors off {exact}",
            ours.mean
        );
        squares += off * off;
    }
    // Mean 31/29 and variance 2.7 for the square of such a t variable; 3.3 standard deviations.
    let limit = n * 31.0 / 29.0 + 3.3 * (2.7 * n).sqrt();
    assert!(squares < limit, "sum of squares {squares} over {limit}");
}

/// A network with its sink, warmed up and run.
fn single(
    seed: Seed,
    arrivals: Arrivals,
    queue: Queue,
    warmup: u64,
    jobs: u64,
) -> (Network, NodeId, NodeId) {
    let mut b = Builder::new(seed);
    let source = b.source("source", arrivals);
    let server = b.station("server", queue);
    let sink = b.sink("sink");
    b.chain(&[source, server, sink]);
    let mut network = b.build().unwrap();
    network.run(Until::Departures(warmup));
    network.measure_from_now();
    network.run(Until::Departures(jobs));
    (network, server, sink)
}

fn mean(network: &Network, sink: NodeId) -> f64 {
    network.response_time(sink).moments.mean() / 1e6
}

fn mean_of(network: &Network, sink: NodeId, class: u8) -> f64 {
    network
        .response_time_of(sink, Class(class))
        .unwrap()
        .moments
        .mean()
        / 1e6
}

const JOBS: u64 = 60_000;
const WARMUP: u64 = 6_000;

#[test]
fn one_server_at_every_load() {
    let mut all = Vec::new();
    for (rho, seed) in [(0.1_f64, 1), (0.3, 2), (0.5, 3), (0.7, 4), (0.9, 5)] {
        // M/M/1: response time, its variance, number in the system, utilisation.
        let exact = [
            1.0 / (1.0 - rho),
            1.0 / (1.0 - rho).powi(2),
            rho / (1.0 - rho),
            rho,
        ];
        all.extend(rows(&format!("M/M/1 at {rho}"), seed, exact, |seed| {
            let (network, server, sink) = single(
                seed,
                poisson(rho),
                Queue::fcfs(1, exponential(1.0)),
                5 * WARMUP,
                JOBS,
            );
            let station = network.station(server);
            let variance = network.response_time(sink).moments.variance() / 1e12;
            [
                mean(&network, sink),
                variance,
                station.number.mean(),
                station.utilisation(),
            ]
        }));
        // M/G/1 (Pollaczek-Khinchine) for four laws with mean 1.
        for (law, square, name) in [
            (Law::Constant(unit(1.0)), 1.0, "constant"),
            (
                Law::Uniform(unit(0.5), unit(1.5)),
                1.0 + 1.0 / 12.0,
                "uniform",
            ),
            (
                Law::Erlang {
                    phases: 4,
                    mean: unit(1.0),
                },
                1.25,
                "Erlang",
            ),
            (
                Law::HyperExponential(vec![(0.8, unit(0.5)), (0.2, unit(3.0))]),
                2.0 * (0.8 * 0.25 + 0.2 * 9.0),
                "hyperexponential",
            ),
        ] {
            let exact = [1.0 + rho * square / (2.0 * (1.0 - rho))];
            all.extend(rows(
                &format!("M/G/1 {name} at {rho}"),
                10 + seed,
                exact,
                |seed| {
                    let queue = Queue::fcfs(1, law.clone());
                    let (network, _, sink) =
                        single(seed, poisson(rho), queue, 5 * WARMUP, JOBS / 2);
                    [mean(&network, sink)]
                },
            ));
        }
    }
    assert_agreement(all);
}

#[test]
fn several_servers_make_the_queue_that_erlang_says() {
    let mut all = Vec::new();
    for (servers, rho, exact) in [
        (2_u32, 0.5, 1.333_333_333),
        (2, 0.8, 2.777_777_778),
        (4, 0.7, 1.357_211_932),
        (8, 0.9, 1.876_916_238),
    ] {
        all.extend(rows(
            &format!("M/M/{servers} at {rho}"),
            20,
            [exact],
            |seed| {
                let queue = Queue::fcfs(servers, exponential(1.0));
                let rate = rho * f64::from(servers);
                let (network, _, sink) = single(seed, poisson(rate), queue, 2 * WARMUP, JOBS);
                [mean(&network, sink)]
            },
        ));
    }
    assert_agreement(all);
}

#[test]
fn the_order_of_service_does_not_change_the_mean() {
    let disciplines = [Discipline::Lifo, Discipline::Random];
    let all = disciplines.into_iter().flat_map(|discipline| {
        rows(&format!("{discipline:?}"), 30, [10.0 / 3.0, 0.7], |seed| {
            let queue = Queue::fcfs(1, exponential(1.0)).with(discipline);
            let (network, server, sink) = single(seed, poisson(0.7), queue, WARMUP, JOBS);
            [mean(&network, sink), network.station(server).utilisation()]
        })
    });
    assert_agreement(all.collect());
    // Work is conserved: whatever the order of service, the server is busy at the same times.
    let busy = |discipline| {
        let queue = Queue::fcfs(1, Law::Constant(unit(1.0))).with(discipline);
        let arrivals =
            Arrivals::from_process((0..5_000_u64).map(|i| iosonar_sim_core::network::Arrival {
                at: Nanos::new(i * i % 977 + i * 1_200_000),
                class: Class((i % 3) as u8),
                jobs: 1 + u32::from(i % 7 == 0),
            }));
        let mut b = Builder::new(Seed::new(1));
        let (source, server, sink) = (b.source("a", arrivals), b.station("s", queue), b.sink("d"));
        b.chain(&[source, server, sink]);
        let mut network = b.build().unwrap();
        assert_eq!(network.run(Until::End), Stopped::Drained);
        let station = network.station(server);
        (station.busy.integral(), network.now(), network.departures())
    };
    let fcfs = busy(Discipline::Fcfs);
    for discipline in [
        Discipline::Lifo,
        Discipline::Random,
        Discipline::Priority,
        Discipline::PreemptiveResume,
    ] {
        assert_eq!(busy(discipline), fcfs, "{discipline:?}");
    }
    // Under processor sharing each job may end a fraction of a nanosecond late.
    let (integral, end, jobs) = busy(Discipline::ProcessorSharing);
    assert!(integral - fcfs.0 <= u128::from(jobs) && (end - fcfs.1).get() <= jobs);
}

/// Three classes with rates 0.2, 0.5, 0.1 and mean service times 0.5, 1, 2 (exponential).
fn three_classes(seed: Seed, discipline: Discipline) -> [f64; 3] {
    let mut b = Builder::new(seed);
    let queue = Queue::fcfs(1, exponential(0.5))
        .service_of(Class(1), exponential(1.0))
        .service_of(Class(2), exponential(2.0))
        .with(discipline);
    let (server, sink) = (b.station("server", queue), b.sink("sink"));
    for (class, rate) in [(0, 0.2), (1, 0.5), (2, 0.1)] {
        let source = b.source(
            &format!("class {class}"),
            poisson(rate).of_class(Class(class)),
        );
        b.chain(&[source, server]);
    }
    b.chain(&[server, sink]);
    let mut network = b.build().unwrap();
    network.run(Until::Departures(2 * WARMUP));
    network.measure_from_now();
    network.run(Until::Departures(2 * JOBS));
    [0, 1, 2].map(|class| mean_of(&network, sink, class))
}

#[test]
fn priorities_are_as_cobham_says_and_preemption_as_the_work_ahead() {
    // Cobham 1954.
    let cobham = [1.555_555_556, 3.638_888_889, 13.875];
    let mut all = rows("priority", 40, cobham, |seed| {
        three_classes(seed, Discipline::Priority)
    });
    // Preemptive resume: R_k = E[S_k]/(1 - s_{k-1}) + sum_{i<=k} l_i E[S_i^2]/2 / ((1-s_{k-1})(1-s_k)).
    let (rate, service) = ([0.2, 0.5, 0.1], [0.5, 1.0, 2.0]);
    let (mut load_above, mut work) = (0.0, 0.0);
    let mut exact = [0.0; 3];
    for k in 0..3 {
        work += rate[k] * service[k] * service[k];
        let load = load_above + rate[k] * service[k];
        exact[k] = service[k] / (1.0 - load_above) + work / ((1.0 - load_above) * (1.0 - load));
        load_above = load;
    }
    all.extend(rows("preemptive resume", 41, exact, |seed| {
        three_classes(seed, Discipline::PreemptiveResume)
    }));
    assert_agreement(all);
}

#[test]
fn the_highest_class_of_a_preemptive_server_sees_no_other() {
    let exact = [1.0 / (1.0 - 0.1) * 0.5];
    assert_agreement(rows("alone", 42, exact, |seed| {
        [three_classes(seed, Discipline::PreemptiveResume)[0]]
    }));
}

#[test]
fn processor_sharing_does_not_mind_the_law_of_service() {
    let mut all = Vec::new();
    for (law, name) in [
        (exponential(1.0), "exponential"),
        (Law::Constant(unit(1.0)), "constant"),
        (
            Law::HyperExponential(vec![(0.9, unit(0.5)), (0.1, unit(5.5))]),
            "hyperexponential",
        ),
    ] {
        all.extend(rows(
            &format!("PS {name}"),
            50,
            [10.0 / 3.0, 7.0 / 3.0, 0.7],
            |seed| {
                let queue = Queue::fcfs(1, law.clone()).with(Discipline::ProcessorSharing);
                let (network, server, sink) = single(seed, poisson(0.7), queue, WARMUP, JOBS);
                let station = network.station(server);
                [
                    mean(&network, sink),
                    station.number.mean(),
                    station.utilisation(),
                ]
            },
        ));
    }
    // With two servers, M/M/2-PS has the mean of M/M/2.
    all.extend(rows("PS of two servers", 51, [2.777_777_778], |seed| {
        let queue = Queue::fcfs(2, exponential(1.0)).with(Discipline::ProcessorSharing);
        let (network, _, sink) = single(seed, poisson(1.6), queue, WARMUP, JOBS);
        [mean(&network, sink)]
    }));
    assert_agreement(all);
}

#[test]
fn batches_arrive_as_burke_says() {
    let mut all = Vec::new();
    let one = Law::Constant(unit(1.0));
    let one_and_more = rand_distr::Poisson::new(2.0)
        .unwrap()
        .map(|more: f64| more + 1.0);
    for (batch, law, rate, exact) in [
        (
            BatchSize::Geometric(3.0),
            exponential(1.0),
            0.1,
            4.285_714_286,
        ),
        (BatchSize::Geometric(3.0), one, 0.2, 6.75),
        (BatchSize::Constant(4), exponential(1.0), 0.15, 6.25),
        // One and a Poisson number: the mean of the squares is 11, that of the numbers 3.
        (
            BatchSize::sampled(one_and_more),
            exponential(1.0),
            0.2,
            5.833_333_333,
        ),
        // One or three.
        (
            BatchSize::from_fn(|stream| 1 + 2 * u32::from(stream.chance(0.5))),
            exponential(1.0),
            0.3,
            4.375,
        ),
    ] {
        all.extend(rows(&format!("{batch:?}"), 60, [exact], |seed| {
            let arrivals = poisson(rate).in_batches(batch.clone());
            let queue = Queue::fcfs(1, law.clone());
            let (network, _, sink) = single(seed, arrivals, queue, WARMUP, JOBS);
            [mean(&network, sink)]
        }));
    }
    assert_agreement(all);
}

#[test]
fn batches_are_served_as_the_chain_of_bulk_service_says() {
    let mut all = Vec::new();
    // M/M^[a,b]/1, stationary distribution of the chain: mean response at load rate / (b mu).
    for (least, most, rho, exact) in [
        (1, 2, 0.5, 2.170_820),
        (1, 4, 0.8, 4.180_619),
        (1, 16, 0.3, 2.024_981),
        (2, 2, 0.3, 2.049_946),
        (2, 2, 0.8, 4.156_480),
        (16, 16, 0.3, 2.622_554_615),
    ] {
        all.extend(rows(
            &format!("batches of {least} to {most} at {rho}"),
            70,
            [exact],
            |seed| {
                let queue = Queue::fcfs(1, exponential(1.0)).in_batches(least, most);
                let arrivals = poisson(rho * f64::from(most));
                let (network, _, sink) = single(seed, arrivals, queue, WARMUP, JOBS);
                [mean(&network, sink)]
            },
        ));
    }
    assert_agreement(all);
}

fn fork_join(seed: Seed, branches: u32, rate: f64, jobs: u64) -> [f64; 1] {
    let mut b = Builder::new(seed);
    let source = b.source("source", poisson(rate));
    let (fork, join, sink) = (b.fork("fork"), b.join("join"), b.sink("sink"));
    for i in 0..branches {
        let server = b.station(&format!("server/{i}"), Queue::fcfs(1, exponential(1.0)));
        b.chain(&[fork, server, join]);
    }
    b.chain(&[source, fork]).chain(&[join, sink]);
    let mut network = b.build().unwrap();
    network.run(Until::Departures(2 * WARMUP));
    network.measure_from_now();
    network.run(Until::Departures(jobs));
    [mean(&network, sink)]
}

#[test]
fn fork_join_of_two_is_as_nelson_and_tantawi_say() {
    let mut all = Vec::new();
    for (rho, seed) in [(0.1, 80), (0.3, 81), (0.5, 82), (0.7, 83), (0.8, 84)] {
        let exact = [(12.0 - rho) / 8.0 / (1.0 - rho)];
        all.extend(rows(&format!("fork-join at {rho}"), seed, exact, |seed| {
            fork_join(seed, 2, rho, JOBS)
        }));
    }
    assert_agreement(all);
}

#[test]
fn fork_join_of_four_responds_as_another_simulator_says() {
    for (rho, theirs, stderr, seed) in [(0.5, 3.84123, 0.00838, 85), (0.8, 9.04451, 0.07686, 86)] {
        let row = &rows("fork-join of four", seed, [theirs], |seed| {
            fork_join(seed, 4, rho, JOBS)
        })[0];
        let off = (row.ours.mean - theirs) / row.ours.stderr.hypot(stderr);
        assert!(
            off.abs() < 4.0,
            "{} is {off} standard errors off {theirs}",
            row.ours.mean
        );
    }
}

/// Mean value analysis: response time of `jobs` jobs with these demands and this think time.
fn mva(demands: &[f64], think: f64, jobs: u32) -> f64 {
    let mut queue = vec![0.0; demands.len()];
    let mut response = 0.0;
    for n in 1..=jobs {
        let times: Vec<f64> = demands
            .iter()
            .zip(&queue)
            .map(|(d, q)| d * (1.0 + q))
            .collect();
        response = times.iter().sum();
        let throughput = f64::from(n) / (think + response);
        queue = times.iter().map(|t| t * throughput).collect();
    }
    response
}

#[test]
fn closed_networks_are_as_mean_value_analysis_says() {
    let mut all = Vec::new();
    for jobs in [1, 3, 10] {
        // A processor that is visited twice on average, a disk, and sometimes a second one.
        let exact = mva(&[2.0 * 0.5, 0.6 * 2.0, 0.4 * 3.0], 5.0, jobs);
        all.extend(rows(&format!("{jobs} jobs"), 90, [exact], |seed| {
            let mut b = Builder::new(seed);
            let think = b.think("think", Law::Uniform(unit(2.0), unit(8.0)));
            let cpu = b.station("cpu", Queue::fcfs(1, exponential(0.5)));
            let disks =
                [2.0, 3.0].map(|t| b.station(&format!("disk {t}"), Queue::fcfs(1, exponential(t))));
            let lap = b.lap("lap");
            // Half of the visits of the processor are the last.
            let after_cpu = b.router("after cpu", Route::Probabilities(vec![0.5, 0.3, 0.2]));
            b.chain(&[think, cpu, after_cpu, cpu]);
            b.chain(&[after_cpu, disks[0], lap]);
            b.chain(&[after_cpu, disks[1], lap]);
            b.chain(&[lap, think]).population(think, jobs);
            let mut network = b.build().unwrap();
            network.run(Until::Departures(WARMUP));
            network.measure_from_now();
            network.run(Until::Departures(JOBS));
            [mean(&network, lap)]
        }));
    }
    assert_agreement(all);
}

#[test]
fn two_servers_without_room_between_them_block_each_other() {
    // A server that always has work and one behind it with room for `k` jobs, all exponential:
    // the second is an M/M/1 queue with room for k + 1, so it works a share (k+1)/(k+2) of the time.
    let mut all = Vec::new();
    for room in [1_u32, 3] {
        let k = f64::from(room);
        let blocked = 1.0 / (k + 2.0);
        all.extend(rows(
            &format!("room for {room}"),
            100,
            [1.0 - blocked, blocked],
            |seed| {
                let mut b = Builder::new(seed);
                let first = b.station("first", Queue::fcfs(1, exponential(1.0)));
                let second = b.station("second", Queue::fcfs(1, exponential(1.0)).room_for(room));
                let lap = b.lap("lap");
                b.chain(&[first, second, lap, first])
                    .population(first, room + 3);
                let mut network = b.build().unwrap();
                network.run(Until::Departures(WARMUP));
                network.measure_from_now();
                network.run(Until::Departures(JOBS));
                let throughput = network.station(second).throughput_per_s() / 1000.0;
                [throughput, network.station(first).blocked.mean()]
            },
        ));
    }
    // M/M/1/K from a source: what finds no room is lost.
    let (rho, k) = (0.8_f64, 4);
    let lost = rho.powi(k) * (1.0 - rho) / (1.0 - rho.powi(k + 1));
    all.extend(rows("M/M/1/4", 101, [lost], |seed| {
        let queue = Queue::fcfs(1, exponential(1.0)).room_for(k as u32);
        let (network, server, _) = single(seed, poisson(rho), queue, WARMUP, JOBS);
        let station = network.station(server);
        [station.lost as f64 / (station.lost + station.response_time.count()) as f64]
    }));
    assert_agreement(all);
}

#[test]
fn a_modulated_source_makes_the_queue_of_its_chain() {
    // An interrupted Poisson process is a renewal process with hyperexponential distances (Kuczura
    // 1973); so IPP/M/1 is GI/M/1, whose mean response is 1/(1 - x) with x = A*(1 - x).
    let (rate, on, off) = (1.2_f64, 1.0 / 5.0, 1.0 / 10.0);
    let sum = rate + on + off;
    let root = (sum * sum - 4.0 * rate * off).sqrt();
    let (r1, r2) = (f64::midpoint(sum, root), f64::midpoint(sum, -root));
    let p = (rate - r2) / (r1 - r2);
    let transform = |s: f64| p * r1 / (r1 + s) + (1.0 - p) * r2 / (r2 + s);
    let mut x = 0.5;
    for _ in 0..10_000 {
        x = transform(1.0 - x);
    }
    let phases = vec![
        Phase {
            distance: Some(unit(1.0 / rate)),
            sojourn: unit(1.0 / on),
        },
        Phase {
            distance: None,
            sojourn: unit(1.0 / off),
        },
    ];
    let exact = [1.0 / (1.0 - x)];
    let mut all = rows("IPP/M/1", 110, exact, |seed| {
        let queue = Queue::fcfs(1, exponential(1.0));
        let (network, _, sink) = single(
            seed,
            Arrivals::modulated(phases.clone()),
            queue,
            2 * WARMUP,
            JOBS,
        );
        [mean(&network, sink)]
    });
    // The same process as an on-off source with exponential times.
    all.extend(rows("on-off", 111, exact, |seed| {
        let arrivals = Arrivals::on_off(
            exponential(1.0 / on),
            exponential(1.0 / off),
            exponential(1.0 / rate),
        );
        let queue = Queue::fcfs(1, exponential(1.0));
        let (network, _, sink) = single(seed, arrivals, queue, 2 * WARMUP, JOBS);
        [mean(&network, sink)]
    }));
    assert_agreement(all);
}

#[test]
fn jackson_routes_by_probability_and_class() {
    // Open network with feedback: station loads follow from the traffic equations, and each is M/M/1.
    assert_agreement(rows("feedback", 120, [1.0 / (1.0 - 0.6) * 2.0], |seed| {
        let mut b = Builder::new(seed);
        let source = b.source("source", poisson(0.3));
        let server = b.station("server", Queue::fcfs(1, exponential(1.0)));
        let (again, sink) = (
            b.router("again", Route::Probabilities(vec![0.5, 0.5])),
            b.sink("sink"),
        );
        b.chain(&[source, server, again, server])
            .chain(&[again, sink]);
        let mut network = b.build().unwrap();
        network.run(Until::Departures(WARMUP));
        network.measure_from_now();
        network.run(Until::Departures(JOBS));
        [mean(&network, sink)]
    }));
    let mut b = Builder::new(Seed::new(1));
    let by_class = b.router("by class", Route::Classes(vec![1, 0]));
    let sinks = [b.sink("zero"), b.sink("one")];
    for class in [0, 1] {
        let source = b.source(&format!("{class}"), poisson(1.0).of_class(Class(class)));
        b.chain(&[source, by_class]);
    }
    b.chain(&[by_class, sinks[0]]).chain(&[by_class, sinks[1]]);
    let mut network = b.build().unwrap();
    network.run(Until::Departures(1000));
    assert_eq!(
        network
            .response_time_of(sinks[0], Class(0))
            .map(iosonar_stats::Distribution::count),
        Some(0)
    );
    assert!(
        network
            .response_time_of(sinks[0], Class(1))
            .unwrap()
            .count()
            > 400
    );
    assert!(
        network
            .response_time_of(sinks[1], Class(0))
            .unwrap()
            .count()
            > 400
    );
}

/// A network with something of everything.
fn everything(seed: u64) -> (Network, NodeId) {
    let mut b = Builder::new(Seed::new(seed));
    let source = b.source("source", poisson(0.4).in_batches(BatchSize::Geometric(1.5)));
    let sharing = b.station(
        "sharing",
        Queue::fcfs(2, exponential(1.0)).with(Discipline::ProcessorSharing),
    );
    let random = b.station(
        "random",
        Queue::fcfs(1, exponential(1.0)).with(Discipline::Random),
    );
    let small = b.station("small", Queue::fcfs(1, exponential(0.9)).room_for(3));
    let (fork, join, sink) = (b.fork("fork"), b.join("join"), b.sink("sink"));
    let turn = b.router("turn", Route::RoundRobin);
    b.chain(&[source, turn, sharing, fork, random, join, sink]);
    b.chain(&[turn, small]);
    b.chain(&[small, sink]);
    let delay = b.delay("delay", exponential(2.0));
    b.chain(&[fork, delay, join]);
    (b.build().unwrap(), sink)
}

#[test]
fn a_run_in_pieces_saved_and_restored_is_the_same_run() {
    let (mut whole, sink) = everything(7);
    whole.run(Until::Events(50_000));
    let (mut pieces, _) = everything(7);
    pieces.run(Until::Events(10_000));
    let mut saved = pieces.clone();
    pieces.run(Until::Events(3_000));
    for _ in 0..1_000 {
        assert!(saved.step());
    }
    saved.run(Until::Time(saved.now() + unit(100.0)));
    saved.run(Until::Events(50_000 - saved.events()));
    assert_eq!(saved.now(), whole.now());
    assert_eq!(saved.hash(), whole.hash());
    assert_eq!(saved.response_time(sink), whole.response_time(sink));
    assert_ne!(
        pieces.hash(),
        whole.hash(),
        "another state has another hash"
    );
    let (mut other, _) = everything(8);
    other.run(Until::Events(50_000));
    assert_ne!(other.hash(), whole.hash(), "another seed is another run");
    // Golden: the same bits on every machine.
    assert_eq!(whole.hash().to_string(), "30ef2c971d1d29a9");
}
