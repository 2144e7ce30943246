//! The metrics of a load and of its outcome.

use iosonar_stats::metric::{Measure, MetricUnit, Times};
use iosonar_stats::{Labels, Metric};
use iosonar_trace::Metadata;
use iosonar_units::Nanos;

use crate::load::{name_of, windows};
use crate::{Activity, Burstiness, Decomposition, Fit, GAPS, LoadSummary, OutcomeSummary};

impl LoadSummary {
    /// All metrics of the load. `not_submitted` requests were recorded, but never submitted, so they are not in it.
    pub fn metrics(&self, labels: &Labels, not_submitted: u64) -> Vec<Metric> {
        let mut metrics = Vec::new();
        for (op, amount) in [
            ("read", self.reads),
            ("write", self.writes),
            ("other", self.other),
        ] {
            let labels = labels.with("op", op);
            metrics.push(count("requests", &labels, amount.requests));
            metrics.push(sectors("sectors", &labels, amount.sectors));
        }
        metrics.push(count("not_submitted", labels, not_submitted));
        let b = &self.burstiness;
        for (name, unit, value) in [
            ("first_start", MetricUnit::Seconds, self.first.as_secs_f64()),
            ("last_start", MetricUnit::Seconds, self.last.as_secs_f64()),
            (
                "requests_per_second",
                MetricUnit::PerSecond,
                self.requests_per_s,
            ),
            ("all_requests", MetricUnit::One, self.requests() as f64),
            ("read_share", MetricUnit::One, self.read_share()),
            ("span", MetricUnit::Seconds, self.span().as_secs_f64()),
            (
                "sectors_per_second",
                MetricUnit::PerSecond,
                self.sectors_per_s(),
            ),
            ("end_sector", MetricUnit::Sectors, self.end_sector as f64),
            ("shortest", MetricUnit::Sectors, f64::from(self.shortest)),
            ("longest", MetricUnit::Sectors, f64::from(self.longest)),
            ("turns", MetricUnit::One, self.turns as f64),
            ("sequential", MetricUnit::One, self.sequential as f64),
            ("successors", MetricUnit::One, self.successors as f64),
            ("mean_distance", MetricUnit::Sectors, self.mean_distance),
            ("most_per_second", MetricUnit::One, b.most_per_s as f64),
            ("peak_to_mean", MetricUnit::One, b.peak_to_mean),
            ("interarrival_cv", MetricUnit::One, b.interarrival_cv),
            (
                "distinct_pages",
                MetricUnit::One,
                self.distinct_pages as f64,
            ),
            ("page_accesses", MetricUnit::One, self.page_accesses as f64),
            ("sampling_rate", MetricUnit::One, self.sampling_rate),
            (
                "window_excess",
                MetricUnit::Seconds,
                self.window_excess.as_secs_f64(),
            ),
            ("cold_share", MetricUnit::One, self.curve.cold_share()),
        ] {
            metrics.push(Metric::figure(name, labels, unit, value));
        }
        let distinct = self.distinct_sectors;
        let stderr = distinct as f64 * self.working_set_stderr;
        metrics.push(sectors("distinct_sectors", labels, distinct).with_stderr(stderr));
        metrics.push(self.distances(labels));
        b.add_to(&mut metrics, labels);
        for (gap, n) in GAPS.iter().zip(self.close_overlaps) {
            let labels = labels.with("within_s", gap.as_secs_f64());
            metrics.push(count("overlaps", &labels, n));
        }
        self.add_reuse(&mut metrics, labels);
        self.add_working_sets(&mut metrics, labels);
        metrics
    }

    /// The distribution of the distances from the end of a request to the next one.
    fn distances(&self, labels: &Labels) -> Metric {
        let sectors = |ns: Nanos| ns.get() as f64;
        let times = Times {
            mean: (self.successors > 0).then_some(self.mean_distance),
            ..Times::of_quantiles(&self.distance, sectors)
        };
        let measure = Measure::Times(Box::new(times));
        Metric::new("distance", labels, MetricUnit::Sectors, measure)
    }

