//! Opening a trace: compression and format are found by content first, by name second.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::codec::Codec;
use crate::decompress::{decompressed, peek, read_error};
use crate::devices::OnlyDevices;
use crate::formats::kernel::{open_set, set_of};
use crate::formats::{by_format_name, format_of, of_columns};
use crate::salvage::{Salvaged, UpToCut, check_complete};
use crate::submitted::OnlySubmitted;
use crate::transform::{Change, Merged, OnBackstep, Pasted, Spill, apply_all, extents_of, written};
#[cfg(feature = "serde")]
use crate::written::changes;
use crate::{
    CutOff, Format, ReadOptions, ReadProgress, SortedByStart, Source, TraceError, TraceReader,
    whole_file,
};

/// How much of the content is looked at to find the format: more than the longest licence notice.
const HEAD: usize = 64 * 1024;

/// How a trace is read, and what is made of it.
#[derive(Clone, Debug, Default)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct Reading {
    /// How it is read.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub options: ReadOptions,
    /// What is changed, in this order.
    #[cfg_attr(feature = "serde", serde(with = "changes"))]
    pub changes: Vec<Change>,
    /// Where changes that need the whole load keep it.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub spill: Spill,
}

impl Reading {
    /// Only the requests with `from <= start < until`.
    pub fn window(from: iosonar_units::Nanos, until: iosonar_units::Nanos) -> Self {
        Self {
            changes: vec![Change::Select { from, until }],
            ..Self::default()
        }
    }

    /// What is changed, as it is written on a command line, in order.
    pub fn changes_in_words(&self) -> Vec<String> {
        let changes = self.changes.iter().map(written);
        let words = changes.map(|(name, value)| format!("--{name} {value}"));
        words.map(|words| words.trim_end().to_owned()).collect()
    }
}

/// Opens the trace at `path`, `-` for standard input.
///
/// # Errors
/// If the file cannot be opened, its compression is damaged at the very beginning, or its content
/// fits no format.
pub fn open(path: &Path) -> Result<Box<dyn TraceReader>, TraceError> {
    open_with(path, &ReadOptions::default())
}

/// Opens the trace at `path` with options. A folder, a prefix or one file of a set of `blktrace` files
/// stands for the whole set.
///
/// # Errors
/// As [`open`], and if an option does not fit.
pub fn open_with(path: &Path, options: &ReadOptions) -> Result<Box<dyn TraceReader>, TraceError> {
    let io_error = |source| TraceError::Io {
        path: path.to_owned(),
        action: "open the trace",
        source,
    };
    let set = if path == Path::new("-") {
        Vec::new()
    } else {
        set_of(path).map_err(io_error)?
    };
    let reader = if set.is_empty() {
        open_one(path, options)?
    } else {
        let sources: Result<Vec<_>, _> = set
            .iter()
            .map(|path| Ok(opened(path, options)?.1))
            .collect();
        let sources = sources?;
        let cuts = sources.iter().map(|source| source.cut.clone()).collect();
        salvaged(open_set(sources, options), cuts, options)
    };
    Ok(if options.devices.is_empty() {
        reader
    } else {
        Box::new(OnlyDevices::new(reader, path, &options.devices))
    })
}

/// Reads a trace from anything; `name` is for messages, and used if the content does not determine the format.
///
/// # Errors
/// As [`open`].
pub fn read_from(
    input: Box<dyn Read + Send>,
    name: &Path,
    options: &ReadOptions,
) -> Result<Box<dyn TraceReader>, TraceError> {
    let (head, source) = unpacked(input, name, None, options)?;
    reader_of(&head, source, options)
}

fn open_one(path: &Path, options: &ReadOptions) -> Result<Box<dyn TraceReader>, TraceError> {
    let (head, source) = opened(path, options)?;
    reader_of(&head, source, options)
}

fn reader_of(
    head: &[u8],
    source: Source,
    options: &ReadOptions,
) -> Result<Box<dyn TraceReader>, TraceError> {
    let format = chosen(head, &source, options)?;
    let cuts = vec![source.cut.clone()];
    Ok(salvaged(format.reader(source, options)?, cuts, options))
}

/// The format that the options name, or that the content has.
fn chosen(
    head: &[u8],
    source: &Source,
    options: &ReadOptions,
) -> Result<&'static dyn Format, TraceError> {
    match &options.format {
        Some(name) => by_format_name(name),
        None if options.blkparse_format.is_some() => by_format_name("blkparse"),
        None if options.delimiter.is_some() => by_format_name("csv"),
        None if !options.columns.is_empty() && !head.starts_with(b"{") => of_columns(head),
        None => format_of(head, source),
    }
}

