//! `size = ...`: how large requests are.

use std::fmt;
use std::path::PathBuf;

use iosonar_units::{Share, scalar};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

/// The accepted forms of a size, for error messages.
pub(crate) const SIZES: &str = "a size with a unit, such as \"8KiB\", { read = \"8KiB\", write = \"64KiB\" } or { blocks = 4 }";

/// A size or a distribution of sizes, for all requests or separately for reads and writes.
#[derive(Clone, Debug)]
pub enum SizeFile {
    /// The same for all requests.
    All(SizeLawFile),
    /// One for reads, and one for writes.
    Each(SizeLawFile, SizeLawFile),
}

impl SizeFile {
    /// All distributions.
    pub fn laws(&self) -> impl Iterator<Item = &SizeLawFile> {
        let (first, second) = match self {
            Self::All(law) => (law, None),
            Self::Each(reads, writes) => (reads, Some(writes)),
        };
        std::iter::once(first).chain(second)
    }
}

/// A distribution of sizes. A block is the block of the load, or a stripe unit.
#[derive(Clone, Debug)]
pub enum SizeLawFile {
    /// Always this many blocks.
    Blocks(u32),
    /// A geometric distribution with this mean; at least 1 block.
    GeometricMeanBlocks(f64),
    /// Always this size.
    Bytes(String),
    /// A geometric distribution with this mean.
    GeometricMeanBytes(String),
    /// One of these sizes, each with its probability.
    Table(Vec<SizeRowFile>),
    /// A gamma distribution, rounded up to whole blocks.
    Gamma(SizeSpreadFile),
    /// A log-normal distribution, rounded up to whole blocks.
    LogNormal(SizeSpreadFile),
    /// A Weibull distribution, rounded up to whole blocks.
    Weibull(SizeTailFile),
    /// A Pareto distribution, rounded up to whole blocks.
    Pareto(SizeTailFile),
    /// The sizes in a recording, rounded up to whole blocks.
    Empirical(SizeEmpiricalFile),
}

/// `log_normal = { mean = "64KiB", cv = 1.5, at_least = "4KiB", at_most = "4MiB" }`, and `gamma`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeSpreadFile {
    /// The mean within the bounds, before rounding.
    pub mean: SizeText,
    /// The coefficient of variation, before any bounds.
    pub cv: f64,
    /// The smallest size.
    pub at_least: Option<SizeText>,
    /// The largest size.
    pub at_most: Option<SizeText>,
}

/// `weibull = { mean = "64KiB", shape = 0.6, at_least = "4KiB", at_most = "4MiB" }`, and `pareto`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeTailFile {
    /// The mean within the bounds, before rounding.
    pub mean: SizeText,
    /// The shape parameter of the distribution.
    pub shape: f64,
    /// The smallest size.
    pub at_least: Option<SizeText>,
    /// The largest size.
    pub at_most: Option<SizeText>,
}

/// `empirical = { trace = "monday.csv" }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeEmpiricalFile {
    /// The recording from which the sizes are drawn.
    pub trace: PathBuf,
}

/// A row of `table = [{ blocks = 1, share = 0.75 }, ...]`, in blocks or bytes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeRowFile {
    /// The size in blocks ...
    pub blocks: Option<u32>,
    /// ... or in bytes.
    pub bytes: Option<SizeText>,
    /// The share of requests with this size.
    pub share: Share,
}

/// A size such as `"8KiB"`, or a number of bytes.
#[derive(Clone, Debug, Deserialize)]
pub struct SizeText(#[serde(deserialize_with = "scalar")] pub String);

/// The table of a size as written in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    blocks: Option<u32>,
    geometric_mean_blocks: Option<f64>,
    bytes: Option<SizeText>,
    geometric_mean_bytes: Option<SizeText>,
    table: Option<Vec<SizeRowFile>>,
    gamma: Option<SizeSpreadFile>,
    log_normal: Option<SizeSpreadFile>,
    weibull: Option<SizeTailFile>,
    pareto: Option<SizeTailFile>,
    empirical: Option<SizeEmpiricalFile>,
    read: Option<Box<SizeFile>>,
    write: Option<Box<SizeFile>>,
}

impl Keys {
    fn meaning<E: Error>(self) -> Result<SizeFile, E> {
        let laws = [
            self.blocks.map(SizeLawFile::Blocks),
            self.geometric_mean_blocks
                .map(SizeLawFile::GeometricMeanBlocks),
            self.bytes.map(|SizeText(text)| SizeLawFile::Bytes(text)),
            self.geometric_mean_bytes
                .map(|SizeText(text)| SizeLawFile::GeometricMeanBytes(text)),
            self.table.map(SizeLawFile::Table),
            self.gamma.map(SizeLawFile::Gamma),
            self.log_normal.map(SizeLawFile::LogNormal),
            self.weibull.map(SizeLawFile::Weibull),
            self.pareto.map(SizeLawFile::Pareto),
            self.empirical.map(SizeLawFile::Empirical),
        ];
        let mut laws: Vec<SizeLawFile> = laws.into_iter().flatten().collect();
        let wrong = |problem: &str| Err(E::custom(format!("{problem}, expected {SIZES}")));
        match (laws.pop(), self.read, self.write) {
            (Some(law), None, None) if laws.is_empty() => Ok(SizeFile::All(law)),
            (None, Some(reads), Some(writes)) => match (*reads, *writes) {
                (SizeFile::All(reads), SizeFile::All(writes)) => Ok(SizeFile::Each(reads, writes)),
                _ => wrong("has 'read' or 'write' within 'read' or 'write'"),
            },
            (None, Some(_), None) => wrong("has 'read' but no 'write'"),
            (None, None, Some(_)) => wrong("has 'write' but no 'read'"),
            (None, None, None) => wrong("is empty"),
            (Some(_), ..) => wrong("has more than one distribution"),
        }
    }
}

impl<'de> Deserialize<'de> for SizeFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = SizeFile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(SIZES)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<SizeFile, E> {
                Ok(SizeFile::All(SizeLawFile::Bytes(text.to_owned())))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<SizeFile, E> {
                if number <= 0 {
                    return Err(E::custom(format!("is {number}, expected {SIZES}")));
                }
                let bytes = if number >= 512 && number % 512 == 0 {
                    format!("\"{number}\" for bytes")
                } else {
                    "\"8KiB\" for bytes".to_owned()
                };
                Err(E::custom(format!(
                    "is {number}, which has no unit: write {bytes}, or {{ blocks = {number} }} for stripe \
                     units (SSDs: 4 KiB)"
                )))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SizeFile, A::Error> {
                Keys::deserialize(MapAccessDeserializer::new(map))?.meaning()
            }
        }

        deserializer.deserialize_any(Reader)
    }
}
