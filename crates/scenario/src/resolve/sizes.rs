//! How large requests are: laws in blocks or in bytes, and the block that both are counted in.

use std::path::Path;

use iosonar_trace::Op;
use iosonar_units::{Bytes, SECTOR_BYTES, Sectors};
use iosonar_workload::{Intervals, RoundedSizes, RoundedSizesError, Size};
use toml::Spanned;

use super::array::whole_sectors;
use super::check::Checker;
use super::laws::{LawCheck, Recorded, table};
use crate::ScenarioError;
use crate::file::{LoadFile, SizeFile, SizeLawFile, SizeSpreadFile, SizeTailFile, SizeText};

const KEY: &str = "load.size";

/// What sizes in bytes are multiples of that follow a law.
const UNIT_OF_LAWS: Sectors = Sectors::new(8);

/// What a law may be.
const LAWS: &str = "\"8KiB\", { geometric_mean_bytes = \"16KiB\" }, { table = [{ bytes = \"4KiB\", share = 1.0 }] }, \
    { log_normal = { mean = \"64KiB\", cv = 1.5 } } (or gamma), { pareto = { mean = \"64KiB\", shape = 1.5, at_most = \"4MiB\" } } \
    (or weibull), { empirical = { trace = \"monday.ios\" } }, { blocks = 4 }, { geometric_mean_blocks = 4.0 } or \
    { table = [{ blocks = 1, share = 1.0 }] }, with sizes of at least 1 block, at \
    most a million blocks and at most the size of the array, and shares that sum to 1";

/// The sizes of a load and its classes.
fn all(load: &LoadFile) -> impl Iterator<Item = &Spanned<SizeFile>> {
    let classes = load.class.iter().flatten();
    load.size
        .iter()
        .chain(classes.filter_map(|c| c.size.as_ref()))
}

/// The sizes of a law that are in bytes, and whether there are any in blocks.
fn in_bytes(law: &SizeLawFile) -> (Vec<&str>, bool) {
    match law {
        SizeLawFile::Blocks(_) | SizeLawFile::GeometricMeanBlocks(_) => (Vec::new(), true),
        SizeLawFile::Bytes(text) => (vec![text], false),
        SizeLawFile::Table(rows) => {
            let bytes = rows.iter().filter_map(|row| row.bytes.as_ref());
            let texts = bytes.map(|SizeText(text)| text.as_str()).collect();
            (texts, rows.iter().any(|row| row.blocks.is_some()))
        }
        _ => (Vec::new(), false),
    }
}

/// Whether a law has any numbers of bytes, which become whole blocks.
fn is_of_any_bytes(law: &SizeLawFile) -> bool {
    match law {
        SizeLawFile::GeometricMeanBytes(_)
        | SizeLawFile::Gamma(_)
        | SizeLawFile::LogNormal(_)
        | SizeLawFile::Weibull(_)
        | SizeLawFile::Pareto(_)
        | SizeLawFile::Empirical(_) => true,
        SizeLawFile::Blocks(_)
        | SizeLawFile::GeometricMeanBlocks(_)
        | SizeLawFile::Bytes(_)
        | SizeLawFile::Table(_) => false,
    }
}

/// Whether there are sizes in bytes.
pub(super) fn are_in_bytes(load: &LoadFile) -> bool {
    let laws = || all(load).flat_map(|size| size.get_ref().laws());
    laws().any(|law| !in_bytes(law).0.is_empty() || is_of_any_bytes(law))
}

/// The largest block of which all sizes in bytes are multiples; `None` if sizes are in blocks.
///
/// # Errors
/// If some are in blocks and some in bytes.
pub(super) fn common_block(
    check: &Checker<'_>,
    load: &LoadFile,
) -> Result<Option<Sectors>, ScenarioError> {
    if !are_in_bytes(load) {
        return Ok(None);
    }
    let mut common = 0;
    for size in all(load) {
        for law in size.get_ref().laws() {
            let (texts, has_blocks) = in_bytes(law);
            if has_blocks {
                let expected = "sizes all in bytes or all in blocks; to mix them, also give the block size, such as 'load.block' = \"4KiB\"";
                return Err(check.wrong(size, KEY, "in bytes and in blocks", expected));
            }
            for text in texts {
                common = common_divisor(common, sectors(check, size, text)?.get());
            }
            if is_of_any_bytes(law) {
                common = common_divisor(common, UNIT_OF_LAWS.get());
            }
        }
    }
    Ok(Some(Sectors::new(common)))
}

fn common_divisor(mut a: u32, mut b: u32) -> u32 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn sectors(
    check: &Checker<'_>,
    size: &Spanned<SizeFile>,
    text: &str,
) -> Result<Sectors, ScenarioError> {
    whole_sectors(text).map_err(|expected| check.wrong(size, KEY, format!("'{text}'"), expected))
}

