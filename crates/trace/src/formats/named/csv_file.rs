//! CSV with a header of our field names, or with columns that the user maps to them.

mod watched;

use std::path::{Path, PathBuf};

use iosonar_units::Nanos;

use super::{LOSES, device_text, texts};
use crate::fields::{Building, COLUMNS, Field, WRITTEN, mapped, without_column};
use crate::formats::COMPRESSED;
use crate::text::{Context, Line, first_lines, skipped, unreadable_row};
use crate::whole_file::Output;
use crate::{
    Batch, CutOff, Format, Metadata, ReadOptions, Record, Sink, Source, TraceError, TraceReader,
    TraceWriter, WriteOptions,
};
use watched::{LONGEST, Watched};

/// CSV.
pub(crate) struct Csv;

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["csv", "tsv"]
    }

    fn description(&self) -> &'static str {
        "CSV with a header of field names; --columns maps other names"
    }

    fn columns(&self) -> &'static str {
        COLUMNS
    }

    fn loses(&self) -> Option<&'static str> {
        Some(LOSES)
    }

    fn maps_columns(&self) -> bool {
        true
    }

    fn recognises(&self, head: &[u8]) -> bool {
        first_lines(head).next().is_some_and(|line| {
            let mut names = line.split(|&b| b == delimiter_of(line));
            // A time is named with its unit, as in no other format.
            names.any(|name| {
                let name = std::str::from_utf8(name.trim_ascii()).unwrap_or_default();
                matches!(Field::of(name.trim_matches('"')), Some(Field::Start(_)))
            })
        })
    }

    fn reader(
        &self,
        source: Source,
        options: &ReadOptions,
    ) -> Result<Box<dyn TraceReader>, TraceError> {
        Ok(Box::new(Reader::new(source, options)?))
    }

    fn writer(
        &self,
        sink: Sink,
        metadata: &Metadata,
        _: &WriteOptions,
    ) -> Result<Box<dyn TraceWriter>, TraceError> {
        Ok(Box::new(Writer::new(sink, metadata)?))
    }
}

/// The delimiter of a header: the most frequent of the usual ones.
fn delimiter_of(line: &[u8]) -> u8 {
    let count = |d: u8| memchr::memchr_iter(d, line).count();
    [b',', b';', b'\t', b'|']
        .into_iter()
        .rev()
        .max_by_key(|&d| count(d))
        .unwrap_or(b',')
}

struct Reader {
    csv: csv::Reader<Watched<Box<dyn std::io::Read + Send>>>,
    path: PathBuf,
    cut: CutOff,
    fields: Vec<Option<(Field, String)>>,
    row: csv::ByteRecord,
    context: Context,
    lenient: bool,
    /// Whether lines end with a carriage return, too.
    ends_with_return: bool,
}

impl Reader {
    fn new(source: Source, options: &ReadOptions) -> Result<Self, TraceError> {
        let path = source.path;
        let (head, input) = crate::decompress::peek(source.input, 64 * 1024)
            .map_err(|e| crate::decompress::read_error(&path, e))?;
        let header = first_lines(&head).next().unwrap_or_default();
        let delimiter = options.delimiter.unwrap_or_else(|| delimiter_of(header));
        let ends_with_return = head.split(|byte| *byte == b'\n').next();
        let ends_with_return = ends_with_return.is_some_and(|line| line.ends_with(b"\r"));
        let input: Box<dyn std::io::Read + Send> = if head.starts_with("\u{feff}".as_bytes()) {
            let mut input = input;
            std::io::Read::read_exact(&mut input, &mut [0; 3])
                .map_err(|e| crate::decompress::read_error(&path, e))?;
            input
        } else {
            input
        };
        let input = Watched::new(input, delimiter);
        let mut csv = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .flexible(true)
            .from_reader(input);
        let names = csv.byte_headers().map_err(|e| csv_error(&path, e))?.clone();
        let line = Line {
            bytes: header,
            number: 1,
            path: &path,
        };
        let names: Vec<_> = names
            .iter()
            .map(|name| String::from_utf8_lossy(name.trim_ascii()))
            .collect();
        let fields = mapped(
            &names.iter().map(AsRef::as_ref).collect::<Vec<_>>(),
            &options.columns,
            |_, name| Field::of(name),
            |expected| line.wrong("header", header, expected),
        )?;
        let context = Context::new(options);
        Ok(Self {
            csv,
            path,
            cut: source.cut,
            fields,
            row: csv::ByteRecord::new(),
            context,
            lenient: options.lenient,
            ends_with_return,
        })
    }

