//! Simulated arrays against reference numbers: means, deviations, quantiles, utilisations and how
//! partial-stripe writes come to their places.
//!
//! - `anchors/simulated.toml`: by another event simulator, 122 scenarios and 1 189 figures;
//! - `anchors/exact.toml`: by quadrature, closed forms and Monte Carlo, 104 scenarios and 536 figures.
//!
//! A figure agrees if it is within 3 combined standard errors, ours from replications. With so many
//! a perfect simulator fails a few: at most 2 % may, none beyond 5; and the sum of the squared deviations
//! of the means, which are independent, must be what chance gives. Seeds are 1, 2, ... in the order of the
//! scenarios, fixed beforehand.

use std::path::Path;

use iosonar_raid::positioning::Case;
use iosonar_scenario::{Overrides, Prepared, SimulationResult};
use iosonar_stats::Estimate;
use toml::{Table, Value};

/// Runs of a scenario, and requests of each.
#[derive(Clone, Copy)]
struct Effort {
    replications: i64,
    requests: i64,
}

struct Deviation {
    what: String,
    mean: bool,
    errors: f64,
}

fn simulation(case: &Table, seed: i64, effort: Effort) -> Prepared {
    let mut scenario = Table::new();
    for key in ["array", "load", "disk"] {
        scenario.insert(key.into(), case[key].clone());
    }
    scenario.insert("seed".into(), seed.into());
    scenario.insert("replications".into(), effort.replications.into());
    scenario.insert("warmup_requests".into(), 10_000.into());
    let load = scenario["load"].as_table_mut().unwrap();
    load.insert("requests".into(), effort.requests.into());
    let text = toml::to_string(&scenario).unwrap();
    Prepared::from_toml(&text, Path::new("case.toml"), &Overrides::default()).unwrap()
}

/// Our figure of this name; `None` if the key is no figure.
fn figure(result: &SimulationResult, name: &str) -> Option<Estimate> {
    Some(match name {
        "mean" => result.mean_ms,
        "sd" => result.sd_ms,
        "p50" => result.quantile_ms(0.5),
        "p90" => result.quantile_ms(0.9),
        "p95" => result.quantile_ms(0.95),
        "p99" => result.quantile_ms(0.99),
        "util" => result.mean_utilisation,
        "case_rmw_busy" => result.share_of(Case::ModifyBusy),
        "case_rmw_idle_other" => result.share_of(Case::ModifyOther),
        "case_rmw_last_full_rev" => result.share_of(Case::ModifyLast),
        "case_rmw_idle_rotation" => result.share_of(Case::ModifyWaited),
        "case_rcw_new_busy" => result.share_of(Case::ReconstructBusy),
        "case_rcw_new_idle" => result.share_of(Case::ReconstructOther),
        "case_rcw_busy_same" => result.share_of(Case::ReconstructFollows),
        "case_rcw_idle_rotation" => result.share_of(Case::ReconstructWaited),
        _ => {
            let disk: usize = name.strip_prefix("util_disk")?.parse().ok()?;
            result.utilisation[disk]
        }
    })
}

fn number(value: &Value) -> f64 {
    value.as_float().unwrap()
}

fn deviations(case: &Table, seed: i64, effort: Effort) -> Vec<Deviation> {
    let result = simulation(case, seed, effort).run(1, None).unwrap();
    let mut all = Vec::new();
    for (name, value) in case {
        let (Some(ours), Some(theirs)) = (figure(&result, name), value.as_array()) else {
            continue;
        };
        let (theirs, stderr) = (number(&theirs[0]), number(&theirs[1]));
        // Shares that are the same in all runs have no standard error: the requests at the border of
        // the warm-up may shift them by some in 100 000.
        let combined = ours.stderr.hypot(stderr).max(2e-5 * theirs);
        let errors = (ours.mean - theirs) / combined;
        let line = &case["line"];
        all.push(Deviation {
            what: format!(
                "line {line}, {name}: {:.5}, they {theirs:.5} ({combined:.5})",
                ours.mean
            ),
            mean: name == "mean",
            errors,
        });
    }
    all
}

#[test]
fn arrays_respond_as_another_simulator_says() {
    // Two samples of ten have 18 degrees of freedom.
    let effort = Effort {
        replications: 10,
        requests: 100_000,
    };
    assert_agreement(include_str!("anchors/simulated.toml"), 1189, effort, 18.0);
}

#[test]
fn arrays_respond_as_quadrature_says() {
    let effort = Effort {
        replications: 40,
        requests: 30_000,
    };
    assert_agreement(include_str!("anchors/exact.toml"), 536, effort, 39.0);
}

/// `degrees` of freedom has the deviation of a mean.
fn assert_agreement(cases: &str, figures: usize, effort: Effort, degrees: f64) {
    let cases: Table = cases.parse().unwrap();
    let cases: Vec<&Table> = cases["case"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case.as_table().unwrap())
        .collect();
    let part = |odd: usize| -> Vec<Deviation> {
        let numbered = cases.iter().zip(1_i64..).skip(odd).step_by(2);
        numbered
            .flat_map(|(case, seed)| deviations(case, seed, effort))
            .collect()
    };
    let all: Vec<Deviation> = std::thread::scope(|scope| {
        let odd = scope.spawn(|| part(1));
        let mut all = part(0);
        all.extend(odd.join().unwrap());
        all
    });
    let beyond = |limit: f64| all.iter().filter(|d| d.errors.abs() > limit).count();
    for d in all
        .iter()
        .filter(|d| d.errors.is_nan() || d.errors.abs() > 2.5)
    {
        println!("{}: {:+.2}", d.what, d.errors);
    }
    println!(
        "{} figures, {} beyond 3 standard errors",
        all.len(),
        beyond(3.0)
    );
    assert_eq!(all.len(), figures);
    assert!(all.iter().all(|d| d.errors.is_finite()));
    assert!(
        beyond(3.0) * 50 <= all.len(),
        "{} figures beyond 3",
        beyond(3.0)
    );
    assert_eq!(beyond(5.0), 0, "figures beyond 5 standard errors");
    // The square of Student's t with m degrees of freedom has mean m/(m-2) and second moment
    // 3 m^2/((m-2)(m-4)); 3.3 of the sum's standard deviations are the 99.9 % range.
    let means: Vec<f64> = all.iter().filter(|d| d.mean).map(|d| d.errors).collect();
    let (n, squares) = (means.len() as f64, means.iter().map(|e| e * e).sum::<f64>());
    let mean = degrees / (degrees - 2.0);
    let variance = 3.0 * degrees * mean / (degrees - 4.0) - mean * mean;
    let (expected, range) = (n * mean, 3.3 * (variance * n).sqrt());
    println!("{n} means: sum of squares {squares:.1}, expected {expected:.1} ± {range:.1}");
    assert!((squares - expected).abs() < range, "{squares}");
}
