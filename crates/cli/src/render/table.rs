//! Tables for people: aligned columns, numbers to the right.

pub(crate) use iosonar_plot::significant;
use iosonar_report::grouped;
use iosonar_stats::Distribution;
use iosonar_units::Nanos;

use super::layout::in_ascii;
use super::screen::screen;
use super::style::width;

/// What `~` means.
pub(crate) const WEAK: &str = "  ~ based on too few requests to be reliable\n";

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
    /// The column before which the table is split if it is too wide; 0: where it is full.
    split: usize,
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
            split: 0,
        }
    }

    /// Splits the table before this column if it is too wide.
    pub(crate) fn split_before(self, split: usize) -> Self {
        Self { split, ..self }
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
            split: 0,
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

    /// The text of the table for standard output: lines indented by two blanks, as wide as the terminal at most; in
    /// sentences where columns are not wanted.
    pub(crate) fn text(&self) -> String {
        let out = screen().out;
        let rows = self.written(out.is_ascii);
        let mut text = match (out.is_plain, out.columns) {
            (true, _) => sentences(&rows),
            (false, Some(columns)) => fitted(rows, columns, self.split),
            (false, None) => aligned(&rows),
        };
        let is_weak = |cell: &Cell| matches!(cell, Cell::Time { before: "~", .. });
        if self.rows.iter().flatten().any(is_weak) {
            text += WEAK;
        }
        text
    }

    /// The cells as they are shown; the header is the first row.
    fn written(&self, is_ascii: bool) -> Vec<Vec<String>> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let format = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            TimeFormat::of(cells.filter_map(|cell| match cell {
                Cell::Time { time, .. } => Some(*time),
                Cell::Text(_) => None,
            }))
        };
        let formats: Vec<TimeFormat> = (0..columns).map(format).collect();
        let written = |(column, cell): (usize, &Cell)| {
            let text = match cell {
                // A name from a file begins no line.
                Cell::Text(text) => text.replace('\n', "\u{fffd}"),
                Cell::Time {
                    before,
                    time,
                    after,
                } => format!("{before}{}{after}", formats[column].text(*time)),
            };
            // Before widths are measured: some signs become longer.
            match is_ascii {
                true => in_ascii(&text),
                false => text,
            }
        };
        let row = |row: &Vec<Cell>| row.iter().enumerate().map(written).collect();
        self.rows.iter().map(row).collect()
    }
}

/// Blanks before a table's lines, and between its columns.
const GAP: usize = 2;

fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let of = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| width(cell)).max().unwrap_or(0)
    };
    (0..columns).map(of).collect()
}

