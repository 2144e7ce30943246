//! iosonar: how long will my I/O take?
//!
//! This crate is the façade: it re-exports the crates that do the work, one module each, and the
//! command line in `cli`. Data flow one way:
//!
//! ```text
//!  recording ┐                                                   ┌ sonar diagrams, CDFs
//!  generator ┼─► trace of Requests ─► filters ─┬─► simulate ─┐   │
//!  file      ┘   (one format)                  └─► replay  ──┴─► trace of Records ─► tables
//! ```
//!
//! | module | feature | what is in it |
//! |---|---|---|
//! | [`linux`] | `replay` | memory that the kernel reads and writes, system calls |
//! | [`units`] |  | nanoseconds, sectors, bytes |
//! | [`stats`] |  | moments, histograms, confidence intervals |
//! | [`trace`] | `trace` | requests, records, trace formats, transformations |
//! | `arrow` | `arrow` | traces as Arrow record batches, Parquet and Arrow files |
//! | [`analysis`] | `analysis` | metrics over traces |
//! | [`sim_core`] | `sim` | event calendar, random streams, queueing networks |
//! | [`device`] | `sim` | what an array sees of a device |
//! | [`disk_model`] | `sim` | zoned disks |
//! | [`ssd_model`] | `sim` | SSDs with the driver in front of them |
//! | [`raid`] | `sim` | RAID levels as fork-join queueing networks |
//! | [`workload`] | `sim` | synthetic loads |
//! | [`analytic`] | `theory` | queueing theory: closed forms, bounds, mean value analysis |
//! | [`scenario`] | `sim` | scenario files: the simulations that they mean, and what theory says of them |
//! | [`study`] | `study` | many runs: sweeps, comparisons, calibration, plans |
//! | [`guard`] | `replay` | what a target is, who uses it, whether it may be written to |
//! | [`replay`] | `replay` | replays on real devices |
//! | [`recorder`] | `replay` | recordings from the kernel's trace points |
//! | [`mod@bench`] | `cli` | measurements of this machine and of devices, beside other tools |
//! | [`plot`] | `plot` | charts from numbers |
//! | [`report`] | `plot` | which charts and numbers a set of records gets |
//!
//! Feature `cli` is on by default and brings all of them but `arrow`. A program that only simulates asks for less:
//!
//! ```toml
//! iosonar = { version = "0.1", default-features = false, features = ["sim"] }
//! ```

#[cfg(feature = "analysis")]
pub use iosonar_analysis as analysis;
#[cfg(feature = "theory")]
pub use iosonar_analytic as analytic;
#[cfg(feature = "arrow")]
pub use iosonar_arrow as arrow;
#[cfg(feature = "cli")]
pub use iosonar_bench as bench;
#[cfg(feature = "cli")]
pub use iosonar_cli as cli;
#[cfg(feature = "sim")]
pub use iosonar_device as device;
#[cfg(feature = "sim")]
pub use iosonar_disk_model as disk_model;
#[cfg(feature = "replay")]
pub use iosonar_guard as guard;
#[cfg(feature = "replay")]
pub use iosonar_linux as linux;
#[cfg(feature = "plot")]
pub use iosonar_plot as plot;
#[cfg(feature = "sim")]
pub use iosonar_raid as raid;
#[cfg(feature = "replay")]
pub use iosonar_recorder as recorder;
#[cfg(feature = "replay")]
pub use iosonar_replay as replay;
#[cfg(feature = "plot")]
pub use iosonar_report as report;
#[cfg(feature = "sim")]
pub use iosonar_scenario as scenario;
#[cfg(feature = "sim")]
pub use iosonar_sim_core as sim_core;
#[cfg(feature = "sim")]
pub use iosonar_ssd_model as ssd_model;
pub use iosonar_stats as stats;
#[cfg(feature = "study")]
pub use iosonar_study as study;
#[cfg(feature = "trace")]
pub use iosonar_trace as trace;
pub use iosonar_units as units;
#[cfg(feature = "sim")]
pub use iosonar_workload as workload;

/// What the demo needs, so that it runs wherever the binary is installed, and how this crate was built.
#[cfg(feature = "cli")]
pub const ASSETS: cli::Assets = cli::Assets {
    build: cli::Build {
        commit: option_env!("IOSONAR_COMMIT"),
        target: env!("IOSONAR_TARGET"),
        profile: env!("IOSONAR_PROFILE"),
        features: env!("IOSONAR_FEATURES"),
    },
    demo_load: include_bytes!("../fixtures/database-server.load.gz"),
    demo_scenario: include_str!("../examples/raid10-database.toml"),
};

/// The command `iosonar` with the arguments of this program. A program that has
/// [registered](scenario::Registry::install) devices and levels of its own has them in all its commands.
#[cfg(feature = "cli")]
pub fn command_line() -> std::process::ExitCode {
    cli::run(std::env::args_os(), &ASSETS)
}
