//! `iosonar convert`: traces in, traces out.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use iosonar_report::grouped;
use iosonar_trace::formats::by_format_name;
use iosonar_trace::input::Combine;
use iosonar_trace::transform::derive;
use iosonar_trace::{
    Batch, Metadata, Reading, TraceReader, TraceWriter, WriteOptions, input, output,
};

use crate::exit::{Ending, Usage, note};
use crate::low::{Convert, Split};
use crate::render::{progress, remarks};
use iosonar_trace::apart;

pub(crate) fn run(args: &Convert) -> anyhow::Result<Ending> {
    let begin = Instant::now();
    for input in &args.inputs {
        apart::refuse_same(input, &args.out)?;
    }
    if args
        .inputs
        .iter()
        .filter(|path| *path == Path::new("-"))
        .count()
        > 1
    {
        return Err(Usage("standard input can be read once: name - once".to_owned()).into());
    }
    let options = args.writing.options();
    if options.format.is_none() {
        output::format_for(&args.out)?;
    }
    let several = args.split.is_some() || args.derive && args.parts > 1;
    if several && args.out == Path::new("-") {
        return Err(Usage("several outputs need a name: -o NAME".to_owned()).into());
    }
    let reading = args.reading.reading()?;
    let done = progress::while_reading(reading, args.quiet, |reading| -> anyhow::Result<Done> {
        if args.derive {
            return derived(args, reading, &options);
        }
        let combine = match (args.paste, args.adjacent) {
            (true, _) => Combine::Paste,
            (_, true) => Combine::Adjacent,
            _ => Combine::Merge,
        };
        let mut reader = input::open_several(&args.inputs, combine, reading)?;
        match args.split {
            Some(by) => split(&mut *reader, by, args, &options),
            None => one(&mut *reader, args, reading, &options),
        }
    })?;
    remarks::print(&done.metadata, args.quiet);
    if done.metadata.devices.len() > 1 && args.split.is_none() {
        let format = match &options.format {
            Some(name) => by_format_name(name)?,
            None => output::format_for(&args.out)?,
        };
        if !format.holds_devices() {
            note(&format!(
                "{} devices became one: the format does not tell them apart (--device, --split device and \
                 --adjacent keep them apart)",
                done.metadata.devices.len()
            ));
        }
    }
    if done.records == 0 {
        note("there is no request in what was selected: the output is empty");
    }
    if done.left_out > 0 {
        note(&format!(
            "{} requests were left out: the format cannot hold them",
            grouped(done.left_out)
        ));
    }
    if !args.quiet {
        let seconds = begin.elapsed().as_secs_f64();
        note(&format!(
            "{} records written to {} in {seconds:.2} s ({} records/s)",
            grouped(done.records),
            done.outputs.join(", "),
            grouped((done.records as f64 / seconds.max(1e-9)) as u64)
        ));
    }
    Ok(Ending::Done)
}

/// What has been written.
struct Done {
    records: u64,
    left_out: u64,
    outputs: Vec<String>,
    metadata: Metadata,
}

fn one(
    reader: &mut dyn TraceReader,
    args: &Convert,
    reading: &Reading,
    options: &WriteOptions,
) -> anyhow::Result<Done> {
    let mut writer = output::create_with(&args.out, reader.metadata(), options)?;
    let (mut batch, mut records) = (Batch::default(), 0);
    while reader.next_batch(&mut batch)? > 0 {
        // Devices turn up while a trace is read.
        writer.update(reader.metadata());
        writer.write(&batch)?;
        records += batch.len() as u64;
    }
    writer.update(reader.metadata());
    if records == 0 && reading.options.lenient {
        refuse_nothing_salvaged(reader.metadata())?;
    }
    let left_out = writer.left_out();
    writer.finish()?;
    Ok(Done {
        records: records - left_out,
        left_out,
        outputs: vec![args.out.display().to_string()],
        metadata: reader.metadata().clone(),
    })
}

/// An empty trace in place of a damaged one would look like a complete copy of it.
fn refuse_nothing_salvaged(metadata: &Metadata) -> anyhow::Result<()> {
    if metadata.remarks.is_empty() {
        return Ok(());
    }
    let remarks: Vec<String> = metadata.remarks.iter().map(remarks::of).collect();
    Err(anyhow::anyhow!(
        "there is no request in what could be read, so no output was written: {}",
        remarks.join("; ")
    ))
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
    args: &Convert,
    options: &WriteOptions,
) -> anyhow::Result<Done> {
    let mut parts: BTreeMap<u64, Part> = BTreeMap::new();
    let (mut batch, mut records) = (Batch::default(), 0);
    while reader.next_batch(&mut batch)? > 0 {
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
                    return Err(Usage(format!(
                        "the trace would fall into more than {MOST_OUTPUTS} outputs: take larger ranges, or \
                         select devices first"
                    ))
                    .into());
                }
                let name = match by {
                    Split::Device => reader.metadata().device_name(request.device),
                    Split::Op => request.op.name().to_owned(),
                    Split::Range(_) => key.to_string(),
                };
                // Names that differ in special characters only would be the same file.
                let taken = |path: &PathBuf| parts.values().any(|part: &Part| part.path == *path);
                let path = std::iter::once(named(&args.out, &name))
                    .chain((2..=MOST_OUTPUTS + 1).map(|n| named(&args.out, &format!("{name}-{n}"))))
                    .find(|path| !taken(path))
                    .unwrap_or_else(|| args.out.clone());
                for input in &args.inputs {
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
        outputs.push(part.path.display().to_string());
    }
    if outputs.is_empty() {
        return Err(anyhow::anyhow!(
            "there is no request in the trace, so there is nothing to split"
        ));
    }
    Ok(Done {
        records: records - left_out,
        left_out,
        outputs,
        metadata: reader.metadata().clone(),
    })
}

fn derived(args: &Convert, reading: &Reading, options: &WriteOptions) -> anyhow::Result<Done> {
    let reader = input::open_several(&args.inputs, Combine::Paste, reading)?;
    let parts = usize::from(args.parts);
    if args.piece.get() == 0 {
        return Err(Usage("--piece must be above zero".to_owned()).into());
    }
    let derived = derive(reader, &args.inputs[0], args.piece, parts, &reading.spill)?;
    let mut done = Done {
        records: 0,
        left_out: 0,
        outputs: Vec::new(),
        metadata: derived.metadata().clone(),
    };
    for part in 0..parts.min(derived.pieces()) {
        let path = if parts == 1 {
            args.out.clone()
        } else {
            named(&args.out, &format!("{part:03}.of.{parts}"))
        };
        let mut writer = output::create_with(&path, derived.metadata(), options)?;
        done.records += derived.output(part, |batch| writer.write(batch))?;
        done.left_out += writer.left_out();
        done.records -= writer.left_out();
        writer.finish()?;
        done.outputs.push(path.display().to_string());
    }
    if done.outputs.is_empty() {
        return Err(anyhow::anyhow!(
            "the load is shorter than one piece of {}: take a shorter --piece",
            args.piece
        ));
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
        ] {
            assert_eq!(named(Path::new(out), part), PathBuf::from(name));
        }
    }
}
