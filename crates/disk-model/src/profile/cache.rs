//! The buffer of a profile: segments, read-ahead and cached writes.

use serde::{Deserialize, Serialize};

use super::ProfileError;
use super::check::Refuse;

/// How far a drive reads on when it has read what was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadAhead {
    /// Not at all.
    #[default]
    None,
    /// Up to the maximum, at most to the end of the track.
    Track,
    /// Up to the maximum, at most to the end of the cylinder.
    Cylinder,
    /// Up to the maximum.
    Maximum,
    /// To the end of the track, and over the next one too if the stream came from an earlier track.
    NextTrack,
}

/// What happens to requested sectors while the drive reads ahead, if no maximum is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Requested {
    /// They stay: read-ahead only fills the rest of the segment.
    #[default]
    Kept,
    /// Read-ahead may push them out.
    PushedOut,
    /// They are dropped as they are sent.
    DroppedWhenSent,
}

/// Where reading begins when the head arrives in the middle of what was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// With the sector under the head, where `immediate_reads` or `free_blocks` say so.
    #[default]
    AsDocumented,
    /// Always with the first sector, as DiskSim 4.0 does against its manual.
    AsDisksim,
}

/// The drive's buffer: segments, read-ahead and cached writes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools)]
pub struct CacheProfile {
    /// How many segments there are.
    pub segments: u32,
    /// The size of each, in sectors of 512 bytes.
    pub segment_sectors: u64,
    /// How many segments may hold data that are not yet on the medium.
    pub write_segments: u32,
    /// Whether writes use the first segment only, and reads all others.
    pub separate_write_segment: bool,
    /// Whether data stay in the buffer for later requests; otherwise it only matches speeds.
    pub keeps_data: bool,
    /// Whether data of writes serve reads.
    pub read_hits_on_written: bool,
    /// Whether a read that begins with the sector that is read ahead next counts as a hit.
    pub almost_read_hits: bool,
    /// How far the drive reads ahead.
    pub read_ahead: ReadAhead,
    /// Read-ahead that is not interrupted.
    pub minimum_read_ahead_sectors: u64,
    /// The limit of read-ahead; 0: what the segment holds.
    pub maximum_read_ahead_sectors: u64,
    /// What happens to requested sectors if there is no maximum.
    pub requested: Requested,
    /// Whether a read that is served from the buffer starts read-ahead at the end of its segment.
    pub read_ahead_on_hit: bool,
    /// Whether read-ahead is stopped in the middle of a sector, not at its end.
    pub stop_in_sector: bool,
    /// Whether read-ahead that seeks or transfers finishes that step before the next request has the drive.
    pub finish_step: bool,
    /// Whether sectors before those asked for are kept if they pass on the same track.
    pub free_blocks: bool,
    /// Whether reading begins with any sector asked for that passes.
    pub immediate_reads: bool,
    /// Where reading begins when the head arrives.
    pub arrival: Arrival,
    /// Whether a sector is read only if there is room when it begins to pass, not when it has passed.
    pub reads_directly: bool,
    /// Whether what is in the buffer is sent at once, if that is only the first part of a request.
    pub sends_partial_hits: bool,
    /// Whether a write is complete when its data are in the buffer.
    pub fast_writes: bool,
    /// Whether a write that begins where the one before ends is appended to its segment.
    pub combine_writes: bool,
    /// Whether the data of a write wait until the medium is done with the writes before, even if there is a free
    /// segment, as in DiskSim. Drives with a command queue take them at once.
    pub writes_wait_for_medium: bool,
}

impl Default for CacheProfile {
    fn default() -> Self {
        Self {
            segments: 1,
            segment_sectors: 256,
            write_segments: 1,
            separate_write_segment: false,
            keeps_data: true,
            read_hits_on_written: true,
            almost_read_hits: false,
            read_ahead: ReadAhead::None,
            minimum_read_ahead_sectors: 0,
            maximum_read_ahead_sectors: 0,
            requested: Requested::Kept,
            read_ahead_on_hit: false,
            stop_in_sector: false,
            finish_step: false,
            free_blocks: false,
            immediate_reads: false,
            arrival: Arrival::AsDocumented,
            reads_directly: true,
            sends_partial_hits: true,
            fast_writes: false,
            combine_writes: true,
            writes_wait_for_medium: false,
        }
    }
}

impl CacheProfile {
    /// Whether the segments are those of a drive.
    pub(super) fn check(&self, refuse: &Refuse<'_>) -> Result<(), ProfileError> {
        if !(1..=65_536).contains(&self.segments) {
            return refuse("cache.segments", f64::from(self.segments), "1 to 65536");
        }
        if !(1..=1 << 40).contains(&self.segment_sectors) {
            let seen = self.segment_sectors as f64;
            return refuse("cache.segment_sectors", seen, "1 to 2^40");
        }
        let sectors = self
            .segment_sectors
            .saturating_mul(u64::from(self.segments));
        if sectors > 1 << 40 {
            let expected = "at most 2^40 sectors in all segments";
            return refuse(
                "cache.segments x cache.segment_sectors",
                sectors as f64,
                expected,
            );
        }
        if !(1..=self.segments).contains(&self.write_segments) {
            let seen = f64::from(self.write_segments);
            return refuse("cache.write_segments", seen, "1 to the number of segments");
        }
        if self.separate_write_segment && self.segments < 2 {
            let expected = "at least 2 segments, as reads need one too";
            return refuse("cache.separate_write_segment", 1.0, expected);
        }
        for (key, sectors) in [
            (
                "cache.minimum_read_ahead_sectors",
                self.minimum_read_ahead_sectors,
            ),
            (
                "cache.maximum_read_ahead_sectors",
                self.maximum_read_ahead_sectors,
            ),
        ] {
            if sectors > self.segment_sectors {
                return refuse(key, sectors as f64, "at most one segment");
            }
        }
        Ok(())
    }
}
