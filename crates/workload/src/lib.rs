//! Synthetic loads: requests from arrival processes, size laws and addresses.
//!
//! A [`SyntheticLoad`] is an iterator of requests in the order of their start, of one or several
//! [classes](Workload). Arrival times, sizes, operations and addresses of each class are drawn from
//! streams of their own, so that changing one law does not shift the draws of the others.
//!
//! ```
//! use iosonar_sim_core::Seed;
//! use iosonar_units::Sectors;
//! use iosonar_workload::{Addresses, ArrivalLaw, Batch, Shape, Size, SyntheticLoad, Workload};
//!
//! let workload = Workload {
//!     arrivals: ArrivalLaw::Poisson { per_s: 10.0 },
//!     batch: Batch::One,
//!     shape: Shape {
//!         size: Size::GeometricBlocks { mean: 4.0 },
//!         write_size: None,
//!         block: Sectors::new(256),
//!         read_share: 0.7,
//!         addresses: Addresses::Uniform,
//!         address_space: 1 << 30,
//!     },
//! };
//! let load = SyntheticLoad::new(vec![workload], &Seed::new(1));
//! assert_eq!(load.take(100).count(), 100);
//! ```

mod address;
mod arrival;
mod artificial;
mod bursts;
mod like;
mod noise;
mod parse;
mod probe;
mod renewal;
mod size;
mod span;
mod time_law;

use std::path::Path;

use iosonar_sim_core::arrivals::{Arrival, Source};
use iosonar_sim_core::{Geometric, Law, Seed, Stream};
use iosonar_trace::{Op, Request};
use iosonar_units::{Nanos, Sectors};

pub use address::Addresses;
use address::Placer;
pub use arrival::{ArrivalLaw, Batch, LoadPhase};
pub use artificial::{Artificial, ArtificialLoad, ArtificialShape};
pub use like::Likeness;
pub use parse::ParseLawError;
pub use probe::{ProbeLoad, ProbeShape};
pub use renewal::{Intervals, Renewal, RenewalError};
pub use size::{DrawnSizes, RoundedSizes, RoundedSizesError, Size};
pub use time_law::TimeLaw;

/// The laws of a class of requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// When requests come.
    pub arrivals: ArrivalLaw,
    /// How many come at each arrival.
    pub batch: Batch,
    /// What they are like.
    pub shape: Shape,
}

/// What the requests of a class are like, whenever they come.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// How large they are, in units of `block`.
    pub size: Size,
    /// How large writes are, where that differs from reads.
    pub write_size: Option<Size>,
    /// The size of a block.
    pub block: Sectors,
    /// The probability that a request is a read; the others are writes.
    pub read_share: f64,
    /// Where they lie.
    pub addresses: Addresses,
    /// Requests lie, aligned to blocks, within this many sectors.
    pub address_space: u64,
}

impl Shape {
    /// The recordings that its sizes are drawn from.
    pub fn traces(&self) -> impl Iterator<Item = &Path> {
        let laws = std::iter::once(&self.size).chain(&self.write_size);
        laws.filter_map(Size::trace)
    }

    /// How large requests of an operation are.
    pub fn size_of(&self, op: Op) -> &Size {
        match &self.write_size {
            Some(size) if op != Op::Read => size,
            _ => &self.size,
        }
    }

    /// The mean number of blocks of a request.
    pub fn mean_blocks(&self) -> f64 {
        let (reads, writes) = (self.size_of(Op::Read), self.size_of(Op::Write));
        self.read_share * reads.mean() + (1.0 - self.read_share) * writes.mean()
    }
}

impl Workload {
    /// Mean requests per second.
    pub fn requests_per_s(&self) -> f64 {
        self.arrivals.per_s() * self.batch.mean()
    }
}

/// Draws sizes.
#[derive(Clone, Debug)]
struct Sizes {
    law: Size,
    /// The law of geometric sizes, prepared.
    geometric: Geometric,
}

