//! How far distributions are apart, and how sure that is.
//!
//! A [`Sample`] takes the times of records, all together and by classes: reads, writes, sizes. Each class knows its
//! quantiles with their intervals from sections of the run; a [`Difference`] has the distance of the curves
//! and of the means of two of them. [`paired`] compares simulations of the same requests one by one.

mod load;
mod metrics;
mod quantiles;

use iosonar_stats::{
    BatchMeans, Distribution, Estimate, Sections, demerit, ks_distance, ks_significance, mean_of,
    quantile_of,
};
use iosonar_trace::{Batch, Op, Outcome, Record, TraceError, TraceReader};
use iosonar_units::{Nanos, SECTOR_BYTES};

pub use load::SampleLoad;
pub use metrics::metrics;
pub use quantiles::quantiles_against;

/// The classes of sizes: their names, and the largest request in bytes.
const SIZES: [(&str, u64); 6] = [
    ("up to 4 KiB", 4 << 10),
    ("up to 16 KiB", 16 << 10),
    ("up to 64 KiB", 64 << 10),
    ("up to 256 KiB", 256 << 10),
    ("up to 1 MiB", 1 << 20),
    ("above 1 MiB", u64::MAX),
];

/// Some of the requests of a sample.
#[derive(Clone, Debug)]
pub struct Class {
    /// Which: `all`, `reads`, `writes`, or a range of sizes.
    pub name: &'static str,
    sections: Sections,
    /// Once they are all there.
    parts: Vec<Distribution>,
    whole: Distribution,
}

/// The times of records by classes.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What it is called.
    pub name: String,
    /// The load of its records.
    pub load: SampleLoad,
    classes: Vec<Class>,
}

impl Sample {
    /// Without any records.
    pub fn new(name: &str) -> Self {
        let names = ["all", "reads", "writes"];
        let names = names.into_iter().chain(SIZES.map(|(name, _)| name));
        let class = |name| Class {
            name,
            sections: Sections::of_a_run(),
            parts: Vec::new(),
            whole: Distribution::default(),
        };
        Self {
            name: name.to_owned(),
            load: SampleLoad::default(),
            classes: names.map(class).collect(),
        }
    }

    /// Takes all reads and writes of `reader` that were done, and of which `time` is known.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn read(
        &mut self,
        reader: &mut dyn TraceReader,
        time: impl Fn(&Outcome) -> Option<Nanos>,
    ) -> Result<(), TraceError> {
        let mut batch = Batch::default();
        while reader.next_batch(&mut batch)? > 0 {
            for record in batch.records() {
                self.load.push(&record);
                // How long a failure took is not a time of the device's.
                if let Some(t) = time(&record.outcome).filter(|_| record.outcome.status.is_timed())
                {
                    self.add(
                        record.request.op,
                        u64::from(record.request.sectors.get()),
                        t,
                    );
                }
            }
        }
        self.load.about(reader.metadata());
        Ok(())
    }

    /// Adds a request.
    pub fn add(&mut self, op: Op, sectors: u64, t: Nanos) {
        let by_op = match op {
            Op::Read => 1,
            Op::Write | Op::WriteZeroes => 2,
            Op::Flush | Op::Discard => return,
        };
        let bytes = sectors * SECTOR_BYTES;
        let size = SIZES
            .iter()
            .position(|&(_, most)| bytes <= most)
            .unwrap_or(SIZES.len() - 1);
        for class in [0, by_op, 3 + size] {
            self.classes[class].sections.push(t);
        }
    }

    /// The classes, once all is read; empty ones too, so that those of two samples stand side by side.
    pub fn finish(&mut self) {
        for class in &mut self.classes {
            class.whole = class.sections.whole();
            class.parts = class.sections.independent();
        }
    }

    /// All classes.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }
}

impl Class {
    /// All its times.
    pub fn times(&self) -> &Distribution {
        &self.whole
    }

    /// Its mean in nanoseconds.
    pub fn mean(&self) -> Estimate {
        mean_of(&self.whole, &self.parts)
    }

    /// A quantile in nanoseconds.
    pub fn quantile(&self, p: f64) -> Estimate {
        quantile_of(&self.whole, &self.parts, p)
    }

    /// Independent parts of the run; empty where there are too few.
    pub fn parts(&self) -> &[Distribution] {
        &self.parts
    }

    /// As many independent values would know the mean as well; NaN where that is not known.
    pub fn effective_n(&self) -> f64 {
        let stderr = self.mean().stderr;
        let n = (self.whole.moments.sd() / stderr).powi(2);
        if n.is_nan() {
            return n;
        }
        n.min(self.whole.count() as f64)
    }
}

