//! `iosonar bench`: what this machine does with this tool, and a device with this and other replayers.

use std::path::Path;

use iosonar_bench::{
    Figure, Measuring, Note, Pace, PaceNote, Replays, SECONDS, pictures, replays, simulator,
};
use iosonar_report::grouped;
use iosonar_stats::Labels;
use iosonar_stats::metric::MetricUnit;
use serde_json::json;

use crate::exit::{Ending, Usage, note, print, print_data};
use crate::low::{Bench, BenchKind};
use crate::render::table::Table;
use crate::signals;
use iosonar_stats::Output;

pub(crate) fn run(args: &Bench) -> anyhow::Result<Ending> {
    let (command, figures) = match args.kind {
        BenchKind::Replay => return replay(args),
        BenchKind::Plot => ("bench plot", pictures()?),
        BenchKind::Sim => ("bench sim", simulator()?),
    };
    if args.json {
        let mut json = Output::new(command);
        figures.iter().for_each(|figure| speed(&mut json, figure));
        print_data(&json.text())?;
        return Ok(Ending::Done);
    }
    let mut text =
        String::from("Speed of this machine: the best of several runs, one thread unless noted.\n");
    let mut group = None;
    for f in &figures {
        if group.replace(f.group) != Some(f.group) {
            text += &format!("\n{}\n", f.group.name());
        }
        let (case, value, unit) = (&f.case, f.value, f.unit);
        let line = format!("  {case:<44} {value:>9.2} {unit:<14} {}", words(f));
        text += line.trim_end();
        text.push('\n');
    }
    print(&text)?;
    Ok(Ending::Done)
}

fn replay(args: &Bench) -> anyhow::Result<Ending> {
    let Some(path) = &args.target else {
        return Err(Usage(
            "bench replay needs a device or file to read from: give --target DEV".to_owned(),
        )
        .into());
    };
    signals::watch()?;
    let progress = |what: Measuring<'_>| {
        let what = match what {
            _ if args.json => return,
            Measuring::Case(name) => name.to_owned(),
            Measuring::Pace(arrivals, rate) => {
                format!("{} {} requests/s", arrivals.name(), grouped(rate))
            }
        };
        note(&format!("measuring: {what}"));
    };
    let measured = replays(path, &progress, &|| signals::count() > 0)?;
    if args.json {
        print_data(&as_json(path, &measured).text())?;
    } else {
        print(&describe(path, &measured))?;
    }
    Ok(Ending::Done)
}

fn speed(json: &mut Output, figure: &Figure) {
    let labels = Labels::of("group", figure.group.name())
        .with("case", &figure.case)
        .with("note", words(figure));
    json.figure("speed", &labels, figure.metric_unit(), figure.value);
}

fn as_json(path: &Path, measured: &Replays) -> Output {
    let mut json = Output::new("bench replay");
    json.set("target", json!(path.display().to_string()));
    let highest = measured.highest.iter();
    highest.for_each(|figure| speed(&mut json, figure));
    for pace in &measured.paces {
        let delays = ["0.5", "0.99", "0.999", "1"]
            .into_iter()
            .zip(pace.delays.into_iter().flatten());
        for (p, delay) in delays {
            let labels = Labels::of("who", &pace.who)
                .with("rate", pace.rate)
                .with("arrivals", pace.arrivals.name())
                .with("quantile", p);
            let us = delay.get() as f64 / 1e3;
            json.figure("delay", &labels, MetricUnit::Microseconds, us);
        }
    }
    json
}

fn describe(path: &Path, measured: &Replays) -> String {
    let mut text = format!(
        "Random reads of {}, {SECONDS} s per case, one after another. Compare figures within this table only.\n\n",
        path.display()
    );
    let mut table = Table::new(&["highest rate", "requests/s", ""]);
    for f in &measured.highest {
        table.row(vec![f.case.clone(), grouped(f.value as u64), words(f)]);
    }
    text += &table.text();
    text.push('\n');
    let mut table = Table::new(&[
        "start delay",
        "rate",
        "arrivals",
        "p50",
        "p99",
        "p99.9",
        "max",
        "",
    ]);
    for pace in &measured.paces {
        let mut row = vec![
            pace.who.clone(),
            grouped(pace.rate),
            pace.arrivals.name().to_owned(),
        ];
        match pace.delays {
            Some(delays) => row.extend(delays.map(|delay| delay.to_string())),
            None => row.extend(["-"; 4].map(str::to_owned)),
        }
        row.push(words_of_pace(pace));
        table.row(row);
    }
    text + &table.text()
}

/// What a figure is compared with.
fn words(figure: &Figure) -> String {
    match &figure.note {
        None => String::new(),
        Some(Note::BinaryHeap { ns }) => format!("std's binary heap {ns:.0} ns"),
        Some(Note::OfEventLoop {
            plain,
            with_statistics,
        }) => {
            let all = with_statistics.map_or_else(String::new, |ratio| {
                format!("; with all statistics {ratio:.2} of it")
            });
            format!("{plain:.2} of the speed of the event loop{all}")
        }
        Some(Note::WithEvents) => "with events".to_owned(),
        Some(Note::ByRecursion) => "by recursion".to_owned(),
        Some(Note::OfOneThread(ratio)) => format!("{ratio:.2} times the speed of one thread"),
        Some(Note::Cleaning {
            millions_of_pages_per_s: pages,
            write_amplification,
        }) => {
            format!("{pages:.2} M page operations/s, write amplification {write_amplification:.2}")
        }
        Some(Note::Charts { drawn, looking_s }) => {
            format!("{drawn} charts with all threads; reading the records took {looking_s:.2} s")
        }
        Some(Note::MillionsPerSecond(rate)) => format!("{rate:.1} million requests/s"),
        Some(Note::ProcessorTime {
            engine,
            own_us,
            all_us,
        }) => format!(
            "{engine}: {own_us:.2} µs of CPU time per request, {all_us:.2} µs including all threads \
             and kernel workers"
        ),
        Some(Note::PeerProcessorTime(us)) => format!("{us:.2} µs of CPU time per request"),
    }
}

fn words_of_pace(pace: &Pace) -> String {
    match pace.note {
        None => String::new(),
        Some(PaceNote::Verdict(verdict)) => verdict.name().to_owned(),
        Some(PaceNote::AsReported) => "as fio reports".to_owned(),
        Some(PaceNote::LateAtTheEnd(ms)) => format!("{ms:.0} ms late at the end"),
        Some(PaceNote::NothingReported) => "not reported".to_owned(),
    }
}
