//! The tables of a study, and the same as JSON.

use iosonar_scenario::NotSteady;
use iosonar_stats::Output;
use iosonar_units::{Column, ColumnValues, Kind, Table, magnitude};
use serde_json::{Map, Value, json};

use super::{PointRow, RunRow, Study, located};
use crate::sweep::values::{object_of, value_of};

impl Study {
    /// All runs as a table, a row each.
    pub fn runs_table(&self) -> Table {
        let (parameters, metrics) = (self.parameters(), self.metrics());
        let columns = [Column::texts("path")].into_iter();
        let columns = columns
            .chain(parameters.iter().map(|name| Column::written(*name)))
            .chain(["repetition", "seed"].map(Column::counts))
            .chain(metrics.iter().map(|name| Column::numbers(*name)))
            .chain(["not_steady", "failed"].map(Column::texts));
        let mut table = Table::new(columns).with("table", "runs");
        for run in &self.runs {
            let mut row = table.row();
            row.put(on_one_line(&run.path.display().to_string()));
            row.put_all(parameters.iter().map(|name| on_one_line(run.value(name))));
            row.put(run.repetition).put(run.seed);
            let mut values = vec![f64::NAN; metrics.len()];
            for (at, column) in located(&metrics, &run.metrics) {
                values[at] = column.value;
            }
            row.put_all(values);
            row.put(run.not_steady.map(NotSteady::name));
            row.put(run.failed.as_deref().map(on_one_line));
        }
        table
    }

    /// All runs as CSV, a row each.
    pub fn runs_csv(&self) -> String {
        self.runs_table().csv()
    }

    /// The same table with more columns: of a parameter that is a size, a time or a share its number, as `NAME_bytes`, `NAME_s`
    /// or `NAME_share`.
    #[must_use]
    pub fn with_numbers(&self, mut table: Table) -> Table {
        for name in self.parameters() {
            let (ending, scale) = match self.kind_of(name) {
                None | Some(Kind::Number) => continue,
                Some(Kind::Bytes) => ("bytes", 1.0),
                Some(Kind::Time) => ("s", 1.0),
                Some(Kind::Percent) => ("share", 0.01),
            };
            let of = table.columns().iter().find(|column| column.name() == name);
            let Some(ColumnValues::Written(written)) = of.map(Column::values) else {
                continue;
            };
            let number = |value: &String| magnitude(value).map_or(f64::NAN, |(x, _)| x * scale);
            let mut numbers = Table::new([Column::numbers(format!("{name}_{ending}"))]);
            for number in written.iter().map(number) {
                numbers.row().put(number);
            }
            table.push_column(numbers.columns()[0].clone());
        }
        table
    }

    /// All runs as JSON lines, an object each with the same names: numbers are numbers, and what is not known is null. A
    /// parameter that is a size, a time or a share has its number beside it, as `NAME_bytes`, `NAME_s` or `NAME_percent`.
    pub fn runs_json_lines(&self) -> String {
        let (parameters, metrics) = (self.parameters(), self.metrics());
        let kinds: Vec<_> = parameters.iter().map(|name| self.kind_of(name)).collect();
        let mut text = String::new();
        for run in &self.runs {
            let mut line = Map::new();
            line.insert("path".to_owned(), json!(run.path));
            for (name, kind) in parameters.iter().zip(&kinds) {
                let value = value_of(&run.parameters, name);
                let number = value.and_then(magnitude).map(|(number, _)| number);
                let typed = match kind {
                    Some(Kind::Number) => number.map(number_of).unwrap_or_default(),
                    _ => json!(value),
                };
                line.insert((*name).to_owned(), typed);
                let unit = match kind {
                    None | Some(Kind::Number) => continue,
                    Some(Kind::Bytes) => "bytes",
                    Some(Kind::Time) => "s",
                    Some(Kind::Percent) => "percent",
                };
                let number = number.map(number_of).unwrap_or_default();
                line.insert(format!("{name}_{unit}"), number);
            }
            line.insert("repetition".to_owned(), json!(run.repetition));
            line.insert("seed".to_owned(), json!(run.seed));
            let mut values = vec![f64::NAN; metrics.len()];
            for (at, column) in located(&metrics, &run.metrics) {
                values[at] = column.value;
            }
            // Null unless it is a number.
            let values = metrics.iter().zip(values);
            line.extend(values.map(|(name, value)| ((*name).to_owned(), json!(value))));
            line.insert(
                "not_steady".to_owned(),
                json!(run.not_steady.map(NotSteady::name)),
            );
            line.insert("failed".to_owned(), json!(run.failed));
            text += &Value::Object(line).to_string();
            text.push('\n');
        }
        text
    }

