//! The records of a replay: what is written above them, where they begin, what is beside them, whether there is room.

use std::path::Path;

use iosonar_guard::free_space;
use iosonar_replay::{Beyond, Summary, Target};
use iosonar_report::{SELF_CHECK_ENDING, SELF_CHECK_HEADER, SelfCheckRow};
use iosonar_trace::output::{Largest, WholeFile};
use iosonar_trace::transform::beginning;
use iosonar_trace::{
    Batch, Metadata, Notice, TraceError, TraceWriter, WriteOptions, apart, input, output,
};
use iosonar_units::{Bytes, Nanos, with_ending};

use super::{ReplayPlan, ReplayPlanError};

/// Where the records of a replay go.
#[derive(Clone, Copy, Debug)]
pub struct RecordsTo<'a> {
    /// The file, `-` for standard output.
    pub path: &'a Path,
    /// The start of the window in the output's times; `None`: in those of the load.
    pub out_from: Option<Nanos>,
    /// Whether they are to survive a loss of power.
    pub durable: bool,
}

/// Records that do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// Of how many requests.
    pub requests: u64,
    /// What they may take.
    pub needed: Bytes,
    /// What is free.
    pub free: Bytes,
}

/// The names of files, each once.
fn listed<'a>(paths: impl Iterator<Item = &'a Path>) -> String {
    let mut names: Vec<String> = paths.map(|p| p.display().to_string()).collect();
    names.dedup();
    names.join(", ")
}

impl ReplayPlan {
    /// The names of the loads.
    pub fn load_names(&self) -> String {
        listed(self.loads.iter().map(|load| load.path.as_path()))
    }

    /// Creates the file of the records.
    ///
    /// # Errors
    /// As [`output::create_with`].
    pub fn records_to(&self, records: &RecordsTo<'_>) -> Result<Box<dyn TraceWriter>, TraceError> {
        let options = WriteOptions {
            durable: records.durable,
            outlives_reader: true,
            ..WriteOptions::default()
        };
        let mut writer = output::create_with(records.path, &self.provenance()?, &options)?;
        // From now on a kill leaves a file that can be read.
        writer.flush()?;
        Ok(match (records.out_from, self.loads.first()) {
            (Some(to), Some(load)) => Box::new(Shifted {
                writer,
                from: beginning(&load.reading.changes),
                to,
                batch: Batch::default(),
            }),
            _ => writer,
        })
    }

