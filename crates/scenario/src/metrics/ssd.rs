//! The metrics of SSDs: stations, blocks, flash.

use iosonar_ssd_model::SsdReport;
use iosonar_stats::metric::MetricUnit;
use iosonar_stats::{Labels, Metric};

use super::{add_kinds, count};
use crate::SimulationResult;

impl SimulationResult {
    /// How many requests to an SSD it completes with an interrupt, on average; `None` without interrupts. Both are counted in
    /// the measured window.
    pub fn requests_per_interrupt(&self) -> Option<f64> {
        let report = self.ssd.as_ref().filter(|report| report.interrupts > 0)?;
        let done: u64 = self.usage.iter().map(|usage| usage.jobs_done).sum();
        Some(done as f64 / report.interrupts as f64)
    }

    /// What SSDs did.
    pub(super) fn add_ssd(&self, metrics: &mut Vec<Metric>, scenario: &Labels, report: &SsdReport) {
        for station in &report.stations {
            let labels = scenario.with("station", &station.name);
            let utilisation = report.utilisation(station);
            metrics.push(Metric::figure(
                "utilisation",
                &labels,
                MetricUnit::One,
                utilisation,
            ));
        }
        for kind in report.kinds() {
            let labels = scenario.with("kind", &kind.name);
            metrics.push(count("stations", &labels, kind.count as u64));
            metrics.push(Metric::figure(
                "mean_utilisation",
                &labels,
                MetricUnit::One,
                kind.mean,
            ));
        }
        for (size, &n) in report
            .block_sizes
            .iter()
            .enumerate()
            .filter(|(_, n)| **n > 0)
        {
            metrics.push(count("blocks", &scenario.with("descriptors", size), n));
        }
        self.add_flash(metrics, scenario, report);
        if let Some(limits) = &report.limits {
            let passed = [
                ("at-once", limits.passed - limits.delayed),
                ("delayed", limits.delayed),
            ];
            add_kinds(metrics, "let_through", scenario, &passed);
        }
        if let Some(cache) = &report.cache {
            let pages = [
                ("written", cache.writes),
                ("written-again", cache.write_hits),
                ("waited", cache.waits),
                ("read", cache.read_hits),
            ];
            add_kinds(metrics, "cache_pages", scenario, &pages);
        }
        if let Some(cache) = report.cache.filter(|cache| cache.flushes > 0) {
            let mean_ms = cache.flush_time as f64 / cache.flushes as f64 / 1e6;
            let mean = Metric::figure("flush_time", scenario, MetricUnit::Milliseconds, mean_ms);
            metrics.extend([count("flushes", scenario, cache.flushes), mean]);
        }
        if let Some((hits, misses)) = report.mapping {
            let all = [("hit", hits), ("miss", misses)];
            add_kinds(metrics, "mapping_cache", scenario, &all);
        }
        metrics.push(count("interrupts", scenario, report.interrupts));
        metrics.extend(
            self.requests_per_interrupt()
                .map(|n| Metric::figure("requests_per_interrupt", scenario, MetricUnit::One, n)),
        );
        metrics.push(count("failed_commands", scenario, report.failed_commands));
    }

    /// What was written to flash, for whom, and how worn it is.
    fn add_flash(&self, metrics: &mut Vec<Metric>, scenario: &Labels, report: &SsdReport) {
        let Some(ftl) = &report.ftl else { return };
        let pages = [
            ("host_writes", ftl.host_writes),
            ("copies", ftl.copies),
            ("discards", ftl.discards),
        ];
        add_kinds(metrics, "logical_pages", scenario, &pages);
        self.add_write_amplification(metrics, scenario);
        let flash = &report.flash;
        if flash.refreshed > 0 {
            metrics.push(count("refreshed_blocks", scenario, flash.refreshed));
        }
        let operations = [
            ("read", flash.reads),
            ("program", flash.programs),
            ("cleaning-read", flash.cleaning_reads),
            ("cleaning-program", flash.cleaning_programs),
            ("erase", flash.erases),
            ("suspension", flash.suspensions),
        ];
        add_kinds(metrics, "flash_operations", scenario, &operations);
        if flash.map_programs > 0 {
            let programs = [("map-program", flash.map_programs)];
            add_kinds(metrics, "flash_operations", scenario, &programs);
        }
        let joined = flash.joined;
        if joined.operations() > 0 {
            let joined = [
                ("read", joined.reads),
                ("program", joined.programs),
                ("erase", joined.erases),
            ];
            add_kinds(metrics, "multi_plane_operations", scenario, &joined);
        }
        let wear = &report.wear;
        for (of, value) in [
            ("least", f64::from(wear.least)),
            ("mean", wear.mean()),
            ("most", f64::from(wear.most)),
        ] {
            let labels = scenario.with("of", of);
            metrics.push(Metric::figure(
                "erases_per_block",
                &labels,
                MetricUnit::One,
                value,
            ));
        }
    }
}
