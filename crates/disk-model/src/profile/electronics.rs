//! The electronics of a profile: how long commands take, and how data cross the bus.

use serde::{Deserialize, Serialize};

use super::ProfileError;
use super::check::Refuse;

/// What a water mark is a share of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaterMarkOf {
    /// The request.
    #[default]
    Request,
    /// The segment.
    Segment,
}

/// How data cross between the buffer and the host.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools)]
pub struct BusProfile {
    /// A sector of 512 bytes from the buffer to the host.
    pub read_ms_per_sector: f64,
    /// A sector from the host to the buffer.
    pub write_ms_per_sector: f64,
    /// Whether the drive keeps the bus when it has sent all that it has read so far.
    pub hold_reads: bool,
    /// Whether it keeps the bus when its segment is full of data to be written.
    pub hold_writes: bool,
    /// Whether it keeps the bus from the command to the completion.
    pub never_disconnect: bool,
    /// A disconnected read goes on when this share is there; 0: with the first sector.
    pub read_water_mark: f64,
    /// A disconnected write goes on when at most this share is not yet on the medium.
    pub write_water_mark: f64,
    /// Of what.
    pub water_mark_of: WaterMarkOf,
}

/// How long the drive's electronics take, in milliseconds. *After read* and *after write* say what the request
/// was that the drive completed last.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct OverheadsProfile {
    /// At the arrival of each request.
    pub per_request_ms: f64,
    /// A command to read what is in the buffer.
    pub read_hit_after_read_ms: f64,
    /// The same.
    pub read_hit_after_write_ms: f64,
    /// A command to read what is not in the buffer.
    pub read_miss_after_read_ms: f64,
    /// The same.
    pub read_miss_after_write_ms: f64,
    /// A command to write with fast writes.
    pub write_hit_after_read_ms: f64,
    /// The same.
    pub write_hit_after_write_ms: f64,
    /// A command to write without fast writes.
    pub write_miss_after_read_ms: f64,
    /// The same.
    pub write_miss_after_write_ms: f64,
    /// After the last data of a read.
    pub read_completion_ms: f64,
    /// After the last step of a write.
    pub write_completion_ms: f64,
    /// Before data cross the bus, after a command or a reconnection.
    pub data_preparation_ms: f64,
    /// A reconnection.
    pub first_reselect_ms: f64,
    /// The second reconnection of a write with an extra disconnection.
    pub other_reselect_ms: f64,
    /// Leaving the bus in a read.
    pub read_disconnect_after_read_ms: f64,
    /// The same.
    pub read_disconnect_after_write_ms: f64,
    /// Leaving the bus in a write.
    pub write_disconnect_ms: f64,
    /// The least seek before a write that is not appended.
    pub minimum_write_seek_ms: f64,
    /// Writes that leave the bus once more, between the command and the data.
    pub extra_write_disconnect: Option<ExtraDisconnect>,
}

/// A write that follows on a write in the same segment, and does not continue it, leaves the bus after its command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExtraDisconnect {
    /// The command.
    pub command_ms: f64,
    /// Leaving the bus after it.
    pub disconnect_ms: f64,
    /// From there to the reconnection.
    pub between_ms: f64,
    /// Leaving the bus after the data.
    pub second_disconnect_ms: f64,
    /// The arm sets out this long after the command.
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
