//! What theory says of scenarios, as tables.

use std::fmt::Write;

use iosonar_report::counted;
use iosonar_scenario::LoadModel;
use iosonar_scenario::theory::{Accuracy, Answer, Regime, Standing, Theory};
use iosonar_stats::Distribution;
use iosonar_units::Nanos;

use crate::render::sim::{headline, mean};
use crate::render::table::{Table, significant};
use iosonar_study::answered::{Answered, QUANTILES, family, how, remark};

/// The text of a value that is known.
pub(super) fn known(value: f64, text: impl FnOnce(f64) -> String) -> String {
    match value.is_finite() {
        true => text(value),
        false => "-".to_owned(),
    }
}

pub(super) fn ms(value: f64) -> String {
    known(value, |value| Nanos::from_millis_f64(value).to_string())
}

/// Services and stations.
pub(super) fn stations(theory: &Theory) -> String {
    let mut text = String::new();
    if !theory.services.is_empty() {
        let mut table = Table::new(&["service", "mean", "sd", "scv"]);
        for service in &theory.services {
            table.row(vec![
                service.name(),
                ms(service.law.mean()),
                ms(service.law.variance().sqrt()),
                format!("{:.3}", service.law.scv()),
            ]);
        }
        text += &table.text();
    }
    if !theory.stations.is_empty() {
        let header = [
            "station",
            "visits/s",
            "service",
            "scv",
            "utilisation",
            "wait",
        ];
        let mut table = Table::new(&header);
        for station in &theory.stations {
            table.row(vec![
                station.station.clone(),
                known(station.visits_per_s, |rate| format!("{rate:.2}")),
                ms(station.mean_service_ms),
                known(station.scv, |scv| format!("{scv:.3}")),
                known(station.utilisation, |share| {
                    format!("{:.2} %", 100.0 * share)
                }),
                ms(station.mean_wait_ms),
            ]);
        }
        text += &table.text();
    }
    text
}

/// How far theory is off.
pub(super) fn error(theory: f64, seen: f64, decimals: usize) -> String {
    let percent = |theory| format!("{:+.decimals$} %", 100.0 * (theory / seen - 1.0));
    known(theory, percent)
}

/// Theory, simulation, how far they are apart, and what was measured.
pub(super) fn response_times(
    answered: &Answered,
    measured: Option<&(String, Distribution)>,
) -> String {
    let theory = &answered.theory;
    let mut header = vec!["response time", "mean"];
    header.extend(QUANTILES.map(|(name, _)| name));
    let mut table = Table::new(&header);
    let mut add = |name: String, mean: String, quantile: &dyn Fn(f64) -> String| {
        let quantiles = QUANTILES.map(|(_, p)| quantile(p));
        table.row([name, mean].into_iter().chain(quantiles).collect());
    };
    for (regime, of) in theory.answers() {
        let name = format!("{}, {}", regime.name(), of.standing.name());
        add(name, ms(of.mean_ms()), &|p| ms(of.quantile_ms(p)));
    }
    if let Some(result) = &answered.result {
        let (mean, quantile) = (result.mean_ms.mean, |p| result.quantile_ms(p).mean);
        add("simulated".to_owned(), ms(mean), &|p| ms(quantile(p)));
        for (regime, of) in answered.compared() {
            let name = match regime {
                Regime::IfIndependent => "error if independent",
                Regime::Alone | Regime::UnderLoad => "error",
            };
            let of_quantile = |p| error(of.quantile_ms(p), quantile(p), 2);
            add(name.to_owned(), error(of.mean_ms(), mean, 2), &of_quantile);
        }
    }
    if let Some((name, of)) = measured {
        let quantile = |p| of.histogram.quantile(p).unwrap_or_default().to_string();
        let mean = ms(of.moments.mean() / 1e6);
        add(format!("measured: {name}"), mean, &quantile);
    }
    table.text()
}

pub(super) fn describe(
    answered: &Answered,
    measured: Option<&(String, Distribution)>,
    has_notes: bool,
) -> String {
    let Answered {
        name,
        simulation,
        theory,
        result,
    } = answered;
    let mut text = format!("{name}: {}\n", headline(simulation));
    text += &stations(theory);
    if theory.alone.is_some() || theory.response.is_some() || result.is_some() || measured.is_some()
    {
        text += &response_times(answered, measured);
    }
    if let Some(result) = result {
        let _ = writeln!(
            text,
            "  simulated: {}, {} measured; mean {}",
            counted(result.replications.into(), ["run", "runs"]),
            counted(result.response_time.count(), ["request", "requests"]),
            mean(simulation, result)
        );
    }
    if let Some(response) = &theory.response {
        let _ = writeln!(text, "  under load: {}", how(response.how));
        if response.standing == Standing::Approximation {
            let _ = writeln!(
                text,
                "  accuracy: {}",
                accuracy_in_words(response.accuracy, result.is_some())
            );
        }
    }
    match (theory.lower_bound_ms, theory.upper_bound_ms) {
        (Some(low), Some(high)) => {
            let _ = writeln!(text, "  bounds on the mean: {} to {}", ms(low), ms(high));
        }
        (Some(low), None) => {
            let _ = writeln!(text, "  the mean is at least {}", ms(low));
        }
        _ => {}
    }
    if let Some(most) = theory.capacity_per_s {
        let most = significant(most, 3);
        // Users wait for their requests, so no number of them is too much.
        let _ = match simulation.load() {
            LoadModel::Closed { .. } => {
                writeln!(
                    text,
                    "  at most {most} requests/s, with any number of users"
                )
            }
            _ => writeln!(text, "  stable below {most} requests/s"),
        };
    }
    for of in theory.remarks.iter().filter(|_| has_notes) {
        let _ = writeln!(text, "  note: {}", remark(of));
    }
    text + &conclusion(answered)
}

