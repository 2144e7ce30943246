//! Tables for people: aligned columns, numbers to the right.

pub(crate) use iosonar_plot::significant;
use iosonar_report::grouped;
use iosonar_stats::Distribution;
use iosonar_units::Nanos;

/// A cell of a table.
#[derive(Debug)]
pub(crate) enum Cell {
    Text(String),
    /// A time with what stands before and after it. All times of a column have one unit.
    Time {
        before: &'static str,
        time: Nanos,
        after: String,
    },
}

/// A table that is printed as a whole.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<Cell>>,
}

/// How the times of a column are written.
#[derive(Clone, Copy, Debug)]
struct TimeFormat {
    nanos: f64,
    unit: &'static str,
    digits: usize,
}

impl TimeFormat {
    /// In the unit that suits the middle of these times, with four significant digits of the smallest, but no more
    /// than four decimals.
    fn of(times: impl Iterator<Item = Nanos>) -> Self {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for time in times.filter(|&time| time > Nanos::ZERO) {
            least = least.min(time.get() as f64);
            most = most.max(time.get() as f64);
        }
        if most == 0.0 {
            (least, most) = (1e6, 1e6);
        }
        let (nanos, unit) = match (least * most).sqrt() {
            middle if middle < 1e3 => (1.0, "ns"),
            middle if middle < 1e6 => (1e3, "µs"),
            middle if middle < 1e9 => (1e6, "ms"),
            _ => (1e9, "s"),
        };
        let before = (least / nanos).log10().floor() as i32 + 1;
        let most_digits = if unit == "ns" { 0 } else { 4 };
        Self {
            nanos,
            unit,
            digits: (4 - before).clamp(0, most_digits) as usize,
        }
    }

    fn text(self, time: Nanos) -> String {
        let value = time.get() as f64 / self.nanos;
        format!("{value:.*} {}", self.digits, self.unit)
    }
}

const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

impl Table {
    /// A table with these columns.
    pub(crate) fn new(header: &[&str]) -> Self {
        Self {
            rows: vec![header.iter().map(|&h| Cell::Text(h.to_owned())).collect()],
        }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.cells(cells.into_iter().map(Cell::Text).collect());
    }

    /// Adds a row with times in it.
    pub(crate) fn cells(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// A table of distributions of times.
    pub(crate) fn of_times(title: &str) -> Self {
        let mut header = vec![title.to_owned(), "n".to_owned(), "mean".to_owned()];
        header.extend(QUANTILES.map(|(name, _)| name.to_owned()));
        header.push("max".to_owned());
        Self {
            rows: vec![header.into_iter().map(Cell::Text).collect()],
        }
    }

    /// Adds a row for a distribution; quantiles that rest on too few samples are marked with `~`.
    pub(crate) fn times(&mut self, name: &str, distribution: &Distribution) {
        let mut row = vec![
            Cell::Text(name.to_owned()),
            Cell::Text(grouped(distribution.count())),
        ];
        let cell = |before, time| Cell::Time {
            before,
            time,
            after: String::new(),
        };
        if distribution.count() > 0 {
            let moments = &distribution.moments;
            row.push(cell("", Nanos::nearest(moments.mean())));
            for (_, p) in QUANTILES {
                let value = distribution.histogram.quantile(p).unwrap_or_default();
                let flag = if distribution.histogram.supports_quantile(p) {
                    ""
                } else {
                    "~"
                };
                row.push(cell(flag, value));
            }
            row.push(cell("", moments.max().unwrap_or_default()));
        }
        self.cells(row);
    }

    /// The text of the table, each line indented by two blanks.
    pub(crate) fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let format = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            TimeFormat::of(cells.filter_map(|cell| match cell {
                Cell::Time { time, .. } => Some(*time),
                Cell::Text(_) => None,
            }))
        };
        let formats: Vec<TimeFormat> = (0..columns).map(format).collect();
        let written = |(column, cell): (usize, &Cell)| match cell {
            Cell::Text(text) => text.clone(),
            Cell::Time {
                before,
                time,
                after,
            } => format!("{before}{}{after}", formats[column].text(*time)),
        };
        let rows: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| row.iter().enumerate().map(written).collect())
            .collect();
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &rows {
            let mut line = String::from("  ");
            for (column, cell) in row.iter().enumerate() {
                let blanks = " ".repeat(widths[column] - cell.chars().count());
                if column == 0 {
                    line += &format!("{cell}{blanks}");
                } else {
                    line += &format!("  {blanks}{cell}");
                }
            }
            text += line.trim_end();
            text.push('\n');
        }
        if text.contains('~') {
            text += "  ~ based on too few requests to be reliable\n";
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_weak_quantiles_marked() {
        let mut few = Distribution::default();
        (1..=100).for_each(|ms| few.push(Nanos::from_millis(ms)));
        let mut table = Table::of_times("latency");
        table.times("reads", &few);
        table.times("writes", &Distribution::default());
        let text = table.text();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("  latency    n"), "{text}");
        assert!(
            lines[1].contains("~99") && !lines[1].contains("~90"),
            "{text}"
        );
        assert_eq!(lines[2].trim(), "writes     0");
    }

    #[test]
    fn times_of_a_column_have_one_unit() {
        let of = |nanos: &[u64]| {
            let mut times = Distribution::default();
            nanos.iter().for_each(|&ns| times.push(Nanos::new(ns)));
            times
        };
        let mut table = Table::of_times("response time");
        table.times("all", &of(&[4_160_000_000]));
        table.times("wait", &of(&[85_000_000]));
        table.times("transfer", &of(&[1_900_000]));
        let text = table.text();
        let last: Vec<&str> = text
            .lines()
            .take(4)
            .map(|line| &line[line.len() - 12..])
            .collect();
        assert_eq!(
            last[1..],
            [" 4160.000 ms", "   85.000 ms", "    1.900 ms"],
            "{text}"
        );
    }
}