    /// The line that the row begins in. Where lines end with a carriage return and a line feed, a row begins between these.
    fn line(&self) -> u64 {
        let line = self.row.position().map_or(0, csv::Position::line);
        line + u64::from(self.ends_with_return)
    }

    /// The error for a row that could not be taken from the input. Beyond such a row nothing is known, so that it
    /// cannot be skipped either.
    #[cold]
    fn read_error(&self, error: csv::Error) -> TraceError {
        if !self.csv.get_ref().is_quoted_too_long() {
            return csv_error(&self.path, error);
        }
        let line = self.line();
        TraceError::Damaged {
            place: crate::error::Place::of(&self.path, line),
            problem: format!(
                "a quoted field that begins in this row is not closed within {LONGEST} bytes, expected a closing '\"': correct the row"
            ),
        }
    }

    fn record(&mut self) -> Result<(Record, Option<Nanos>), TraceError> {
        let line = Line {
            bytes: &[],
            number: self.line(),
            path: &self.path,
        };
        if self.csv.get_ref().ends_quoted() {
            return Err(TraceError::Damaged {
                place: crate::error::Place::of(&self.path, line.number),
                problem: "a quoted field that begins in this row is not closed before the end of the file, \
                          expected a closing '\"': correct the row, or skip the quoted \
                          part with --lenient"
                    .to_owned(),
            });
        }
        let whole = Line {
            bytes: self.row.as_slice(),
            ..line
        };
        whole.check_text().map_err(without_column)?;
        if self.row.len() != self.fields.len() {
            return Err(TraceError::Damaged {
                place: crate::error::Place::of(&self.path, line.number),
                problem: format!(
                    "the row has {} fields, expected {} as in the header: correct the row, or skip and count \
                     such rows with --lenient",
                    self.row.len(),
                    self.fields.len()
                ),
            });
        }
        self.csv
            .get_ref()
            .check_end(&self.row, &line, self.lenient, &mut self.context.metadata)?;
        let mut building = Building::default();
        for (text, field) in self.row.iter().zip(&self.fields) {
            if let Some((field, name)) = field {
                let line = Line {
                    bytes: text,
                    ..line
                };
                building
                    .take(*field, name, text, &line, &mut self.context)
                    .map_err(without_column)?;
            }
        }
        building
            .done(&line, &mut self.context)
            .map_err(without_column)
    }
}

fn csv_error(path: &Path, error: csv::Error) -> TraceError {
    let line = error.position().map_or(0, csv::Position::line);
    match error.into_kind() {
        csv::ErrorKind::Io(e) => crate::decompress::read_error(path, e),
        kind => TraceError::Damaged {
            place: crate::error::Place::of(path, line),
            problem: format!("this is not CSV: {kind:?}"),
        },
    }
}

impl TraceReader for Reader {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        batch.clear();
        while batch.len() < Batch::ROWS {
            let more = self.csv.read_byte_record(&mut self.row);
            if !more.map_err(|e| self.read_error(e))? {
                break;
            }
            // Of an input that was cut off, the last value may be the beginning of a longer one.
            if self.cut.is_known() && self.csv.get_ref().ends_within_row() {
                let line = self.line();
                self.cut
                    .note(|| format!("{}: within line {line}", self.path.display()));
                break;
            }
            match self.record() {
                Ok((record, think)) => {
                    let place = self.line();
                    batch.push_at(&record, place);
                    batch.set_think(batch.len() - 1, think);
                }
                Err(e) if self.lenient => skipped(&mut self.context.metadata, &e),
                Err(e) => return Err(unreadable_row(e)),
            }
        }
        Ok(batch.len())
    }

    fn metadata(&self) -> &Metadata {
        &self.context.metadata
    }
}

