//! What a user can say about a replay.

#![allow(clippy::doc_markdown)] // The texts of the help.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use iosonar_replay::verify::{Verification, Verify};
use iosonar_replay::{
    Conflicts, Data, Durability, EngineKind, Fit, Intent, Options, Pacing, Priority, RingOptions,
    Strong, Style, TaskWork, Writes, ZoneOptions,
};
use iosonar_units::{Bytes, Nanos};

use super::{BeyondArgs, ReadArgs};
use crate::commands::replay::Limit;

#[derive(Args, Debug)]
pub(crate) struct Replay {
    /// The load; several are dealt to the targets in turn ('-' is standard input)
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) targets: TargetArgs,
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
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
    /// Write every request with its delay and latency as a trace
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: Option<PathBuf>,
    /// Sync the records to their medium once per second, for a loss of power [implied by --durable-tables]
    #[arg(long, requires = "out")]
    pub(crate) durable: bool,
    /// The start of the window in the output's times [default: as in the load]
    #[arg(long, value_name = "TIME", requires = "out")]
    pub(crate) out_from: Option<Nanos>,
    /// Leave requests that should start earlier than this in the replay out of the statistics
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub(crate) warmup: Nanos,
    /// Write beside the records what the replay did besides handing over, as OUT.selfcheck.csv: 'plot' and
    /// 'report' find it there
    #[arg(long, requires = "out")]
    pub(crate) self_check: bool,
    /// Draw the sonar diagram on the terminal while the replay runs
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) watch: bool,
    /// Print results for programs, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print results and errors only: no notes, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Targets")]
pub(crate) struct TargetArgs {
    /// The block device or file to replay on; several are driven at once
    #[arg(long, value_name = "DEV")]
    pub(crate) target: Vec<PathBuf>,
    /// Requests to this device of the trace (name or number) go to this target
    #[arg(long, value_name = "NAME=DEV", value_parser = super::key_and_value, conflicts_with_all = ["target", "device", "delta", "max_targets"])]
    pub(crate) map: Vec<(String, String)>,
    /// Use at most so many of the targets
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_targets: Option<u32>,
    /// Each further target begins so much later in its load, so that peaks do not coincide
    #[arg(long, value_name = "TIME")]
    pub(crate) delta: Option<Nanos>,
    /// Do the load's writes: what is on the target is lost
    #[arg(long, conflicts_with = "skip_writes")]
    pub(crate) write: bool,
    /// Leave out the load's writes
    #[arg(long)]
    pub(crate) skip_writes: bool,
    /// With --write: the content of this target may be destroyed
    #[arg(long, value_name = "DEV")]
    pub(crate) destroy: Vec<PathBuf>,
    /// Make a new file of this size as the target, filled with random data
    #[arg(long, value_name = "SIZE", value_parser = file_size)]
    pub(crate) create: Option<Bytes>,
    /// Go through the page cache: results are fake, and marked so
    #[arg(long)]
    pub(crate) no_direct: bool,
    #[command(flatten)]
    pub(crate) beyond: BeyondArgs,
    /// Widen requests to whole blocks of the target
    #[arg(long)]
    pub(crate) align: bool,
    /// Write to the write pointer of each sequential zone, wherever in the zone the load writes
    #[arg(long, requires = "write")]
    pub(crate) zone_append: bool,
    /// Reset the sequential zones that the load writes to before the replay: what they hold is lost
    #[arg(long, requires = "write")]
    pub(crate) reset_zones: bool,
    /// What is written: random, random:PERCENT of which so much compresses, or zero
    #[arg(long, value_name = "WHAT", default_value = "random", value_parser = data)]
    pub(crate) data: Data,
    /// Whether writes wait for the medium: none (only those with FUA), dsync, sync
    #[arg(long, value_name = "HOW", default_value = "none", value_parser = ["none", "dsync", "sync"])]
    pub(crate) sync: String,
    /// Use this I/O scheduler during the replay, and restore the old one
    #[arg(long, value_name = "NAME")]
    pub(crate) scheduler: Option<String>,
    /// Whether the kernel may merge requests that are submitted together (forbid is restored at the end)
    #[arg(long, value_name = "HOW", default_value = "allow", value_parser = ["allow", "forbid"])]
    pub(crate) merges: String,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Pacing")]
pub(crate) struct PaceArgs {
    /// How starts are waited for
    #[arg(long, value_name = "HOW", default_value = "sleep-then-spin")]
    pub(crate) pacing: PacingName,
    /// How long before each start sleeping ends at the latest and spinning begins
    #[arg(long, value_name = "TIME", default_value = "20us")]
    pub(crate) spin: Nanos,
    /// Run the pacing thread on these processors only, such as 1 or 0,2-3
    #[arg(long, value_name = "LIST", value_parser = processors)]
    pub(crate) cpu: Option<Processors>,
    /// How the pacing thread is scheduled: fifo ahead of everything that is not real-time, nice with the largest
    /// share of a processor, slice with a short slice, normal; auto is the first of these that is permitted
    #[arg(long, value_name = "HOW", default_value = "auto", value_parser = priority)]
    pub(crate) priority: Priority,
    /// Submit with N threads, each for its share of the targets; at most one per target [default: one per target,
    /// but one less than there are processors]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroU32>,
    /// Time to read ahead and fill the queues before time zero
    #[arg(long, value_name = "TIME", default_value = "200ms")]
    pub(crate) start_grace: Nanos,
    /// Time zero by this machine's clock, in nanoseconds since 1970, to begin together with others
    #[arg(long, value_name = "NS", conflicts_with = "start_grace")]
    pub(crate) at: Option<u64>,
    /// End the replay after this time; what is left of the load is missed
    #[arg(long, value_name = "TIME")]
    pub(crate) max_runtime: Option<Nanos>,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// The most requests at the device at once; as many that were pushed back have places of their own
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=16384))]
    pub(crate) in_flight: u32,
    /// The most requests of both kinds at the device at once [default: twice --in-flight]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=32768))]
    pub(crate) in_flight_total: Option<u32>,
    /// The most requests that are accepted and not complete, pushed back or at the device [default: 8
    /// times --in-flight]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub(crate) bottleneck: Option<u32>,
    /// The most memory for the requests' data
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub(crate) buffer_memory: Bytes,
    /// How many failed requests are borne; one more ends the replay
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) max_errors: u64,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Conflicts (requests in flight at once that overlap)")]
pub(crate) struct ConflictArgs {
    /// What becomes of a request that conflicts with one in flight: allow, drop, partial (it waits),
    /// partial-loose (later ones may overtake it), order (everything waits); blkreplay's names, too
    #[arg(long, value_name = "HOW", default_value = "partial")]
    pub(crate) conflicts: Conflicts,
    /// Which overlaps are conflicts: 0 write against write, 1 all but read against read, 2 every one
    #[arg(long, value_name = "0..2", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=2))]
    pub(crate) strong: u8,
    /// Flag the results if more than so many percent are dropped
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percent)]
    pub(crate) max_dropped: f64,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Verification")]
