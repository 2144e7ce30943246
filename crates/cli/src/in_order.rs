//! Records in the order of their intended starts, which most measures need.

use std::path::PathBuf;

use iosonar_trace::input::Combine;
use iosonar_trace::transform::{Change, OnBackstep};
use iosonar_trace::{Reading, SortedByStart, TraceError, TraceReader, input};

/// Does `work` with the records of these files, merged; if they turn out not to be sorted, does it again, with
/// them sorted.
pub(crate) fn in_order<T>(
    paths: &[PathBuf],
    reading: &Reading,
    work: impl Fn(&mut dyn TraceReader) -> Result<T, TraceError>,
) -> anyhow::Result<T> {
    let go = |reading: &Reading| {
        let reader = input::open_several(paths, Combine::Merge, reading)?;
        work(&mut SortedByStart::new(reader, paths[0].clone()))
    };
    match go(reading) {
        Err(TraceError::Unsorted { .. })
            if paths.len() == 1
                && std::fs::metadata(&paths[0]).is_ok_and(|m| m.is_file() || m.is_dir()) =>
        {
            let mut sorted = reading.clone();
            sorted.changes.push(Change::OnBackstep(OnBackstep::Sort));
            Ok(go(&sorted)?)
        }
        other => Ok(other?),
    }
}
