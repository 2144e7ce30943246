//! The metrics of what theory says.

use iosonar_stats::metric::{self, Measure, MetricUnit, QUANTILES, Quantiles};
use iosonar_stats::{Labels, Metric};
use iosonar_units::counted;

use crate::theory::{Answer, ServiceTheory, StationTheory, Theory};

impl Theory {
    /// All metrics of theory, labelled with the name of the scenario.
    pub fn metrics(&self, name: &str) -> Vec<Metric> {
        let scenario = Labels::of("scenario", name);
        let mut metrics: Vec<Metric> = self
            .services
            .iter()
            .map(|s| service(s, &scenario))
            .collect();
        for of in &self.stations {
            add_station(&mut metrics, of, &scenario);
        }
        for (regime, answer) in self.answers() {
            let labels = scenario.with("kind", regime.name());
            metrics.push(response_time(answer, &labels));
        }
        for (name, unit, value) in [
            (
                "response_time_lower_bound",
                MetricUnit::Milliseconds,
                self.lower_bound_ms,
            ),
            (
                "response_time_upper_bound",
                MetricUnit::Milliseconds,
                self.upper_bound_ms,
            ),
            ("capacity", MetricUnit::PerSecond, self.capacity_per_s),
        ] {
            if let Some(value) = value {
                metrics.push(Metric::figure(name, &scenario, unit, value));
            }
        }
        metrics
    }
}

impl ServiceTheory {
    /// What it is the service of, such as `read of 8 sectors`.
    pub fn name(&self) -> String {
        let verb = if self.writes { "write" } else { "read" };
        let size = counted(self.sectors.into(), ["sector", "sectors"]);
        format!("{verb} of {size}")
    }
}

fn service(of: &ServiceTheory, scenario: &Labels) -> Metric {
    let [mean, variance, third] = of.law.cumulants();
    let measure = Measure::Law {
        mean,
        sd: variance.sqrt(),
        third_central_moment: third,
    };
    let labels = scenario.with("access", of.name());
    Metric::new("service_time", &labels, MetricUnit::Milliseconds, measure)
}

fn add_station(metrics: &mut Vec<Metric>, of: &StationTheory, scenario: &Labels) {
    let labels = scenario.with("station", &of.station);
    for (name, unit, value) in [
        ("utilisation", MetricUnit::One, of.utilisation),
        ("busy", MetricUnit::One, of.busy),
        ("visits", MetricUnit::PerSecond, of.visits_per_s),
        ("service_mean", MetricUnit::Milliseconds, of.mean_service_ms),
    ] {
        metrics.push(Metric::figure(name, &labels, unit, value));
    }
    if of.mean_wait_ms.is_finite() {
        let wait = Metric::figure(
            "wait_mean",
            &labels,
            MetricUnit::Milliseconds,
            of.mean_wait_ms,
        );
        metrics.push(wait);
    }
}

fn response_time(of: &Answer, labels: &Labels) -> Metric {
    let quantiles: Quantiles = QUANTILES
        .iter()
        .map(|&(name, p)| (name.into(), of.quantile_ms(p)))
        .filter(|(_, ms)| ms.is_finite())
        .map(|(name, ms)| (name, Some(ms)))
        .collect();
    let variance = of.variance_ms2().filter(|v| v.is_finite());
    let measure = Measure::Theory(metric::Theory {
        mean: of.mean_ms(),
        variance,
        sd: variance.map(f64::sqrt),
        quantiles,
    });
    let labels = labels.with("standing", of.standing.name());
    Metric::new(
        "response_time_theory",
        &labels,
        MetricUnit::Milliseconds,
        measure,
    )
}
