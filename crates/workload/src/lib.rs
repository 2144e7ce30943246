//! Loads that nobody recorded: requests from arrival processes, size laws and addresses.
//!
//! A [`SyntheticLoad`] is an iterator of requests in the order of their start. Arrival times,
//! sizes, operations and addresses are drawn from streams of their own, so that changing one law
//! does not shift the draws of the others.
//!
//! ```
//! use iosonar_sim_core::Seed;
//! use iosonar_units::Sectors;
//! use iosonar_workload::{Arrivals, Batch, Size, SyntheticLoad, Workload};
//!
//! let workload = Workload {
//!     arrivals: Arrivals::Poisson { per_s: 10.0 },
//!     batch: Batch::One,
//!     size: Size::GeometricBlocks { mean: 4.0 },
//!     block: Sectors::new(256),
//!     read_share: 0.7,
//!     address_space: 1 << 30,
//! };
//! let load = SyntheticLoad::new(workload, &Seed::new(1));
//! assert_eq!(load.take(100).count(), 100);
//! ```

use iosonar_sim_core::{Seed, Stream};
use iosonar_trace::{Op, Request};
use iosonar_units::{Nanos, Sector, Sectors};

/// When requests (or batches of them) come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Independently of each other: exponential times between arrivals.
    Poisson {
        /// Mean arrivals per second.
        per_s: f64,
    },
    /// At equal distances, the first after one of them.
    Constant {
        /// Arrivals per second.
        per_s: f64,
    },
}

impl Arrivals {
    /// Mean arrivals per second.
    pub fn per_s(&self) -> f64 {
        match *self {
            Self::Poisson { per_s } | Self::Constant { per_s } => per_s,
        }
    }
}

/// How many requests come at each arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Batch {
    /// One.
    One,
    /// Always this many.
    Requests(u32),
    /// Geometric on 1, 2, ...
    Geometric {
        /// The mean, at least 1.
        mean: f64,
    },
}

impl Batch {
    /// The mean number of requests at an arrival.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::One => 1.0,
            Self::Requests(n) => f64::from(n),
            Self::Geometric { mean } => mean,
        }
    }
}

/// How large requests are, in blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// All the same.
    Blocks(u32),
    /// Geometric on 1, 2, ... blocks.
    GeometricBlocks {
        /// The mean, at least 1.
        mean: f64,
    },
}

impl Size {
    /// The mean size in blocks.
    pub fn mean_blocks(&self) -> f64 {
        match *self {
            Self::Blocks(blocks) => f64::from(blocks),
            Self::GeometricBlocks { mean } => mean,
        }
    }
}

/// The laws of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Workload {
    /// When requests come.
    pub arrivals: Arrivals,
    /// How many come at each arrival.
    pub batch: Batch,
    /// How large they are, in units of `block`.
    pub size: Size,
    /// The size of a block.
    pub block: Sectors,
    /// The probability that a request is a read; the others are writes.
    pub read_share: f64,
    /// Requests lie, aligned to blocks, within this many sectors.
    pub address_space: u64,
}

impl Workload {
    /// Mean requests per second.
    pub fn requests_per_s(&self) -> f64 {
        self.arrivals.per_s() * self.batch.mean()
    }
}

/// An endless load.
#[derive(Clone, Debug)]
pub struct SyntheticLoad {
    workload: Workload,
    mean_distance: Nanos,
    clock: Nanos,
    left_in_batch: u64,
    arrival: Stream,
    batch: Stream,
    size: Stream,
    op: Stream,
    address: Stream,
}

impl SyntheticLoad {
    /// A load of these laws; the rate is above zero, the address space holds a block.
    pub fn new(workload: Workload, seed: &Seed) -> Self {
        Self {
            mean_distance: Nanos::from_secs_f64(1.0 / workload.arrivals.per_s()),
            workload,
            clock: Nanos::ZERO,
            left_in_batch: 0,
            batch: seed.stream("load", "batch"),
            arrival: seed.stream("load", "arrival"),
            size: seed.stream("load", "size"),
            op: seed.stream("load", "op"),
            address: seed.stream("load", "address"),
        }
    }
}

