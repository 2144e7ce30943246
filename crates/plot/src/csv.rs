//! The numbers behind a chart.

use std::fmt::Write;

use crate::chart::{Chart, Mark};

/// The columns of [`Chart::csv`].
pub const CSV_HEADER: &str = "mark,series,x_from,x_to,y_from,y_to,count";

impl Chart {
    /// The numbers behind the chart, as CSV: seconds, bytes, shares of one.
    ///
    /// Columns: `mark` (point, cell, line, band, bar), `series` (what it is called),
    /// `x_from`, `x_to`, `y_from`, `y_to` (equal where it is a point, empty where there is none), `count` (points in a cell).
    pub fn csv(&self) -> String {
        let mut text = format!("{CSV_HEADER}\n");
        for mark in &self.marks {
            match mark {
                Mark::Cloud(cloud) => {
                    let series = |kind: u8| quoted(&cloud.kinds()[usize::from(kind)].name);
                    let names: Vec<String> = (0..cloud.kinds().len() as u8).map(series).collect();
                    for p in cloud.points().unwrap_or_default() {
                        let name = &names[usize::from(p.kind)];
                        row(&mut text, "point", name, (p.x, p.x), (p.y, p.y), 1);
                    }
                    for cell in cloud.cells() {
                        let name = &names[usize::from(cell.kind)];
                        row(&mut text, "cell", name, cell.x, cell.y, cell.count);
                    }
                }
                Mark::Line(line) => {
                    let name = quoted(line.name());
                    for &(x, y) in &line.points {
                        row(&mut text, "line", &name, (x, x), (y, y), 1);
                    }
                }
                Mark::Band(band) => {
                    let name = quoted(&band.label);
                    for &(x, low, high) in &band.points {
                        row(&mut text, "band", &name, (x, x), (low, high), 1);
                    }
                }
                Mark::Bars(bars) => {
                    let name = quoted(&bars.name);
                    for &(from, to, low, high) in &bars.bins {
                        row(&mut text, "bar", &name, (from, to), (low, high), 1);
                    }
                }
                Mark::Heat(heat) => {
                    for cell in &heat.cells {
                        row(&mut text, "cell", "all", cell.x, cell.y, cell.count);
                    }
                }
            }
        }
        text
    }
}

fn row(text: &mut String, mark: &str, series: &str, x: (f64, f64), y: (f64, f64), count: u32) {
    // What is no number is an empty field: a gap, or no value.
    let field = |value: f64| {
        if value.is_finite() {
            value.to_string()
        } else {
            String::new()
        }
    };
    let (x0, x1, y0, y1) = (field(x.0), field(x.1), field(y.0), field(y.1));
    let _ = writeln!(text, "{mark},{series},{x0},{x1},{y0},{y1},{count}");
}

/// The name of a series as a field.
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}
