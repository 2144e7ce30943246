//! Several arrays: which are the slowest.

use iosonar_report::grouped;
use iosonar_scenario::{ArrayFigures, FleetResult};
use iosonar_units::Nanos;

use crate::render::table::{Cell, Table};

/// How many arrays are listed.
const SLOWEST: usize = 5;

pub(super) fn describe(fleet: &FleetResult) -> String {
    let count = fleet.arrays.len() as u64 + u64::from(fleet.idle);
    let idle = match fleet.idle {
        0 => String::new(),
        n => format!(
            ", {} of them without measured requests",
            grouped(u64::from(n))
        ),
    };
    let all: f64 = fleet.arrays.iter().map(|of| of.throughput_per_s).sum();
    let mut text = format!(
        "  arrays        {}{idle}; {} requests/s in total\n",
        grouped(count),
        grouped(all.round() as u64)
    );
    let slowest = slowest(&fleet.arrays);
    if slowest.len() < 2 {
        return text;
    }
    let mut table = Table::new(&[
        "slowest",
        "requests",
        "mean",
        "p99",
        "max",
        "busiest device",
    ]);
    for of in slowest {
        let none = || Cell::Text("-".to_owned());
        let ms = |ms: f64| match ms.is_finite() {
            true => Cell::Time {
                before: "",
                time: Nanos::from_millis_f64(ms),
                after: String::new(),
            },
            false => none(),
        };
        let busiest = format!("{:.1} %", 100.0 * of.utilisation);
        table.cells(vec![
            Cell::Text(fleet.name_of(of)),
            Cell::Text(grouped(of.requests)),
            ms(of.mean_ms),
            of.p99_ms.map_or_else(none, ms),
            ms(of.max_ms),
            Cell::Text(busiest),
        ]);
    }
    text += &table.text();
    text
}

/// By the 99th percentile, those with too few requests for one by their longest response time; of equal ones the first.
fn slowest(arrays: &[ArrayFigures]) -> Vec<&ArrayFigures> {
    let mut all: Vec<&ArrayFigures> = arrays.iter().collect();
    let p99 = |of: &ArrayFigures| of.p99_ms.unwrap_or(of.max_ms);
    all.sort_by(|a, b| p99(b).total_cmp(&p99(a)));
    all.truncate(SLOWEST);
    all
}
