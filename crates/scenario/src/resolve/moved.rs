//! A scenario's text in another folder.

use std::path::{Component, Path, PathBuf};

use toml_edit::{DocumentMut, Item, TableLike, Value};

use crate::ScenarioError;

/// The text of the scenario file `path` as it must be in the folder `to`: the files that it names (a trace,
/// profiles) are the same ones from there.
///
/// # Errors
/// If the text is not TOML.
pub fn moved(text: &str, path: &Path, to: &Path) -> Result<String, ScenarioError> {
    let mut document: DocumentMut = text.parse().map_err(|e| ScenarioError::Syntax {
        path: path.to_owned(),
        message: format!("{e}"),
    })?;
    let way = way(path.parent().unwrap_or(Path::new("")), to);
    let is_profile = |name: &str| Path::new(name).extension().is_some_and(|e| e == "toml");
    rename(document.get_mut("load"), "trace", &way, |name| name != "-");
    rename_empirical(
        document.get_mut("load").and_then(Item::as_table_like_mut),
        &way,
    );
    let classes = document
        .get_mut("load")
        .and_then(|load| load.get_mut("class"));
    match classes {
        Some(Item::ArrayOfTables(classes)) => {
            for class in classes.iter_mut() {
                rename_empirical(Some(class), &way);
            }
        }
        Some(Item::Value(Value::Array(classes))) => {
            for class in classes.iter_mut().filter_map(Value::as_inline_table_mut) {
                rename_empirical(Some(class), &way);
            }
        }
        _ => {}
    }
    let device = document.get_mut("device").and_then(Item::as_table_like_mut);
    rename_law(device.and_then(|device| device.get_mut("service")), &way);
    rename(document.get_mut("ssd"), "profile", &way, is_profile);
    if let Some(disk) = document.get_mut("disk") {
        match disk.get_mut("other") {
            Some(Item::ArrayOfTables(others)) => {
                for other in others.iter_mut() {
                    rename_value(other.get_mut("profile"), &way, is_profile);
                }
            }
            Some(Item::Value(Value::Array(others))) => {
                for other in others.iter_mut().filter_map(Value::as_inline_table_mut) {
                    if let Some(Value::String(name)) = other.get_mut("profile")
                        && is_profile(name.value())
                    {
                        let new = way.join(name.value()).display().to_string();
                        other.insert("profile", new.into());
                    }
                }
            }
            _ => {}
        }
        rename(Some(disk), "profile", &way, is_profile);
    }
    Ok(document.to_string())
}

/// The recordings that the laws of a load are drawn from.
fn rename_empirical(load: Option<&mut dyn TableLike>, way: &Path) {
    let Some(load) = load else {
        return;
    };
    for key in ["arrivals", "size"] {
        rename_law(load.get_mut(key), way);
    }
    for (key, law) in [("closed", "think"), ("size", "read"), ("size", "write")] {
        let table = load.get_mut(key).and_then(Item::as_table_like_mut);
        rename_law(table.and_then(|table| table.get_mut(law)), way);
    }
}

fn rename_law(law: Option<&mut Item>, way: &Path) {
    let law = law.and_then(Item::as_table_like_mut);
    let empirical = law.and_then(|law| law.get_mut("empirical"));
    rename(empirical, "trace", way, |_| true);
}

fn rename(table: Option<&mut Item>, key: &str, way: &Path, is_file: impl Fn(&str) -> bool) {
    let table = table.and_then(Item::as_table_like_mut);
    rename_value(table.and_then(|table| table.get_mut(key)), way, is_file);
}

fn rename_value(item: Option<&mut Item>, way: &Path, is_file: impl Fn(&str) -> bool) {
    if let Some(item) = item
        && let Some(name) = item.as_str()
        && is_file(name)
    {
        // An absolute path stays what it is.
        *item = toml_edit::value(way.join(name).display().to_string());
    }
}

/// How one comes from the folder `to` to the folder `from`.
fn way(from: &Path, to: &Path) -> PathBuf {
    let here = |path: &Path| {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        path.canonicalize()
            .or_else(|_| std::path::absolute(path))
            .unwrap_or_else(|_| path.to_owned())
    };
    let (from, to) = (here(from), here(to));
    let shared = from
        .components()
        .zip(to.components())
        .take_while(|(a, b)| a == b)
        .count();
    let up = to.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(from.components().skip(shared)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_the_same_from_the_other_folder() {
        let text = "[load]\ntrace = \"x.load\"\n[disk]\nprofile = \"mine.toml\"\n\
                    other = [{ disks = [0], profile = \"/etc/other.toml\" }, { disks = [1], profile = \"b.toml\" }]\n";
        let moved = moved(text, Path::new("/a/b/s.toml"), Path::new("/a/c/d")).unwrap();
        for line in [
            "trace = \"../../b/x.load\"",
            "profile = \"../../b/mine.toml\"",
            "\"/etc/other.toml\"",
            "\"../../b/b.toml\"",
        ] {
            assert!(moved.contains(line), "{moved}");
        }
    }

    #[test]
    fn names_of_built_in_profiles_and_standard_input_stay() {
        let text = "[load]\ntrace = \"-\"\n[disk]\nprofile = \"seagate\"\n";
        let moved = moved(text, Path::new("/a/s.toml"), Path::new("/b")).unwrap();
        assert_eq!(moved, text);
    }

    #[test]
    fn recordings_of_intervals_are_the_same_from_the_other_folder() {
        let text = "[load]\narrivals = { empirical = { trace = \"x.ios\" } }\n\
                    [[load.class]]\narrivals = { empirical = { per_s = 5.0, trace = \"y.ios\" } }\n\
                    [[load.class]]\narrivals = { gamma = { per_s = 5.0, cv = 2.0 } }\n\
                    size = { read = { empirical = { trace = \"r.ios\" } }, write = \"4KiB\" }\n\
                    [[load.class]]\nsize = { empirical = { trace = \"s.ios\" } }\n\
                    [device]\nservice = { empirical = { trace = \"d.ios\" } }\n";
        let moved = moved(text, Path::new("/a/b/s.toml"), Path::new("/a/c/d")).unwrap();
        for name in ["x", "y", "r", "s", "d"] {
            assert!(
                moved.contains(&format!("\"../../b/{name}.ios\"")),
                "{moved}"
            );
        }
        assert!(moved.contains("cv = 2.0"), "{moved}");
    }

    #[test]
    fn recordings_of_classes_on_one_line_are_the_same_from_the_other_folder() {
        let text = "[load]\nclass = [{ size = { empirical = { trace = \"x.ios\" } } }]\n";
        let moved = moved(text, Path::new("/a/b/s.toml"), Path::new("/a/c/d")).unwrap();
        assert!(moved.contains("\"../../b/x.ios\""), "{moved}");
    }

    #[test]
    fn recordings_of_think_times_are_the_same_from_the_other_folder() {
        let text =
            "[load]\nclosed = { outstanding = 3, think = { empirical = { trace = \"t.ios\" } } }\n";
        let moved = moved(text, Path::new("/a/b/s.toml"), Path::new("/a/c/d")).unwrap();
        assert!(moved.contains("\"../../b/t.ios\""), "{moved}");
    }
}
