//! Charts and the page of a study: metrics against parameters.

mod targets;

use std::collections::{BTreeMap, BTreeSet};

use iosonar_analysis::objective::{Judgement, Objective};
use iosonar_plot::{Axis, Chart, Unit, counted};

use crate::curves::{Series, Spot, axis_over, marks_of, note_styles};
use crate::page::escaped;
use crate::plain_page::{RowMark, figures, page};
use crate::words::tool;

/// What a chart of a study shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// What the study is called.
    pub study: String,
    /// The y axis, with its unit at the end of the name.
    pub metric: String,
    /// What goes to the right.
    pub against: String,
    /// The parameter that distinguishes lines, if there is only one.
    pub by: Option<String>,
    /// What the places 1, 2, ... are called, if the parameter is not a number.
    pub names: Vec<String>,
    /// How many points have runs that are too short for an interval.
    pub not_steady: usize,
    /// The lines.
    pub series: Vec<Series>,
}

/// More lines cannot be distinguished.
const MOST_LINES: usize = 12;

/// A chart of a metric against a parameter, with error bars.
pub fn chart_of_study(panel: &Panel) -> Chart {
    let points = panel.series.iter().flat_map(|series| &series.points);
    let x = axis_over(&panel.against, points.map(|p| p.x), 32.0);
    let (words, unit, factor) = words_of(&panel.metric);
    let scaled = |spot: &Spot| Spot {
        y: spot.y * factor,
        y_95: (spot.y_95.0 * factor, spot.y_95.1 * factor),
        ..*spot
    };
    let drawn = panel.series.iter().take(MOST_LINES).map(|series| {
        let mut points: Vec<Spot> = series.points.iter().map(scaled).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let label = match series.label.as_str() {
            "" => panel.metric.clone(),
            label => label.to_owned(),
        };
        Series {
            label,
            points,
            ..series.clone()
        }
    });
    let drawn: Vec<Series> = drawn.collect();
    let places = panel.names.iter().enumerate();
    let places: Vec<String> = places
        .map(|(i, name)| format!("{}: {name}", i + 1))
        .collect();
    let mut notes = Vec::new();
    if !places.is_empty() {
        notes.push(format!("{}: {}", panel.against, places.join(", ")));
    }
    if let Some(more @ 1..) = panel.series.len().checked_sub(MOST_LINES) {
        notes.push(format!(
            "{} in points.csv",
            counted(more as u64, ["more line is", "more lines are"])
        ));
    }
    if panel.not_steady > 0 {
        notes.push(format!(
            "not steady: {}, whose times depend on the length of the runs",
            counted(panel.not_steady as u64, ["point", "points"])
        ));
    }
    let mut chart = Chart {
        name: format!("{}-by-{}", panel.metric, panel.against),
        title: format!("{}: {words} against {}", panel.study, panel.against),
        about: format!(
            "{words} at each point, with the 95 % interval over its repetitions, against {}; one line per combination \
             of the other parameters.",
            panel.against
        ),
        footer: tool(),
        x,
        y: Axis::from_zero(&words, unit),
        marks: marks_of(&drawn, drawn.len()),
        notes,
        ..Chart::default()
    };
    note_styles(&mut chart, &drawn);
    chart
}

/// A metric in words, the unit of its axis, and what its values are multiplied by.
fn words_of(metric: &str) -> (String, Unit, f64) {
    let (name, unit, factor) = if let Some(name) = metric.strip_suffix("_ms") {
        (name, Unit::Seconds, 1e-3)
    } else if let Some(name) = metric.strip_suffix("_per_s") {
        return (
            format!("{} per second", name.replace('_', " ")),
            Unit::Number,
            1.0,
        );
    } else if let Some(name) = metric.strip_suffix("_s") {
        (name, Unit::Seconds, 1.0)
    } else {
        (metric, Unit::Number, 1.0)
    };
    (name.replace('_', " "), unit, factor)
}

/// A link to a page of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// What it says.
    pub text: String,
    /// Where it leads, relative to the page.
    pub to: String,
}

/// Values of parameters, number of repetitions, (mean, half width) of all metrics, links.
pub type StudyRow = (Vec<String>, usize, Vec<(f64, f64)>, Vec<Link>);

