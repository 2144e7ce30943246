//! Sizes in bytes, for the edges where people and files speak of bytes.

use std::fmt;
use std::str::FromStr;

use crate::decimal::{ParseUnitError, scaled, split_unit};
use crate::{SECTOR_BYTES, Sectors};

/// A size or an offset in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// From a number of bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The same size in sectors; `None` if it is not a whole number of them or does not fit.
    pub fn sectors(self) -> Option<Sectors> {
        if !self.0.is_multiple_of(SECTOR_BYTES) {
            return None;
        }
        u32::try_from(self.0 / SECTOR_BYTES).ok().map(Sectors::new)
    }
}

/// For people, in binary units: `128 KiB`, `1.5 GiB`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shift, unit) = match self.0 {
            0..1024 => return f.pad(&format!("{} B", self.0)),
            1024..0x10_0000 => (10, "KiB"),
            0x10_0000..0x4000_0000 => (20, "MiB"),
            0x4000_0000..0x100_0000_0000 => (30, "GiB"),
            0x100_0000_0000..0x4_0000_0000_0000 => (40, "TiB"),
            _ => (50, "PiB"),
        };
        let value = self.0 as f64 / (1_u64 << shift) as f64;
        let text = format!("{value:.2}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        f.pad(&format!("{text} {unit}"))
    }
}

/// Reads a number with a unit: `4096`, `4K`, `128KiB` (binary), `1MB` (decimal), `8s` (sectors).
impl FromStr for Bytes {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let error = || {
            ParseUnitError::new(
                text,
                "a size such as 4096, 4KiB, 128K, 1MB, 2GiB or 8s (sectors)",
            )
        };
        let (number, unit) = split_unit(text);
        let scale = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "s" => SECTOR_BYTES,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            "t" | "tib" => 1 << 40,
            "p" | "pib" => 1 << 50,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            "pb" => 1_000_000_000_000_000,
            _ => return Err(error()),
        };
        scaled(number, scale).map(Self).ok_or_else(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_binary_decimal_and_sectors() {
        for (text, bytes) in [
            ("4096", 4096),
            ("4k", 4096),
            ("128KiB", 131_072),
            ("1MB", 1_000_000),
            ("1.5G", 1_610_612_736),
            ("8s", 4096),
            ("2PB", 2_000_000_000_000_000),
            ("16383PiB", 16_383 << 50),
        ] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        assert!("12 parsecs".parse::<Bytes>().is_err());
        assert!("16384PiB".parse::<Bytes>().is_err());
        assert_eq!(Bytes::new(3 << 49).to_string(), "1.5 PiB");
    }

    #[test]
    fn only_whole_sectors_become_sectors() {
        assert_eq!(Bytes::new(131_072).sectors(), Some(Sectors::new(256)));
        assert_eq!(Bytes::new(1000).sectors(), None);
    }
}
