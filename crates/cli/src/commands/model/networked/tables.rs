//! A networked system as tables.

use std::fmt::Write;

use iosonar_scenario::networked::{
    ClassAnalysis, NetworkAnalysis, NetworkSimulation, NetworkedRaid, Purchase,
};
use iosonar_stats::Estimate;

use crate::exit::Usage;
use crate::low::Model;
use crate::render::table::Table;
use iosonar_study::networked::{MeasuredPoint, interesting, of_all};

pub(super) fn seconds(value: f64) -> String {
    format!("{value:.2} s")
}

pub(super) fn with_error(estimate: &Estimate) -> String {
    // Without a completed job there is no time.
    match estimate.mean.is_finite() {
        true => format!("{:.2} ± {:.2} s", estimate.mean, estimate.half_width_95()),
        false => "-".to_owned(),
    }
}

/// Demands and the bottleneck.
pub(super) fn describe_stations(system: &NetworkedRaid, analysis: &NetworkAnalysis) -> String {
    let mut text = format!("{}\n", system.headline());
    let last = &analysis.points[analysis.points.len() - 1];
    let utilisation = format!("utilisation with {} jobs", last.jobs);
    let mut table = Table::new(&["station", "demand", "share", &utilisation]);
    // Storage servers are alike: the first stands for all.
    let first = |name: &str| !name.starts_with("storage/") || name.starts_with("storage/0/");
    for station in analysis.stations.iter().filter(|s| first(&s.station)) {
        table.row(vec![
            of_all(&station.station, system.stations_of),
            format!("{:.4} s", station.seconds),
            format!("{:.1} %", 100.0 * analysis.demand_share(station)),
            format!(
                "{:.1} %",
                100.0 * NetworkAnalysis::utilisation(station, last)
            ),
        ]);
    }
    text += &table.text();
    let _ = writeln!(
        text,
        "  sum {}; the bottleneck {} ({:.4} s) limits throughput with {:.1} jobs or more",
        seconds(analysis.sum_s),
        of_all(&analysis.bottleneck.station, system.stations_of),
        analysis.bottleneck.seconds,
        analysis.knee
    );
    text
}

pub(super) fn describe(
    system: &NetworkedRaid,
    analysis: &NetworkAnalysis,
    simulated: &[NetworkSimulation],
    measured: Option<&[MeasuredPoint]>,
    at: u32,
) -> anyhow::Result<String> {
    let mut text = describe_stations(system, analysis);
    let most = analysis.points.len() as u32;
    let mut header = vec![
        "jobs",
        "asymptotic bounds",
        "balanced job bounds",
        "exact (MVA)",
        "Schweitzer",
        "fork-join",
        "jobs/h",
    ];
    if !simulated.is_empty() {
        header.push("simulated");
    }
    if measured.is_some() {
        header.push("measured");
    }
    let mut table = Table::new(&header);
    for n in interesting(most, measured) {
        let point = &analysis.points[n as usize - 1];
        let mut row = vec![
            n.to_string(),
            format!(
                "{:.1} to {:.1} s",
                point.asymptotic.lower, point.asymptotic.upper
            ),
            format!(
                "{:.1} to {:.1} s",
                point.balanced.lower, point.balanced.upper
            ),
            seconds(point.response_s),
            seconds(point.schweitzer_s),
            seconds(point.fork_join_s),
            format!("{:.2}", 3600.0 * point.throughput_per_s),
        ];
        if !simulated.is_empty() {
            let of = simulated.iter().find(|s| s.jobs == n);
            row.push(of.map_or(String::new(), |s| with_error(&s.response_s[0])));
        }
        if let Some(points) = measured {
            row.push(measured_with(points, n));
        }
        table.row(row);
    }
    text += &table.text();
    text += "  the bounds, 'exact (MVA)' and 'Schweitzer' assume that a job visits its storage servers one after \
             another; 'fork-join', an approximation, assumes that a job visits all of them at once, so its times can \
             be below the lower bounds\n";
    let beyond = measured.unwrap_or_default().iter();
    let beyond = beyond.filter(|p| p.jobs > f64::from(most)).count();
    if beyond > 0 {
        let _ = writeln!(
            text,
            "  {beyond} measured points lie beyond jobs.most ({most})"
        );
    }
    text += &elasticities(system, at)?;
    Ok(text)
}

/// What most came for, in a sentence.
pub(super) fn conclusion(
    of: &str,
    system: &NetworkedRaid,
    analysis: &NetworkAnalysis,
    at: u32,
) -> String {
    let point = &analysis.points[at as usize - 1];
    format!(
        "{of} {at} job{}, each takes {} ({:.2} jobs/h); the bottleneck, {}, is busy {:.1} % of the time.\n",
        if at == 1 { "" } else { "s" },
        seconds(point.response_s),
        3600.0 * point.throughput_per_s,
        of_all(&analysis.bottleneck.station, system.stations_of),
        100.0 * NetworkAnalysis::utilisation(&analysis.bottleneck, point)
    )
}

