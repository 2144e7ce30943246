//! What happened while a trace was read.

use iosonar_report::grouped;
use iosonar_trace::Metadata;

use crate::exit::note;

/// Tells the user of skipped rows, rounded offsets and the like.
pub(crate) fn tell(metadata: &Metadata, quiet: bool) {
    if quiet {
        return;
    }
    for remark in &metadata.remarks {
        note(&format!(
            "{} {} (the first: {})",
            grouped(remark.count),
            remark.what,
            remark.example
        ));
    }
}
