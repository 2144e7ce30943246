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
