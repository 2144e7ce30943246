//! A tree of folders as blkreplay's test suite has it: the leaves are runs, tables beside the folders say what
//! each changes.
//!
//! For a folder `NAME` the table is `NAME.toml` in the folder itself or in one above it, the nearest; they are
//! laid over each other from the root to the leaf, `default.toml` of the root first.

use std::fs;
use std::path::{Path, PathBuf};

use iosonar_scenario::SystemName;
use iosonar_units::one_line;
use toml::{Table, Value};

use super::design::Point;
use super::folder::{SKIP, has_idle_name};
use super::run::{Experiment, Run, is_repetition};
use super::{Changes, ExperimentFile, SweepError};

/// The runs of a tree.
///
/// # Errors
/// If a folder has no table, or a table makes no sense.
pub fn runs_of_tree(root: &Path, changes: &Changes) -> Result<Vec<Run>, SweepError> {
    let mut leaves = Vec::new();
    find_leaves(root, Path::new(""), &mut leaves)?;
    let mut runs = Vec::new();
    for (number, leaf) in leaves.iter().enumerate() {
        let (table, origin) = layers(root, leaf)?;
        let file = ExperimentFile::from_table(table, &origin)?;
        if !file.vary.is_empty() || !file.case.is_empty() || file.condition.is_some() {
            return Err(SweepError::Value {
                path: origin,
                key: "vary".to_owned(),
                problem:
                    "applies only to experiment files: in a folder tree, the folders define what varies"
                        .to_owned(),
            });
        }
        let point = Point {
            parameters: parameters(leaf),
            settings: Vec::new(),
        };
        let experiment = Experiment::new(&file, &origin, changes)?;
        runs.extend(experiment.repetitions(number, point, leaf)?);
    }
    if runs.is_empty() {
        return Err(SweepError::Value {
            path: root.to_owned(),
            key: "sweep".to_owned(),
            problem: "contains neither folders nor an earlier study: give an experiment file, or a tree of folders \
                      whose innermost folders are runs"
                .to_owned(),
        });
    }
    Ok(runs)
}

fn find_leaves(root: &Path, path: &Path, leaves: &mut Vec<PathBuf>) -> Result<(), SweepError> {
    let folder = root.join(path);
    let entries = fs::read_dir(&folder).map_err(SweepError::io(&folder, "read the folder"))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(SweepError::io(&folder, "read the folder"))?;
        let inner = entry.path();
        if !inner.is_dir() {
            continue;
        }
        let kind = entry.file_type();
        let kind = kind.map_err(SweepError::io(&inner, "look at the file"))?;
        if kind.is_symlink() && leads_back(&inner, root)? {
            return Err(SweepError::Value {
                path: inner,
                key: "sweep".to_owned(),
                problem: "is a link that leads back to a folder that it is in: remove it"
                    .to_owned(),
            });
        }
        let name = entry
            .file_name()
            .into_string()
            .map_err(|_| SweepError::Value {
                path: entry.path(),
                key: "sweep".to_owned(),
                problem: "is a folder whose name is not valid UTF-8: rename it".to_owned(),
            })?;
        let is_of_study = path == Path::new("") && name == super::CHARTS;
        if !name.starts_with('.') && !is_repetition(&name) && !is_of_study {
            names.push(name);
        }
    }
    names.sort();
    if names.is_empty() && path != Path::new("") {
        leaves.push(path.to_owned());
    }
    for name in names {
        let child = path.join(&name);
        // Skipped folders need no table.
        if !has_idle_name(name.as_ref()) && !root.join(&child).join(SKIP).exists() {
            find_leaves(root, &child, leaves)?;
        }
    }
    Ok(())
}

/// Whether a link in this tree leads to one of the folders that it is in, perhaps by way of other links.
fn leads_back(link: &Path, root: &Path) -> Result<bool, SweepError> {
    let canonical = |path: &Path| {
        let found = fs::canonicalize(path);
        found.map_err(SweepError::io(path, "look at the folder"))
    };
    let end = canonical(link)?;
    for above in link
        .ancestors()
        .skip(1)
        .take_while(|above| above.starts_with(root))
    {
        if canonical(above)? == end {
            return Ok(true);
        }
    }
    // Also a folder above the tree has the tree in it.
    Ok(canonical(root)?.starts_with(&end))
}

/// All tables of a leaf, one over the other, and the file that came last.
fn layers(root: &Path, leaf: &Path) -> Result<(Table, PathBuf), SweepError> {
    let mut all = Table::new();
    let default = root.join("default.toml");
    let mut origin = default.clone();
    if default.exists() {
        merge(&mut all, read(&default)?);
    }
    let mut path = PathBuf::new();
    for part in leaf {
        path.push(part);
        let name = format!("{}.toml", part.to_string_lossy());
        let places = path.ancestors().map(|above| root.join(above).join(&name));
        let Some(file) = places.into_iter().find(|file| file.is_file()) else {
            return Err(SweepError::Value {
                path: root.join(&path),
                key: name,
                problem: "is missing from this folder and all folders above it: this file lists the settings of \
                          the folder (and may be empty); to skip a folder, end its name in .old or add a file named \
                          'skip' to it"
                    .to_owned(),
            });
        };
        merge(&mut all, read(&file)?);
        origin = file;
    }
    Ok((all, origin))
}