pub(crate) struct VerifyArgs {
    /// Check contents: off, reads (of what was written before), final (and everything at the end),
    /// paranoid (and each write at once)
    #[arg(long, value_name = "LEVEL", default_value = "off", value_parser = level)]
    pub(crate) verify: Verify,
    /// Tag what is written although nothing is checked
    #[arg(long)]
    pub(crate) tag: bool,
    /// Keep a log of the writes in a new file, for 'iosonar verify' after a crash
    #[arg(long, value_name = "FILE")]
    pub(crate) keep_tables: Option<PathBuf>,
    /// With --keep-tables: the log is on its medium before a flush counts
    #[arg(long, requires = "keep_tables")]
    pub(crate) durable_tables: bool,
    /// Where tables go that outgrow --table-memory [default: the system's folder for such files]
    #[arg(long, value_name = "DIR")]
    pub(crate) table_dir: Option<PathBuf>,
    /// How much memory the tables may take
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub(crate) table_memory: Bytes,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Engine")]
pub(crate) struct EngineArgs {
    /// How requests are submitted: auto, io_uring, sync (one at a time), threads, passthrough (NVMe commands
    /// to a character device such as /dev/ng0n1), dry (not at all), simulate (a model answers)
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = engine)]
    pub(crate) engine: EngineKind,
    /// With --engine simulate: how long every request takes [default: 100us]
    #[arg(long, value_name = "TIME", conflicts_with = "model")]
    pub(crate) latency: Option<Nanos>,
    /// With --engine simulate: a disk answers instead, by the name of its profile or a .toml file (first
    /// come, first served; places at random, as its laws say)
    #[arg(long, value_name = "PROFILE")]
    pub(crate) model: Option<String>,
    /// With --model: where its randomness comes from [default: 1]
    #[arg(long, requires = "model")]
    pub(crate) seed: Option<u64>,
    /// io_uring: a kernel thread submits (SQPOLL)
    #[arg(long)]
    pub(crate) sqpoll: bool,
    /// Poll the device for completions (IOPOLL), which needs poll queues: io_uring, passthrough
    #[arg(long)]
    pub(crate) iopoll: bool,
    /// io_uring: when the kernel does its part of a completion: interrupt, coop, defer [default: coop]
    #[arg(long, value_name = "WHEN", value_parser = ["interrupt", "coop", "defer"])]
    pub(crate) task_work: Option<String>,
    /// io_uring: do not register buffers
    #[arg(long)]
    pub(crate) plain_buffers: bool,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Searching")]
