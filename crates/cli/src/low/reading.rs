//! How traces are read and changed: the same options wherever a trace is read.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use iosonar_trace::transform::{
    CHANGE_NAMES, Change, Copies, OnBackstep, Ops, Ratio, Resize, Rounds, Scatter, Slip, Spill,
    Spread, Substitution, Window, changes_of, probability, ramp,
};
use iosonar_trace::{ReadOptions, Reading, StartEvent, one_byte};
use iosonar_units::{Bytes, Nanos};

use crate::exit::Usage;

/// How traces are read, and the changes to them in the order of the command line.
#[derive(Clone, Debug)]
pub(crate) struct ReadArgs {
    typed: Typed,
    changes: Vec<Change>,
}

#[derive(Args, Clone, Debug)]
struct Typed {
    #[command(flatten)]
    format: FormatArgs,
    /// Evaluated in the order of the command line.
    #[command(flatten)]
    _changes: ChangeArgs,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading traces")]
struct FormatArgs {
    /// Read the input in this format [default: detected]
    ///
    /// 'iosonar formats' lists the formats.
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// Read the intact part of a damaged or truncated file
    ///
    /// A warning reports what was skipped or is missing.
    #[arg(long)]
    lenient: bool,
    /// Widen byte ranges to whole sectors
    ///
    /// By default, ranges that are not whole sectors are refused.
    #[arg(long, value_name = "HOW", value_parser = ["out"])]
    round: Option<String>,
    /// Use only this device's requests, by name or number [repeatable]
    #[arg(long, value_name = "NAME")]
    device: Vec<String>,
    /// Use this event of kernel traces as the start of a request
    ///
    /// EVENT is auto, q (queue), g (get), i (insert), d (issue) or c (complete).
    #[arg(long, value_name = "EVENT", default_value = "auto")]
    start_event: StartEvent,
    /// Measure latencies of kernel traces from this event
    ///
    /// 'queue' is the first event of a request; with 'issue', the time before the issue event counts as delay.
    #[arg(long, value_name = "EVENT", default_value = "queue", value_parser = ["queue", "issue"])]
    start_at: String,
    /// Map columns of a CSV file to fields
    ///
    /// For example, --columns time_s=Timestamp,offset_bytes=Offset.
    #[allow(clippy::doc_markdown)] // The text of the help.
    #[arg(long, value_name = "FIELD=COLUMN", value_delimiter = ',', value_parser = super::key_and_value)]
    columns: Vec<(String, String)>,
    /// Split the fields of a CSV file at CHAR [default: detected]
    #[arg(long, value_name = "CHAR", value_parser = one_byte)]
    delimiter: Option<u8>,
    /// Parse blkparse text written with this format (blkparse -f)
    #[arg(long, value_name = "FORMAT")]
    blkparse_format: Option<String>,
    /// Include requests that were never submitted
    ///
    /// For example, requests that a replay skipped, dropped or missed.
    #[arg(long)]
    include_skipped: bool,
    /// Write loads that exceed --spill-memory to DIR [default: /tmp]
    ///
    /// The default is the system's folder for temporary files.
    #[arg(long, value_name = "DIR")]
    spill_dir: Option<PathBuf>,
    /// Use at most SIZE of memory to store a load
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    spill_memory: Bytes,
}

#[derive(Args, Clone, Debug)]
#[allow(dead_code)] // Its values are taken as they were typed: their order counts.
#[command(next_help_heading = "Changing the load (in the order given)")]
struct ChangeArgs {
    /// Drop requests that start before this time in the load
    #[arg(long, alias = "replay-start", value_name = "TIME")]
    from: Option<Nanos>,
    /// Drop requests that start at or after this time in the load
    #[arg(long, value_name = "TIME", conflicts_with = "duration")]
    until: Option<Nanos>,
    /// Use only this much of the load, starting at --from
    #[arg(long, alias = "replay-duration", value_name = "TIME")]
    duration: Option<Nanos>,
    /// Keep requests that start at or after A and before B
    #[arg(long, value_name = "A..B")]
    select: Vec<Window>,
    /// Replay the load FACTOR times as fast as recorded
    ///
    /// A factor other than 1 changes the load: its requests no longer start at their recorded times.
    #[arg(long, alias = "speedup", value_name = "FACTOR")]
    speed: Vec<Ratio>,
    /// Keep only these operations, separated by commas
    ///
    /// KIND is one or more of read, write, discard, flush and write-zeroes.
    #[arg(long, value_name = "KIND")]
    ops: Vec<Ops>,
    /// Add TIME to all start times
    #[arg(long, value_name = "TIME")]
    shift: Vec<Nanos>,
    /// Set time zero to the start of the first request
    #[arg(long, value_name = "WHERE", value_parser = ["first"])]
    zero: Option<String>,
    /// Repeat the load N times, or until TIME (with a unit)
    #[arg(long, alias = "loops", value_name = "N|TIME")]
    repeat: Vec<Rounds>,
    /// Move each repetition SECTORS further than the previous one
    #[arg(long, value_name = "SECTORS", default_value_t = 0, requires = "repeat", value_parser = clap::value_parser!(u64).range(..1 << 62))]
    repeat_offset: u64,
    /// Merge N independent copies of the load (1 to 1000)
    ///
    /// Each copy is shifted in time and accesses different data.
    #[arg(long, value_name = "N")]
    scale_load: Vec<Copies>,
    /// Handle start times that go backwards: error, shift or sort
    ///
    /// 'shift' delays the request and all later ones; 'sort' sorts the load by start time.
    #[arg(long, value_name = "HOW")]
    on_backstep: Option<OnBackstep>,
    /// Sort by start time (short for --on-backstep sort)
    #[arg(long, conflicts_with = "on_backstep")]
    sort: bool,
    /// Move request k by INC * floor(k / EVERY) sectors
    #[arg(long, value_name = "EVERY,INC", num_args = 0..=1, default_missing_value = "32768,256", require_equals = true)]
    slip: Vec<Slip>,
    /// Replace one operation with another, such as W=R
    #[arg(long, value_name = "OP=OP")]
    subst: Vec<Substitution>,
    /// Multiply positions by F in steps of ALIGN sectors, then add OFF
    #[arg(long, value_name = "F,ALIGN,OFF", num_args = 0..=1, default_missing_value = "2.0,8,0", require_equals = true)]
    spread: Vec<Spread>,
    /// Permute the chunks of the load within OVER sectors
    ///
    /// Each chunk of CHUNK sectors [default: 2048] moves to a different place, so that the chunks are spread evenly.
    #[arg(long, value_name = "OVER,CHUNK")]
    scatter: Vec<Scatter>,
    /// Multiply lengths by F, and clamp them to MIN..MAX sectors
    #[arg(long, value_name = "F,MIN,MAX", num_args = 0..=1, default_missing_value = "2.0,0,65536", require_equals = true)]
    resize: Vec<Resize>,
    /// Reverse the order of the requests, but keep the start times
    #[arg(long)]
    reverse: bool,
    /// Start requests at a rate that grows by R/s each second
    #[arg(long, value_name = "R", num_args = 0..=1, default_missing_value = "10", require_equals = true, value_parser = ramp)]
    ramp_load: Option<f64>,
    /// Pipe the text of the load through a shell command
    #[arg(long, value_name = "COMMAND")]
    cmd: Vec<String>,
    /// Keep each request with probability P
    #[arg(long, value_name = "P", value_parser = probability)]
    sample: Option<f64>,
}

impl ReadArgs {
    /// The changes to apply, in order.
    pub(crate) fn reading(&self) -> Result<Reading, Usage> {
        let FormatArgs {
            format,
            lenient,
            round,
            device,
            start_event,
            start_at,
            columns,
            delimiter,
            blkparse_format,
            include_skipped,
            spill_dir,
            spill_memory,
        } = &self.typed.format;
        if let Some(name) = format {
            iosonar_trace::formats::by_format_name(name).map_err(|e| Usage(e.to_string()))?;
        }
        Ok(Reading {
            options: ReadOptions {
                format: format.clone(),
                lenient: *lenient,
                round_out: round.is_some(),
                devices: device.clone(),
                start_event: *start_event,
                start_at_issue: start_at == "issue",
                columns: columns.clone(),
                delimiter: *delimiter,
                blkparse_format: blkparse_format.clone(),
                include_unsubmitted: *include_skipped,
                progress: None,
            },
            changes: self.changes.clone(),
            spill: Spill {
                dir: spill_dir.clone(),
                memory: *spill_memory,
            },
        })
    }
}

/// The requested changes, in the order of the command line.
fn ordered(matches: &ArgMatches) -> Result<Vec<Change>, clap::Error> {
    let mut typed: Vec<(usize, String, String)> = Vec::new();
    for name in CHANGE_NAMES {
        if matches.value_source(name) != Some(ValueSource::CommandLine) {
            continue;
        }
        let places = matches.indices_of(name).into_iter().flatten();
        let texts = matches.get_raw(name).into_iter().flatten();
        typed.extend(places.zip(texts).map(|(place, text)| {
            let text = text.to_string_lossy().into_owned();
            (place, name.to_owned(), text)
        }));
    }
    typed.sort();
    let typed: Vec<(String, String)> = typed.into_iter().map(|(_, k, v)| (k, v)).collect();
    changes_of(&typed).map_err(|e| clap::Error::raw(ErrorKind::ValueValidation, format!("{e}\n")))
}

impl FromArgMatches for ReadArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let typed = Typed::from_arg_matches(matches)?;
        let changes = ordered(matches)?;
        Ok(Self { typed, changes })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for ReadArgs {
    fn augment_args(command: Command) -> Command {
        Typed::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Typed::augment_args_for_update(command)
    }
}
