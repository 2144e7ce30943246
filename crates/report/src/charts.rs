//! The charts of the catalogue, a room for each group.

pub(crate) mod activity;
pub(crate) mod devices;
pub(crate) mod distribution;
pub(crate) mod flight;
pub(crate) mod histogram;
pub(crate) mod overview;
pub(crate) mod self_check;
pub(crate) mod sonar;
pub(crate) mod working_set;

use iosonar_analysis::{Timeline, TimelinePoint};
use iosonar_plot::{Axis, Chart, Colour, Line, Mark};
use iosonar_units::Nanos;

use crate::measure::Measured;
use crate::words::{footer, joined, tool};

/// A chart of one input, with all that is said around it.
fn chart_of(input: &Measured, kind: &str, x: Axis, y: Axis) -> Chart {
    Chart {
        title: format!("{kind}: {}", input.name),
        subtitle: input.remarks().join("; "),
        warnings: input.warnings(),
        footer: footer(input.metadata()),
        x,
        y,
        ..Chart::default()
    }
}

/// The longest names that a title has room for.
const MOST_IN_TITLE: usize = 64;

/// The names of inputs as a title has them: all of them, or how many there are.
pub fn names_in_title(names: &[&str]) -> String {
    let owned: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let all = joined(&owned);
    let (first, others) = (
        names.first().copied().unwrap_or_default(),
        names.len().max(1) - 1,
    );
    let length = |text: &str| text.chars().count();
    if length(&all) <= MOST_IN_TITLE || names.len() < 2 {
        all
    } else if length(first) + 16 <= MOST_IN_TITLE {
        format!(
            "{first} and {others} other{}",
            if others == 1 { "" } else { "s" }
        )
    } else {
        format!("{} inputs", names.len())
    }
}

fn warnings_of(inputs: &[Measured]) -> Vec<Vec<String>> {
    inputs.iter().map(Measured::warnings).collect()
}

/// The warnings of all inputs, if all have the same ones.
fn once_of_all(mut warnings: Vec<Vec<String>>) -> Option<Vec<String>> {
    let is_same = warnings.windows(2).all(|pair| pair[0] == pair[1]);
    is_same.then(|| warnings.pop()).flatten()
}

/// A chart of several inputs.
fn chart_of_all(inputs: &[Measured], kind: &str, x: Axis, y: Axis) -> Chart {
    let [input] = inputs else {
        let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
        let mut warnings: Vec<String> = Vec::new();
        for input in inputs {
            let of = |warning: String| format!("{}: {warning}", input.name);
            warnings.extend(input.warnings().into_iter().map(of));
        }
        return Chart {
            title: format!("{kind}: {}", names_in_title(&names)),
            warnings: once_of_all(warnings_of(inputs)).unwrap_or(warnings),
            footer: tool(),
            x,
            y,
            ..Chart::default()
        };
    };
    chart_of(input, kind, x, y)
}

/// Windows of about 60 to a picture, but of three seconds at most where they are not chosen: a step of
/// 1, 2 or 5.
fn window_of(input: &Measured, timeline: &Timeline) -> Nanos {
    let wanted = input.options().window.unwrap_or_else(|| {
        let fine = timeline.span().get() / 60;
        let decade = 10_u64.pow(fine.max(1).ilog10());
        let digit = [1, 2, 5, 10].into_iter().find(|d| d * decade >= fine);
        Nanos::new(digit.unwrap_or(10) * decade).min(Nanos::from_secs(3))
    });
    // Of a long trace more windows than pixels would be noise, and memory.
    let least = Nanos::new(timeline.span().get() / 100_000);
    wanted.max(least)
}

/// A figure of each window of an input; of one with windows of which the load covers a part, levels and
/// rates are those of this part.
struct Figure {
    label: &'static str,
    colour: Colour,
    of: fn(&TimelinePoint, time_s: f64) -> f64,
}

/// The share of a window that the load must cover for a meaningful level or rate in it.
const COVERED: f64 = 0.2;
/// The least number of requests in such a part of a window that have a meaningful rate there.
const ENOUGH: u64 = 10;

/// A window of an input, in seconds.
struct Window {
    begin: f64,
    /// How much of it lies between the first intended start and the last completion.
    covered: f64,
    /// The time that its requests are divided by for their rate.
    time: f64,
    point: TimelinePoint,
}

