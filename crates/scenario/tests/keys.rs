//! The manual has a row for every key that a scenario may have, and no other.

use std::collections::BTreeSet;
use std::path::Path;

use iosonar_scenario::{Overrides, Prepared};

/// The keys of a table, by what is said of one that it does not have.
fn known(table: &str) -> BTreeSet<String> {
    let header = match table {
        "" => String::new(),
        "array" => "[array]\nlevel = \"raid0\"\ndisks = 1\n".to_owned(),
        table => format!("[{table}]\n"),
    };
    let text = format!("{header}no_such_key = 1\n");
    let error = Prepared::from_toml(&text, Path::new("x.toml"), &Overrides::default())
        .unwrap_err()
        .to_string();
    let (_, expected) = error
        .split_once("unknown field `no_such_key`, expected ")
        .expect(&error);
    let words = expected.lines().next().unwrap_or_default().split('`');
    words.skip(1).step_by(2).map(str::to_owned).collect()
}

/// The keys in the manual's table after `heading`.
fn described<'a>(manual: &'a str, heading: &str) -> BTreeSet<&'a str> {
    let (_, rest) = manual.split_once(heading).expect(heading);
    let rows = rest.lines().skip_while(|line| !line.starts_with("|---"));
    let rows = rows.skip(1).take_while(|line| line.starts_with('|'));
    let keys = rows.filter_map(|row| row.split('|').nth(1));
    keys.flat_map(|keys| keys.split('`').skip(1).step_by(2))
        .collect()
}

#[test]
fn the_manual_describes_every_key() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/scenarios.md");
    let manual = std::fs::read_to_string(path).unwrap();
    for (table, heading, elsewhere) in [
        // These are tables.
        (
            "",
            "# Scenario files",
            &["array", "controller", "disk", "load", "rebuild", "ssd"][..],
        ),
        // These have a paragraph.
        ("load", "**`[load]`**", &["block", "class"]),
        ("array", "**`[array]`**", &[]),
        ("disk", "**`[disk]`**\n", &["other"]),
    ] {
        let mut all = described(&manual, heading);
        all.extend(elsewhere);
        let known = known(table);
        let known: BTreeSet<&str> = known.iter().map(String::as_str).collect();
        assert_eq!(all, known, "[{table}]");
    }
    let mut all = BTreeSet::new();
    for table in ["controller", "rebuild"] {
        let full = |key: String| format!("{table}.{key}");
        all.extend(known(table).into_iter().map(full));
    }
    let rows = described(&manual, "**`[controller]`** and");
    let rows: BTreeSet<String> = rows
        .into_iter()
        .map(|key| match key {
            "destage_below" => "controller.destage_below".to_owned(),
            key => key.to_owned(),
        })
        .collect();
    assert_eq!(rows, all);
}