impl Sizes {
    fn new(law: &Size) -> Self {
        Self {
            law: law.clone(),
            geometric: Geometric::new(law.mean()),
        }
    }

    #[inline]
    fn draw(&self, stream: &mut Stream) -> u64 {
        match &self.law {
            Size::GeometricBlocks { .. } => self.geometric.draw(stream),
            size => size.draw(stream),
        }
    }
}

/// Draws the requests of a class.
#[derive(Clone, Debug)]
struct Requests {
    size: Sizes,
    /// Those of writes, where they differ.
    write_size: Option<Sizes>,
    block: Sectors,
    read_share: f64,
    /// In blocks.
    space: u64,
    class: u16,
    placer: Placer,
    sizes: Stream,
    op: Stream,
}

impl Requests {
    fn new(shape: &Shape, component: &str, class: u16, seed: &Seed) -> Self {
        let space = shape.address_space / u64::from(shape.block.get());
        Self {
            size: Sizes::new(&shape.size),
            write_size: shape.write_size.as_ref().map(Sizes::new),
            block: shape.block,
            read_share: shape.read_share,
            space,
            class,
            placer: Placer::new(&shape.addresses, space, seed.stream(component, "address")),
            sizes: seed.stream(component, "size"),
            op: seed.stream(component, "op"),
        }
    }

    #[inline]
    fn request(&mut self, start: Nanos) -> Request {
        let block = self.block.get();
        // A request is cut where the address space ends; with any sensible size it never is.
        let most = self.space.min(u64::from(u32::MAX / block));
        let op = if self.op.chance(self.read_share) {
            Op::Read
        } else {
            Op::Write
        };
        let sizes = match &self.write_size {
            Some(sizes) if op == Op::Write => sizes,
            _ => &self.size,
        };
        let blocks = sizes.draw(&mut self.sizes).clamp(1, most);
        Request {
            start,
            sector: self.placer.place(blocks, block),
            sectors: Sectors::new(blocks as u32 * block),
            op,
            class: self.class,
            ..Request::default()
        }
    }
}

/// A class in the middle of its load.
#[derive(Clone)]
struct Class {
    source: Source,
    arrival: Option<Arrival>,
    requests: Requests,
}

/// An endless load.
#[derive(Clone)]
pub struct SyntheticLoad {
    classes: Vec<Class>,
}

/// The component that a class draws for.
fn component(class: usize) -> String {
    match class {
        0 => "load".to_owned(),
        n => format!("load/{n}"),
    }
}

impl SyntheticLoad {
    /// A load of these classes, which are numbered in their order. Rates are above zero, address
    /// spaces hold a block.
    pub fn new(workloads: Vec<Workload>, seed: &Seed) -> Self {
        let class = |(i, workload): (usize, Workload)| {
            let component = component(i);
            let requests = Requests::new(&workload.shape, &component, i as u16, seed);
            let arrivals = workload.arrivals.process(&workload.batch, &component, seed);
            let mut source = Source::new(
                arrivals,
                seed.stream(&component, "arrival"),
                seed.stream(&component, "batch"),
            );
            Class {
                arrival: source.next(),
                source,
                requests,
            }
        };
        Self {
            classes: workloads.into_iter().enumerate().map(class).collect(),
        }
    }
}

impl Iterator for SyntheticLoad {
    type Item = Request;

    #[inline]
    fn next(&mut self) -> Option<Request> {
        // The earliest; of equal ones the first class.
        let mut first: Option<&mut Class> = None;
        for class in &mut self.classes {
            if let Some(arrival) = class.arrival
                && first
                    .as_ref()
                    .and_then(|first| first.arrival)
                    .is_none_or(|earliest| arrival.at < earliest.at)
            {
                first = Some(class);
            }
        }
        let class = first?;
        let arrival = class.arrival.as_mut()?;
        let start = arrival.at;
        arrival.jobs = arrival.jobs.saturating_sub(1);
        if arrival.jobs == 0 {
            class.arrival = class.source.next();
        }
        Some(class.requests.request(start))
    }
}

