//! What can be wrong with a trace, written for the person who must fix it.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

/// A place in a trace file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, `-` for standard input.
    pub file: PathBuf,
    /// The line or row, counted from 1, or the byte offset; `None` if the place is not known.
    pub at: Option<At>,
    /// The column in bytes, counted from 1; 0 for the line as a whole.
    pub column: usize,
}

/// How far into a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// A line, counted from 1.
    Line(u64),
    /// A byte offset, of binary files.
    Byte(u64),
    /// A row of a table, counted from 1.
    Row(u64),
}

/// Marks a number as a byte offset: the highest bit.
const BYTE: u64 = 1 << 63;
/// Marks a number as that of a row.
const ROW: u64 = 1 << 62;

impl Place {
    /// The place of a row, as a [`Batch`](crate::Batch) keeps it: a line number, a byte offset with its highest bit
    /// set, or a [`row`](Self::row).
    pub fn of(file: &Path, number: u64) -> Self {
        Self {
            file: file.to_owned(),
            at: match number {
                0 => None,
                n if n & BYTE != 0 => Some(At::Byte(n & !BYTE)),
                n if n & ROW != 0 => Some(At::Row(n & !ROW)),
                n => Some(At::Line(n)),
            },
            column: 0,
        }
    }

    /// The number of a row of a table, counted from 1, as a [`Batch`](crate::Batch) keeps it.
    pub const fn row(number: u64) -> u64 {
        number | ROW
    }
}

/// A byte offset as the place of a row.
pub(crate) const fn byte_offset(offset: u64) -> u64 {
    offset | BYTE
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        match self.at {
            Some(At::Line(line)) => write!(f, ":{line}")?,
            Some(At::Byte(byte)) => write!(f, ": byte {byte}")?,
            Some(At::Row(row)) => write!(f, ": row {row}")?,
            None => {}
        }
        if self.column > 0 {
            write!(f, ":{}", self.column)?;
        }
        Ok(())
    }
}

/// Why a trace cannot be read or written.
#[derive(Debug)]
pub enum TraceError {
    /// The operating system refused.
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried, as a verb with its object.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// The compressed stream stops before its end.
    CutOffStream {
        /// The file.
        path: PathBuf,
        /// `gzip`, `zstd`, `bzip2` or `xz`.
        method: &'static str,
        /// How many bytes came out before.
        decompressed: u64,
    },
    /// The compressed stream is not what was written.
    DamagedStream {
        /// The file.
        path: PathBuf,
        /// `gzip`, `zstd`, `bzip2` or `xz`.
        method: &'static str,
        /// How many bytes of the file had been taken when the damage was found.
        compressed: u64,
        /// What the decompressor said.
        source: std::io::Error,
    },
    /// A field is not what the format says.
    Field {
        /// Where.
        place: Place,
        /// The field's name.
        field: String,
        /// What stands there.
        seen: String,
        /// What should.
        expected: String,
    },
    /// A line ends before its fields do.
    MissingField {
        /// Where the line ends.
        place: Place,
        /// The field that is missing.
        field: String,
        /// The shape of a whole line.
        expected: String,
    },
    /// The load goes back in time.
    Unsorted {
        /// Where.
        place: Place,
        /// The start found, in seconds.
        start: f64,
        /// The start of the request before, in seconds.
        previous: f64,
    },
    /// The content or the name fits none of the formats.
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        reason: String,
        /// The names of the formats that can be read (or written).
        readable: String,
    },
    /// The name of an output does not say which format it is to have.
    OutputName {
        /// The name.
        path: PathBuf,
        /// The endings that would do.
        endings: String,
    },
    /// The name of an output is of a format that this build does not have.
    NeedsFeature {
        /// The name.
        path: PathBuf,
        /// The feature of the package that brings it.
        feature: &'static str,
    },
    /// The format can be read, not written.
    NotWritable {
        /// The output.
        path: PathBuf,
        /// The format's name.
        format: &'static str,
        /// The names of those that can be written.
        writable: String,
    },
    /// An output is one of the inputs.
    OverwritesInput(PathBuf),
    /// Two outputs are one file.
    SameOutput {
        /// The name of one.
        one: PathBuf,
        /// The name of the other.
        other: PathBuf,
    },
    /// An output is a folder.
    IsFolder(PathBuf),
    /// The folder of an output is not there.
    NoFolder {
        /// The output.
        output: PathBuf,
        /// Its folder.
        folder: PathBuf,
    },
    /// An output would be inside of a file.
    NotInFolder {
        /// The output.
        output: PathBuf,
        /// The file.
        file: PathBuf,
    },
    /// No file can be created where an output is to be.
    NotCreatable {
        /// The output.
        output: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// An option of reading or writing that does not fit.
    Option(String),
    /// The trace does not go on as its format says.
    Damaged {
        /// Where.
        place: Place,
        /// What is wrong, what was expected, and the way out.
        problem: String,
    },
    /// A request that a later stage cannot serve.
    Request {
        /// Where it stands.
        place: Place,
        /// What is wrong with it, and the way out.
        problem: String,
    },
}

