//! What a user can say about a replay.

#![allow(clippy::doc_markdown)] // The texts of the help.

mod engine;

use std::num::NonZeroU32;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};
use iosonar_replay::verify::{Verification, Verify};
use iosonar_replay::{
    Answer, Conflicts, Data, Durability, FileSize, Fit, Merges, Options, Pacing, Processors,
    RecordKeeping, ReplaySpec, Strong, Style, ThreadPriority, Writes, ZoneOptions,
};
use iosonar_units::{Bytes, Nanos};

use super::hosts::HostArgs;
use super::{BeyondArgs, OutputArgs, ReadArgs, ServeArgs};
use crate::exit::Usage;
use iosonar_study::highest_rate::Limit;

pub(crate) use engine::EngineArgs;

#[derive(Args, Debug)]
pub(crate) struct Replay {
    /// The loads to replay, assigned to the targets in turn (- is stdin)
    #[arg(required_unless_present = "spec", value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,
    /// Read the load, targets and all options from this JSON file
    ///
    /// For example, the spec.json of a run in a sweep. Whose contents may be destroyed must be confirmed with
    /// --destroy again. The file may contain a shell command (cmd), which is executed.
    #[arg(long, help_heading = "Load", value_name = "FILE", conflicts_with_all = [
        "traces", "target", "map", "max_targets", "delta", "write", "skip_writes", "create", "no_direct",
        "beyond", "align", "zone_append", "reset_zones", "data", "sync", "scheduler", "merges",
        "PaceArgs", "LimitArgs", "ConflictArgs", "VerifyArgs", "EngineArgs", "FindArgs", "FormatArgs", "ChangeArgs", "durable", "out_from", "warmup", "self_check",
    ])]
    pub(crate) spec: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) targets: TargetArgs,
    #[command(flatten)]
    pub(crate) hosts: HostArgs,
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
    /// Start at this time, in nanoseconds since 1970
    ///
    /// The time refers to this machine's clock. Use this option to start replays on several hosts together.
    #[arg(
        long,
        value_name = "NS",
        conflicts_with = "start_grace",
        help_heading = "Pacing"
    )]
    pub(crate) at: Option<u64>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) conflicts: ConflictArgs,
    #[command(flatten)]
    pub(crate) verify: VerifyArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) find: FindArgs,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
    /// Write every request, with delay and latency, to OUT
    #[arg(
        short,
        long,
        help_heading = "Output",
        alias = "output",
        value_name = "OUT"
    )]
    pub(crate) out: Option<PathBuf>,
    /// Sync the records to storage once per second
    ///
    /// The records then survive a power loss [implied by --durable-tables].
    #[arg(long, help_heading = "Output", requires = "out")]
    pub(crate) durable: bool,
    /// Start the output's times at TIME [default: as in the load]
    #[arg(
        long,
        help_heading = "Output",
        alias = "replay-out",
        value_name = "TIME",
        requires = "out"
    )]
    pub(crate) out_from: Option<Nanos>,
    /// Exclude the first TIME of the replay from the statistics
    #[arg(
        long,
        help_heading = "Output",
        alias = "ramp_time",
        value_name = "TIME",
        default_value = "0"
    )]
    pub(crate) warmup: Nanos,
    /// Write the replayer's own activity to OUT.selfcheck.csv
    ///
    /// The file shows what the replay did besides submitting requests. 'plot' and 'report' find the file by its name.
    #[arg(long, help_heading = "Output", requires = "out")]
    pub(crate) self_check: bool,
    /// Draw the sonar diagram in the terminal during the replay
    #[arg(long, help_heading = "Output", conflicts_with = "quiet")]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) live: ServeArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Targets")]
