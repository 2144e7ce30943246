//! Charts of records and of simulations, which show themselves in a notebook.

use std::path::PathBuf;
use std::sync::Arc;

use iosonar::analysis::objective::Objectives;
use iosonar::plot::{Chart, Format, PixelScale, Scaled, Size, Theme, csv_of, render};
use iosonar::report::{
    Arrange, CATALOGUE, Look, LookOptions, Measured, Needs, Origin, Quantity, SELF_CHECK_ENDING,
    SelfCheckRow, find, nearest, read_self_check,
};
use iosonar::trace::output::WholeFile;
use iosonar::trace::{TraceError, TraceReader, input};
use iosonar::units::{Bytes, Nanos, SECTOR_BYTES, with_ending};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{raised, refused};
use crate::interruptible::interruptible;
use crate::simulation::{Run, distributions};
use crate::trace::Trace;

/// One chart, or several one below the other.
#[pyclass(frozen, module = "iosonar")]
pub(crate) struct Figure {
    charts: Vec<Chart>,
    size: Size,
    scale: PixelScale,
    theme: Theme,
}

impl Figure {
    /// In the usual size.
    pub(crate) fn of(charts: Vec<Chart>) -> Self {
        let usual = Size::default();
        let height = match charts.len() as u32 {
            0 | 1 => usual.height,
            n => n.saturating_mul(440).max(usual.height).min(60_000),
        };
        Self {
            charts,
            size: Size { height, ..usual },
            scale: PixelScale::default(),
            theme: Theme::default(),
        }
    }

    fn with(mut self, look: &Appearance) -> PyResult<Self> {
        if let Some((width, height)) = look.size {
            self.size = Size { width, height };
        }
        self.scale = PixelScale::new(look.scale).ok_or_else(|| {
            let most = PixelScale::MOST;
            refused(format!(
                "scale must be from 1 to {most} (got {})",
                look.scale
            ))
        })?;
        self.theme = match look.theme.as_str() {
            "light" => Theme::Light,
            "dark" => Theme::Dark,
            other => {
                return Err(refused(format!(
                    "theme must be 'light' or 'dark' (got '{other}')"
                )));
            }
        };
        Ok(self)
    }

    fn rendered(&self, py: Python<'_>, format: Format) -> PyResult<Vec<u8>> {
        let size: Scaled = self.size.at(self.scale);
        let picture = py.detach(|| {
            let charts: Vec<&Chart> = self.charts.iter().collect();
            render(&charts, format, size, self.theme)
        });
        picture.map_err(raised)
    }
}

/// What a figure looks like.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Appearance {
    size: Option<(u32, u32)>,
    scale: u32,
    theme: String,
}

#[pymethods]
impl Figure {
    /// The titles of its charts.
    #[getter]
    fn titles(&self) -> Vec<&str> {
        self.charts.iter().map(|of| of.title.as_str()).collect()
    }

    /// Writes the figure to a file, a PNG or an SVG.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let ending = path.extension().and_then(|of| of.to_str());
        let format = ending.and_then(Format::from_extension).ok_or_else(|| {
            refused(format!(
                "{}: the name of a picture must end in .png or .svg",
                path.display()
            ))
        })?;
        let picture = self.rendered(py, format)?;
        WholeFile::write_all(&path, &picture).map_err(|error| {
            refused(format!(
                "{}: cannot write the picture: {error}",
                path.display()
            ))
        })
    }

    /// The plotted numbers, as CSV.
    fn data(&self) -> String {
        csv_of(&self.charts.iter().collect::<Vec<_>>())
    }

    fn _repr_png_<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.rendered(py, Format::Png)?))
    }

    fn _repr_svg_(&self, py: Python<'_>) -> PyResult<String> {
        String::from_utf8(self.rendered(py, Format::Svg)?).map_err(raised)
    }

    fn __repr__(&self) -> String {
        format!("Figure({})", self.titles().join("; "))
    }
}

/// How records are evaluated.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct LookArguments {
    quantity: Option<String>,
    window: Option<String>,
    group: Option<String>,
    target: Option<String>,
    bad_latency: Option<String>,
    bad_delay: Option<String>,
    device_size: Option<String>,
    overlay: bool,
    linear_x: bool,
}

impl LookArguments {
    fn options(&self) -> PyResult<LookOptions> {
        let time = |name: &str, text: &Option<String>| -> PyResult<Option<Nanos>> {
            let parsed = text.as_ref().map(|text| text.parse::<Nanos>());
            let parsed = parsed.transpose();
            parsed.map_err(|error| refused(format!("{name}: {error}")))
        };
        let mut options = LookOptions {
            quantity: quantity_of(self.quantity.as_deref())?,
            window: time("window", &self.window)?,
            bad_latency: time("bad_latency", &self.bad_latency)?,
            bad_delay: time("bad_delay", &self.bad_delay)?,
            ..LookOptions::default()
        };
        if let Some(group) = time("group", &self.group)? {
            options.group = group;
        }
        if let Some(size) = &self.device_size {
            let size: Bytes = size
                .parse()
                .map_err(|error| refused(format!("device_size: {error}")))?;
            options.device_sectors = Some(size.get() / SECTOR_BYTES);
        }
        if let Some(text) = &self.target {
            let targets: Objectives = text
                .parse()
                .map_err(|error| refused(format!("target: '{text}': {error}")))?;
            options.targets = targets.0;
        }
        Ok(options)
    }
}

