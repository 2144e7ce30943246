//! Points and distributions as CSV, for data frames.

use std::fmt::Write;

use iosonar_units::{Kind, csv_field, magnitude};

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

/// Fields of a row, empty where a number is not known.
struct Row<'a>(&'a mut String);

impl Row<'_> {
    fn number(&mut self, value: f64) {
        self.0.push(',');
        if value.is_finite() {
            let _ = write!(self.0, "{value}");
        }
    }

    fn numbers(&mut self, values: impl IntoIterator<Item = f64>) {
        values.into_iter().for_each(|value| self.number(value));
    }
}

/// Columns of the response times of some requests, each with this in front; the usual three of all requests stand apart.
fn times_header(prefix: &str) -> String {
    let mut text = format!(",{prefix}requests");
    if !prefix.is_empty() {
        let _ = write!(text, ",{prefix}mean_ms,{prefix}mean_stderr_ms");
    }
    for (_, name) in USUAL {
        if !prefix.is_empty() {
            let _ = write!(text, ",{prefix}{name}_ms");
        }
        let _ = write!(text, ",{prefix}{name}_low_95_ms,{prefix}{name}_high_95_ms");
    }
    text
}

fn times_fields(row: &mut Row<'_>, times: &Times, is_part: bool) {
    // What is not there has no mean and no quantile.
    let known = |value: f64| if times.requests > 0 { value } else { f64::NAN };
    row.number(times.requests as f64);
    if is_part {
        row.numbers([times.mean_ms.mean, times.mean_ms.stderr].map(known));
    }
    for quantile in times.quantiles.iter().take(USUAL.len()) {
        row.numbers(is_part.then(|| known(quantile.ms)));
        row.numbers([quantile.ms_95.0, quantile.ms_95.1]);
    }
}

impl Varied {
    /// The points as CSV, a row each.
    ///
    /// Columns: `scenario`; each key as it was written, and where its values have units another with its numbers (`KEY_bytes`,
    /// `KEY_s`, `KEY_share`); rates and response times of all requests; `no_result`, why it is missing; the ends of the 95 % intervals
    /// of quantiles; the same of reads and of writes. What is not known is an empty field.
    pub fn csv(&self) -> String {
        let has_theory = self.has_theory();
        // Columns that were added later stand behind, for those who count them.
        let mut columns = String::new();
        for prefix in ["", "read_", "write_"] {
            columns += &times_header(prefix);
        }
        columns += if has_theory { ",theory_mean_ms" } else { "" };
        for target in &self.targets {
            let _ = write!(columns, ",{}", csv_field(&target.to_string()));
        }
        let mut text = format!("{}{FIRST},no_result{columns}\n", self.key_header());
        for point in &self.points {
            self.key_fields(&mut text, point);
            match &point.result {
                Ok(found) => {
                    let mut row = Row(&mut text);
                    row.numbers(first(found));
                    row.0.push(',');
                    times_fields(&mut row, &found.all, false);
                    times_fields(&mut row, &found.reads, true);
                    times_fields(&mut row, &found.writes, true);
                    if has_theory {
                        row.number(found.theory_mean_ms.unwrap_or(f64::NAN));
                    }
                    for attained in &found.targets {
                        let verdict = attained.map_or("", |of| of.verdict.name());
                        let _ = write!(text, ",{verdict}");
                    }
                }
                Err(why) => {
                    let why = why.to_string();
                    let fields = |of: &str| ",".repeat(of.matches(',').count());
                    let _ = write!(
                        text,
                        "{},{}{}",
                        fields(FIRST),
                        csv_field(&why),
                        fields(&columns)
                    );
                }
            }
            text.push('\n');
        }
        text
    }

    /// Whether theory was asked for a mean.
    fn has_theory(&self) -> bool {
        let mut found = self
            .points
            .iter()
            .filter_map(|point| point.result.as_ref().ok());
        found.any(|found| found.theory_mean_ms.is_some())
    }

    /// The distribution functions as CSV: a row for each time at which one is drawn, the share of requests that take at most
    /// this long, and the ends of its 95 % confidence interval, empty where that is not known.
    pub fn distributions_csv(&self) -> String {
        let mut text = self.key_header();
        text += ",response_time_s,share,share_low_95,share_high_95\n";
        for point in &self.points {
            let found = point.result.as_ref().ok();
            for spot in found.iter().flat_map(|found| &found.distribution) {
                self.key_fields(&mut text, point);
                Row(&mut text).numbers([spot.x, spot.y, spot.y_95.0, spot.y_95.1]);
                text.push('\n');
            }
        }
        text
    }

    fn key_header(&self) -> String {
        let mut text = "scenario".to_owned();
        for key in &self.keys {
            let _ = write!(text, ",{}", csv_field(&key.0));
            if let Some((ending, _)) = number_column(key) {
                let _ = write!(text, ",{}", csv_field(&format!("{}{ending}", key.0)));
            }
        }
        text
    }

    fn key_fields(&self, text: &mut String, point: &Point) {
        text.push_str(&csv_field(&point.name));
        for (key, value) in self.keys.iter().zip(&point.values) {
            let _ = write!(text, ",{}", csv_field(value));
            if let Some((_, scale)) = number_column(key) {
                Row(text).number(magnitude(value).map_or(f64::NAN, |(x, _)| x * scale));
            }
        }
    }
}

/// Rates, response times of all requests, and what a drive of flash programmed.
const FIRST: &str = ",throughput_per_s,megabytes_per_s,mean_ms,mean_stderr_ms,p50_ms,p99_ms,p999_ms,max_ms,write_amplification";

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
