//! The trace formats: one file each, one list.
//!
//! To add a format, write a file with a [`Format`] and name it in [`ALL`]. Crates that build on this one
//! [`register`] theirs.

use std::path::Path;
use std::sync::{PoisonError, RwLock};

use crate::{Format, Source, TraceError, whole_file};

mod alibaba;
mod biosnoop;
mod blkreplay;
mod diskmon;
mod disksim;
mod disksim_validation;
mod fio;
mod fiu;
pub(crate) mod ios;
pub(crate) mod kernel;
mod mqsim;
mod msr;
mod named;
mod spc;
mod systor;
mod tencent;

/// The formats of this crate, in the order in which contents are tried: what begins with a
/// signature or a header first, what is recognised by the shape of its rows last.
pub const ALL: &[&dyn Format] = &[
    &ios::Ios,
    &kernel::Blktrace,
    &fio::Fio,
    &biosnoop::BIOSNOOP,
    &kernel::Blkparse,
    &kernel::Tracepoints,
    &systor::SYSTOR,
    &named::Csv,
    &named::JsonLines,
    &msr::MSR,
    &alibaba::ALIBABA,
    &tencent::TENCENT,
    &spc::SPC,
    &fiu::FIU,
    &disksim_validation::VALIDATION,
    &disksim::DISKSIM,
    &mqsim::MQSIM,
    &diskmon::DISKMON,
    &blkreplay::Blkreplay,
];

/// The formats that other crates registered.
static REGISTERED: RwLock<Vec<&'static dyn Format>> = RwLock::new(Vec::new());

/// Adds a format to those that this process knows. False if there is one of this name already: that one stays.
///
/// A program does so when it starts, before it opens the first trace.
pub fn register(format: &'static dyn Format) -> bool {
    // A list is whole even where a thread panicked that was to add to it.
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    let is_taken = |other: &&dyn Format| other.name() == format.name();
    if ALL.iter().chain(registered.iter()).any(is_taken) {
        return false;
    }
    registered.push(format);
    true
}

fn registered() -> Vec<&'static dyn Format> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    registered.clone()
}

/// Every format that this process knows: those of this crate, then those that were registered.
pub fn all() -> Vec<&'static dyn Format> {
    let mut all = ALL.to_vec();
    all.extend(registered());
    all
}

/// The format that `head` is in. Registered ones are asked first: what this crate recognises by the shape of its rows
/// might be theirs.
fn recognised(head: &[u8]) -> Option<&'static dyn Format> {
    let registered = registered();
    let mut formats = registered.iter().chain(ALL);
    formats.find(|format| format.recognises(head)).copied()
}

/// The format of a table that begins with `head`, whose columns are mapped: CSV, unless it is another for certain.
pub(crate) fn of_columns(head: &[u8]) -> Result<&'static dyn Format, TraceError> {
    match recognised(head).filter(|format| format.maps_columns()) {
        Some(format) => Ok(format),
        None => by_format_name("csv"),
    }
}

/// The format called `name`.
///
/// # Errors
/// [`TraceError::Option`] with all names if none matches.
pub fn by_format_name(name: &str) -> Result<&'static dyn Format, TraceError> {
    let found = all().into_iter().find(|format| format.name() == name);
    found.ok_or_else(|| {
        TraceError::Option(format!(
            "'{name}' is not a format, expected one of: {}",
            names()
        ))
    })
}

/// The format of a source that begins with `head`.
pub(crate) fn format_of(head: &[u8], source: &Source) -> Result<&'static dyn Format, TraceError> {
    let path = source.path.as_path();
    if head.is_empty() {
        // Cut off before the first row.
        if source.cut.is_known()
            && let Some(format) = by_name(path)
        {
            return Ok(format);
        }
        return Err(TraceError::UnknownFormat {
            path: path.to_owned(),
            reason: "the file is empty".to_owned(),
            readable: names(),
        });
    }
    if let Some(format) = recognised(head) {
        return Ok(format);
    }
    by_name(path).ok_or_else(|| TraceError::UnknownFormat {
        path: path.to_owned(),
        reason:
            "neither the content nor the name matches a known format: specify one with --format"
                .to_owned(),
        readable: names(),
    })
}

/// The endings of compressed files.
pub(crate) const COMPRESSED: [&str; 4] = [".gz", ".zst", ".xz", ".bz2"];

/// The format that the name of `path` suggests, a compression's ending left aside.
pub(crate) fn by_name(path: &Path) -> Option<&'static dyn Format> {
    let path = whole_file::final_name(path).unwrap_or_else(|| path.to_owned());
    // Endings are ASCII, whatever stands before them.
    let name = path.file_name()?.to_string_lossy();
    let name = COMPRESSED
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(&name);
    let (_, extension) = name.rsplit_once('.')?;
    let known = |f: &&'static dyn Format| f.extensions().contains(&extension);
    all().into_iter().find(known)
}

