//! Loads for the bench, in a folder that is removed at the end.

use std::path::PathBuf;

use crate::BenchError;
use iosonar_trace::{Batch, Metadata, Op, Outcome, Record, Request, output};
use iosonar_units::{Bytes, Nanos, SECTOR_BYTES, Sector, Sectors};

/// How requests arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// At equal distances.
    Constant,
    /// Independently of each other.
    Poisson,
}

impl Arrivals {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Poisson => "Poisson",
        }
    }
}

/// More requests than any device does in the time of a measurement.
const MOST: u64 = 6_000_000;

pub(super) struct Loads {
    folder: tempfile::TempDir,
    blocks: u64,
    block_sectors: u64,
}

/// A splitmix64 generator (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// An exponential variate with mean one.
    fn exponential(&mut self) -> f64 {
        let uniform = ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        -uniform.ln()
    }
}

impl Loads {
    pub(super) fn new(size: Bytes, block: Bytes) -> Result<Self, BenchError> {
        let block_sectors = block.get().max(4096) / SECTOR_BYTES;
        let blocks = size.get() / SECTOR_BYTES / block_sectors;
        if blocks < 2 {
            return Err(BenchError::TooSmall { blocks });
        }
        Ok(Self {
            folder: tempfile::tempdir()?,
            blocks,
            block_sectors,
        })
    }

    /// Where another tool may put its files.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Random reads that are all due at once.
    pub(super) fn all_at_once(&self) -> Result<PathBuf, BenchError> {
        let path = self.path("all.ios");
        if !path.exists() {
            self.write(&path, (0..MOST).map(|_| Nanos::ZERO))?;
        }
        Ok(path)
    }

    /// When requests are due.
    pub(super) fn starts(arrivals: Arrivals, rate: u64, seconds: u64) -> Vec<Nanos> {
        let mut random = Random(rate);
        let mut at = 0.0;
        (0..rate * seconds)
            .map(|i| {
                at += random.exponential();
                let intervals = match arrivals {
                    Arrivals::Constant => i as f64,
                    Arrivals::Poisson => at,
                };
                Nanos::new((intervals * 1e9 / rate as f64) as u64)
            })
            .collect()
    }

    /// Random reads at a rate, as blkreplay's text without a header, which other tools read too.
    pub(super) fn paced(
        &self,
        arrivals: Arrivals,
        rate: u64,
        seconds: u64,
    ) -> Result<PathBuf, BenchError> {
        let path = self.path("paced.load");
        let _ = std::fs::remove_file(&path);
        self.write(&path, Self::starts(arrivals, rate, seconds).into_iter())?;
        Ok(path)
    }

    fn write(
        &self,
        path: &std::path::Path,
        starts: impl Iterator<Item = Nanos>,
    ) -> Result<(), BenchError> {
        let mut writer = output::create(path, &Metadata::default())?;
        let (mut batch, mut random) = (Batch::default(), Random(7));
        for start in starts {
            let block = random.next() % self.blocks;
            batch.push(&Record {
                request: Request {
                    start,
                    sector: Sector::new(block * self.block_sectors),
                    sectors: Sectors::new(self.block_sectors as u32),
                    op: Op::Read,
                    ..Request::default()
                },
                outcome: Outcome::default(),
            });
            if batch.len() == Batch::ROWS {
                writer.write(&batch)?;
                batch.clear();
            }
        }
        writer.write(&batch)?;
        Ok(writer.finish()?)
    }
}
