//! Traces in, traces out: merged, pasted, side by side, split, or cut into pieces that are dealt anew.

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use iosonar_units::Nanos;

use crate::input::Combine;
use crate::transform::derive;
use crate::{
    Batch, Metadata, Reading, Remark, TraceError, TraceReader, TraceWriter, WriteOptions, apart,
    input, output,
};

/// How the inputs are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// One output.
    One(Combine),
    /// An output for each part.
    Split(Combine, Split),
    /// The inputs pasted together are cut into pieces, which are dealt, heaviest first, to this many outputs.
    Derive {
        /// How long a piece is.
        piece: Nanos,
        /// How many outputs.
        parts: usize,
    },
}

/// What a trace is split by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// The device.
    Device,
    /// The operation.
    Op,
    /// Ranges of this many sectors.
    Range(u64),
}

/// What has been written.
#[derive(Clone, Debug)]
pub struct Converted {
    /// How many records.
    pub records: u64,
    /// How many the format could not hold.
    pub left_out: u64,
    /// How many were in the incomplete last piece of [`Conversion::Derive`].
    pub incomplete: u64,
    /// Whether any had a latency.
    pub has_latencies: bool,
    /// The files.
    pub outputs: Vec<PathBuf>,
    /// What the inputs say of themselves.
    pub metadata: Metadata,
}

/// Why nothing is written.
#[derive(Debug)]
pub enum ConvertError {
    /// A trace cannot be read or written.
    Trace(TraceError),
    /// No request could be read of a damaged trace: an empty one in its place would look like a complete copy of it.
    NothingSalvaged(Vec<Remark>),
    /// The trace is empty.
    NothingToSplit,
    /// The load is too short for a piece.
    TooShort {
        /// How long a piece is.
        piece: Nanos,
    },
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trace(error) => error.fmt(f),
            Self::NothingSalvaged(_) => write!(
                f,
                "the readable part contains no requests, so no output was written"
            ),
            Self::NothingToSplit => {
                write!(f, "the trace has no requests, so there is nothing to split")
            }
            Self::TooShort { piece } => write!(
                f,
                "the load is shorter than one piece ({piece}): use a shorter --piece"
            ),
        }
    }
}

impl Error for ConvertError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // Its text is this one's.
            Self::Trace(error) => error.source(),
            _ => None,
        }
    }
}

impl From<TraceError> for ConvertError {
    fn from(error: TraceError) -> Self {
        Self::Trace(error)
    }
}

/// Writes the inputs to `out`, or where there are several outputs to names made from it.
///
/// # Errors
/// If an input cannot be read, an output cannot be written, or there is nothing to write.
pub fn convert(
    (inputs, out): (&[PathBuf], &Path),
    what: Conversion,
    reading: &Reading,
    options: &WriteOptions,
) -> Result<Converted, ConvertError> {
    match what {
        Conversion::Derive { piece, parts } => {
            derived((inputs, out), piece, parts, reading, options)
        }
        Conversion::Split(combine, by) => {
            let mut reader = input::open_several(inputs, combine, reading)?;
            split(&mut *reader, by, (inputs, out), options)
        }
        Conversion::One(combine) => {
            let mut reader = input::open_several(inputs, combine, reading)?;
            one(&mut *reader, out, reading, options)
        }
    }
}

fn one(
    reader: &mut dyn TraceReader,
    out: &Path,
    reading: &Reading,
    options: &WriteOptions,
) -> Result<Converted, ConvertError> {
    let mut writer = output::create_with(out, reader.metadata(), options)?;
    let (mut batch, mut records, mut has_latencies) = (Batch::default(), 0, false);
    while reader.next_batch(&mut batch)? > 0 {
        has_latencies = has_latencies || batch.latency_column().iter().any(Option::is_some);
        // Devices turn up while a trace is read.
        writer.update(reader.metadata());
        writer.write(&batch)?;
        records += batch.len() as u64;
    }
    writer.update(reader.metadata());
    let remarks = &reader.metadata().remarks;
    if records == 0 && reading.options.lenient && !remarks.is_empty() {
        return Err(ConvertError::NothingSalvaged(remarks.clone()));
    }
    let left_out = writer.left_out();
    writer.finish()?;
    Ok(Converted {
        records: records - left_out,
        left_out,
        incomplete: 0,
        has_latencies,
        outputs: vec![out.to_owned()],
        metadata: reader.metadata().clone(),
    })
}

/// No more outputs are open at once than files may be.
const MOST_OUTPUTS: usize = 512;

struct Part {
    writer: Box<dyn TraceWriter>,
    batch: Batch,
    path: PathBuf,
}

