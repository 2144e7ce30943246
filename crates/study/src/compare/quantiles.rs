//! Quantiles of samples against each other, as a chart.

use iosonar_plot::{Axis, Chart, Colour, Line, Mark, Unit};
use iosonar_trace::Quantity;
use iosonar_units::Nanos;

use super::{Class, Sample};

/// Quantiles of the others against those of the first.
pub fn quantiles_against(samples: &[Sample], quantity: Quantity) -> Chart {
    const PARTS: u32 = 1000;
    let of = |class: &Class| -> Vec<f64> {
        class
            .times()
            .histogram
            .quantiles(PARTS)
            .map(Nanos::as_secs_f64)
            .collect()
    };
    let reference = of(&samples[0].classes()[0]);
    let mut marks = Vec::new();
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    for (i, sample) in samples.iter().enumerate().skip(1) {
        let quantiles = of(&sample.classes()[0]);
        let points: Vec<(f64, f64)> = reference
            .iter()
            .copied()
            .zip(quantiles)
            .filter(|(x, y)| *x > 0.0 && *y > 0.0)
            .collect();
        for (x, y) in &points {
            least = least.min(x.min(*y));
            most = most.max(x.max(*y));
        }
        marks.push(Mark::Line(Line::new(
            &sample.name,
            Colour::Curve(i),
            points,
        )));
    }
    let diagonal = vec![(least, least), (most, most)];
    marks.push(Mark::Line(
        Line::new("equal distributions", Colour::Muted, diagonal).dashed(),
    ));
    let name = |sample: &Sample| format!("{} of {}", quantity.name(), sample.name);
    let other = match samples {
        [_, only] => name(only),
        _ => format!("{} of the other inputs", quantity.name()),
    };
    let axis = |name: &str| Axis {
        range: (least > 0.0 && most > least).then_some((least, most)),
        ..Axis::log(name, Unit::Seconds)
    };
    Chart {
        name: "qq".to_owned(),
        title: format!("Quantiles of {}", quantity.name()),
        subtitle: format!(
            "each point compares one quantile of two inputs, in steps of 1/{PARTS}; above the diagonal, the second \
             input is slower"
        ),
        footer: format!("iosonar {}", env!("CARGO_PKG_VERSION")),
        x: axis(&name(&samples[0])),
        y: axis(&other),
        marks,
        ..Chart::default()
    }
}
