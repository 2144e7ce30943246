//! Distributions of response times as pictures and numbers.

use iosonar_analysis::objective::Attained;
use iosonar_plot::{Chart, Colour};
use iosonar_report::{
    Finding, Of, Quantity, cdf_of, curve_with_band, mark_on_distribution, show_quantiles,
};
use iosonar_scenario::SimulationResult;
use iosonar_trace::Requests;
use iosonar_units::{Column, Nanos, Table};

/// A simulation on a picture.
pub(crate) struct Drawn<'a> {
    name: &'a str,
    pub(crate) result: SimulationResult,
    /// The targets with their outcomes.
    targets: Vec<Attained>,
    colour: Colour,
}

impl<'a> Drawn<'a> {
    pub(crate) fn new(
        name: &'a str,
        result: SimulationResult,
        targets: Vec<Attained>,
        colour: Colour,
    ) -> Self {
        Self {
            name,
            result,
            targets,
            colour,
        }
    }
}

/// The distributions of simulations, with their medians and 99th percentiles, and the verdict of each on the targets.
pub(crate) fn chart(title: &str, drawn: &[Drawn<'_>]) -> Chart {
    let marks = drawn.iter().flat_map(|of| {
        curve_with_band(
            of.name,
            &of.result.response_time,
            &of.result.band(),
            of.colour,
        )
    });
    let mut chart = cdf_of(title, Quantity::ResponseTime, marks.collect());
    let curves = drawn
        .iter()
        .map(|of| (of.name, &of.result.response_time, of.colour));
    show_quantiles(&mut chart, &curves.collect::<Vec<_>>());
    let targets = drawn.iter().map(|of| (of.name, &of.targets[..]));
    mark_on_distribution(
        &mut chart,
        Quantity::ResponseTime,
        &targets.collect::<Vec<_>>(),
    );
    chart.conclusion = finding(drawn).map_or(String::new(), |finding| finding.to_string());
    chart
}

/// What follows from the distributions: of one its tail, of several which is slowest, where their intervals say so.
fn finding(drawn: &[Drawn<'_>]) -> Option<Finding> {
    if let [only] = drawn {
        let times = &only.result.response_time.histogram;
        let (median, p99) = (times.quantile(0.5)?, times.quantile(0.99)?);
        return (median > Nanos::ZERO).then_some(Finding::Tail { median, p99 });
    }
    let p = 0.99;
    let p99_of = |of: &Drawn<'_>| {
        let value = of.result.response_time.histogram.quantile(p)?;
        let interval = of.result.quantile_interval_of_ms(Requests::All, p)?;
        let name = of.name.to_owned();
        Some((Of { name, value }, interval))
    };
    let all: Vec<(Of<Nanos>, (f64, f64))> = drawn.iter().map(p99_of).collect::<Option<_>>()?;
    let (slow, (slow_from, _)) = all.iter().max_by_key(|(of, _)| of.value)?;
    let (fast, (_, fast_until)) = all.iter().min_by_key(|(of, _)| of.value)?;
    (fast_until < slow_from).then(|| Finding::Differs {
        p,
        slow: slow.clone(),
        fast: fast.clone(),
        inputs: drawn.len(),
    })
}

/// The table without rows.
pub(crate) fn table() -> Table {
    let columns = [
        Column::texts("scenario"),
        Column::times("response_time_s"),
        Column::numbers("share"),
        Column::numbers("share_low_95"),
        Column::numbers("share_high_95"),
    ];
    Table::new(columns).with("table", "distribution")
}

/// Puts a row for each time at which the distribution function is known: the share of requests that take at most this
/// long, and the ends of its 95 % confidence interval, where that is known.
pub(crate) fn put_rows(table: &mut Table, name: &str, result: &SimulationResult) {
    for point in result.band() {
        let known = point.half_width.is_finite();
        table
            .row()
            .put(name)
            .put(point.value)
            .put(point.share)
            .put(known.then(|| (point.share - point.half_width).max(0.0)))
            .put(known.then(|| (point.share + point.half_width).min(1.0)));
    }
}

#[cfg(test)]
mod tests {
    use iosonar_scenario::{Overrides, Prepared};

    use super::*;

    fn simulated(per_s: f64, seed: u64) -> SimulationResult {
        let text = format!(
            "seed = {seed}\nreplications = 20\n[load]\nrequests = 2000\narrivals = {{ poisson_per_s = {per_s:?} }}\n\
             size = {{ blocks = 1 }}\n[array]\nlevel = 'raid0'\ndisks = 1\n[disk]\nprofile = 'seagate-st3500630ns'\n"
        );
        let prepared = Prepared::from_toml(&text, "s.toml".as_ref(), &Overrides::default());
        prepared.unwrap().run(1, None).unwrap()
    }

    #[test]
    fn a_picture_says_which_is_slower_only_where_that_is_sure() {
        let drawn = |name, per_s, seed| {
            Drawn::new(name, simulated(per_s, seed), Vec::new(), Colour::Curve(0))
        };
        let slower = [drawn("idle", 5.0, 1), drawn("busy", 40.0, 1)];
        let found = finding(&slower);
        let is_busy = matches!(&found, Some(Finding::Differs { slow, .. }) if slow.name == "busy");
        assert!(is_busy, "{found:?}");
        // The same system with other seeds.
        let alike = [drawn("one", 20.0, 1), drawn("two", 20.0, 2)];
        assert_eq!(finding(&alike), None);
        let only = finding(&slower[..1]);
        assert!(matches!(only, Some(Finding::Tail { median, p99 }) if median < p99));
    }
}
