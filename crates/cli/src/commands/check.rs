//! `iosonar check`: one trace against another, request by request.

use iosonar_analysis::check::{Check as Found, check};
use iosonar_report::{counted, grouped, remark as words_of};
use iosonar_stats::Labels;
use iosonar_stats::Metric;
use iosonar_stats::metric::Measure;
use iosonar_stats::metric::MetricUnit;
use iosonar_trace::{ReadOptions, Request, input};
use iosonar_units::Nanos;
use serde_json::json;

use crate::exit::{Ending, print, print_data, refuse_several_stdin, warn};
use crate::low::Check;
use crate::render::messages::{Warning, codes};
use crate::render::style::Tone;
use crate::render::table::{Cell, Table};
use iosonar_stats::Output;

const QUANTILES: [(&str, f64); 7] = [
    ("min", 0.0),
    ("p1", 0.01),
    ("p50", 0.5),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("max", 1.0),
];

pub(crate) fn run(args: &Check) -> anyhow::Result<Ending> {
    refuse_several_stdin(&[&args.wanted, &args.done])?;
    let reading = args.reading.reading()?;
    let mut wanted = input::open_changed(&args.wanted, &reading)?;
    let mut done = if args.both {
        input::open_changed(&args.done, &reading)?
    } else {
        // What is whole of a cut-off file is read of either; every other option is about WANTED.
        let options = ReadOptions {
            lenient: reading.options.lenient,
            ..ReadOptions::default()
        };
        input::open_with(&args.done, &options)?
    };
    let found = check(wanted.as_mut(), done.as_mut())?;
    if found.is_empty() {
        anyhow::bail!(
            "{} and {}: there are no requests to compare; check the files and the selected part",
            args.wanted.display(),
            args.done.display()
        );
    }
    if args.output.json {
        print_data(&to_json(&found).text())?;
    } else {
        print(&describe(&found))?;
    }
    if !args.output.quiet {
        for (path, reader) in [(&args.wanted, &wanted), (&args.done, &done)] {
            for remark in &reader.metadata().remarks {
                let text = format!("{}: {}", path.display(), words_of(remark));
                warn(codes::of_remark(remark.kind), &text);
            }
        }
        let devices = &done.metadata().devices;
        hints(args, &found, devices)?
            .iter()
            .for_each(|(of, text)| warn(*of, text));
    }
    Ok(if found.is_same() {
        Ending::Done
    } else {
        Ending::Flagged
    })
}

/// What may be behind a difference that no device made.
fn hints(
    args: &Check,
    found: &Found,
    devices: &[String],
) -> anyhow::Result<Vec<(Warning, String)>> {
    let mut hints = Vec::new();
    let is_changed = !args.reading.reading()?.changes.is_empty();
    if found.extra > 0 && is_changed && !args.both {
        hints.push((
            Warning::ChangesOnWantedOnly,
            "--from, --until and the other options that change a load were applied to WANTED only, because DONE is \
             assumed to be the records of a replay with the same options; --both applies them to DONE as well"
                .to_owned(),
        ));
    }
    if found.missing > 0 && found.extra > 0 {
        hints.push((
            Warning::MovedRequests,
            "a replay or simulation with --wrap, --fit or --clip moves or shortens requests, which are then reported \
             as missing and extra: compare its records with those of a second run with the same option"
                .to_owned(),
        ));
    }
    if found.extra > 0 && devices.len() > 1 {
        hints.push((Warning::SeveralDevices, format!(
            "DONE contains requests to {} devices ({}), and the requests to all devices are compared. If each device \
             replayed all of WANTED, extract the requests to one device with 'iosonar convert DONE --device {} -o \
             ONE', and compare ONE instead",
            devices.len(),
            devices.join(", "),
            devices[0]
        )));
    }
    Ok(hints)
}

fn describe(found: &Found) -> String {
    let mut text = format!(
        "  wanted        {}\n  done          {}\n  identical     {}\n",
        counted(found.expected, ["request", "requests"]),
        grouped(found.seen),
        grouped(found.matched),
    );
    for (n, what) in [
        (found.split, "split"),
        (found.merged, "merged"),
        (found.regrouped, "split differently"),
        (found.missing, "MISSING: wanted but not done"),
        (found.extra, "EXTRA: done but not wanted"),
        (
            found.ambiguous,
            "identical, but excluded from the differences below: one trace contains more copies than the other",
        ),
        (
            found.failed,
            "FAILED: submitted, but not completed or not with the right contents, according to DONE",
        ),
        (
            found.left_out[0] + found.missed[0],
            "not counted: never submitted, according to WANTED",
        ),
        (
            found.left_out[1],
            "not counted: left out by the replay, according to DONE",
        ),
        (
            found.missed[1],
            "not counted: never submitted, according to DONE",
        ),
    ] {
        if n > 0 {
            text += &format!("  {:<13} {what}\n", grouped(n));
        }
    }
    if found.flushes != [0, 0] {
        let [a, b] = found.flushes;
        text += &format!(
            "  flushes       {} wanted, {} done (not compared: the kernel adds and drops some)\n",
            grouped(a),
            grouped(b)
        );
    }
    for (what, examples) in ["missing", "extra"].iter().zip(&found.examples) {
        for example in examples {
            text += &format!("  {what:<13} {}\n", described(example));
        }
    }
    let mut header = vec!["differences"];
    header.extend(QUANTILES.map(|(name, _)| name));
    let mut table = Table::new(&header);
    for (name, differences) in [
        ("submission", &found.start_differences),
        ("latency", &found.latency_differences),
    ] {
        if !differences.is_empty() {
            let mut row = vec![Cell::Text(name.to_owned())];
            row.extend(QUANTILES.map(|(_, p)| {
                Found::quantile(differences, p).map_or_else(|| Cell::Text(String::new()), cell)
            }));
            table.cells(row);
        }
    }
    if !found.start_differences.is_empty() {
        text += &table.text();
        text += "  (done - wanted; the median is subtracted from submission times, as the clocks have different origins)\n";
    }
    text + &conclusion(found)
}

