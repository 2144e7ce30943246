//! What shingled drives were like: the media cache, cleaning.

use iosonar_report::grouped;
use iosonar_scenario::{Prepared, SimulationResult};
use iosonar_units::SECTOR_BYTES;

use crate::render::messages::Warning;
use crate::render::not_cleaned;

/// The lines for people.
pub(crate) fn describe(simulation: &Prepared, result: &SimulationResult) -> String {
    let Some(media) = &result.media else {
        return String::new();
    };
    let percent = |taken: u64, all: u64| format!("{:.1} %", 100.0 * taken as f64 / all as f64);
    let gigabytes = |sectors: u64| format!("{:.3} GB", sectors as f64 * SECTOR_BYTES as f64 / 1e9);
    let mut text = format!(
        "  media cache   {} in use at the end, {} at most; {} of {} map entries\n",
        percent(media.cache_fill, media.cache_sectors),
        percent(media.cache_peak, media.cache_sectors),
        grouped(media.map_entries),
        grouped(media.map_limit),
    );
    text += &format!(
        "  written       {} to the cache, {} to bands, {} by cleaning\n",
        gigabytes(media.cached_sectors),
        gigabytes(media.streamed_sectors),
        gigabytes(media.cleaning_writes + media.repair_sectors),
    );
    if media.host_sectors() > 0 {
        text += &format!(
            "  cleaning      {} bands, {} of them while writes waited; write amplification {:.2}\n",
            grouped(media.cleaned_bands),
            grouped(media.awaited_bands),
            media.write_amplification(),
        );
    }
    if let Some(not_cleaned) = simulation.not_cleaned(result) {
        text += &format!(
            "  NOT CLEANED   {}{}\n",
            not_cleaned::why(not_cleaned),
            Warning::BandsNotCleaned.tag()
        );
    }
    text
}