/// The name of the format of the trace at `path`, as `iosonar formats` lists it. `None` of what can be read only once,
/// such as standard input, and of what is not a trace.
pub fn format_at(path: &Path, options: &ReadOptions) -> Option<&'static str> {
    if !can_be_read_again(path) {
        return None;
    }
    let options = ReadOptions {
        progress: None,
        ..options.clone()
    };
    if !set_of(path).ok()?.is_empty() {
        return by_format_name("blktrace").ok().map(Format::name);
    }
    let (head, source) = opened(path, &options).ok()?;
    Some(chosen(&head, &source, &options).ok()?.name())
}

/// A reader that remarks where its input stops early, where that is allowed.
fn salvaged(
    reader: Box<dyn TraceReader>,
    cuts: Vec<CutOff>,
    options: &ReadOptions,
) -> Box<dyn TraceReader> {
    if options.lenient {
        Box::new(Salvaged::new(reader, cuts))
    } else {
        reader
    }
}

/// The first bytes of a file, unpacked, and the file as a source.
fn opened(path: &Path, options: &ReadOptions) -> Result<(Vec<u8>, Source), TraceError> {
    let mut plain_file = None;
    let raw: Box<dyn Read + Send> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        let mut open = || {
            let file = File::open(path)?;
            let metadata = file.metadata()?;
            if metadata.is_dir() {
                return Err(io::Error::new(
                    io::ErrorKind::IsADirectory,
                    "it is a folder without files named NAME.blktrace.N; expected a trace file, or the folder of a \
                     blktrace recording",
                ));
            }
            if let Some(progress) = &options.progress {
                progress.total.fetch_add(metadata.len(), Relaxed);
            }
            plain_file = file.try_clone().ok().filter(|_| metadata.is_file());
            Ok(file)
        };
        Box::new(open().map_err(|source| TraceError::Io {
            path: path.to_owned(),
            action: "open the trace",
            source: match source.kind() {
                io::ErrorKind::NotFound => whole_file::not_there(path, source),
                _ => source,
            },
        })?)
    };
    let raw: Box<dyn Read + Send> = match &options.progress {
        None => raw,
        Some(progress) => Box::new(Counted {
            inner: raw,
            progress: Arc::clone(progress),
        }),
    };
    unpacked(raw, path, plain_file, options)
}

fn unpacked(
    raw: Box<dyn Read + Send>,
    path: &Path,
    plain_file: Option<File>,
    options: &ReadOptions,
) -> Result<(Vec<u8>, Source), TraceError> {
    let cut = CutOff::default();
    check_complete(path, options.lenient, &cut)?;
    let (packed, mut plain) = decompressed(raw).map_err(|e| read_error(path, e))?;
    if packed && options.lenient {
        plain = Box::new(UpToCut {
            input: plain,
            path: path.to_owned(),
            cut: cut.clone(),
        });
    }
    let (head, plain) = peek(plain, HEAD).map_err(|e| read_error(path, e))?;
    let source = Source {
        input: plain,
        path: path.to_owned(),
        file: plain_file.filter(|_| !packed),
        cut,
    };
    Ok((head, source))
}

/// Whether a file that begins with these bytes is compressed by one of the compressions that readers unpack, also by one whose
/// feature is off.
pub fn is_compressed(head: &[u8]) -> bool {
    Codec::of_content(head).is_some()
}

/// Counts the bytes that pass.
struct Counted {
    inner: Box<dyn Read + Send>,
    progress: Arc<ReadProgress>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.progress.read.fetch_add(n as u64, Relaxed);
        Ok(n)
    }
}

/// Opens a trace and changes it. Its records may be in any order.
///
/// # Errors
/// As [`open_with`] and [`apply_all`].
pub fn open_changed(path: &Path, reading: &Reading) -> Result<Box<dyn TraceReader>, TraceError> {
    let reader = open_with(path, &reading.options)?;
    apply_all(&reading.changes, reader, path, &reading.spill, false)
}

/// Opens a load: the requests of a trace that were submitted when it was recorded, changed, checked to be sorted by
/// start before and after (before, unless a change says what to do where it is not). Reading ends with a window.
///
/// # Errors
/// As [`open_changed`].
pub fn open_load(path: &Path, reading: &Reading) -> Result<Box<dyn TraceReader>, TraceError> {
    let mut reader = open_with(path, &reading.options)?;
    if !reading.options.include_unsubmitted {
        reader = Box::new(OnlySubmitted::new(reader, path));
    }
    let ordered = |change: &Change| {
        matches!(
            change,
            Change::OnBackstep(OnBackstep::Shift | OnBackstep::Sort)
        )
    };
    let checked = !reading.changes.iter().any(ordered);
    if checked {
        reader = Box::new(SortedByStart::new(reader, path.to_owned()));
    }
    let reader = apply_all(&reading.changes, reader, path, &reading.spill, checked)?;
    if reading.changes.is_empty() {
        return Ok(reader);
    }
    Ok(Box::new(SortedByStart::new(reader, PathBuf::from(path))))
}