/// How far a class is from that of the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The Kolmogorov-Smirnov distance.
    pub ks: f64,
    /// The probability of such a distance between samples of the same distribution, with their effective sizes; NaN
    /// where these are not known.
    pub ks_p: f64,
    /// The demerit in nanoseconds.
    pub demerit_ns: f64,
    /// The same as a share of the reference's mean.
    pub demerit_relative: f64,
    /// The difference of the means in nanoseconds, as of independent samples.
    pub mean_ns: Estimate,
    /// The same as a share of the reference's mean; NaN where that is zero.
    pub mean_relative: f64,
    /// How many times the reference's mean the mean is; NaN where that is zero.
    pub mean_ratio: f64,
    /// The differences of the quantiles [`Self::QUANTILES`], in nanoseconds.
    pub quantiles_ns: [f64; 2],
    /// How many times those of the reference the same quantiles are; NaN where these are zero.
    pub quantile_ratios: [f64; 2],
}

impl Difference {
    /// The quantiles whose differences are computed, with their names.
    pub const QUANTILES: [(&'static str, f64); 2] = [("p50", 0.5), ("p99", 0.99)];

    /// Of a class to the same one of the reference; `None` if one of them is empty.
    pub fn between(reference: &Class, other: &Class) -> Option<Self> {
        let (a, b) = (reference.times(), other.times());
        if a.count() == 0 || b.count() == 0 {
            return None;
        }
        let ks = ks_distance(&a.histogram, &b.histogram);
        let demerit_ns = demerit(&a.histogram, &b.histogram);
        let (mean_a, mean_b) = (reference.mean(), other.mean());
        let mean_ns = difference_of(mean_a, mean_b);
        let quantiles =
            Self::QUANTILES.map(|(_, p)| (reference.quantile(p).mean, other.quantile(p).mean));
        Some(Self {
            ks,
            ks_p: ks_significance(ks, reference.effective_n(), other.effective_n()),
            demerit_ns,
            demerit_relative: demerit_ns / mean_a.mean,
            mean_ns,
            mean_relative: ratio((mean_a.mean, mean_ns.mean)),
            mean_ratio: ratio((mean_a.mean, mean_b.mean)),
            quantiles_ns: quantiles.map(|(a, b)| b - a),
            quantile_ratios: quantiles.map(ratio),
        })
    }
}

/// How many times the first the second is.
fn ratio((a, b): (f64, f64)) -> f64 {
    if a > 0.0 { b / a } else { f64::NAN }
}

/// The difference of two estimates that rest on independent values (Welch).
pub fn difference_of(a: Estimate, b: Estimate) -> Estimate {
    let (var_a, var_b) = (a.stderr.powi(2), b.stderr.powi(2));
    let of = |var: f64, e: Estimate| var * var / (e.values.saturating_sub(1)).max(1) as f64;
    let degrees = (var_a + var_b).powi(2) / (of(var_a, a) + of(var_b, b));
    Estimate {
        mean: b.mean - a.mean,
        stderr: (var_a + var_b).sqrt(),
        values: if degrees.is_finite() {
            degrees as usize + 1
        } else {
            a.values.min(b.values)
        },
    }
}

/// The differences of two simulations of the same requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// How many pairs.
    pub n: u64,
    /// The mean times of the first and of the second, in nanoseconds.
    pub means_ns: [f64; 2],
    /// The mean of the second minus the first, in nanoseconds.
    pub difference_ns: Estimate,
    /// How many took longer in the second.
    pub longer: u64,
    /// How many took less.
    pub shorter: u64,
}

impl Paired {
    /// How many times the mean time of the first that of the second is; not a number where that of the first is zero.
    pub fn mean_ratio(&self) -> f64 {
        ratio((self.means_ns[0], self.means_ns[1]))
    }
}

/// Why two records are not of the same requests.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// They cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Another request.
    #[error(
        "request {number} is {first} in the first input and {second} in the second: --paired needs simulations of the \
         same requests, such as two arrays simulated with the same trace or seed"
    )]
    Different {
        /// Which, from 1, by intended start.
        number: u64,
        /// The first's.
        first: String,
        /// The second's.
        second: String,
    },
}