/// The windows of an input.
fn windows_of(input: &Measured, timeline: &Timeline) -> Vec<Window> {
    let (first, last, end) = input.span();
    let (from, until) = (first.as_secs_f64(), last.max(end).as_secs_f64());
    let window_s = timeline.window().as_secs_f64();
    let points = timeline.points().map(|(begin, point)| {
        let begin = begin.as_secs_f64();
        let covered = (begin + window_s).min(until) - begin.max(from);
        (begin, covered.clamp(0.0, window_s), point)
    });
    let mut points: Vec<_> = points.collect();
    // A load within one window has no other to be compared with.
    if let [(_, covered, _)] = &mut points[..] {
        *covered = window_s;
    }
    points
        .into_iter()
        .map(|(begin, covered, mut point)| {
            let scale = window_s / covered.max(window_s * COVERED);
            point.in_flight *= scale;
            point.busy *= scale;
            point.delayed *= scale;
            point.held *= scale;
            let requests = point.all_demanded().requests;
            let requests = requests.max(point.all_completed().requests);
            let is_enough = requests >= ENOUGH && covered >= window_s * COVERED;
            let time = match is_enough && covered < window_s {
                // A load begins and ends with a request, which is one more than there are times between them.
                true => (covered * requests as f64 / (requests - 1) as f64).min(window_s),
                // Few, or those of a short time, may be a burst: their rate is that of the whole window.
                false => window_s,
            };
            Window {
                begin,
                covered,
                time,
                point,
            }
        })
        .collect()
}

/// A chart of figures over time, for all inputs; `None` if nothing happened over time.
fn over_time(inputs: &[Measured], kind: &str, y: Axis, figures: &[Figure]) -> Option<Chart> {
    let of = |input: &Measured| input.outcome().is_some();
    over_time_where(of, inputs, kind, y, figures)
}

/// The same of figures of the load alone, which are known of loads, too.
fn demand_over_time(inputs: &[Measured], kind: &str, y: Axis, figures: &[Figure]) -> Option<Chart> {
    over_time_where(|_| true, inputs, kind, y, figures)
}

fn over_time_where(
    is_known: impl Fn(&Measured) -> bool,
    inputs: &[Measured],
    kind: &str,
    y: Axis,
    figures: &[Figure],
) -> Option<Chart> {
    let mut chart = chart_of_all(inputs, kind, Axis::time("time"), y);
    let mut windows = Vec::new();
    // Inputs are compared window by window.
    let known = inputs.iter().filter(|input| is_known(input));
    let wanted = known.filter_map(|input| Some(window_of(input, input.demand()?)));
    let wanted = wanted.max()?;
    for (i, input) in inputs.iter().enumerate() {
        let Some(timeline) = input.demand().filter(|_| is_known(input)) else {
            continue;
        };
        if timeline.span() == Nanos::ZERO {
            continue;
        }
        let timeline = timeline.joined(wanted);
        let points = windows_of(input, &timeline);
        for (k, figure) in figures.iter().enumerate() {
            let mut values: Vec<(f64, f64)> = points
                .iter()
                .map(|of| (of.begin, (figure.of)(&of.point, of.time)))
                .collect();
            // A figure that is always zero is left out, but for the first: it says so.
            if k > 0 && values.iter().all(|(_, v)| *v == 0.0 || v.is_nan()) {
                continue;
            }
            if let (Some(&(last, value)), Some(of)) = (values.last(), points.last()) {
                values.push((last + of.covered, value));
            }
            let line = if inputs.len() > 1 {
                let name = format!("{}: {}", input.name, figure.label);
                // One entry in the legend stands for all figures of an input.
                let label = if k == 0 { &*input.name } else { "" };
                let line = Line::steps(label, Colour::Curve(i), values).named(&name);
                let line = if k == 0 { line } else { line.dashed() };
                // Inputs with the same load have the same curves.
                Line {
                    is_thin: k > 0,
                    ..line.in_turn(i, inputs.len())
                }
            } else {
                let line = Line::steps(figure.label, figure.colour, values);
                // What was asked for and what was done are mostly the same: both must be seen.
                let is_above = figure.colour == Colour::Demanded;
                line.in_turn(usize::from(is_above), 2)
            };
            chart.marks.push(Mark::Line(line));
        }
        windows.push(timeline.window());
    }
    if let ([first, rest @ ..], true) = (figures, inputs.len() > 1) {
        chart.notes.push(which_is_thin(first, rest));
    }
    windows.dedup();
    if let [window] = windows[..] {
        let said = format!("windows of {window}");
        chart.subtitle = match chart.subtitle.is_empty() {
            true => said,
            false => format!("{said}; {}", chart.subtitle),
        };
    }
    (!chart.marks.is_empty()).then_some(chart)
}

/// Which of several figures the lines of an input are.
fn which_is_thin(first: &Figure, rest: &[Figure]) -> String {
    if rest.is_empty() {
        return first.label.to_owned();
    }
    let thin: Vec<String> = rest.iter().map(|figure| figure.label.to_owned()).collect();
    format!(
        "thick lines: {}; thin lines: {}",
        first.label,
        joined(&thin)
    )
}

/// Whether anything but zero is in it.
fn has_values(chart: &Chart) -> bool {
    let lines = chart.marks.iter().filter_map(|mark| match mark {
        Mark::Line(line) => Some(line),
        _ => None,
    });
    lines.flat_map(|line| &line.points).any(|(_, v)| *v > 0.0)
}
