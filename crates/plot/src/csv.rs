//! The numbers behind a chart.

use std::fmt::Write;

use crate::chart::{Chart, Mark};

/// The columns of [`Chart::csv`].
pub const CSV_HEADER: &str = "mark,series,x_from,x_to,y_from,y_to,count";

impl Chart {
    /// The numbers behind the chart, as CSV: seconds, bytes, shares of one.
    ///
    /// Columns: `mark` (point, cell, line, band, bar), `series` (the words of the legend up to the first colon),
    /// `x_from`, `x_to`, `y_from`, `y_to` (equal where it is a point), `count` (points in a cell).
    pub fn csv(&self) -> String {
        let mut text = format!("{CSV_HEADER}\n");
        for mark in &self.marks {
            match mark {
                Mark::Cloud(cloud) => {
                    let series = |kind: u8| quoted(&cloud.kinds()[usize::from(kind)].label);
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
                    let name = quoted(&line.label);
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
                    let name = quoted(&bars.label);
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
    let _ = writeln!(
        text,
        "{mark},{series},{},{},{},{},{count}",
        x.0, x.1, y.0, y.1
    );
}

/// The name of a series as a field.
fn quoted(label: &str) -> String {
    let name = label.split(':').next().unwrap_or(label);
    if name.contains([',', '"', '\n']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}