/// The table of a study.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StudyTable {
    /// The names of the parameters.
    pub parameters: Vec<String>,
    /// The names of all metrics.
    pub metrics: Vec<String>,
    /// The points.
    pub rows: Vec<StudyRow>,
    /// The values of the parameters of points whose results depend on the length of the runs, and why.
    pub not_steady: BTreeMap<Vec<String>, String>,
    /// Runs without a result, and why.
    pub failed: Vec<(String, String)>,
    /// The values of the parameters of these runs.
    pub failed_points: BTreeSet<Vec<String>>,
    /// What is demanded of the points; empty if nothing is.
    pub targets: Vec<Objective>,
}

/// Only these stand in the page, where they are known; the files hold all.
const TELLING: [&str; 12] = [
    "response_time_mean_ms",
    "response_time_p50_ms",
    "response_time_p99_ms",
    "response_time_max_ms",
    "read_latency_mean_ms",
    "read_latency_p99_ms",
    "write_latency_mean_ms",
    "write_latency_p99_ms",
    "throughput_per_s",
    "megabytes_per_second",
    "utilisation_mean",
    "utilisation_max",
];

/// More rows are no page any more.
const MOST_ROWS: usize = 5_000;
/// Of more points times metrics, the page has only those that matter most.
const MOST_CELLS: usize = 20_000;

/// The page of a study: its table, and its charts as (title, text, SVG). It needs nothing but itself; the links
/// lead to files in the folder `base`, which ends in `/`, or beside the page if that is empty. `None` where the files
/// cannot be reached from the page: it names them then.
pub fn page_of(
    title: &str,
    table: &StudyTable,
    charts: &[(String, String, String)],
    base: Option<&str>,
) -> String {
    let telling = TELLING
        .iter()
        .filter_map(|name| table.metrics.iter().position(|m| m == name));
    let mut columns: Vec<usize> = telling.collect();
    if columns.is_empty() {
        columns = (0..table.metrics.len().min(8)).collect();
    }
    let mut notes = String::new();
    if table.rows.len() > MOST_ROWS {
        let more = table.rows.len() - MOST_ROWS;
        notes += &format!(
            "<p>{} in points.csv.</p>\n",
            counted(more as u64, ["more point is", "more points are"])
        );
    }
    notes += &not_steady(table);
    if !table.failed.is_empty() {
        notes += &format!("<h2>Failed: {}</h2>\n<ul>\n", table.failed.len());
        for (path, why) in table.failed.iter().take(100) {
            notes += &format!("<li>{}: {}</li>\n", escaped(path), escaped(why));
        }
        notes += "</ul>\n";
    }
    let verdicts = targets::verdicts(table);
    let [points, runs, results] =
        ["points.csv", "runs.csv", "results.json"].map(|name| anchor(base, name, name));
    let all: Vec<usize> = (0..table.metrics.len()).collect();
    let mut folded = String::new();
    if columns.len() < all.len() && table.rows.len() * all.len() <= MOST_CELLS {
        let all = table_of(table, &all, &verdicts, base);
        folded = format!("<details>\n<summary>All metrics</summary>\n{all}</details>\n");
    }
    let conclusion = targets::conclusion(table, &verdicts).map_or_else(String::new, |text| {
        format!("<h2>Conclusion</h2>\n<p>{}</p>\n", escaped(&text))
    });
    let body = format!(
        "{conclusion}<h2>Points</h2>\n<p>Means over repetitions ± half the width of the 95 % interval; all metrics are in \
         {points}, every run is in {runs}, both in {results}.</p>\n{}{}{folded}{notes}",
        table_of(table, &columns, &verdicts, base),
        figures(charts),
    );
    page(title, &body)
}

/// Which points have results that depend on the length of the runs.
fn not_steady(table: &StudyTable) -> String {
    const MOST: usize = 100;
    if table.not_steady.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "<h2>Not steady: {}</h2>\n<p>The response times of these points depend on the length of the runs, so they have no \
         confidence interval.</p>\n<ul>\n",
        counted(table.not_steady.len() as u64, ["point", "points"])
    );
    let points = table.rows.iter().map(|(values, ..)| values);
    let points = points.filter_map(|values| Some((values, table.not_steady.get(values)?)));
    for (values, why) in points.take(MOST) {
        let point = targets::point(table, values);
        text += &format!("<li>{}: {}</li>\n", escaped(&point), escaped(why));
    }
    if table.not_steady.len() > MOST {
        text += "<li>...</li>\n";
    }
    text + "</ul>\n"
}

