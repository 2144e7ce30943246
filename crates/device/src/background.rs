//! What a device does while it serves no job.

use iosonar_units::Nanos;

/// What a device did for jobs that it had served before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Background {
    /// How long it worked while no job was in service.
    pub busy: Nanos,
    /// What a shingled drive wrote, in services and behind them.
    pub media: MediaWork,
}

/// What a drive-managed shingled drive wrote, and its media cache when the measurement ended. In sectors of 512 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediaWork {
    /// Of the host, appended to the media cache.
    pub cached_sectors: u64,
    /// Of the host, written to their bands.
    pub streamed_sectors: u64,
    /// Read to clean bands: these, and their blocks in the cache.
    pub cleaning_reads: u64,
    /// Written to clean bands.
    pub cleaning_writes: u64,
    /// The rest of bands in which a run of writes broke off: read and written again.
    pub repair_sectors: u64,
    /// Bands that were cleaned.
    pub cleaned_bands: u64,
    /// Those of them for which a write waited, as the cache was full.
    pub awaited_bands: u64,
    /// The size of the media cache; 0 without one.
    pub cache_sectors: u64,
    /// How much of it was taken, from the oldest block to the newest.
    pub cache_fill: u64,
    /// The most that was taken.
    pub cache_peak: u64,
    /// How many entries its map may have.
    pub map_limit: u64,
    /// How many it had.
    pub map_entries: u64,
}

impl MediaWork {
    /// Sectors of the host that came to the medium.
    pub fn host_sectors(&self) -> u64 {
        self.cached_sectors + self.streamed_sectors
    }

    /// All sectors that were written.
    pub fn written_sectors(&self) -> u64 {
        self.host_sectors() + self.cleaning_writes + self.repair_sectors
    }

    /// All sectors that were written, by those of the host; NaN where the host wrote nothing.
    pub fn write_amplification(&self) -> f64 {
        self.written_sectors() as f64 / self.host_sectors() as f64
    }

    /// Adds that of another drive, or run: sizes and fills too.
    pub fn merge(&mut self, other: &Self) {
        self.cached_sectors += other.cached_sectors;
        self.streamed_sectors += other.streamed_sectors;
        self.cleaning_reads += other.cleaning_reads;
        self.cleaning_writes += other.cleaning_writes;
        self.repair_sectors += other.repair_sectors;
        self.cleaned_bands += other.cleaned_bands;
        self.awaited_bands += other.awaited_bands;
        self.cache_sectors += other.cache_sectors;
        self.cache_fill += other.cache_fill;
        self.cache_peak += other.cache_peak;
        self.map_limit += other.map_limit;
        self.map_entries += other.map_entries;
    }
}
