//! The metrics of shingled drives: what was written, and the media cache.

use iosonar_device::MediaWork;
use iosonar_stats::metric::MetricUnit;
use iosonar_stats::{Labels, Metric};

use super::{add_kinds, count};
use crate::SimulationResult;

impl SimulationResult {
    /// What shingled drives wrote.
    pub(super) fn add_media(
        &self,
        metrics: &mut Vec<Metric>,
        scenario: &Labels,
        media: &MediaWork,
    ) {
        self.add_write_amplification(metrics, scenario);
        let sectors = [
            ("cached", media.cached_sectors),
            ("streamed", media.streamed_sectors),
            ("cleaning-read", media.cleaning_reads),
            ("cleaning-write", media.cleaning_writes),
            ("repaired", media.repair_sectors),
        ];
        add_kinds(metrics, "media_sectors", scenario, &sectors);
        let idle = media.cleaned_bands.saturating_sub(media.awaited_bands);
        let bands = [("idle", idle), ("awaited", media.awaited_bands)];
        add_kinds(metrics, "cleaned_bands", scenario, &bands);
        for (of, taken, all) in [
            ("end", media.cache_fill, media.cache_sectors),
            ("most", media.cache_peak, media.cache_sectors),
            ("map", media.map_entries, media.map_limit),
        ] {
            let share = taken as f64 / all as f64;
            let labels = scenario.with("of", of);
            metrics.push(Metric::figure(
                "media_cache_fill",
                &labels,
                MetricUnit::One,
                share,
            ));
        }
        metrics.push(count("media_cache_entries", scenario, media.map_entries));
    }

    /// What was written by what the host wrote, to flash or to shingled drives.
    pub(super) fn add_write_amplification(&self, metrics: &mut Vec<Metric>, scenario: &Labels) {
        if let Some(factor) = &self.write_amplification {
            let (name, unit) = ("write_amplification", MetricUnit::One);
            metrics.push(Metric::estimate(name, scenario, unit, factor));
        }
    }
}
