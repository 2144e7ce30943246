//! Answers without simulation: what queueing theory knows of storage.
//!
//! Times are plain numbers in any unit of the caller's, the same throughout; rates are per that unit.
//!
//! - [`ServiceLaw`]: a service time as an expression (constants, exponentials, uniforms, weighted points, their
//!   sums and mixtures) with its moments and its Laplace-Stieltjes transform;
//! - [`invert`]: distribution functions and quantiles from transforms;
//! - [`Table`]: a distribution on a grid: sums, maxima, the waiting times of M/G/1 and D/G/1 queues;
//! - [`open`]: stations with arrivals from outside: M/M/c, M/G/1, priorities, batches, bulk service;
//! - [`fork_join`]: requests that are complete when all their parts are;
//! - [`closed`]: a fixed number of jobs: bounds, mean value analysis, several classes.
//!
//! Each item names its equation, its source, and where it holds. What cannot be answered is an
//! [`AnalyticError`], which says what would make it answerable.
//!
//! ```
//! use iosonar_analytic::{ServiceLaw, open::Mg1};
//!
//! // M/D/1 at a utilisation of 0.5: the wait is half a service time.
//! let queue = Mg1::new(0.5, ServiceLaw::Constant(1.0)).unwrap();
//! assert_eq!(queue.mean_wait(), 0.5);
//! ```

pub mod closed;
mod convolution;
mod error;
pub mod fork_join;
pub mod invert;
mod law;
pub mod open;
pub mod quadrature;
mod table;

pub use error::AnalyticError;
pub use law::ServiceLaw;
pub use num_complex::Complex64;
pub use table::Table;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