/// What theory says of the mean, and how far a simulation is from it, in a sentence.
fn conclusion(answered: &Answered) -> String {
    let (theory, simulated) = (&answered.theory, answered.result.as_ref());
    let simulated = simulated.map(|result| result.mean_ms.mean);
    // Under a load in which a request meets others, it takes longer than alone.
    let is_alone = matches!(answered.simulation.load(), LoadModel::Alone { .. });
    let lone = theory.alone.as_ref();
    let by_theory = theory.response.as_ref().or(lone.filter(|_| is_alone));
    match (by_theory.map(|of| (of.mean_ms(), of.standing)), simulated) {
        (Some((mean, standing)), Some(simulated)) => format!(
            "{}: the mean is {} ({}), which differs by {} from the simulated {}.\n",
            answered.name,
            ms(mean),
            standing.name(),
            error(mean, simulated, 1),
            ms(simulated)
        ),
        (Some((mean, standing)), None) => {
            format!(
                "{}: the mean is {} ({}).\n",
                answered.name,
                ms(mean),
                standing.name()
            )
        }
        (None, simulated) => {
            let lone = lone.map_or_else(String::new, |of| {
                let (mean, standing) = (ms(of.mean_ms()), of.standing.name());
                format!("; a request alone takes {mean} on average ({standing})")
            });
            let simulated = simulated.map_or_else(String::new, |mean| {
                format!("; the simulated mean is {}", ms(mean))
            });
            format!(
                "{}: queueing theory has no formula for the response times under this load{lone}{simulated}.\n",
                answered.name
            )
        }
    }
}

/// How far an approximation was off where it was measured.
pub(super) fn accuracy_in_words(accuracy: Option<Accuracy>, is_compared: bool) -> String {
    let Some(of) = accuracy else {
        return match is_compared {
            true => "not measured for other loads of this kind; the table above shows the error for this load",
            false => "not measured for loads of this kind; compare with a simulation: --with-sim",
        }
        .to_owned();
    };
    let percent = |share: f64| format!("{} %", significant(100.0 * share, 2));
    let p99 = match of.p99 {
        Some(p99) => format!(", p99 within {}", percent(p99)),
        None => String::new(),
    };
    format!(
        "mean within {}{p99} (1.5 times the largest error in {} simulated scenarios: {}, utilisation up to {})",
        percent(of.mean),
        of.scenarios,
        family(of.family),
        of.utilisation
    )
}

/// Error by scenario: mean and quantiles.
pub(super) fn errors(all: &[Answered]) -> String {
    let header = [
        "scenario",
        "standing",
        "theory",
        "simulated",
        "mean",
        "p50",
        "p90",
        "p99",
        "mean if independent",
        "bounds",
    ];
    let mut table = Table::new(&header);
    for Answered {
        name,
        theory,
        result,
        ..
    } in all
    {
        let Some(result) = result else { continue };
        let percent = |of: Option<&Answer>, p: Option<f64>| {
            let (theory, seen) = match (of, p) {
                (None, _) => return "-".to_owned(),
                (Some(of), None) => (of.mean_ms(), result.mean_ms.mean),
                (Some(of), Some(p)) => (of.quantile_ms(p), result.quantile_ms(p).mean),
            };
            error(theory, seen, 1)
        };
        let response = theory.response.as_ref();
        let bounds = match (theory.lower_bound_ms, theory.upper_bound_ms) {
            (None, None) => "-".to_owned(),
            (Some(low), None) => format!("from {low:.1} ms"),
            (None, Some(high)) => format!("to {high:.1} ms"),
            (Some(low), Some(high)) => format!("{low:.1} to {high:.1} ms"),
        };
        table.row(vec![
            name.clone(),
            response
                .map_or("no theory", |r| r.standing.name())
                .to_owned(),
            response.map_or("-".to_owned(), |r| ms(r.mean_ms())),
            ms(result.mean_ms.mean),
            percent(response, None),
            percent(response, Some(0.5)),
            percent(response, Some(0.9)),
            percent(response, Some(0.99)),
            percent(theory.independent.as_ref(), None),
            bounds,
        ]);
    }
    table.text()
}
