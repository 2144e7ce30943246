//! What a trace says about itself besides its rows.

use std::collections::BTreeMap;
use std::fmt;

use iosonar_units::{Nanos, one_line};
use serde_json::{Error, Map, Value};

use crate::Notice;

/// What a trace says about itself besides its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// Lines of comment above the first row (a licence, the origin), without line ends.
    pub notices: Vec<String>,
    /// When time zero of the trace was, in nanoseconds since 1970 (UTC); `None` if that is not known.
    pub origin_ns: Option<u64>,
    /// The names of the devices, at the index that requests carry; empty if there is one without a
    /// name.
    pub devices: Vec<String>,
    /// Whatever else is known (host, kernel, tool, what times mean), by name.
    pub about: BTreeMap<String, String>,
    /// What happened while reading that the reader should know of: skipped rows, rounded offsets.
    pub remarks: Vec<Remark>,
}

/// Kinds of what happens to rows while they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RemarkKind {
    /// Rows that could not be read were skipped.
    Skipped,
    /// The last row may be the beginning of a longer one.
    LastRowCut,
    /// The file stops before its end.
    CutOff,
    /// The file was not given its final name, although it is whole.
    NotRenamed,
    /// Blocks were damaged.
    DamagedBlocks,
    /// Byte ranges were widened to whole sectors.
    Widened,
    /// Requests were not submitted when the load was recorded.
    NotSubmitted,
    /// Rows have no type of request, as it was never answered.
    Unanswered,
    /// The recording lost events.
    LostEvents,
    /// Requests began while an identical one was in flight.
    Identical,
    /// Completions without a start.
    NoStart,
    /// Requests without a completion.
    NoCompletion,
    /// Events before the first one.
    TooEarly,
    /// Commands of drives that move no data.
    NoData,
    /// Text above a header that is repeated.
    TextAboveHeader,
    /// The time went back, and the rest was shifted.
    Shifted,
    /// Requests would have become empty.
    Emptied,
    /// Requests of several devices were taken for those of one.
    SeveralDevices,
}

/// Something that happened to some rows while they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Of which kind it is.
    pub kind: RemarkKind,
    /// What happened, as the end of a sentence that begins with a number of rows, which is not 1.
    pub what: String,
    /// The same if the number is 1.
    pub what_of_one: String,
    /// To how many.
    pub count: u64,
    /// The first case; empty where there are no others.
    pub example: String,
}

impl Remark {
    /// What happened, in words that go with the number.
    pub fn happened(&self) -> &str {
        match self.count {
            1 => &self.what_of_one,
            _ => &self.what,
        }
    }
}

/// The lines of a notice as they can be in a text file: with tabs, but without other control characters.
fn lines(notice: &str) -> impl Iterator<Item = String> {
    let lines = notice.trim_end_matches(['\n', '\r']).split(['\n', '\r']);
    lines.map(|line| {
        let parts: Vec<_> = line.split('\t').map(one_line).collect();
        parts.join("\t")
    })
}

/// Remarks of more kinds than this are not distinguished: damage can have any number of forms.
const MOST_REMARKS: usize = 64;

/// Why metadata cannot be read.
#[derive(Debug)]
pub enum MetadataError {
    /// The text has this number of bytes.
    TooLong(usize),
    /// It has this number of devices.
    TooManyDevices(usize),
    /// It is not JSON, or a value has another type.
    Json(Error),
}

impl fmt::Display for MetadataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(bytes) => {
                let most = Metadata::MOST_JSON;
                write!(f, "{bytes} bytes, expected at most {most}")
            }
            Self::TooManyDevices(devices) => {
                let most = Metadata::MOST_DEVICES;
                write!(f, "{devices} devices, expected at most {most}")
            }
            Self::Json(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MetadataError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Json(error) => Some(error),
            Self::TooLong(_) | Self::TooManyDevices(_) => None,
        }
    }
}

impl From<Error> for MetadataError {
    fn from(error: Error) -> Self {
        Self::Json(error)
    }
}

impl Metadata {
    /// Those of the requests alone, for records of another run of them: what must be known of the old outcomes is left out.
    #[must_use]
    pub fn of_load(&self) -> Self {
        let mut of_load = self.clone();
        of_load.notices.retain(|line| Notice::of(line).is_none());
        of_load
    }

    /// The most bytes of JSON in a file: [`of_json`](Self::of_json) refuses more, and `.ios` files with more are not
    /// written.
    pub const MOST_JSON: usize = 1 << 20;

    /// The most devices of a trace: requests carry 16 bits.
    pub const MOST_DEVICES: usize = 1 << 16;

    /// What stands in a file, as JSON; remarks are of a reading, and stay out.
    ///
    /// # Errors
    /// None: texts and numbers always become JSON.
    pub fn to_json(&self) -> Result<String, Error> {
        let Self {
            notices,
            origin_ns,
            devices,
            about,
            remarks: _,
        } = self;
        Ok(format!(
            r#"{{"notices":{},"origin_ns":{},"devices":{},"about":{}}}"#,
            serde_json::to_string(notices)?,
            serde_json::to_string(origin_ns)?,
            serde_json::to_string(devices)?,
            serde_json::to_string(about)?,
        ))
    }

