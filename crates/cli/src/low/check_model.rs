//! What can be asked of `iosonar check-model`.

use std::path::PathBuf;

use clap::Args;
use iosonar_replay::EngineKind;
use iosonar_replay::verify::Verification;
use iosonar_units::{Bytes, Nanos};

use super::hosts::HostArgs;
use super::replay::{
    ConflictArgs, EngineArgs, FindArgs, LimitArgs, PaceArgs, TargetArgs, VerifyArgs,
};
use super::{OutputArgs, PixelArgs, ReadArgs, Replay, ServeArgs};
use crate::exit::Usage;

#[derive(Args, Debug)]
#[command(after_long_help = "The exit status is 0 for GOOD, 3 for any other verdict.")]
pub(crate) struct CheckModel {
    /// The load to replay, or the records of an earlier replay
    ///
    /// With --target, give a load; without --target, give the records of a replay.
    #[arg(value_name = "TRACE|RECORDS")]
    pub(crate) trace: PathBuf,
    /// Fit this model: ssd or a disk profile
    ///
    /// 'ssd' is a device that serves several requests at a time. A disk profile is given by its name or as a .toml
    /// file; the fit keeps its cylinders, surfaces and zones.
    #[arg(
        long,
        help_heading = "Model",
        value_name = "PROFILE",
        default_value = "ssd"
    )]
    pub(crate) profile: String,
    /// Assume this device capacity, with --profile ssd
    ///
    /// By default, the last sector in the records is taken as the end of the device.
    #[arg(long, help_heading = "Model", value_name = "SIZE")]
    pub(crate) capacity: Option<Bytes>,
    /// Draw the fit on the held-out half
    ///
    /// The chart compares the device with its model. The file's name must end in .png or .svg.
    #[arg(short, long, help_heading = "Results", value_name = "OUT")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pixels: PixelArgs,
    /// Write the fitted profile
    #[arg(long, help_heading = "Results", value_name = "OUT.toml")]
    pub(crate) profile_out: Option<PathBuf>,
    /// Write the records of the replay
    #[arg(long, help_heading = "Results", value_name = "OUT")]
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
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl CheckModel {
    /// The requested replay, with its records at `out`; `None` if the input already holds records.
    pub(crate) fn replay(&self, out: PathBuf) -> Result<Option<Replay>, Usage> {
        let targets = &self.targets;
        if targets.target.len() > 1 || !targets.map.is_empty() {
            let problem = "check-model fits the model of one device: give --target only once, and do not use --map";
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
                    "{option} applies only to a replay: name the device with --target"
                ))),
                None => Ok(None),
            };
        }
        Ok(Some(Replay {
            traces: vec![self.trace.clone()],
            targets: targets.clone(),
            hosts: HostArgs::none(),
            pace: self.pace.clone(),
            limits: self.limits.clone(),
            conflicts: self.conflicts.clone(),
            engine: self.engine.clone(),
            out: Some(out),
            output: self.output,
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
            live: ServeArgs::default(),
        }))
    }
}

/// Contents are not checked, because that takes extra time.
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
