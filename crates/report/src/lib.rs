//! Which charts and numbers a set of records gets.
//!
//! A [`Look`] goes once through records, from wherever they come (a recording, a simulation, a
//! replay), in bounded memory, and gives their distributions, their sonar diagram and their CDF.
//!
//! ```
//! use iosonar_report::{Look, Quantity};
//! use iosonar_trace::{Outcome, Record};
//! use iosonar_units::Nanos;
//!
//! let mut look = Look::new("a test", Quantity::Latency);
//! look.add(&Record { outcome: Outcome::done(Nanos::ZERO, Nanos::from_millis(3)), ..Record::default() });
//! assert_eq!(look.reads().moments.mean(), 3e6);
//! ```

mod look;

pub use look::{
    FAKE_NOTICE, Look, NothingMeasured, Quantity, cdf_chart, curve, curve_with_band, describe,
    grouped,
};
