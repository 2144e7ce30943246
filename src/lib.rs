//! iosonar: how long will my I/O take?
//!
//! This crate is the façade: it re-exports the crates that do the work, one module each, and the
//! command line in [`cli`]. Data flow one way:
//!
//! ```text
//!  recording ┐                                                   ┌ sonar diagrams, CDFs
//!  generator ┼─► trace of Requests ─► filters ─┬─► simulate ─┐   │
//!  file      ┘   (one format)                  └─► replay  ──┴─► trace of Records ─► tables
//! ```
//!
//! | module | what is in it |
//! |---|---|
//! | [`linux`] | memory that the kernel reads and writes, system calls |
//! | [`units`] | nanoseconds, sectors, bytes |
//! | [`stats`] | moments, histograms, confidence intervals |
//! | [`trace`] | requests, records, trace formats, transformations |
//! | [`analysis`] | metrics over traces |
//! | [`sim_core`] | event calendar, random streams, queueing networks |
//! | [`device`] | what an array sees of a device |
//! | [`disk_model`] | zoned disks |
//! | [`ssd_model`] | SSDs with the driver in front of them |
//! | [`raid`] | RAID levels as fork-join queueing networks |
//! | [`workload`] | synthetic loads |
//! | [`analytic`] | queueing theory: closed forms, bounds, mean value analysis |
//! | [`scenario`] | scenario files: the simulations that they mean, and what theory says of them |
//! | [`study`] | many runs: sweeps, comparisons, calibration, plans |
//! | [`guard`] | what a target is, who uses it, whether it may be written to |
//! | [`replay`] | replays on real devices |
//! | [`recorder`] | recordings from the kernel's trace points |
//! | [`mod@bench`] | measurements of this machine and of devices, beside other tools |
//! | [`plot`] | charts from numbers |
//! | [`report`] | which charts and numbers a set of records gets |

pub use iosonar_analysis as analysis;
pub use iosonar_analytic as analytic;
pub use iosonar_bench as bench;
pub use iosonar_cli as cli;
pub use iosonar_device as device;
pub use iosonar_disk_model as disk_model;
pub use iosonar_guard as guard;
pub use iosonar_linux as linux;
pub use iosonar_plot as plot;
pub use iosonar_raid as raid;
pub use iosonar_recorder as recorder;
pub use iosonar_replay as replay;
pub use iosonar_report as report;
pub use iosonar_scenario as scenario;
pub use iosonar_sim_core as sim_core;
pub use iosonar_ssd_model as ssd_model;
pub use iosonar_stats as stats;
pub use iosonar_study as study;
pub use iosonar_trace as trace;
pub use iosonar_units as units;
pub use iosonar_workload as workload;
