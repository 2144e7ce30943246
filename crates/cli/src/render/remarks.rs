//! What happened while a trace was read.

use iosonar_report::{counted, remark};
use iosonar_trace::fit::Fitted;
use iosonar_trace::{Metadata, Notice, Remark};

use super::messages::{Warning, codes};
use crate::exit::warn;

/// Reports skipped rows, rounded offsets and the like on standard error.
pub(crate) fn print(metadata: &Metadata, quiet: bool) {
    if quiet {
        return;
    }
    let warned = |of: &Remark| warn(codes::of_remark(of.kind), &remark(of));
    metadata.remarks.iter().for_each(warned);
}

/// Reports that the records are not of the storage, and what happened while they were read.
pub(crate) fn print_of_records(metadata: &Metadata, quiet: bool) {
    for fake in Notice::fakes(&metadata.notices) {
        warn(Warning::Fake, &format!("FAKE: {fake}"));
    }
    print(metadata, quiet);
}

/// Remarks on the trace that drove a simulation, a line each.
pub(crate) fn of_load(remarks: &[Remark], fitted: &Fitted) -> Vec<String> {
    let mut remarks: Vec<String> = remarks.iter().map(remark).collect();
    if !fitted.is_nothing() {
        remarks.push(of_fitted(fitted));
    }
    remarks
}

/// The same, with the warning that each is.
pub(crate) fn warnings_of_load(remarks: &[Remark], fitted: &Fitted) -> Vec<(Warning, String)> {
    let warned = |of: &Remark| (codes::of_remark(of.kind), remark(of));
    let mut warnings: Vec<_> = remarks.iter().map(warned).collect();
    if !fitted.is_nothing() {
        warnings.push((Warning::LoadFitted, of_fitted(fitted)));
    }
    warnings
}

/// What was changed in a load to fit its target, in a line; empty if nothing was.
pub(crate) fn of_fitted(fitted: &Fitted) -> String {
    let parts: Vec<String> = [
        (fitted.wrapped, "wrapped"),
        (fitted.moved_back, "moved to fit before the end"),
        (fitted.clipped, "cut off at the end"),
        (fitted.left_out, "left out beyond the end"),
        (fitted.scaled, "scaled"),
        (fitted.aligned, "widened to whole blocks"),
    ]
    .into_iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, what)| format!("{} {what}", counted(n, ["request", "requests"])))
    .collect();
    parts.join(", ")
}
