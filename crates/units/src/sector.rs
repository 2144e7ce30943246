//! Positions and lengths on a device, in sectors of 512 bytes.

use std::fmt;
use std::ops::Add;

use crate::Bytes;

/// Bytes in a sector: the unit of the block layer, whatever the device's own block size is.
pub const SECTOR_BYTES: u64 = 512;

/// A position on a device: the number of a sector of 512 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sector(u64);

impl Sector {
    /// From its number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The offset of its first byte.
    pub const fn offset(self) -> Bytes {
        Bytes::new(self.0 * SECTOR_BYTES)
    }
}

impl Add<Sectors> for Sector {
    type Output = Self;
    /// Saturates: what ends behind the largest number lies on no device.
    fn add(self, length: Sectors) -> Self {
        Self(self.0.saturating_add(u64::from(length.get())))
    }
}

impl fmt::Display for Sector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A length on a device, in sectors of 512 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sectors(u32);

impl Sectors {
    /// From a number of sectors.
    pub const fn new(count: u32) -> Self {
        Self(count)
    }

    /// The number of sectors.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The same length in bytes.
    pub const fn bytes(self) -> Bytes {
        Bytes::new(self.0 as u64 * SECTOR_BYTES)
    }
}

impl fmt::Display for Sectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