pub(crate) struct TargetArgs {
    /// Replay on this block device or file [repeatable]
    ///
    /// Several targets are used at the same time.
    #[arg(long, aliases = ["filename", "replay_redirect"], value_name = "DEV")]
    pub(crate) target: Vec<PathBuf>,
    /// Replay the requests for the trace's device NAME on DEV
    ///
    /// NAME is the device's name or number.
    #[arg(long, value_name = "NAME=DEV", value_parser = super::key_and_value, conflicts_with_all = ["target", "device", "delta", "max_targets"])]
    pub(crate) map: Vec<(String, String)>,
    /// Use at most N of the targets
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_targets: Option<u32>,
    /// Start each target TIME further into the load than the previous one
    ///
    /// The peaks of the load then occur at different times on the targets.
    #[arg(long, value_name = "TIME")]
    pub(crate) delta: Option<Nanos>,
    /// Submit the load's writes: data on the target is lost
    #[arg(long, conflicts_with = "skip_writes")]
    pub(crate) write: bool,
    /// Leave out the load's writes
    #[arg(long)]
    pub(crate) skip_writes: bool,
    /// Confirm that the contents of this target may be destroyed
    ///
    /// Required with --write if the target seems to hold data.
    #[arg(long, value_name = "DEV")]
    pub(crate) destroy: Vec<PathBuf>,
    /// Create the target file with SIZE of random data
    #[arg(long, value_name = "SIZE")]
    pub(crate) create: Option<FileSize>,
    /// Use the page cache: results are flagged as fake
    #[arg(long, alias = "no-o-direct")]
    pub(crate) no_direct: bool,
    #[command(flatten)]
    pub(crate) beyond: BeyondArgs,
    /// Widen requests to whole blocks of the target
    #[arg(long)]
    pub(crate) align: bool,
    /// Write at the write pointer of each sequential zone
    ///
    /// The position of the write within its zone is ignored.
    #[arg(long, help_heading = "Zoned devices", requires = "write")]
    pub(crate) zone_append: bool,
    /// Reset the sequential zones that the load writes to
    ///
    /// The zones are reset before the replay, and their data is lost.
    #[arg(long, help_heading = "Zoned devices", requires = "write")]
    pub(crate) reset_zones: bool,
    /// Write this data: random, random:PERCENT or zero
    ///
    /// With random:PERCENT, this percentage of the data is zeros, which makes it compressible.
    #[arg(
        long,
        help_heading = "Data",
        value_name = "WHAT",
        default_value = "random"
    )]
    pub(crate) data: Data,
    /// Wait until each write is on stable storage: none, dsync or sync
    ///
    /// With 'none', only writes with FUA wait.
    #[arg(long, help_heading = "Data", value_name = "HOW", default_value = "none", value_parser = ["none", "dsync", "sync"])]
    pub(crate) sync: String,
    /// Use this I/O scheduler during the replay
    ///
    /// The previous scheduler is restored at the end.
    #[arg(long, help_heading = "Kernel settings", value_name = "NAME")]
    pub(crate) scheduler: Option<String>,
    /// Allow or forbid merging of requests by the kernel
    ///
    /// The previous setting is restored at the end.
    #[arg(long, help_heading = "Kernel settings", value_name = "HOW", default_value = "allow", value_parser = ["allow", "forbid"])]
    pub(crate) merges: String,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Pacing")]
pub(crate) struct PaceArgs {
    /// Choose how to wait for start times
    #[arg(long, value_name = "HOW", default_value = "sleep-then-spin")]
    pub(crate) pacing: PacingName,
    /// Spin for at least TIME before each start
    #[arg(long, value_name = "TIME", default_value = "20us")]
    pub(crate) spin: Nanos,
    /// Run the pacing thread on these processors, such as 0,2-3
    #[arg(long, alias = "cpus_allowed", value_name = "LIST")]
    pub(crate) cpu: Option<Processors>,
    /// Schedule the pacing thread with this priority
    ///
    /// 'fifo' runs the thread before everything that is not real-time, 'nice' gives it the largest share of a
    /// processor, 'slice' gives it a short time slice, and 'normal' runs it like any other thread. 'auto' uses the
    /// first of these that is permitted.
    #[arg(long, value_name = "HOW", default_value = "auto", value_parser = priority)]
    pub(crate) priority: ThreadPriority,
    /// Submit with N threads, at most one per target
    ///
    /// Each thread submits for its share of the targets. The default is one thread per target, but at most the number
    /// of processors minus one.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroU32>,
    /// Read ahead and fill the queues for TIME before the start
    #[arg(long, value_name = "TIME", default_value = "200ms")]
    pub(crate) start_grace: Nanos,
    /// Stop the replay after this time
    ///
    /// The remaining requests of the load count as missed.
    #[arg(long, alias = "runtime", value_name = "TIME")]
    pub(crate) max_runtime: Option<Nanos>,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Keep at most N requests in flight
    ///
    /// A separate limit, also N, applies to requests that waited for an overlapping request to complete.
    #[arg(long, alias = "iodepth", value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=16384))]
    pub(crate) in_flight: u32,
    /// Keep at most N requests in flight, including delayed ones
    ///
    /// This limit also counts requests that were delayed by a conflict. The default is twice --in-flight.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=32768))]
    pub(crate) in_flight_total: Option<u32>,
    /// Allow at most N accepted but incomplete requests
    ///
    /// These requests are at the device or wait because of a conflict. The default is 8 times --in-flight.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub(crate) bottleneck: Option<u32>,
    /// Use at most SIZE of memory for the requests' data
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub(crate) buffer_memory: Bytes,
    /// Stop after more than N failed requests
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) max_errors: u64,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Conflicts (overlapping requests in flight)")]
pub(crate) struct ConflictArgs {
    /// Choose how to handle a request that overlaps one in flight
    ///
    /// HOW is allow, drop, partial (the request waits, and later requests that overlap it wait behind it),
    /// partial-loose (later requests may overtake it) or order (all later requests wait). blkreplay's names work as
    /// well.
    #[arg(long, value_name = "HOW", default_value = "partial")]
    pub(crate) conflicts: Conflicts,
    /// Count these overlaps as conflicts
    ///
    /// 0: two writes; 1: a write and any other request; 2: any two requests.
    #[arg(long, value_name = "0..2", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=2))]
    pub(crate) strong: u8,
    /// Flag the results if more than PERCENT of the requests are dropped
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percent)]
    pub(crate) max_dropped: f64,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Verification")]
