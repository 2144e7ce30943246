//! How a trace is read, as it is written in files.

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

/// A list of changes: pairs of a name and a value, in their order.
pub(crate) mod changes {
    use super::{Deserialize, Deserializer, Error, Serialize, Serializer};
    use crate::transform::{CHANGE_NAMES, Change, changes_of, written};

    pub(crate) fn serialize<S: Serializer>(
        changes: &[Change],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let pairs: Vec<(&str, String)> = changes.iter().map(written).collect();
        pairs.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Change>, D::Error> {
        let pairs = Vec::<(String, String)>::deserialize(deserializer)?;
        let is_unknown = |name: &String| !CHANGE_NAMES.contains(&name.as_str());
        if let Some((name, _)) = pairs.iter().find(|(name, _)| is_unknown(name)) {
            return Err(D::Error::custom(format!(
                "'{name}' is not an option that changes a load"
            )));
        }
        changes_of(&pairs).map_err(D::Error::custom)
    }
}

/// Whether something is chosen that has a word of its own: absent or another word where it is not.
macro_rules! word {
    ($name:ident, $yes:literal, $no:expr, $expected:literal) => {
        pub(crate) mod $name {
            use super::{Deserialize, Deserializer, Error, Serialize, Serializer};

            const NO: Option<&str> = $no;

            #[allow(clippy::trivially_copy_pass_by_ref)] // As serde calls it.
            pub(crate) fn serialize<S: Serializer>(
                chosen: &bool,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                (if *chosen { Some($yes) } else { NO }).serialize(serializer)
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<bool, D::Error> {
                match Option::<String>::deserialize(deserializer)?.as_deref() {
                    Some($yes) => Ok(true),
                    other if other == NO => Ok(false),
                    other => Err(D::Error::custom(format!(
                        "'{}', expected {}",
                        other.unwrap_or_default(),
                        $expected
                    ))),
                }
            }
        }
    };
}

word!(round, "out", None, "out");
word!(start_at, "issue", Some("queue"), "queue or issue");

/// Which column holds what: `time_s=Timestamp`, with commas or as a list.
pub(crate) mod columns {
    use super::{Deserializer, Error, Serialize, Serializer};
    use iosonar_units::one_or_many;

    pub(crate) fn serialize<S: Serializer>(
        columns: &[(String, String)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let pair = |(field, column): &(String, String)| format!("{field}={column}");
        let pairs: Vec<String> = columns.iter().map(pair).collect();
        pairs.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(String, String)>, D::Error> {
        let texts: Vec<String> = one_or_many(deserializer)?;
        let pair = |text: &str| match text.split_once('=') {
            Some((field, column)) => Ok((field.trim().to_owned(), column.trim().to_owned())),
            None => Err(D::Error::custom(format!("'{text}', expected FIELD=COLUMN"))),
        };
        texts
            .iter()
            .flat_map(|text| text.split(','))
            .map(pair)
            .collect()
    }
}

/// One character, or `tab`.
pub(crate) mod delimiter {
    use super::{Deserialize, Deserializer, Error, Serialize, Serializer};
    use crate::one_byte;

    #[allow(clippy::trivially_copy_pass_by_ref, clippy::ref_option)] // As serde calls it.
    pub(crate) fn serialize<S: Serializer>(
        delimiter: &Option<u8>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let text = delimiter.map(|byte| match byte {
            b'\t' => "tab".to_owned(),
            byte => char::from(byte).to_string(),
        });
        text.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<u8>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| one_byte(&text).map_err(D::Error::custom))
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use iosonar_units::Nanos;

    use crate::transform::Change;
    use crate::{ReadOptions, Reading};

    fn reading(json: &str) -> Result<Reading, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn how_a_trace_is_read_is_written_as_on_a_command_line() {
        let read = reading(
            r#"{
                "round": "out",
                "start_event": "q",
                "start_at": "issue",
                "columns": "time_s=When, op = What",
                "delimiter": "tab",
                "changes": [["shift", "3ns"], ["reverse", "true"]]
            }"#,
        )
        .unwrap();
        let options = &read.options;
        assert!(options.round_out && options.start_at_issue);
        let columns = [("time_s", "When"), ("op", "What")];
        let columns = columns.map(|(ours, theirs)| (ours.to_owned(), theirs.to_owned()));
        assert_eq!(
            (&options.columns[..], options.delimiter),
            (&columns[..], Some(b'\t'))
        );
        assert_eq!(
            read.changes,
            [Change::Shift(Nanos::new(3)), Change::Reverse]
        );

        let json = serde_json::to_string(&read).unwrap();
        let again = reading(&json).unwrap();
        assert_eq!(again.changes, read.changes);
        assert_eq!(again.options.columns, read.options.columns);
        assert_eq!(serde_json::to_string(&again).unwrap(), json);
    }

    #[test]
    fn what_is_not_written_is_the_usual() {
        let usual = Reading::default();
        for json in ["{}", &serde_json::to_string(&usual).unwrap()] {
            let ReadOptions {
                round_out,
                start_at_issue,
                columns,
                delimiter,
                ..
            } = reading(json).unwrap().options;
            assert!(!round_out && !start_at_issue && columns.is_empty());
            assert_eq!(delimiter, None);
        }
    }

    #[test]
    fn several_columns_are_a_list_or_stand_between_commas() {
        for json in [
            r#"{"columns": ["a=b", "c=d=e"]}"#,
            r#"{"columns": "a=b,c=d=e"}"#,
        ] {
            let pairs = [("a", "b"), ("c", "d=e")];
            let pairs = pairs.map(|(ours, theirs)| (ours.to_owned(), theirs.to_owned()));
            assert_eq!(reading(json).unwrap().options.columns, pairs);
        }
    }

    #[test]
    fn what_is_written_wrong_is_refused_with_what_is_expected() {
        for (json, problem) in [
            (r#"{"round": "in"}"#, "'in', expected out"),
            (r#"{"start_at": "end"}"#, "'end', expected queue or issue"),
            (
                r#"{"columns": "time_s"}"#,
                "'time_s', expected FIELD=COLUMN",
            ),
            (r#"{"delimiter": "::"}"#, "expected one character, or tab"),
            (
                r#"{"changes": [["fast", "2"]]}"#,
                "'fast' is not an option that changes a load",
            ),
            (r#"{"changes": [["shift", "x"]]}"#, "'shift' is 'x'"),
        ] {
            let error = reading(json).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }
}
