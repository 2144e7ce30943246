//! What a format is: how it is recognised, read and written.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use iosonar_units::Nanos;
#[cfg(feature = "serde")]
use iosonar_units::{one_or_many, scalar};

use crate::whole_file::Output;
#[cfg(feature = "serde")]
use crate::written::{columns, delimiter, round, start_at};
use crate::{Batch, CutOff, Metadata, TraceError};

/// A kind of trace file.
///
/// To add one here, implement this in a file of its own and name it in [`formats::ALL`](crate::formats::ALL). Other
/// crates add theirs with [`formats::register`](crate::formats::register).
pub trait Format: Sync {
    /// Its name, as `--format` takes it.
    fn name(&self) -> &'static str;

    /// File name endings (without compression) that suggest it, most usual first.
    fn extensions(&self) -> &'static [&'static str] {
        &[]
    }

    /// What it is, in a line.
    fn description(&self) -> &'static str;

    /// The columns that it has, with units.
    fn columns(&self) -> &'static str;

    /// What is lost when a trace is written and read again; `None` if it cannot be written.
    fn loses(&self) -> Option<&'static str> {
        None
    }

    /// Whether requests to several devices can be distinguished when they are read again.
    fn holds_devices(&self) -> bool {
        true
    }

    /// Whether latencies are there when they are read again.
    fn holds_latencies(&self) -> bool {
        true
    }

    /// Whether [`ReadOptions::columns`] maps its columns.
    fn maps_columns(&self) -> bool {
        false
    }

    /// Whether `head`, the first kilobytes of a file, is in this format.
    fn recognises(&self, head: &[u8]) -> bool;

    /// Reads from `source`.
    ///
    /// # Errors
    /// If the beginning cannot be read.
    fn reader(
        &self,
        source: Source,
        options: &ReadOptions,
    ) -> Result<Box<dyn TraceReader>, TraceError>;

    /// Writes to `sink`.
    ///
    /// # Errors
    /// If the format cannot be written, or the beginning cannot.
    fn writer(
        &self,
        sink: Sink,
        metadata: &Metadata,
        options: &WriteOptions,
    ) -> Result<Box<dyn TraceWriter>, TraceError> {
        let _ = (metadata, options);
        Err(TraceError::NotWritable {
            path: sink.path,
            format: self.name(),
            writable: "formats that list the information they lose".to_owned(),
        })
    }
}

/// Where a reader reads from.
pub struct Source {
    /// The plain bytes.
    pub input: Box<dyn Read + Send>,
    /// The file, for messages; `-` for standard input.
    pub path: PathBuf,
    /// The same bytes where one can jump in them: a plain file that is not compressed.
    pub file: Option<File>,
    /// Where the input stops early, shared with those who find out.
    pub cut: CutOff,
}

/// Where a writer writes to.
pub struct Sink {
    /// Takes the plain bytes.
    pub output: Box<dyn Output>,
    /// The file, for messages; `-` for standard output.
    pub path: PathBuf,
}

/// How a trace is read. In files its keys are named as the options of the command line.
#[derive(Clone, Debug, Default)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct ReadOptions {
    /// The format's name; else it is found by content and name.
    pub format: Option<String>,
    /// Skip what cannot be read and count it, instead of failing.
    pub lenient: bool,
    /// Widen byte ranges that are not whole sectors, and count them, instead of failing.
    #[cfg_attr(feature = "serde", serde(rename = "round", with = "round"))]
    pub round_out: bool,
    /// Only requests to these devices, by name or number; empty for all.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "device", deserialize_with = "one_or_many")
    )]
    pub devices: Vec<String>,
    /// Which event begins a request, in traces of the kernel's events.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "scalar"))]
    pub start_event: StartEvent,
    /// In traces of the kernel's events: the times of a request are delay = issue - start and latency =
    /// completion - issue, where they otherwise are 0 and completion - start.
    #[cfg_attr(feature = "serde", serde(rename = "start_at", with = "start_at"))]
    pub start_at_issue: bool,
    /// Tables (CSV and others): our field for each of the file's columns, `time_s=Timestamp`.
    #[cfg_attr(feature = "serde", serde(with = "columns"))]
    pub columns: Vec<(String, String)>,
    /// CSV: what stands between fields; a comma, semicolon or tab is found by itself.
    #[cfg_attr(feature = "serde", serde(with = "delimiter"))]
    pub delimiter: Option<u8>,
    /// blkparse's `-f` format, where the text was written with one.
    pub blkparse_format: Option<String>,
    /// Where records are taken as a load: also the requests that were never submitted when they were recorded
    /// (skipped, dropped, missed).
    #[cfg_attr(feature = "serde", serde(rename = "include_skipped"))]
    pub include_unsubmitted: bool,
    /// Counts bytes read from files, for progress bars.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub progress: Option<Arc<ReadProgress>>,
}

