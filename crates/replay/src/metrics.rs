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
            let measured = self.measured();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Interference;
    use iosonar_stats::metric::Measure;
    use iosonar_trace::Op;

    /// The value of the only metric of this name whose label is this.
    fn figure(metrics: &[Metric], name: &str, labels: &Labels) -> f64 {
        let mut found = metrics
            .iter()
            .filter(|metric| metric.name == name && metric.labels == *labels);
        let (Some(metric), None) = (found.next(), found.next()) else {
            panic!("{name} {labels:?}")
        };
        match &metric.measure {
            Measure::Figure { value, .. } => *value,
            other => panic!("{other:?}"),
        }
    }

    fn summary() -> Summary {
        let mut summary = Summary {
            requests: 30,
            completed: 12,
            warming_up: 2,
            errors: 3,
            on_time: [1, 5, 7, 10],
            elapsed: Nanos::from_millis(1500),
            intended: Nanos::SECOND,
            processor_time: Nanos::from_millis(20),
            interference: Interference {
                preemptions: 4,
                run_delay: Some(Nanos::from_millis(30)),
                timeslices: 5,
            },
            ..Summary::default()
        };
        let us = Nanos::from_micros;
        summary.times.push(Op::Read, us(1), us(100));
        summary
    }

    #[test]
    fn every_figure_has_a_metric() {
        let metrics = summary().metrics();
        for (name, value) in [
            ("requests", 30.0),
            ("completed", 12.0),
            ("warming_up", 2.0),
            ("errors", 3.0),
            ("missed", 0.0),
            ("preemptions", 4.0),
            ("most_in_flight", 0.0),
            ("elapsed", 1.5),
            ("intended", 1.0),
            ("throughput", 10.0 / 1.5),
            ("processor_time", 0.02),
            ("run_delay", 0.03),
        ] {
            let got = figure(&metrics, name, &Labels::default());
            assert!((got - value).abs() < 1e-9, "{name}: {got}");
        }
        for kind in Kind::ALL {
            let labels = Labels::of("kind", kind.name());
            assert!(figure(&metrics, "wrong_sectors", &labels).abs() < 1e-9);
        }
        let times = metrics.iter().filter(|metric| metric.name == "latency");
        assert_eq!(times.count(), 4, "one for each kind of request");
    }

    #[test]
    fn the_share_in_time_is_that_of_the_requests_that_were_measured() {
        // Of ten, as the others were in the warm-up.
        let metrics = summary().metrics();
        for (within_us, share) in [(100.0, 0.1), (1e3, 0.5), (1e4, 0.7), (1e6, 1.0)] {
            let got = figure(&metrics, "on_time", &Labels::of("within_us", within_us));
            assert!((got - share).abs() < 1e-9, "{within_us}: {got}");
        }
        let none = Summary::default().metrics();
        assert!(figure(&none, "on_time", &Labels::of("within_us", 100.0)).is_nan());
    }

    #[test]
    fn what_the_kernel_does_not_count_has_no_metric() {
        let metrics = Summary::default().metrics();
        assert!(metrics.iter().all(|metric| metric.name != "run_delay"));
    }
}
