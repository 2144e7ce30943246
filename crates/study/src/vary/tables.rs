//! Points and distributions as tables, for data frames.

use iosonar_units::{Column, Kind, Row, Table, magnitude};

use super::found::USUAL;
use super::{Found, Key, Point, Times, Varied};

/// How the numbers of a key with units are called and scaled: `_bytes`, `_s`, `_share`.
fn number_column(key: &Key) -> Option<(&'static str, f64)> {
    let mut kinds = key
        .1
        .iter()
        .map(|value| magnitude(value).map(|(_, kind)| kind));
    let kind = kinds.next()??;
    if !kinds.all(|other| other == Some(kind)) {
        return None;
    }
    match kind {
        Kind::Number => None,
        Kind::Bytes => Some(("_bytes", 1.0)),
        Kind::Time => Some(("_s", 1.0)),
        Kind::Percent => Some(("_share", 0.01)),
    }
}

/// Columns of the response times of some requests, each with this in front; the usual three of all requests stand apart.
fn times_columns(prefix: &str) -> Vec<Column> {
    let mut columns = vec![Column::counts(format!("{prefix}requests"))];
    let mut add = |name: String| columns.push(Column::numbers(name));
    if !prefix.is_empty() {
        add(format!("{prefix}mean_ms"));
        add(format!("{prefix}mean_stderr_ms"));
    }
    for (_, name) in USUAL {
        if !prefix.is_empty() {
            add(format!("{prefix}{name}_ms"));
        }
        add(format!("{prefix}{name}_low_95_ms"));
        add(format!("{prefix}{name}_high_95_ms"));
    }
    columns
}

fn put_times(row: &mut Row<'_>, times: &Times, is_part: bool) {
    // What is not there has no mean and no quantile.
    let known = |value: f64| if times.requests > 0 { value } else { f64::NAN };
    row.put(times.requests);
    if is_part {
        row.put_all([times.mean_ms.mean, times.mean_ms.stderr].map(known));
    }
    for quantile in times.quantiles.iter().take(USUAL.len()) {
        row.put_all(is_part.then(|| known(quantile.ms)));
        row.put_all([quantile.ms_95.0, quantile.ms_95.1]);
    }
}

impl Varied {
    /// The points as a table, a row each.
    ///
    /// Columns: `scenario`; each key as it was written, and where its values have units another with its numbers (`KEY_bytes`,
    /// `KEY_s`, `KEY_share`); rates and response times of all requests; `no_result`, why it is missing; the ends of the 95 % intervals
    /// of quantiles; the same of reads and of writes; the mean by theory and the verdict on each target, if asked for; how many
    /// requests returned an error, and the hash of all completions.
    pub fn table(&self) -> Table {
        let has_theory = self.has_theory();
        let mut columns = self.key_columns();
        columns.extend(FIRST.map(Column::numbers));
        columns.push(Column::texts("no_result"));
        // Columns that were added later stand behind, for those who count them.
        let before = columns.len();
        for prefix in ["", "read_", "write_"] {
            columns.extend(times_columns(prefix));
        }
        columns.extend(has_theory.then(|| Column::numbers("theory_mean_ms")));
        let targets = self.targets.iter();
        columns.extend(targets.map(|target| Column::texts(target.to_string())));
        columns.extend([Column::counts("failed_requests"), Column::texts("hash")]);
        let behind = columns.len() - before;
        let mut table = Table::new(columns).with("table", "points");
        for point in &self.points {
            let mut row = table.row();
            self.put_keys(&mut row, point);
            match &point.result {
                Ok(found) => {
                    row.put_all(first(found)).put_unknown(1);
                    put_times(&mut row, &found.all, false);
                    put_times(&mut row, &found.reads, true);
                    put_times(&mut row, &found.writes, true);
                    if has_theory {
                        row.put(found.theory_mean_ms);
                    }
                    let targets = found.targets.iter();
                    row.put_all(targets.map(|attained| {
                        let attained = attained.as_ref();
                        attained.map(|of| of.verdict.name())
                    }));
                    row.put(found.failed).put(found.hash.to_string());
                }
                Err(why) => {
                    row.put_unknown(FIRST.len());
                    row.put(why.to_string()).put_unknown(behind);
                }
            }
        }
        table
    }

    /// The points as CSV; see [`table`](Self::table). What is not known is an empty field.
    pub fn csv(&self) -> String {
        self.table().csv()
    }

    /// Whether theory was asked for a mean.
    fn has_theory(&self) -> bool {
        let mut found = self
            .points
            .iter()
            .filter_map(|point| point.result.as_ref().ok());
        found.any(|found| found.theory_mean_ms.is_some())
    }

    /// The distribution functions as a table: a row for each time at which one is drawn, the share of requests that take at
    /// most this long, and the ends of its 95 % confidence interval.
    pub fn distribution_table(&self) -> Table {
        let mut columns = self.key_columns();
        let numbers = ["response_time_s", "share", "share_low_95", "share_high_95"];
        columns.extend(numbers.map(Column::numbers));
        let mut table = Table::new(columns).with("table", "distribution");
        for point in &self.points {
            let found = point.result.as_ref().ok();
            for spot in found.iter().flat_map(|found| &found.distribution) {
                let mut row = table.row();
                self.put_keys(&mut row, point);
                row.put_all([spot.x, spot.y, spot.y_95.0, spot.y_95.1]);
            }
        }
        table
    }

    fn key_columns(&self) -> Vec<Column> {
        let mut columns = vec![Column::texts("scenario")];
        for key in &self.keys {
            columns.push(Column::written(&key.0));
            let ending = number_column(key).map(|(ending, _)| ending);
            columns.extend(ending.map(|ending| Column::numbers(format!("{}{ending}", key.0))));
        }
        columns
    }

    fn put_keys(&self, row: &mut Row<'_>, point: &Point) {
        row.put(point.name.as_str());
        for (key, value) in self.keys.iter().zip(&point.values) {
            row.put(value.as_str());
            if let Some((_, scale)) = number_column(key) {
                row.put(magnitude(value).map_or(f64::NAN, |(x, _)| x * scale));
            }
        }
    }
}

/// Rates, response times of all requests, and what a drive of flash programmed.
const FIRST: [&str; 9] = [
    "throughput_per_s",
    "megabytes_per_s",
    "mean_ms",
    "mean_stderr_ms",
    "p50_ms",
    "p99_ms",
    "p999_ms",
    "max_ms",
    "write_amplification",
];

/// The same as numbers.
fn first(found: &Found) -> impl Iterator<Item = f64> {
    let all = &found.all;
    let usual = all.quantiles.iter().take(USUAL.len());
    let rates = [found.throughput_per_s.mean, found.megabytes_per_s.mean];
    rates
        .into_iter()
        .chain([all.mean_ms.mean, all.mean_ms.stderr])
        .chain(usual.map(|known| known.ms))
        .chain([
            all.max.as_millis_f64(),
            found.write_amplification.unwrap_or(f64::NAN),
        ])
}
