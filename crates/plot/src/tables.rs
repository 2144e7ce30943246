//! The numbers behind charts.

use iosonar_units::{Column, Row as TableRow, Table};

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
    /// The numbers behind the chart, as CSV; see [`table_of`].
    pub fn csv(&self) -> String {
        table_of(&[self]).csv()
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

/// The numbers behind charts of one kind, as CSV; see [`table_of`].
pub fn csv_of(charts: &[&Chart]) -> String {
    table_of(charts).csv()
}

/// The numbers behind charts of one kind, as a table, of several charts with a column `input` in front that counts them
/// from 1.
///
/// Columns: `mark` (point, cell, line, band, bar, interval), `series` (what it is called); `x` and `y` of what is a point,
/// `x_from`, `x_to`, `y_from`, `y_to` of what has an extent, each with the unit of its axis (`x_s`, `y_share`); `count`
/// (points in a cell). A column that no mark has a value for is left out; what is not a number is not known.
pub fn table_of(charts: &[&Chart]) -> Table {
    let mut columns = Columns::default();
    for chart in charts {
        chart.rows(&mut |row| columns.add(row));
    }
    let several = charts.len() > 1;
    let mut table = Table::new(several.then(|| Column::counts("input")));
    if let Some(first) = charts.first() {
        columns.add_to(&mut table, first);
    }
    for (i, chart) in charts.iter().enumerate() {
        chart.rows(&mut |row| {
            let mut into = table.row();
            into.put_all(several.then_some(i + 1));
            columns.put(&mut into, row);
        });
    }
    match charts.first() {
        Some(first) => table.with("table", "chart").with("title", &*first.title),
        None => table,
    }
}

impl Columns {
    fn add(&mut self, row: &Row<'_>) {
        self.x.add(row.x);
        self.y.add(row.y);
        self.count |= row.count.is_some();
    }

    fn add_to(self, table: &mut Table, chart: &Chart) {
        table.push_column(Column::texts("mark"));
        table.push_column(Column::texts("series"));
        self.x.add_to(table, 'x', chart.x.unit.ending());
        self.y.add_to(table, 'y', chart.y.unit.ending());
        if self.count {
            table.push_column(Column::counts("count"));
        }
    }

    fn put(self, into: &mut TableRow<'_>, row: &Row<'_>) {
        into.put(row.mark).put(row.series);
        self.x.put(into, row.x);
        self.y.put(into, row.y);
        if self.count {
            into.put(row.count);
        }
    }
}

impl Presence {
    fn add(&mut self, extent: Extent) {
        match extent {
            Extent::At(_) => self.at = true,
            Extent::Between(..) => self.between = true,
        }
    }

    fn add_to(self, table: &mut Table, axis: char, unit: &str) {
        if self.at {
            table.push_column(Column::numbers(format!("{axis}{unit}")));
        }
        if self.between {
            table.push_column(Column::numbers(format!("{axis}_from{unit}")));
            table.push_column(Column::numbers(format!("{axis}_to{unit}")));
        }
    }

    fn put(self, into: &mut TableRow<'_>, extent: Extent) {
        let (at, from, to) = match extent {
            Extent::At(at) => (Some(at), None, None),
            Extent::Between(from, to) => (None, Some(from), Some(to)),
        };
        if self.at {
            into.put(at);
        }
        if self.between {
            into.put(from).put(to);
        }
    }
}