pub(crate) struct VerifyArgs {
    /// Verify contents: off, reads, final or paranoid
    ///
    /// 'reads' checks reads of data that the replay wrote earlier. 'final' also reads all written data back at the end.
    /// 'paranoid' also reads each write back at once.
    #[arg(long, value_name = "LEVEL", default_value = "off", value_parser = level)]
    pub(crate) verify: Verify,
    /// Tag the written data even if nothing is verified
    #[arg(long)]
    pub(crate) tag: bool,
    /// Log the writes to a new file, for 'iosonar verify'
    ///
    /// Use the log to check the target after a crash.
    #[arg(long, value_name = "FILE")]
    pub(crate) keep_tables: Option<PathBuf>,
    /// Sync the log of --keep-tables before a flush completes
    #[arg(long, requires = "keep_tables")]
    pub(crate) durable_tables: bool,
    /// Write tables that exceed --table-memory to DIR [default: /tmp]
    ///
    /// The default is the system's folder for temporary files.
    #[arg(long, value_name = "DIR")]
    pub(crate) table_dir: Option<PathBuf>,
    /// Use at most SIZE of memory for the tables
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub(crate) table_memory: Bytes,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Highest rate")]
pub(crate) struct FindArgs {
    /// Find the highest rate that meets this limit
    ///
    /// The load is sped up until a limit such as 'latency p99 < 2ms' or 'read delay mean < 1ms' no longer holds. A
    /// limit applies to latency, delay or response_time.
    #[arg(long, value_name = "LIMIT")]
    pub(crate) find_rate: Option<Limit>,
    /// Try each rate for at least TIME and 1,000 requests
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub(crate) find_time: Nanos,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PacingName {
    /// Sleep until shortly before a start, then spin
    SleepThenSpin,
    /// Spin all the time
    Spin,
    /// Sleep only
    Sleep,
}

impl Replay {
    /// What to replay, and how.
    pub(crate) fn to_spec(&self) -> anyhow::Result<ReplaySpec> {
        if let Some(path) = &self.spec {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("{}: cannot read the spec", path.display()))?;
            let mut spec = ReplaySpec::from_json(&text)
                .map_err(|e| Usage(format!("{}: {e}", path.display())))?;
            spec.options.begin_at = self.at.map(Nanos::new).or(spec.options.begin_at);
            if !self.hosts.hosts.is_empty() {
                (spec.target, spec.map) = self.hosts.targets()?;
            }
            let confirmed = &self.targets.destroy;
            if let Some(target) = spec.destroy.iter().find(|of| !confirmed.contains(of)) {
                let (path, target) = (path.display(), target.display());
                return Err(Usage(format!(
                    "{path}: 'destroy' is {target}, expected only targets that are named on the command line: \
                     use --destroy {target} to confirm that its contents may be destroyed"
                ))
                .into());
            }
            spec.destroy.clone_from(confirmed);
            return Ok(spec);
        }
        let targets = &self.targets;
        let mapped = |(name, path): &(String, String)| (name.clone(), path.into());
        let (target, map) = match self.hosts.hosts.is_empty() {
            true => (
                targets.target.clone(),
                targets.map.iter().map(mapped).collect(),
            ),
            false => self.hosts.targets()?,
        };
        Ok(ReplaySpec {
            load: self.traces.clone(),
            reading: self.reading.reading()?,
            target,
            map,
            max_targets: targets.max_targets,
            delta: targets.delta,
            destroy: targets.destroy.clone(),
            create: targets.create,
            no_direct: targets.no_direct,
            scheduler: targets.scheduler.clone(),
            merges: match targets.merges.as_str() {
                "forbid" => Merges::Forbid,
                _ => Merges::Allow,
            },
            options: self.options(),
            answer: Answer {
                latency: self.engine.latency,
                model: self.engine.model.clone(),
                seed: self.engine.seed,
            },
            records: RecordKeeping {
                durable: self.durable,
                out_from: self.out_from,
                self_check: self.self_check,
            },
        })
    }

