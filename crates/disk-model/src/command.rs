//! The electronics of a drive: how long commands take, depending on what the drive did before.

use crate::DiskProfile;
use crate::profile::{BusProfile, CacheProfile, OverheadsProfile, WaterMarkOf};

/// After a read, after a write.
pub(crate) type After = [f64; 2];

/// The buffer, the overheads and the bus of a drive. Times in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Electronics {
    pub(crate) cache: CacheProfile,
    pub(crate) hold_reads: bool,
    pub(crate) hold_writes: bool,
    pub(crate) never_disconnect: bool,
    read_mark: f64,
    write_mark: f64,
    mark_of: WaterMarkOf,
    pub(crate) read_ns: f64,
    pub(crate) write_ns: f64,
    pub(crate) per_request: f64,
    pub(crate) read_hit: After,
    pub(crate) read_miss: After,
    /// With or without fast writes, as the cache has it.
    pub(crate) write: After,
    pub(crate) read_completion: f64,
    pub(crate) write_completion: f64,
    pub(crate) data_preparation: f64,
    pub(crate) first_reselect: f64,
    pub(crate) other_reselect: f64,
    pub(crate) read_disconnect: After,
    pub(crate) write_disconnect: f64,
    pub(crate) minimum_write_seek: f64,
    pub(crate) extra: Option<Extra>,
}

/// The extra disconnection of a write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extra {
    pub(crate) command: f64,
    pub(crate) disconnect: f64,
    pub(crate) between: f64,
    pub(crate) second_disconnect: f64,
    pub(crate) seek_delta: f64,
}

impl Electronics {
    /// Those of a drive with a buffer.
    pub(crate) fn new(profile: &DiskProfile) -> Option<Self> {
        let cache = profile.cache.clone()?;
        let BusProfile {
            read_ms_per_sector,
            write_ms_per_sector,
            hold_reads,
            hold_writes,
            never_disconnect,
            read_water_mark,
            write_water_mark,
            water_mark_of,
        } = profile.bus.clone().unwrap_or_default();
        let OverheadsProfile {
            per_request_ms,
            read_hit_after_read_ms,
            read_hit_after_write_ms,
            read_miss_after_read_ms,
            read_miss_after_write_ms,
            write_hit_after_read_ms,
            write_hit_after_write_ms,
            write_miss_after_read_ms,
            write_miss_after_write_ms,
            read_completion_ms,
            write_completion_ms,
            data_preparation_ms,
            first_reselect_ms,
            other_reselect_ms,
            read_disconnect_after_read_ms,
            read_disconnect_after_write_ms,
            write_disconnect_ms,
            minimum_write_seek_ms,
            extra_write_disconnect,
        } = profile.overheads.clone().unwrap_or_default();
        let ns = |ms: f64| ms * 1e6;
        let after = |read_ms: f64, write_ms: f64| [ns(read_ms), ns(write_ms)];
        Some(Self {
            hold_reads,
            hold_writes,
            never_disconnect,
            read_mark: read_water_mark,
            write_mark: write_water_mark,
            mark_of: water_mark_of,
            read_ns: ns(read_ms_per_sector),
            write_ns: ns(write_ms_per_sector),
            per_request: ns(per_request_ms),
            read_hit: after(read_hit_after_read_ms, read_hit_after_write_ms),
            read_miss: after(read_miss_after_read_ms, read_miss_after_write_ms),
            write: match cache.fast_writes {
                true => after(write_hit_after_read_ms, write_hit_after_write_ms),
                false => after(write_miss_after_read_ms, write_miss_after_write_ms),
            },
            read_completion: ns(read_completion_ms),
            write_completion: ns(write_completion_ms),
            data_preparation: ns(data_preparation_ms),
            first_reselect: ns(first_reselect_ms),
            other_reselect: ns(other_reselect_ms),
            read_disconnect: after(
                read_disconnect_after_read_ms,
                read_disconnect_after_write_ms,
            ),
            write_disconnect: ns(write_disconnect_ms),
            minimum_write_seek: ns(minimum_write_seek_ms),
            extra: extra_write_disconnect.map(|extra| Extra {
                command: ns(extra.command_ms),
                disconnect: ns(extra.disconnect_ms),
                between: ns(extra.between_ms),
                second_disconnect: ns(extra.second_disconnect_ms),
                seek_delta: ns(extra.seek_delta_ms),
            }),
            cache,
        })
    }

    /// How many sectors must be there, or may still be there, before a disconnected request goes on.
    pub(crate) fn mark(&self, writes: bool, sectors: u64) -> u64 {
        let share = match writes {
            true => self.write_mark,
            false => self.read_mark,
        };
        let segment = self.cache.segment_sectors;
        match self.mark_of {
            WaterMarkOf::Request => ((segment.min(sectors) as f64 * share) as u64).max(1),
            WaterMarkOf::Segment => (segment as f64 * share).ceil() as u64,
        }
    }
}
