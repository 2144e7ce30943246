//! What a key means, written once where its field is: for the reader of the code, of `--explain` and of the manual.

/// A key of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// The key.
    pub(crate) name: &'static str,
    /// What it means: its row in the manual.
    #[cfg(test)]
    pub(crate) meaning: &'static str,
    /// Its default value; empty if the key is required, or has no effect unless it is given.
    #[cfg(test)]
    pub(crate) default: &'static str,
    /// What `--explain` prints beside its value.
    pub(crate) comment: &'static str,
    /// The header of the table that the key opens; the manual describes it in a paragraph, not in a row. Empty if the
    /// key has a value.
    pub(crate) table: &'static str,
}

/// A table of the file. The doc comment of a field is the row of its key in the manual, with `#[default]` in the last
/// column; `#[comment]` is what `--explain` prints beside its value. `Table::field` is the [`Key`] of a field.
macro_rules! table_of_keys {
    (
        $(#[$about:meta])*
        pub struct $table:ident {$(
            $(#[doc = $meaning:literal])+
            $(#[serde $serde:tt])?
            $(#[table = $header:literal])?
            $(#[default = $default:literal])?
            $(#[comment = $comment:literal])?
            pub $field:ident: $type:ty,
        )*}
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $table {$(
            $(#[doc = $meaning])+
            $(#[serde $serde])?
            pub $field: $type,
        )*}

        #[allow(non_upper_case_globals, dead_code, reason = "named as the fields, of which some are not explained")]
        impl $table {
            $(pub(crate) const $field: $crate::file::Key = $crate::file::Key {
                name: stringify!($field),
                #[cfg(test)]
                meaning: concat!($($meaning),+),
                #[cfg(test)]
                default: concat!($($default)?),
                comment: concat!($($comment)?),
                table: concat!($($header)?),
            };)*

            /// All keys, in the order of the manual.
            pub(crate) const KEYS: &'static [$crate::file::Key] = &[$(Self::$field),*];
        }
    };
}
pub(super) use table_of_keys;

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::super::{
        ArrayFile, ControllerFile, DeviceFile, DiskFile, EventFile, LoadFile, MdFile, RebuildFile,
        ScenarioFile,
    };
    use super::Key;

    const MANUAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/scenarios.md");

    /// The rows of a table of the manual.
    fn rows(tables: &[(&str, &[Key])]) -> String {
        let mut rows = String::new();
        for (prefix, keys) in tables {
            for key in keys.iter().filter(|key| key.table.is_empty()) {
                let (name, meaning, default) = (key.name, key.meaning.trim(), key.default);
                let default = if default.is_empty() {
                    ""
                } else {
                    &format!(" {default}")
                };
                let _ = writeln!(rows, "| `{prefix}{name}` | {meaning} |{default} |");
            }
        }
        rows
    }

    /// `UPDATE_MANUAL=1 cargo test -p iosonar-scenario the_manual` writes the tables anew.
    #[test]
    fn the_manual_describes_every_key() {
        let manual = std::fs::read_to_string(MANUAL).unwrap();
        let mut new = manual.clone();
        for (heading, tables) in [
            ("# Scenario files\n", &[("", ScenarioFile::KEYS)][..]),
            ("**`[load]`**", &[("", LoadFile::KEYS)]),
            ("**`[array]`**", &[("", ArrayFile::KEYS)]),
            ("**`[array.md]`**", &[("", MdFile::KEYS)]),
            (
                "**`[controller]`** and",
                &[
                    ("controller.", ControllerFile::KEYS),
                    ("rebuild.", RebuildFile::KEYS),
                ],
            ),
            ("**`[[event]]`**", &[("", EventFile::KEYS)]),
            ("**`[device]`**", &[("", DeviceFile::KEYS)]),
            ("**`[disk]`**\n", &[("", DiskFile::KEYS)]),
        ] {
            const HEADER: &str = "\n| key | meaning | default |\n|---|---|---|\n";
            let after = new.find(heading).expect(heading);
            let start = after + new[after..].find(HEADER).expect(heading) + HEADER.len();
            let end = start + new[start..].find("\n\n").expect(heading) + 1;
            new.replace_range(start..end, &rows(tables));
        }
        for key in ScenarioFile::KEYS
            .iter()
            .chain(LoadFile::KEYS)
            .chain(DiskFile::KEYS)
            .chain(ArrayFile::KEYS)
            .chain(DeviceFile::KEYS)
        {
            let header = format!("`{}`", key.table);
            assert!(
                key.table.is_empty() || new.contains(&header),
                "{header} has no paragraph"
            );
        }
        if std::env::var_os("UPDATE_MANUAL").is_some() {
            std::fs::write(MANUAL, &new).unwrap();
        } else {
            assert_eq!(
                manual, new,
                "UPDATE_MANUAL=1 brings docs/src/scenarios.md up to date"
            );
        }
    }
}
