//! `iosonar bench`: what this machine does with this tool, and a device with this and other replayers.

use std::path::Path;

use iosonar_bench::{
    Figure, MachineFacts, Measuring, Note, Pace, PaceNote, Replays, SECONDS, pictures, replays,
    simulator, traces,
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

/// What was measured.
#[derive(Default)]
struct Measured {
    figures: Vec<Figure>,
    replays: Option<Replays>,
}

pub(crate) fn run(args: &Bench) -> anyhow::Result<Ending> {
    // How busy the machine was before it was made busy.
    let machine = MachineFacts::here();
    let (command, measured) = measure(args)?;
    if args.json {
        print_data(&as_json(command, &machine, args.target.as_deref(), &measured).text())?;
    } else {
        print(&describe(&machine, args.target.as_deref(), &measured))?;
    }
    Ok(Ending::Done)
}

fn measure(args: &Bench) -> anyhow::Result<(&'static str, Measured)> {
    let of = |figures| Measured {
        figures,
        replays: None,
    };
    Ok(match args.kind {
        BenchKind::Sim => ("bench sim", of(simulator()?)),
        BenchKind::Trace => ("bench trace", of(traces()?)),
        BenchKind::Plot => ("bench plot", of(pictures()?)),
        BenchKind::Replay => {
            let Some(target) = &args.target else {
                let problem = "bench replay needs a device or file to read from: give --target DEV"
                    .to_owned();
                return Err(Usage(problem).into());
            };
            let measured = Measured {
                replays: Some(replay(target, args.json)?),
                ..Measured::default()
            };
            ("bench replay", measured)
        }
        BenchKind::All => {
            let mut figures = simulator()?;
            figures.extend(traces()?);
            figures.extend(pictures()?);
            let replays = match &args.target {
                None => None,
                Some(target) => Some(replay(target, args.json)?),
            };
            ("bench all", Measured { figures, replays })
        }
    })
}

fn replay(path: &Path, is_quiet: bool) -> anyhow::Result<Replays> {
    signals::watch()?;
    let progress = |what: Measuring<'_>| {
        let what = match what {
            _ if is_quiet => return,
            Measuring::Case(name) => name.to_owned(),
            Measuring::Pace(arrivals, rate) => {
                format!("{} {} requests/s", arrivals.name(), grouped(rate))
            }
        };
        note(&format!("measuring {what}"));
    };
    Ok(replays(path, &progress, &|| signals::count() > 0)?)
}

fn speed(json: &mut Output, figure: &Figure) {
    let labels = Labels::of("group", figure.group.name())
        .with("case", &figure.case)
        .with("note", words(figure));
    json.figure("speed", &labels, figure.metric_unit(), figure.value);
}

fn as_json(
    command: &'static str,
    machine: &MachineFacts,
    target: Option<&Path>,
    measured: &Measured,
) -> Output {
    let mut json = Output::new(command);
    json.set(
        "machine",
        json!({
            "processor": machine.processor,
            "processors": machine.processors,
            "kernel": machine.kernel,
            "load_average": machine.load,
        }),
    );
    let highest = measured.replays.iter().flat_map(|of| &of.highest);
    let figures = measured.figures.iter().chain(highest);
    figures.for_each(|figure| speed(&mut json, figure));
    let Some(replays) = &measured.replays else {
        return json;
    };
    if let Some(target) = target {
        json.set("target", json!(target.display().to_string()));
    }
    for pace in &replays.paces {
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

fn describe(machine: &MachineFacts, target: Option<&Path>, measured: &Measured) -> String {
    let mut text = about(machine);
    if !measured.figures.is_empty() {
        text += "\nThe best of several runs, one thread unless noted.\n";
    }
    let mut group = None;
    for f in &measured.figures {
        if group.replace(f.group) != Some(f.group) {
            text += &format!("\n{}\n", f.group.name());
        }
        let (case, value, unit) = (&f.case, f.value, f.unit);
        let line = format!("  {case:<44} {value:>9.2} {unit:<14} {}", words(f));
        text += line.trim_end();
        text.push('\n');
    }
    if let (Some(replays), Some(target)) = (&measured.replays, target) {
        text.push('\n');
        text += &of_replays(target, replays);
    }
    text
}

/// The machine in a line.
fn about(machine: &MachineFacts) -> String {
    let processor = machine.processor.as_deref().unwrap_or("unknown processor");
    let processors = match machine.processors {
        1 => "1 processor".to_owned(),
        n => format!("{n} processors"),
    };
    let kernel = machine.kernel.as_deref().unwrap_or("unknown");
    let load = machine.load.as_deref().unwrap_or("unknown");
    format!("{processor}, {processors}, kernel {kernel}, load average before the start {load}\n")
}

fn of_replays(path: &Path, measured: &Replays) -> String {
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
        Some(Note::BinaryHeap { ns }) => format!("std's binary heap: {ns:.0} ns"),
        Some(Note::OfEventLoop {
            plain,
            with_statistics,
        }) => {
            let all = with_statistics.map_or_else(String::new, |ratio| {
                format!("; {ratio:.2} with all statistics")
            });
            format!("{plain:.2} times the speed of the event loop{all}")
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
        Some(PaceNote::AsReported) => "as reported by fio".to_owned(),
        Some(PaceNote::LateAtTheEnd(ms)) => format!("{ms:.0} ms late at the end"),
        Some(PaceNote::NothingReported) => "not reported".to_owned(),
    }
}
