//! `iosonar info`: what is in a trace, at a glance.

use std::path::Path;
use std::time::Instant;

use iosonar_analysis::TraceSummary;
use iosonar_report::{counted, grouped};
use iosonar_trace::{Batch, Metadata, Op, input};
use iosonar_units::{Bytes, Nanos, SECTOR_BYTES};
use serde_json::{Value, json};

use crate::exit::{Ending, note, print, print_data, refuse_several_stdin};
use crate::low::Info;
use crate::render::{progress, remarks};
use iosonar_stats::Output;

pub(crate) fn run(args: &Info) -> anyhow::Result<Ending> {
    refuse_several_stdin(&args.inputs)?;
    let mut output = Output::new("info");
    for path in &args.inputs {
        let begin = Instant::now();
        let reading = args.reading.reading()?;
        let (summary, metadata) = progress::while_reading(reading, args.output.quiet, |reading| {
            let mut reader = input::open_changed(path, reading)?;
            let (mut summary, mut batch) = (TraceSummary::default(), Batch::default());
            while reader.next_batch(&mut batch)? > 0 {
                summary.push(&batch);
            }
            anyhow::Ok((summary, reader.metadata().clone()))
        })?;
        remarks::print_of_records(&metadata, args.output.quiet);
        if args.output.json {
            output.append("traces", json(path, &summary, &metadata));
        } else {
            print(&text(path, &summary, &metadata))?;
            if !args.output.quiet {
                let seconds = begin.elapsed().as_secs_f64();
                note(&format!(
                    "read in {seconds:.2} s ({} records/s)",
                    grouped((summary.records as f64 / seconds.max(1e-9)) as u64)
                ));
            }
        }
    }
    if args.output.json {
        print_data(&output.text())?;
    }
    Ok(Ending::Done)
}

/// A column of names, a column of values.
pub(super) fn lines(title: &str, rows: &[(&str, String)]) -> String {
    let width = rows
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = format!("{title}\n");
    for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        text += &format!("  {name:width$}  {value}\n");
    }
    text
}

pub(super) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0 %".to_owned();
    }
    format!("{:.1} %", 100.0 * part as f64 / whole as f64)
}

pub(super) fn sectors(n: u64) -> String {
    format!(
        "{} ({})",
        counted(n, ["sector", "sectors"]),
        Bytes::new(n.saturating_mul(SECTOR_BYTES))
    )
}

/// Requests of a kind, their share of all, and their length; empty without requests.
pub(super) fn amount(requests: u64, all: u64, length: u64) -> String {
    if requests == 0 {
        return String::new();
    }
    let share = percent(requests, all);
    format!("{} ({share}), {}", grouped(requests), sectors(length))
}

/// A line for each thing; what is not there has none.
fn text(path: &Path, s: &TraceSummary, metadata: &Metadata) -> String {
    let of = |op: Op| amount(s.count_of(op), s.records, s.sectors[op as usize]);
    let gap = |(gap, from)| format!("{gap} from {from}");
    let about = metadata.about.iter().map(|(k, v)| format!("{k}: {v}"));
    let rows = [
        ("records", records(s)),
        (
            "time",
            s.first.map_or_else(String::new, |first| {
                format!("from {first} to {}, span {}", s.last, s.span())
            }),
        ),
        (
            "time zero",
            metadata.origin().map_or_else(String::new, wall_clock),
        ),
        ("order", order(s, metadata)),
        ("reads", of(Op::Read)),
        ("writes", of(Op::Write)),
        ("discards", of(Op::Discard)),
        ("flushes", of(Op::Flush)),
        ("write-zeroes", of(Op::WriteZeroes)),
        ("length", length(s)),
        ("place", place(s)),
        ("longest gap", s.longest_gap().map_or_else(String::new, gap)),
        ("devices", devices(s, metadata)),
        ("measured", measured(s)),
        (
            "not completed",
            match s.not_done {
                0 => String::new(),
                n => format!(
                    "{} (failed, dropped, skipped, missed or cancelled)",
                    grouped(n)
                ),
            },
        ),
        ("about", about.collect::<Vec<_>>().join("; ")),
    ];
    lines(&path.display().to_string(), &rows) + &conclusion(s)
}

