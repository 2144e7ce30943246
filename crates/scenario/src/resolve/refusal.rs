//! Why the text of a scenario cannot be read, for those who write it: the line, the key, the value, and what to write
//! instead.

use std::ops::Range;
use std::path::Path;

use iosonar_units::{Bytes, plain_complaint};
use toml_edit::{Document, Item, TableLike, Value};

use crate::ScenarioError;
use crate::file::{
    ArrayFile, ControllerFile, DeviceFile, DiskFile, LoadFile, MdFile, RebuildFile, ScenarioFile,
};

/// What is wrong with a key, to be said after its name.
pub(super) struct Refusal {
    pub(super) key: String,
    pub(super) problem: String,
    /// Where it stands in the text.
    at: usize,
}

impl Refusal {
    /// Of an error in this text; `None` if the text is not TOML, so that there is no key.
    pub(super) fn of(error: &toml::de::Error, text: &str) -> Option<Self> {
        let document = Document::parse(text).ok()?;
        let found = find(document.as_table(), &error.span()?);
        let message = error.message();
        let named = |prefix| message.strip_prefix(prefix)?.split('`').next();
        if let Some(missing) = named("missing field `") {
            let table = found.map_or(String::new(), |found| found.key + ".");
            let key = format!("{table}{missing}");
            let needs = match key.as_str() {
                "array.level" | "array.disks" => {
                    ": an array has a level and a number of disks, such as level = \"raid5\" and disks = 5, or raid5:5xDRIVE in place \
                     of a file"
                }
                _ => "",
            };
            return Some(Self {
                key,
                problem: format!("is missing{needs}"),
                at: error.span()?.start,
            });
        }
        let found = found?;
        let plain = plain_complaint(message);
        let last = found.key.rsplit('.').next();
        let unknown = named("unknown field `").or_else(|| {
            let word = named("unknown variant `");
            word.filter(|word| Some(*word) == last)
        });
        let problem = if let Some(unknown) = unknown {
            let table = found.key.rsplit_once('.').map_or("", |(table, _)| table);
            let remedy = elsewhere(table, unknown, &found.value);
            if let Some(remedy) = remedy.or_else(|| in_other_table(unknown, &document)) {
                format!("is not a key of a scenario: write {remedy}")
            } else {
                let known = plain.find("expected").map_or("", |at| &plain[at..]);
                format!("is not a key, {}", known.replace('"', "'"))
            }
        } else {
            let plain = plain.replacen("has the wrong type", &format!("is {}", found.value), 1);
            let (said, near) = plain.split_at(plain.find("; did you mean").unwrap_or(plain.len()));
            match hint(&found) {
                Some(hint) if is_of_serde(message) || names_a_process(&found, near) => {
                    format!("{said}; write {hint}")
                }
                _ => plain,
            }
        };
        Some(Self {
            key: found.key,
            problem,
            at: found.at,
        })
    }

    /// As the error of a file.
    pub(super) fn in_file(self, path: &Path, text: &str) -> ScenarioError {
        ScenarioError::Refused {
            path: path.to_owned(),
            line: 1 + text[..self.at].matches('\n').count(),
            key: self.key,
            problem: self.problem,
        }
    }
}

/// Whether a message is that of a type, which knows nothing of the key.
fn is_of_serde(message: &str) -> bool {
    message.starts_with("wanted ") || message.starts_with("invalid type")
}

/// Whether the value is the name of an arrival process without its rate, and no other spelling of `alone`.
fn names_a_process(found: &Found, near: &str) -> bool {
    found.key == "load.arrivals" && (is_closed(found) || !near.contains("\"alone\""))
}

fn is_closed(found: &Found) -> bool {
    found.key == "load.arrivals" && found.value.trim_matches(['"', '\'']).starts_with("closed")
}

/// What to write for the key.
fn hint(found: &Found) -> Option<&'static str> {
    if is_closed(found) {
        return Some("closed = { outstanding = 8 } instead of 'arrivals'");
    }
    let hint = HINTS.iter().find(|(key, _)| *key == found.key);
    hint.map(|(_, hint)| *hint)
}

/// What keys look like whose values are tables.
const HINTS: &[(&str, &str)] = &[
    (
        "load.arrivals",
        "rate_per_s = 75.0 instead of 'arrivals', or arrivals = { poisson_per_s = 75.0 }",
    ),
    ("load.batch", "batch = { requests = 3 }"),
    ("load.closed", "closed = { outstanding = 8 }"),
    ("load.addresses", "addresses = { zipf = 0.9 }"),
    (
        "array.stripe_unit",
        "a size with a unit, such as \"128KiB\"",
    ),
    ("load.block", "a size with a unit, such as \"4KiB\""),
    (
        "controller.cache",
        "a size with a unit, such as \"64MiB\", or \"0\" for no cache",
    ),
];

/// The key of an error.
struct Found {
    key: String,
    value: String,
    at: usize,
}

/// The innermost key, or value of one, that a part of the text belongs to.
fn find(table: &dyn TableLike, part: &Range<usize>) -> Option<Found> {
    let mut all = Vec::new();
    collect(table, "", &mut all);
    let holds = |range: &Range<usize>| range.start <= part.start && part.end <= range.end;
    let (_, found) = all
        .into_iter()
        .filter(|(range, _)| holds(range))
        .min_by_key(|(range, _)| range.len())?;
    Some(found)
}