/// How far submissions were from the intended times at most: a load whose times differ is another one. Only without the
/// median are they known, as the clocks have different origins.
fn largest(found: &Found) -> String {
    let differences = &found.start_differences;
    let most = differences.iter().map(|d| d.unsigned_abs()).max();
    most.map_or_else(String::new, |most| {
        format!(
            ", and their submission times differ by at most {} after subtracting the median difference of {}",
            Nanos::new(most),
            signed(found.shift)
        )
    })
}

/// Whether the requests are the same, in a sentence.
fn conclusion(found: &Found) -> String {
    match found.is_same() {
        true => format!(
            "DONE contains exactly the {} of WANTED: {}{}.\n",
            match found.expected {
                1 => "request".to_owned(),
                n => format!("{} requests", grouped(n)),
            },
            Tone::Good.of("all requests match"),
            largest(found)
        ),
        false => format!(
            "{}: {} missing, {} extra, {} failed.\n",
            Tone::Bad.of("The requests differ"),
            grouped(found.missing),
            grouped(found.extra),
            grouped(found.failed)
        ),
    }
}

fn described(request: &Request) -> String {
    format!(
        "{} of {} at {}, submitted at {}",
        request.op.name(),
        counted(request.sectors.get().into(), ["sector", "sectors"]),
        request.sector,
        request.start
    )
}

/// A difference, which may be below zero.
fn signed(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    format!("{sign}{}", Nanos::new(nanoseconds.unsigned_abs()))
}

/// The same in a table.
fn cell(nanoseconds: i64) -> Cell {
    Cell::Time {
        before: if nanoseconds < 0 { "-" } else { "" },
        time: Nanos::new(nanoseconds.unsigned_abs()),
        after: String::new(),
    }
}

fn to_json(found: &Found) -> Output {
    let mut json = Output::new("check");
    json.set("same", json!(found.is_same()));
    let none = Labels::default();
    for (name, value) in [
        ("wanted", found.expected),
        ("done", found.seen),
        ("matched", found.matched),
        ("split", found.split),
        ("merged", found.merged),
        ("regrouped", found.regrouped),
        ("missing", found.missing),
        ("extra", found.extra),
        ("ambiguous", found.ambiguous),
        ("flushes_wanted", found.flushes[0]),
        ("flushes_done", found.flushes[1]),
        ("failed", found.failed),
        ("left_out_wanted", found.left_out[0]),
        ("left_out_done", found.left_out[1]),
        ("missed_wanted", found.missed[0]),
        ("missed_done", found.missed[1]),
    ] {
        json.figure(name, &none, MetricUnit::One, value as f64);
    }
    if !found.start_differences.is_empty() {
        let shift = found.shift as f64 / 1e6;
        json.figure("start_shift", &none, MetricUnit::Milliseconds, shift);
    }
    for (name, differences) in [
        ("start_difference", &found.start_differences),
        ("latency_difference", &found.latency_differences),
    ] {
        let quantiles = QUANTILES.iter().filter_map(|(_, p)| {
            let value = Found::quantile(differences, *p)?;
            Some((p.to_string().into(), Some(value as f64 / 1e6)))
        });
        let measure = Measure::Differences {
            n: differences.len(),
            quantiles: quantiles.collect(),
        };
        json.metric(Metric::new(name, &none, MetricUnit::Milliseconds, measure));
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_a_unit_that_suits_them_and_no_median() {
        let found = Found {
            expected: 3,
            seen: 3,
            matched: 3,
            start_differences: vec![-2_060_000_000, 0, 2_065_000_000],
            shift: 2_060_000_000,
            ..Found::default()
        };
        let text = describe(&found);
        assert!(
            text.contains(
                "differ by at most 2.065 s after subtracting the median difference of 2.06 s"
            ),
            "{text}"
        );
        assert!(text.contains("-2.060 s"), "{text}");
        assert!(!text.contains("µs"), "{text}");
    }
}
