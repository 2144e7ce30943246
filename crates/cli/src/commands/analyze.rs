//! `iosonar analyze`: a load measured, and what became of it.

mod by;
mod series;
mod tables;

use std::path::{Path, PathBuf};
use std::time::Instant;

use iosonar_analysis::{
    ActivityOptions, LoadMetrics, LoadOptions, LoadSummary, OutcomeMetrics, OutcomeSummary,
    Timeline,
};
use iosonar_report::grouped;
use iosonar_stats::{Labels, Metric};
use iosonar_trace::{Batch, Metadata, Outcome, TraceError, TraceReader};
use serde_json::json;

use self::by::ByKey;
use crate::exit::{Ending, note, print};
use crate::low::Analyze;
use crate::render::{progress, remarks};
use iosonar_stats::Output;
use iosonar_trace::input::in_order;

/// What was measured of a trace.
struct Measured {
    name: String,
    load: LoadSummary,
    outcome: Option<OutcomeSummary>,
    by: Option<ByKey>,
    /// Requests that are no part of the load, as they were never submitted.
    left_out: u64,
    metadata: Metadata,
}

impl Measured {
    /// All metrics, labelled with the trace's name where there are several.
    fn metrics(&self, several: bool) -> Vec<Metric> {
        let labels = match several {
            true => Labels::of("trace", &self.name),
            false => Labels::default(),
        };
        let mut metrics = self.load.metrics(&labels, self.left_out);
        if let Some(by) = &self.by {
            metrics.extend(by.metrics(&labels, &self.metadata));
        }
        if let Some(outcome) = &self.outcome {
            metrics.extend(outcome.metrics(&labels, &self.metadata));
        }
        metrics
    }
}

pub(crate) fn run(args: &Analyze) -> anyhow::Result<Ending> {
    let inputs: Vec<Vec<PathBuf>> = if args.merge {
        vec![args.inputs.clone()]
    } else {
        args.inputs.iter().map(|path| vec![path.clone()]).collect()
    };
    let mut output = Output::new("analyze");
    let several = inputs.len() > 1;
    for (i, paths) in inputs.iter().enumerate() {
        let begin = Instant::now();
        let reading = args.reading.reading()?;
        let measured = progress::while_reading(reading, args.quiet, |reading| {
            let include = reading.options.include_unsubmitted;
            in_order(paths, reading, |reader| {
                measure(args, paths, include, reader)
            })
        })?;
        remarks::print(&measured.metadata, args.quiet);
        if let Some(dir) = &args.csv {
            let dir = if several {
                dir.join(format!("{}-{}", i + 1, stem(&paths[0])))
            } else {
                dir.clone()
            };
            series::write(&dir, &measured)?;
        }
        if args.json {
            output.metrics(measured.metrics(several));
            output.append("traces", json!({ "file": measured.name }));
        } else {
            print(&tables::text(&measured))?;
        }
        if !args.quiet {
            let seconds = begin.elapsed().as_secs_f64();
            let rate = measured.load.requests() as f64 / seconds.max(1e-9);
            note(&format!(
                "measured in {seconds:.2} s ({} requests/s)",
                grouped(rate as u64)
            ));
        }
    }
    if args.json {
        print(&output.text())?;
    }
    Ok(Ending::Done)
}

fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or("trace").to_owned()
}

fn measure(
    args: &Analyze,
    paths: &[PathBuf],
    include_unsubmitted: bool,
    reader: &mut dyn TraceReader,
) -> Result<Measured, TraceError> {
    let mut load = LoadMetrics::new(LoadOptions {
        window: args.window,
        memory: args.memory.get() as usize,
        ..LoadOptions::default()
    });
    let mut outcome = OutcomeMetrics::new(
        Timeline::of(args.window),
        ActivityOptions {
            interval: args.interval,
            group: args.group,
            block: args.block,
            peak: args.peak.map(|peak| (peak.from, peak.until)),
        },
    )
    .include_skipped(include_unsubmitted);
    let mut by = args.by.as_deref().map(ByKey::new);
    let mut batch = Batch::default();
    // What nobody measured costs nothing.
    let mut has_outcomes = false;
    let mut left_out = 0;
    while reader.next_batch(&mut batch)? > 0 {
        for record in batch.records() {
            let is_of_the_load = include_unsubmitted || record.outcome.status.was_submitted();
            if is_of_the_load {
                load.push(&record.request);
            } else {
                left_out += 1;
            }
            let is_load = record.outcome == Outcome::default();
            if has_outcomes || !is_load {
                has_outcomes = true;
                outcome.push(&record);
            }
            if let (Some(by), true) = (&mut by, is_of_the_load) {
                by.push(&record);
            }
        }
    }
    let names: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let Some(load) = load.finish() else {
        let names = names.join(", ");
        return Err(TraceError::Option(match left_out {
            0 => format!("{names}: there is no request in what was selected"),
            n => format!(
                "{names}: none of its {n} requests was submitted when it was recorded, so there is no load; \
                 use --include-skipped to include them"
            ),
        }));
    };
    Ok(Measured {
        name: names.join(", "),
        load,
        outcome: outcome.finish(),
        by,
        left_out,
        metadata: reader.metadata().clone(),
    })
}
