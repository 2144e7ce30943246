//! The metrics of a simulation, and those of what theory says of it.

mod media;
mod rebuilt;
mod ssd;
mod theory;
mod window;

use iosonar_raid::positioning::{Case, PositioningCounts};
use iosonar_raid::{DeviceEventCounts, ResponseSplit};
use iosonar_stats::metric::{Errors, MetricUnit, QUANTILES, Times};
use iosonar_stats::{Distribution, Labels, Metric, mean_of, quantile_of, sd_of};

use crate::{FleetResult, Prepared, SimulationResult};
pub use rebuilt::Rebuilt;

impl SimulationResult {
    /// All metrics of a simulation, labelled with the name of its scenario. None depends on how fast it was computed.
    pub fn metrics(&self, name: &str, simulation: &Prepared) -> Vec<Metric> {
        let scenario = Labels::of("scenario", name);
        let mut metrics = vec![self.response_time_metric(&scenario)];
        for (op, times) in [("read", &self.reads), ("write", &self.writes)] {
            if times.count() > 0 {
                metrics.push(Metric::times(
                    "response_time",
                    &scenario.with("op", op),
                    times,
                ));
            }
        }
        self.add_split(&mut metrics, &scenario, simulation);
        self.add_stations(&mut metrics, &scenario, simulation);
        let found = Metric::estimate(
            "found_on_arrival",
            &scenario,
            MetricUnit::One,
            &self.mean_found,
        );
        metrics.push(found);
        self.add_window(&mut metrics, &scenario);
        metrics.extend(self.rate_metrics(&scenario));
        if let Some(unserved) = &self.unserved {
            metrics.push(count("unserved", &scenario, unserved.requests));
        }
        if let Some(report) = &self.ssd {
            self.add_ssd(&mut metrics, &scenario, report);
        }
        if let Some(media) = &self.media {
            self.add_media(&mut metrics, &scenario, media);
        }
        metrics.push(count(
            "most_in_flight",
            &scenario,
            self.most_in_flight as u64,
        ));
        add_positioning(&mut metrics, &scenario, &self.positioning);
        self.add_rebuild(&mut metrics, &scenario);
        if let Some(fleet) = &self.fleet {
            add_arrays(&mut metrics, name, fleet);
        }
        if !simulation.array.events.is_empty() {
            let DeviceEventCounts {
                planned,
                happened,
                before_window,
                reissued,
                failed,
                lost_from_cache,
            } = self.device_events;
            for (name, value) in [
                ("device_events_planned", planned),
                ("device_events", happened),
                ("device_events_before_window", before_window),
                ("reissued", reissued),
                ("lost_from_cache", lost_from_cache),
                ("failed", failed),
            ] {
                metrics.push(count(name, &scenario, value));
            }
        }
        metrics
    }

    /// The response times of all requests, with what is known of their errors.
    pub fn response_time_metric(&self, labels: &Labels) -> Metric {
        let intervals = QUANTILES
            .iter()
            .filter_map(|&(name, p)| Some((name.into(), self.quantile_interval_ms(p)?)));
        let errors = Errors {
            sd_stderr: Some(self.sd_ms.stderr).filter(|stderr| stderr.is_finite()),
            interval_95: self.mean_ms.positive_interval_95(),
            stderr_values: self.mean_ms.values,
            quantile_stderr_values: self.sections.len(),
            quantile_intervals_95: Some(intervals.collect()),
        };
        let times = Times {
            errors: Some(errors),
            ..Times::of(&self.response_time)
        };
        times
            .with_quantile_stderrs(|p| self.quantile_ms(p).stderr)
            .metric("response_time", labels)
            .with_stderr(self.mean_ms.stderr)
    }

    /// Requests and data per second.
    pub fn rate_metrics(&self, labels: &Labels) -> [Metric; 2] {
        let (requests, data) = (&self.throughput_per_s, self.megabytes_per_s());
        [
            Metric::estimate("throughput", labels, MetricUnit::PerSecond, requests),
            Metric::estimate(
                "megabytes_per_second",
                labels,
                MetricUnit::MegabytesPerSecond,
                &data,
            ),
        ]
    }