/// How several traces become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Combine {
    /// By start.
    #[default]
    Merge,
    /// One behind the other.
    Paste,
    /// Side by side on one target.
    Adjacent,
}

/// Opens several traces as one, and changes that. A single one is opened as by [`open_changed`]; of several,
/// each must be sorted by start, unless a change says what to do where it is not: that is done with each.
///
/// # Errors
/// As [`open_changed`].
pub fn open_several(
    paths: &[PathBuf],
    combine: Combine,
    reading: &Reading,
) -> Result<Box<dyn TraceReader>, TraceError> {
    if let ([path], Combine::Merge | Combine::Paste) = (paths, combine) {
        return open_changed(path, reading);
    }
    let ordering = |change: &&Change| matches!(change, Change::OnBackstep(_));
    let ordering = reading.changes.iter().find(ordering);
    let open = |path: &PathBuf| -> Result<Box<dyn TraceReader>, TraceError> {
        let reader = open_with(path, &reading.options)?;
        if let Some(change) = ordering {
            return change.apply(reader, path, &reading.spill, false);
        }
        Ok(Box::new(SortedByStart::new(reader, path.clone())))
    };
    let combined: Box<dyn TraceReader> = match combine {
        Combine::Merge | Combine::Paste => {
            let readers = paths.iter().map(open).collect::<Result<Vec<_>, _>>()?;
            match combine {
                Combine::Merge => Box::new(Merged::new(readers)),
                _ => Box::new(Pasted::new(readers)),
            }
        }
        Combine::Adjacent => {
            let mut loads = Vec::new();
            for path in paths {
                if path == Path::new("-") {
                    return Err(TraceError::Option(
                        "--adjacent reads its inputs twice, so standard input cannot be one of them"
                            .to_owned(),
                    ));
                }
                let extents = extents_of(&mut *open(path)?)?;
                if !extents.is_empty() {
                    loads.push((open(path)?, extents));
                }
            }
            Box::new(Merged::adjacent(loads))
        }
    };
    let name = paths.first().cloned().unwrap_or_default();
    apply_all(&reading.changes, combined, &name, &reading.spill, false)
}

/// Does `work` with the records of these files, merged. Files that turn out not to be sorted are read again,
/// and sorted; what can be read only once is sorted in any case. Most measures need this order.
///
/// # Errors
/// If a file cannot be read, or `work` fails.
pub fn in_order<T>(
    paths: &[PathBuf],
    reading: &Reading,
    work: impl Fn(&mut dyn TraceReader) -> Result<T, TraceError>,
) -> Result<T, TraceError> {
    let go = |reading: &Reading| {
        let reader = open_several(paths, Combine::Merge, reading)?;
        work(&mut SortedByStart::new(reader, paths[0].clone()))
    };
    let sorted = || {
        let mut sorted = reading.clone();
        sorted.changes.push(Change::OnBackstep(OnBackstep::Sort));
        sorted
    };
    if !paths.iter().all(|path| can_be_read_again(path)) {
        return go(&sorted());
    }
    match go(reading) {
        Err(TraceError::Unsorted { .. }) => go(&sorted()),
        other => other,
    }
}

fn can_be_read_again(path: &Path) -> bool {
    std::fs::metadata(path).map_or(path != Path::new("-"), |m| m.is_file() || m.is_dir())
}

#[cfg(test)]
mod tests {
    use iosonar_units::Nanos;

    use super::*;
    use crate::Batch;

    const HEADER: &str = "time_ns,sector,sectors,op,status";

    /// A file of reads that start at these times and end so.
    fn file(folder: &Path, name: &str, rows: &[(u64, &str)]) -> PathBuf {
        let path = folder.join(name);
        let row = |(start, status): &(u64, &str)| format!("\n{start},8,1,read,{status}");
        let rows: String = rows.iter().map(row).collect();
        std::fs::write(&path, format!("{HEADER}{rows}\n")).unwrap();
        path
    }

    fn starts(reader: &mut dyn TraceReader) -> Result<Vec<u64>, TraceError> {
        let (mut batch, mut starts) = (Batch::default(), Vec::new());
        while reader.next_batch(&mut batch)? > 0 {
            starts.extend(batch.starts().iter().map(|start| start.get()));
        }
        Ok(starts)
    }

    fn changed(changes: &[Change]) -> Reading {
        Reading {
            changes: changes.to_vec(),
            ..Reading::default()
        }
    }

    #[test]
    fn changes_are_put_as_on_a_command_line() {
        let reading = changed(&[
            Change::Select {
                from: Nanos::from_micros(1),
                until: Nanos::MAX,
            },
            Change::Reverse,
            Change::Shift(Nanos::new(5)),
        ]);
        let words = reading.changes_in_words();
        assert_eq!(words.len(), 3);
        assert!(
            words[0].starts_with("--select 1") && words[0].ends_with(".."),
            "{words:?}"
        );
        assert_eq!(words[1..], ["--reverse true", "--shift 5ns"]);
        let command = changed(&[Change::Command(String::new())]);
        assert_eq!(command.changes_in_words(), ["--cmd"], "no blank at the end");
    }

