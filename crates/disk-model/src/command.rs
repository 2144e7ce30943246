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

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use super::*;

    /// Electronics with a buffer of segments of 100 sectors, after some changes.
    pub(crate) fn electronics(change: impl FnOnce(&mut DiskProfile)) -> Electronics {
        let mut profile = DiskProfile::load("seagate-st3500630ns", Path::new(".")).unwrap();
        profile.cache = Some(CacheProfile {
            segment_sectors: 100,
            ..CacheProfile::default()
        });
        profile.overheads = Some(OverheadsProfile::default());
        profile.bus = Some(BusProfile::default());
        change(&mut profile);
        Electronics::new(&profile).unwrap()
    }

    #[test]
    fn a_water_mark_is_a_share_of_the_request_or_of_the_segment() {
        let marks = |of: WaterMarkOf, read: f64, write: f64| {
            electronics(|profile| {
                profile.bus = Some(BusProfile {
                    read_water_mark: read,
                    write_water_mark: write,
                    water_mark_of: of,
                    ..BusProfile::default()
                });
            })
        };
        let of_request = marks(WaterMarkOf::Request, 0.25, 0.5);
        // Of whole sectors, of no more than a segment, one at least.
        for (sectors, read, write) in [
            (1, 1, 1),
            (7, 1, 3),
            (8, 2, 4),
            (100, 25, 50),
            (300, 25, 50),
        ] {
            assert_eq!(of_request.mark(false, sectors), read, "{sectors}");
            assert_eq!(of_request.mark(true, sectors), write, "{sectors}");
        }
        let of_segment = marks(WaterMarkOf::Segment, 0.251, 0.0);
        assert_eq!(
            (of_segment.mark(false, 8), of_segment.mark(true, 8)),
            (26, 0)
        );
    }

    #[test]
    fn times_are_in_nanoseconds_and_writes_take_those_of_their_kind() {
        let times = |fast_writes: bool| {
            electronics(|profile| {
                profile.cache.as_mut().unwrap().fast_writes = fast_writes;
                profile.overheads = Some(OverheadsProfile {
                    read_hit_after_read_ms: 0.1,
                    read_hit_after_write_ms: 0.2,
                    read_miss_after_read_ms: 0.3,
                    read_miss_after_write_ms: 0.4,
                    write_hit_after_read_ms: 0.5,
                    write_hit_after_write_ms: 0.6,
                    write_miss_after_read_ms: 0.7,
                    write_miss_after_write_ms: 0.8,
                    ..OverheadsProfile::default()
                });
            })
        };
        let near = |seen: After, ms: [f64; 2]| {
            let off = (seen[0] / 1e6 - ms[0]).abs() + (seen[1] / 1e6 - ms[1]).abs();
            assert!(off < 1e-12, "{seen:?}, not {ms:?}");
        };
        for (fast_writes, write) in [(true, [0.5, 0.6]), (false, [0.7, 0.8])] {
            let electronics = times(fast_writes);
            near(electronics.read_hit, [0.1, 0.2]);
            near(electronics.read_miss, [0.3, 0.4]);
            near(electronics.write, write);
        }
        let bare = DiskProfile {
            cache: None,
            ..DiskProfile::load("ibm-18es", Path::new(".")).unwrap()
        };
        assert!(Electronics::new(&bare).is_none());
    }
}