/// What load this is, in a sentence.
fn conclusion(s: &TraceSummary) -> String {
    if s.records == 0 {
        return "The trace is empty.\n".to_owned();
    }
    let rate = match s.records_per_s() {
        Some(rate) => format!(" in {} ({rate:.1}/s)", s.span()),
        None => String::new(),
    };
    let size = s.mean_bytes().map_or_else(String::new, |size| {
        format!(", {} each on average", Bytes::new(size))
    });
    format!(
        "{}{rate}, {} reads{size}.\n",
        counted(s.records, ["request", "requests"]),
        percent(s.count_of(Op::Read), s.records)
    )
}

/// Whether the trace says that it holds the records of a replay or a simulation, which are in the order of completion.
fn is_our_record(metadata: &Metadata) -> bool {
    let says = |key: &str| metadata.about.contains_key(key);
    let notice = |text: &String| {
        let ours = text.strip_prefix("# iosonar ");
        ours.is_some_and(|text| text.contains(" replayed on ") || text.contains(": simulated, "))
    };
    says("replayed") || says("simulated") || metadata.notices.iter().any(notice)
}

fn records(s: &TraceSummary) -> String {
    match s.records_per_s() {
        Some(rate) => format!("{}, {rate:.1}/s", grouped(s.records)),
        None => grouped(s.records),
    }
}

fn order(s: &TraceSummary, metadata: &Metadata) -> String {
    let steps = match s.backsteps {
        0 => return "sorted by start".to_owned(),
        1 => "1 step back".to_owned(),
        n => format!("{} steps back", grouped(n)),
    };
    match is_our_record(metadata) {
        true => format!(
            "sorted by completion, like all records of a replay or simulation ({steps} in start time); --sort \
             orders them by start"
        ),
        false => {
            format!("NOT sorted by start: {steps} (to sort: --on-backstep sort, or convert --sort)")
        }
    }
}

fn length(s: &TraceSummary) -> String {
    if s.longest == 0 {
        return String::new();
    }
    if s.shortest == s.longest {
        return counted(s.longest.into(), ["sector", "sectors"]);
    }
    let usual = s.usual_lengths();
    // Flushes have none.
    let usual = usual
        .iter()
        .filter(|(length, _)| *length > 0)
        .map(|(length, n)| format!("{length} ({})", percent(*n, s.records)));
    format!(
        "{} to {} sectors; most often {}",
        s.shortest,
        s.longest,
        usual.collect::<Vec<_>>().join(", ")
    )
}

fn place(s: &TraceSummary) -> String {
    if s.longest == 0 {
        return String::new();
    }
    format!(
        "sectors {} to {} ({}); {} not aligned to 4 KiB",
        grouped(s.lowest),
        grouped(s.end),
        Bytes::new((s.end - s.lowest).saturating_mul(SECTOR_BYTES)),
        percent(s.unaligned, s.records)
    )
}

/// The first devices with the numbers of their requests; nothing if there is one without a name.
fn devices(s: &TraceSummary, metadata: &Metadata) -> String {
    const MOST: usize = 8;
    if s.devices.len() < 2 && metadata.devices.is_empty() {
        return String::new();
    }
    let named =
        |(number, n): (&u16, &u64)| format!("{} ({})", metadata.device_name(*number), grouped(*n));
    let first: Vec<String> = s.devices.iter().take(MOST).map(named).collect();
    match s.devices.len().saturating_sub(MOST) {
        0 => first.join(", "),
        more => format!("{}, and {more} more", first.join(", ")),
    }
}

