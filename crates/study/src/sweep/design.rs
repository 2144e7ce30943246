//! From what is to be varied to the points: products, zips, cases, conditions, samples.

use iosonar_units::counted;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use iosonar_sim_core::{Seed, Stream};
use toml::{Table, Value};

use super::values::{Axis, Level, is_spread, leaves, level, levels, value_of};
use super::{Condition, ExperimentFile, Settings, SweepError};

/// A point: its parameters with what they set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Point {
    /// Parameters and the names of their values, in the order of the file.
    pub(super) parameters: Vec<(String, String)>,
    /// What they set.
    pub(super) settings: Settings,
}

impl Point {
    fn add(&mut self, name: &str, level: &Level) {
        self.parameters.push((name.to_owned(), level.name.clone()));
        self.settings.extend(level.set.iter().cloned());
    }
}

/// No more combinations are gone through to find those that are meant.
const MOST_COMBINATIONS: u128 = 10_000_000;

/// No more runs are listed that a precision may leave out.
const MOST_ALLOWED: u128 = 100_000;

/// So often a point is drawn that is not wanted, or was there before.
const MOST_TRIES: u64 = 2_000_000;
/// The parameters have no more values than this together.
const MOST_VALUES: usize = 1_000_000;

/// The points of an experiment; `most` is how many runs there may be, if there is a limit.
pub(super) fn points(
    file: &ExperimentFile,
    path: &Path,
    most: Option<u64>,
) -> Result<Vec<Point>, SweepError> {
    let wrong = |key: &str, problem: String| SweepError::Value {
        path: path.to_owned(),
        key: key.to_owned(),
        problem,
    };
    let names = Names::of(file, path)?;
    let axes = axes(file, &names, path)?;
    let condition = match &file.condition {
        Some(text) => Some(Condition::parse(text).map_err(|e| wrong("where", e))?),
        None => None,
    };
    let is_wanted = |point: &Point| match &condition {
        None => Ok(true),
        Some(condition) => {
            let value = |name: &str| value_of(&point.parameters, name);
            condition.holds(&value).map_err(|e| wrong("where", e))
        }
    };
    let too_many = |runs: u128| match most {
        Some(most) if runs > u128::from(most) => Err(SweepError::TooMany {
            path: path.to_owned(),
            runs,
            most,
        }),
        _ => Ok(()),
    };
    // A precision may end a point early, but how early is not known in advance.
    let runs_each = u128::from(if file.precision.is_some() {
        1
    } else {
        file.runs_of_a_point()
    });
    let combinations = axes
        .iter()
        .fold(1_u128, |n, axis| n.saturating_mul(axis.rows.len() as u128));
    let mut wanted = Vec::new();
    if file.one_at_a_time {
        keep_wanted(&mut wanted, one_at_a_time(&axes), is_wanted)?;
    } else if let Some(number) = file.sample {
        too_many(u128::from(number) * runs_each)?;
        let stream = Seed::new(file.seed.unwrap_or(1)).stream("sweep", "sample");
        wanted.extend(sample(&axes, combinations, number, stream, &is_wanted)?);
    } else if !axes.is_empty() || file.case.is_empty() {
        if condition.is_none() {
            too_many(combinations.saturating_mul(runs_each))?;
        }
        if combinations > MOST_COMBINATIONS {
            return Err(wrong(
                "vary",
                format!(
                    "gives {combinations} combinations, expected at most {MOST_COMBINATIONS}; use 'sample' to select \
                     some"
                ),
            ));
        }
        let mut count: u128 = 0;
        for number in 0..combinations {
            let point = combination(&axes, number);
            if is_wanted(&point)? {
                count += 1;
                // More than may be are only counted.
                if most.is_none_or(|most| count <= u128::from(most)) {
                    wanted.push(point);
                }
            }
        }
        too_many(count * runs_each)?;
    }
    keep_wanted(&mut wanted, cases(file, &names, wrong)?, is_wanted)?;
    too_many(wanted.len() as u128 * runs_each)?;
    let allowed = wanted.len() as u128 * u128::from(file.runs_of_a_point());
    if file.precision.is_some() && allowed > MOST_ALLOWED {
        return Err(wrong(
            "replications",
            format!("allows {allowed} runs in total, expected at most {MOST_ALLOWED}"),
        ));
    }
    if wanted.is_empty() {
        return Err(wrong("where", "does not select any point".to_owned()));
    }
    Ok(wanted)
}