    /// What kind of numbers a parameter has; `None` if it has words, or of several kinds.
    fn kind_of(&self, parameter: &str) -> Option<Kind> {
        let values = self.runs.iter();
        let mut values = values.filter_map(|run| value_of(&run.parameters, parameter));
        let kind_of = |value| magnitude(value).map(|(_, kind)| kind);
        let first = kind_of(values.next()?)?;
        values
            .all(|value| kind_of(value) == Some(first))
            .then_some(first)
    }

    /// All points as a table, a row each: of every metric the mean and half the width of its 95 % interval.
    pub fn points_table(&self) -> Table {
        let (parameters, metrics) = (self.parameters(), self.metrics());
        let columns = parameters.iter().map(|name| Column::written(*name));
        let mut columns: Vec<Column> = columns.collect();
        columns.push(Column::counts("repetitions"));
        columns.push(Column::texts("not_steady"));
        for metric in &metrics {
            columns.push(Column::numbers(*metric));
            columns.push(Column::numbers(format!("{metric}_ci95")));
        }
        let mut table = Table::new(columns).with("table", "points");
        for point in self.points() {
            let value =
                |name: &&str| on_one_line(value_of(&point.parameters, name).unwrap_or_default());
            let mut row = table.row();
            row.put_all(parameters.iter().map(value)).put(point.n);
            row.put((!point.not_steady.is_empty()).then(|| point.why_not_steady().join(" ")));
            for (mean, half_width) in &point.metrics {
                row.put_all([*mean, *half_width]);
            }
        }
        table
    }

    /// All points as CSV, a row each.
    pub fn points_csv(&self) -> String {
        self.points_table().csv()
    }

    /// All points and runs as JSON.
    pub fn json(&self) -> Value {
        let metrics = self.metrics();
        let finite = |x: f64| x.is_finite().then_some(x);
        let point = |point: &PointRow| {
            let figures = metrics
                .iter()
                .zip(&point.metrics)
                .filter(|(_, (mean, _))| mean.is_finite());
            let figures: Map<String, Value> = figures
                .map(|(name, (mean, half))| {
                    (
                        (*name).to_owned(),
                        json!({ "mean": mean, "half_width_95": finite(*half) }),
                    )
                })
                .collect();
            json!({
                "parameters": object_of(&point.parameters), "path": point.path,
                "repetitions": point.n, "not_steady": point.why_not_steady(), "metrics": figures,
            })
        };
        let run = |run: &RunRow| {
            let figures: Map<String, Value> = run
                .metrics
                .iter()
                .map(|column| (column.name.clone(), json!(column.value)))
                .collect();
            json!({
                "path": run.path, "parameters": object_of(&run.parameters), "repetition": run.repetition,
                "seed": run.seed, "metrics": figures, "not_steady": run.not_steady, "failed": run.failed,
            })
        };
        json!({
            "iosonar": env!("CARGO_PKG_VERSION"),
            "schema": Output::SCHEMA,
            "command": "sweep",
            "parameters": self.parameters(),
            "metrics": metrics,
            "points": self.points().iter().map(point).collect::<Vec<_>>(),
            "runs": self.runs.iter().map(run).collect::<Vec<_>>(),
        })
    }
}

/// A whole number without a point.
fn number_of(value: f64) -> Value {
    const EXACT: f64 = (1_u64 << 53) as f64;
    match value.fract() == 0.0 && value.abs() < EXACT {
        true => json!(value as i64),
        false => json!(value),
    }
}

/// A text without line breaks.
fn on_one_line(text: &str) -> String {
    text.replace('\n', " ")
}