    /// What stands in a file: keys that are missing are empty, others than these are left out. Control characters, with
    /// which a name could begin a line of output, are replaced.
    ///
    /// # Errors
    /// If it is longer than [`MOST_JSON`](Self::MOST_JSON), is not JSON, has more than 65,536 devices, or a key has a
    /// value of another type.
    pub fn of_json(bytes: &[u8]) -> Result<Self, MetadataError> {
        // A value takes up to thirty times its text in memory.
        if bytes.len() > Self::MOST_JSON {
            return Err(MetadataError::TooLong(bytes.len()));
        }
        let mut object: Map<String, Value> = serde_json::from_slice(bytes)?;
        let mut metadata = Self::default();
        if let Some(notices) = object.remove("notices") {
            let notices: Vec<String> = serde_json::from_value(notices)?;
            metadata.notices = notices.iter().flat_map(|notice| lines(notice)).collect();
        }
        if let Some(origin) = object.remove("origin_ns") {
            metadata.origin_ns = serde_json::from_value(origin)?;
        }
        if let Some(devices) = object.remove("devices") {
            let devices: Vec<String> = serde_json::from_value(devices)?;
            metadata.devices = devices.iter().map(|name| one_line(name)).collect();
            if metadata.devices.len() > Self::MOST_DEVICES {
                return Err(MetadataError::TooManyDevices(metadata.devices.len()));
            }
        }
        if let Some(about) = object.remove("about") {
            let about: BTreeMap<String, String> = serde_json::from_value(about)?;
            let about = about.iter();
            let about = about.map(|(name, text)| (one_line(name), one_line(text)));
            metadata.about = about.collect();
        }
        Ok(metadata)
    }

    /// Counts a case of what happened, which is worded for one row and for several: `row was skipped`, `rows were skipped`.
    /// `example` is kept of the first case.
    pub fn remark(
        &mut self,
        kind: RemarkKind,
        [one, others]: [&str; 2],
        example: impl FnOnce() -> String,
    ) {
        if let Some(remark) = self.remarks.iter_mut().find(|r| r.what == others) {
            remark.count += 1;
        } else if self.remarks.len() < MOST_REMARKS {
            self.remarks.push(Remark {
                kind,
                what: others.to_owned(),
                what_of_one: one.to_owned(),
                count: 1,
                example: example(),
            });
        }
    }

    /// Becomes what a reader below knows by now, with the remarks of `own` on top. Hardly anything changes
    /// from batch to batch, so that unchanged parts are not copied.
    pub(crate) fn follow(&mut self, below: &Self, own: &Self) {
        if self.devices.len() != below.devices.len() {
            self.devices.clone_from(&below.devices);
        }
        if self.notices.len() != below.notices.len() {
            self.notices.clone_from(&below.notices);
        }
        if self.about.len() != below.about.len() {
            self.about.clone_from(&below.about);
        }
        if below.origin_ns.is_some() {
            self.origin_ns = below.origin_ns;
        }
        self.remarks.clone_from(&below.remarks);
        self.add_remarks(own);
    }

    /// Adds the cases that `other` counted.
    pub fn add_remarks(&mut self, other: &Self) {
        for remark in &other.remarks {
            match self.remarks.iter_mut().find(|r| r.what == remark.what) {
                Some(mine) => mine.count += remark.count,
                None => self.remarks.push(remark.clone()),
            }
        }
    }

    /// The name of device `number`: its own, or the number.
    pub fn device_name(&self, number: u16) -> String {
        let name = self.devices.get(usize::from(number));
        name.map_or_else(|| number.to_string(), Clone::clone)
    }

