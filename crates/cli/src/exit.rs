//! From what happened to an exit code, and a message where there is something to say.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use iosonar_bench::BenchError;
use iosonar_guard::GuardError;
use iosonar_hosts::HostsError;
use iosonar_recorder::RecordError;
use iosonar_replay::{QueueError, ReplayError};
use iosonar_scenario::ScenarioError;
use iosonar_study::calibrate::CalibrateError;
use iosonar_study::choose::ChooseError;
use iosonar_study::replay::ReplayPlanError;
use iosonar_study::sweep::SweepError;
use iosonar_trace::output::{LinkOfAnother, NoRegularFile, WholeFile, WrittenByAnother};
use iosonar_trace::{TraceError, tables};

use iosonar_units::{OutputFolder, Table, with_causes};

use crate::render::messages::{self, Warning, codes};
use crate::render::screen::screen;
use crate::render::style::Tone;
use crate::stdout;

/// Wrong input data, or a device that failed.
pub(crate) const FAILED: u8 = 1;
/// Usage, a scenario that means nothing, a refusal.
pub(crate) const USAGE: u8 = 2;
const FLAGGED: u8 = 3;

/// How a command ended without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// All done as asked.
    Done,
    /// Finished, but the results are questionable; the output says why.
    Flagged,
    /// It did not come to its end because of the device or the disk for the results; what there was
    /// has been kept, and the output says why.
    Failed,
    /// A signal ended it; what there was has been kept.
    Interrupted {
        /// Its number.
        signal: u8,
    },
}

/// A wrong use of the command line that the parser cannot see.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Refuses several inputs from standard input: each would get a part of it.
pub(crate) fn refuse_several_stdin<P: AsRef<Path>>(inputs: &[P]) -> Result<(), Usage> {
    let of_stdin = |input: &&P| input.as_ref() == Path::new("-");
    match inputs.iter().filter(of_stdin).count() {
        0 | 1 => Ok(()),
        _ => Err(Usage(
            "standard input can be read only once: give '-' only once".to_owned(),
        )),
    }
}

pub(crate) fn code(outcome: anyhow::Result<Ending>) -> ExitCode {
    match outcome {
        Ok(Ending::Done) => ExitCode::SUCCESS,
        Ok(Ending::Flagged) => ExitCode::from(FLAGGED),
        Ok(Ending::Failed) => ExitCode::from(FAILED),
        Ok(Ending::Interrupted { signal }) => ExitCode::from(128 + signal),
        // The reader of our output has closed it: not an error.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            fail(codes::of_error(&error), &with_causes(error.as_ref()));
            ExitCode::from(if is_usage(&error) { USAGE } else { FAILED })
        }
    }
}

/// Whether what was asked for is at fault, and not what happened.
pub(crate) fn is_usage(error: &anyhow::Error) -> bool {
    if error.downcast_ref::<Usage>().is_some() {
        return true;
    }
    // An output to a device, or that another process writes, is refused, whatever it would have been.
    let is_refused = |cause: &(dyn std::error::Error + 'static)| {
        NoRegularFile::is_cause_of(cause)
            || WrittenByAnother::is_cause_of(cause)
            || LinkOfAnother::is_cause_of(cause)
    };
    if error.chain().any(is_refused) {
        return true;
    }
    let refusals = [
        error.downcast_ref().map(TraceError::is_refusal),
        error
            .downcast_ref()
            .map(|error: &ScenarioError| !error.is_data()),
        error
            .downcast_ref()
            .map(|e| matches!(e, CalibrateError::Profile(_))),
        error.downcast_ref().map(ChooseError::is_refusal),
        error.downcast_ref().map(SweepError::is_refusal),
        error.downcast_ref().map(ReplayPlanError::is_refusal),
        error.downcast_ref().map(ReplayError::is_refusal),
        error.downcast_ref().map(HostsError::is_refusal),
        error.downcast_ref().map(BenchError::is_refusal),
        error
            .downcast_ref()
            .map(|e| matches!(e, QueueError::NoQueue { .. } | QueueError::Refused { .. })),
        error
            .downcast_ref()
            .map(|e| matches!(e, RecordError::Guard(GuardError::Refused(_)))),
    ];
    refusals.into_iter().flatten().any(|is_refusal| is_refusal)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|e| e.kind() == ErrorKind::BrokenPipe)
    })
}