    #[test]
    fn the_format_of_a_file_is_known_before_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let csv = file(folder.path(), "x", &[(1, "done")]);
        std::fs::write(folder.path().join("events.blktrace.0"), "").unwrap();
        std::fs::write(folder.path().join("none"), "none of them\n").unwrap();
        std::fs::create_dir(folder.path().join("empty")).unwrap();
        let inside = |name: &str| folder.path().join(name);
        for (path, format) in [
            (csv.as_path(), Some("csv")),
            (folder.path(), Some("blktrace")),
            (&inside("events"), Some("blktrace")),
            (&inside("none"), None),
            (&inside("empty"), None),
            (&inside("absent"), None),
            (Path::new("-"), None),
            (Path::new("/dev/null"), None),
        ] {
            let options = ReadOptions::default();
            assert_eq!(format_at(path, &options), format, "{path:?}");
        }
    }

    #[test]
    fn bytes_that_are_read_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), "x.csv", &[(1, "done"), (2, "done")]);
        let bytes = path.metadata().unwrap().len();
        let progress = Arc::new(ReadProgress::default());
        let options = ReadOptions {
            progress: Some(Arc::clone(&progress)),
            ..ReadOptions::default()
        };
        let counted = || (progress.read.load(Relaxed), progress.total.load(Relaxed));
        assert_eq!(format_at(&path, &options), Some("csv"));
        assert_eq!(counted(), (0, 0), "a look at it is no progress");
        let read = starts(&mut *open_with(&path, &options).unwrap()).unwrap();
        assert_eq!(read, [1, 2]);
        assert_eq!(counted(), (bytes, bytes));
    }

    #[test]
    fn a_load_is_what_was_submitted_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let rows = [(1, "done"), (3, "skipped"), (2, "done"), (4, "error:5")];
        let path = file(folder.path(), "x.csv", &rows);
        let read = |reading: &Reading| starts(&mut *open_load(&path, reading)?);
        assert_eq!(read(&Reading::default()).unwrap(), [1, 2, 4]);
        let mut all = Reading::default();
        all.options.include_unsubmitted = true;
        let error = read(&all).unwrap_err();
        assert!(matches!(error, TraceError::Unsorted { .. }), "{error}");
        all.changes = vec![Change::OnBackstep(OnBackstep::Sort)];
        assert_eq!(read(&all).unwrap(), [1, 2, 3, 4]);
        all.changes = vec![Change::OnBackstep(OnBackstep::Error)];
        assert!(read(&all).is_err());
        // What a command makes of a load is checked again.
        let mixed = changed(&[Change::Command("sort -r".to_owned())]);
        let error = read(&mixed).unwrap_err();
        assert!(matches!(error, TraceError::Unsorted { .. }), "{error}");
    }

    #[test]
    fn records_are_brought_into_order_where_they_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let sorted = file(folder.path(), "a.csv", &[(1, "done"), (4, "done")]);
        let unsorted = file(folder.path(), "b.csv", &[(3, "done"), (2, "done")]);
        for (paths, expected, tries) in [
            (vec![sorted.clone()], vec![1, 4], 1),
            (vec![unsorted.clone()], vec![2, 3], 2),
            (vec![sorted, unsorted], vec![1, 2, 3, 4], 2),
        ] {
            let tried = std::cell::Cell::new(0);
            let read = in_order(&paths, &Reading::default(), |reader| {
                tried.set(tried.get() + 1);
                starts(reader)
            });
            assert_eq!((read.unwrap(), tried.get()), (expected, tries));
        }
    }

    #[test]
    fn files_and_folders_can_be_read_again_and_pipes_cannot() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), "x.csv", &[]);
        let absent = folder.path().join("absent");
        for (path, again) in [
            (path.as_path(), true),
            (folder.path(), true),
            // It is refused when it is opened.
            (&absent, true),
            (Path::new("/dev/null"), false),
            (Path::new("-"), false),
        ] {
            assert_eq!(can_be_read_again(path), again, "{path:?}");
        }
    }

    #[test]
    fn where_a_file_is_not_there_what_was_written_of_it_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.load");
        let error = || open(&path).err().unwrap().to_string();
        assert!(!error().contains(".part"), "{}", error());
        std::fs::write(dir.path().join("x.load.4194305-0.part"), "").unwrap();
        let error = error();
        let words = [
            "x.load.4194305-0.part",
            "left behind by a process that was killed",
        ];
        assert!(words.iter().all(|words| error.contains(words)), "{error}");
    }
}
