//! Values that the command line sets in a scenario.

use std::path::Path;

use toml_edit::{DocumentMut, Item, Table, Value};

use iosonar_units::plain_complaint;

use super::refusal::Refusal;
use crate::networked::NetworkedRaid;
use crate::{ScenarioError, built_in_profile};

/// Reads what a text with set values means. Where a value that was set is to blame the error names it, and not a
/// line that is not in the file.
pub(crate) fn read<T: serde::de::DeserializeOwned>(
    original: &str,
    path: &Path,
    set: &[(String, String)],
) -> Result<(String, T), ScenarioError> {
    let text = apply(original, path, set)?;
    let error = match toml::from_str(&text) {
        Ok(meaning) => return Ok((text, meaning)),
        Err(error) => error,
    };
    // The first of them without which it would have been read.
    let is_read = |n: usize| {
        let some = apply(original, path, &set[..n]);
        some.is_ok_and(|text| toml::from_str::<T>(&text).is_ok())
    };
    if let Some(n) = (1..=set.len()).find(|&n| is_read(n - 1) && !is_read(n)) {
        let (key, value) = &set[n - 1];
        let some = apply(original, path, &set[..n])?;
        let refusal = toml::from_str::<T>(&some)
            .err()
            .and_then(|error| Refusal::of(&error, &some));
        let (key, problem) = if let Some(refusal) = refusal {
            (refusal.key, refusal.problem)
        } else {
            let message = plain_complaint(error.message());
            (key.clone(), format!("is {value}: {message}"))
        };
        return Err(ScenarioError::Set { key, problem });
    }
    if let Some(of) = ProfileOf::text(&text) {
        return Err(ScenarioError::IsProfile {
            path: path.to_owned(),
            device: of.table(),
        });
    }
    match Refusal::of(&error, &text) {
        Some(refusal) => Err(refusal.in_file(path, &text)),
        None if is_trace(path) => Err(ScenarioError::IsTrace(path.to_owned())),
        None => Err(ScenarioError::Syntax {
            path: path.to_owned(),
            message: plain_complaint(&error.to_string()),
        }),
    }
}

/// Whether a file is a trace.
pub(crate) fn is_trace(path: &Path) -> bool {
    let reader = iosonar_trace::input::open(path);
    let mut batch = iosonar_trace::Batch::default();
    reader.is_ok_and(|mut reader| reader.next_batch(&mut batch).is_ok_and(|n| n > 0))
}

/// What a profile describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileOf {
    /// A disk.
    Disk,
    /// An SSD, or a volume of a provider.
    Ssd,
}

impl ProfileOf {
    /// What a text is a profile of, itself or by a data sheet; `None` if it is not a profile.
    pub fn text(text: &str) -> Option<Self> {
        let document: DocumentMut = text.parse().ok()?;
        let has = |key| document.contains_key(key);
        if !has("description") || has("load") || has("array") {
            return None;
        }
        let sheet = document.get("from_data_sheet");
        let sheet_has = |key| sheet.is_some_and(|sheet| sheet.get(key).is_some());
        if has("cylinders") || sheet_has("rpm") {
            Some(Self::Disk)
        } else if has("interface") || has("storage") || sheet_has("interface") {
            Some(Self::Ssd)
        } else {
            None
        }
    }

    /// What a built-in profile of this name or part of a name, or a file relative to `directory`, is a profile of; `None`
    /// if several have the part.
    pub fn named(name: &str, directory: &Path) -> Option<Self> {
        if let Ok((of, _)) = built_in_profile(name) {
            return Some(of);
        }
        let path = directory.join(name);
        path.extension().filter(|extension| *extension == "toml")?;
        Self::text(&iosonar_units::read_text_file(&path).ok()?)
    }

    /// The table of a scenario that takes it.
    pub fn table(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Ssd => "ssd",
        }
    }
}

