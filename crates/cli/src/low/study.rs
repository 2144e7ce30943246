//! Many runs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use iosonar_study::sweep::{Changes, MOST_RUNS, Source, SweepError, SweepSpec};
use iosonar_units::Bytes;

use super::named::named;
use super::{LookArgs, Named, ReadArgs, key_and_value};

#[derive(Args, Debug)]
#[command(
    after_help = "A file 'stop' in the tree ends the sweep after the runs under way; 'skip' in a folder disables \
    it and all below; 'prio-N' orders runs, the smallest N first; folders whose names end in '.old' or contain \
    'ignore' are left alone."
)]
pub(crate) struct Sweep {
    /// An experiment file; or a tree of folders: one that a sweep has begun, or one whose leaves are runs
    #[arg(value_name = "FILE|DIR")]
    pub(crate) what: PathBuf,
    /// The tree for the runs of an experiment file [default: its name without .toml]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// How many runs at once; replays on the same target never are [default: all processors for
    /// simulations, 1 for replays]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// List the runs and estimate how long they take; do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Only runs whose path is like this ('*' and '?'; without them: contains this); may be given several times
    #[arg(long, value_name = "PATTERN")]
    pub(crate) only: Vec<String>,
    /// Another value for a key of all runs, such as load.requests=1000; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Keep the requests of every simulation as records.ios
    #[arg(long)]
    pub(crate) records: bool,
    /// The content of this target may be destroyed, by replays that write and by hooks
    #[arg(long, value_name = "DEV")]
    pub(crate) destroy: Vec<PathBuf>,
    /// Repeat runs whose scenario is another one now
    #[arg(long)]
    pub(crate) repeat_changed: bool,
    /// Make tables, charts and page anew from what is there; run nothing
    #[arg(long)]
    pub(crate) replot: bool,
    /// More than a million runs are meant
    #[arg(long)]
    pub(crate) yes: bool,
    /// Where runs go
    #[arg(long, value_name = "WHERE", default_value = "here")]
    pub(crate) on: Where,
    /// Replay on these hosts at once, over ssh, against one clock: names for the targets of each run, or
    /// pairs such as 'host:/dev/sdb'
    #[arg(
        long,
        value_name = "HOST,...",
        value_delimiter = ',',
        conflicts_with = "on"
    )]
    pub(crate) hosts: Vec<String>,
    /// The ssh client with its options
    #[arg(
        long,
        value_name = "COMMAND",
        default_value = "ssh",
        requires = "hosts"
    )]
    pub(crate) ssh: String,
    /// Copy this program to the hosts instead of using the one on their PATH
    #[arg(long, requires = "hosts")]
    pub(crate) push: bool,
    /// Print results for programs, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print results and errors only: no notes, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl Sweep {
    /// What is asked for, as the library takes it.
    pub(crate) fn to_spec(&self) -> Result<SweepSpec, SweepError> {
        Ok(SweepSpec {
            source: Source::of(&self.what, self.dir.as_deref())?,
            changes: Changes {
                set: self.set.clone(),
                records: self.records,
                most: (!self.yes).then_some(MOST_RUNS),
            },
            destroy: self.destroy.clone(),
            jobs: self.jobs.map(u32::from),
        })
    }
}

#[derive(Args, Debug)]
pub(crate) struct SweepTask {
    /// What the sweep wrote for its tasks
    pub(crate) tasks: PathBuf,
    /// The task's number
    pub(crate) number: usize,
}

/// Where runs go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Where {
    /// Processes of this machine
    Here,
    /// A job array of Slurm
    Slurm,
}

#[derive(Args, Debug)]
pub(crate) struct Compare {
    /// Records of recordings, simulations, replays; the first is what the others are compared with; NAME=FILE gives one
    /// a name
    #[arg(required = true, num_args = 2.., value_name = "RECORDS", value_parser = named())]
    pub(crate) inputs: Vec<Named>,
    /// The difference request by request: both simulate the same requests (common random numbers)
    #[arg(long)]
    pub(crate) paired: bool,
    /// Draw distributions (cdf.png), quantiles against quantiles (qq.png) and sonar diagrams side by side
    /// (sonar.png) into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) plot: Option<PathBuf>,
    /// Print results for programs, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print results and errors only: no notes, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) look: LookArgs,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Calibrate {
    /// Records of the device: at least a few thousand requests all over it
    #[arg(value_name = "RECORDS")]
    pub(crate) records: PathBuf,
    /// What is fitted: a disk profile (its name, or a .toml file), whose geometry is taken as it is; the
    /// profile of an SSD with flash, for a long write run; or 'ssd': a device that serves several requests
    /// at a time
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: String,
    /// The profile to write [default: print it]
    #[arg(short, long, value_name = "OUT.toml")]
    pub(crate) out: Option<PathBuf>,
    /// With --profile ssd: how much the device holds, if it is more than the records show
    #[arg(long, value_name = "SIZE")]
    pub(crate) capacity: Option<Bytes>,
    /// Draw the distributions of the held-out half, recorded and simulated (.png or .svg)
    #[arg(long, value_name = "OUT")]
    pub(crate) cdf: Option<PathBuf>,
    /// Print results for programs, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print results and errors only: no notes, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}
