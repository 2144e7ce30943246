//! A trace measured in one pass: the load, its outcome, and requests by a key.

mod by;
mod tables;

use std::path::{Path, PathBuf};

use iosonar_stats::{Labels, Metric};
use iosonar_trace::{Batch, Metadata, Outcome, Record, TraceError, TraceReader};
use iosonar_units::Table;

pub use self::by::{By, ByKey, OfKey};
pub use self::tables::TablesError;
use crate::{
    ActivityOptions, LoadMetrics, LoadOptions, LoadSummary, OutcomeMetrics, OutcomeSummary,
    Timeline, pass,
};

/// How a trace is measured.
#[derive(Clone, Copy, Debug)]
pub struct MeasureOptions {
    /// Of the load.
    pub load: LoadOptions,
    /// Of the activity of the devices.
    pub activity: ActivityOptions,
    /// By which key requests are counted besides.
    pub by: Option<By>,
    /// Whether requests that were never submitted are part of the load.
    pub include_unsubmitted: bool,
}

/// What was measured of a trace.
#[derive(Debug)]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// The load.
    pub load: LoadSummary,
    /// Its outcome, where known.
    pub outcome: Option<OutcomeSummary>,
    /// Requests by a key, where that is asked for.
    pub by: Option<ByKey>,
    /// Requests that are not part of the load, as they were never submitted.
    pub left_out: u64,
    /// What the trace says of itself.
    pub metadata: Metadata,
}

impl Measured {
    /// All metrics, labelled with the trace's name where there are several.
    pub fn metrics(&self, several: bool) -> Vec<Metric> {
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

    /// Time series and distributions as tables, with their names.
    pub fn tables(&self) -> Vec<(&'static str, Table)> {
        tables::all(self)
    }

    /// Writes all tables into the folder `dir`, in the format that names with this ending have (`csv`, `parquet`).
    ///
    /// # Errors
    /// If the format is not in this build, or a table cannot be written.
    pub fn write_tables(&self, dir: &Path, ending: &str) -> Result<(), TablesError> {
        tables::write(dir, ending, self)
    }
}

/// Measures the trace of a reader, which is made of the files `paths`.
///
/// # Errors
/// If it is damaged, or it has no requests.
pub fn measure(
    paths: &[PathBuf],
    options: &MeasureOptions,
    reader: &mut dyn TraceReader,
) -> Result<Measured, TraceError> {
    let include_unsubmitted = options.include_unsubmitted;
    let is_of_the_load =
        |record: &Record| include_unsubmitted || record.outcome.status.was_submitted();
    let mut load = LoadMetrics::new(options.load);
    let mut outcome = OutcomeMetrics::new(Timeline::of(options.load.window), options.activity)
        .include_skipped(include_unsubmitted);
    let mut by = options.by.map(ByKey::new);
    // Quantities that were not measured cost nothing.
    let mut has_outcomes = false;
    let mut left_out = 0;
    let mut measure_outcomes = |batch: &Batch| {
        for record in batch.records() {
            let counts = is_of_the_load(&record);
            left_out += u64::from(!counts);
            if has_outcomes || record.outcome != Outcome::default() {
                has_outcomes = true;
                outcome.push(&record);
            }
            if let Some(by) = &mut by
                && counts
            {
                by.push(&record);
            }
        }
    };
    {
        let (mut demand, mut working_sets) = load.halves(is_of_the_load);
        let measures: Vec<&mut (dyn FnMut(&Batch) + Send)> =
            vec![&mut measure_outcomes, &mut demand, &mut working_sets];
        pass(reader, measures)?;
    }
    let names: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let Some(load) = load.finish() else {
        let names = names.join(", ");
        return Err(TraceError::Option(match left_out {
            0 => format!("{names}: the selection contains no requests"),
            n => format!(
                "{names}: none of its {n} requests was submitted during the recording, so the load is empty; use \
                 --include-skipped to include them"
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