/// Whether a key is another one, or the table that holds it.
pub fn holds(table: &str, key: &str) -> bool {
    key.strip_prefix(table)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The deepest key of a scenario has five parts. A text takes longer with each, and more than in proportion.
const MOST_PARTS: usize = 16;

/// The text with other values, as (key, value in TOML), such as (`array.disks`, `8`); what is not set stays as it
/// is, and where it is as long as no key is new, so that errors name lines of the file.
///
/// # Errors
/// If the text is not TOML, or a key passes through a key that is not a table. Whether the scenario has such a key
/// is not looked at.
pub fn apply(text: &str, path: &Path, set: &[(String, String)]) -> Result<String, ScenarioError> {
    if set.is_empty() {
        return Ok(text.to_owned());
    }
    let mut document = parsed(text, path)?;
    for (key, value) in set {
        if value.is_empty() {
            if remove(&mut document, key).is_none() {
                return Err(ScenarioError::Set {
                    key: key.to_owned(),
                    problem: "is not in the scenario, so it cannot be removed; KEY=VALUE sets a value, and KEY='\"\"' an empty string"
                        .to_owned(),
                });
            }
            continue;
        }
        // What is not TOML value is a string without its quotes.
        let value: Value = value
            .parse()
            .unwrap_or_else(|_| Value::from(value.as_str()));
        let wrong = |problem: &str| ScenarioError::Set {
            key: key.clone(),
            problem: problem.to_owned(),
        };
        let mut parts: Vec<&str> = key.split('.').collect();
        let last = parts.pop().filter(|last| !last.is_empty());
        let Some(last) = last.filter(|_| parts.iter().all(|part| !part.is_empty())) else {
            return Err(wrong("is not a key: expected a key such as array.disks"));
        };
        if parts.len() >= MOST_PARTS {
            return Err(ScenarioError::Set {
                key: format!("{}...", parts[0]),
                problem: format!("is not a key: expected at most {MOST_PARTS} parts"),
            });
        }
        let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
        for part in parts {
            let item = table
                .entry(part)
                .or_insert_with(|| Item::Table(Table::new()));
            table = item
                .as_table_like_mut()
                .ok_or_else(|| wrong("passes through a key that is not a table"))?;
        }
        table.insert(last, Item::Value(value));
    }
    Ok(document.to_string())
}

/// A scenario with the load of another: its `[load]`, `seed`, `replications` and `warmup_requests` in place of its own, which
/// are removed. The trace of a load stays where it is.
///
/// # Errors
/// If a text is not TOML, or the other has no load.
pub fn with_load_of(
    (text, path): (&str, &Path),
    load: Option<(&str, &Path)>,
) -> Result<String, ScenarioError> {
    const KEYS: [&str; 4] = ["load", "seed", "replications", "warmup_requests"];
    let mut document = parsed(text, path)?;
    for key in KEYS {
        document.remove(key);
    }
    let Some((load, load_path)) = load else {
        return Ok(document.to_string());
    };
    let mut other = parsed(load, load_path)?;
    if NetworkedRaid::is_meant(load) {
        return Err(ScenarioError::IsNetworked(load_path.to_owned()));
    }
    if !other.contains_key("load") {
        return Err(ScenarioError::Incomplete {
            path: load_path.to_owned(),
            problem: "has no [load] table: give a trace, or a scenario with a load".to_owned(),
        });
    }
    let directory = load_path.parent().unwrap_or(Path::new("."));
    let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    if let Some(trace) = other["load"].get_mut("trace")
        && let Some(name) = trace.as_str()
    {
        *trace = toml_edit::value(directory.join(name).display().to_string());
    }
    for key in KEYS {
        if let Some(item) = other.remove(key) {
            document.insert(key, item);
        }
    }
    Ok(document.to_string())
}

/// The text without these keys, where they are there.
///
/// # Errors
/// If the text is not TOML.
pub(super) fn without(text: &str, path: &Path, keys: &[String]) -> Result<String, ScenarioError> {
    let mut document = parsed(text, path)?;
    for key in keys {
        let _ = remove(&mut document, key);
    }
    Ok(document.to_string())
}

fn parsed(text: &str, path: &Path) -> Result<DocumentMut, ScenarioError> {
    text.parse()
        .map_err(|e: toml_edit::TomlError| ScenarioError::Syntax {
            path: path.to_owned(),
            message: format!("{e}"),
        })
}

/// Removes a key with all that is in it; `None` if it is not there.
fn remove(document: &mut DocumentMut, key: &str) -> Option<Item> {
    let mut parts: Vec<&str> = key.split('.').collect();
    let last = parts.pop()?;
    let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
    for part in parts {
        table = table.get_mut(part)?.as_table_like_mut()?;
    }
    table.remove(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(key: &str, value: &str) -> Result<String, String> {
        let text = "# a comment\nseed = 1\n[load]\nsize = { blocks = 4 }\n";
        apply(text, Path::new("x"), &[(key.into(), value.into())]).map_err(|e| e.to_string())
    }

    #[test]
    fn values_are_replaced_where_they_stand_and_added_where_they_are_not() {
        let changed = set("load.size.blocks", "7").unwrap();
        assert!(
            changed.starts_with("# a comment\nseed = 1\n[load]\n"),
            "{changed}"
        );
        assert!(changed.contains("blocks = 7"), "{changed}");
        assert!(
            set("array.disks", "8")
                .unwrap()
                .contains("[array]\ndisks = 8")
        );
        assert!(
            set("array.level", "raid5")
                .unwrap()
                .contains("level = \"raid5\"")
        );
    }

    #[test]
    fn an_empty_value_removes_its_key() {
        assert!(!set("load.size.blocks", "").unwrap().contains("blocks"));
        assert_eq!(set("load", "").unwrap(), "# a comment\nseed = 1\n");
        for absent in ["array", "load.requests", "seed.x", "load..size", ""] {
            let problem = set(absent, "").unwrap_err();
            assert!(problem.contains("cannot be removed"), "{absent}: {problem}");
        }
        assert!(set("load.trace", "\"\"").unwrap().contains("trace = \"\""));
    }

    #[test]
    fn only_what_is_there_is_left_out() {
        let text = "# a comment\nseed = 1\n[load]\nsize = { blocks = 4 }\n";
        let without = |keys: &[&str]| {
            let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
            super::without(text, Path::new("x"), &keys).unwrap()
        };
        assert_eq!(without(&["array.disks", "load.requests", "seed.x"]), text);
        assert!(!without(&["array.disks", "load.size.blocks"]).contains("blocks"));
        assert_eq!(without(&["load"]), "# a comment\nseed = 1\n");
    }

    #[test]
    fn what_is_no_key_is_refused() {
        assert!(set("", "1").unwrap_err().contains("is not a key"));
        assert!(set("load..size", "1").unwrap_err().contains("is not a key"));
        assert!(set("seed.x", "1").unwrap_err().contains("not a table"));
    }
}
