//! The measured window: what came and went in it, and the parts that make Little's law exact.

use iosonar_raid::MeasuredWindow;
use iosonar_stats::metric::MetricUnit;
use iosonar_stats::{Labels, Metric};

use super::count;
use crate::SimulationResult;

impl SimulationResult {
    /// The window of all runs together.
    pub(super) fn add_window(&self, metrics: &mut Vec<Metric>, scenario: &Labels) {
        metrics.push(Metric::figure(
            "window",
            scenario,
            MetricUnit::Seconds,
            self.measured_s(),
        ));
        let in_system = &self.mean_in_system;
        metrics.push(Metric::estimate(
            "number_in_system",
            scenario,
            MetricUnit::One,
            in_system,
        ));
        let sum = |of: fn(&MeasuredWindow) -> u64| self.windows.iter().map(of).sum::<u64>();
        for (kind, requests) in [
            ("present-at-start", sum(|w| w.present_at_start)),
            ("arrived", sum(|w| w.arrived)),
            ("completed", sum(|w| w.completed)),
            ("served", sum(|w| w.served)),
            ("present-at-end", sum(|w| w.present_at_end)),
        ] {
            metrics.push(count(
                "window_requests",
                &scenario.with("kind", kind),
                requests,
            ));
        }
        let seconds =
            |of: fn(&MeasuredWindow) -> f64| self.windows.iter().map(of).sum::<f64>() / 1e9;
        for (part, time) in [
            ("measured", seconds(|w| w.measured_time as f64)),
            ("other", seconds(|w| w.other_time as f64)),
            ("edge", seconds(|w| w.edge_time as f64)),
        ] {
            let labels = scenario.with("part", part);
            metrics.push(Metric::figure(
                "time_in_system",
                &labels,
                MetricUnit::Seconds,
                time,
            ));
        }
    }

    /// What was done at a station.
    pub(super) fn add_station_window(
        &self,
        metrics: &mut Vec<Metric>,
        station: &Labels,
        disk: usize,
    ) {
        let usage = &self.usage[disk];
        let done = usage.jobs_done as f64;
        let rate = done / self.measured_s();
        metrics.push(Metric::figure(
            "job_rate",
            station,
            MetricUnit::PerSecond,
            rate,
        ));
        // A device that works on many jobs at a time has no service of one.
        let serves_one = usage.service_time > 0;
        for (of, time, edge) in [
            ("stay", usage.stay_time, usage.stay_edge),
            ("service", usage.service_time, usage.service_edge),
        ] {
            if of == "service" && !serves_one {
                continue;
            }
            let mean = if usage.jobs_done > 0 {
                time as f64 / done / 1e6
            } else {
                0.0
            };
            let labels = station.with("of", of);
            metrics.push(Metric::figure(
                "job_time",
                &labels,
                MetricUnit::Milliseconds,
                mean,
            ));
            let edge = edge as f64 / 1e9;
            metrics.push(Metric::figure(
                "job_edge_time",
                &labels,
                MetricUnit::Seconds,
                edge,
            ));
        }
    }
}
