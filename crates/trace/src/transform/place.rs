//! Changes of positions, lengths and operations.

use std::str::FromStr;

use iosonar_units::{Sector, Sectors};

use super::Ratio;
use super::streamed::Stream;
use crate::{Batch, Metadata, Op, TraceError};

/// Request k, counted from 1 and on over repeats, gets `sector + increment * floor(k / every)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slip {
    /// After so many requests.
    pub every: u64,
    /// So many sectors further.
    pub increment: u64,
}

/// `floor(sector * factor / align) * align + sector mod align + offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The factor.
    pub factor: Ratio,
    /// In sectors.
    pub align: u64,
    /// In sectors.
    pub offset: u64,
}

/// `clamp(floor(length * factor), min, max)`, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resize {
    /// The factor.
    pub factor: Ratio,
    /// In sectors.
    pub min: u32,
    /// In sectors.
    pub max: u32,
}

/// The parts of a value such as `2.0,8,0`, where later ones may be missing.
fn parts<const N: usize>(
    text: &str,
    defaults: [&str; N],
    what: &str,
) -> Result<[String; N], String> {
    let mut parts = defaults.map(str::to_owned);
    let given: Vec<&str> = text.split(',').map(str::trim).collect();
    if given.len() > N || given.iter().any(|p| p.is_empty()) {
        return Err(format!("expected {what}"));
    }
    for (part, given) in parts.iter_mut().zip(given) {
        given.clone_into(part);
    }
    Ok(parts)
}

impl FromStr for Slip {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const WHAT: &str =
            "EVERY,INCREMENT: a number of requests from 1, and of sectors, such as 32768,256";
        let [every, increment] = parts(text, ["32768", "256"], WHAT)?;
        match (every.parse(), increment.parse()) {
            (Ok(every), Ok(increment)) if every > 0 && increment < 1 << 40 => {
                Ok(Self { every, increment })
            }
            _ => Err(format!("expected {WHAT}")),
        }
    }
}

impl FromStr for Spread {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const WHAT: &str = "FACTOR,ALIGN,OFFSET: a factor, and sectors, such as 2.0,8,0";
        let [factor, align, offset] = parts(text, ["2.0", "8", "0"], WHAT)?;
        match (align.parse(), offset.parse()) {
            (Ok(align), Ok(offset)) if (1..1 << 40).contains(&align) && offset < 1 << 62 => {
                Ok(Self {
                    factor: factor.parse()?,
                    align,
                    offset,
                })
            }
            _ => Err(format!("expected {WHAT}")),
        }
    }
}

impl FromStr for Resize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const WHAT: &str = "FACTOR,MIN,MAX: a factor, and sectors, such as 2.0,0,65536";
        let [factor, min, max] = parts(text, ["2.0", "0", "65536"], WHAT)?;
        match (min.parse(), max.parse()) {
            (Ok(min), Ok(max)) if min <= max && max > 0 => Ok(Self {
                factor: factor.parse()?,
                min,
                max,
            }),
            _ => Err(format!("expected {WHAT}")),
        }
    }
}

/// The error for a position that no disk has.
fn beyond(sector: Sector) -> TraceError {
    TraceError::Option(format!(
        "the request at sector {sector} would be moved beyond sector 2^63 - 1: take smaller numbers"
    ))
}

fn moved(sector: Option<u64>, from: Sector) -> Result<Sector, TraceError> {
    match sector {
        Some(sector) if sector < 1 << 63 => Ok(Sector::new(sector)),
        _ => Err(beyond(from)),
    }
}

/// A [`Slip`] in the middle of its work.
pub(super) struct Slipping {
    slip: Slip,
    number: u64,
}

impl Slipping {
    pub(super) fn new(slip: Slip) -> Self {
        Self { slip, number: 0 }
    }
}

impl Stream for Slipping {
    fn apply(&mut self, batch: &mut Batch, _: &mut Metadata) -> Result<bool, TraceError> {
        for sector in batch.sector_column_mut() {
            self.number += 1;
            let by = (self.number / self.slip.every).checked_mul(self.slip.increment);
            *sector = moved(by.and_then(|by| sector.get().checked_add(by)), *sector)?;
        }
        Ok(true)
    }
}

impl Stream for Spread {
    fn apply(&mut self, batch: &mut Batch, _: &mut Metadata) -> Result<bool, TraceError> {
        for sector in batch.sector_column_mut() {
            let s = sector.get();
            let spread = self
                .factor
                .times_floor_over(s, self.align)
                .and_then(|aligned| aligned.checked_mul(self.align))
                .and_then(|aligned| aligned.checked_add(s % self.align))
                .and_then(|spread| spread.checked_add(self.offset));
            *sector = moved(spread, *sector)?;
        }
        Ok(true)
    }
}

impl Stream for Resize {
    fn apply(&mut self, batch: &mut Batch, metadata: &mut Metadata) -> Result<bool, TraceError> {
        let ops = batch.ops().to_vec();
        for (length, op) in batch.lengths_mut().iter_mut().zip(ops) {
            // A flush has no length to be changed.
            if op == Op::Flush {
                continue;
            }
            let product = self.factor.times_floor(u64::from(length.get()));
            let resized = product
                .unwrap_or(u64::MAX)
                .clamp(u64::from(self.min), u64::from(self.max));
            if resized < 1 {
                metadata.remark(
                    "requests would have become empty, and have one sector now",
                    || format!("{length} sectors * {}", self.factor),
                );
            }
            *length = Sectors::new((resized as u32).max(1));
        }
        Ok(true)
    }
}

pub(super) struct Substitute {
    pub(super) from: Op,
    pub(super) to: Op,
}

impl Stream for Substitute {
    fn apply(&mut self, batch: &mut Batch, _: &mut Metadata) -> Result<bool, TraceError> {
        for row in 0..batch.len() {
            let mut record = batch.record(row);
            if record.request.op != self.from {
                continue;
            }
            record.request.op = self.to;
            if self.to == Op::Read {
                let flags = record.request.flags;
                record.request.flags = flags.without(crate::Flags::FUA);
            }
            batch.set(row, &record);
        }
        Ok(true)
    }
}
