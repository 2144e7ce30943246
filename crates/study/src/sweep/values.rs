//! Parameters and their values: what they set, and what they are called.

use iosonar_units::{Kind, Spacing, Values, magnitude, one_line, spread};
use toml::{Table, Value};

/// Keys with values in TOML, such as (`array.disks`, `8`).
pub type Settings = Vec<(String, String)>;

/// The value of a parameter, if there is such a one.
pub fn value_of<'a>(parameters: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = parameters.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str())
}

/// Names and their values as a JSON object.
pub(crate) fn object_of(pairs: &[(String, String)]) -> serde_json::Value {
    let pairs = pairs
        .iter()
        .map(|(name, value)| (name.clone(), value.clone().into()));
    serde_json::Value::Object(pairs.collect())
}

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// What it is called in tables.
    pub name: String,
    /// What it sets.
    pub set: Settings,
}

/// Parameters that vary together, with their values.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    /// What the parameters are called.
    pub(super) names: Vec<String>,
    /// The values, row by row, one for each parameter.
    pub(super) rows: Vec<Vec<Level>>,
}

/// The keys of nested tables with dots, in their order; a table that says how values are spread is one itself.
pub(super) fn flat(table: &Table) -> Settings {
    let mut settings = Vec::new();
    leaves(table, "", &|_| false, &mut |key, value| {
        settings.push((key, value.to_string()));
    });
    settings
}

/// Goes through all that is not a table, or a leaf of another kind.
pub(super) fn leaves<'a>(
    table: &'a Table,
    prefix: &str,
    is_leaf: &dyn Fn(&Table) -> bool,
    found: &mut dyn FnMut(String, &'a Value),
) {
    for (key, value) in table {
        let key = if prefix.is_empty() {
            key.clone()
        } else {
            format!("{prefix}.{key}")
        };
        match value {
            Value::Table(inner) if !is_leaf(inner) => leaves(inner, &key, is_leaf, found),
            _ => found(key, value),
        }
    }
}

/// Whether a table says how values are spread, rather than which keys there are.
pub(super) fn is_spread(table: &Table) -> bool {
    table.contains_key("from") && table.contains_key("to")
}

/// The values that `key = ...` of a table of parameters lists.
///
/// # Errors
/// What is wrong with it.
pub(super) fn levels(key: &str, value: &Value) -> Result<Vec<Level>, String> {
    let levels = match value {
        Value::Array(values) => {
            let mut levels = Vec::with_capacity(values.len());
            for value in values {
                match value {
                    Value::String(text) if text.contains("..") => {
                        levels.extend(levels_of_text(key, text)?);
                    }
                    value => levels.push(level(key, value)?),
                }
            }
            levels
        }
        Value::String(text) if text.contains(',') || text.contains("..") => {
            levels_of_text(key, text)?
        }
        Value::Table(spread) if is_spread(spread) => spread_values(spread)?
            .iter()
            .map(|value| level(key, value))
            .collect::<Result<Vec<_>, _>>()?,
        other => {
            return Err(format!(
                "is {other}, expected a list of values, a range such as \"4..12\", \"4..64 step 4\" or \"1..1000 log 7\", \
                 {{ from = 1, to = 10, step = 3 }}, or {{ from = 1, to = 1000, steps = 4, scale = \"log\" }}"
            ));
        }
    };
    if levels.is_empty() {
        return Err("has no values".to_owned());
    }
    Ok(levels)
}

/// The values of a text such as `4..12` or `4KiB..64KiB log 5`.
fn levels_of_text(key: &str, text: &str) -> Result<Vec<Level>, String> {
    let values: Values = text.parse()?;
    values
        .iter()
        .map(|text| level(key, &value_of_text(text)))
        .collect()
}

/// A number, or else a text.
fn value_of_text(text: &str) -> Value {
    let number = || text.parse::<f64>().ok().filter(|x| x.is_finite());
    match (text.parse::<i64>(), number()) {
        (Ok(whole), _) => Value::Integer(whole),
        (_, Some(number)) => Value::Float(number),
        _ => Value::String(text.to_owned()),
    }
}

/// A value, which sets its key; or a name with all that it sets.
pub(super) fn level(key: &str, value: &Value) -> Result<Level, String> {
    if let Value::Table(table) = value
        && let (Some(Value::String(name)), Some(Value::Table(set))) =
            (table.get("name"), table.get("set"))
    {
        if table.len() > 2 {
            return Err(format!(
                "is {value}, expected a table with only 'name' and 'set'"
            ));
        }
        return Ok(Level {
            name: one_line(name),
            set: flat(set),
        });
    }
    Ok(Level {
        name: match value {
            Value::String(text) => one_line(text),
            other => other.to_string(),
        },
        set: vec![(key.to_owned(), value.to_string())],
    })
}

/// More values of a parameter are a mistake.
const MOST_VALUES: f64 = 1e6;

