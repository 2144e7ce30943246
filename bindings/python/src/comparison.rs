//! How far records are apart.

use std::sync::Arc;

use iosonar::report::Quantity;
use iosonar::stats::Output;
use iosonar::study::compare::{
    Difference, PairError, Paired, Sample, metrics, paired, quantiles_against,
};
use iosonar::trace::transform::{Change, OnBackstep};
use iosonar::trace::{Reading, input};
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::error::refused;
use crate::estimates::{estimate, known, times};
use crate::figure::{Figure, quantity_of};
use crate::interruptible::interruptible;
use crate::trace::Trace;
use crate::value::of_json;

/// What is found.
struct Found {
    samples: Vec<Sample>,
    pairs: Option<Paired>,
}

fn found(
    inputs: &[(String, Trace)],
    quantity: Quantity,
    with_pairs: bool,
    stop: &Arc<std::sync::atomic::AtomicBool>,
) -> Result<Found, String> {
    let text = |error: &(dyn std::error::Error + 'static)| iosonar::units::with_causes(error);
    let mut samples = Vec::new();
    for (name, trace) in inputs {
        let mut sample = Sample::new(name);
        let mut reader = trace.open_until(stop).map_err(|error| text(&error))?;
        let read = sample.read(&mut reader, |outcome| quantity.of(outcome));
        read.map_err(|error| text(&error))?;
        sample.finish();
        if sample.classes()[0].times().count() == 0 {
            let path = trace.path().display();
            return Err(format!("{path}: no request has a {}", quantity.name()));
        }
        samples.push(sample);
    }
    let pairs = match (with_pairs, inputs) {
        (true, [(_, first), (_, second)]) => {
            Some(pair(first, second, quantity).map_err(|error| text(&error))?)
        }
        (true, _) => return Err("paired needs exactly two inputs".to_owned()),
        (false, _) => None,
    };
    Ok(Found { samples, pairs })
}

fn pair(first: &Trace, second: &Trace, quantity: Quantity) -> Result<Paired, PairError> {
    let sorted = |trace: &Trace| {
        let mut reading: Reading = trace.reading().clone();
        reading.changes.push(Change::OnBackstep(OnBackstep::Sort));
        input::open_changed(trace.path(), &reading)
    };
    let (mut first, mut second) = (sorted(first)?, sorted(second)?);
    paired(&mut *first, &mut *second, |outcome| quantity.of(outcome))
}

/// The classes of requests of a sample: `all`, `reads`, `writes`, sizes.
fn classes(of: &Sample) -> Value {
    let classes = of.classes().iter();
    let known = classes.filter(|class| class.times().count() > 0);
    let known = known.map(|class| {
        let of = times(class.times(), &class.mean(), (1e-6, "ms"), |p| {
            (class.quantile(p), None)
        });
        (class.name.to_owned(), of)
    });
    Value::Object(known.collect())
}

/// Each class of `other` against that of the reference.
fn differences(reference: &Sample, other: &Sample) -> Value {
    let pairs = reference.classes().iter().zip(other.classes());
    let both = pairs.filter_map(|(a, b)| Some((a.name, Difference::between(a, b)?)));
    let all = both.map(|(name, of)| {
        let of = json!({
            "mean": estimate(&of.mean_ns, 1e-6, "ms"),
            "ks": of.ks,
            "ks_p": known(of.ks_p),
            "demerit": of.demerit_ns / 1e6,
            "demerit_relative": of.demerit_relative,
        });
        (name.to_owned(), of)
    });
    Value::Object(all.collect::<Map<_, _>>())
}

/// Compares records with those of the first input: figures, what `iosonar compare --json` says, and a chart of their
/// quantiles.
#[pyfunction]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    inputs: Vec<(String, Bound<'py, PyAny>)>,
    quantity: Option<&str>,
    with_pairs: bool,
) -> PyResult<(Bound<'py, PyAny>, String, Figure)> {
    let quantity = quantity_of(quantity)?;
    let inputs = inputs
        .iter()
        .map(|(name, of)| Ok((name.clone(), Trace::of(of)?)));
    let inputs: Vec<(String, Trace)> = inputs.collect::<PyResult<_>>()?;
    let stop = Arc::default();
    let watched = Arc::clone(&stop);
    let found = interruptible(py, &stop, move || {
        found(&inputs, quantity, with_pairs, &watched)
    })?;
    let Found { samples, pairs } = found.map_err(refused)?;
    let Some((reference, others)) = samples.split_first() else {
        return Err(refused("compare needs at least two inputs"));
    };
    let others = others.iter().map(|other| {
        json!({
            "name": other.name,
            "classes": classes(other),
            "differences": differences(reference, other),
        })
    });
    let figures = json!({
        "quantity": quantity.name().replace(' ', "_"),
        "reference": { "name": reference.name, "classes": classes(reference) },
        "others": others.collect::<Vec<_>>(),
        "pairs": pairs.as_ref().map(|of| json!({
            "n": of.n,
            "mean": estimate(&of.difference_ns, 1e-6, "ms"),
            "longer": of.longer,
            "shorter": of.shorter,
        })),
    });
    let mut output = Output::new("compare");
    output.metrics(metrics(&samples, quantity, pairs.as_ref()));
    let figure = Figure::of(vec![quantiles_against(&samples, quantity)]);
    Ok((of_json(py, &figures)?, output.text(), figure))
}
