//! What can be asked of `iosonar check-model`.

use std::path::PathBuf;

use clap::Args;
use iosonar_replay::EngineKind;
use iosonar_replay::verify::Verification;
use iosonar_units::{Bytes, Nanos};

use super::replay::{
    ConflictArgs, EngineArgs, FindArgs, LimitArgs, PaceArgs, TargetArgs, VerifyArgs,
};
use super::{ReadArgs, Replay};
use crate::exit::Usage;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    iosonar check-model web.load.gz --target /dev/sdX --fit --skip-writes -o check.png\n  \
    iosonar check-model web.load.gz --target /dev/sdX --profile seagate-st3500630ns --profile-out mine.toml\n  \
    iosonar check-model replayed.ios --json\n\n\
    The exit code is 0 for GOOD, 3 for POOR and for CANNOT TELL.")]
pub(crate) struct CheckModel {
    /// The load to replay on --target; without --target the records of an earlier replay
    #[arg(value_name = "TRACE|RECORDS")]
    pub(crate) trace: PathBuf,
    /// What is fitted: 'ssd', a device that serves several requests at a time; or a disk profile (its name,
    /// or a .toml file), whose geometry is taken as it is
    #[arg(long, value_name = "PROFILE", default_value = "ssd")]
    pub(crate) profile: String,
    /// With --profile ssd: how much the device holds, if it is more than the records show
    #[arg(long, value_name = "SIZE")]
    pub(crate) capacity: Option<Bytes>,
    /// Draw the latencies of device and model on the half that the model was not fitted to (.png or .svg)
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: Option<PathBuf>,
    /// Keep the fitted profile
    #[arg(long, value_name = "OUT.toml")]
    pub(crate) profile_out: Option<PathBuf>,
    /// Keep the records of the replay
    #[arg(long, value_name = "OUT")]
    pub(crate) records: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) targets: TargetArgs,
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) conflicts: ConflictArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// Print results for programs, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print results and errors only: no notes, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

impl CheckModel {
    /// The replay that is asked for, with its records at `out`; `None` where there are records already.
    pub(crate) fn replay(&self, out: PathBuf) -> Result<Option<Replay>, Usage> {
        let targets = &self.targets;
        if targets.target.len() > 1 || !targets.map.is_empty() {
            let problem =
                "check-model fits the model of one device: give one --target, without --map";
            return Err(Usage(problem.to_owned()));
        }
        if targets.target.is_empty() && self.engine.engine != EngineKind::Simulate {
            let idle = [
                (targets.write, "--write"),
                (targets.skip_writes, "--skip-writes"),
                (targets.create.is_some(), "--create"),
                (self.records.is_some(), "--records"),
            ];
            return match idle.into_iter().find(|(is_given, _)| *is_given) {
                Some((_, option)) => Err(Usage(format!(
                    "{option}: only for a replay: name the device with --target"
                ))),
                None => Ok(None),
            };
        }
        Ok(Some(Replay {
            traces: vec![self.trace.clone()],
            targets: targets.clone(),
            pace: self.pace.clone(),
            limits: self.limits.clone(),
            conflicts: self.conflicts.clone(),
            engine: self.engine.clone(),
            out: Some(out),
            json: self.json,
            quiet: self.quiet,
            reading: self.reading.clone(),
            spec: None,
            at: None,
            verify: not_verified(),
            find: FindArgs {
                find_rate: None,
                find_time: Nanos::ZERO,
            },
            durable: false,
            out_from: None,
            warmup: Nanos::ZERO,
            self_check: false,
            watch: false,
        }))
    }
}

/// Contents are not checked: that takes time of its own.
fn not_verified() -> VerifyArgs {
    let default = Verification::default();
    VerifyArgs {
        verify: default.level,
        tag: default.tag,
        keep_tables: default.keep_tables,
        durable_tables: default.durable_tables,
        table_dir: None,
        table_memory: default.table_memory,
    }
}