/// The file name endings of all formats that can be written, for messages.
pub(crate) fn endings() -> String {
    let endings: Vec<_> = all()
        .into_iter()
        .filter(|format| format.loses().is_some())
        .flat_map(Format::extensions)
        .map(|ending| format!(".{ending}"))
        .collect();
    format!("{}, optionally followed by .gz or .zst", endings.join(", "))
}

/// The names of all formats, for messages.
pub(crate) fn names() -> String {
    let names: Vec<_> = all().into_iter().map(Format::name).collect();
    names.join(", ")
}

/// The names of the formats that can be written, for messages.
pub(crate) fn writable() -> String {
    let names: Vec<_> = all()
        .into_iter()
        .filter(|format| format.loses().is_some())
        .map(Format::name)
        .collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_described_by_what_it_has() {
        // A word of the description and of the columns, both by the format's own documentation.
        let known = [
            ("ios", "binary format", "pushed_back"),
            ("blktrace", "one file per processor", "sector, bytes"),
            ("fio", "fio I/O logs", "datasync"),
            ("biosnoop", "biosnoop text", "LAT (ms)"),
            ("blkparse", "blkparse text", "sequence, time (s)"),
            ("tracepoints", "tracefs, perf script", "event, device"),
            ("systor", "Systor", "Response (s)"),
            ("csv", "CSV with a header", "latency"),
            ("jsonl", "JSON lines", "latency"),
            ("msr", "MSR Cambridge", "100 ns since 1601"),
            ("alibaba", "Alibaba", "us since 1970"),
            ("tencent", "Tencent", "0 read, 1 write"),
            ("spc", "Storage Performance Council", "ASU, LBA (sectors)"),
            ("fiu", "FIU", "md5"),
            ("disksim-validation", "measured access times", "think (us)"),
            ("disksim", "DiskSim ASCII", "bit 0 read"),
            ("mqsim", "MQSim", "0 write, 1 read"),
            ("diskmon", "DiskMon", "duration (s)"),
            ("blkreplay", "one request per line", "9 decimals"),
        ];
        let names: Vec<&str> = ALL.iter().map(|format| format.name()).collect();
        assert_eq!(names, known.map(|(name, ..)| name));
        for (format, (name, description, column)) in ALL.iter().zip(known) {
            assert!(format.description().contains(description), "{name}");
            assert!(format.columns().contains(column), "{name}");
            let endings: &[&str] = match name {
                "ios" => &["ios"],
                "fio" => &["fio", "iolog"],
                "csv" => &["csv", "tsv"],
                "jsonl" => &["jsonl", "ndjson"],
                "blkreplay" => &["load", "replay"],
                "fiu" => &["blkparse"],
                "spc" => &["spc"],
                "disksim" => &["ascii"],
                // Found by content alone.
                _ => &[],
            };
            assert_eq!(format.extensions(), endings, "{name}");
            // Only fio's logs have no place for a latency.
            assert_eq!(format.holds_latencies(), name != "fio", "{name}");
        }
    }

    #[test]
    fn a_format_that_is_written_says_what_it_loses() {
        let losses: Vec<(&str, &str)> = ALL
            .iter()
            .filter_map(|format| Some((format.name(), format.loses()?)))
            .collect();
        let names: Vec<&str> = losses.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["ios", "fio", "csv", "jsonl", "blkreplay"]);
        // What only this format, or few, cannot hold.
        for ((name, loss), words) in losses.iter().zip([
            "nothing",
            "the position of flushes",
            "wall clock, notices",
            "wall clock, notices",
            "zero and unmeasured times",
        ]) {
            assert!(loss.contains(words), "{name}: {loss}");
        }
        let of = |wanted| losses.iter().find(|(name, _)| *name == wanted);
        // Both have the same fields.
        assert_eq!(
            of("csv").map(|(_, loss)| loss),
            of("jsonl").map(|(_, loss)| loss)
        );
    }

    #[test]
    fn a_head_is_recognised_by_its_shape() {
        let read = |head: &str| recognised(head.as_bytes()).map(Format::name);
        for (head, name) in [
            (
                "8,0 1 1 0.000000000 697 Q R 8 + 8 [fio]\n",
                Some("blkparse"),
            ),
            (
                "Input file sda added\n8,0 1 1 0.0 697 Q R\n",
                Some("blkparse"),
            ),
            ("x,0 1 1 0.0 697 Q R\n", None),
            ("8,x 1 1 0.0 697 Q R\n", None),
            ("8 1 1 0.0 697 Q R\n", None),
            ("8,0 x 1 0.0 697 Q R\n", None),
            ("8,0 1 x 0.0 697 Q R\n", None),
            ("8,0 1 1 0.0 x Q R\n", None),
            ("8,0 1 1 0 697 Q R\n", None),
            ("{\"start\": 1}\n", Some("jsonl")),
            ("{1}\n", None),
            ("\"start\"\n", None),
            ("0 4892 sh -c 904265560 8 W 6 0 531e\n", Some("fiu")),
            ("0 4892 sh 904265560 8 R 6 0\n", Some("fiu")),
            ("x 4892 sh 904265560 8 W 6 0 531e\n", None),
            ("0 x sh 904265560 8 W 6 0 531e\n", None),
            ("0 4892 sh x 8 W 6 0 531e\n", None),
            ("0 4892 sh 904265560 x W 6 0 531e\n", None),
            ("0 4892 sh 904265560 8 W x 0 531e\n", None),
            ("0 4892 sh 904265560 8 W 6 x 531e\n", None),
        ] {
            assert_eq!(read(head), name, "{head}");
        }
    }

    #[test]
    fn no_reader_has_more_rows_in_a_batch_than_any() {
        use crate::{Batch, Metadata, Record, TraceReader, input, output};
        use iosonar_units::{Nanos, Sectors};
        let rows = Batch::ROWS as u64 + 1;
        let mut batch = Batch::default();
        for i in 0..rows {
            let mut record = Record::default();
            record.request.start = Nanos::from_micros(i);
            record.request.sectors = Sectors::new(1);
            batch.push(&record);
            batch.set_think(batch.len() - 1, Some(Nanos::new(1 + i)));
        }
        let dir = tempfile::tempdir().unwrap();
        let sizes = |path: &std::path::Path, has_think: bool| {
            let mut reader = input::open(path).unwrap();
            let (mut batch, mut sizes) = (Batch::default(), Vec::new());
            let mut row = 0;
            while reader.next_batch(&mut batch).unwrap() > 0 {
                sizes.push(batch.len());
                for i in 0..batch.len() {
                    row += 1;
                    let think = has_think.then_some(Nanos::new(row));
                    assert_eq!(batch.think(i), think, "{}", path.display());
                }
            }
            sizes
        };
        for (name, has_think) in [
            ("x.ios", true),
            ("x.csv", true),
            ("x.tsv", true),
            ("x.jsonl", true),
            ("x.load", false),
            ("x.fio", false),
        ] {
            let path = dir.path().join(name);
            let mut writer = output::create(&path, &Metadata::default()).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
            assert_eq!(sizes(&path, has_think), [Batch::ROWS, 1], "{name}");
        }
        // One of the formats of a request a line that have a reader in common.
        let path = dir.path().join("x.msr");
        let text = "128166372003061629,hm,1,Read,383496192,32768,413\n".repeat(Batch::ROWS + 1);
        std::fs::write(&path, text).unwrap();
        assert_eq!(sizes(&path, false), [Batch::ROWS, 1]);
    }

    #[test]
    fn what_is_flushed_can_be_read_of_the_file_that_is_being_written() {
        use crate::output::{self, written_so_far};
        use crate::{Batch, Metadata, Record};
        let dir = tempfile::tempdir().unwrap();
        let mut batch = Batch::default();
        let mut record = Record::default();
        record.request.sectors = iosonar_units::Sectors::new(1);
        batch.push(&record);
        for (name, is_text) in [
            ("x.ios", false),
            ("x.csv", true),
            ("x.jsonl", true),
            ("x.load", true),
            ("x.fio", true),
        ] {
            let path = dir.path().join(name);
            let mut writer = output::create(&path, &Metadata::default()).unwrap();
            writer.write(&batch).unwrap();
            assert_eq!(written_so_far(&path), 0, "{name}");
            writer.flush().unwrap();
            let flushed = written_so_far(&path);
            writer.finish().unwrap();
            let all = path.metadata().unwrap().len();
            assert!(flushed > 0, "{name}");
            // The binary format has an index behind its blocks, and fio's logs close their files.
            assert_eq!(flushed == all, is_text && name != "x.fio", "{name}");
        }
        let magic = [0x89, b'I', b'O', b'S', b'\r', b'\n', 0x1a, b'\n'];
        assert_eq!(recognised(&magic).map(Format::name), Some("ios"));
        assert!(recognised(&magic[..7]).is_none());
    }
}