/// Reads a table; the files that it names are absolute then.
fn read(path: &Path) -> Result<Table, SweepError> {
    let text = iosonar_units::read_text_file(path).map_err(SweepError::io(path, "read"))?;
    let mut table: Table = toml::from_str(&text).map_err(|e| SweepError::Syntax {
        path: path.to_owned(),
        message: iosonar_units::plain_complaint(&e.to_string()),
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let folder = std::path::absolute(folder).map_err(SweepError::io(folder, "find"))?;
    let absolute = |value: &mut Value| {
        if let Value::String(name) = value
            && name != "-"
        {
            *value = Value::String(folder.join(&*name).display().to_string());
        }
    };
    if let Some(Value::String(scenario)) = table.get_mut("scenario") {
        let name = SystemName {
            name: PathBuf::from(&*scenario),
            folder: folder.clone(),
        };
        *scenario = name.absolute().display().to_string();
    }
    if let Some(Value::Table(replay)) = table.get_mut("replay") {
        for key in ["load", "target"] {
            match replay.get_mut(key) {
                Some(Value::Array(values)) => values.iter_mut().for_each(absolute),
                Some(value) => absolute(value),
                None => {}
            }
        }
    }
    Ok(table)
}

/// Merges `over` into `under`: tables are merged, other values replaced, hooks added.
fn merge(under: &mut Table, over: Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Table(under)), Value::Table(over)) => merge(under, over),
            (Some(Value::Array(under)), Value::Array(mut over)) if key == "hook" => {
                under.append(&mut over);
            }
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

/// What the folders are called: `name=value` as it says, others by their depth.
fn parameters(leaf: &Path) -> Vec<(String, String)> {
    let parameter = |(i, part): (usize, &std::ffi::OsStr)| {
        let part = one_line(&part.to_string_lossy());
        match part.split_once('=') {
            Some((name, value)) => {
                let plain = value.trim_start_matches('0');
                let is_padded = value.parse::<u64>().is_ok() && !plain.is_empty();
                let value = if is_padded { plain } else { value };
                (name.to_owned(), value.to_owned())
            }
            None => (format!("level{}", i + 1), part),
        }
    };
    leaf.iter().enumerate().map(parameter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)], folders: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for folder in folders {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        for (name, text) in files {
            fs::write(root.path().join(name), text).unwrap();
        }
        root
    }

    #[test]
    fn the_nearest_table_of_each_folder_is_laid_over_those_before() {
        let files = [
            ("default.toml", "scenario = 's.toml'\n[set]\na = 1\nb = 1\n"),
            ("x.toml", "[set]\nb = 2\nc = 2\n"),
            ("y.toml", "[set]\nc = 3\n"),
            ("x/y.toml", "[set]\nc = 4\n"),
        ];
        let root = tree(&files, &["x/y", "y", "z.old", "x/skipped", "y/rep=01"]);
        fs::write(root.path().join("x/skipped/skip"), "").unwrap();
        let runs = runs_of_tree(root.path(), &Changes::default()).unwrap();
        let told: Vec<String> = runs
            .iter()
            .map(|run| format!("{} {:?}", run.path.display(), run.settings))
            .collect();
        assert_eq!(
            told,
            [
                "x/y [(\"a\", \"1\"), (\"b\", \"2\"), (\"c\", \"4\")]",
                "y [(\"a\", \"1\"), (\"b\", \"1\"), (\"c\", \"3\")]",
            ]
        );
        assert_eq!(
            runs[0].parameters,
            [
                ("level1".to_owned(), "x".to_owned()),
                ("level2".to_owned(), "y".to_owned())
            ]
        );
    }

    #[test]
    fn a_folder_without_its_table_is_refused() {
        let root = tree(&[("x.toml", "scenario = 's.toml'")], &["x/y"]);
        let error = runs_of_tree(root.path(), &Changes::default()).unwrap_err();
        assert!(
            error.to_string().contains("x/y: 'y.toml' is missing"),
            "{error}"
        );
    }

    #[test]
    fn links_must_not_lead_back_and_no_folder_is_left_out_for_its_name() {
        use std::os::unix::ffi::OsStrExt;
        let tables = [
            ("default.toml", "scenario = 's.toml'"),
            ("x.toml", "seed = 1"),
        ];
        let root = tree(&tables, &["x"]);
        let elsewhere = tempfile::tempdir().unwrap();
        fs::create_dir(elsewhere.path().join("x")).unwrap();
        let link = root.path().join("x/y");
        let runs_or_message =
            || runs_of_tree(root.path(), &Changes::default()).map_err(|e| e.to_string());
        fs::write(root.path().join("y.toml"), "seed = 2").unwrap();
        for (to, runs) in [
            (elsewhere.path(), Some("x/y/x")),
            (Path::new(".."), None),
            (root.path(), None),
            (Path::new("../x"), None),
            (Path::new("../.."), None),
        ] {
            std::os::unix::fs::symlink(to, &link).unwrap();
            match (runs_or_message(), runs) {
                (Ok(found), Some(path)) => assert_eq!(found[0].path, Path::new(path)),
                (Err(error), None) => assert!(
                    error.contains("x/y: 'sweep' is a link that leads back"),
                    "{error}"
                ),
                (found, _) => panic!("{to:?}: {found:?}"),
            }
            fs::remove_file(&link).unwrap();
        }
        let name = std::ffi::OsStr::from_bytes(b"b\xff");
        fs::create_dir(root.path().join(name)).unwrap();
        let error = runs_of_tree(root.path(), &Changes::default()).unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("is a folder whose name is not valid UTF-8"),
            "{message}"
        );
    }

    #[test]
    fn names_of_parameters_and_values_have_no_control_characters() {
        assert_eq!(
            parameters(Path::new("a=1\u{1b}[8m/b\nc")),
            [
                ("a".to_owned(), "1\u{fffd}[8m".to_owned()),
                ("level2".to_owned(), "b\u{fffd}c".to_owned())
            ]
        );
    }
}
