//! The buffer of a profile: segments, read-ahead and cached writes.

use serde::{Deserialize, Serialize};

use super::ProfileError;
use super::check::Refuse;

/// How far a drive reads ahead after the requested sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadAhead {
    /// Not at all.
    #[default]
    None,
    /// Up to the maximum, but not beyond the end of the track.
    Track,
    /// Up to the maximum, but not beyond the end of the cylinder.
    Cylinder,
    /// Up to the maximum.
    Maximum,
    /// To the end of the track, and also of the next one if the stream began on an earlier track.
    NextTrack,
}

/// What happens to the requested sectors while the drive reads ahead, if there is no maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Requested {
    /// They stay in the segment: read-ahead only fills the rest of it.
    #[default]
    Kept,
    /// Read-ahead may overwrite them.
    PushedOut,
    /// They are dropped when they have been sent.
    DroppedWhenSent,
}

/// Where reading begins if the head arrives in the middle of the requested sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// At the sector under the head, if `immediate_reads` or `free_blocks` is set.
    #[default]
    AsDocumented,
    /// Always at the first sector, as in DiskSim 4.0, contrary to its manual.
    AsDisksim,
}

/// The drive's buffer: segments, read-ahead and cached writes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools)]
pub struct CacheProfile {
    /// The number of segments.
    pub segments: u32,
    /// The size of a segment, in sectors of 512 bytes.
    pub segment_sectors: u64,
    /// The maximum number of segments that may hold data not yet written to the medium.
    pub write_segments: u32,
    /// Whether writes use only the first segment, and reads only the others.
    pub separate_write_segment: bool,
    /// Whether data stay in the buffer for later requests; otherwise the buffer only matches the speeds of medium and
    /// bus.
    pub keeps_data: bool,
    /// Whether reads can hit data that were written.
    pub read_hits_on_written: bool,
    /// Whether a read counts as a hit if it begins at the sector that is read ahead next.
    pub almost_read_hits: bool,
    /// How far the drive reads ahead.
    pub read_ahead: ReadAhead,
    /// The number of sectors that are read ahead without interruption.
    pub minimum_read_ahead_sectors: u64,
    /// The maximum number of sectors that are read ahead; 0 for as many as the segment holds.
    pub maximum_read_ahead_sectors: u64,
    /// What happens to the requested sectors during read-ahead without a maximum.
    pub requested: Requested,
    /// Whether a read hit starts read-ahead at the end of its segment.
    pub read_ahead_on_hit: bool,
    /// Whether read-ahead can be stopped within a sector, and not only at the end of a sector.
    pub stop_in_sector: bool,
    /// Whether read-ahead completes a seek or transfer in progress before the drive starts the next request.
    pub finish_step: bool,
    /// Whether the drive keeps sectors that precede the requested ones on the same track and pass under the head first.
    pub free_blocks: bool,
    /// Whether reading may begin at any requested sector that passes under the head.
    pub immediate_reads: bool,
    /// Where reading begins if the head arrives in the middle of the requested sectors.
    pub arrival: Arrival,
    /// Whether the segment must have room for a sector when the sector begins to pass under the head, instead of when
    /// it has passed.
    pub reads_directly: bool,
    /// Whether the drive sends the first part of a request at once if only that part is in the buffer.
    pub sends_partial_hits: bool,
    /// Whether a write completes when its data are in the buffer.
    pub fast_writes: bool,
    /// Whether a write that begins where the previous one ends is appended to the segment of that write.
    pub combine_writes: bool,
    /// Whether the data of a write wait until the earlier writes are on the medium, even if a segment is free, as in
    /// DiskSim. Drives with a command queue accept the data at once.
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
            let expected = "at most 2^40 sectors in all segments together";
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
            let expected = "at least 2 segments, because reads also need one";
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
