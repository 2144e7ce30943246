//! Changes of positions, lengths and operations.

use std::str::FromStr;

use iosonar_units::{Sector, Sectors};

use super::Ratio;
use super::streamed::Stream;
use crate::limits::LIMIT;
use crate::{Batch, Metadata, Op, RemarkKind, TraceError};

/// Request k, counted from 1 and on over repeats, gets `sector + increment * floor(k / every)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slip {
    /// After this number of requests.
    pub every: u64,
    /// The shift in sectors.
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

/// Chunks keep what lies in them together, and each lies elsewhere: chunk i of n at place `i m mod n`, where m is the highest
/// number up to n / 1.618 that has no factor in common with n, so that the chunks of a small load are evenly
/// spread (Knuth, The Art of Computer Programming 3, section 6.4) and no two of the first n have one place; a load beyond
/// them comes round again. A request lies where its first sector does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scatter {
    /// Within this number of sectors; n is how many chunks they hold.
    over: u64,
    /// The sectors of a chunk.
    chunk: u64,
    /// m.
    step: u64,
}

impl Scatter {
    /// Over `over` sectors, in chunks of `chunk` sectors.
    ///
    /// # Errors
    /// If they hold no chunk, or more than a disk.
    pub fn new(over: u64, chunk: u64) -> Result<Self, String> {
        const WHAT: &str = "expected OVER,CHUNK: a number of sectors and a chunk size in sectors, such as 1000000000,2048";
        if chunk == 0 || over < chunk || over >= LIMIT {
            return Err(WHAT.to_owned());
        }
        let chunks = over / chunk;
        let share = (chunks as f64 / 1.618_033_988_749_895) as u64;
        // 1 has no factor in common with anything.
        let step = (1..=share)
            .rev()
            .find(|&m| gcd(m, chunks) == 1)
            .unwrap_or(1);
        Ok(Self { over, chunk, step })
    }

    /// Over how many sectors.
    pub fn over(&self) -> u64 {
        self.over
    }

    /// The sectors of a chunk.
    pub fn chunk(&self) -> u64 {
        self.chunk
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl FromStr for Scatter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const WHAT: &str = "OVER,CHUNK: a number of sectors and a chunk size in sectors";
        let [over, chunk] = parts(text, ["", "2048"], WHAT)?;
        match (over.parse(), chunk.parse()) {
            (Ok(over), Ok(chunk)) => Self::new(over, chunk),
            _ => Err(format!("expected {WHAT}, such as 1000000000,2048")),
        }
    }
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
        const WHAT: &str = "EVERY,INCREMENT: a number of requests (at least 1) and a number of sectors, such as 32768,256";
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
        const WHAT: &str = "FACTOR,ALIGN,OFFSET: a factor, an alignment and an offset (in sectors), such as 2.0,8,0";
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
        const WHAT: &str = "FACTOR,MIN,MAX: a factor, a minimum and a maximum length (in sectors), such as 2.0,0,65536";
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
        "the request at sector {sector} would be moved beyond sector 2^63 - 1: use smaller numbers"
    ))
}

