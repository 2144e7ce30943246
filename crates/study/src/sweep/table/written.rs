//! The tables of a study as CSV and as JSON.

use iosonar_stats::Output;
use iosonar_units::{Kind, csv_field, magnitude};
use serde_json::{Map, Value, json};

use super::{PointRow, RunRow, Study, located};
use crate::sweep::values::{object_of, value_of};

impl Study {
    /// All runs as CSV, a row each.
    pub fn runs_csv(&self) -> String {
        let (parameters, metrics) = (self.parameters(), self.metrics());
        let mut header = vec!["path"];
        header.extend(&parameters);
        header.extend(["repetition", "seed"]);
        header.extend(&metrics);
        header.push("failed");
        let mut text = row(header.iter().map(|name| (*name).to_owned()));
        for run in &self.runs {
            let mut cells = vec![run.path.display().to_string()];
            cells.extend(parameters.iter().map(|name| run.value(name).to_owned()));
            cells.push(run.repetition.to_string());
            cells.push(run.seed.map_or(String::new(), |seed| seed.to_string()));
            let mut values = vec![f64::NAN; metrics.len()];
            for (at, column) in located(&metrics, &run.metrics) {
                values[at] = column.value;
            }
            cells.extend(values.into_iter().map(cell));
            cells.push(run.failed.clone().unwrap_or_default());
            text += &row(cells.into_iter());
        }
        text
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

    /// All points as CSV, a row each: of every metric the mean and half the width of its 95 % interval.
    pub fn points_csv(&self) -> String {
        let (parameters, metrics) = (self.parameters(), self.metrics());
        let mut header: Vec<String> = parameters.iter().map(|name| (*name).to_owned()).collect();
        header.push("repetitions".to_owned());
        for metric in &metrics {
            header.push((*metric).to_owned());
            header.push(format!("{metric}_ci95"));
        }
        let mut text = row(header.into_iter());
        for point in self.points() {
            let value = |name: &&str| {
                value_of(&point.parameters, name)
                    .unwrap_or_default()
                    .to_owned()
            };
            let mut cells: Vec<String> = parameters.iter().map(value).collect();
            cells.push(point.n.to_string());
            for (mean, half_width) in &point.metrics {
                cells.extend([cell(*mean), cell(*half_width)]);
            }
            text += &row(cells.into_iter());
        }
        text
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
                "repetitions": point.n, "metrics": figures,
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
                "seed": run.seed, "metrics": figures, "failed": run.failed,
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

/// A number that other programs can read; empty if missing.
fn cell(value: f64) -> String {
    if value.is_finite() {
        value.to_string()
    } else {
        String::new()
    }
}

fn row(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells
        .map(|cell| csv_field(&cell.replace('\n', " ")).into_owned())
        .collect();
    cells.join(",") + "\n"
}
