//! Which charts, tables and words a set of records gets.
//!
//! A [`Look`] goes once through records, from wherever they come (a recording, a simulation, a replay), in
//! bounded memory, and remembers what the wanted charts need. The [catalogue](CATALOGUE) lists all charts,
//! with what they show and how to read them; each makes a [`Chart`](iosonar_plot::Chart) of what was
//! [measured](Measured), for one input or several. [`Page`] puts all into one HTML file.
//!
//! ```
//! use iosonar_report::{Look, LookOptions, Quantity, find};
//! use iosonar_trace::{Outcome, Record};
//! use iosonar_units::Nanos;
//!
//! let sonar = find("sonar").unwrap();
//! let mut look = Look::new("a test", sonar.needs, &LookOptions::default());
//! look.add(&Record { outcome: Outcome::done(Nanos::ZERO, Nanos::from_millis(3)), ..Record::default() });
//! let measured = look.finish();
//! assert_eq!(measured.reads(Quantity::Latency).moments.mean(), 3e6);
//! let charts = sonar.charts(&[measured], Default::default());
//! assert_eq!(charts[0].clouds().next().unwrap().count(), 1);
//! ```

mod attained;
mod catalogue;
mod charts;
pub mod curves;
mod exposition;
mod findings;
mod measure;
mod page;
mod plain_page;
mod self_check;
pub mod study;
mod targets;
mod words;

pub use attained::{distance_of, found_of, interval_of, value_of};
pub use catalogue::{Arrange, CATALOGUE, Entry, Group, find, nearest, needs_of};
pub use charts::distribution::{cdf_of, curve, curve_with_band, show_quantiles};
pub use charts::names_in_title;
pub use exposition::{EXPOSITION_TYPE, SweepRuns, exposition};
pub use findings::{Finding, Of, Threshold};
pub use measure::{
    Failure, Growing, Look, LookOptions, Measured, Needs, NothingMeasured, Origin, WorkingSets,
};
pub use page::conclusion::{Submission, SubmissionFlaw, per_second};
pub use page::{Beside, LivePage, Page, RunState};
pub use plain_page::{AnswerPage, RowMark, in_page};
pub use self_check::{SELF_CHECK_ENDING, SELF_CHECK_HEADER, SelfCheckRow, read_self_check};
pub use targets::{Assessment, Word, mark_on_distribution, verdicts};
pub use words::{describe, joined, remark};

pub use iosonar_plot::{counted, grouped};
pub use iosonar_trace::Quantity;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
