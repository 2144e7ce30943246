//! The numbers behind charts.

use std::fmt::Write;

use iosonar_units::csv_field;

use crate::chart::{Chart, Mark};

/// One row: what is drawn, and where.
struct Row<'a> {
    mark: &'static str,
    series: &'a str,
    x: Extent,
    y: Extent,
    /// How many points a cell stands for.
    count: Option<u32>,
}

/// Where something lies on an axis.
#[derive(Clone, Copy)]
enum Extent {
    At(f64),
    Between(f64, f64),
}

/// Which columns there are: those that some row has a value for.
#[derive(Clone, Copy, Default)]
struct Columns {
    x: Presence,
    y: Presence,
    count: bool,
}

#[derive(Clone, Copy, Default)]
struct Presence {
    at: bool,
    between: bool,
}

impl Chart {
    /// The numbers behind the chart, as CSV; see [`csv_of`].
    pub fn csv(&self) -> String {
        csv_of(&[self])
    }

    fn rows(&self, take: &mut dyn FnMut(&Row<'_>)) {
        use Extent::{At, Between};
        let between = |(from, to)| Between(from, to);
        let mut put = |mark, series: &str, x, y, count| {
            take(&Row {
                mark,
                series,
                x,
                y,
                count,
            });
        };
        for mark in &self.marks {
            match mark {
                Mark::Cloud(cloud) => {
                    let kinds = cloud.kinds();
                    for p in cloud.points().unwrap_or_default() {
                        let kind = &kinds[usize::from(p.kind)].name;
                        put("point", kind, At(p.x), At(p.y), None);
                    }
                    for cell in cloud.cells() {
                        let kind = &kinds[usize::from(cell.kind)].name;
                        let (x, y) = (between(cell.x), between(cell.y));
                        put("cell", kind, x, y, Some(cell.count));
                    }
                }
                Mark::Line(line) => {
                    for &(x, y) in &line.points {
                        put("line", line.name(), At(x), At(y), None);
                    }
                }
                Mark::Band(band) => {
                    for &(x, low, high) in &band.points {
                        put("band", &band.label, At(x), Between(low, high), None);
                    }
                }
                Mark::Bars(bars) => {
                    for &(from, to, low, high) in &bars.bins {
                        put(
                            "bar",
                            &bars.name,
                            Between(from, to),
                            Between(low, high),
                            None,
                        );
                    }
                }
                Mark::Estimates(of) => {
                    for &(x, _, low, high) in &of.points {
                        put("interval", &of.name, At(x), Between(low, high), None);
                    }
                }
                Mark::Heat(heat) => {
                    for cell in &heat.cells {
                        let (x, y) = (between(cell.x), between(cell.y));
                        put("cell", "all", x, y, Some(cell.count));
                    }
                }
            }
        }
    }
}

/// The numbers behind charts of one kind, as CSV, of several charts with a column `input` in front that counts them
/// from 1.
///
/// Columns: `mark` (point, cell, line, band, bar, interval), `series` (what it is called); `x` and `y` of what is a point,
/// `x_from`, `x_to`, `y_from`, `y_to` of what has an extent, each with the unit of its axis (`x_s`, `y_share`); `count`
/// (points in a cell). A column that no mark has a value for is left out; what is not a number is an empty field.
pub fn csv_of(charts: &[&Chart]) -> String {
    let mut columns = Columns::default();
    for chart in charts {
        chart.rows(&mut |row| columns.add(row));
    }
    let several = charts.len() > 1;
    let mut text = String::new();
    if several {
        text += "input,";
    }
    if let Some(first) = charts.first() {
        columns.write_header(&mut text, first);
    }
    for (i, chart) in charts.iter().enumerate() {
        chart.rows(&mut |row| {
            if several {
                let _ = write!(text, "{},", i + 1);
            }
            columns.write(&mut text, row);
        });
    }
    text
}

impl Columns {
    fn add(&mut self, row: &Row<'_>) {
        self.x.add(row.x);
        self.y.add(row.y);
        self.count |= row.count.is_some();
    }

    fn write_header(self, text: &mut String, chart: &Chart) {
        text.push_str("mark,series");
        self.x.write_header(text, 'x', chart.x.unit.ending());
        self.y.write_header(text, 'y', chart.y.unit.ending());
        text.push_str(if self.count { ",count\n" } else { "\n" });
    }

    fn write(self, text: &mut String, row: &Row<'_>) {
        let _ = write!(text, "{},{}", row.mark, csv_field(row.series));
        self.x.write(text, row.x);
        self.y.write(text, row.y);
        if self.count {
            text.push(',');
            if let Some(count) = row.count {
                let _ = write!(text, "{count}");
            }
        }
        text.push('\n');
    }
}

impl Presence {
    fn add(&mut self, extent: Extent) {
        match extent {
            Extent::At(_) => self.at = true,
            Extent::Between(..) => self.between = true,
        }
    }

    fn write_header(self, text: &mut String, axis: char, unit: &str) {
        if self.at {
            let _ = write!(text, ",{axis}{unit}");
        }
        if self.between {
            let _ = write!(text, ",{axis}_from{unit},{axis}_to{unit}");
        }
    }

    fn write(self, text: &mut String, extent: Extent) {
        let mut field = |value: Option<f64>| {
            text.push(',');
            if let Some(value) = value.filter(|value| value.is_finite()) {
                let _ = write!(text, "{value}");
            }
        };
        let (at, from, to) = match extent {
            Extent::At(at) => (Some(at), None, None),
            Extent::Between(from, to) => (None, Some(from), Some(to)),
        };
        if self.at {
            field(at);
        }
        if self.between {
            field(from);
            field(to);
        }
    }
}