/// The error for a row that could not be written.
fn not_written(path: &Path, error: csv::Error) -> TraceError {
    TraceError::Io {
        path: path.to_owned(),
        action: "write",
        source: error.into(),
    }
}

struct Writer {
    csv: csv::Writer<Box<dyn Output>>,
    path: PathBuf,
    devices: Vec<String>,
}

impl Writer {
    fn new(sink: Sink, metadata: &Metadata) -> Result<Self, TraceError> {
        let mut csv = csv::WriterBuilder::new()
            .delimiter(match is_tsv(&sink.path) {
                true => b'\t',
                false => b',',
            })
            .from_writer(sink.output);
        csv.write_record(WRITTEN)
            .map_err(|e| not_written(&sink.path, e))?;
        Ok(Self {
            csv,
            path: sink.path,
            devices: metadata.devices.clone(),
        })
    }
}

/// Whether the name of a file ends in `.tsv`, a compression's ending left aside.
fn is_tsv(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let plain = COMPRESSED
        .iter()
        .find_map(|ending| name.strip_suffix(ending));
    let (_, ending) = plain.unwrap_or(&name).rsplit_once('.').unwrap_or_default();
    ending == "tsv"
}

impl TraceWriter for Writer {
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError> {
        for row in 0..batch.len() {
            let texts = texts(batch, row, |number| device_text(&self.devices, number));
            let written = self.csv.write_record(&texts);
            written.map_err(|e| not_written(&self.path, e))?;
        }
        Ok(())
    }

    fn update(&mut self, metadata: &Metadata) {
        self.devices.clone_from(&metadata.devices);
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        self.csv.flush().map_err(|source| TraceError::Io {
            path: self.path.clone(),
            action: "write",
            source,
        })
    }

    fn finish(self: Box<Self>) -> Result<(), TraceError> {
        let Self { csv, path, .. } = *self;
        let error = |action, source| TraceError::Io {
            path,
            action,
            source,
        };
        match csv.into_inner() {
            Ok(output) => output.close().map_err(|e| error("complete", e)),
            Err(e) => Err(error("write", e.into_error())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output;

    #[test]
    fn the_name_of_a_file_says_what_is_between_its_fields() {
        let dir = tempfile::tempdir().unwrap();
        for (name, delimiter) in [
            ("x.csv", ","),
            ("x.tsv", "\t"),
            ("tsv.csv", ","),
            ("x.tsv.csv", ","),
            ("x.csv.tsv", "\t"),
        ] {
            let path = dir.path().join(name);
            let writer = output::create(&path, &Metadata::default()).unwrap();
            writer.finish().unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(text, format!("{}\n", WRITTEN.join(delimiter)), "{name}");
        }
        for (name, expected) in [("a/x.tsv.gz", true), ("tsv", false), ("x.tsv.x", false)] {
            assert_eq!(is_tsv(Path::new(name)), expected, "{name}");
        }
        for (header, delimiter) in [
            ("a,b;c,d", b','),
            ("a;b;c,d", b';'),
            ("a\tb,c\td", b'\t'),
            ("a|b", b'|'),
            ("a", b','),
            ("a,b;c", b','),
        ] {
            assert_eq!(delimiter_of(header.as_bytes()), delimiter, "{header}");
        }
    }

    #[test]
    fn an_error_names_its_line_however_lines_end() {
        let dir = tempfile::tempdir().unwrap();
        for (number, end) in ["\n", "\r\n"].into_iter().enumerate() {
            let path = dir.path().join(format!("{number}.csv"));
            let rows = ["time_us,sector,sectors,op", "0,8,8,read", "1,x,8,read", ""];
            std::fs::write(&path, rows.join(end)).unwrap();
            let mut reader = crate::input::open(&path).unwrap();
            let error = reader.next_batch(&mut Batch::default()).unwrap_err();
            let place = format!("{}:3: ", path.display());
            assert!(error.to_string().starts_with(&place), "{error}");
        }
    }
}
