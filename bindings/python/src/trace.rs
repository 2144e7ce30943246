//! Traces: files, how they are read, and what is in them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use iosonar::analysis::TraceSummary;
use iosonar::report::grouped;
use iosonar::trace::transform::{CHANGE_NAMES, Change, OnBackstep};
use iosonar::trace::{
    Batch, Metadata, Op, Reading, TraceError, TraceReader, WriteOptions, apart, input, output,
};
use iosonar::units::{Nanos, SECTOR_BYTES};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyDict};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::arrow;
use crate::error::{raised, refused};
use crate::interruptible::interruptible;
use crate::simulation::Run;
use crate::value::{of_json, toml_of, typed};

/// Records of requests: a file, and how it is read. Nothing is read before it is needed, and never more than a few
/// thousand records at a time.
#[pyclass(frozen, module = "iosonar")]
#[derive(Clone)]
pub(crate) struct Trace {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    reading: Reading,
    /// Whether it holds records of a simulation, which are in the order of completion.
    is_simulated: bool,
    /// Where the file is, if it goes with this.
    _folder: Option<TempDir>,
}

/// Opens a trace, to see that it is one.
#[pyfunction]
pub(crate) fn read(py: Python<'_>, path: PathBuf, options: &Bound<'_, PyDict>) -> PyResult<Trace> {
    let trace = Trace::new(path, reading_of(options)?);
    py.detach(|| trace.open()).map_err(raised)?;
    Ok(trace)
}

/// How a trace is read: the options of the command line, in their order, with the same names (and `from_` for `from`).
pub(crate) fn reading_of(options: &Bound<'_, PyDict>) -> PyResult<Reading> {
    let known = serde_json::to_value(Reading::default()).map_err(raised)?;
    let (mut changes, mut object) = (Vec::new(), Map::new());
    for (key, value) in options {
        let key: String = key.extract()?;
        let name = key.strip_suffix('_').unwrap_or(&key);
        if CHANGE_NAMES.contains(&name) {
            changes.push(json!([name, typed(&value, name)?]));
        } else if known.get(name).is_some() && name != "changes" {
            let value = match value.is_none() {
                true => Value::Null,
                false => serde_json::to_value(toml_of(&value, name)?).map_err(raised)?,
            };
            object.insert(name.to_owned(), value);
        } else {
            let names = known.as_object().into_iter().flat_map(Map::keys);
            let names = names.map(String::as_str).filter(|name| *name != "changes");
            let names: Vec<&str> = names.chain(CHANGE_NAMES).collect();
            return Err(refused(format!(
                "'{key}' is not an option for reading a trace, expected one of: {}",
                names.join(", ")
            )));
        }
    }
    object.insert("changes".to_owned(), changes.into());
    serde_json::from_value(Value::Object(object)).map_err(raised)
}