    /// How often pages are accessed again.
    fn add_reuse(&self, metrics: &mut Vec<Metric>, labels: &Labels) {
        for pages in self.cache_sizes() {
            let labels = labels.with("cache_bytes", pages * 4096);
            let ratio = self.curve.miss_ratio(pages);
            metrics.push(Metric::figure(
                "miss_ratio",
                &labels,
                MetricUnit::One,
                ratio,
            ));
        }
        for hot in &self.hot {
            let labels = labels.with("accesses", hot.accesses);
            metrics.push(count("hot_pages", &labels, hot.pages));
            metrics.push(Metric::figure(
                "hot_share",
                &labels,
                MetricUnit::One,
                hot.share,
            ));
        }
    }

    fn add_working_sets(&self, metrics: &mut Vec<Metric>, labels: &Labels) {
        let Some((_, last)) = self.series.last() else {
            return;
        };
        for (i, window) in windows().enumerate() {
            let most = self.series.iter().map(|(_, p)| p.working_set[i]).max();
            let labels = labels.with("window", name_of(window));
            metrics.push(sectors("working_set_last", &labels, last.working_set[i]));
            metrics.push(sectors("working_set_max", &labels, most.unwrap_or(0)));
        }
        for of in self.window_sizes() {
            let labels = labels.with("window", of.name());
            for (name, unit, value) in [
                ("working_set_mean", MetricUnit::Sectors, of.mean),
                ("span_mean", MetricUnit::Sectors, of.mean_span),
                (
                    "span_per_working_set",
                    MetricUnit::One,
                    of.span_per_sector(),
                ),
            ] {
                metrics.push(Metric::figure(name, &labels, unit, value));
            }
        }
    }

    /// The sizes of caches in pages of which there is a miss ratio: 1 MiB and its powers of four.
    pub fn cache_sizes(&self) -> Vec<u64> {
        let is_sensible = |pages: &u64| *pages < 4 * self.distinct_pages && *pages < 1 << 50;
        std::iter::successors(Some(256), |pages| Some(pages * 4))
            .take_while(is_sensible)
            .collect()
    }
}

impl Burstiness {
    /// How unevenly requests arrive.
    fn add_to(&self, metrics: &mut Vec<Metric>, labels: &Labels) {
        let interarrival = Times::of_quantiles(&self.interarrival, Nanos::as_millis_f64);
        metrics.push(interarrival.metric("interarrival", labels));
        let dispersion =
            |labels: &Labels, value| Metric::figure("dispersion", labels, MetricUnit::One, value);
        metrics.push(dispersion(&labels.with("slot_s", 1.0), self.dispersion));
        for (slot, value) in &self.dispersions {
            let labels = labels.with("slot_s", slot.as_secs_f64());
            let labels = labels.with("levels", "powers of two of 10 ms");
            metrics.push(dispersion(&labels, *value));
        }
        if let Some(hurst) = self.hurst {
            let metric = Metric::figure("hurst", labels, MetricUnit::One, hurst.value);
            metrics.push(metric.with_stderr(hurst.stderr));
        }
    }
}

impl OutcomeSummary {
    /// All metrics of the outcome of a load; the names of devices are those of the metadata.
    pub fn metrics(&self, labels: &Labels, metadata: &Metadata) -> Vec<Metric> {
        let mut metrics = Vec::new();
        for (op, of) in [("read", &self.reads), ("write", &self.writes)] {
            let labels = labels.with("op", op);
            metrics.extend([
                Metric::times("response_time", &labels, &of.response_time),
                Metric::times("latency", &labels, &of.latency),
                Metric::times("delay", &labels, &of.delay),
            ]);
        }
        for (class, directions) in &self.by_size {
            let labels = labels.with("up_to_sectors", *class);
            for (op, times) in ["read", "write"].into_iter().zip(directions) {
                if times.count() > 0 {
                    metrics.push(Metric::times(
                        "latency_of_size",
                        &labels.with("op", op),
                        times,
                    ));
                }
            }
        }
        let [all, mixed, writes] = self.damaged;
        let timed = self.reads.latency.count() + self.writes.latency.count();
        let share = |n: u64| n as f64 / timed as f64;
        for (name, unit, value) in [
            ("in_flight", MetricUnit::One, self.in_flight),
            ("in_flight_max", MetricUnit::One, self.most_in_flight as f64),
            (
                "demanded_duration",
                MetricUnit::Seconds,
                self.demanded.as_secs_f64(),
            ),
            (
                "actual_duration",
                MetricUnit::Seconds,
                self.actual.as_secs_f64(),
            ),
            ("duration_ratio", MetricUnit::One, self.duration_ratio()),
            ("damaged", MetricUnit::One, mixed as f64),
            ("damaged_any", MetricUnit::One, all as f64),
            ("damaged_writes", MetricUnit::One, writes as f64),
            ("damaged_share", MetricUnit::One, share(mixed)),
            ("damaged_any_share", MetricUnit::One, share(all)),
            ("damaged_writes_share", MetricUnit::One, share(writes)),
            ("not_measured", MetricUnit::One, self.untimed as f64),
            ("not_done", MetricUnit::One, self.not_done as f64),
        ] {
            metrics.push(Metric::figure(name, labels, unit, value));
        }
        self.activity.add_to(&mut metrics, labels, metadata);
        metrics
    }
}

