//! How traces are read and changed: the same options wherever a trace is read.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use iosonar_trace::transform::{
    Change, OnBackstep, Ratio, Repeat, Resize, Rounds, Slip, Spill, Spread,
};
use iosonar_trace::{Op, ReadOptions, Reading, StartEvent};
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
    #[command(flatten)]
    change: ChangeArgs,
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
    #[arg(long, value_name = "A..B", value_parser = window)]
    select: Vec<Window>,
    /// How many times as fast as recorded; natural loads are no longer natural then
    #[arg(long, value_name = "FACTOR")]
    speed: Vec<Ratio>,
    /// Use only requests of this kind: read, write, discard, flush, write-zeroes; or several, with commas
    #[arg(long, value_name = "KIND", value_parser = ops)]
    ops: Vec<Ops>,
    /// Add to all times
    #[arg(long, value_name = "TIME")]
    shift: Vec<Nanos>,
    /// Let the load begin at zero with its first request
    #[arg(long, value_name = "WHERE", value_parser = ["first"])]
    zero: Option<String>,
    /// Say the load so many times, or until this time (with a unit)
    #[arg(long, value_name = "N|TIME")]
    repeat: Vec<Rounds>,
    /// With --repeat: so many sectors further each round
    #[arg(long, value_name = "SECTORS", default_value_t = 0, requires = "repeat", value_parser = clap::value_parser!(u64).range(..1 << 62))]
    repeat_offset: u64,
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
    #[arg(long, value_name = "OP=OP", value_parser = substitution)]
    subst: Vec<(Op, Op)>,
    /// Stretch positions by F, in units of ALIGN sectors, and add OFF
    #[arg(long, value_name = "F,ALIGN,OFF", num_args = 0..=1, default_missing_value = "2.0,8,0", require_equals = true)]
    spread: Vec<Spread>,
    /// Multiply lengths by F, within MIN and MAX sectors
    #[arg(long, value_name = "F,MIN,MAX", num_args = 0..=1, default_missing_value = "2.0,0,65536", require_equals = true)]
    resize: Vec<Resize>,
    /// Keep the times, take everything else in reverse order
    #[arg(long)]
    reverse: bool,
    /// Replace the times by those of a load that grows by so many requests per second each second
    #[arg(long, value_name = "R", num_args = 0..=1, default_missing_value = "10", require_equals = true, value_parser = rate)]
    ramp_load: Option<f64>,
    /// Pipe the text of the load through a shell command
    #[arg(long, value_name = "COMMAND")]
    cmd: Vec<String>,
    /// Keep each request with this probability
    #[arg(long, value_name = "P", value_parser = share)]
    sample: Option<f64>,
}

/// From and until.
pub(super) type Window = (Nanos, Nanos);

/// Some operations.
#[derive(Clone, Debug)]
struct Ops(Vec<Op>);

pub(super) fn window(text: &str) -> Result<Window, String> {
    let expected = || "expected A..B, such as 10s..2min; either may be missing".to_owned();
    let (from, until) = text.split_once("..").ok_or_else(expected)?;
    let time = |text: &str, missing| match text.trim() {
        "" => Ok(missing),
        text => text.parse::<Nanos>().map_err(|e| e.to_string()),
    };
    let (from, until) = (time(from, Nanos::ZERO)?, time(until, Nanos::MAX)?);
    if from < until {
        Ok((from, until))
    } else {
        Err("expected a window that is not empty".to_owned())
    }
}

fn op(text: &str) -> Result<Op, String> {
    let known = Op::ALL.into_iter().find(|op| {
        let name = op.name();
        text.eq_ignore_ascii_case(name)
            || text.len() == 1 && text.eq_ignore_ascii_case(&name[..1]) && *op != Op::WriteZeroes
    });
    known.ok_or_else(|| "expected read, write, discard, flush or write-zeroes".to_owned())
}

fn ops(text: &str) -> Result<Ops, String> {
    text.split(',')
        .map(|word| op(word.trim()))
        .collect::<Result<_, _>>()
        .map(Ops)
}

fn substitution(text: &str) -> Result<(Op, Op), String> {
    let (from, to) = text.split_once('=').ok_or("expected OP=OP, such as W=R")?;
    Ok((op(from.trim())?, op(to.trim())?))
}