impl fmt::Display for TraceError {
    #[expect(clippy::too_many_lines, reason = "a text for each variant")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut of = |path: &Path, text: fmt::Arguments| write!(f, "{}: {text}", path.display());
        match self {
            Self::Io {
                path,
                action,
                source,
            } => of(path, format_args!("cannot {action}: {source}")),
            Self::CutOffStream {
                path,
                method,
                decompressed,
            } => of(
                path,
                format_args!(
                    "the {method} data are truncated after {decompressed} decompressed bytes. Fetch the file again, or \
                 read the first part with --lenient"
                ),
            ),
            Self::DamagedStream {
                path,
                method,
                compressed,
                source,
            } => of(
                path,
                format_args!(
                    "the {method} data are damaged within the first {compressed} bytes of the file: {source}. The data \
                     decompressed so far may be wrong, so not even --lenient reads them. Fetch the file again"
                ),
            ),
            Self::UnknownFormat {
                path,
                reason,
                readable,
            } => of(
                path,
                format_args!("{reason}; readable formats are: {readable}"),
            ),
            Self::OutputName { path, endings } => of(
                path,
                format_args!("the name does not end in a trace format: expected {endings}"),
            ),
            Self::NeedsFeature { path, feature } => of(
                path,
                format_args!(
                    "this build of iosonar does not include the format: rebuild iosonar with the feature '{feature}' \
                     (cargo install iosonar --features {feature}), or write .csv"
                ),
            ),
            Self::NotWritable {
                path,
                format,
                writable,
            } => of(
                path,
                format_args!(
                    "the format '{format}' can be read but not written; writable formats are: {writable}"
                ),
            ),
            Self::IsFolder(path) if ends_as_folder(path) => of(
                path,
                format_args!(
                    "the name ends in '/', as that of a folder, but the output is a file: add its name"
                ),
            ),
            Self::IsFolder(path) => of(
                path,
                format_args!(
                    "it is a folder, but the output is a file: choose a different name, or that of a file in it"
                ),
            ),
            Self::NoFolder { output, folder } => of(
                output,
                format_args!(
                    "the folder {} does not exist: create it, or choose a different one",
                    folder.display()
                ),
            ),
            Self::NotInFolder { output, file } => of(
                output,
                format_args!(
                    "{} is not a folder, so the output cannot be in it: choose a different name",
                    file.display()
                ),
            ),
            Self::NotCreatable { output, source } => of(
                output,
                format_args!("cannot create the file: {source}; choose a different name or folder"),
            ),
            Self::OverwritesInput(path) => write!(
                f,
                "{} would overwrite its own input: choose a different name for the output",
                path.display()
            ),
            Self::SameOutput { one, other } if one == other && one == Path::new("-") => write!(
                f,
                "two outputs would go to standard output ('-') and be mixed there: give one of them the name of a file"
            ),
            Self::SameOutput { one, other } if one == other => of(
                one,
                format_args!("two outputs have this name: give them different names"),
            ),
            Self::SameOutput { one, other } => write!(
                f,
                "{} and {} name the same file, so one output would overwrite the other: give them different names",
                one.display(),
                other.display()
            ),
            Self::Option(problem) => f.write_str(problem),
            Self::Field {
                place,
                field,
                seen,
                expected,
            } => {
                write!(
                    f,
                    "{place}: field '{field}' is '{seen}', expected {expected}"
                )
            }
            Self::MissingField {
                place,
                field,
                expected,
            } => write!(
                f,
                "{place}: the line ends before the field '{field}'; expected {expected}"
            ),
            Self::Unsorted {
                place,
                start,
                previous,
            } => write!(
                f,
                "{place}: this request starts at {start:.9} s, before the previous one at {previous:.9} s; {SORT_IT}"
            ),
            Self::Damaged { place, problem } | Self::Request { place, problem } => {
                write!(f, "{place}: {problem}")
            }
        }
    }
}