fn aligned(rows: &[Vec<String>]) -> String {
    let widths = widths(rows);
    let mut text = String::new();
    for row in rows {
        let mut line = String::from("  ");
        for (column, cell) in row.iter().enumerate() {
            let blanks = " ".repeat(widths[column] - width(cell));
            if column == 0 {
                line += &format!("{cell}{blanks}");
            } else {
                line += &format!("  {blanks}{cell}");
            }
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// In at most `columns` columns: headings are broken first, then the table, before the column `split` or where it is full;
/// each part repeats the first column.
fn fitted(rows: Vec<Vec<String>>, columns: usize, split: usize) -> String {
    let is_wide =
        |rows: &[Vec<String>]| widths(rows).iter().map(|w| w + GAP).sum::<usize>() > columns;
    if !is_wide(&rows) {
        return aligned(&rows);
    }
    let rows = with_broken_header(rows);
    let widths = widths(&rows);
    let Some((first, others)) = widths.split_first() else {
        return String::new();
    };
    let mut text = String::new();
    let mut from = 0;
    while from < others.len() {
        let mut room = columns.saturating_sub(first + GAP);
        let fits = others[from..].iter().take_while(|&&width| {
            let fits = width + GAP <= room;
            room = room.saturating_sub(width + GAP);
            fits
        });
        // A column that is too wide by itself stands alone.
        let mut until = from + fits.count().max(1);
        // The split is counted with the first column.
        if (from + 1..until).contains(&(split.saturating_sub(1))) {
            until = split - 1;
        }
        let part = |row: &Vec<String>| {
            let cells = row.iter().skip(1 + from).take(until - from);
            row.first().into_iter().chain(cells).cloned().collect()
        };
        let part = rows.iter().map(part);
        // Lines of a heading that only columns of other parts need.
        let part = part.skip_while(|row: &Vec<String>| row.iter().all(String::is_empty));
        let part: Vec<Vec<String>> = part.collect();
        if from > 0 {
            text.push('\n');
        }
        text += &aligned(&part);
        from = until;
    }
    text
}

/// With headings in several lines where they are wider than what stands below them.
fn with_broken_header(rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let Some((header, body)) = rows.split_first() else {
        return rows;
    };
    let below = widths(body);
    let heading = |(column, heading): (usize, &String)| {
        let below = below.get(column).copied().unwrap_or(0);
        let longest = heading.split(' ').map(width).max().unwrap_or(0);
        let room = below.max(longest);
        let mut lines = vec![String::new()];
        for word in heading.split(' ') {
            let line = lines.last_mut().expect("begins with one");
            if line.is_empty() {
                line.push_str(word);
            } else if width(line) + 1 + width(word) <= room {
                *line = format!("{line} {word}");
            } else {
                lines.push(word.to_owned());
            }
        }
        lines
    };
    let headings: Vec<Vec<String>> = header.iter().enumerate().map(heading).collect();
    let height = headings.iter().map(Vec::len).max().unwrap_or(1);
    let line = |at: usize| {
        let cell = |lines: &Vec<String>| {
            let line = (at + lines.len()).checked_sub(height);
            line.map_or_else(String::new, |line| lines[line].clone())
        };
        headings.iter().map(cell).collect()
    };
    let header: Vec<Vec<String>> = (0..height).map(line).collect();
    header.into_iter().chain(body.iter().cloned()).collect()
}

/// A line for each row that names what its values are.
fn sentences(rows: &[Vec<String>]) -> String {
    let Some((header, body)) = rows.split_first() else {
        return String::new();
    };
    let mut text = String::new();
    for row in body {
        let values = row.iter().zip(header).skip(1);
        let values = values.filter(|(value, _)| !value.is_empty());
        let values: Vec<String> = values
            .map(|(value, name)| format!("{name} {value}").trim().to_owned())
            .collect();
        let title = [header.first(), row.first()].into_iter().flatten();
        let title = title
            .map(|text| text.trim())
            .filter(|text| !text.is_empty());
        let title: Vec<&str> = title.collect();
        text += &match title.is_empty() {
            true => format!("{}\n", values.join(", ")),
            false => format!("{}: {}\n", title.join(" "), values.join(", ")),
        };
    }
    text
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

    fn wide() -> Vec<Vec<String>> {
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        vec![
            row([
                "drive",
                "requests each second",
                "write amplification",
                "p99",
            ]),
            row(["a", "1,240", "1.02", "5.1 ms"]),
            row(["b", "900", "1.5", "17.0 ms"]),
        ]
    }

    #[test]
    fn headings_are_broken_before_a_table_is() {
        assert_eq!(
            fitted(wide(), 42, 0),
            "         requests                     \n             each          write         \n  drive    second  amplification      p99\n  a         1,240           1.02   5.1 ms\n  b           900            1.5  17.0 ms\n"
                .lines()
                .map(|line| format!("{}\n", line.trim_end()))
                .collect::<String>()
        );
    }

    #[test]
    fn a_table_fits_any_terminal_and_loses_no_cell() {
        for columns in [16, 24, 30, 42, 80] {
            let text = fitted(wide(), columns, 0);
            for cell in ["1,240", "1.02", "5.1 ms", "900", "1.5", "17.0 ms"] {
                assert!(text.contains(cell), "{columns}: {text}");
            }
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(columns.max(22)), "{columns}: {text}");
        }
        // The first column says in each part what the rows are, and no part begins with lines that others need.
        let parts = fitted(wide(), 30, 0);
        assert_eq!(parts.matches("drive").count(), 3);
        assert_eq!(parts.matches("\n\n").count(), 2, "{parts}");
    }

    #[test]
    fn a_table_that_is_too_wide_is_split_where_it_says() {
        let text = fitted(wide(), 36, 2);
        let (one, other) = text.split_once("\n\n").expect("two parts");
        assert!(one.contains("second") && !one.contains("p99"), "{text}");
        assert!(
            other.contains("amplification") && other.contains("p99"),
            "{text}"
        );
        assert_eq!(fitted(wide(), 80, 2).matches("drive").count(), 1);
    }

    #[test]
    fn a_row_can_be_read_aloud() {
        assert_eq!(
            sentences(&wide()),
            "drive a: requests each second 1,240, write amplification 1.02, p99 5.1 ms\n\
             drive b: requests each second 900, write amplification 1.5, p99 17.0 ms\n"
        );
    }
}