/// Adds those of these points that are wanted.
fn keep_wanted(
    wanted: &mut Vec<Point>,
    points: impl IntoIterator<Item = Point>,
    is_wanted: impl Fn(&Point) -> Result<bool, SweepError>,
) -> Result<(), SweepError> {
    for point in points {
        if is_wanted(&point)? {
            wanted.push(point);
        }
    }
    Ok(())
}

/// The points that are written one by one.
fn cases(
    file: &ExperimentFile,
    names: &Names,
    wrong: impl Fn(&str, String) -> SweepError,
) -> Result<Vec<Point>, SweepError> {
    let mut points = Vec::new();
    for case in &file.case {
        let mut point = Point::default();
        for (key, value) in flat_values(case) {
            let level = level(&key, value).map_err(|e| wrong(&format!("case.{key}"), e))?;
            point.add(names.of_key(&key), &level);
        }
        points.push(point);
    }
    Ok(points)
}

/// Combination `number`; the last axis changes fastest.
fn combination(axes: &[Axis], number: u128) -> Point {
    let (mut rows, mut rest) = (Vec::with_capacity(axes.len()), number);
    for axis in axes.iter().rev() {
        let n = axis.rows.len() as u128;
        rows.push((rest % n) as usize);
        rest /= n;
    }
    let mut point = Point::default();
    for (axis, row) in axes.iter().zip(rows.into_iter().rev()) {
        add_row(&mut point, axis, row);
    }
    point
}

fn add_row(point: &mut Point, axis: &Axis, row: usize) {
    for (name, level) in axis.names.iter().zip(&axis.rows[row]) {
        point.add(name, level);
    }
}

/// The base, and each parameter alone.
fn one_at_a_time(axes: &[Axis]) -> Vec<Point> {
    let mut points = vec![Point::default()];
    for axis in axes {
        for row in 0..axis.rows.len() {
            let mut point = Point::default();
            add_row(&mut point, axis, row);
            points.push(point);
        }
    }
    points
}

/// A random selection of the wanted combinations, each with the same probability, in their order.
fn sample(
    axes: &[Axis],
    combinations: u128,
    wanted: u64,
    mut stream: Stream,
    is_wanted: &dyn Fn(&Point) -> Result<bool, SweepError>,
) -> Result<Vec<Point>, SweepError> {
    let mut chosen: Vec<u128> = Vec::new();
    if combinations <= 1_000_000 {
        let mut all = Vec::new();
        for i in 0..combinations {
            if is_wanted(&combination(axes, i))? {
                all.push(i);
            }
        }
        while !all.is_empty() && (chosen.len() as u64) < wanted {
            chosen.push(all.swap_remove(stream.below(all.len() as u64) as usize));
        }
    } else {
        // Too many to go through: draws that are not wanted, or were there before, are drawn again.
        let (mut seen, mut tries) = (HashSet::new(), 0);
        let limit = u64::try_from(combinations).unwrap_or(u64::MAX);
        while (chosen.len() as u64) < wanted && tries < MOST_TRIES.max(20 * wanted) {
            tries += 1;
            let i = u128::from(stream.below(limit));
            if seen.insert(i) && is_wanted(&combination(axes, i))? {
                chosen.push(i);
            }
        }
    }
    chosen.sort_unstable();
    Ok(chosen.into_iter().map(|i| combination(axes, i)).collect())
}

/// What paths and tables have of their own.
const RESERVED: [&str; 7] = [
    "rep",
    "path",
    "repetition",
    "repetitions",
    "seed",
    "not_steady",
    "failed",
];

/// What keys are called.
struct Names(BTreeMap<String, String>);

