//! The metrics of networked RAID.

use iosonar_stats::metric::MetricUnit;
use iosonar_stats::{Labels, Metric};

use super::{Elasticity, NetworkAnalysis, NetworkSimulation};

impl NetworkAnalysis {
    /// All metrics of the analysis, for each number of jobs.
    pub fn metrics(&self) -> Vec<Metric> {
        let mut metrics = Vec::new();
        let seconds = |name: &'static str, labels: &Labels, value| {
            Metric::figure(name, labels, MetricUnit::Seconds, value)
        };
        let one = |name: &'static str, labels: &Labels, value| {
            Metric::figure(name, labels, MetricUnit::One, value)
        };
        for station in &self.stations {
            let labels = Labels::of("station", &station.station);
            metrics.push(seconds("service_demand", &labels, station.seconds));
            metrics.push(one("demand_share", &labels, self.demand_share(station)));
            if let Some(last) = self.points.last() {
                let busy = Self::utilisation(station, last);
                metrics.push(one("utilisation", &labels.with("jobs", last.jobs), busy));
            }
        }
        for point in &self.points {
            let labels = Labels::of("jobs", point.jobs);
            let rate = point.throughput_per_s;
            metrics.extend([
                seconds("response_time", &labels, point.response_s),
                Metric::figure("throughput", &labels, MetricUnit::PerSecond, rate),
                seconds("response_time_schweitzer", &labels, point.schweitzer_s),
                seconds("response_time_fork_join", &labels, point.fork_join_s),
            ]);
            for (kind, bounds) in [
                ("asymptotic", point.asymptotic),
                ("balanced", point.balanced),
            ] {
                let labels = labels.with("bound", kind);
                metrics.extend([
                    seconds("response_time_lower_bound", &labels, bounds.lower),
                    seconds("response_time_upper_bound", &labels, bounds.upper),
                ]);
            }
        }
        metrics
    }
}

impl NetworkSimulation {
    /// The response time and throughput of the first class.
    pub fn metrics(&self) -> [Metric; 2] {
        let labels = Labels::of("jobs", self.jobs);
        let (response, throughput) = (&self.response_s[0], &self.throughput_per_s[0]);
        [
            Metric::estimate(
                "response_time_simulated",
                &labels,
                MetricUnit::Seconds,
                response,
            ),
            Metric::estimate(
                "throughput_simulated",
                &labels,
                MetricUnit::PerSecond,
                throughput,
            ),
        ]
    }
}

impl Elasticity {
    /// How much its parameter matters with this many jobs.
    pub fn metrics(&self, jobs: u32) -> [Metric; 3] {
        let labels = Labels::of("jobs", jobs).with("parameter", self.lever.name());
        let of = |name: &'static str, value| Metric::figure(name, &labels, MetricUnit::One, value);
        [
            of("elasticity", self.of_response),
            of("elasticity_of_lower_bound", self.of_lower_bound),
            Metric::figure(
                "change_by_1_percent",
                &labels,
                MetricUnit::Seconds,
                self.seconds_per_percent(),
            ),
        ]
    }
}
