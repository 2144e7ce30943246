//! How busy devices were, and what their response times are made of, as tables.

use std::cmp::Reverse;

use iosonar_analysis::{Activity, ActivityGroup, Decomposition};
use iosonar_report::grouped;

use crate::commands::info::lines;
use crate::render::table::Table;

pub(super) fn decomposition<'a>(name: &'a str, of: &Decomposition) -> Option<(&'a str, String)> {
    if of.one.0 == 0 || of.two.0 == 0 {
        return None;
    }
    let mut text = format!("1 block {:.3} ms, 2 blocks {:.3} ms: ", of.one.1, of.two.1);
    text += &match of.parts() {
        Some(parts) => format!(
            "I/O {:.3} ms, overhead {:.3} ms",
            parts.io_ms, parts.overhead_ms
        ),
        None => "latency does not depend on the request size".to_owned(),
    };
    if let Some(fit) = of.fit {
        text += &if fit.explains() {
            format!(
                "; over all sizes: I/O {:.3} ± {:.3} ms, overhead {:.3} ± {:.3} ms (95 %)",
                fit.io_ms,
                1.96 * fit.io_stderr_ms,
                fit.overhead_ms,
                1.96 * fit.overhead_stderr_ms
            )
        } else {
            "; over all sizes: no significant dependence on the request size".to_owned()
        };
    }
    Some((name, text))
}

/// A day in periods of 20 minutes.
const MOST_PERIODS: usize = 72;

/// The periods with the most requests, in the order of time: of more than fit into a table only such that have any.
fn busiest(groups: &[ActivityGroup]) -> Vec<&ActivityGroup> {
    let mut busiest: Vec<&ActivityGroup> = groups.iter().collect();
    if groups.len() <= MOST_PERIODS {
        return busiest;
    }
    busiest.retain(|group| group.requests.all > 0);
    busiest.sort_by_key(|group| Reverse(group.requests.all));
    busiest.truncate(MOST_PERIODS);
    busiest.sort_by_key(|group| group.begin);
    busiest
}

/// The periods as a table.
fn periods(activity: &Activity, others: &str) -> String {
    let mut text = String::new();
    let mut table = Table::new(&[
        "from",
        "requests",
        "concurrent p50",
        "p75",
        "in flight p50",
        "p75",
        "utilisation",
        "reads",
        others,
        "busy",
        "response p50",
        "p95",
    ]);
    let share = |s: f64| format!("{:.1} %", 100.0 * s);
    let (all, shown) = (&activity.groups, busiest(&activity.groups));
    if shown.len() < all.len() {
        let n = shown.len();
        let which = match n {
            1 => "The only period with requests".to_owned(),
            MOST_PERIODS => format!("The {n} periods with the most requests"),
            _ => format!("The {n} periods with requests"),
        };
        text += &format!(
            "  {which}, of {}. Use --csv for all of them, or --group for longer ones.\n",
            grouped(all.len() as u64)
        );
    }
    for group in shown {
        let quantile = |i: usize| {
            let of = group.response_time.all;
            of.map_or_else(String::new, |q| q[i].to_string())
        };
        table.row(vec![
            group.begin.to_string(),
            grouped(group.requests.all),
            group.concurrency[0].to_string(),
            group.concurrency[1].to_string(),
            group.in_flight[0].to_string(),
            group.in_flight[1].to_string(),
            share(group.utilisation.all),
            share(group.utilisation.reads),
            share(group.utilisation.writes),
            share(group.busy),
            quantile(0),
            quantile(2),
        ]);
    }
    text + &table.text()
}

pub(super) fn activity(activity: &Activity, others: &str) -> String {
    let options = &activity.options;
    let mut text = format!(
        "Disk activity (intervals of {}, periods of {}, blocks of {})\n",
        options.interval, options.group, options.block
    );
    text += &periods(activity, others);
    if activity.is_too_fast() {
        text += &format!(
            "  The median response time is below the interval of {}: 'concurrent' and 'utilisation' therefore \
             count requests per interval; 'in flight' and 'busy' are exact.\n",
            options.interval
        );
    }
    let others_at_peak = format!("{others} at peak");
    let mut rows: Vec<(&str, String)> = [
        ("reads", &activity.decomposition.reads),
        (others, &activity.decomposition.writes),
    ]
    .into_iter()
    .filter_map(|(name, of)| decomposition(name, of))
    .collect();
    if let Some(peak) = &activity.peak {
        rows.extend(decomposition("reads at peak", &peak.decomposition.reads));
        let of_others = &peak.decomposition.writes;
        rows.extend(decomposition(&others_at_peak, of_others));
        rows.push(("peak", format!("from {} until {}", peak.from, peak.until)));
    }
    if let Some((slope, error)) = activity.first_io_trend
        && slope.abs() > 3.0 * error
    {
        rows.push((
            "first I/O",
            format!(
                "its response time should not depend on the request size, but changes by {slope:.3} ± {:.3} ms per \
                 block",
                1.96 * error
            ),
        ));
    }
    if rows.len() > usize::from(activity.peak.is_some()) {
        text += &lines("  Response time split into overhead and I/O", &rows);
    }
    text
}
