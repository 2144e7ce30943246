//! Pictures as files.

use std::path::Path;

use anyhow::Context;
use iosonar_plot::{Chart, Kind, Size, render};
use iosonar_trace::output::WholeFile;

use crate::exit::Usage;

/// The kind of picture that the name of `path` asks for.
pub(crate) fn kind_of(path: &Path) -> Result<Kind, Usage> {
    path.extension()
        .and_then(|e| e.to_str())
        .and_then(Kind::from_extension)
        .ok_or_else(|| {
            Usage(format!(
                "{}: a picture's name ends in .png or .svg",
                path.display()
            ))
        })
}

/// Draws `chart` into the file `path`, which is whole or absent.
pub(crate) fn save(chart: &impl Chart, path: &Path, size: Size) -> anyhow::Result<()> {
    let picture = render(chart, kind_of(path)?, size)?;
    WholeFile::write_all(path, &picture)
        .with_context(|| format!("{}: cannot write the picture", path.display()))
}