impl Iterator for SyntheticLoad {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        let Workload {
            arrivals,
            batch,
            size,
            block,
            read_share,
            address_space,
        } = self.workload;
        if self.left_in_batch == 0 {
            self.clock = self.clock.saturating_add(match arrivals {
                Arrivals::Poisson { .. } => self.arrival.exponential(self.mean_distance),
                Arrivals::Constant { .. } => self.mean_distance,
            });
            self.left_in_batch = match batch {
                Batch::One => 1,
                Batch::Requests(n) => u64::from(n),
                Batch::Geometric { mean } => self.batch.geometric(mean),
            };
        }
        self.left_in_batch -= 1;
        let space = address_space / u64::from(block.get());
        // A request is cut where the address space ends; with any sensible size it never is.
        let blocks = match size {
            Size::Blocks(blocks) => u64::from(blocks),
            Size::GeometricBlocks { mean } => self.size.geometric(mean),
        }
        .clamp(1, space.min(u64::from(u32::MAX / block.get())));
        let op = if self.op.chance(read_share) {
            Op::Read
        } else {
            Op::Write
        };
        let first = self.address.below(space - blocks + 1);
        Some(Request {
            start: self.clock,
            sector: Sector::new(first * u64::from(block.get())),
            sectors: Sectors::new(blocks as u32 * block.get()),
            op,
            ..Request::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload() -> Workload {
        Workload {
            arrivals: Arrivals::Poisson { per_s: 100.0 },
            batch: Batch::One,
            size: Size::GeometricBlocks { mean: 3.0 },
            block: Sectors::new(8),
            read_share: 0.3,
            address_space: 8_000,
        }
    }

    #[test]
    fn the_laws_hold_in_the_mean() {
        let n = 200_000;
        let all: Vec<_> = SyntheticLoad::new(workload(), &Seed::new(1))
            .take(n)
            .collect();
        let n = n as f64;
        // Three standard errors each: exponential, geometric (variance q/(1-q)^2 = 6), binomial.
        let span = all[all.len() - 1].start.as_secs_f64();
        assert!((span / n * 100.0 - 1.0).abs() < 3.0 / n.sqrt());
        let blocks: f64 = all.iter().map(|r| f64::from(r.sectors.get()) / 8.0).sum();
        assert!((blocks / n - 3.0).abs() < 3.0 * 6.0_f64.sqrt() / n.sqrt());
        let reads = all.iter().filter(|r| r.op == Op::Read).count() as f64;
        assert!((reads / n - 0.3).abs() < 3.0 * 0.21_f64.sqrt() / n.sqrt());
        assert!(
            all.iter()
                .all(|r| r.end().get() <= 8_000 && r.sector.get() % 8 == 0)
        );
    }

    #[test]
    fn requests_of_a_batch_come_together() {
        let batches = Workload {
            batch: Batch::Geometric { mean: 3.0 },
            ..workload()
        };
        let n = 60_000;
        let all: Vec<_> = SyntheticLoad::new(batches, &Seed::new(1)).take(n).collect();
        let count = all.chunk_by(|a, b| a.start == b.start).count() as f64;
        // n requests make n / 3 batches; their number varies by sqrt(n q / mean^2), q = 2/3.
        let sd = (n as f64 * 2.0 / 3.0 / 9.0).sqrt();
        assert!((count - n as f64 / 3.0).abs() < 3.0 * sd, "{count}");
    }

    #[test]
    fn changing_the_sizes_leaves_arrivals_and_operations_alone() {
        let other = Workload {
            size: Size::Blocks(1),
            ..workload()
        };
        let a = SyntheticLoad::new(workload(), &Seed::new(1)).take(1000);
        let b = SyntheticLoad::new(other, &Seed::new(1)).take(1000);
        assert!(a.zip(b).all(|(a, b)| (a.start, a.op) == (b.start, b.op)));
    }
}
