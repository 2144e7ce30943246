//! The table `[array.md]`: Linux's software RAID.

use iosonar_raid::RmwLevel;
use toml::Spanned;

use super::table_of_keys;
use crate::words::Given;

/// The software whose arrays are simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LikeName {
    /// Linux's software RAID.
    LinuxMd,
}

table_of_keys! {
    /// The table `[array.md]`.
    #[derive(Default)]
    pub struct MdFile {
        /// the offset of the data on each disk, which `mdadm --examine` prints as `Data Offset`
        #[default = "1 MiB"]
        #[comment = "bytes before the start of the data"]
        pub data_offset: Option<Spanned<String>>,
        /// the chunk size of a write-intent bitmap, such as `"64MiB"`; not for RAID 0
        #[default = "no bitmap"]
        #[comment = "chunk size of the bitmap, in bytes"]
        pub bitmap: Option<Spanned<String>>,
        /// for RAID 10, the placement of the copies: `"near"`, `"far"`, `"offset"`
        #[default = "near"]
        #[comment = "placement of the copies"]
        pub copies_lie: Option<Spanned<Given<CopiesLie>>>,
        /// for RAID 5 and 6, when read-modify-writes are used: `"never"` (md's `rmw_level` 0), `"allowed"` (1: if they
        /// read less than a reconstruct-write) or `"preferred"` (2: if they do not read more)
        #[default = "allowed"]
        #[comment = "when read-modify-writes are used"]
        pub rmw: Option<Spanned<Given<RmwLevel>>>,
        /// for RAID 5 and 6, the size of the stripe cache in rows of pages, from 17 to 32768
        #[default = "256"]
        #[comment = "size of the stripe cache, in rows of pages"]
        pub stripe_cache_size: Option<Spanned<usize>>,
    }
}

/// How the copies of RAID 10 are placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopiesLie {
    /// On neighbouring disks.
    #[default]
    Near,
    /// In another part of the next disk.
    Far,
    /// In the next row of the next disk.
    Offset,
}