/// Which columns there are beside the requests themselves, with their shares.
fn measured(s: &TraceSummary) -> String {
    let c = s.columns;
    let named = [
        (c.delay, "delay"),
        (c.latency, "latency"),
        (c.think, "think time"),
        (c.flags, "flags"),
        (c.group, "group"),
        (c.class, "class"),
        (c.pushed_back, "pushed back"),
    ];
    let columns = named.into_iter().filter_map(|(n, name)| match n {
        0 => None,
        n if n == s.records => Some(name.to_owned()),
        n => Some(format!("{name} ({})", percent(n, s.records))),
    });
    let columns: Vec<String> = columns.collect();
    match columns.is_empty() {
        true => "requests only, no outcomes".to_owned(),
        false => columns.join(", "),
    }
}

/// Seconds since 1970 as a date (proleptic Gregorian, UTC).
fn wall_clock(origin: Nanos) -> String {
    let seconds = origin.get() / 1_000_000_000;
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // Howard Hinnant's algorithm: years that begin in March, in eras of 400 years.
    let z = days + 719_468;
    let (era, of_era) = (z / 146_097, z % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}.{:09} UTC",
        of_day / 3600,
        of_day / 60 % 60,
        of_day % 60,
        origin.get() % 1_000_000_000
    )
}

fn json(path: &Path, s: &TraceSummary, metadata: &Metadata) -> Value {
    let by_op: serde_json::Map<String, Value> = Op::ALL
        .into_iter()
        .map(|op| {
            let amount = json!({ "requests": s.count_of(op), "sectors": s.sectors[op as usize] });
            (op.name().to_owned(), amount)
        })
        .collect();
    let devices: serde_json::Map<String, Value> = s
        .devices
        .iter()
        .map(|(number, n)| (metadata.device_name(*number), json!(n)))
        .collect();
    let c = s.columns;
    let remarks: Vec<Value> = metadata
        .remarks
        .iter()
        .map(|r| json!({ "what": r.what, "count": r.count, "example": r.example }))
        .collect();
    let share = |n: u64| n as f64 / s.records as f64;
    let usual_lengths = s.usual_lengths().into_iter();
    let usual_lengths: Vec<Value> = usual_lengths
        .map(|(sectors, n)| json!({ "sectors": sectors, "records": n, "share": share(n) }))
        .collect();
    json!({
        "file": path.display().to_string(),
        "records": s.records,
        "ops": by_op,
        "first_start_ns": s.first.map(Nanos::get),
        "last_start_ns": s.last.get(),
        "span_ns": s.span().get(),
        "records_per_second": s.records_per_s(),
        "origin_ns": metadata.origin_ns,
        "sorted": s.backsteps == 0,
        "backsteps": s.backsteps,
        "longest_gap_ns": s.longest_gap().map(|(gap, _)| gap.get()),
        "longest_gap_from_ns": s.longest_gap().map(|(_, from)| from.get()),
        "usual_lengths": usual_lengths,
        "shortest_sectors": s.shortest,
        "longest_sectors": s.longest,
        "lowest_sector": s.lowest,
        "end_sector": s.end,
        "range_sectors": s.end - s.lowest,
        "unaligned": s.unaligned,
        "devices": devices,
        "measured": {
            "delay": c.delay, "latency": c.latency, "think": c.think, "flags": c.flags, "group": c.group,
            "class": c.class, "pushed_back": c.pushed_back,
        },
        "shares": {
            "read": share(s.count_of(Op::Read)), "unaligned": share(s.unaligned), "delay": share(c.delay),
            "latency": share(c.latency), "think": share(c.think), "flags": share(c.flags), "group": share(c.group),
            "class": share(c.class), "pushed_back": share(c.pushed_back),
        },
        "mean_bytes": s.mean_bytes(),
        "not_done": s.not_done,
        "about": metadata.about,
        "remarks": remarks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_as_dates() {
        for (seconds, date) in [
            (0, "1970-01-01 00:00:00.000000000 UTC"),
            (951_782_400, "2000-02-29 00:00:00.000000000 UTC"),
            (1_795_219_199, "2026-11-20 23:59:59.000000000 UTC"),
        ] {
            assert_eq!(wall_clock(Nanos::from_secs(seconds)), date);
        }
    }
}