/// `{ from, to, step }` or `{ from, to, steps, scale }`, the ends included.
fn spread_values(table: &Table) -> Result<Vec<Value>, String> {
    for key in table.keys() {
        if !["from", "to", "step", "steps", "scale"].contains(&key.as_str()) {
            return Err(format!(
                "has an unknown '{key}', expected from, to, step or steps, scale"
            ));
        }
    }
    let log = match table.get("scale").map(|scale| scale.as_str()) {
        None | Some(Some("linear")) => false,
        Some(Some("log")) => true,
        _ => return Err("has an invalid 'scale', expected \"linear\" or \"log\"".to_owned()),
    };
    let (Some(from), Some(to)) = (number(table, "from")?, number(table, "to")?) else {
        return Err("needs both 'from' and 'to'".to_owned());
    };
    // Whole numbers stay exactly what they are.
    let integer = |key: &str| table.get(key).and_then(Value::as_integer);
    if let (Some(from), Some(to), Some(step), false) =
        (integer("from"), integer("to"), integer("step"), log)
        && !table.contains_key("steps")
        && step != 0
    {
        return whole_steps(from.into(), to.into(), step.into());
    }
    let numbers = match (number(table, "step")?, number(table, "steps")?) {
        (Some(step), None) if !log => spread(from, to, Spacing::Step(step))?,
        (None, Some(steps)) if log => spread(from, to, Spacing::Log(steps))?,
        (None, Some(steps)) => spread(from, to, Spacing::Even(steps))?,
        _ => {
            return Err(
                "needs either 'step' or 'steps' (with scale = \"log\", only 'steps')".to_owned(),
            );
        }
    };
    let whole = |key: &str| matches!(table.get(key), Some(Value::Integer(_)) | None);
    let is_whole = whole("from") && whole("to") && whole("step");
    let rounded =
        is_whole && (table.contains_key("step") || numbers.iter().all(|x| x.fract() == 0.0));
    let value = |x: f64| {
        if is_whole && log {
            Value::Integer(x.round() as i64)
        } else if rounded {
            Value::Integer(x as i64)
        } else {
            Value::Float(x)
        }
    };
    let mut values: Vec<Value> = numbers.into_iter().map(value).collect();
    values.dedup();
    Ok(values)
}

/// The finite number that a key of a spread has, if it has one.
fn number(table: &Table, key: &str) -> Result<Option<f64>, String> {
    let value = match table.get(key) {
        None => return Ok(None),
        Some(Value::Integer(i)) => *i as f64,
        Some(Value::Float(x)) => *x,
        Some(other) => return Err(format!("has '{key}' = {other}, expected a number")),
    };
    if value.is_finite() {
        Ok(Some(value))
    } else {
        Err(format!("has '{key}' = {value}, expected a finite number"))
    }
}

/// Whole numbers by a whole step, which is not 0.
fn whole_steps(from: i128, to: i128, step: i128) -> Result<Vec<Value>, String> {
    let steps = (to - from) / step;
    if (to - from).signum() * step.signum() < 0 || steps as f64 > MOST_VALUES {
        return Err(format!(
            "has 'step' = {step}, which does not get from {from} to {to} in at most {MOST_VALUES} steps"
        ));
    }
    Ok((0..=steps)
        .map(|i| Value::Integer((from + i * step) as i64))
        .collect())
}

/// How the values of a parameter are written in paths, so that their order is that of the names: numbers get
/// zeros in front.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Padding {
    /// Digits before the point; 0 where they are no numbers.
    whole: usize,
    /// Digits behind it.
    fraction: usize,
    /// The unit that all of them are counted in where they are sizes, and how many bytes it has.
    size_unit: Option<(u64, &'static str)>,
}

impl Padding {
    /// For all these values of a parameter.
    pub(super) fn of<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        /// Longer ones are hardly meant to be read.
        const LONGEST: usize = 18;
        let mut padding = Self::default();
        let names: Vec<&str> = names.collect();
        padding.size_unit = size_unit(&names);
        for name in names {
            let Some(digits) = padding.digits(name) else {
                return Self::default();
            };
            let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
            padding.whole = padding.whole.max(whole.len());
            padding.fraction = padding.fraction.max(fraction.len());
        }
        if padding.whole + padding.fraction > LONGEST {
            return Self::default();
        }
        padding
    }

    /// The decimal digits of a value.
    fn digits(self, name: &str) -> Option<String> {
        match self.size_unit {
            Some((unit, _)) => bytes(name).map(|bytes| (bytes / unit).to_string()),
            None => plain(name),
        }
    }

    /// A value as a part of a path.
    pub(super) fn pad(self, name: &str) -> String {
        if let (true, Some(digits)) = (self.whole > 0, self.digits(name)) {
            let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
            let mut text = format!("{whole:0>width$}", width = self.whole);
            if self.fraction > 0 {
                text += &format!(".{fraction:0<width$}", width = self.fraction);
            }
            return text + self.size_unit.map_or("", |(_, unit)| unit);
        }
        // Of a file its name says enough.
        let last = name
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or(name);
        let allowed = |c: char| c.is_alphanumeric() || "._+-,%@".contains(c);
        let part: String = last
            .chars()
            .map(|c| if allowed(c) { c } else { '_' })
            .take(100)
            .collect();
        if part.is_empty() {
            "_".to_owned()
        } else {
            part
        }
    }
}

