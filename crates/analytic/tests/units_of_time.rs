//! Models know no unit: with all times three times as long and all rates a third, times are three times as long,
//! variances nine times, and shares and numbers are the same. Formulas in which a time is missing, or is there once too
//! often, are right only where services take 1.

use iosonar_analytic::ServiceLaw;
use iosonar_analytic::closed::{
    Branch, Demands, asymptotic_bounds, balanced_job_bounds, exact_mva, fork_join_mva, schweitzer,
};
use iosonar_analytic::fork_join::{
    exponential_pair, independent_exponential, nelson_tantawi, regular_exponential, split_merge,
    varma_makowski,
};
use iosonar_analytic::open::{
    BatchLaw, BatchQueue, BulkService, Discipline, MMc, Mg1, PriorityClass, PriorityQueue,
};

const FACTOR: f64 = 3.0;

/// A result, and the power of time in its unit.
type Result = (&'static str, f64, i32);

fn laws(unit: f64) -> Vec<ServiceLaw> {
    let exponential = ServiceLaw::Exponential(unit);
    let uniform = ServiceLaw::Uniform(0.5 * unit, 2.0 * unit);
    let points = ServiceLaw::Points([(0.25, 0.4 * unit), (0.75, 1.3 * unit)].into());
    vec![
        ServiceLaw::Constant(0.8 * unit),
        exponential.clone(),
        ServiceLaw::erlang(3, unit),
        ServiceLaw::Sum(vec![
            ServiceLaw::Constant(0.2 * unit),
            ServiceLaw::Exponential(0.5 * unit),
        ]),
        ServiceLaw::Mixture(vec![(0.3, exponential), (0.7, uniform.clone())]),
        uniform,
        points,
    ]
}

fn results(unit: f64) -> Vec<Result> {
    let rate = 0.55 / unit;
    let mut all = Vec::new();
    for law in laws(unit) {
        let [mean, variance, third] = law.cumulants();
        all.extend([
            ("mean", mean, 1),
            ("variance", variance, 2),
            ("third", third, 3),
            ("variation", law.scv(), 0),
        ]);
        for (i, moment) in (1..).zip(law.moments()) {
            all.push(("moment", moment, i));
        }
        all.extend(one_server(unit, rate, &law));
        all.extend(batches_and_classes(rate, &law));
    }
    all.extend(several_servers(unit, rate));
    all.extend(closed(unit));
    all
}

fn one_server(unit: f64, rate: f64, law: &ServiceLaw) -> Vec<Result> {
    let queue = Mg1::new(rate, law.clone()).unwrap();
    let split_merge = split_merge(rate, law.clone()).unwrap();
    vec![
        ("utilisation", queue.utilisation(), 0),
        ("wait", queue.mean_wait(), 1),
        ("variance of wait", queue.variance_of_wait(), 2),
        ("response", queue.mean_response(), 1),
        ("variance of response", queue.variance_of_response(), 2),
        ("jobs", queue.mean_jobs(), 0),
        ("within", queue.response_within(2.0 * unit), 0),
        ("wait within", queue.wait_within(0.7 * unit), 0),
        ("p90", queue.response_quantile(0.9), 1),
        ("shared", queue.mean_response_shared(), 1),
        ("last first", queue.variance_of_wait_last_first(), 2),
        ("split merge", split_merge.mean_response(), 1),
    ]
}

fn batches_and_classes(rate: f64, law: &ServiceLaw) -> Vec<Result> {
    let mut all = Vec::new();
    for batch in [
        BatchLaw::Constant(3),
        BatchLaw::Geometric(2.5),
        BatchLaw::Table(vec![(0.5, 1), (0.5, 4)]),
    ] {
        let queue = BatchQueue::new(0.3 * rate, batch, law.clone()).unwrap();
        all.extend([
            ("batch utilisation", queue.utilisation(), 0),
            ("batch first", queue.mean_wait_of_first(), 1),
            ("batch response", queue.mean_response(), 1),
            ("batch whole", queue.mean_response_of_batch(), 1),
            ("batch p90", queue.response_quantile(0.9), 1),
        ]);
    }
    let class = |share: f64| PriorityClass {
        rate: share * rate,
        service: law.clone(),
    };
    for discipline in [Discipline::NonPreemptive, Discipline::PreemptiveResume] {
        let queue = PriorityQueue::new(vec![class(0.6), class(0.4)], discipline).unwrap();
        for i in 0..2 {
            all.push(("class wait", queue.mean_wait(i), 1));
            all.push(("class response", queue.mean_response(i), 1));
        }
    }
    all
}

fn several_servers(unit: f64, rate: f64) -> Vec<Result> {
    let servers = MMc::new(3.0 * rate, unit, 4).unwrap();
    let bulk = BulkService::new(2.0 * rate, unit, 1, 4).unwrap();
    let mut all = vec![
        ("servers", servers.utilisation(), 0),
        ("servers wait", servers.probability_of_wait(), 0),
        ("servers response", servers.mean_response(), 1),
        ("bulk", bulk.utilisation(), 0),
        ("bulk load", bulk.offered_load(), 0),
        ("bulk busy", bulk.busy(), 0),
        ("bulk waiting", bulk.mean_waiting(), 0),
        ("bulk batch", bulk.mean_batch(), 0),
        ("bulk wait", bulk.mean_wait(), 1),
        ("bulk response", bulk.mean_response(), 1),
        ("pair", exponential_pair(rate, unit).unwrap(), 1),
    ];
    for of_n in [
        nelson_tantawi,
        varma_makowski,
        independent_exponential,
        regular_exponential,
    ] {
        all.push(("fork join", of_n(5, rate, unit).unwrap(), 1));
    }
    all
}

fn closed(unit: f64) -> Vec<Result> {
    let network = Demands::new(vec![0.4 * unit, unit, 0.7 * unit], 2.0 * unit).unwrap();
    let mut all = vec![
        ("sum", network.sum(), 1),
        ("largest", network.largest(), 1),
        ("average", network.average(), 1),
        ("knee", network.knee(), 0),
    ];
    let branch = Branch {
        demands: vec![0.6 * unit],
        width: 3,
    };
    let points = [
        exact_mva(&network, 6).unwrap().pop().unwrap(),
        schweitzer(&network, 6).unwrap(),
        fork_join_mva(&network, &branch, 6).unwrap().pop().unwrap(),
    ];
    for point in points {
        all.push(("closed response", point.response, 1));
        all.push(("closed throughput", point.throughput, -1));
    }
    for bounds in [
        asymptotic_bounds(&network, 6).unwrap(),
        balanced_job_bounds(&network, 6).unwrap(),
    ] {
        all.extend([
            ("lower bound", bounds.lower, 1),
            ("upper bound", bounds.upper, 1),
        ]);
    }
    all
}

#[test]
fn results_do_not_depend_on_the_unit_of_time() {
    let (ones, others) = (results(1.0), results(FACTOR));
    assert_eq!(ones.len(), others.len());
    for ((name, one, power), (_, other, _)) in ones.into_iter().zip(others) {
        let expected = one * FACTOR.powi(power);
        // The inversion of transforms and the search for quantiles are as exact as this.
        assert!(
            (other - expected).abs() <= 1e-7 * expected.abs().max(1e-9),
            "{name}: {other}, expected {expected}"
        );
    }
}

#[test]
fn what_has_no_spread_in_any_unit_has_a_known_size() {
    // The lowest bound of a fork-join: D/M/1 at half load has the root 0.203188 of s = exp(-2 (1 - s)), by Newton.
    let mut root = 0.2_f64;
    for _ in 0..50 {
        let value = (-2.0 * (1.0 - root)).exp();
        root -= (root - value) / (1.0 - 2.0 * value);
    }
    let harmonic = 1.0 + 1.0 / 2.0 + 1.0 / 3.0;
    let exact = 4.0 * harmonic / (1.0 - root);
    let seen = regular_exponential(3, 0.125, 4.0).unwrap();
    assert!((seen / exact - 1.0).abs() < 1e-12, "{seen} {exact}");
    // Whatever the law, sharing the processor takes E[S] / (1 - rho).
    let queue = Mg1::new(0.125, ServiceLaw::Constant(4.0)).unwrap();
    assert_eq!(queue.mean_response_shared(), 8.0);
    // Four stations of which the largest takes 1 of 4 in all: four jobs keep it busy.
    assert_eq!(Demands::new(vec![1.0; 4], 0.0).unwrap().knee(), 4.0);
    // The share of time in which a server works: 0.2 batches of 3 jobs of 0.5 each.
    let batches = BatchQueue::new(0.2, BatchLaw::Constant(3), ServiceLaw::Constant(0.5)).unwrap();
    assert!((batches.utilisation() - 0.3).abs() < 1e-12);
    assert_eq!(MMc::new(3.0, 0.5, 4).unwrap().utilisation(), 0.375);
    // Services of up to four take half of the time between as many arrivals.
    assert_eq!(
        BulkService::new(4.0, 0.5, 1, 4).unwrap().offered_load(),
        0.5
    );
}