impl Activity {
    fn add_to(&self, metrics: &mut Vec<Metric>, labels: &Labels, metadata: &Metadata) {
        let peak = self.peak.as_ref().map(|peak| &peak.decomposition);
        for (when, of) in [("all", Some(&self.decomposition)), ("peak", peak)] {
            let Some(of) = of else { continue };
            for (op, of) in [("read", &of.reads), ("write", &of.writes)] {
                of.add_to(metrics, &labels.with("op", op).with("when", when));
            }
        }
        let share = |name: &'static str, labels: &Labels, value| {
            Metric::figure(name, labels, MetricUnit::One, value)
        };
        for device in &self.devices {
            let labels = labels.with("device", metadata.device_name(device.device));
            metrics.push(share("utilisation", &labels, device.utilisation));
        }
        for group in &self.groups {
            let labels = labels.with("from_s", group.begin.as_secs_f64());
            metrics.extend([
                count("requests", &labels, group.requests.all),
                share("concurrency_p50", &labels, group.concurrency[0] as f64),
                share("concurrency_p75", &labels, group.concurrency[1] as f64),
                share("in_flight_p50", &labels, group.in_flight[0] as f64),
                share("in_flight_p75", &labels, group.in_flight[1] as f64),
                share("utilisation", &labels, group.utilisation.all),
                share("busy", &labels, group.busy),
            ]);
            for (op, busy) in [
                ("read", group.utilisation.reads),
                ("write", group.utilisation.writes),
            ] {
                metrics.push(share("utilisation_of_op", &labels.with("op", op), busy));
            }
            let quantiles = group.response_time.all.into_iter().flatten();
            for (time, quantile) in quantiles.zip([0.5, 0.75, 0.95, 0.99]) {
                let labels = labels.with("quantile", quantile);
                let (ms, time) = (MetricUnit::Milliseconds, time.as_millis_f64());
                metrics.push(Metric::figure("response_time_quantile", &labels, ms, time));
            }
        }
    }
}

impl Decomposition {
    fn add_to(&self, metrics: &mut Vec<Metric>, labels: &Labels) {
        let ms = |name: &'static str, value| {
            Metric::figure(name, labels, MetricUnit::Milliseconds, value)
        };
        // What is not known is NaN.
        let parts = self.parts();
        let io = parts.as_ref().map_or(f64::NAN, |parts| parts.io_ms);
        let overhead = parts.map_or(f64::NAN, |parts| parts.overhead_ms);
        metrics.extend([ms("io_median", io), ms("overhead_median", overhead)]);
        for (blocks, (n, median)) in [(1_u64, self.one), (2, self.two)] {
            if n > 0 {
                let labels = labels.with("blocks", blocks);
                let (unit, name) = (MetricUnit::Milliseconds, "response_time_median");
                metrics.push(Metric::figure(name, &labels, unit, median));
            }
        }
        if let Some(fit) = self.fit.filter(Fit::explains) {
            metrics.extend([
                ms("io_fit", fit.io_ms).with_stderr(fit.io_stderr_ms),
                ms("overhead_fit", fit.overhead_ms).with_stderr(fit.overhead_stderr_ms),
            ]);
        }
    }
}

/// A count.
fn count(name: &'static str, labels: &Labels, n: u64) -> Metric {
    Metric::figure(name, labels, MetricUnit::One, n as f64)
}

/// A number of sectors.
fn sectors(name: &'static str, labels: &Labels, n: u64) -> Metric {
    Metric::figure(name, labels, MetricUnit::Sectors, n as f64)
}