/// The largest unit in which all these sizes are whole numbers; `None` if they are no sizes.
fn size_unit(names: &[&str]) -> Option<(u64, &'static str)> {
    let sizes: Vec<u64> = names
        .iter()
        .map(|name| bytes(name))
        .collect::<Option<_>>()?;
    let units = [
        (1 << 40, "TiB"),
        (1 << 30, "GiB"),
        (1 << 20, "MiB"),
        (1 << 10, "KiB"),
        (1, "B"),
    ];
    let whole = |unit: &(u64, &str)| sizes.iter().all(|size| size % unit.0 == 0);
    units
        .into_iter()
        .find(|unit| !sizes.is_empty() && whole(unit))
}

/// The number of bytes of a size with a unit.
fn bytes(name: &str) -> Option<u64> {
    let (bytes, kind) = magnitude(name)?;
    (kind == Kind::Bytes && bytes >= 0.0).then_some(bytes as u64)
}

/// The decimal digits of a number from zero on.
fn plain(name: &str) -> Option<String> {
    if let Ok(whole) = name.parse::<u64>() {
        return Some(whole.to_string());
    }
    let value: f64 = name.parse().ok()?;
    (value >= 0.0 && value.is_finite()).then(|| format!("{value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Result<Vec<String>, String> {
        let table: Table = toml::from_str(text).unwrap();
        let levels = levels("x", &table["x"])?;
        Ok(levels.into_iter().map(|level| level.name).collect())
    }

    #[test]
    fn values_are_listed_or_spread() {
        for (text, expected) in [
            ("x = [4, 'raid5', 2.5]", "4 raid5 2.5"),
            ("x = { from = 1, to = 10, step = 3 }", "1 4 7 10"),
            ("x = { from = 0.1, to = 0.3, step = 0.1 }", "0.1 0.2 0.3"),
            ("x = { from = 3, to = 1, step = -1 }", "3 2 1"),
            (
                "x = { from = 1, to = 1000, steps = 4, scale = 'log' }",
                "1 10 100 1000",
            ),
            ("x = { from = 1, to = 4, steps = 3 }", "1.0 2.5 4.0"),
            ("x = '4..7'", "4 5 6 7"),
            ("x = '4KiB..64KiB log 3'", "4KiB 16KiB 64KiB"),
            ("x = ['2..4', 8, 'all']", "2 3 4 8 all"),
            ("x = '0.1..0.3 step 0.1, 1'", "0.1 0.2 0.3 1"),
            (
                "x = { from = 1, to = 8, steps = 7, scale = 'log' }",
                "1 2 3 4 6 8",
            ),
        ] {
            assert_eq!(names(text).unwrap().join(" "), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_list_of_values_is_refused() {
        for (text, complaint) in [
            ("x = 3", "expected a list"),
            ("x = []", "has no values"),
            ("x = { from = 1, to = 3 }", "either 'step' or 'steps'"),
            ("x = { from = 1, to = 3, step = 0 }", "does not get from"),
            ("x = { from = 1, to = 3, step = -1 }", "does not get from"),
            (
                "x = { from = 0, to = 3, steps = 3, scale = 'log' }",
                "greater than 0",
            ),
            (
                "x = { from = 1, to = 3, steps = 1 }",
                "whole number from 2 to",
            ),
            ("x = { from = 'a', to = 3, steps = 2 }", "expected a number"),
            ("x = { from = 1, to = inf, steps = 2 }", "finite"),
            ("x = { from = 1, to = 2, stepz = 2 }", "unknown 'stepz'"),
        ] {
            let error = names(text).unwrap_err();
            assert!(error.contains(complaint), "{text}: {error}");
        }
    }

    #[test]
    fn names_in_paths_sort_as_their_numbers() {
        let numbers = ["8", "128", "0.5", "1e-2"];
        let padding = Padding::of(numbers.into_iter());
        let padded: Vec<_> = numbers.iter().map(|n| padding.pad(n)).collect();
        assert_eq!(padded, ["008.00", "128.00", "000.50", "000.01"]);
        let sizes = ["64KiB", "8KiB", "1MiB"];
        let padding = Padding::of(sizes.into_iter());
        let padded: Vec<_> = sizes.iter().map(|n| padding.pad(n)).collect();
        assert_eq!(padded, ["0064KiB", "0008KiB", "1024KiB"]);
        let padding = Padding::of(["4", "all"].into_iter());
        assert_eq!(padding.pad("4"), "4");
        assert_eq!(padding.pad("traces/my load.gz"), "my_load.gz");
    }

    #[test]
    fn a_named_value_sets_what_it_says() {
        let table: Table = toml::from_str(
            "x = [{ name = 'mysql', set = { load.trace = 'a.gz', array.disks = 4 } }]",
        )
        .unwrap();
        let levels = levels("x", &table["x"]).unwrap();
        assert_eq!(levels[0].name, "mysql");
        let set = |k: &str, v: &str| (k.to_owned(), v.to_owned());
        assert_eq!(
            levels[0].set,
            [set("load.trace", "\"a.gz\""), set("array.disks", "4")]
        );
    }
}