/// What stands between fields: one character, or `tab`.
///
/// # Errors
/// If it is more than one.
pub fn one_byte(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" | b"tab" => Ok(b'\t'),
        // A single byte of a text is ASCII.
        [byte] => Ok(*byte),
        _ => Err("expected one character, or tab".to_owned()),
    }
}

/// How far the reading of files has come.
#[derive(Debug, Default)]
pub struct ReadProgress {
    /// Bytes read.
    pub read: AtomicU64,
    /// Bytes that there are; 0 if that is not known.
    pub total: AtomicU64,
}

/// Which of the kernel's events begins a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "lowercase")
)]
pub enum StartEvent {
    /// The most frequent of queue, get, insert and issue; completion without any of these.
    #[default]
    Auto,
    /// Q: it was handed to the block layer.
    Queue,
    /// G: a request was allocated for it.
    Get,
    /// I: it was inserted into the scheduler's queue.
    Insert,
    /// D: it was issued to the driver.
    Issue,
    /// C: it was complete; there are no latencies then.
    Complete,
}

impl std::str::FromStr for StartEvent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text.to_ascii_lowercase().as_str() {
            "auto" => Self::Auto,
            "q" | "queue" => Self::Queue,
            "g" | "get" => Self::Get,
            "i" | "insert" => Self::Insert,
            "d" | "issue" => Self::Issue,
            "c" | "complete" => Self::Complete,
            _ => {
                return Err(
                    "expected auto, q (queue), g (get), i (insert), d (issue) or c (complete)"
                        .to_owned(),
                );
            }
        })
    }
}

/// How a trace is written.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// The format's name; else it follows from the file's name.
    pub format: Option<String>,
    /// Leave out what the format cannot hold, and count it, instead of failing.
    pub lossy: bool,
    /// Have each flush, and the complete file, on their medium before going on: a loss of power takes nothing that
    /// was flushed.
    pub durable: bool,
    /// Where the reader of a trace on standard output has gone away, drop the rest instead of failing: there are other
    /// results.
    pub outlives_reader: bool,
    /// fio: the file that requests go to; else the device's name, or `target`.
    pub fio_file: Option<String>,
}

/// A source of batches.
pub trait TraceReader: Send {
    /// Empties `batch` and fills it with the next rows; returns how many, 0 at the end.
    ///
    /// # Errors
    /// If the input is damaged; the error names the place.
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError>;

    /// What the trace says about itself, as far as it has been read.
    fn metadata(&self) -> &Metadata;

    /// A hint, before the first row: rows that start before `start` are not needed. A format with an
    /// index jumps over them.
    ///
    /// # Errors
    /// If the file cannot be read.
    fn skip_before(&mut self, start: Nanos) -> Result<(), TraceError> {
        let _ = start;
        Ok(())
    }

    /// No row to come starts before this time, as far as is known without reading on.
    fn none_before(&mut self) -> Nanos {
        Nanos::ZERO
    }
}

impl<R: TraceReader + ?Sized> TraceReader for Box<R> {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        (**self).next_batch(batch)
    }

    fn metadata(&self) -> &Metadata {
        (**self).metadata()
    }

    fn skip_before(&mut self, start: Nanos) -> Result<(), TraceError> {
        (**self).skip_before(start)
    }

    fn none_before(&mut self) -> Nanos {
        (**self).none_before()
    }
}

/// A sink of batches that becomes a whole file, or none, when it is finished.
pub trait TraceWriter: Send {
    /// Appends the rows of `batch`.
    ///
    /// # Errors
    /// If the output cannot be written, or the format cannot hold a row.
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError>;

