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

/// How traces are read, and what is changed, in the order in which it was typed.
#[derive(Clone, Debug)]
pub(crate) struct ReadArgs {
    typed: Typed,
    changes: Vec<Change>,
}

#[derive(Args, Clone, Debug)]
struct Typed {
    #[command(flatten)]
    format: FormatArgs,
    /// Looked at in the order in which they were typed.
    #[command(flatten)]
    _changes: ChangeArgs,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading traces")]
struct FormatArgs {
    /// The input's format, instead of finding it out ('iosonar formats' lists them)
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// Read what is whole of a damaged or cut-off file, and report what was skipped or is missing
    #[arg(long)]
    lenient: bool,
    /// Widen byte ranges that are no whole sectors (out), instead of refusing them
    #[arg(long, value_name = "HOW", value_parser = ["out"])]
    round: Option<String>,
    /// Only requests to this device of the trace, by name or number; may be given several times
    #[arg(long, value_name = "NAME")]
    device: Vec<String>,
    /// Traces of kernel events: which one begins a request: auto, q, g, i, d or c
    #[arg(long, value_name = "EVENT", default_value = "auto")]
    start_event: StartEvent,
    /// Traces of kernel events: latencies count from the first event (queue), or from issue, and the time
    /// before is the delay
    #[arg(long, value_name = "EVENT", default_value = "queue", value_parser = ["queue", "issue"])]
    start_at: String,
    #[allow(clippy::doc_markdown)] // The text of the help.
    /// CSV: which column holds what, such as time_s=Timestamp,offset_bytes=Offset
    #[arg(long, value_name = "FIELD=COLUMN", value_delimiter = ',', value_parser = super::key_and_value)]
    columns: Vec<(String, String)>,
    /// CSV: what stands between fields [default: found out]
    #[arg(long, value_name = "CHAR", value_parser = one_byte)]
    delimiter: Option<u8>,
    /// blkparse text: the format that it was written with (blkparse -f)
    #[arg(long, value_name = "FORMAT")]
    blkparse_format: Option<String>,
    /// Include requests that were never submitted when recorded (skipped, dropped, missed)
    #[arg(long)]
    include_skipped: bool,
    /// Where loads that must be kept go when they are too large for memory [default: the system's]
    #[arg(long, value_name = "DIR")]
    spill_dir: Option<PathBuf>,
    /// How much of such a load is kept in memory, packed
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    spill_memory: Bytes,
}

#[derive(Args, Clone, Debug)]
#[allow(dead_code)] // Its values are taken as they were typed: their order counts.
#[command(next_help_heading = "Changing the load (in the order in which they are given)")]
struct ChangeArgs {
    /// Leave out requests that start before this time of the load
    #[arg(long, value_name = "TIME")]
    from: Option<Nanos>,
    /// Leave out requests that start at this time of the load or later
    #[arg(long, value_name = "TIME", conflicts_with = "duration")]
    until: Option<Nanos>,
    /// Use this much of the load, counted from --from
    #[arg(long, value_name = "TIME")]
    duration: Option<Nanos>,
    /// Keep the requests that start from A until before B
    #[arg(long, value_name = "A..B")]
    select: Vec<Window>,
    /// How many times as fast as recorded; natural loads are no longer natural then
    #[arg(long, value_name = "FACTOR")]
    speed: Vec<Ratio>,
    /// Use only requests of this kind: read, write, discard, flush, write-zeroes; or several, with commas
    #[arg(long, value_name = "KIND")]
    ops: Vec<Ops>,
    /// Add to all times
    #[arg(long, value_name = "TIME")]
    shift: Vec<Nanos>,
    /// Let the load begin at zero with its first request
    #[arg(long, value_name = "WHERE", value_parser = ["first"])]
    zero: Option<String>,
    /// Repeat the load N times, or until this time (with a unit)
    #[arg(long, value_name = "N|TIME")]
    repeat: Vec<Rounds>,
    /// With --repeat: so many sectors further each round
    #[arg(long, value_name = "SECTORS", default_value_t = 0, requires = "repeat", value_parser = clap::value_parser!(u64).range(..1 << 62))]
    repeat_offset: u64,
    /// Merge N independent copies of the load, shifted in time and space (1 to 1000)
    #[arg(long, value_name = "N")]
    scale_load: Vec<Copies>,
    /// Where time goes back: error, shift (the rest of the load moves), or sort
    #[arg(long, value_name = "HOW")]
    on_backstep: Option<OnBackstep>,
    /// Sort by start; short for --on-backstep sort
    #[arg(long, conflicts_with = "on_backstep")]
    sort: bool,
    /// Move request k by INC * floor(k / EVERY) sectors
    #[arg(long, value_name = "EVERY,INC", num_args = 0..=1, default_missing_value = "32768,256", require_equals = true)]
    slip: Vec<Slip>,
    /// Replace an operation by another, such as W=R
    #[arg(long, value_name = "OP=OP")]
    subst: Vec<Substitution>,
    /// Stretch positions by F, in units of ALIGN sectors, and add OFF
    #[arg(long, value_name = "F,ALIGN,OFF", num_args = 0..=1, default_missing_value = "2.0,8,0", require_equals = true)]
    spread: Vec<Spread>,
    /// Place each CHUNK of sectors [default: 2048] elsewhere within OVER sectors, all of them evenly
    #[arg(long, value_name = "OVER,CHUNK")]
    scatter: Vec<Scatter>,
    /// Multiply lengths by F, within MIN and MAX sectors
    #[arg(long, value_name = "F,MIN,MAX", num_args = 0..=1, default_missing_value = "2.0,0,65536", require_equals = true)]
    resize: Vec<Resize>,
    /// Keep the times, take everything else in reverse order
    #[arg(long)]
    reverse: bool,
    /// Replace the times by those of a load that grows by so many requests per second each second
    #[arg(long, value_name = "R", num_args = 0..=1, default_missing_value = "10", require_equals = true, value_parser = ramp)]
    ramp_load: Option<f64>,
    /// Pipe the text of the load through a shell command
    #[arg(long, value_name = "COMMAND")]
    cmd: Vec<String>,
    /// Keep each request with this probability
    #[arg(long, value_name = "P", value_parser = probability)]
    sample: Option<f64>,
}

impl ReadArgs {
    /// What there is to be done, in order.
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

/// The changes that were typed, in their order on the command line.
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