fn split(
    reader: &mut dyn TraceReader,
    by: Split,
    (inputs, out): (&[PathBuf], &Path),
    options: &WriteOptions,
) -> Result<Converted, ConvertError> {
    let mut parts: BTreeMap<u64, Part> = BTreeMap::new();
    let (mut batch, mut records, mut has_latencies) = (Batch::default(), 0, false);
    while reader.next_batch(&mut batch)? > 0 {
        has_latencies = has_latencies || batch.latency_column().iter().any(Option::is_some);
        records += batch.len() as u64;
        for row in 0..batch.len() {
            let request = batch.request(row);
            let key = match by {
                Split::Device => u64::from(request.device),
                Split::Op => request.op as u64,
                Split::Range(sectors) => request.sector.get() / sectors,
            };
            if !parts.contains_key(&key) {
                if parts.len() == MOST_OUTPUTS {
                    return Err(TraceError::Option(format!(
                        "the trace would be split into more than {MOST_OUTPUTS} outputs: use \
                         larger ranges, or select devices first"
                    ))
                    .into());
                }
                let name = match by {
                    Split::Device => reader.metadata().device_name(request.device),
                    Split::Op => request.op.name().to_owned(),
                    Split::Range(_) => key.to_string(),
                };
                // Names that differ in special characters only would be the same file.
                let taken: HashSet<&Path> =
                    parts.values().map(|part| part.path.as_path()).collect();
                let path = std::iter::once(named(out, &name))
                    .chain((2..=MOST_OUTPUTS).map(|n| named(out, &format!("{name}-{n}"))))
                    .find(|path| !taken.contains(path.as_path()))
                    .expect("fewer outputs have names than are tried");
                for input in inputs {
                    apart::refuse_same(input, &path)?;
                }
                let writer = output::create_with(&path, reader.metadata(), options)?;
                let batch = Batch::default();
                parts.insert(
                    key,
                    Part {
                        writer,
                        batch,
                        path,
                    },
                );
            }
            if let Some(part) = parts.get_mut(&key) {
                part.batch.push_row(&batch, row);
            }
        }
        for part in parts.values_mut() {
            part.writer.update(reader.metadata());
            part.writer.write(&part.batch)?;
            part.batch.clear();
        }
    }
    let (mut outputs, mut left_out) = (Vec::new(), 0);
    for part in parts.into_values() {
        left_out += part.writer.left_out();
        part.writer.finish()?;
        outputs.push(part.path);
    }
    if outputs.is_empty() {
        return Err(ConvertError::NothingToSplit);
    }
    Ok(Converted {
        records: records - left_out,
        left_out,
        incomplete: 0,
        has_latencies,
        outputs,
        metadata: reader.metadata().clone(),
    })
}

fn derived(
    (inputs, out): (&[PathBuf], &Path),
    piece: Nanos,
    parts: usize,
    reading: &Reading,
    options: &WriteOptions,
) -> Result<Converted, ConvertError> {
    let reader = input::open_several(inputs, Combine::Paste, reading)?;
    if piece.get() == 0 {
        let problem = "--piece must be greater than 0".to_owned();
        return Err(TraceError::Option(problem).into());
    }
    let derived = derive(reader, &inputs[0], piece, parts, &reading.spill)?;
    let mut done = Converted {
        records: 0,
        left_out: 0,
        incomplete: derived.dropped(),
        // Derived loads have no outcomes.
        has_latencies: false,
        outputs: Vec::new(),
        metadata: derived.metadata().clone(),
    };
    for part in 0..parts.min(derived.pieces()) {
        let path = if parts == 1 {
            out.to_owned()
        } else {
            named(out, &format!("{part:03}.of.{parts}"))
        };
        let mut writer = output::create_with(&path, derived.metadata(), options)?;
        done.records += derived.output(part, |batch| writer.write(batch))?;
        done.left_out += writer.left_out();
        done.records -= writer.left_out();
        writer.finish()?;
        done.outputs.push(path);
    }
    if done.outputs.is_empty() {
        return Err(ConvertError::TooShort { piece });
    }
    Ok(done)
}

/// `out` with the name of a part before its first ending.
fn named(out: &Path, part: &str) -> PathBuf {
    let safe: String = part
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || matches!(c, '.' | '_' | '-') {
                c
            } else {
                '-'
            }
        })
        .collect();
    let name = out.file_name().unwrap_or_default().as_bytes();
    // The ending of the compression belongs to that of the format.
    let plain = [&b".gz"[..], b".zst"]
        .iter()
        .find_map(|ending| name.strip_suffix(*ending))
        .unwrap_or(name);
    let point = plain.iter().rposition(|&byte| byte == b'.');
    let stem = point.filter(|at| *at > 0).unwrap_or(plain.len());
    let mut new = OsStr::from_bytes(&name[..stem]).to_owned();
    new.push(format!("-{safe}"));
    new.push(OsStr::from_bytes(&name[stem..]));
    out.with_file_name(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_named_before_the_ending() {
        for (out, part, name) in [
            ("a/x.load.gz", "8,0", "a/x-8-0.load.gz"),
            ("x.ios", "read", "x-read.ios"),
            ("x", "../y", "x-..-y"),
            // A point at the beginning does not begin an ending.
            (".ios", "read", ".ios-read"),
            ("a.b/x.ios.zst", "1", "a.b/x-1.ios.zst"),
        ] {
            assert_eq!(named(Path::new(out), part), PathBuf::from(name));
        }
    }
}