    /// What response times are made of.
    fn add_split(&self, metrics: &mut Vec<Metric>, scenario: &Labels, simulation: &Prepared) {
        let Some(split) = &self.split else { return };
        let runs = &self.split_sections;
        let parts: [(&'static str, Part); 4] = [
            ("wait", |split| &split.wait),
            ("positioning", |split| &split.positioning),
            ("transfer", |split| &split.transfer),
            ("join_delay", |split| &split.join_delay),
        ];
        for (name, of) in parts {
            metrics.push(part(name, scenario, of(split), runs.iter().map(of)));
        }
        for (i, (stage, times)) in simulation
            .stage_names()
            .iter()
            .zip(&split.stages)
            .enumerate()
        {
            let labels = scenario.with("stage", *stage);
            let runs = runs.iter().filter_map(|split| split.stages.get(i));
            metrics.push(part("stage", &labels, times, runs));
        }
    }

    /// How busy each disk is.
    fn add_stations(&self, metrics: &mut Vec<Metric>, scenario: &Labels, simulation: &Prepared) {
        for (disk, utilisation) in self.utilisation.iter().enumerate() {
            let station = scenario.with("station", simulation.array().station(disk));
            for (name, of) in [
                ("utilisation", utilisation),
                ("busy", &self.busy[disk]),
                ("queue_length", &self.mean_jobs[disk]),
            ] {
                metrics.push(Metric::estimate(name, &station, MetricUnit::One, of));
            }
            self.add_station_window(metrics, &station, disk);
        }
    }
}

/// Each of several arrays.
fn add_arrays(metrics: &mut Vec<Metric>, name: &str, fleet: &FleetResult) {
    let idle = Labels::of("scenario", name).with("kind", "idle");
    metrics.push(count("arrays", &idle, u64::from(fleet.idle)));
    for of in &fleet.arrays {
        let labels = Labels::of("scenario", name).with("array", of.number.to_string());
        metrics.push(count("array_requests", &labels, of.requests));
        metrics.push(count("array_failed", &labels, of.failed));
        let figures = [
            ("array_mean", MetricUnit::Milliseconds, Some(of.mean_ms)),
            ("array_p99", MetricUnit::Milliseconds, of.p99_ms),
            ("array_max", MetricUnit::Milliseconds, Some(of.max_ms)),
            (
                "array_throughput",
                MetricUnit::PerSecond,
                Some(of.throughput_per_s),
            ),
            ("array_utilisation", MetricUnit::One, Some(of.utilisation)),
        ];
        for (name, unit, value) in figures {
            metrics.extend(value.map(|value| Metric::figure(name, &labels, unit, value)));
        }
    }
}

/// How often the writes of partial stripes found the arm in which position.
fn add_positioning(metrics: &mut Vec<Metric>, scenario: &Labels, counts: &PositioningCounts) {
    for (kind, cases) in [
        ("read-modify-write", PositioningCounts::MODIFY),
        ("reconstruct-write", PositioningCounts::RECONSTRUCT),
    ] {
        let total = counts.total(cases);
        let kind = scenario.with("kind", kind);
        for case in cases {
            let labels = kind.with("case", case_name(case));
            metrics.push(count("partial_write_positioning", &labels, counts.of(case)));
            if total > 0 {
                let share = counts.share(case, cases);
                metrics.push(Metric::figure(
                    "partial_write_positioning_share",
                    &labels,
                    MetricUnit::One,
                    share,
                ));
            }
        }
        if total > 0 {
            metrics.push(count("partial_writes", &kind, total));
        }
    }
}

/// A part of response times.
type Part = fn(&ResponseSplit) -> &Distribution;

/// A part of response times, with standard errors from replications if there are several.
fn part<'a>(
    name: &'static str,
    labels: &Labels,
    whole: &Distribution,
    runs: impl Iterator<Item = &'a Distribution>,
) -> Metric {
    // A part that has no sample in some run says nothing of how runs differ.
    let runs: Vec<Distribution> = runs.filter(|run| run.count() > 0).cloned().collect();
    let sd = sd_of(whole, &runs).stderr / 1e6;
    let errors = Errors {
        sd_stderr: sd.is_finite().then_some(sd),
        interval_95: None,
        stderr_values: runs.len(),
        quantile_stderr_values: runs.len(),
        quantile_intervals_95: None,
    };
    let times = Times {
        errors: Some(errors),
        ..Times::of(whole)
    };
    times
        .with_quantile_stderrs(|p| quantile_of(whole, &runs, p).stderr / 1e6)
        .metric(name, labels)
        .with_stderr(mean_of(whole, &runs).stderr / 1e6)
}

/// A count.
fn count(name: &'static str, labels: &Labels, n: u64) -> Metric {
    Metric::figure(name, labels, MetricUnit::One, n as f64)
}

/// A count of each kind.
fn add_kinds(
    metrics: &mut Vec<Metric>,
    name: &'static str,
    scenario: &Labels,
    kinds: &[(&'static str, u64)],
) {
    for &(kind, n) in kinds {
        metrics.push(count(name, &scenario.with("kind", kind), n));
    }
}

fn case_name(case: Case) -> &'static str {
    match case {
        Case::Ordinary => "ordinary",
        Case::ModifyBusy | Case::ReconstructBusy => "busy",
        Case::ModifyOther | Case::ReconstructOther => "other-request",
        Case::ModifyLast => "full-turn",
        Case::ModifyWaited | Case::ReconstructWaited => "rotation-only",
        Case::ReconstructFollows => "none",
    }
}