    /// Passes the metadata known at the end of the trace: devices may have been added since its beginning.
    fn update(&mut self, metadata: &Metadata) {
        let _ = metadata;
    }

    /// How many rows were left out because the format cannot hold them (where that is permitted).
    fn left_out(&self) -> u64 {
        0
    }

    /// Writes all rows so far to the file under its temporary name, so that a crash of this program loses none of
    /// them; of a compressed file, all of them can be unpacked. With [`WriteOptions::durable`], they are on the medium
    /// then.
    ///
    /// # Errors
    /// If the output cannot be written.
    fn flush(&mut self) -> Result<(), TraceError> {
        Ok(())
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// If the output cannot be written; no file of that name appears then.
    fn finish(self: Box<Self>) -> Result<(), TraceError>;
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::whole_file::Counter;

    /// A format, a reader and a writer with no more than they must have.
    struct Least;

    impl Format for Least {
        fn name(&self) -> &'static str {
            "least"
        }

        fn description(&self) -> &'static str {
            "no more than it must have"
        }

        fn columns(&self) -> &'static str {
            "none"
        }

        fn recognises(&self, _: &[u8]) -> bool {
            false
        }

        fn reader(&self, _: Source, _: &ReadOptions) -> Result<Box<dyn TraceReader>, TraceError> {
            Ok(Box::new(Nothing(Metadata::default())))
        }
    }

    struct Nothing(Metadata);

    impl TraceReader for Nothing {
        fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
            batch.clear();
            Ok(0)
        }

        fn metadata(&self) -> &Metadata {
            &self.0
        }
    }

    impl TraceWriter for Nothing {
        fn write(&mut self, _: &Batch) -> Result<(), TraceError> {
            Ok(())
        }

        fn finish(self: Box<Self>) -> Result<(), TraceError> {
            Ok(())
        }
    }

    #[test]
    fn a_format_has_no_names_and_maps_no_columns_unless_it_says_so() {
        assert!(Least.extensions().is_empty());
        assert!(Least.holds_devices() && !Least.maps_columns());
        assert_eq!(Least.loses(), None);
        let sink = Sink {
            output: Counter::default().of(Path::new("x")).unwrap(),
            path: PathBuf::from("x"),
        };
        let writer = Least.writer(sink, &Metadata::default(), &WriteOptions::default());
        let Err(TraceError::NotWritable { path, format, .. }) = writer else {
            panic!("a format that is only read was written");
        };
        assert_eq!((path, format), (PathBuf::from("x"), "least"));
    }

    #[test]
    fn a_reader_knows_nothing_in_advance_and_a_writer_leaves_nothing_out_unless_they_say_so() {
        let mut nothing = Nothing(Metadata::default());
        assert_eq!(nothing.none_before(), Nanos::ZERO);
        assert!(nothing.skip_before(Nanos::MAX).is_ok());
        assert!(TraceWriter::flush(&mut nothing).is_ok());
        assert_eq!(nothing.left_out(), 0);
    }

    #[test]
    fn fields_stand_apart_by_one_character() {
        for (text, byte) in [
            (";", Some(b';')),
            ("t", Some(b't')),
            ("tab", Some(b'\t')),
            (r"\t", Some(b'\t')),
            ("\t", Some(b'\t')),
            ("", None),
            ("ta", None),
            (";;", None),
            ("\u{e4}", None),
        ] {
            assert_eq!(one_byte(text).ok(), byte, "{text:?}");
        }
    }

    #[test]
    fn an_event_is_named_by_its_letter_or_its_word() {
        for (event, letter, word) in [
            (StartEvent::Queue, "q", "queue"),
            (StartEvent::Get, "g", "get"),
            (StartEvent::Insert, "i", "insert"),
            (StartEvent::Issue, "d", "issue"),
            (StartEvent::Complete, "C", "Complete"),
            (StartEvent::Auto, "auto", "AUTO"),
        ] {
            for text in [letter, word] {
                assert_eq!(text.parse(), Ok(event), "{text}");
            }
        }
        for text in ["", "a", "x", "queued"] {
            assert!(text.parse::<StartEvent>().is_err(), "{text}");
        }
    }
}
