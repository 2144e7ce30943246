//! Many runs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use iosonar_study::sweep::{Changes, MOST_RUNS, Source, SweepError, SweepSpec};
use iosonar_units::Bytes;

use super::hosts::ConnectionArgs;
use super::named::named;
use super::{LookArgs, Named, OutputArgs, PixelArgs, ReadArgs, ServeArgs, key_and_value};

#[derive(Args, Debug)]
#[command(
    after_long_help = "A file named 'stop' in the tree ends the sweep after the current runs; 'skip' disables its \
    folder and all folders below; 'prio-N' orders runs, the smallest N first. Folders whose names end in '.old' or \
    contain 'ignore' are skipped."
)]
pub(crate) struct Sweep {
    /// An experiment file, or a folder of runs
    ///
    /// DIR is the folder of an earlier sweep, or a tree of folders in which each innermost folder is a run.
    #[arg(value_name = "FILE|DIR")]
    pub(crate) what: PathBuf,
    /// Keep the runs in DIR [default: FILE without .toml]
    #[arg(long, help_heading = "Runs", value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Run at most N simulations or replays at once
    ///
    /// The default is the number of processors for simulations, and 1 for replays. Replays on the same target never
    /// overlap.
    #[arg(short, long, help_heading = "Runs", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Use up to SIZE of memory before a simulation's first request
    ///
    /// Simulations that run at once share half of SIZE.
    #[arg(
        long,
        help_heading = "Runs",
        value_name = "SIZE",
        default_value = "900MiB"
    )]
    pub(crate) memory: Bytes,
    /// List the runs and estimate their duration; run nothing
    #[arg(long, help_heading = "Runs")]
    pub(crate) dry_run: bool,
    /// Run only paths that match PATTERN (*, ?) [repeatable]
    ///
    /// Without * and ?, PATTERN matches all paths that contain it.
    #[arg(long, help_heading = "Runs", value_name = "PATTERN")]
    pub(crate) only: Vec<String>,
    /// Set a key in all runs [repeatable]
    ///
    /// For example, --set load.requests=1000.
    #[arg(long, help_heading = "Runs", value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Keep every simulation's requests as records.ios
    #[arg(long, help_heading = "Runs")]
    pub(crate) records: bool,
    /// Confirm that the contents of this target may be destroyed
    ///
    /// This applies to replays that write and to hooks.
    #[arg(long, help_heading = "Runs", value_name = "DEV")]
    pub(crate) destroy: Vec<PathBuf>,
    /// Repeat runs whose scenario has changed
    #[arg(long, help_heading = "Runs")]
    pub(crate) repeat_changed: bool,
    /// Redraw tables, charts and page; run nothing
    #[arg(long, help_heading = "Runs")]
    pub(crate) replot: bool,
    /// Accept more than 100 000 runs
    #[arg(long, help_heading = "Runs")]
    pub(crate) yes: bool,
    /// Run on this machine or as a Slurm job array
    #[arg(
        long,
        help_heading = "Hosts",
        value_name = "WHERE",
        default_value = "here"
    )]
    pub(crate) on: Where,
    /// Replay on these hosts at once, over ssh
    ///
    /// All replays share one clock. Give host names to use each run's own targets, or pairs such as 'host:/dev/sdb'.
    #[arg(
        help_heading = "Hosts",
        long,
        value_name = "HOST,...",
        value_delimiter = ',',
        conflicts_with = "on"
    )]
    pub(crate) hosts: Vec<String>,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    /// Copy this program to the hosts instead of using theirs
    #[arg(
        long,
        help_heading = "Hosts",
        requires = "hosts",
        conflicts_with = "host_program"
    )]
    pub(crate) push: bool,
    #[command(flatten)]
    pub(crate) live: ServeArgs,
    #[command(flatten)]
    pub(crate) pixels: PixelArgs,
    /// Write the tables in this format as well
    ///
    /// FORMAT is csv, parquet, arrow or feather. The files are called points.FORMAT and runs.FORMAT.
    #[arg(long, help_heading = "Runs", value_name = "FORMAT", default_value = "csv", value_parser = super::pictures::TABLES, hide_possible_values = true)]
    pub(crate) tables: String,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl Sweep {
    /// These options in the form that the library takes.
    pub(crate) fn to_spec(&self) -> Result<SweepSpec, SweepError> {
        Ok(SweepSpec {
            source: Source::of(&self.what, self.dir.as_deref())?,
            changes: Changes {
                set: self.set.clone(),
                records: self.records,
                memory: self.memory.get(),
                most: (!self.yes).then_some(MOST_RUNS),
            },
            destroy: self.destroy.clone(),
            jobs: self.jobs.map(u32::from),
        })
    }
}

#[derive(Args, Debug)]
pub(crate) struct SweepTask {
    /// The task file of the sweep
    pub(crate) tasks: PathBuf,
    /// The task's number
    pub(crate) number: usize,
}

/// Where runs are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Where {
    /// Processes on this machine
    Here,
    /// A Slurm job array
    Slurm,
}

#[derive(Args, Debug)]
#[command(after_long_help = "The exit status is 3 if an input misses a --target.")]
pub(crate) struct Compare {
    /// The records to compare; the first is the reference
    ///
    /// Records are recordings, simulations or replays; NAME=FILE labels one.
    #[arg(required = true, num_args = 2.., value_name = "RECORDS", value_parser = named())]
    pub(crate) inputs: Vec<Named>,
    /// Compare request by request
    ///
    /// Use this for simulations of the same requests (common random numbers).
    #[arg(long, help_heading = "Comparison")]
    pub(crate) paired: bool,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
    /// Draw distributions, quantiles and sonar diagrams into DIR
    ///
    /// The files are cdf.png, qq.png (quantiles against quantiles) and sonar.png (side by side).
    #[arg(long, help_heading = "Output", value_name = "DIR")]
    pub(crate) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pixels: PixelArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Calibrate {
    /// Records of thousands of requests, spread over the whole device
    #[arg(value_name = "RECORDS")]
    pub(crate) records: PathBuf,
    /// Fit this kind of device: ssd, or a profile
    ///
    /// PROFILE is 'ssd' for a device that serves several requests at a time, or the name or .toml file of a profile.
    /// The fit keeps the geometry of a disk profile. For the profile of an SSD with flash, the records must be of a
    /// long run of writes.
    #[arg(long, help_heading = "Model", value_name = "PROFILE")]
    pub(crate) profile: String,
    /// Write the profile to this file [default: print it]
    #[arg(
        short,
        long,
        help_heading = "Results",
        alias = "output",
        value_name = "OUT.toml"
    )]
    pub(crate) out: Option<PathBuf>,
    /// Assume this device capacity, with --profile ssd
    ///
    /// By default, the last sector in the records is taken as the end of the device.
    #[arg(long, help_heading = "Model", value_name = "SIZE")]
    pub(crate) capacity: Option<Bytes>,
    /// Draw the held-out half and its fit (.png, .svg)
    ///
    /// The chart shows the distributions of the measured and the predicted latencies.
    #[arg(long, help_heading = "Results", value_name = "OUT")]
    pub(crate) cdf: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pixels: PixelArgs,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