impl Names {
    fn of(file: &ExperimentFile, path: &Path) -> Result<Self, SweepError> {
        let mut keys: Vec<String> = Vec::new();
        for (key, _) in varied(&file.vary) {
            keys.push(key);
        }
        for table in zips(&file.vary).into_iter().chain(&file.case) {
            keys.extend(flat_values(table).into_iter().map(|(key, _)| key));
        }
        keys.sort();
        keys.dedup();
        let last = |key: &str| key.rsplit('.').next().unwrap_or(key).to_owned();
        let given = flat_values(&file.names);
        let mut names = BTreeMap::new();
        for (key, name) in &given {
            let problem = match name {
                _ if !keys.contains(key) => "names a key that is not varied".to_owned(),
                Value::String(name) if is_name(name) => {
                    names.insert(key.clone(), name.clone());
                    continue;
                }
                other => {
                    format!(
                        "is {other}, expected a name made up of letters, digits, '_', '.' and '-'"
                    )
                }
            };
            return Err(SweepError::Value {
                path: path.to_owned(),
                key: format!("names.{key}"),
                problem,
            });
        }
        for key in &keys {
            let same = keys.iter().filter(|other| last(other) == last(key)).count();
            let name = if same == 1 { last(key) } else { key.clone() };
            names.entry(key.clone()).or_insert(name);
        }
        for (i, (key, name)) in names.iter().enumerate() {
            if RESERVED.contains(&name.as_str())
                || names.iter().take(i).any(|(_, other)| other == name)
            {
                return Err(SweepError::Value {
                    path: path.to_owned(),
                    key: key.clone(),
                    problem: format!(
                        "would have the name '{name}', which is already used: give it a different name under [names]"
                    ),
                });
            }
        }
        Ok(Self(names))
    }

    fn of_key<'a>(&'a self, key: &'a str) -> &'a str {
        self.0.get(key).map_or(key, String::as_str)
    }
}

fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_alphanumeric() || "_.-".contains(c);
    !name.is_empty() && !name.starts_with('.') && name.chars().all(allowed)
}

/// A value that is named, `{ name, set }`, or that is spread.
fn is_value(table: &Table) -> bool {
    is_spread(table) || (table.contains_key("name") && table.contains_key("set"))
}

fn flat_values(table: &Table) -> Vec<(String, &Value)> {
    let mut all = Vec::new();
    leaves(table, "", &is_value, &mut |key, value| {
        all.push((key, value));
    });
    all
}

/// What is varied by itself.
fn varied(vary: &Table) -> Vec<(String, &Value)> {
    let mut all = flat_values(vary);
    all.retain(|(key, _)| key != "zip");
    all
}

/// What is varied together.
fn zips(vary: &Table) -> Vec<&Table> {
    let zips = vary.get("zip").and_then(Value::as_array);
    zips.into_iter()
        .flatten()
        .filter_map(Value::as_table)
        .collect()
}

