//! Records in the order of their intended starts, which most measures need.

use std::path::{Path, PathBuf};

use iosonar_trace::input::Combine;
use iosonar_trace::transform::{Change, OnBackstep};
use iosonar_trace::{Reading, SortedByStart, TraceError, TraceReader, input};

/// Does `work` with the records of these files, merged. Files that turn out not to be sorted are read again,
/// and sorted; what can be read only once is sorted in any case.
pub(crate) fn in_order<T>(
    paths: &[PathBuf],
    reading: &Reading,
    work: impl Fn(&mut dyn TraceReader) -> Result<T, TraceError>,
) -> anyhow::Result<T> {
    let go = |reading: &Reading| {
        let reader = input::open_several(paths, Combine::Merge, reading)?;
        work(&mut SortedByStart::new(reader, paths[0].clone()))
    };
    let sorted = || {
        let mut sorted = reading.clone();
        sorted.changes.push(Change::OnBackstep(OnBackstep::Sort));
        sorted
    };
    if !paths.iter().all(|path| can_be_read_again(path)) {
        return Ok(go(&sorted())?);
    }
    match go(reading) {
        Err(TraceError::Unsorted { .. }) => Ok(go(&sorted())?),
        other => Ok(other?),
    }
}

fn can_be_read_again(path: &Path) -> bool {
    std::fs::metadata(path).map_or(path != Path::new("-"), |m| m.is_file() || m.is_dir())
}
