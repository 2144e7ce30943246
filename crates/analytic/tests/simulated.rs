//! Formulas without an exact reference against long simulations of our own, stored with their standard errors.
//!
//! The stored rows come from the ignored test at the end (some minutes):
//! `cargo test --release -p iosonar-analytic --test simulated -- --ignored --nocapture`

use iosonar_analytic::ServiceLaw;
use iosonar_analytic::fork_join::{
    independent_exponential, nelson_tantawi, regular_exponential, varma_makowski,
};
use iosonar_analytic::open::{Discipline, Mg1, PriorityClass, PriorityQueue};
use iosonar_sim_core::network::{self, Arrivals, Builder, Class, Queue, Until};
use iosonar_sim_core::{Law, Seed};
use iosonar_stats::{Distribution, Estimate};
use iosonar_units::Nanos;

/// One unit of time in the simulations.
const UNIT: f64 = 1e6;

fn unit(t: f64) -> Nanos {
    Nanos::nearest(t * UNIT)
}

fn poisson(rate: f64) -> Arrivals {
    Arrivals::every(Law::Exponential(unit(1.0 / rate)))
}

/// Independent runs of `one`, each with figures of its own.
fn replications<const N: usize>(one: impl Fn(Seed) -> [f64; N] + Sync) -> [Estimate; N] {
    const RUNS: u64 = 10;
    let one = &one;
    let runs: Vec<[f64; N]> = std::thread::scope(|scope| {
        let half = |first: u64| {
            scope.spawn(move || {
                (first..RUNS)
                    .step_by(2)
                    .map(|i| one(Seed::new(9).replication(i)))
                    .collect::<Vec<_>>()
            })
        };
        let halves = [half(0), half(1)];
        halves.into_iter().flat_map(|h| h.join().unwrap()).collect()
    });
    std::array::from_fn(|i| {
        Estimate::from_independent(&runs.iter().map(|run| run[i]).collect::<Vec<_>>())
    })
}

fn fork_join(n: u32, rho: f64) -> Estimate {
    let jobs = u64::from((6_400_000 / n).min(1_000_000));
    let [mean] = replications(|seed| {
        let mut b = Builder::new(seed);
        let source = b.source("source", poisson(rho));
        let (fork, join, sink) = (b.fork("fork"), b.join("join"), b.sink("sink"));
        for i in 0..n {
            let queue = Queue::fcfs(1, Law::Exponential(unit(1.0)));
            let server = b.station(&format!("server/{i}"), queue);
            b.chain(&[fork, server, join]);
        }
        b.chain(&[source, fork]).chain(&[join, sink]);
        let mut network = b.build().unwrap();
        network.run(Until::Departures(jobs / 10));
        network.measure_from_now();
        network.run(Until::Departures(jobs));
        [network.response_time(sink).moments.mean() / UNIT]
    });
    mean
}

/// Mean response times of three classes with rates 0.2, 0.5, 0.1 and services of mean 0.5, 1 and 2:
/// exponential, constant, uniform.
fn preemptive() -> [Estimate; 3] {
    replications(|seed| {
        let laws = [
            Law::Exponential(unit(0.5)),
            Law::Constant(unit(1.0)),
            Law::Uniform(unit(0.0), unit(4.0)),
        ];
        let mut b = Builder::new(seed);
        let mut queue = Queue::fcfs(1, laws[0].clone()).with(network::Discipline::PreemptiveResume);
        for (class, law) in laws.iter().enumerate().skip(1) {
            queue = queue.service_of(Class(class as u8), law.clone());
        }
        let (server, sink) = (b.station("server", queue), b.sink("sink"));
        for (class, rate) in [0.2, 0.5, 0.1].into_iter().enumerate() {
            let arrivals = poisson(rate).of_class(Class(class as u8));
            let source = b.source(&format!("source/{class}"), arrivals);
            b.chain(&[source, server]);
        }
        b.chain(&[server, sink]);
        let mut network = b.build().unwrap();
        network.run(Until::Departures(200_000));
        network.measure_from_now();
        network.run(Until::Departures(2_000_000));
        [0, 1, 2].map(|class| {
            let of = network.response_time_of(sink, Class(class));
            of.map_or(f64::NAN, |d: &Distribution| d.moments.mean() / UNIT)
        })
    })
}

/// Mean and variance of the wait last come, first served without preemption at a load of 0.7; the service
/// is exponential, or uniform on \[0, 2\].
fn last_first(uniform: bool) -> [Estimate; 2] {
    replications(|seed| {
        let law = match uniform {
            true => Law::Uniform(Nanos::ZERO, unit(2.0)),
            false => Law::Exponential(unit(1.0)),
        };
        let mut b = Builder::new(seed);
        let source = b.source("source", poisson(0.7));
        let queue = Queue::fcfs(1, law).with(network::Discipline::Lifo);
        let (server, sink) = (b.station("server", queue), b.sink("sink"));
        b.chain(&[source, server, sink]);
        let mut network = b.build().unwrap();
        network.run(Until::Departures(200_000));
        network.measure_from_now();
        network.run(Until::Departures(2_000_000));
        let wait = network.station(server).wait;
        [wait.mean() / UNIT, wait.sd() * wait.sd() / (UNIT * UNIT)]
    })
}