fn axes(file: &ExperimentFile, names: &Names, path: &Path) -> Result<Vec<Axis>, SweepError> {
    let wrong = |key: String, problem: String| SweepError::Value {
        path: path.to_owned(),
        key,
        problem,
    };
    let (mut axes, mut values) = (Vec::new(), 0);
    for (key, value) in varied(&file.vary) {
        let levels = levels(&key, value).map_err(|e| wrong(format!("vary.{key}"), e))?;
        values += levels.len();
        if values > MOST_VALUES {
            return Err(wrong(
                format!("vary.{key}"),
                format!("brings the total number of values of all parameters above {MOST_VALUES}"),
            ));
        }
        axes.push(Axis {
            names: vec![names.of_key(&key).to_owned()],
            rows: levels.into_iter().map(|level| vec![level]).collect(),
        });
    }
    if let Some(zip) = file.vary.get("zip")
        && zips(&file.vary).len() != zip.as_array().map_or(usize::MAX, Vec::len)
    {
        let problem = "must be written as [[vary.zip]] tables, each with lists of the same length";
        return Err(wrong("vary.zip".to_owned(), problem.to_owned()));
    }
    for table in zips(&file.vary) {
        let mut axis = Axis {
            names: Vec::new(),
            rows: Vec::new(),
        };
        for (key, value) in flat_values(table) {
            let levels = levels(&key, value).map_err(|e| wrong(format!("vary.zip.{key}"), e))?;
            if axis.names.is_empty() {
                axis.rows = vec![Vec::new(); levels.len()];
            }
            if axis.rows.len() != levels.len() {
                let problem = format!(
                    "has {}, but '{}' has {}: expected lists of the same length",
                    counted(levels.len() as u64, ["value", "values"]),
                    axis.names[0],
                    axis.rows.len()
                );
                return Err(wrong(format!("vary.zip.{key}"), problem));
            }
            axis.names.push(names.of_key(&key).to_owned());
            for (row, level) in axis.rows.iter_mut().zip(levels) {
                row.push(level);
            }
        }
        if !axis.names.is_empty() {
            axes.push(axis);
        }
    }
    let mut seen: Vec<&String> = Vec::new();
    for name in axes.iter().flat_map(|axis| &axis.names) {
        if seen.contains(&name) {
            return Err(wrong(name.clone(), "is varied twice".to_owned()));
        }
        seen.push(name);
    }
    Ok(axes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Result<Vec<String>, String> {
        let path = Path::new("x.toml");
        let file = ExperimentFile::parse(text, path).map_err(|e| e.to_string())?;
        let points = points(&file, path, Some(1_000_000)).map_err(|e| e.to_string())?;
        let name = |point: &Point| {
            let parts = point.parameters.iter();
            parts
                .map(|(n, v)| format!("{n}={v}"))
                .collect::<Vec<_>>()
                .join("/")
        };
        Ok(points.iter().map(name).collect())
    }

    #[test]
    fn products_are_in_the_order_of_the_file_and_zips_go_together() {
        let text = "scenario = 's.toml'\nwhere = 'disks > 4 or level == \"raid5\"'\n\
            [vary]\narray.level = ['raid5', 'raid6']\narray.disks = [4, 8]\n\
            [[vary.zip]]\nload.size.blocks = [1, 2]\nload.read_share = [0.5, 1.0]\n\
            [[case]]\narray.disks = 16\narray.level = 'raid0'\n";
        assert_eq!(
            paths(text).unwrap(),
            [
                "level=raid5/disks=4/blocks=1/read_share=0.5",
                "level=raid5/disks=4/blocks=2/read_share=1.0",
                "level=raid5/disks=8/blocks=1/read_share=0.5",
                "level=raid5/disks=8/blocks=2/read_share=1.0",
                "level=raid6/disks=8/blocks=1/read_share=0.5",
                "level=raid6/disks=8/blocks=2/read_share=1.0",
                "disks=16/level=raid0",
            ]
        );
    }

    #[test]
    fn one_at_a_time_begins_with_the_base() {
        let text = "scenario = 's.toml'\none_at_a_time = true\n[vary]\na.x = [1, 2]\nb.x = [3]\n\
            [names]\nb.x = 'y'\n";
        assert_eq!(paths(text).unwrap(), ["", "a.x=1", "a.x=2", "y=3"]);
    }

    #[test]
    fn a_sample_is_of_what_is_wanted_and_the_same_every_time() {
        let text = |values: u32| {
            format!(
                "scenario = 's.toml'\nsample = 5\nwhere = 'x != y'\n[vary]\n\
                 x = {{ from = 1, to = {values}, step = 1 }}\ny = {{ from = 1, to = {values}, step = 1 }}\n"
            )
        };
        // Once all are gone through, once they are too many for that.
        for values in [10, 2000] {
            let sample = paths(&text(values)).unwrap();
            assert_eq!(sample.len(), 5);
            assert_eq!(sample, paths(&text(values)).unwrap());
            let equal = |p: &String| {
                let (x, y) = p.split_once('/').unwrap();
                x[2..] == y[2..]
            };
            assert!(!sample.iter().any(equal));
        }
        assert_eq!(paths(&text(2)).unwrap(), ["x=1/y=2", "x=2/y=1"]);
    }

    #[test]
    fn what_cannot_be_varied_so_is_refused() {
        for (text, complaint) in [
            (
                "[vary]\nx = [1]\n[[vary.zip]]\ny = [1, 2]\nz = [1]",
                "'vary.zip.z' has 1 value,",
            ),
            (
                "[vary]\nx = [1]\n[[vary.zip]]\nx = [1]",
                "'x' is varied twice",
            ),
            (
                "[vary]\nzip = 3",
                "'vary.zip' must be written as [[vary.zip]] tables",
            ),
            (
                "where = 'q == 1'\n[vary]\nx = [1]",
                "unknown parameter: 'q'",
            ),
            (
                "where = 'x > 1'\n[vary]\nx = [1]",
                "does not select any point",
            ),
            (
                "[vary]\nx = [1]\n[names]\ny = 'z'",
                "'names.y' names a key that is not varied",
            ),
            ("[vary]\nx = [1]\n[names]\nx = 'a/b'", "expected a name"),
            (
                "[vary]\nx = [1]\ny = [2]\n[names]\nx = 'y'",
                "give it a different name under [names]",
            ),
            (
                "[vary]\nx = { from = 1, to = 2000, step = 1 }\ny = { from = 1, to = 2000, step = 1 }",
                "got 4000000",
            ),
        ] {
            let error = paths(&format!("scenario = 's.toml'\n{text}")).unwrap_err();
            assert!(error.contains(complaint), "{text}: {error}");
        }
    }
}