/// The law of all requests, or of reads, and that of writes if it is another. `most` is how many blocks the array
/// holds.
pub(super) fn size_laws(
    check: &Checker<'_>,
    size: &Spanned<SizeFile>,
    block: Sectors,
    most: u64,
) -> Result<(Size, Option<Size>), ScenarioError> {
    let law = |law, kind| {
        let resolver = Resolver {
            check,
            size,
            block,
            most,
            kind,
        };
        resolver.law(law)
    };
    match size.get_ref() {
        SizeFile::All(all) => Ok((law(all, None)?, None)),
        SizeFile::Each(reads, writes) => Ok((
            law(reads, Some(Kind::Reads))?,
            Some(law(writes, Some(Kind::Writes))?),
        )),
    }
}

struct Resolver<'a> {
    check: &'a Checker<'a>,
    size: &'a Spanned<SizeFile>,
    block: Sectors,
    most: u64,
    /// Of which requests, if not of all.
    kind: Option<Kind>,
}

/// Requests that may have sizes of their own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Reads,
    Writes,
}

impl Kind {
    pub(super) fn has(self, op: Op) -> bool {
        match self {
            Self::Reads => op == Op::Read,
            Self::Writes => op == Op::Write,
        }
    }
}

impl Resolver<'_> {
    fn fits(&self, blocks: f64) -> bool {
        (1.0..=1e6).contains(&blocks) && blocks <= self.most as f64
    }

    fn law(&self, law: &SizeLawFile) -> Result<Size, ScenarioError> {
        let seen = match law {
            SizeLawFile::Blocks(blocks) if self.fits(f64::from(*blocks)) => {
                return Ok(Size::Blocks(*blocks));
            }
            SizeLawFile::GeometricMeanBlocks(mean) if self.fits(*mean) => {
                return Ok(Size::GeometricBlocks { mean: *mean });
            }
            SizeLawFile::Blocks(blocks) => blocks.to_string(),
            SizeLawFile::GeometricMeanBlocks(mean) => mean.to_string(),
            SizeLawFile::Bytes(text) => match self.blocks(text)? {
                blocks if self.fits(f64::from(blocks)) => return Ok(Size::Blocks(blocks)),
                _ => format!("'{text}'"),
            },
            SizeLawFile::GeometricMeanBytes(text) => match self.mean(text) {
                Some(mean) if self.fits(mean) => return Ok(Size::GeometricBlocks { mean }),
                _ => {
                    let block = Bytes::new(u64::from(self.block.get()) * SECTOR_BYTES);
                    let expected =
                        format!("a mean such as \"16KiB\", at least one block of {block}");
                    return Err(self.wrong(format!("'{text}'"), expected));
                }
            },
            SizeLawFile::Table(rows) => {
                let mut sizes = Vec::with_capacity(rows.len());
                for row in rows {
                    let blocks = match (row.blocks, &row.bytes) {
                        (Some(blocks), None) => blocks,
                        (None, Some(SizeText(text))) => self.blocks(text)?,
                        _ => {
                            let seen = "a table with a row that has neither or both of 'blocks' and 'bytes'";
                            return Err(self.wrong(seen.to_owned(), LAWS.to_owned()));
                        }
                    };
                    sizes.push((row.share.get(), blocks));
                }
                match table(sizes.iter().copied(), "blocks", |blocks| self.fits(blocks)) {
                    Ok(table) => return Ok(Size::Table(table)),
                    Err(seen) => seen,
                }
            }
            SizeLawFile::Gamma(given) => {
                let cv = self.checked().cv(given.cv)?;
                return self.spread(given, Intervals::Gamma { cv });
            }
            SizeLawFile::LogNormal(given) => {
                let cv = self.checked().cv(given.cv)?;
                return self.spread(given, Intervals::LogNormal { cv });
            }
            SizeLawFile::Weibull(given) => {
                let law = self.checked().weibull(given.shape)?;
                return self.tail(given, law);
            }
            SizeLawFile::Pareto(given) => {
                let law = self.checked().pareto(given.shape)?;
                return self.tail(given, law);
            }
            SizeLawFile::Empirical(given) => return self.recorded(&given.trace),
        };
        Err(self.wrong(seen, LAWS.to_owned()))
    }

    /// A size in blocks.
    fn blocks(&self, text: &str) -> Result<u32, ScenarioError> {
        let (sectors, block) = (sectors(self.check, self.size, text)?, self.block);
        if sectors.get().is_multiple_of(block.get()) {
            return Ok(sectors.get() / block.get());
        }
        let block = Bytes::new(u64::from(block.get()) * SECTOR_BYTES);
        Err(self.wrong(
            format!("'{text}'"),
            format!(
                "a multiple of {block}, which is 'load.block' or, with placement = \"random\", the stripe unit: remove \
                 'load.block', or set array.placement = \"addressed\""
            ),
        ))
    }

    /// A mean in blocks.
    fn mean(&self, text: &str) -> Option<f64> {
        let bytes: Bytes = text.parse().ok()?;
        Some(bytes.get() as f64 / (u64::from(self.block.get()) * SECTOR_BYTES) as f64)
    }

    fn checked(&self) -> LawCheck<'_, SizeFile> {
        LawCheck {
            check: self.check,
            given: self.size,
            key: KEY,
        }
    }

    fn block_bytes(&self) -> Bytes {
        Bytes::new(u64::from(self.block.get()) * SECTOR_BYTES)
    }

    fn spread(&self, given: &SizeSpreadFile, law: Intervals) -> Result<Size, ScenarioError> {
        self.rounded(&given.mean, law, [&given.at_least, &given.at_most])
    }

    fn tail(&self, given: &SizeTailFile, law: Intervals) -> Result<Size, ScenarioError> {
        self.rounded(&given.mean, law, [&given.at_least, &given.at_most])
    }

    /// Sizes of a law with this mean, within bounds.
    fn rounded(
        &self,
        mean: &SizeText,
        law: Intervals,
        [least, most]: [&Option<SizeText>; 2],
    ) -> Result<Size, ScenarioError> {
        let bytes = |SizeText(text): &SizeText| {
            let bytes: Option<Bytes> = text.parse().ok();
            bytes.filter(|bytes| bytes.get() > 0).ok_or_else(|| {
                self.wrong(format!("'{text}'"), "a size such as \"64KiB\"".to_owned())
            })
        };
        let mean = bytes(mean)?;
        let least = least.as_ref().map(bytes).transpose()?;
        let most = most.as_ref().map(bytes).transpose()?;
        let bounds = (least.is_some() || most.is_some()).then(|| {
            let largest = self.largest() * self.block_bytes().get();
            (
                least.unwrap_or(Bytes::new(1)),
                most.unwrap_or(Bytes::new(largest)),
            )
        });
        if let Some((least, most)) = bounds
            && least > most
        {
            let seen = format!("sizes from {least} to {most}");
            return Err(self.wrong(seen, "at_least no greater than at_most".to_owned()));
        }
        self.of_law(mean.get() as f64, law, bounds)
    }

    /// The sizes of a recording.
    fn recorded(&self, trace: &Path) -> Result<Size, ScenarioError> {
        let folder = self.check.path.parent().unwrap_or(Path::new(""));
        let trace = folder.join(trace);
        let Recorded { times, .. } = Recorded::sizes(&trace, self.kind)?;
        if times.is_empty() {
            let of = match self.kind {
                None => "requests",
                Some(Kind::Reads) => "reads",
                Some(Kind::Writes) => "writes",
            };
            let seen = format!("{}, which has no {of} with data", trace.display());
            return Err(self.wrong(seen, format!("a recording that has {of} with data")));
        }
        // Not that of all requests: sizes would be scaled to it.
        let sum: f64 = times.iter().map(|size| size.get() as f64).sum();
        let mean = sum / times.len() as f64;
        self.of_law(mean, Intervals::Empirical { trace, times }, None)
    }

    /// The most blocks of a request.
    fn largest(&self) -> u64 {
        self.most.min(1_000_000)
    }

    fn of_law(
        &self,
        mean: f64,
        law: Intervals,
        bounds: Option<(Bytes, Bytes)>,
    ) -> Result<Size, ScenarioError> {
        let sizes = RoundedSizes::new(mean, law, bounds, self.block_bytes(), self.largest());
        sizes.map(Size::Rounded).map_err(|error| match error {
            RoundedSizesError::Law(_) => {
                let mean = Bytes::new(mean as u64);
                let seen = match bounds {
                    None => format!("a mean of {mean}"),
                    Some((least, most)) => {
                        format!("a mean of {mean} for sizes from {least} to {most}")
                    }
                };
                self.wrong(seen, "a different mean, distribution or bounds".to_owned())
            }
            RoundedSizesError::TooLarge(share) => {
                let largest = Bytes::new(self.largest() * self.block_bytes().get());
                let percent = 100.0 * share;
                let seen = format!(
                    "a distribution in which {percent:.2} % of the data lie beyond the limit of {largest} per request"
                );
                let expected = "sizes that fit in the array, each of at most a million blocks: set at_most";
                self.wrong(seen, expected.to_owned())
            }
        })
    }

    fn wrong(&self, seen: String, expected: String) -> ScenarioError {
        self.check.wrong(self.size, KEY, seen, expected)
    }
}