    /// When time zero of the trace was.
    pub fn origin(&self) -> Option<Nanos> {
        self.origin_ns.map(Nanos::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_holds_what_a_file_says_of_itself() {
        let mut metadata = Metadata {
            notices: vec!["a \"licence\"\tfor all".to_owned(), String::new()],
            origin_ns: Some(u64::MAX),
            devices: vec!["/dev/sdä".to_owned(), String::new()],
            about: BTreeMap::from([("host".to_owned(), "x".to_owned())]),
            remarks: Vec::new(),
        };
        let json = metadata.to_json().unwrap();
        assert_eq!(
            json,
            r#"{"notices":["a \"licence\"\tfor all",""],"origin_ns":18446744073709551615,"devices":["/dev/sdä",""],"about":{"host":"x"}}"#
        );
        assert_eq!(Metadata::of_json(json.as_bytes()).unwrap(), metadata);
        let skipped = ["row was skipped", "rows were skipped"];
        metadata.remark(RemarkKind::Skipped, skipped, String::new);
        assert_eq!(metadata.remarks[0].happened(), "row was skipped");
        metadata.remark(RemarkKind::Skipped, skipped, String::new);
        assert_eq!(metadata.remarks[0].happened(), "rows were skipped");
        assert_eq!(metadata.to_json().unwrap(), json);
    }

    #[test]
    fn other_versions_have_other_keys() {
        let metadata = Metadata::of_json(br#"{"later": {"x": 1}, "origin_ns": null}"#).unwrap();
        assert_eq!(metadata, Metadata::default());
        for wrong in ["[]", "{\"devices\": [1]}", "{\"origin_ns\": -1}", "{"] {
            assert!(Metadata::of_json(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_could_begin_a_line_of_output_is_replaced() {
        let hostile = "a\n\u{9b}2J\u{7f}\u{202e}b";
        let metadata = Metadata {
            notices: vec![hostile.to_owned(), "two\tand\r\n".to_owned()],
            devices: vec![hostile.to_owned()],
            about: BTreeMap::from([(hostile.to_owned(), hostile.to_owned())]),
            ..Metadata::default()
        };
        let read = Metadata::of_json(metadata.to_json().unwrap().as_bytes()).unwrap();
        let shown = "a\u{fffd}\u{fffd}2J\u{fffd}\u{fffd}b".to_owned();
        let second = shown.split_once('\u{fffd}').unwrap().1;
        assert_eq!(read.notices, ["a", second, "two\tand"]);
        assert_eq!(read.devices, std::slice::from_ref(&shown));
        assert_eq!(read.about, BTreeMap::from([(shown.clone(), shown)]));
    }

    #[test]
    fn longer_text_and_more_devices_are_refused() {
        let of = |devices: usize, name: &str| {
            let metadata = Metadata {
                devices: vec![name.to_owned(); devices],
                ..Metadata::default()
            };
            let json = metadata.to_json().unwrap();
            (json.len(), Metadata::of_json(json.as_bytes()))
        };
        let (_, read) = of(Metadata::MOST_DEVICES, "253,65535");
        assert_eq!(read.unwrap().devices.len(), Metadata::MOST_DEVICES);
        let error = of(Metadata::MOST_DEVICES + 1, "x").1.unwrap_err();
        assert_eq!(error.to_string(), "65537 devices, expected at most 65536");
        let (length, read) = of(Metadata::MOST_DEVICES, "a name of 23 characters");
        let text = format!("{length} bytes, expected at most 1048576");
        assert_eq!(read.unwrap_err().to_string(), text);
    }

    #[test]
    fn remarks_of_several_traces_add_up() {
        let of = |cases: &[[&str; 2]]| {
            let mut metadata = Metadata::default();
            for words in cases {
                metadata.remark(RemarkKind::Skipped, *words, String::new);
            }
            metadata
        };
        let (a, b) = (["a", "as"], ["b", "bs"]);
        let mut metadata = of(&[a, a, a]);
        metadata.add_remarks(&of(&[b, a, a]));
        let counts: Vec<(&str, u64)> = metadata
            .remarks
            .iter()
            .map(|remark| (remark.happened(), remark.count))
            .collect();
        assert_eq!(counts, [("as", 5), ("b", 1)]);
    }

    #[test]
    fn what_a_reader_below_finds_out_is_followed() {
        let own = Metadata::default();
        let mut followed = Metadata::default();
        let mut below = Metadata::default();
        assert_eq!(followed.origin(), None);
        below.devices.push("sda".to_owned());
        followed.follow(&below, &own);
        assert_eq!(followed, below);
        below.notices.push("a licence".to_owned());
        followed.follow(&below, &own);
        assert_eq!(followed, below);
        below.about.insert("host".to_owned(), "x".to_owned());
        below.origin_ns = Some(5);
        followed.follow(&below, &own);
        assert_eq!(followed, below);
        assert_eq!(followed.origin(), Some(Nanos::new(5)));
    }

    #[test]
    fn the_source_of_an_error_is_that_of_the_json() {
        let error = Metadata::of_json(b"{").unwrap_err();
        let source = std::error::Error::source(&error).unwrap();
        assert_eq!(source.to_string(), error.to_string());
        assert!(std::error::Error::source(&MetadataError::TooLong(1)).is_none());
    }

    #[test]
    fn json_may_have_the_most_bytes_and_no_more() {
        let mut json = b"{}".to_vec();
        json.resize(Metadata::MOST_JSON, b' ');
        assert_eq!(Metadata::of_json(&json).unwrap(), Metadata::default());
        json.push(b' ');
        assert!(Metadata::of_json(&json).is_err());
    }

    #[test]
    fn only_so_many_kinds_of_remarks_are_kept() {
        let mut metadata = Metadata::default();
        for _ in 0..2 {
            for i in 0..=MOST_REMARKS {
                let (one, others) = (format!("row {i}"), format!("rows {i}"));
                metadata.remark(RemarkKind::Skipped, [&one, &others], String::new);
            }
        }
        assert_eq!(metadata.remarks.len(), MOST_REMARKS);
        assert!(metadata.remarks.iter().all(|remark| remark.count == 2));
        assert_eq!(metadata.remarks[MOST_REMARKS - 1].what, "rows 63");
    }
}