/// The points with these columns of their metrics.
fn table_of(
    table: &StudyTable,
    columns: &[usize],
    verdicts: &[Option<Judgement>],
    base: Option<&str>,
) -> String {
    let metrics = columns.iter().map(|&column| table.metrics[column].as_str());
    let names = table.parameters.iter().map(String::as_str);
    let verdict = (!table.targets.is_empty()).then_some("verdict");
    let names = names
        .chain(verdict)
        .chain(["repetitions"])
        .chain(metrics)
        .chain(["runs"]);
    let head = names.map(|name| format!("<th scope=\"col\">{}</th>", escaped(name)));
    format!(
        "<div class=\"study\"><table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
        head.collect::<String>(),
        rows_of(table, columns, verdicts, base)
    )
}

/// The points as rows, with these columns of their metrics.
fn rows_of(
    table: &StudyTable,
    columns: &[usize],
    verdicts: &[Option<Judgement>],
    base: Option<&str>,
) -> String {
    let mut rows = String::new();
    let points = table.rows.iter().zip(verdicts).take(MOST_ROWS);
    for ((values, n, metrics, links), verdict) in points {
        let is_judged = !table.targets.is_empty();
        let mark = if is_judged {
            targets::mark(*verdict)
        } else {
            RowMark::Plain
        };
        rows += &format!("<tr{}>", mark.class());
        for value in values {
            rows += &format!("<td>{}</td>", escaped(value));
        }
        if is_judged {
            let word = verdict.map_or("not measured", Judgement::name);
            rows += &format!("<td>{word}</td>");
        }
        rows += &format!("<td>{n}</td>");
        for &column in columns {
            let (mean, half_width) = metrics[column];
            rows += &format!("<td>{}</td>", with_half_width(mean, half_width));
        }
        let link = |link: &Link| anchor(base, &link.to, &link.text);
        let links: Vec<String> = links.iter().map(link).collect();
        rows += &format!("<td>{}</td></tr>\n", links.join(" "));
    }
    rows
}

fn with_half_width(mean: f64, half_width: f64) -> String {
    if !mean.is_finite() {
        return String::new();
    }
    let short = |x: f64, digits: i32| {
        let before = x.abs().max(1e-12).log10().floor() as i32 + 1;
        format!("{x:.*}", (digits - before).clamp(0, 9) as usize)
    };
    if half_width.is_finite() && half_width > 0.0 {
        format!("{} ± {}", short(mean, 4), short(half_width, 2))
    } else {
        short(mean, 4)
    }
}

/// A link, or its text alone where the page has no way to the files.
fn anchor(base: Option<&str>, to: &str, text: &str) -> String {
    let text = escaped(text);
    match base {
        Some(base) => format!("<a href=\"{}\">{text}</a>", address(base, to)),
        None => text,
    }
}

/// A path as a link has it.
fn address(base: &str, path: &str) -> String {
    let mut address = String::new();
    for byte in base.bytes().chain(path.bytes()) {
        match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'/'
            | b'.'
            | b'-'
            | b'_'
            | b'='
            | b'~'
            | b',' => {
                address.push(byte as char);
            }
            _ => address += &format!("%{byte:02X}"),
        }
    }
    // A name with a colon at its beginning would be another kind of address.
    if base.is_empty() {
        format!("./{address}")
    } else {
        address
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_comes_before_the_charts_and_all_metrics_are_folded_below() {
        let table = StudyTable {
            parameters: vec!["disks".to_owned()],
            metrics: vec!["response_time_p99_ms".to_owned(), "other".to_owned()],
            rows: vec![(
                vec!["4".to_owned()],
                3,
                vec![(1.234, 0.1), (7.0, f64::NAN)],
                Vec::new(),
            )],
            ..StudyTable::default()
        };
        let chart = (
            "title".to_owned(),
            "about".to_owned(),
            "<svg></svg>".to_owned(),
        );
        let page = page_of("a study", &table, &[chart], Some(""));
        let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
        assert!(place("<td>1.234 ± 0.10</td>") < place("<figure"));
        assert!(place("<figure") < place("<details>") && place("<details>") < place(">other</th>"));
        assert_eq!(page.matches(">response_time_p99_ms</th>").count(), 2);
        assert!(page.contains("<a href=\"./points.csv\">points.csv</a>"));
        let apart = page_of("a study", &table, &[], None);
        assert!(
            apart.contains("points.csv") && !apart.contains("<a "),
            "{apart}"
        );
    }
}