/// What was measured with `n` jobs.
pub(super) fn measured_with(points: &[MeasuredPoint], n: u32) -> String {
    let of = points.iter().filter(|p| p.jobs == f64::from(n));
    let all: Vec<f64> = of.map(|p| p.response_s).collect();
    match all.as_slice() {
        [] => String::new(),
        [only] => seconds(*only),
        several => {
            let mean = several.iter().sum::<f64>() / several.len() as f64;
            format!("{} (mean of {})", seconds(mean), several.len())
        }
    }
}

/// What small changes of each part of the system bring.
pub(super) fn elasticities(system: &NetworkedRaid, at: u32) -> Result<String, Usage> {
    let title = format!("with {at} jobs: parameter");
    let mut table = Table::new(&[
        &title,
        "elasticity",
        "elasticity of lower bound",
        "seconds per 1 %",
    ]);
    for elasticity in system.elasticities(at).map_err(|e| Usage(e.to_string()))? {
        table.row(vec![
            elasticity.lever.name().to_owned(),
            format!("{:+.4}", elasticity.of_response),
            format!("{:+.4}", elasticity.of_lower_bound),
            format!("{:+.3}", elasticity.seconds_per_percent()),
        ]);
    }
    Ok(table.text())
}

/// The ranking of what could be bought.
pub(super) fn purchases(args: &Model, all: &[Purchase], at: u32) -> String {
    if all.is_empty() {
        return String::new();
    }
    let title = format!("with {at} jobs: upgrade");
    let mut table = Table::new(&[&title, "cost", "response time", "saved", "saved per cost"]);
    let alone = all.iter().filter(|p| p.upgrades.len() == 1);
    for purchase in alone {
        table.row(vec![
            purchase.upgrades.join(" + "),
            format!("{}", purchase.cost),
            seconds(purchase.response_s),
            seconds(purchase.saved_s),
            match purchase.saved_s_per_cost() {
                None => "free".to_owned(),
                Some(seconds) => format!("{seconds:.4} s"),
            },
        ]);
    }
    let mut described = table.text();
    if let Some(budget) = args.budget {
        let within =
            |p: &&iosonar_scenario::networked::Purchase| p.cost <= budget && p.saved_s > 0.0;
        match all.iter().find(within) {
            Some(best) => {
                let _ = writeln!(
                    described,
                    "  best within {budget}: {}, at a cost of {}: response time {} instead of {}",
                    best.upgrades.join(" + "),
                    best.cost,
                    seconds(best.response_s),
                    seconds(best.response_s + best.saved_s)
                );
            }
            None => {
                let _ = writeln!(described, "  no upgrade that costs at most {budget} helps");
            }
        }
    }
    described
}

pub(super) fn describe_classes(
    system: &NetworkedRaid,
    all: &[ClassAnalysis],
    simulated: Option<&NetworkSimulation>,
    has_notes: bool,
) -> String {
    let mut text = format!("{}\n", system.headline());
    let mut header = vec!["class", "jobs", "sum of demands"];
    let exact = all.iter().all(|class| class.is_exact);
    header.push(if exact {
        "exact (MVA)"
    } else {
        "response time"
    });
    header.extend(["Schweitzer", "jobs/h"]);
    if simulated.is_some() {
        header.push("simulated");
    }
    let mut table = Table::new(&header);
    for (i, class) in all.iter().enumerate() {
        let sum: f64 = class.stations.iter().map(|s| s.seconds).sum();
        let mut row = vec![
            class.name.clone(),
            class.jobs.to_string(),
            seconds(sum),
            seconds(class.response_s),
            seconds(class.schweitzer_s),
            format!("{:.2}", 3600.0 * class.throughput_per_s),
        ];
        if let Some(simulated) = simulated {
            row.push(with_error(&simulated.response_s[i]));
        }
        table.row(row);
    }
    text += &table.text();
    if !exact {
        text += "  the response time is Schweitzer's approximation: too many combinations of jobs for an exact analysis\n";
    }
    if simulated.is_some() && has_notes {
        text += "  note: every simulated station serves all jobs present at once (processor sharing), as the \
                 multi-class theory assumes\n";
    }
    text
}

pub(super) fn table_of_varied(varied: &[(String, NetworkAnalysis)]) -> String {
    let most = varied
        .iter()
        .map(|(_, a)| a.points.len() as u32)
        .max()
        .unwrap_or(1);
    let jobs = interesting(most, None);
    let names: Vec<String> = jobs.iter().map(|n| format!("{n} jobs")).collect();
    let mut header = vec!["exact response time"];
    header.extend(names.iter().map(String::as_str));
    let mut table = Table::new(&header);
    for (name, analysis) in varied {
        let mut row = vec![name.clone()];
        row.extend(jobs.iter().map(|&n| {
            let point = analysis.points.get(n as usize - 1);
            point.map_or(String::new(), |p| seconds(p.response_s))
        }));
        table.row(row);
    }
    table.text()
}
