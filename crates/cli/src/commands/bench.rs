//! `iosonar bench`: what this machine does with this tool.

mod arrays;
mod hold;
mod loops;
mod pictures;
mod replay;
mod ssds;

use iosonar_stats::Labels;
use iosonar_stats::metric::MetricUnit;
use std::time::{Duration, Instant};

use crate::exit::{Ending, print};
use crate::low::{Bench, BenchKind};
use crate::render::json::Output;

/// A figure of the table.
struct Figure {
    group: &'static str,
    name: String,
    unit: &'static str,
    value: f64,
    /// A word on it, such as a ratio.
    note: String,
}

impl Figure {
    fn new(group: &'static str, name: impl Into<String>, unit: &'static str, value: f64) -> Self {
        Self {
            group,
            name: name.into(),
            unit,
            value,
            note: String::new(),
        }
    }

    fn with(self, note: String) -> Self {
        Self { note, ..self }
    }
}

pub(crate) fn run(args: &Bench) -> anyhow::Result<Ending> {
    let (command, figures) = match args.kind {
        BenchKind::Replay => return replay::run(args),
        BenchKind::Plot => ("bench plot", pictures::measure()?),
        BenchKind::Sim => {
            let mut figures = hold::measure();
            figures.extend(loops::measure());
            figures.extend(arrays::measure()?);
            figures.extend(ssds::measure()?);
            ("bench sim", figures)
        }
    };
    if args.json {
        let mut json = Output::new(command);
        for f in &figures {
            let labels = Labels::of("group", f.group)
                .with("case", &f.name)
                .with("note", &f.note);
            json.figure("speed", &labels, MetricUnit::Other(f.unit.into()), f.value);
        }
        print(&json.text())?;
        return Ok(Ending::Done);
    }
    let mut text = String::from(
        "Speed of this machine, the best of several runs, one thread unless said otherwise.\n",
    );
    let mut group = "";
    for f in &figures {
        if f.group != group {
            group = f.group;
            text += &format!("\n{group}\n");
        }
        let line = format!(
            "  {:<44} {:>9.2} {:<14} {}",
            f.name, f.value, f.unit, f.note
        );
        text += line.trim_end();
        text.push('\n');
    }
    print(&text)?;
    Ok(Ending::Done)
}

/// Nanoseconds per piece of work: the best of at least three runs, for a third of a second.
fn best_ns(pieces: u64, mut work: impl FnMut()) -> f64 {
    let (begin, mut best, mut runs) = (Instant::now(), Duration::MAX, 0);
    while runs < 3 || begin.elapsed() < Duration::from_millis(330) {
        let run = Instant::now();
        work();
        best = best.min(run.elapsed());
        runs += 1;
    }
    best.as_nanos() as f64 / pieces as f64
}