fn moved(sector: Option<u64>, from: Sector) -> Result<Sector, TraceError> {
    match sector {
        Some(sector) if sector < LIMIT => Ok(Sector::new(sector)),
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

impl Stream for Scatter {
    fn apply(&mut self, batch: &mut Batch, _: &mut Metadata) -> Result<bool, TraceError> {
        let chunks = u128::from(self.over / self.chunk);
        for sector in batch.sector_column_mut() {
            let s = sector.get();
            let place = u128::from(s / self.chunk) * u128::from(self.step) % chunks;
            *sector = Sector::new(place as u64 * self.chunk + s % self.chunk);
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
                    RemarkKind::Emptied,
                    [
                        "request would have had a length of 0 and was resized to one sector",
                        "requests would have had a length of 0 and were resized to one sector",
                    ],
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Record;

    #[test]
    fn chunks_have_places_of_their_own_all_over() {
        for (over, chunk) in [
            (1000, 1),
            (1024, 8),
            (12_345, 7),
            (8, 8),
            (1 << 40, 1 << 21),
        ] {
            let scatter = Scatter::new(over, chunk).unwrap();
            let chunks = over / chunk;
            let few = chunks.min(1000);
            let mut batch = Batch::default();
            for i in 0..few {
                let mut record = Record::default();
                record.request.sector = Sector::new(i * chunk);
                batch.push(&record);
            }
            let mut scatter = scatter;
            assert!(scatter.apply(&mut batch, &mut Metadata::default()).unwrap());
            let places: BTreeSet<u64> = batch.sector_column_mut().iter().map(|s| s.get()).collect();
            assert_eq!(places.len() as u64, few, "{over} {chunk}");
            assert!(places.iter().all(|&p| p % chunk == 0 && p + chunk <= over));
            // Gaps of golden-ratio places have three lengths, of which none is twice the mean and more.
            let sorted: Vec<u64> = places.into_iter().collect();
            let widest = sorted.windows(2).map(|w| w[1] - w[0]).max();
            assert!(widest.unwrap_or(0) <= 3 * (over / few), "{over} {chunk}");
        }
        for text in ["", "7,8", "0,1", "5,0", "1,2,3", "x"] {
            assert!(text.parse::<Scatter>().is_err(), "{text}");
        }
    }

    /// The sectors of requests at `sectors`, changed.
    fn placed(mut change: impl Stream, sectors: &[u64]) -> Result<Vec<u64>, TraceError> {
        let mut batch = Batch::default();
        for &sector in sectors {
            let mut record = Record::default();
            record.request.sector = Sector::new(sector);
            batch.push(&record);
        }
        change.apply(&mut batch, &mut Metadata::default())?;
        Ok(batch.sector_column().iter().map(|s| s.get()).collect())
    }

    const LAST: u64 = (1 << 63) - 1;

    #[test]
    fn a_request_is_moved_up_to_the_last_sector_there_can_be() {
        let slip = |increment| {
            Slipping::new(Slip {
                every: 1,
                increment,
            })
        };
        assert_eq!(placed(slip(1), &[LAST - 1]).unwrap(), [LAST]);
        let error = placed(slip(1), &[LAST]).unwrap_err().to_string();
        assert!(error.contains(&LAST.to_string()), "{error}");
    }

    #[test]
    fn lengths_are_at_least_the_minimum_and_at_most_the_maximum() {
        for (text, bounds) in [
            ("2.0", Some((0, 65_536))),
            ("2.0,8", Some((8, 65_536))),
            ("2.0,8,8", Some((8, 8))),
            ("2.0,8,7", None),
            ("2.0,0,0", None),
            ("2.0,0,1", Some((0, 1))),
        ] {
            let resize = text.parse::<Resize>();
            assert_eq!(resize.ok().map(|r| (r.min, r.max)), bounds, "{text}");
        }
    }

    #[test]
    fn only_a_length_of_zero_is_remarked_on() {
        for (length, factor, resized, remarks) in [
            (4, "0.5", 2, 0),
            (2, "0.5", 1, 0),
            (1, "0.5", 1, 1),
            (1, "0.5,1", 1, 0),
            (8, "2,1,9", 9, 0),
            (8, "0.5,5", 5, 0),
        ] {
            let mut resize: Resize = factor.parse().unwrap();
            let (mut batch, mut metadata) = (Batch::default(), Metadata::default());
            for op in [Op::Read, Op::Flush] {
                let mut record = Record::default();
                record.request.op = op;
                record.request.sectors = Sectors::new(length);
                batch.push(&record);
            }
            assert!(resize.apply(&mut batch, &mut metadata).unwrap());
            let lengths = [resized, length].map(Sectors::new);
            assert_eq!(batch.lengths_mut(), lengths, "{length} {factor}");
            assert_eq!(metadata.remarks.len(), remarks, "{length} {factor}");
        }
    }

    #[test]
    fn parts_that_are_missing_have_their_defaults_and_none_is_too_many() {
        let slip = |text: &str| text.parse::<Slip>().ok().map(|s| (s.every, s.increment));
        for (text, expected) in [
            ("7", Some((7, 256))),
            ("7,0", Some((7, 0))),
            (" 7 , 9 ", Some((7, 9))),
            ("1,1099511627775", Some((1, (1 << 40) - 1))),
            ("1,1099511627776", None),
            ("0,1", None),
            ("7,9,1", None),
            ("7,", None),
            (",9", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(slip(text), expected, "{text}");
        }
        let spread = |text: &str| {
            let spread = text.parse::<Spread>().ok()?;
            Some((spread.factor.to_string(), spread.align, spread.offset))
        };
        for (text, expected) in [
            ("3", Some(("3", 8, 0))),
            ("3,1", Some(("3", 1, 0))),
            ("3,1,9", Some(("3", 1, 9))),
            ("3,1099511627775", Some(("3", (1 << 40) - 1, 0))),
            ("3,1099511627776", None),
            ("3,0", None),
            ("3,8,4611686018427387903", Some(("3", 8, (1 << 62) - 1))),
            ("3,8,4611686018427387904", None),
            ("0,8,0", None),
            ("3,8,0,1", None),
            ("3,,0", None),
        ] {
            let expected =
                expected.map(|(factor, align, offset)| (factor.to_owned(), align, offset));
            assert_eq!(spread(text), expected, "{text}");
        }
        let scatter = |text: &str| text.parse::<Scatter>().ok().map(|s| (s.over(), s.chunk()));
        for (text, expected) in [
            ("4096", Some((4096, 2048))),
            ("9,8", Some((9, 8))),
            ("8,8", Some((8, 8))),
            ("7,8", None),
            ("8,0", None),
            ("9223372036854775807,8", Some(((1 << 63) - 1, 8))),
            ("9223372036854775808,8", None),
            ("90,8,1", None),
            ("90,", None),
        ] {
            assert_eq!(scatter(text), expected, "{text}");
        }
        for text in ["2,1,9,9", "2,,9", ""] {
            assert!(text.parse::<Resize>().is_err(), "{text}");
        }
    }

    #[test]
    fn places_are_moved_by_the_formulas_of_the_changes() {
        // Requests 1 to 5: every second moves all from it on by 10.
        let slip = Slipping::new("2,10".parse().unwrap());
        assert_eq!(placed(slip, &[5; 5]).unwrap(), [5, 15, 15, 25, 25]);
        // floor(s 1.5 / 4) 4 + s mod 4 + 7.
        let spread: Spread = "1.5,4,7".parse().unwrap();
        assert_eq!(
            placed(spread, &[0, 3, 5, 8, 9]).unwrap(),
            [7, 14, 12, 19, 20]
        );
        // 5 chunks of 2 sectors; m is 3, the highest number up to 5 / 1.618 without a factor in common with 5.
        let scatter: Scatter = "10,2".parse().unwrap();
        assert_eq!(
            placed(scatter, &[0, 2, 5, 6, 8, 10]).unwrap(),
            [0, 6, 3, 8, 4, 0]
        );
        for (change, fits, beyond) in [
            ("1,8,0", LAST, None),
            ("1,8,1", LAST - 1, Some(LAST)),
            ("2,1,0", LAST / 2, Some(LAST / 2 + 1)),
        ] {
            let spread: Spread = change.parse().unwrap();
            assert!(placed(spread, &[fits]).is_ok(), "{change}");
            assert!(
                beyond.is_none_or(|beyond| placed(spread, &[beyond]).is_err()),
                "{change}"
            );
        }
    }

    #[test]
    fn a_replaced_operation_keeps_its_flags_unless_reads_have_none_of_the_kind() {
        use crate::Flags;
        for (from, to, flags) in [
            (Op::Write, Op::Read, Flags::SYNC),
            (Op::Write, Op::Discard, Flags::SYNC.with(Flags::FUA)),
        ] {
            let mut batch = Batch::default();
            for op in [Op::Write, Op::Flush] {
                let mut record = Record::default();
                record.request.op = op;
                record.request.flags = Flags::SYNC.with(Flags::FUA);
                batch.push(&record);
            }
            let change = &mut Substitute { from, to };
            assert!(change.apply(&mut batch, &mut Metadata::default()).unwrap());
            assert_eq!(batch.ops(), [to, Op::Flush]);
            assert_eq!(batch.request(0).flags, flags);
            assert_eq!(batch.request(1).flags, Flags::SYNC.with(Flags::FUA));
        }
    }
}
