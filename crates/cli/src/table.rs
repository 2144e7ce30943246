//! Tables for people: aligned columns, numbers to the right.

use iosonar_report::grouped;
use iosonar_stats::Distribution;
use iosonar_units::Nanos;

/// A table that is printed as a whole.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

impl Table {
    /// A table with these columns.
    pub(crate) fn new(header: &[&str]) -> Self {
        Self {
            rows: vec![header.iter().map(|&h| h.to_owned()).collect()],
        }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// A table of distributions of times.
    pub(crate) fn of_times(title: &str) -> Self {
        let mut header = vec![title.to_owned(), "n".to_owned(), "mean".to_owned()];
        header.extend(QUANTILES.map(|(name, _)| name.to_owned()));
        header.push("max".to_owned());
        Self { rows: vec![header] }
    }

    /// Adds a row for a distribution; quantiles that rest on too few samples are marked with `~`.
    pub(crate) fn times(&mut self, name: &str, distribution: &Distribution) {
        let mut row = vec![name.to_owned(), grouped(distribution.count())];
        if distribution.count() > 0 {
            let moments = &distribution.moments;
            row.push(Nanos::new(moments.mean().round() as u64).to_string());
            for (_, p) in QUANTILES {
                let value = distribution.histogram.quantile(p).unwrap_or_default();
                let flag = if distribution.histogram.supports_quantile(p) {
                    ""
                } else {
                    "~"
                };
                row.push(format!("{flag}{value}"));
            }
            row.push(moments.max().unwrap_or_default().to_string());
        }
        self.rows.push(row);
    }

    /// The text of the table, each line indented by two blanks.
    pub(crate) fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
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
            text += "  ~ rests on too few requests to be relied on\n";
        }
        text
    }
}

/// A number with so many digits that mean something, and all before the point.
pub(crate) fn significant(value: f64, digits: i32) -> String {
    let before = value.abs().max(1e-12).log10().floor() as i32 + 1;
    format!("{value:.*}", (digits - before).clamp(0, 12) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_mean_something() {
        for (value, text) in [
            (64.47, "64.5"),
            (36_841.2, "36841"),
            (0.022, "0.0220"),
            (0.0, "0.000000000000"),
        ] {
            assert_eq!(significant(value, 3), text);
        }
    }

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
}