/// Goes through both side by side; they must be in the order of intended starts.
///
/// # Errors
/// If one cannot be read, or they are not of the same requests.
pub fn paired(
    first: &mut dyn TraceReader,
    second: &mut dyn TraceReader,
    time: impl Fn(&Outcome) -> Option<Nanos>,
) -> Result<Paired, PairError> {
    let (mut one, mut other) = (Rows::new(first), Rows::new(second));
    let mut batches = BatchMeans::default();
    let (mut n, mut longer, mut shorter, mut number) = (0_u64, 0, 0, 0);
    let (mut sums, mut sum) = ([0.0; 2], 0.0);
    loop {
        // Requests that start together may be recorded in either order.
        let (mut a, mut b) = (one.together()?, other.together()?);
        if a.is_empty() && b.is_empty() {
            break;
        }
        // Arrays of other sizes have the same requests elsewhere.
        let key = |r: &Record| (r.request.start, r.request.sectors, r.request.op as u8);
        a.sort_by_key(key);
        b.sort_by_key(key);
        for i in 0..a.len().max(b.len()) {
            number += 1;
            let (x, y) = (a.get(i), b.get(i));
            if x.map(key) != y.map(key) {
                let words = |r: Option<&Record>| match r {
                    None => "missing".to_owned(),
                    Some(r) => format!(
                        "a {:?} of {} sectors that starts at {}",
                        r.request.op,
                        r.request.sectors.get(),
                        r.request.start
                    )
                    .to_lowercase(),
                };
                return Err(PairError::Different {
                    number,
                    first: words(x),
                    second: words(y),
                });
            }
            let (Some(x), Some(y)) = (x, y) else {
                continue;
            };
            if let (Some(x), Some(y)) = (time(&x.outcome), time(&y.outcome)) {
                let (x, y) = (x.get() as f64, y.get() as f64);
                let difference = y - x;
                batches.push(difference);
                sums = [sums[0] + x, sums[1] + y];
                sum += difference;
                n += 1;
                longer += u64::from(difference > 0.0);
                shorter += u64::from(difference < 0.0);
            }
        }
    }
    Ok(Paired {
        n,
        means_ns: sums.map(|sum| sum / n as f64),
        difference_ns: Estimate {
            mean: sum / n as f64,
            ..batches.estimate()
        },
        longer,
        shorter,
    })
}

/// Records one after the other.
struct Rows<'a> {
    reader: &'a mut dyn TraceReader,
    batch: Batch,
    next: usize,
}

impl<'a> Rows<'a> {
    fn new(reader: &'a mut dyn TraceReader) -> Self {
        Self {
            reader,
            batch: Batch::default(),
            next: 0,
        }
    }

    /// The next one, without taking it.
    fn peek(&mut self) -> Result<Option<Record>, TraceError> {
        if self.next == self.batch.len() {
            self.next = 0;
            if self.reader.next_batch(&mut self.batch)? == 0 {
                return Ok(None);
            }
        }
        Ok(Some(self.batch.record(self.next)))
    }

    /// All that start at the same instant as the next one.
    fn together(&mut self) -> Result<Vec<Record>, TraceError> {
        let mut all: Vec<Record> = Vec::new();
        while let Some(record) = self.peek()? {
            if all
                .first()
                .is_some_and(|first| first.request.start != record.request.start)
            {
                break;
            }
            all.push(record);
            self.next += 1;
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_sim_core::Seed;

    fn sample(seed: u64, mean_us: u64, n: u64) -> Sample {
        let mut stream = Seed::new(seed).stream("x", "y");
        let mut sample = Sample::new("x");
        for i in 0..n {
            let op = if i % 3 == 0 { Op::Write } else { Op::Read };
            let sectors = if i % 2 == 0 { 8 } else { 2048 };
            sample.add(op, sectors, stream.exponential(Nanos::from_micros(mean_us)));
        }
        sample.finish();
        sample
    }

    #[test]
    fn the_same_distribution_is_not_significantly_different_from_itself() {
        let (a, b) = (sample(1, 100, 40_000), sample(2, 100, 40_000));
        for (a, b) in a.classes().iter().zip(b.classes()) {
            let Some(difference) = Difference::between(a, b) else {
                assert_eq!(a.times().count(), 0);
                continue;
            };
            assert!(difference.ks_p > 0.001, "{} {difference:?}", a.name);
            // Four standard errors.
            assert!(difference.mean_ns.mean.abs() < 4.0 * difference.mean_ns.stderr);
        }
        let n = a.classes()[0].effective_n();
        assert!((10_000.0..=40_000.0).contains(&n), "{n}");
    }

    #[test]
    fn another_distribution_is_as_far_away_as_theory_says() {
        let (a, b) = (sample(1, 100, 200_000), sample(2, 130, 200_000));
        let found = Difference::between(&a.classes()[0], &b.classes()[0]).unwrap();
        // Exponentials with rates 1 and 1 / 1.3: the distance is largest where x = 1.3 ln(1.3) / 0.3.
        let x: f64 = 1.3 * 1.3_f64.ln() / 0.3;
        let exact = (-x / 1.3).exp() - (-x).exp();
        assert!(
            (found.ks - exact).abs() < 1.63 * (2.0_f64 / 2e5).sqrt(),
            "{found:?} {exact}"
        );
        assert!(found.ks_p < 1e-6);
        // Quantiles lie 0.3 of the mean times -ln(1 - p) apart: root mean square 0.3 sqrt(2).
        let expected = 0.3 * 2.0_f64.sqrt();
        assert!(
            (found.demerit_relative / expected - 1.0).abs() < 0.05,
            "{found:?}"
        );
        assert!((found.mean_ns.mean / 30_000.0 - 1.0).abs() < 0.05);
    }
}