/// Parts, load, mean response in mean services, its standard error.
const FORK_JOIN: [(u32, f64, f64, f64); 20] = [
    (2, 0.3, 2.08811, 0.00099),
    (2, 0.5, 2.87303, 0.00203),
    (2, 0.8, 6.98195, 0.01441),
    (2, 0.9, 13.81990, 0.07011),
    (4, 0.3, 2.83453, 0.00103),
    (4, 0.5, 3.84269, 0.00187),
    (4, 0.8, 9.14929, 0.01206),
    (4, 0.9, 18.00459, 0.07272),
    (8, 0.3, 3.62446, 0.00114),
    (8, 0.5, 4.85139, 0.00186),
    (8, 0.8, 11.36486, 0.01782),
    (8, 0.9, 22.32343, 0.07955),
    (16, 0.3, 4.42944, 0.00204),
    (16, 0.5, 5.86174, 0.00563),
    (16, 0.8, 13.50499, 0.04321),
    (16, 0.9, 26.32967, 0.16250),
    (32, 0.3, 5.24164, 0.00275),
    (32, 0.5, 6.87660, 0.00831),
    (32, 0.8, 15.71988, 0.07885),
    (32, 0.9, 30.45444, 0.31459),
];

#[test]
fn fork_join_of_exponential_stations_is_near_its_approximations_and_within_its_bounds() {
    let mut worst = [0.0_f64; 2];
    println!("parts  load  simulated          Nelson-Tantawi  Varma-Makowski  bounds");
    for (n, rho, mean, stderr) in FORK_JOIN {
        let nt = nelson_tantawi(n, rho, 1.0).unwrap();
        let vm = varma_makowski(n, rho, 1.0).unwrap();
        let (low, high) = (
            regular_exponential(n, rho, 1.0).unwrap(),
            independent_exponential(n, rho, 1.0).unwrap(),
        );
        assert!(
            low < mean + 3.0 * stderr && mean - 3.0 * stderr < high,
            "{n} {rho}"
        );
        let error = |seen: f64| seen / mean - 1.0;
        println!(
            "{n:>5}  {rho:<4}  {mean:.4} ± {stderr:.4}   {:>+7.2} %       {:>+7.2} %      {low:.3} to {high:.3}",
            100.0 * error(nt),
            100.0 * error(vm)
        );
        if n == 2 {
            // Exact, both of them.
            assert!((nt - mean).abs() < 3.0 * stderr && (vm - mean).abs() < 3.0 * stderr);
        }
        for (worst, seen) in worst.iter_mut().zip([nt, vm]) {
            let sure = (error(seen).abs() - 3.0 * stderr / mean).max(0.0);
            *worst = worst.max(sure);
        }
    }
    // As the documentation says.
    assert!(worst[0] < 0.04 && worst[1] < 0.07, "{worst:?}");
}

#[test]
fn preemptive_priorities_are_as_the_formula_says() {
    let simulated = [(0.55564, 0.00041), (1.94453, 0.00097), (12.09375, 0.01249)];
    let services = [
        ServiceLaw::Exponential(0.5),
        ServiceLaw::Constant(1.0),
        ServiceLaw::Uniform(0.0, 4.0),
    ];
    let classes = [0.2, 0.5, 0.1].into_iter().zip(services);
    let classes = classes.map(|(rate, service)| PriorityClass { rate, service });
    let queue = PriorityQueue::new(classes.collect(), Discipline::PreemptiveResume).unwrap();
    for (class, (mean, stderr)) in simulated.into_iter().enumerate() {
        let off = (queue.mean_response(class) - mean) / stderr;
        assert!(off.abs() < 3.0, "{class}: {off} standard errors");
    }
}

#[test]
fn last_come_first_served_waits_as_long_on_average_and_varies_more() {
    for (service, mean, mean_stderr, variance, variance_stderr) in [
        (
            ServiceLaw::Exponential(1.0),
            2.34016,
            0.00348,
            46.6573,
            0.2143,
        ),
        (
            ServiceLaw::Uniform(0.0, 2.0),
            1.55640,
            0.00203,
            18.9547,
            0.0947,
        ),
    ] {
        let queue = Mg1::new(0.7, service).unwrap();
        let off = (queue.mean_wait() - mean) / mean_stderr;
        assert!(off.abs() < 3.0, "mean: {off} standard errors");
        let off = (queue.variance_of_wait_last_first() - variance) / variance_stderr;
        assert!(off.abs() < 3.0, "variance: {off} standard errors");
        assert!(queue.variance_of_wait_last_first() > queue.variance_of_wait());
    }
}

#[test]
#[ignore = "takes minutes: it makes the rows that the other tests hold the formulas to"]
fn make_the_rows() {
    for n in [2, 4, 8, 16, 32] {
        for rho in [0.3, 0.5, 0.8, 0.9] {
            let e = fork_join(n, rho);
            println!("({n}, {rho}, {:.5}, {:.5}),", e.mean, e.stderr);
        }
    }
    for (class, e) in preemptive().iter().enumerate() {
        println!("preemptive ({class}, {:.5}, {:.5}),", e.mean, e.stderr);
    }
    for uniform in [false, true] {
        let [mean, variance] = last_first(uniform);
        println!(
            "last first ({uniform}, {:.5}, {:.5}, {:.4}, {:.4}),",
            mean.mean, mean.stderr, variance.mean, variance.stderr
        );
    }
}
