//! What can be said about many times: moments, quantiles, and how sure one can be.
//!
//! - [`Moments`]: count, mean, variance, extremes, in integers: exact, and the same in whatever
//!   order or grouping the samples arrive.
//! - [`Histogram`]: any number of times in bounded memory, with bounded relative error; quantiles
//!   and the distribution function come from here.
//! - [`Distribution`]: both of these for the same times.
//! - [`Estimate`]: a mean with its standard error, from independent replications or from
//!   [`BatchMeans`] of one run (the samples of one run are not independent).
//! - [`Sections`], [`quantile_of`], [`cdf_band`]: how sure one can be of quantiles and of the whole
//!   distribution function.
//! - [`TimeWeighted`]: averages over time, such as of a queue's length.
//! - [`Metric`]: a measured quantity with its name, labels and unit, from where it is measured to where it is printed.
//! - [`mser_5`]: how long a simulation takes to warm up.
//! - [`ks_distance`], [`ks_significance`], [`demerit`], [`RmsCurve`]: how far two distributions are apart.
//!
//! ```
//! use iosonar_stats::{Histogram, Moments};
//! use iosonar_units::Nanos;
//!
//! let (mut moments, mut histogram) = (Moments::default(), Histogram::default());
//! for ms in 1..=100 {
//!     moments.push(Nanos::from_millis(ms));
//!     histogram.push(Nanos::from_millis(ms));
//! }
//! assert_eq!(moments.mean(), 50.5e6);
//! let p90 = histogram.quantile(0.9).unwrap().as_millis_f64();
//! assert!((p90 - 90.0).abs() < 90.0 * Histogram::RELATIVE_ERROR);
//! ```

mod distance;
mod distribution;
mod estimate;
mod histogram;
#[cfg(feature = "metrics")]
pub mod metric;
mod moments;
#[cfg(feature = "metrics")]
mod output;
mod sections;
mod time_weighted;
mod warmup;

pub use distance::{RmsCurve, demerit, ks_distance, ks_significance};
pub use distribution::Distribution;
pub use estimate::{BatchMeans, Estimate};
pub use histogram::{CdfPoint, Histogram, SparseHistogram};
#[cfg(feature = "metrics")]
pub use metric::{Labels, Metric};
pub use moments::Moments;
#[cfg(feature = "metrics")]
pub use output::Output;
pub use sections::{
    BandPoint, Section, Sections, TwoKinds, cdf_band, mean_of, quantile_interval, quantile_of,
    sd_of, share_of,
};
pub use time_weighted::TimeWeighted;
pub use warmup::mser_5;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