pub(crate) struct FindArgs {
    /// Find the highest rate that the target sustains: the load is sped up until this does not hold any
    /// more, such as 'latency p99<2ms' (also delay, response_time)
    #[arg(long, value_name = "LIMIT")]
    pub(crate) find_rate: Option<Limit>,
    /// With --find-rate: how long each try lasts
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

/// Some processors.
#[derive(Clone, Debug)]
pub(crate) struct Processors(Vec<usize>);

impl Replay {
    /// Whether the records are to survive a loss of power.
    pub(crate) fn is_durable(&self) -> bool {
        self.durable || self.verify.durable_tables
    }

    /// What the replay crate is told.
    pub(crate) fn options(&self) -> Options {
        let (targets, verify, engine) = (&self.targets, &self.verify, &self.engine);
        Options {
            writes: targets.writes(),
            fit: targets.fit(),
            in_flight: self.limits.in_flight,
            in_flight_total: self.limits.in_flight_total,
            bottleneck: self.limits.bottleneck,
            buffer_memory: self.limits.buffer_memory,
            max_errors: self.limits.max_errors,
            engine: engine.engine,
            ring: RingOptions {
                submission_thread: engine.sqpoll,
                poll_completions: engine.iopoll,
                task_work: match engine.task_work.as_deref() {
                    Some("interrupt") => TaskWork::Interrupt,
                    Some("defer") => TaskWork::Deferred,
                    _ => TaskWork::Cooperative,
                },
                plain_buffers: engine.plain_buffers,
            },
            threads: self.pace.threads,
            pacing: Pacing {
                style: match self.pace.pacing {
                    PacingName::SleepThenSpin => Style::SleepThenSpin,
                    PacingName::Spin => Style::Spin,
                    PacingName::Sleep => Style::Sleep,
                },
                spin: self.pace.spin,
                cpus: self.pace.cpu.clone().map_or_else(Vec::new, |cpu| cpu.0),
                priority: self.pace.priority,
            },
            start_grace: self.pace.start_grace,
            begin_at: self.pace.at.map(Nanos::new),
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

impl TargetArgs {
    pub(crate) fn writes(&self) -> Writes {
        match (self.write, self.skip_writes) {
            (true, _) => Writes::Do,
            (false, true) => Writes::Skip,
            (false, false) => Writes::Refuse,
        }
    }

    /// What may be done to the targets.
    pub(crate) fn intent(&self) -> Intent {
        Intent {
            write: self.write,
            destroy: self.destroy.clone(),
            buffered: self.no_direct,
        }
    }

    pub(crate) fn fit(&self) -> Fit {
        Fit {
            beyond: self.beyond.beyond(),
            align: self.align,
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

fn engine(text: &str) -> Result<EngineKind, String> {
    named(
        &EngineKind::ALL,
        if text == "io-uring" { "io_uring" } else { text },
    )
}

fn level(text: &str) -> Result<Verify, String> {
    named(&Verify::ALL, text)
}

fn percent(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(p) if (0.0..=100.0).contains(&p) => Ok(p),
        _ => Err("expected a number from 0 to 100".to_owned()),
    }
}

fn data(text: &str) -> Result<Data, String> {
    let percent = match text.split_once(':') {
        None if text == "zero" => return Ok(Data::Zero),
        None if text == "random" => Some(0),
        Some(("random", percent)) => percent.parse().ok().filter(|p| *p <= 100),
        _ => None,
    };
    match percent {
        Some(compressible_percent) => Ok(Data::Random {
            compressible_percent,
        }),
        None => Err("expected random, random:PERCENT (0 to 100) or zero".to_owned()),
    }
}

fn priority(text: &str) -> Result<Priority, String> {
    named(&Priority::ALL, text)
}

/// Such as 1 or 0,2-3.
fn processors(text: &str) -> Result<Processors, String> {
    let problem = || "expected numbers of processors, such as 1 or 0,2-3".to_owned();
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<usize>().map_err(|_| problem());
        let (first, last) = (number(first)?, number(last)?);
        if first > last || last > 1023 {
            return Err(problem());
        }
        all.extend(first..=last);
    }
    Ok(Processors(all))
}

/// A size of a file, rounded up to whole blocks of 4096 bytes.
pub(super) fn file_size(text: &str) -> Result<Bytes, String> {
    const BLOCK: u64 = 4096;
    let size: Bytes = text
        .parse()
        .map_err(|e: iosonar_units::ParseUnitError| e.to_string())?;
    match size.get() {
        0 => Err("a file of no bytes is no target".to_owned()),
        n if n > 1 << 50 => Err("that is more than any file holds".to_owned()),
        n => Ok(Bytes::new(n.next_multiple_of(BLOCK))),
    }
}
