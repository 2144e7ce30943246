//! What stands behind the parameters of a device.

use std::fmt;

use iosonar_units::text_in_one_line;
use serde::{Deserialize, Serialize};

/// What stands behind the parameters of a device.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Provenance {
    /// A recording of the device, which the model reproduces as well as this.
    Validated {
        /// Which recording.
        #[serde(deserialize_with = "text_in_one_line")]
        recording: String,
        /// How far the distributions of response times are apart, as the root mean square of the differences of equal
        /// quantiles.
        demerit_ms: f64,
    },
    /// The manufacturer's figures.
    DataSheet {
        /// Which document.
        #[serde(deserialize_with = "text_in_one_line")]
        document: String,
        /// When it was published.
        year: u16,
    },
    /// A publication.
    Paper {
        /// Which.
        #[serde(deserialize_with = "text_in_one_line")]
        citation: String,
    },
    /// A fit to records of the device.
    Calibrated {
        /// Which records.
        #[serde(deserialize_with = "text_in_one_line")]
        records: String,
        /// How well its parameters are known.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parameters: Vec<CalibratedParameter>,
        /// What the records do not hold: these keys are as they were before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        not_identified: Vec<NotIdentified>,
    },
}

/// A parameter that records hold.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CalibratedParameter {
    /// Its key in the profile.
    #[serde(deserialize_with = "text_in_one_line")]
    pub key: String,
    /// The records allow values from here ...
    pub low: f64,
    /// ... to here.
    pub high: f64,
    /// How many requests it stands on.
    pub requests: u64,
}

/// A parameter that records do not hold.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NotIdentified {
    /// Its key in the profile.
    #[serde(deserialize_with = "text_in_one_line")]
    pub key: String,
    /// What the records lack.
    #[serde(deserialize_with = "text_in_one_line")]
    pub why: String,
}

impl Provenance {
    /// Its kind in a word or two.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Validated { .. } => "validated",
            Self::DataSheet { .. } => "data sheet",
            Self::Paper { .. } => "paper",
            Self::Calibrated { .. } => "calibrated",
        }
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Validated {
                recording,
                demerit_ms,
            } => write!(f, "{recording} (demerit {demerit_ms} ms)"),
            Self::DataSheet { document, year } => write!(f, "{document}, {year}"),
            Self::Paper { citation: of } | Self::Calibrated { records: of, .. } => f.write_str(of),
        }
    }
}
