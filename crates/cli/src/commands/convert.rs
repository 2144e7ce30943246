//! `iosonar convert`: traces in, traces out.

use std::path::Path;
use std::time::Instant;

use iosonar_report::{counted, grouped, remark as words_of};
use iosonar_trace::convert::{ConvertError, Converted, convert};
use iosonar_trace::formats::by_format_name;
use iosonar_trace::{WriteOptions, apart, output};

use crate::exit::{Ending, Usage, note, refuse_several_stdin, warn};
use crate::low::Convert;
use crate::render::messages::Warning;
use crate::render::{progress, remarks};

pub(crate) fn run(args: &Convert) -> anyhow::Result<Ending> {
    let begin = Instant::now();
    let options = args.writing.options();
    check(args, &options)?;
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
    warn_of_losses(args, &options, &done)?;
    if !args.output.quiet {
        let seconds = begin.elapsed().as_secs_f64();
        let outputs = done.outputs.iter().map(|path| path.display().to_string());
        let outputs: Vec<String> = outputs.collect();
        if done.incomplete > 0 {
            note(&format!(
                "{} of the incomplete last piece {} left out",
                counted(done.incomplete, ["record", "records"]),
                if done.incomplete == 1 { "was" } else { "were" }
            ));
        }
        note(&format!(
            "{} written to {} in {seconds:.2} s ({} records/s)",
            counted(done.records, ["record", "records"]),
            outputs.join(", "),
            grouped((done.records as f64 / seconds.max(1e-9)) as u64)
        ));
    }
    Ok(Ending::Done)
}

/// Refuses outputs that cannot be written as asked before anything is read.
fn check(args: &Convert, options: &WriteOptions) -> anyhow::Result<()> {
    apart::refuse_unusable(&args.inputs, &[&args.out])?;
    refuse_several_stdin(&args.inputs)?;
    if options.format.is_none() {
        output::format_for(&args.out)?;
    }
    let several = args.split.is_some() || args.derive && args.parts > 1;
    if several && args.out == Path::new("-") {
        let problem = "several outputs cannot be written to standard output: name a file with -o";
        return Err(Usage(problem.to_owned()).into());
    }
    Ok(())
}

/// Warns of what the output does not contain.
fn warn_of_losses(args: &Convert, options: &WriteOptions, done: &Converted) -> anyhow::Result<()> {
    let format = match &options.format {
        Some(name) => by_format_name(name)?,
        None => output::format_for(&args.out)?,
    };
    if done.metadata.devices.len() > 1 && args.split.is_none() && !format.holds_devices() {
        warn(
            Warning::DevicesMerged,
            &format!(
                "{} devices were merged into one: the format cannot distinguish them (to keep them apart, \
                 use --device, --split device or --adjacent)",
                done.metadata.devices.len()
            ),
        );
    }
    if done.has_latencies && !format.holds_latencies() {
        warn(
            Warning::LatenciesLeftOut,
            "the latencies were left out: the format cannot represent them (to keep them, write .ios or .csv)",
        );
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
                "{} left out: the format cannot represent such requests",
                counted(done.left_out, ["request was", "requests were"])
            ),
        );
    }
    Ok(())
}