impl Trace {
    fn new(path: PathBuf, reading: Reading) -> Self {
        let inner = Inner {
            path,
            reading,
            is_simulated: false,
            _folder: None,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The records of a simulation.
    fn simulated(path: PathBuf, folder: Option<TempDir>) -> Self {
        let inner = Inner {
            path,
            reading: Reading::default(),
            is_simulated: true,
            _folder: folder,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// A trace, that of a simulation, or the path of one.
    pub(crate) fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(trace) = value.cast::<Self>() {
            return Ok(trace.get().clone());
        }
        if let Ok(run) = value.cast::<Run>() {
            let run = run.get();
            let records = run.trace().cloned();
            return records.ok_or_else(|| {
                refused(format!(
                    "{}: the simulation has no records: use simulate(..., records=True)",
                    run.name()
                ))
            });
        }
        match value.extract::<PathBuf>() {
            Ok(path) => Ok(Self::new(path, Reading::default())),
            Err(_) => Err(refused(format!(
                "a trace is one that was read, a simulation with records, or the path of a file; this is {}",
                value.get_type().name()?
            ))),
        }
    }

    /// Where records are to go: nowhere, to a file that is deleted with the trace, or to a file.
    pub(crate) fn for_records(of: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if of.is_none() {
            return Ok(None);
        }
        if of.is_instance_of::<PyBool>() {
            if !of.extract::<bool>()? {
                return Ok(None);
            }
            let folder = tempfile::Builder::new().prefix("iosonar-").tempdir();
            let folder = folder.map_err(raised)?;
            let path = folder.path().join("records.ios");
            return Ok(Some(Self::simulated(path, Some(folder))));
        }
        let path: PathBuf = of.extract()?;
        output::format_for(&path).map_err(raised)?;
        Ok(Some(Self::simulated(path, None)))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.inner.path
    }

    pub(crate) fn reading(&self) -> &Reading {
        &self.inner.reading
    }

    /// The same reading, with the requests in the order of their starts, as a load has them.
    pub(crate) fn reading_of_load(&self, asked: Reading) -> Reading {
        let mut reading = asked;
        if self.inner.is_simulated {
            let sort = Change::OnBackstep(OnBackstep::Sort);
            reading.changes.insert(0, sort);
        }
        reading
    }

    pub(crate) fn open(&self) -> Result<Box<dyn TraceReader>, TraceError> {
        input::open_changed(self.path(), self.reading())
    }

    /// The same, until `stop` is set: the trace ends there, and what is made of it is of no use.
    pub(crate) fn open_until(&self, stop: &Arc<AtomicBool>) -> Result<Stoppable, TraceError> {
        Ok(Stoppable {
            reader: self.open()?,
            stop: Arc::clone(stop),
        })
    }

    /// All that a pass finds.
    fn look(&self, py: Python<'_>) -> PyResult<(TraceSummary, Metadata)> {
        let (stop, trace) = (Arc::default(), self.clone());
        let watched = Arc::clone(&stop);
        let looked = interruptible(py, &stop, move || {
            let mut reader = trace.open_until(&watched)?;
            let (mut summary, mut batch) = (TraceSummary::default(), Batch::default());
            while reader.next_batch(&mut batch)? > 0 {
                summary.push(&batch);
            }
            Ok::<_, TraceError>((summary, reader.metadata().clone()))
        })?;
        looked.map_err(raised)
    }
}

/// A reader that can be stopped.
pub(crate) struct Stoppable {
    reader: Box<dyn TraceReader>,
    stop: Arc<AtomicBool>,
}

impl TraceReader for Stoppable {
    fn metadata(&self) -> &Metadata {
        self.reader.metadata()
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        if self.stop.load(Relaxed) {
            batch.clear();
            return Ok(0);
        }
        self.reader.next_batch(batch)
    }
}

#[pymethods]
impl Trace {
    /// The file.
    #[getter(path)]
    fn shown_path(&self) -> &Path {
        self.path()
    }

    /// The name of its format; None if it can be read only once.
    #[getter]
    fn format(&self, py: Python<'_>) -> Option<&'static str> {
        py.detach(|| input::format_at(self.path(), &self.reading().options))
    }

    /// What the file says of itself.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let reader = py.detach(|| self.open()).map_err(raised)?;
        let of = reader.metadata();
        let metadata = json!({
            "notices": of.notices,
            "origin_ns": of.origin_ns,
            "devices": of.devices,
            "about": of.about,
        });
        of_json(py, &metadata)
    }

    /// Counts and extremes, from a pass over the trace.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (of, metadata) = self.look(py)?;
        let by_op = |value: &dyn Fn(Op) -> u64| {
            let known = Op::ALL.into_iter().filter(|op| of.count_of(*op) > 0);
            let known = known.map(|op| (op.name().to_owned(), value(op).into()));
            Value::Object(known.collect())
        };
        let devices = of.devices.iter();
        let devices = devices.map(|(number, n)| (metadata.device_name(*number), (*n).into()));
        let remarks = metadata.remarks.iter();
        let remarks = remarks.map(|of| format!("{} {}", grouped(of.count), of.what));
        let span = of.span().as_secs_f64();
        let summary = json!({
            "records": of.records,
            "requests": by_op(&|op| of.count_of(op)),
            "bytes": by_op(&|op| of.sectors[op as usize] * SECTOR_BYTES),
            "first_s": of.first.map(Nanos::as_secs_f64),
            "span_s": span,
            "requests_per_s": (span > 0.0).then(|| of.records as f64 / span),
            "largest_bytes": u64::from(of.longest) * SECTOR_BYTES,
            "end_bytes": of.end.saturating_mul(SECTOR_BYTES),
            "with_latency": of.columns.latency,
            "not_done": of.not_done,
            "devices": Value::Object(devices.collect()),
            "remarks": remarks.collect::<Vec<_>>(),
        });
        of_json(py, &summary)
    }

    /// Writes the trace to a file, whose name says the format; returns the number of records.
    #[pyo3(signature = (path, *, format=None, lossy=false))]
    fn write(
        &self,
        py: Python<'_>,
        path: PathBuf,
        format: Option<String>,
        lossy: bool,
    ) -> PyResult<u64> {
        apart::refuse_same(self.path(), &path).map_err(raised)?;
        let (stop, trace) = (Arc::default(), self.clone());
        let watched: Arc<AtomicBool> = Arc::clone(&stop);
        let options = WriteOptions {
            format,
            lossy,
            ..WriteOptions::default()
        };
        let written = interruptible(py, &stop, move || {
            let mut reader = trace.open_until(&watched)?;
            let mut writer = output::create_with(&path, reader.metadata(), &options)?;
            let (mut batch, mut records) = (Batch::default(), 0);
            while reader.next_batch(&mut batch)? > 0 {
                // Devices turn up while a trace is read.
                writer.update(reader.metadata());
                writer.write(&batch)?;
                records += batch.len() as u64;
            }
            if watched.load(Relaxed) {
                // Without its end, the file does not get its name.
                return Ok(0);
            }
            writer.update(reader.metadata());
            records -= writer.left_out();
            writer.finish()?;
            Ok::<_, TraceError>(records)
        })?;
        written.map_err(raised)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let (summary, _) = self.look(py)?;
        Ok(summary.records as usize)
    }

    /// A trace is one even without records.
    #[allow(clippy::unused_self)] // As Python calls it.
    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self) -> String {
        let changes = self.reading().changes_in_words();
        let changes: String = changes.iter().map(|of| format!(", {of}")).collect();
        format!("Trace({:?}{changes})", self.path().display().to_string())
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let (of, _) = self.look(py)?;
        let mut rows = vec![("records", grouped(of.records))];
        for op in Op::ALL {
            if of.count_of(op) > 0 {
                rows.push((op.name(), grouped(of.count_of(op))));
            }
        }
        rows.push(("span", of.span().to_string()));
        let rows = rows.iter();
        let rows: String = rows
            .map(|(name, value)| format!("<tr><th>{name}</th><td>{value}</td></tr>"))
            .collect();
        let title = escaped(&self.path().display().to_string());
        Ok(format!("<table><caption>{title}</caption>{rows}</table>"))
    }

    /// The columns, as a stream of the Arrow C data interface: read as they are asked for.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A consumer that wants other types casts: the interface leaves that to it.
        let _ = requested_schema;
        let reader = py.detach(|| self.open()).map_err(raised)?;
        arrow::stream(py, reader, self.clone())
    }

    /// The types of the columns, with what the file says of itself.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let reader = py.detach(|| self.open()).map_err(raised)?;
        arrow::schema_of(py, reader.metadata())
    }
}

/// Text within HTML.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}
