//! The electronics of a profile: how long commands take, and how data cross the bus.

use serde::{Deserialize, Serialize};

use super::ProfileError;
use super::check::Refuse;

/// The quantity of which a water mark is a share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaterMarkOf {
    /// The request.
    #[default]
    Request,
    /// The segment.
    Segment,
}

/// The bus between the buffer and the host.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools)]
pub struct BusProfile {
    /// The time to transfer a sector of 512 bytes from the buffer to the host.
    pub read_ms_per_sector: f64,
    /// The time to transfer a sector of 512 bytes from the host to the buffer.
    pub write_ms_per_sector: f64,
    /// Whether the drive holds the bus while it has no more data to send for a read.
    pub hold_reads: bool,
    /// Whether the drive holds the bus during a write while its segment is full of unwritten data.
    pub hold_writes: bool,
    /// Whether the drive holds the bus from the command to the completion.
    pub never_disconnect: bool,
    /// The share of data that must be in the buffer before a disconnected read continues; with 0, it continues after
    /// the first sector.
    pub read_water_mark: f64,
    /// The maximum share of data not yet on the medium at which a disconnected write continues.
    pub write_water_mark: f64,
    /// The quantity of which the water marks are shares.
    pub water_mark_of: WaterMarkOf,
}

/// The overheads of the drive's electronics, in milliseconds. `after_read` and `after_write` refer to the last request
/// that the drive completed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct OverheadsProfile {
    /// The overhead at the arrival of each request.
    pub per_request_ms: f64,
    /// The command overhead of a read hit after a read.
    pub read_hit_after_read_ms: f64,
    /// The command overhead of a read hit after a write.
    pub read_hit_after_write_ms: f64,
    /// The command overhead of a read miss after a read.
    pub read_miss_after_read_ms: f64,
    /// The command overhead of a read miss after a write.
    pub read_miss_after_write_ms: f64,
    /// The command overhead of a write after a read, with `cache.fast_writes`.
    pub write_hit_after_read_ms: f64,
    /// The command overhead of a write after a write, with `cache.fast_writes`.
    pub write_hit_after_write_ms: f64,
    /// The command overhead of a write after a read, without `cache.fast_writes`.
    pub write_miss_after_read_ms: f64,
    /// The command overhead of a write after a write, without `cache.fast_writes`.
    pub write_miss_after_write_ms: f64,
    /// The overhead after the last data of a read.
    pub read_completion_ms: f64,
    /// The overhead after the last step of a write.
    pub write_completion_ms: f64,
    /// The overhead between a command or reconnection and the transfer of data on the bus.
    pub data_preparation_ms: f64,
    /// The time of a reconnection to the bus.
    pub first_reselect_ms: f64,
    /// The time of the second reconnection of a write with an extra disconnection.
    pub other_reselect_ms: f64,
    /// The time to disconnect from the bus during a read after a read.
    pub read_disconnect_after_read_ms: f64,
    /// The time to disconnect from the bus during a read after a write.
    pub read_disconnect_after_write_ms: f64,
    /// The time to disconnect from the bus during a write.
    pub write_disconnect_ms: f64,
    /// The minimum seek time before a write that is not appended to a segment.
    pub minimum_write_seek_ms: f64,
    /// An extra disconnection of writes, between the command and the data.
    pub extra_write_disconnect: Option<ExtraDisconnect>,
}

/// The extra disconnection of a write that uses the same segment as the previous write, but does not continue it: the
/// write disconnects from the bus after its command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExtraDisconnect {
    /// The command overhead.
    pub command_ms: f64,
    /// The time to disconnect after the command.
    pub disconnect_ms: f64,
    /// The time from the disconnection to the reconnection.
    pub between_ms: f64,
    /// The time to disconnect after the data.
    pub second_disconnect_ms: f64,
    /// The time from the end of the command overhead until the arm starts to move.
    pub seek_delta_ms: f64,
}

impl BusProfile {
    /// Whether the times and the shares are those of a drive.
    pub(super) fn check(&self, refuse: &Refuse<'_>) -> Result<(), ProfileError> {
        for (key, share) in [
            ("bus.read_water_mark", self.read_water_mark),
            ("bus.write_water_mark", self.write_water_mark),
        ] {
            if !(0.0..=1.0).contains(&share) {
                return refuse(key, share, "a fraction from 0 to 1");
            }
        }
        for (key, t) in [
            ("bus.read_ms_per_sector", self.read_ms_per_sector),
            ("bus.write_ms_per_sector", self.write_ms_per_sector),
        ] {
            // 5 kB/s: the medium turns for as long as a sector crosses.
            if !(0.0..=100.0).contains(&t) {
                return refuse(key, t, "a time in milliseconds, 0 to 100");
            }
        }
        Ok(())
    }
}

/// Fields with their keys in a table of the profile.
macro_rules! keyed {
    ($table:literal, $of:expr, [$($field:ident),* $(,)?]) => {
        [$((concat!($table, ".", stringify!($field)), $of.$field)),*]
    };
}

impl OverheadsProfile {
    /// Whether the times are those of a drive.
    pub(super) fn check(&self, refuse: &Refuse<'_>) -> Result<(), ProfileError> {
        let extra = self.extra_write_disconnect.unwrap_or_default();
        let own = keyed!(
            "overheads",
            self,
            [
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
                minimum_write_seek_ms
            ]
        );
        let of_extra = keyed!(
            "overheads.extra_write_disconnect",
            extra,
            [
                command_ms,
                disconnect_ms,
                between_ms,
                second_disconnect_ms,
                seek_delta_ms
            ]
        );
        for (key, t) in own.into_iter().chain(of_extra) {
            if !(0.0..=1e6).contains(&t) {
                return refuse(key, t, "a time in milliseconds, 0 to 1e6");
            }
        }
        Ok(())
    }
}