/// Prints results for people on standard output, as it can show them. If its reader has closed it, the remaining work
/// is still done.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    put(&screen().out.shown(text))
}

/// Prints a picture made of characters: its lines stay as they are.
pub(crate) fn print_picture(text: &str) -> anyhow::Result<()> {
    put(&screen().out.picture(text))
}

/// Prints what programs read, unchanged; on a terminal, control characters are replaced.
pub(crate) fn print_data(text: &str) -> anyhow::Result<()> {
    put(&screen().out.data(text))
}

fn put(text: &str) -> anyhow::Result<()> {
    match stdout::itself().and_then(|mut out| out.write_all(text.as_bytes())) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(anyhow::Error::from(e).context("cannot write to standard output"))
        }
        _ => Ok(()),
    }
}

/// Writes an output, which is whole or absent, `-` to standard output; `action` says what cannot be done where it fails.
pub(crate) fn write_file(path: &Path, text: &str, action: &str) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return print_data(text);
    }
    WholeFile::write_all(path, text.as_bytes())
        .with_context(|| format!("{}: cannot {action}", path.display()))
}

/// Makes a folder for outputs. It is removed again if nothing is put into it.
pub(crate) fn output_folder(path: &Path) -> Result<OutputFolder, Usage> {
    refuse_as_folder(path)?;
    let refused = |problem: io::Error| {
        let path = path.display();
        Usage(format!(
            "{path}: cannot create the folder: {problem}; choose a different one"
        ))
    };
    OutputFolder::make(path).map_err(refused)
}

/// Refuses standard output in the place of a folder.
pub(crate) fn refuse_as_folder(path: &Path) -> Result<(), Usage> {
    if path != Path::new("-") {
        return Ok(());
    }
    let problem = "-: several files cannot be written to standard output: give the name of a folder ('./-' for one of \
                   this name)";
    Err(Usage(problem.to_owned()))
}

/// Writes a table, in the format that its name ends in, else as CSV.
pub(crate) fn write_table(path: &Path, table: Table) -> Result<(), TraceError> {
    let tool = format!("iosonar {}", env!("CARGO_PKG_VERSION"));
    tables::write(path, &table.with("tool", tool))
}

/// Refuses a table of a format that this build does not have, before anything is computed for it.
pub(crate) fn check_tables<'a>(
    paths: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(), TraceError> {
    for path in paths {
        tables::format_for(path)?;
    }
    Ok(())
}

/// Prints the report of a command that writes its output to `out`: where that is standard output, on standard error,
/// so that whatever reads the output sees nothing else.
pub(crate) fn print_beside(out: Option<&Path>, text: &str) -> anyhow::Result<()> {
    if out != Some(Path::new("-")) {
        return print(text);
    }
    write_error(&screen().err.shown(text));
    Ok(())
}

/// The same of a report that programs read.
pub(crate) fn print_data_beside(out: Option<&Path>, text: &str) -> anyhow::Result<()> {
    if out != Some(Path::new("-")) {
        return print_data(text);
    }
    write_error(&screen().err.data(text));
    Ok(())
}

/// Prints a message for the user that is not a result.
pub(crate) fn note(text: &str) {
    write_error(&screen().err.message(&format!("{text}\n")));
}

/// Prints advice: `note: text`.
pub(crate) fn hint(text: &str) {
    note(&format!("{} {}", Tone::Strong.of("note:"), continued(text)));
}

/// Prints what deserves attention: `warning[W012]: text`.
pub(crate) fn warn(of: Warning, text: &str) {
    note(&of.headed(&continued(text)));
}

/// `text` with all lines but the first indented: a name that has a line break in it can begin no line of its own.
fn continued(text: &str) -> String {
    text.replace('\n', "\n  ")
}

/// Prints why work failed: `error[E012]: text`, without a code where the text says all.
pub(crate) fn fail(of: Option<messages::Error>, text: &str) {
    let code = of.map_or_else(String::new, |of| format!("[{}]", of.code()));
    let head = Tone::Bad.of(&format!("error{code}:"));
    note(&format!("{head} {}", continued(text)));
}

/// A closed standard error is ignored: the results are all that is wanted then.
pub(crate) fn write_error(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