    /// Writes the account of itself that a replay keeps beside its records, on their axis of time.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_self_check(
        &self,
        records: &RecordsTo<'_>,
        summary: &Summary,
    ) -> Result<(), ReplayPlanError> {
        let beginning = self
            .loads
            .first()
            .map(|load| beginning(&load.reading.changes));
        let zero = records.out_from.or(beginning).unwrap_or_default();
        let mut text = format!("{SELF_CHECK_HEADER}\n");
        for point in &summary.self_check {
            let row = SelfCheckRow {
                end_s: point.at.saturating_add(zero).as_secs_f64(),
                ahead: point.ahead as f64,
                in_flight: point.in_flight as f64,
                input_wait_s: point.input_wait.as_secs_f64(),
                answer_lag_s: point.answer_lag.as_secs_f64(),
                answer_wait_s: point.answer_wait.as_secs_f64(),
            };
            text += &row.line();
        }
        let path = with_ending(records.path, SELF_CHECK_ENDING);
        WholeFile::write_all(&path, text.as_bytes())
            .map_err(|source| ReplayPlanError::Write { path, source })
    }

    /// How much the records at `out` may take, and how much room there is, if that is too little: they would be lost at
    /// the end.
    ///
    /// # Errors
    /// If the header of the load cannot be read again.
    pub fn lacks_room(&self, out: &Path) -> Result<Option<Lacking>, TraceError> {
        if !apart::takes_room(out) {
            return Ok(None);
        }
        let scans = || self.loads.iter().map(|load| &load.scan);
        let requests: u64 = scans().map(|scan| scan.requests).sum();
        let mut largest = scans().fold(Largest::default(), |all, scan| all.max(&scan.largest));
        // Records name the target where there are several.
        largest.device = largest.device.max(self.targets.len() as u16 - 1);
        let Some(of_each) = output::bytes_per_record(out, &self.provenance()?, &largest) else {
            return Ok(None);
        };
        let needed = (requests as f64 * of_each).ceil() as u64;
        Ok(free_space(out)
            .filter(|free| free.get() < needed)
            .map(|free| Lacking {
                requests,
                needed: Bytes::new(needed),
                free,
            }))
    }

    /// What is written above the records: the load's own notices, where the records come from, and why
    /// they may not be of the storage.
    ///
    /// # Errors
    /// If the header of the load cannot be read again.
    pub fn provenance(&self) -> Result<Metadata, TraceError> {
        let Some(load) = self.loads.first() else {
            return Ok(Metadata::default());
        };
        let mut metadata = if load.scan.is_known {
            input::open_with(&load.path, &load.reading.options)?
                .metadata()
                .of_load()
        } else {
            Metadata::default()
        };
        let loads = self.load_names();
        let targets = listed(self.targets.iter().map(Target::path));
        let of_system = |name: &str| std::fs::read_to_string(format!("/proc/sys/kernel/{name}"));
        for (name, value) in [
            ("tool", Ok(format!("iosonar {}", env!("CARGO_PKG_VERSION")))),
            ("replayed", Ok(loads.clone())),
            ("target", Ok(targets.clone())),
            ("host", of_system("hostname")),
            ("kernel", of_system("osrelease")),
        ] {
            // What the system does not report is left out.
            if let Ok(value) = value {
                let value = value.trim().to_owned();
                metadata.about.insert(name.to_owned(), value);
            }
        }
        if self.targets.len() > 1 {
            metadata.devices = self
                .targets
                .iter()
                .map(|target| target.path().display().to_string())
                .collect();
        }
        metadata.notices.push(format!(
            "# iosonar {}: {loads} replayed on {targets}",
            env!("CARGO_PKG_VERSION"),
        ));
        let mut fakes: Vec<String> = self
            .targets
            .iter()
            .flat_map(Target::fakes)
            .map(ToString::to_string)
            .collect();
        if !self.options.engine.is_real() {
            fakes.push("no target was accessed".to_owned());
        }
        metadata
            .notices
            .extend(fakes.iter().map(|fake| Notice::Fake(fake).to_string()));
        let mut warnings = Vec::new();
        if self.options.verification.is_tagging() {
            let warning =
                "contents were verified or tagged during the replay, which takes extra time";
            warnings.push(warning.to_owned());
        }
        if let ([load], [target]) = (&self.loads[..], &self.targets[..]) {
            let factor = load.scan.wraparound_factor(target.size());
            let how = match self.options.fit.beyond {
                Beyond::Wrap => Some("wraparound"),
                Beyond::Scale => Some("scaled"),
                Beyond::Clip => Some("clipped"),
                Beyond::Refuse => None,
            };
            if let Some(how) = how.filter(|_| factor > 1.0) {
                warnings.push(format!(
                "{how}: the load extends to {factor:.2} times the size of the target, so the replayed \
                 positions differ from those of the load"
            ));
            }
        }
        let lines = warnings
            .iter()
            .map(|warning| Notice::Warning(warning).to_string());
        metadata.notices.extend(lines);
        Ok(metadata)
    }
}

/// Writes records with another beginning of time.
struct Shifted {
    writer: Box<dyn TraceWriter>,
    from: Nanos,
    to: Nanos,
    batch: Batch,
}

impl TraceWriter for Shifted {
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError> {
        self.batch.clone_from(batch);
        for start in self.batch.starts_mut() {
            *start = start.saturating_sub(self.from).saturating_add(self.to);
        }
        self.writer.write(&self.batch)
    }

    fn left_out(&self) -> u64 {
        self.writer.left_out()
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        self.writer.flush()
    }

    fn finish(self: Box<Self>) -> Result<(), TraceError> {
        self.writer.finish()
    }
}