fn one_byte(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" | b"tab" => Ok(b'\t'),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err("expected one character, or tab".to_owned()),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(r) if (1e-6..=1e9).contains(&r) => Ok(r),
        _ => Err("expected a number above 0".to_owned()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(p) if p > 0.0 && p <= 1.0 => Ok(p),
        _ => Err("expected a probability above 0, at most 1".to_owned()),
    }
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
                memory: spill_memory.get() as usize,
            },
        })
    }
}

/// From, until and duration are one window.
fn cut_by(typed: &ChangeArgs) -> Result<Change, clap::Error> {
    let from = typed.from.unwrap_or_default();
    let until = match (typed.until, typed.duration) {
        (Some(until), _) => until,
        (None, Some(duration)) => from.saturating_add(duration),
        (None, None) => Nanos::MAX,
    };
    if until <= from {
        return Err(clap::Error::raw(
            ErrorKind::ValueValidation,
            format!("the window from {from} until {until} is empty\n"),
        ));
    }
    Ok(Change::Select { from, until })
}

/// The changes that were typed, each with its place on the command line.
#[allow(clippy::too_many_lines)] // An option a line.
fn ordered(typed: &ChangeArgs, matches: &ArgMatches) -> Result<Vec<Change>, clap::Error> {
    let mut changes: Vec<(usize, Change)> = Vec::new();
    let places = |id: &str| -> Vec<usize> {
        let given = matches.value_source(id) == Some(clap::parser::ValueSource::CommandLine);
        let indices = matches.indices_of(id).filter(|_| given);
        indices.map_or_else(Vec::new, Iterator::collect)
    };
    let cut = ["from", "until", "duration"]
        .iter()
        .filter_map(|id| places(id).first().copied());
    if let Some(place) = cut.min() {
        changes.push((place, cut_by(typed)?));
    }
    let mut add = |id: &str, all: Vec<Change>| changes.extend(places(id).into_iter().zip(all));
    let select = |&(from, until): &Window| Change::Select { from, until };
    add("select", typed.select.iter().map(select).collect());
    add(
        "speed",
        typed.speed.iter().map(|r| Change::Speed(*r)).collect(),
    );
    add(
        "ops",
        typed
            .ops
            .iter()
            .map(|ops| Change::Ops(ops.0.clone()))
            .collect(),
    );
    add(
        "shift",
        typed.shift.iter().map(|t| Change::Shift(*t)).collect(),
    );
    let repeat = |rounds: &Rounds| {
        Change::Repeat(Repeat {
            rounds: *rounds,
            offset: typed.repeat_offset,
        })
    };
    add("repeat", typed.repeat.iter().map(repeat).collect());
    add(
        "on_backstep",
        typed
            .on_backstep
            .iter()
            .map(|how| Change::OnBackstep(*how))
            .collect(),
    );
    add(
        "slip",
        typed.slip.iter().map(|slip| Change::Slip(*slip)).collect(),
    );
    let subst = |&(from, to): &(Op, Op)| Change::Substitute { from, to };
    add("subst", typed.subst.iter().map(subst).collect());
    add(
        "spread",
        typed
            .spread
            .iter()
            .map(|spread| Change::Spread(*spread))
            .collect(),
    );
    add(
        "resize",
        typed
            .resize
            .iter()
            .map(|resize| Change::Resize(*resize))
            .collect(),
    );
    add(
        "ramp_load",
        typed
            .ramp_load
            .iter()
            .map(|&per_s2| Change::RampLoad { per_s2 })
            .collect(),
    );
    add(
        "cmd",
        typed
            .cmd
            .iter()
            .map(|cmd| Change::Command(cmd.clone()))
            .collect(),
    );
    add(
        "sample",
        typed
            .sample
            .iter()
            .map(|&share| Change::Sample { share })
            .collect(),
    );
    for (given, id, change) in [
        (typed.sort, "sort", Change::OnBackstep(OnBackstep::Sort)),
        (typed.zero.is_some(), "zero", Change::ZeroFirst),
        (typed.reverse, "reverse", Change::Reverse),
    ] {
        if given {
            add(id, vec![change]);
        }
    }
    changes.sort_by_key(|(place, _)| *place);
    Ok(changes.into_iter().map(|(_, change)| change).collect())
}

impl FromArgMatches for ReadArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let typed = Typed::from_arg_matches(matches)?;
        let changes = ordered(&typed.change, matches)?;
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