/// Which time is meant.
pub(crate) fn quantity_of(name: Option<&str>) -> PyResult<Quantity> {
    match name {
        None | Some("latency") => Ok(Quantity::Latency),
        Some("delay") => Ok(Quantity::Delay),
        Some("response_time") => Ok(Quantity::ResponseTime),
        Some(other) => Err(refused(format!(
            "quantity must be 'latency', 'delay' or 'response_time' (got '{other}')"
        ))),
    }
}

/// The names of all charts, with what they show.
#[pyfunction]
pub(crate) fn charts() -> Vec<(&'static str, &'static str)> {
    CATALOGUE.iter().map(|of| (of.name, of.about)).collect()
}

/// A chart of records; `cdf` also of simulations without records, with their 95 % bands.
#[pyfunction]
pub(crate) fn plot(
    py: Python<'_>,
    kind: &str,
    inputs: Vec<(String, Bound<'_, PyAny>)>,
    look: LookArguments,
    appearance: Appearance,
) -> PyResult<Figure> {
    let entry = find(kind).ok_or_else(|| {
        let hint = nearest(kind).map_or_else(String::new, |of| format!("did you mean '{of}'? "));
        refused(format!(
            "unknown chart '{kind}': {hint}iosonar.charts() lists them"
        ))
    })?;
    if kind == "cdf" && inputs.iter().all(|(_, of)| is_without_records(of)) {
        let runs = inputs.iter().map(|(name, of)| {
            let run: PyRef<'_, Run> = of.extract()?;
            Ok((name.clone(), run))
        });
        let runs: Vec<_> = runs.collect::<PyResult<_>>()?;
        return distributions(&runs).with(&appearance);
    }
    let traces = inputs
        .iter()
        .map(|(name, of)| Ok((name.clone(), Trace::of(of)?)));
    let traces: Vec<(String, Trace)> = traces.collect::<PyResult<_>>()?;
    let (options, stop) = (look.options()?, Arc::default());
    let watched = Arc::clone(&stop);
    let measured = interruptible(py, &stop, move || {
        let all = traces.iter().map(|(name, trace)| {
            let options = LookOptions {
                include_unsubmitted: trace.reading().options.include_unsubmitted,
                ..options.clone()
            };
            let rows = self_checks(trace)?;
            let measured = measured((name, trace), entry.needs, &options, &rows, &watched);
            measured.map_err(|error| iosonar::units::with_causes(&error))
        });
        all.collect::<Result<Vec<Measured>, String>>()
    })?;
    let measured = measured.map_err(refused)?;
    let arrange = match look.overlay {
        true => Arrange::Overlay,
        false => Arrange::Panels,
    };
    let mut charts = entry.charts(&measured, arrange);
    if look.linear_x {
        charts.iter_mut().for_each(Chart::make_x_linear);
    }
    if charts.is_empty() {
        for input in &measured {
            if let Err(error) = input.check() {
                return Err(refused(format!("{}: {error}", input.name)));
            }
        }
        let names: Vec<&str> = measured.iter().map(|of| of.name.as_str()).collect();
        return Err(refused(format!(
            "{}: the chart '{kind}' would be empty",
            names.join(", ")
        )));
    }
    Figure::of(charts).with(&appearance)
}

fn is_without_records(of: &Bound<'_, PyAny>) -> bool {
    of.cast::<Run>()
        .is_ok_and(|run| run.get().trace().is_none())
}

/// Looks at a trace.
fn measured(
    (name, trace): (&str, &Trace),
    needs: Needs,
    options: &LookOptions,
    rows: &[SelfCheckRow],
    stop: &Arc<std::sync::atomic::AtomicBool>,
) -> Result<Measured, TraceError> {
    let (path, reading) = (trace.path(), trace.reading());
    let format = input::format_at(path, &reading.options);
    let origin = Origin {
        files: vec![(path.display().to_string(), format)],
        changes: reading.changes_in_words(),
    };
    let look = |reader: &mut dyn TraceReader| -> Result<Measured, TraceError> {
        let mut look = Look::new(name, needs, options);
        look.origin(origin.clone());
        look.self_check(rows.to_vec());
        look.read(reader)?;
        Ok(look.finish())
    };
    match needs.order() {
        false => look(&mut trace.open_until(stop)?),
        true => input::in_order(&[path.to_owned()], reading, look),
    }
}

/// What a replay wrote of itself beside its records.
fn self_checks(trace: &Trace) -> Result<Vec<SelfCheckRow>, String> {
    let beside = with_ending(trace.path(), SELF_CHECK_ENDING);
    // Hardly any records have such a file.
    let Ok(text) = std::fs::read_to_string(&beside) else {
        return Ok(Vec::new());
    };
    read_self_check(&text).map_err(|error| format!("{}: {error}", beside.display()))
}
