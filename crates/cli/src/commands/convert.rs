//! `iosonar convert`: traces in, traces out.

use std::path::Path;
use std::time::Instant;

use iosonar_report::{grouped, remark as words_of};
use iosonar_trace::convert::{ConvertError, convert};
use iosonar_trace::formats::by_format_name;
use iosonar_trace::{apart, output};

use crate::exit::{Ending, Usage, note, warn};
use crate::low::Convert;
use crate::render::messages::Warning;
use crate::render::{progress, remarks};

#[allow(clippy::too_many_lines)] // One remark after the other.
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
        return Err(
            Usage("standard input can be read only once: give '-' only once".to_owned()).into(),
        );
    }
    let options = args.writing.options();
    if options.format.is_none() {
        output::format_for(&args.out)?;
    }
    let several = args.split.is_some() || args.derive && args.parts > 1;
    if several && args.out == Path::new("-") {
        return Err(Usage("several outputs need a common name: give -o NAME".to_owned()).into());
    }
    let reading = args.reading.reading()?;
    let done = progress::while_reading(reading, args.output.quiet, |reading| {
        convert(
            (&args.inputs, &args.out),
            args.conversion(),
            reading,
            &options,
        )
    });
    let done = done.map_err(|error| match error {
        ConvertError::NothingSalvaged(found) => {
            let found: Vec<String> = found.iter().map(words_of).collect();
            anyhow::anyhow!(
                "{}: {}",
                ConvertError::NothingSalvaged(Vec::new()),
                found.join("; ")
            )
        }
        ConvertError::Trace(error) => error.into(),
        other => other.into(),
    })?;
    remarks::print(&done.metadata, args.output.quiet);
    if done.metadata.devices.len() > 1 && args.split.is_none() {
        let format = match &options.format {
            Some(name) => by_format_name(name)?,
            None => output::format_for(&args.out)?,
        };
        if !format.holds_devices() {
            warn(
                Warning::DevicesMerged,
                &format!(
                    "{} devices were merged into one: the format cannot distinguish them (--device, --split \
                 device and --adjacent keep them apart)",
                    done.metadata.devices.len()
                ),
            );
        }
    }
    if done.records == 0 {
        warn(
            Warning::NothingSelected,
            "the selection contains no requests: the output is empty",
        );
    }
    if done.left_out > 0 {
        warn(
            Warning::NotRepresentable,
            &format!(
                "{} requests were left out: the format cannot represent them",
                grouped(done.left_out)
            ),
        );
    }
    if !args.output.quiet {
        let seconds = begin.elapsed().as_secs_f64();
        let outputs = done.outputs.iter().map(|path| path.display().to_string());
        let outputs: Vec<String> = outputs.collect();
        note(&format!(
            "{} records written to {} in {seconds:.2} s ({} records/s)",
            grouped(done.records),
            outputs.join(", "),
            grouped((done.records as f64 / seconds.max(1e-9)) as u64)
        ));
    }
    Ok(Ending::Done)
}