/// The requests of a closed loop: each user waits for its request, thinks, and sends
/// the next one.
#[derive(Clone)]
pub struct ClosedLoad {
    requests: Requests,
    outstanding: u32,
    think: Law,
    thinking: Stream,
    begun: u32,
}

impl ClosedLoad {
    /// `outstanding` users who think for an exponential time with the mean `think`.
    pub fn new(shape: &Shape, outstanding: u32, think: Nanos, seed: &Seed) -> Self {
        Self::thinking(shape, outstanding, &TimeLaw::Exponential(think), seed)
    }

    /// `outstanding` users with think times from any law.
    pub fn thinking(shape: &Shape, outstanding: u32, think: &TimeLaw, seed: &Seed) -> Self {
        Self {
            requests: Requests::new(shape, "load", 0, seed),
            outstanding,
            think: think.law(),
            thinking: seed.stream("load", "think"),
            begun: 0,
        }
    }

    /// The first request of the next user; `None` when all have begun. They do not come in the order
    /// of time.
    pub fn begin(&mut self) -> Option<Request> {
        if self.begun == self.outstanding {
            return None;
        }
        self.begun += 1;
        Some(self.after(Nanos::ZERO))
    }

    /// The next request of a user whose request was complete at `now`.
    pub fn after(&mut self, now: Nanos) -> Request {
        let start = now.saturating_add(self.think.draw(&mut self.thinking));
        self.requests.request(start)
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn workload() -> Workload {
        Workload {
            arrivals: ArrivalLaw::Poisson { per_s: 100.0 },
            batch: Batch::One,
            shape: Shape {
                size: Size::GeometricBlocks { mean: 3.0 },
                write_size: None,
                block: Sectors::new(8),
                read_share: 0.3,
                addresses: Addresses::Uniform,
                address_space: 8_000,
            },
        }
    }

    fn load(workload: Workload) -> SyntheticLoad {
        SyntheticLoad::new(vec![workload], &Seed::new(1))
    }

    #[test]
    fn the_laws_hold_in_the_mean() {
        let n = 200_000;
        let all: Vec<_> = load(workload()).take(n).collect();
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
        let all: Vec<_> = load(batches).take(n).collect();
        let count = all.chunk_by(|a, b| a.start == b.start).count() as f64;
        // n requests make n / 3 batches; their number varies by sqrt(n q / mean^2), q = 2/3.
        let sd = (n as f64 * 2.0 / 3.0 / 9.0).sqrt();
        assert!((count - n as f64 / 3.0).abs() < 3.0 * sd, "{count}");
    }

    #[test]
    fn batches_of_a_table_come_with_their_shares() {
        let batches = Workload {
            batch: Batch::Table([(0.7, 1), (0.3, 8)].into()),
            ..workload()
        };
        assert!((batches.requests_per_s() / 100.0 - 3.1).abs() < 1e-12);
        let all: Vec<_> = load(batches).take(62_000).collect();
        let sizes = all
            .chunk_by(|a, b| a.start == b.start)
            .map(<[Request]>::len);
        let (ones, eights) = sizes.fold((0, 0), |(a, b), n| match n {
            1 => (a + 1, b),
            8 => (a, b + 1),
            // The last one may be cut.
            _ => (a, b),
        });
        let n = f64::from(ones + eights);
        let sd = (0.21 / n).sqrt();
        assert!(
            (f64::from(eights) / n - 0.3).abs() < 3.0 * sd,
            "{ones} {eights}"
        );
    }

    #[test]
    fn changing_the_sizes_leaves_arrivals_and_operations_alone() {
        let other = Workload {
            shape: Shape {
                size: Size::Blocks(1),
                ..workload().shape
            },
            ..workload()
        };
        let (a, b) = (load(workload()).take(1000), load(other).take(1000));
        assert!(a.zip(b).all(|(a, b)| (a.start, a.op) == (b.start, b.op)));
    }

    #[test]
    fn writes_have_sizes_of_their_own() {
        let mut two = workload();
        two.shape.size = Size::Blocks(1);
        two.shape.write_size = Some(Size::Blocks(8));
        assert!((two.shape.mean_blocks() - (0.3 + 0.7 * 8.0)).abs() < 1e-12);
        let all: Vec<_> = load(two).take(1000).collect();
        let blocks = |op| if op == Op::Read { 8 } else { 64 };
        assert!(all.iter().all(|r| r.sectors.get() == blocks(r.op)));
        // Neither the times nor the operations are others than with one law for both.
        let same = |(a, b): (&Request, Request)| (a.start, a.op) == (b.start, b.op);
        assert!(all.iter().zip(load(workload())).all(same));
    }

    #[test]
    fn classes_come_in_the_order_of_time_each_at_its_rate() {
        let quick = Workload {
            arrivals: ArrivalLaw::Constant { per_s: 30.0 },
            shape: Shape {
                read_share: 1.0,
                ..workload().shape
            },
            ..workload()
        };
        let all: Vec<_> = SyntheticLoad::new(vec![workload(), quick], &Seed::new(1))
            .take(130_000)
            .collect();
        assert!(all.is_sorted_by_key(|r| r.start));
        let second = all.iter().filter(|r| r.class == 1);
        assert!(second.clone().all(|r| r.op == Op::Read));
        let share = second.count() as f64 / 130_000.0;
        assert!((share - 30.0 / 130.0).abs() < 0.003, "{share}");
        // A second class does not shift the first.
        let alone = load(workload()).take(1000);
        assert!(alone.eq(all.iter().copied().filter(|r| r.class == 0).take(1000)));
    }

    #[test]
    fn users_of_a_closed_loop_think_before_each_request() {
        let mut closed = ClosedLoad::new(&workload().shape, 2, Nanos::MILLISECOND, &Seed::new(1));
        assert!(closed.begin().is_some() && closed.begin().is_some());
        assert!(closed.begin().is_none());
        let n = 100_000;
        let at = Nanos::SECOND;
        let thought: f64 = (0..n)
            .map(|_| (closed.after(at).start - at).as_millis_f64())
            .sum();
        assert!((thought / f64::from(n) - 1.0).abs() < 3.0 / f64::from(n).sqrt());
    }

    #[test]
    fn think_times_have_their_mean_and_spread() {
        let intervals = Intervals::Gamma { cv: 2.0 };
        let other = TimeLaw::Other {
            mean_ms: 5.0,
            times: Renewal::new(200.0, intervals, None).unwrap(),
        };
        let ms = Nanos::from_millis;
        for (think, cv) in [
            (TimeLaw::Constant(ms(5)), 0.0),
            (TimeLaw::Exponential(ms(5)), 1.0),
            (other, 2.0),
        ] {
            assert_eq!((think.mean(), think.is_exponential()), (ms(5), cv == 1.0));
            let mut load = ClosedLoad::thinking(&workload().shape, 1, &think, &Seed::new(1));
            let n = 100_000;
            let mut draw = || (load.after(ms(9)).start - ms(9)).as_millis_f64();
            let times: Vec<f64> = (0..n).map(|_| draw()).collect();
            let n = f64::from(n);
            let mean = times.iter().sum::<f64>() / n;
            let sd = (times.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / n).sqrt();
            assert!(
                (mean - 5.0).abs() <= 3.5 * sd / n.sqrt(),
                "{think:?}: {mean}"
            );
            assert!((sd / 5.0 - cv).abs() < 0.05, "{think:?}: {sd}");
        }
        let none = TimeLaw::Exponential(Nanos::ZERO);
        assert!(none.is_exponential() && none.law() == Law::Constant(Nanos::ZERO));
    }
}