    fn options(&self) -> Options {
        let (targets, verify, engine) = (&self.targets, &self.verify, &self.engine);
        Options {
            writes: match (targets.write, targets.skip_writes) {
                (true, _) => Writes::Do,
                (false, true) => Writes::Skip,
                // These engines change nothing.
                (false, false) if !engine.engine.is_real() => Writes::Do,
                (false, false) => Writes::Refuse,
            },
            fit: Fit {
                beyond: targets.beyond.beyond(),
                align: targets.align,
            },
            in_flight: self.limits.in_flight,
            in_flight_total: self.limits.in_flight_total,
            bottleneck: self.limits.bottleneck,
            buffer_memory: self.limits.buffer_memory,
            max_errors: self.limits.max_errors,
            engine: engine.engine,
            ring: engine.ring(),
            threads: self.pace.threads,
            pacing: Pacing {
                style: match self.pace.pacing {
                    PacingName::SleepThenSpin => Style::SleepThenSpin,
                    PacingName::Spin => Style::Spin,
                    PacingName::Sleep => Style::Sleep,
                },
                spin: self.pace.spin,
                cpus: self.pace.cpu.clone().unwrap_or_default(),
                priority: self.pace.priority,
            },
            start_grace: self.pace.start_grace,
            begin_at: self.at.map(Nanos::new),
            max_runtime: self.pace.max_runtime,
            warmup: self.warmup,
            conflicts: self.conflicts.conflicts,
            strong: match self.conflicts.strong {
                0 => Strong::Writes,
                1 => Strong::ButReads,
                _ => Strong::Every,
            },
            max_dropped: self.conflicts.max_dropped / 100.0,
            data: targets.data,
            sync: match targets.sync.as_str() {
                "dsync" => Durability::Data,
                "sync" => Durability::Full,
                _ => Durability::None,
            },
            zones: ZoneOptions {
                append: targets.zone_append,
                reset: targets.reset_zones,
            },
            verification: Verification {
                level: verify.verify,
                tag: verify.tag,
                keep_tables: verify.keep_tables.clone(),
                durable_tables: verify.durable_tables,
                table_dir: verify.table_dir.clone().unwrap_or_else(std::env::temp_dir),
                table_memory: verify.table_memory,
            },
        }
    }
}

fn named<T: Copy>(all: &[(T, &str)], text: &str) -> Result<T, String> {
    let known = all.iter().find(|(_, name)| *name == text);
    known.map(|(value, _)| *value).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(_, name)| *name).collect();
        format!("expected one of: {}", names.join(", "))
    })
}

fn level(text: &str) -> Result<Verify, String> {
    named(&Verify::ALL, text)
}

fn percent(text: &str) -> Result<f64, String> {
    match text.strip_suffix('%').unwrap_or(text).trim_end().parse() {
        Ok(p) if (0.0..=100.0).contains(&p) => Ok(p),
        _ => Err("expected a percentage from 0 to 100, such as 5 or 5%".to_owned()),
    }
}