/// All keys, with the ranges of the text that are theirs.
fn collect(table: &dyn TableLike, prefix: &str, all: &mut Vec<(Range<usize>, Found)>) {
    for (name, item) in table.iter() {
        let key = format!("{prefix}{name}");
        let of_key = table.key(name).and_then(toml_edit::Key::span);
        for range in of_key.into_iter().chain(item.span()) {
            let found = Found {
                key: key.clone(),
                value: item.to_string().trim().to_owned(),
                at: range.start,
            };
            all.push((range, found));
        }
        let inner = format!("{key}.");
        match item {
            Item::ArrayOfTables(tables) => {
                tables.iter().for_each(|table| collect(table, &inner, all));
            }
            Item::Value(Value::Array(values)) => {
                let tables = values.iter().filter_map(Value::as_inline_table);
                tables.for_each(|table| collect(table, &inner, all));
            }
            item => {
                if let Some(table) = item.as_table_like() {
                    collect(table, &inner, all);
                }
            }
        }
    }
}

/// How a key of fio, or of everyday language, is written in a scenario.
fn elsewhere(table: &str, key: &str, value: &str) -> Option<String> {
    let text = value.trim_matches('"');
    let percent = |share: f64| format!("read_share = \"{share}%\"");
    let number = || text.trim_end_matches('%').trim().parse::<f64>().ok();
    let load = table == "load" || table == "load.class";
    let remedy = match key {
        "raid" if table.is_empty() => "[array], with level = \"raid5\" and disks = 5".to_owned(),
        "workload" | "job" if table.is_empty() => "[load]".to_owned(),
        // A number of disks is a key of [array].
        "disks" if number().is_some() => return None,
        "disks" | "hdd" | "drive" if table.is_empty() => "[disk]".to_owned(),
        "nvme" | "flash" if table.is_empty() => "[ssd]".to_owned(),
        "bs" | "blocksize" | "block_size" | "request_size" if load => sizes(text),
        "rwmixread" | "read_percent" if load => percent(number()?),
        "rwmixwrite" | "write_percent" if load => percent(100.0 - number()?),
        "read_ratio" | "read_fraction" | "reads" if load => format!("read_share = {value}"),
        "write_share" | "write_ratio" if load => match number()? {
            share if text.ends_with('%') || share > 1.0 => percent(100.0 - share),
            share => percent(((1.0 - share) * 1e8).round() / 1e6),
        },
        "iodepth" | "queue_depth" | "numjobs" | "threads" | "users" if load => {
            format!("closed = {{ outstanding = {text} }} instead of 'arrivals'")
        }
        "iops" | "rate_iops" | "arrival_rate" | "requests_per_s" | "lambda" if load => {
            format!("rate_per_s = {text}")
        }
        "rw" | "readwrite" if load => {
            "read_share = \"70%\" for the share of reads, and addresses = { sequential_run = inf } for consecutive \
             requests"
                .to_owned()
        }
        "runtime" | "duration" | "number_ios" if load => {
            "requests = N, the number of measured requests".to_owned()
        }
        "chunk" | "chunk_size" | "stripe_size" | "strip_size" if table == "array" => {
            format!("stripe_unit = {value}")
        }
        "unit" if table.is_empty() => "'array.stripe_unit'".to_owned(),
        "raid_level" | "raid" | "type" if table == "array" => {
            format!("level = \"{}\"", text.to_ascii_lowercase())
        }
        "drives" | "ndisks" | "num_disks" | "devices" if table == "array" => {
            format!("disks = {value}")
        }
        "rpm" | "capacity_gb" | "seek_ms" | "average_seek_ms" if table == "disk" => {
            "data sheet figures under [disk.from_data_sheet], without 'profile'".to_owned()
        }
        _ => return None,
    };
    Some(remedy)
}

/// The keys of this name in all tables: what was probably meant by one without its table, or with another.
fn in_other_table(key: &str, document: &Document<&str>) -> Option<String> {
    // A networked system has tables of its own.
    const NETWORKED: [&str; 3] = ["network", "central", "storage"];
    if NETWORKED.iter().any(|table| document.contains_key(table)) {
        return None;
    }
    let tables = [
        ("", ScenarioFile::KEYS),
        ("load.", LoadFile::KEYS),
        ("array.", ArrayFile::KEYS),
        ("array.md.", MdFile::KEYS),
        ("controller.", ControllerFile::KEYS),
        ("rebuild.", RebuildFile::KEYS),
        ("disk.", DiskFile::KEYS),
        ("device.", DeviceFile::KEYS),
    ];
    let with_key = tables
        .into_iter()
        .filter(|(_, keys)| keys.iter().any(|of| of.name == key));
    let mut with_key: Vec<_> = with_key.map(|(table, _)| table).collect();
    // The keys of [ssd] are those of its profiles.
    if key == "profile" {
        with_key.push("ssd.");
    }
    let all: Vec<_> = with_key
        .iter()
        .map(|table| format!("'{table}{key}'"))
        .collect();
    (!all.is_empty()).then(|| all.join(" or "))
}

/// The block sizes of fio, `8k` or `8k,64k`, in which `k` is 1024.
fn sizes(text: &str) -> String {
    let size = |text: &str| {
        let bytes = text.trim().parse::<Bytes>();
        bytes.map_or(text.trim().to_owned(), |bytes| {
            bytes.to_string().replace(' ', "")
        })
    };
    match text.split_once(',') {
        Some((read, write)) => {
            format!(
                "size = {{ read = \"{}\", write = \"{}\" }}",
                size(read),
                size(write)
            )
        }
        None => format!("size = \"{}\"", size(text)),
    }
}