/// Whether a name can only be that of a folder.
pub(crate) fn ends_as_folder(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// The rule that an unsorted load breaks, and the ways out.
const SORT_IT: &str = "a load must be sorted by intended start (records of replays and simulations are in order of \
                       completion). Sort it with 'iosonar convert --sort' or --on-backstep sort, or shift the rest of \
                       the load with --on-backstep shift";

impl Error for TraceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io { source, .. }
            | Self::DamagedStream { source, .. }
            | Self::NotCreatable { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl TraceError {
    /// Whether what was asked for is at fault, and not the data.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::OutputName { .. }
                | Self::NeedsFeature { .. }
                | Self::NotWritable { .. }
                | Self::OverwritesInput(_)
                | Self::SameOutput { .. }
                | Self::IsFolder(_)
                | Self::NoFolder { .. }
                | Self::NotInFolder { .. }
                | Self::NotCreatable { .. }
                | Self::Option(_)
        )
    }
}

/// Shortens what is shown of broken input to something that fits in a terminal.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    const MOST: usize = 40;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * MOST)]);
    let beginning: String = text.chars().take(MOST).collect();
    let mut shown = iosonar_units::one_line(&beginning);
    if text.chars().count() > MOST {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_line_a_row_or_a_byte() {
        for (number, at, text) in [
            (0, None, "x"),
            (12, Some(At::Line(12)), "x:12"),
            (Place::row(12), Some(At::Row(12)), "x: row 12"),
            (byte_offset(12), Some(At::Byte(12)), "x: byte 12"),
            (byte_offset(0), Some(At::Byte(0)), "x: byte 0"),
        ] {
            let place = Place::of(Path::new("x"), number);
            assert_eq!((place.at, place.to_string().as_str()), (at, text));
        }
        let column = 3;
        let place = Place {
            column,
            ..Place::of(Path::new("x"), 12)
        };
        assert_eq!(place.to_string(), "x:12:3");
    }

    #[test]
    fn the_source_of_an_error_is_what_the_system_said() {
        let path = PathBuf::from("x");
        let source = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let refused = TraceError::Io {
            path: path.clone(),
            action: "open the trace",
            source: source(),
        };
        let damaged = TraceError::DamagedStream {
            path: path.clone(),
            method: "gzip",
            compressed: 3,
            source: source(),
        };
        for error in [refused, damaged] {
            let cause = error
                .source()
                .and_then(|e| e.downcast_ref::<std::io::Error>());
            assert_eq!(cause.map(std::io::Error::kind), Some(source().kind()));
            assert!(error.to_string().contains(&source().to_string()), "{error}");
            assert!(!error.is_refusal());
        }
        let folder = TraceError::IsFolder(path);
        assert!(folder.source().is_none() && folder.is_refusal());
    }

    #[test]
    fn outputs_that_cannot_be_are_named_with_what_to_do() {
        let same = |one: &str, other: &str| TraceError::SameOutput {
            one: one.into(),
            other: other.into(),
        };
        for (error, words) in [
            (TraceError::IsFolder("x/".into()), "the name ends in '/'"),
            (TraceError::IsFolder("x".into()), "it is a folder"),
            (same("-", "-"), "two outputs would go to standard output"),
            (same("x", "x"), "x: two outputs have this name"),
            (same("-", "x"), "- and x name the same file"),
            (same("x", "y"), "x and y name the same file"),
        ] {
            let text = error.to_string();
            assert!(text.contains(words), "{text}");
        }
    }
}