fn priority(text: &str) -> Result<ThreadPriority, String> {
    named(&ThreadPriority::ALL, text)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::low::{Arguments, Command};

    fn replay(words: &str) -> Replay {
        let words = ["iosonar", "replay"].into_iter().chain(words.split(' '));
        match Arguments::try_parse_from(words).unwrap().command {
            Command::Replay(replay) => *replay,
            _ => unreachable!("it is a replay"),
        }
    }

    #[test]
    fn nothing_that_a_spec_says_can_be_said_beside_it() {
        // Where it runs, where results go and how they are shown, and when it begins.
        let beside = [
            "spec",
            "hosts",
            "ssh",
            "host_program",
            "host_timeout",
            "out",
            "json",
            "quiet",
            "watch",
            "serve",
            "control",
            "at",
            "help",
            // What a file says about it must be confirmed.
            "destroy",
        ];
        let command = <Arguments as clap::CommandFactory>::command();
        let replay = command.find_subcommand("replay").unwrap();
        let mut tried = 0;
        for option in replay
            .get_arguments()
            .filter(|o| !beside.contains(&o.get_id().as_str()))
        {
            let takes_value = option.get_action().takes_values();
            // The first of some texts that the option takes by itself.
            let values = [
                "1",
                "1s",
                "read",
                "W=R",
                "a=b",
                "0..1",
                "first",
                "out",
                "shift",
                "p99 < 1s",
                "4096,8",
                "buffers=plain",
            ];
            let all: Vec<String> = option
                .get_possible_values()
                .iter()
                .map(|value| value.get_name().to_owned())
                .chain(values.map(str::to_owned))
                .chain(
                    ["none", "auto", "reads", "drop", "sync", "random", "queue"].map(str::to_owned),
                )
                .collect();
            let refused = all.iter().any(|value| {
                let option = match option.get_long() {
                    None => value.clone(),
                    Some(long) if takes_value => format!("--{long}={value}"),
                    Some(long) => format!("--{long}"),
                };
                let words = ["iosonar", "replay", "--spec", "x.json", &option];
                let error = Arguments::try_parse_from(words).map(drop).unwrap_err();
                error.kind() == clap::error::ErrorKind::ArgumentConflict
            });
            assert!(refused, "{}", option.get_id());
            tried += 1;
        }
        assert!(tried > 70, "{tried}");
    }

    #[test]
    fn without_options_all_is_as_by_default() {
        let default = ReplaySpec {
            load: vec!["x".into()],
            ..ReplaySpec::default()
        };
        let text = |spec: &ReplaySpec| serde_json::to_string_pretty(spec).unwrap();
        assert_eq!(text(&replay("x").to_spec().unwrap()), text(&default));
    }

    #[test]
    fn a_spec_is_the_same_from_options_and_from_keys_with_their_names() {
        let typed = "x --target a --write --destroy a --from 2s --speed 3 --until 9s --ops read,flush --slip \
                     --in-flight 7 --max-dropped 2.5 --spin 5us --cpu 0,2-3 --priority slice --conflicts with-drop \
                     --strong 0 --sync dsync --zone-append --data random:50 --verify reads --engine-opt task-work=defer \
                     --engine io-uring --latency 2ms --merges forbid --align --clip --warmup 1s --round out \
                     --start-at issue --columns time_s=T,op=O --spill-memory 1MiB --create 5000";
        let typed = replay(typed).to_spec().unwrap();
        let written = serde_json::json!({
            "load": "x", "target": "a", "write": true, "destroy": "a", "from": "2s", "speed": 3, "until": "9s",
            "ops": "read,flush", "slip": true, "in_flight": 7, "max_dropped": 2.5, "spin": "5us", "cpu": "0,2-3",
            "priority": "slice", "conflicts": "with-drop", "strong": 0, "sync": "dsync", "zone_append": true,
            "data": "random:50", "verify": "reads", "task_work": "defer", "engine": "io-uring", "latency": "2ms",
            "merges": "forbid", "align": true, "clip": true, "warmup": "1s", "round": "out", "start_at": "issue",
            "columns": ["time_s=T", "op=O"], "spill_memory": "1MiB", "create": 5000,
        });
        let serde_json::Value::Object(written) = written else {
            unreachable!("it is an object")
        };
        // Changes are done in their order, which the object above does not keep.
        let mut keys: Vec<(&str, serde_json::Value)> = written
            .iter()
            .map(|(k, v)| (k.as_str(), v.clone()))
            .collect();
        let order = ["from", "speed", "until", "ops", "slip"];
        keys.sort_by_key(|(key, _)| order.iter().position(|name| name == key));
        let written = ReplaySpec::from_keys(keys).unwrap();
        let text = |spec: &ReplaySpec| serde_json::to_string_pretty(spec).unwrap();
        assert_eq!(text(&typed), text(&written));
    }
}
