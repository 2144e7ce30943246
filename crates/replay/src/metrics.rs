//! The metrics of a replay.

use iosonar_stats::metric::MetricUnit;
use iosonar_stats::{Labels, Metric};
use iosonar_units::Nanos;

use crate::verify::Kind;
use crate::{LATENESS_LIMITS, Summary};

impl Summary {
    /// All metrics of the replay.
    pub fn metrics(&self) -> Vec<Metric> {
        let none = Labels::default();
        let mut metrics: Vec<Metric> = self.times.metrics(&none).collect();
        metrics.push(Metric::times("own_lateness", &none, &self.own_lateness));
        let count = |name: &'static str, labels: &Labels, n: u64| {
            Metric::figure(name, labels, MetricUnit::One, n as f64)
        };
        for (name, n) in [
            ("requests", self.requests),
            ("completed", self.completed),
            ("skipped", self.skipped),
            ("dropped", self.dropped),
            ("pushed_back", self.pushed_back),
            ("ordered_waits", self.ordered_waits),
            ("cancelled", self.cancelled),
            ("errors", self.errors),
            ("short", self.short),
            ("missed", self.missed),
            ("warming_up", self.warming_up),
            ("verify_failed", self.verify_failed),
            ("record_stalls", self.record_stalls),
            ("preemptions", self.interference.preemptions),
            ("most_in_flight", self.most_in_flight() as u64),
        ] {
            metrics.push(count(name, &none, n));
        }
        for kind in Kind::ALL {
            let labels = Labels::of("kind", kind.name());
            metrics.push(count("wrong_sectors", &labels, self.faults_of(kind)));
        }
        for (limit, n) in LATENESS_LIMITS.iter().zip(self.on_time) {
            // Of none there is no share: it is not known.
            let measured = self.completed.saturating_sub(self.warming_up);
            let labels = Labels::of("within_us", limit.as_micros_f64());
            let share = n as f64 / measured as f64;
            metrics.push(Metric::figure("on_time", &labels, MetricUnit::One, share));
        }
        for (name, unit, value) in [
            (
                "elapsed",
                MetricUnit::Seconds,
                Some(self.elapsed.as_secs_f64()),
            ),
            (
                "intended",
                MetricUnit::Seconds,
                Some(self.intended.as_secs_f64()),
            ),
            ("throughput", MetricUnit::PerSecond, Some(self.throughput())),
            (
                "processor_time",
                MetricUnit::Seconds,
                Some(self.processor_time.as_secs_f64()),
            ),
            (
                "run_delay",
                MetricUnit::Seconds,
                self.interference.run_delay.map(Nanos::as_secs_f64),
            ),
        ] {
            if let Some(value) = value {
                metrics.push(Metric::figure(name, &none, unit, value));
            }
        }
        metrics
    }
}
